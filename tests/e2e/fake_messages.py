"""A Messages API on loopback: answers the real client with scripted replies and records every request.

    with FakeMessages([Reply("I look.", tools=[Tool("Bash", {"command": "ls"})]), Reply("Done.")]) as api:
        ...run the client with ANTHROPIC_BASE_URL=api.url...
        api.main()   # the requests of the conversation, oldest first

The script answers requests of kind "main" in order; after its end every answer is "Done.". A step may be
a function from the request to a Reply. Other kinds have fixed answers.
"""

import json
import re
import threading
import time
import uuid
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Optional

SUMMARY = "<analysis>fake</analysis>\n<summary>\n1. Primary Request and Intent: FAKE-BUILTIN-SUMMARY\n</summary>"
# Rough size of a token. It only affects the client's own thresholds; a Reply can give the number itself.
BYTES_PER_TOKEN = 4


@dataclass
class Tool:
    """A tool call of the model. Without an id, one is generated."""

    name: str
    input: dict
    id: Optional[str] = None


@dataclass
class Reply:
    """One answer. `input_tokens` is the usage reported (None: from the request's size); `status` other than 200 is an error."""

    text: str = ""
    thinking: str = ""
    tools: list = field(default_factory=list)
    input_tokens: Optional[int] = None
    delay_s: float = 0.0
    status: int = 200
    error_type: str = "invalid_request_error"

    def blocks(self):
        out = []
        if self.thinking:
            out.append({"type": "thinking", "thinking": self.thinking, "signature": "c2ln"})
        if self.text:
            out.append({"type": "text", "text": self.text})
        for tool in self.tools:
            identity = tool.id or "toolu_" + uuid.uuid4().hex[:20]
            out.append({"type": "tool_use", "id": identity, "name": tool.name, "input": tool.input})
        return out


@dataclass
class Request:
    """One request. `kind`: main (the conversation), compact (asks for a summary), side (no tools: titles …),
    count, other."""

    kind: str
    path: str
    body: Any
    size: int
    at: float

    def blocks(self):
        """(role, block) of all messages, in order; a plain string counts as one text block."""
        for message in self.body.get("messages", []):
            content = message["content"]
            if isinstance(content, str):
                content = [{"type": "text", "text": content}]
            for block in content:
                yield message["role"], block

    def texts(self):
        """Every text the model reads outside tool calls and results: system prompt, messages, reminders."""
        system = self.body.get("system") or []
        parts = [system] if isinstance(system, str) else [part.get("text", "") for part in system]
        return parts + [block["text"] for _, block in self.blocks() if block["type"] == "text"]

    def hook_texts(self):
        """What hooks added, one entry per hook and prompt, in any form. Context of earlier prompts stays in later requests."""
        mark = re.compile(r"[A-Za-z]+ hook (?:additional context|success):")
        found = []
        for text in self.texts():
            starts = [match.start() for match in mark.finditer(text)]
            found += [text[start:end] for start, end in zip(starts, starts[1:] + [None])]
        return found

    def tool_results(self):
        """Tool results as {tool_use_id: text}."""
        found = {}
        for _, block in self.blocks():
            if block["type"] == "tool_result":
                content = block.get("content") or ""
                if not isinstance(content, str):
                    content = "\n".join(part.get("text", "") for part in content)
                found[block["tool_use_id"]] = content
        return found

    def excerpts(self, words):
        """Every place in the body that contains `words`, with its surroundings; empty if the model cannot have seen them."""
        text = json.dumps(self.body, ensure_ascii=False)
        found = re.finditer(re.escape(words), text)
        return [text[max(0, match.start() - 60) : match.end() + 60] for match in found]


def kind_of(path, body):
    if "count_tokens" in path:
        return "count"
    if not path.startswith("/v1/messages") or not isinstance(body, dict):
        return "other"
    users = [message["content"] for message in body.get("messages", []) if message.get("role") == "user"]
    newest = users[-1] if users else ""
    if not isinstance(newest, str):
        newest = "\n".join(block.get("text", "") for block in newest if block.get("type") == "text")
    if "detailed summary" in newest and "<analysis>" in newest:
        return "compact"
    return "main" if body.get("tools") else "side"


class FakeMessages:
    """The server; a context manager. `requests` is the log; it is safe to read while the client runs."""

    def __init__(self, replies=()):
        self.replies = list(replies)
        self.requests = []
        self._lock = threading.Lock()
        handler = type("Handler", (_Handler,), {"api": self})
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self._server.daemon_threads = True
        self.url = "http://127.0.0.1:%d" % self._server.server_port
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._server.shutdown()
        self._server.server_close()

    def of_kind(self, kind):
        return [request for request in self.requests if request.kind == kind]

    def main(self):
        return self.of_kind("main")

    def take(self, request):
        """Records the request and returns the reply."""
        with self._lock:
            self.requests.append(request)
            if request.kind == "compact":
                return Reply(SUMMARY)
            if request.kind != "main":
                return Reply('{"title": "fake"}')
            step = self.replies.pop(0) if self.replies else Reply("Done.")
        return step(request) if callable(step) else step


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    api = None

    def log_message(self, *_):
        pass

    def do_HEAD(self):
        self.send_response(200)
        self.send_header("content-length", "0")
        self.end_headers()

    def do_GET(self):
        self._answer(None, b"")

    def do_POST(self):
        raw = self.rfile.read(int(self.headers.get("content-length") or 0))
        try:
            body = json.loads(raw)
        except ValueError:
            body = None
        self._answer(body, raw)

    def _answer(self, body, raw):
        kind = kind_of(self.path, body)
        request = Request(kind, self.path, body, len(raw), time.time())
        reply = self.api.take(request)
        tokens = len(raw) // BYTES_PER_TOKEN if reply.input_tokens is None else reply.input_tokens
        if kind == "other":
            return self._json(404, error("not_found_error", "the fake serves /v1/messages only"))
        if kind == "count":
            return self._json(200, {"input_tokens": tokens})
        time.sleep(reply.delay_s)
        if reply.status != 200:
            return self._json(reply.status, error(reply.error_type, reply.text or "scripted error"))
        message = message_of(reply, body.get("model", "fake"), tokens)
        if not body.get("stream"):
            return self._json(200, message)
        return self._stream(message)

    def _json(self, status, value):
        data = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def _stream(self, message):
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("connection", "close")
        self.end_headers()
        self.close_connection = True
        for event in events_of(message):
            self.wfile.write(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode())
        self.wfile.flush()


def error(kind, text):
    return {"type": "error", "error": {"type": kind, "message": text}}


def message_of(reply, model, input_tokens):
    usage = {
        "input_tokens": input_tokens,
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": 0,
        "output_tokens": 42,
    }
    return {
        "id": "msg_" + uuid.uuid4().hex[:20],
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": reply.blocks(),
        "stop_reason": "tool_use" if reply.tools else "end_turn",
        "stop_sequence": None,
        "usage": usage,
    }


def events_of(message):
    """The events of a streamed answer, one delta per block."""
    start = dict(message, content=[], stop_reason=None)
    yield {"type": "message_start", "message": start}
    for index, block in enumerate(message["content"]):
        empty, deltas = parts_of(block)
        yield {"type": "content_block_start", "index": index, "content_block": empty}
        for delta in deltas:
            yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
    end = {"stop_reason": message["stop_reason"], "stop_sequence": None}
    yield {"type": "message_delta", "delta": end, "usage": message["usage"]}
    yield {"type": "message_stop"}


def parts_of(block):
    """Splits a block into its empty start and the deltas that fill it."""
    if block["type"] == "text":
        return dict(block, text=""), [{"type": "text_delta", "text": block["text"]}]
    if block["type"] == "thinking":
        deltas = [
            {"type": "thinking_delta", "thinking": block["thinking"]},
            {"type": "signature_delta", "signature": block["signature"]},
        ]
        return dict(block, thinking="", signature=""), deltas
    return dict(block, input={}), [{"type": "input_json_delta", "partial_json": json.dumps(block["input"])}]
