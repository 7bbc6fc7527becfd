"""Compaction in the real client: ours replaces the summary and survives --continue; otherwise the summary runs."""

import base64
import json
import unittest

from client import Sandbox
from fake_messages import Reply, Tool
from model import KEY, fake

# More messages than these sessions have, so nothing may be removed.
ALL_PINNED = "compact_preserve_recent_messages=1000"
# The client compacts automatically at this many tokens minus 33,000.
AUTO_WINDOW = "CLAUDE_CODE_AUTO_COMPACT_WINDOW"
# Calls of about 12,000 characters that fill a window of 100,000 tokens ten times over.
STEPS = 160
# The program is removed from the bundle.
MISSING = ""
# A single black pixel.
PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="
TASK = "fix the retry backoff in the client"
REPORT = "The helper found a fixed backoff in src/client.py, line 9."
DEMAND = "You must never touch the wire format of the queue."
ALLOWED = ("--allowedTools", "Bash,Read,Edit")


def bash(command, **more):
    return Tool("Bash", {"command": command, "description": "part of the session"}, **more)


def helped():
    """Calls a subagent and waits for it: its answer to its own call, then its report."""
    helper = {"description": "find the backoff", "prompt": "Where is it?", "subagent_type": "Explore", "run_in_background": False}
    return [
        Reply("A helper looks.", tools=[Tool("Agent", helper, id="toolu_helper")]),
        Reply("The helper lists.", tools=[bash("seq 1 3000", id="toolu_inner")]),
        Reply(REPORT),
    ]


def session_replies(project):
    """Parallel calls with an image and much output, an error, a subagent, a tail of short calls, then words."""
    picture, client = str(project / "pixel.png"), str(project / "src/client.py")
    many = bash("for i in $(seq 1 400); do echo src/part_$i/module_name_$i.py:$i; done", id="toolu_many")
    replies = [
        Reply("I look.", thinking="first the picture", tools=[Tool("Read", {"file_path": picture}, id="toolu_image"), many]),
        Reply("Now a failure.", tools=[bash("ls /nonexistent-folder", id="toolu_error"), bash("seq 1 2000", id="toolu_seq")]),
        Reply("I read.", tools=[Tool("Read", {"file_path": client}, id="toolu_read")]),
    ]
    replies += helped()
    replies += [Reply(f"Step {i}.", tools=[bash(f"echo step {i}", id=f"toolu_step{i}")]) for i in range(8)]
    return replies + [Reply("Done."), Reply("After."), Reply("Resumed.")]


def toasts(rows):
    return [row["text"] for row in rows if row.get("subtype") == "ui_toast"]


def compactions(rows):
    """What triggered each compaction: manual or auto."""
    return [row["compact_metadata"]["trigger"] for row in rows if row.get("subtype") == "compact_boundary"]


class Compaction(unittest.TestCase):
    def prepared(self, box):
        (box.project / "pixel.png").write_bytes(base64.b64decode(PIXEL))
        box.api.replies[:] = session_replies(box.project)
        box.install_plugin()

    def paired(self, request):
        """Every call has exactly one result, from a tool, in the next message, and every result has its call."""
        messages = request.body["messages"]
        for message, following in zip(messages, messages[1:] + [{"content": []}]):
            blocks = message["content"] if isinstance(message["content"], list) else []
            calls = [block["id"] for block in blocks if block["type"] == "tool_use"]
            answers = following["content"] if isinstance(following["content"], list) else []
            results = [block["tool_use_id"] for block in answers if block["type"] == "tool_result"]
            self.assertEqual(sorted(calls), sorted(results))
        self.assertEqual(request.excerpts("missing due to internal error"), [])

    def held(self, request):
        """Checks that pairs, the user's words, short results, errors and the subagent's report are there. Returns the results."""
        self.paired(request)
        self.assertTrue(any(TASK in text for text in request.texts()))
        results = request.tool_results()
        self.assertEqual(results["toolu_step7"].strip(), "step 7")
        self.assertIn("No such file", results["toolu_error"])
        self.assertIn(REPORT, results["toolu_helper"])
        # The subagent's own messages are not part of the conversation.
        self.assertEqual(request.excerpts("toolu_inner") + request.excerpts("The helper lists."), [])
        return results

    def pruned(self, request):
        """Like `held`, and both large results are excerpts, and the image is there."""
        results = self.held(request)
        for name in ("toolu_many", "toolu_seq"):
            self.assertTrue(results[name].startswith("[context-packer: "), results[name][:80])
        pictures = [block for _, block in request.blocks() if block["type"] == "tool_result" and "image" in json.dumps(block)]
        self.assertTrue(pictures)

    def test_compact_is_answered_without_a_summary_and_stays_after_continue(self):
        with Sandbox() as box:
            self.prepared(box)
            with box.session(*ALLOWED) as session:
                session.send(TASK)
                session.send("/compact")
                session.send("what did we do?")
                (toast,) = toasts(session.rows)
                self.assertEqual(compactions(session.rows), ["manual"])
            # The helper was a subagent: its own call was answered in a conversation without the user's words.
            (inner,) = [request for request in box.api.main() if "toolu_inner" in request.tool_results()]
            self.assertEqual(inner.excerpts(TASK), [])
            self.assertRegex(toast, r"^kept \d+/\d+ messages, no summary \(\d+% reduction; ")
            self.pruned(box.api.main()[-1])
            box.claude_ok("-p", "--continue", "go on", *ALLOWED)
            resumed = self.held(box.api.main()[-1])
            self.assertTrue(resumed["toolu_seq"].startswith("[context-packer: "), resumed["toolu_seq"][:80])
            self.assertEqual(box.api.of_kind("compact"), [])

    def test_a_full_window_is_answered_in_the_middle_of_a_turn(self):
        with Sandbox() as box:
            self.prepared(box)
            box.extra_env[AUTO_WINDOW] = "100000"
            # The session's last call reports a full window.
            box.api.replies[-4].input_tokens = 90_000
            with box.session(*ALLOWED) as session:
                turn = session.send(TASK)
                (toast,) = toasts(session.rows)
                self.assertEqual(compactions(session.rows), ["auto"])
            self.assertIn("messages, no summary (", toast)
            self.assertEqual(turn.result["result"], "Done.")
            self.pruned(box.api.main()[-1])
            box.claude_ok("-p", "--continue", "go on", *ALLOWED)
            self.held(box.api.main()[-1])
            self.assertEqual(box.api.of_kind("compact"), [])

    def test_a_model_is_asked_with_the_key_of_the_plugin(self):
        with fake("--key", KEY) as server, Sandbox() as box:
            box.api.replies[:] = session_replies(box.project)
            (box.project / "pixel.png").write_bytes(base64.b64decode(PIXEL))
            box.extra_env["TYPESAFE_BASE_URL"] = server.url
            box.install_plugin("compact_policy=jev", f"api_key={KEY}")
            with box.session(*ALLOWED) as session:
                session.send(TASK)
                session.send("/compact")
                session.send("what did we do?")
                (toast,) = toasts(session.rows)
            self.assertRegex(toast, r"no summary \(.*; state ~\d+ tokens \(full\) in 1 request\(s\)")
            self.assertNotIn(KEY, toast + box.debug_log.read_text())
            self.held(box.api.main()[-1])
            self.assertEqual(box.api.of_kind("compact"), [])

    def test_ten_full_windows_in_one_turn(self):
        """Prunes while that helps, then summarizes: the client never gives up."""
        with Sandbox() as box:
            box.extra_env[AUTO_WINDOW] = "100000"
            listing = "for i in $(seq 1 300); do echo src/part_{0}_$i/module_name_$i.py:$i; done"
            box.api.replies[:] = [Reply(f"Step {i}.", tools=[bash(listing.format(i), id=f"toolu_{i}")]) for i in range(STEPS)]
            box.install_plugin()
            with box.session(*ALLOWED) as session:
                turn = session.send(TASK, timeout=300)
                said, triggers = toasts(session.rows), compactions(session.rows)
            self.assertFalse(turn.result["is_error"], turn.result)
            self.assertEqual(turn.result["result"], "Done.")
            for request in box.api.main():
                self.paired(request)
            self.assertGreaterEqual(triggers.count("auto"), 10, said)
            pruned = [toast for toast in said if "no summary" in toast]
            self.assertEqual(len(said), len(triggers))
            self.assertEqual(len(said) - len(pruned), len(box.api.of_kind("compact")), said)
            self.assertGreaterEqual(len(pruned), 5, said)

    def fails(self, reason, program=None, config=()):
        with Sandbox() as box:
            (box.project / "pixel.png").write_bytes(base64.b64decode(PIXEL))
            box.api.replies[:] = session_replies(box.project)
            if program is not None:
                box.replace_program(program or None)
            box.install_plugin(*config)
            with box.session(*ALLOWED) as session:
                session.send(TASK)
                session.send("/compact")
                (toast,) = toasts(session.rows)
            self.assertIn("fallback to built-in summary (" + reason, toast)
            self.assertEqual(len(box.api.of_kind("compact")), 1)

    def test_a_program_that_fails_ends_in_the_summary_with_its_reason(self):
        self.fails("binary not installed", program=MISSING)
        for end, reason in (
            ("echo broken >&2; exit 3", "broken"),
            ("kill -KILL $$", "exit "),
            ("head -c 5000000 /dev/zero | tr '\\0' x", "answer over 4 MiB"),
            ("echo '{}'", "invalid answer"),
            ("echo null", "invalid answer"),
            ("""echo '{"rows":[]}'""", "invalid answer"),
            ("""echo '{"rows":[0,1,9999]}'""", "invalid answer"),
            ("""echo '{"rows":[0,{"role":"user"}]}'""", "invalid answer"),
        ):
            with self.subTest(end):
                self.fails(reason, program=f"#!/bin/sh\ncat > /dev/null\n{end}\n")

    def test_an_answer_that_does_not_help_ends_in_the_summary_with_its_reason(self):
        for reason, *config in (
            ("nothing left to prune", ALL_PINNED),
            ("below 90% minimum: 50% would go", "compact_min_reduction=0.9"),
            ('in CLAUDE_PLUGIN_OPTION_COMPACT_POLICY: unknown policy "best"', "compact_policy=best"),
            ("provider jev needs a key: set TYPESAFE_API_KEY", "compact_policy=jev"),
        ):
            with self.subTest(reason):
                self.fails(reason, config=config)

    def test_without_the_option_the_summary_is_told_what_to_keep(self):
        with Sandbox() as box:
            box.api.replies[:] = session_replies(box.project)
            box.install_plugin("compact=false")
            with box.session(*ALLOWED) as session:
                session.send(f"{TASK}\n{DEMAND}")
                session.send("/compact")
                session.send("go on")
                self.assertEqual(toasts(session.rows), [])
            (summarizer,) = box.api.of_kind("compact")
            self.assertTrue(summarizer.excerpts("Keep these verbatim in the summary, word for word:"))
            # Once from the user, and once more for the summarizer.
            self.assertEqual(len(summarizer.excerpts(DEMAND)), 2)
            resumed = box.api.main()[-1]
            self.assertTrue(resumed.excerpts("FAKE-BUILTIN-SUMMARY"))
            self.assertTrue(resumed.excerpts(f"The person said: {DEMAND}"))


if __name__ == "__main__":
    unittest.main()
