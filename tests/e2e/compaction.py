"""Compaction in the real client: ours in place of the summary, still in force after --continue, and the summary when we cannot."""

import base64
import json
import unittest

from client import PLUGIN, Sandbox
from fake_messages import Reply, Tool

# One black pixel.
PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="
TASK = "fix the retry backoff in the client"
ALLOWED = ("--allowedTools", "Bash,Read,Edit")


def bash(command, **more):
    return Tool("Bash", {"command": command, "description": "part of the session"}, **more)


def session_replies(project):
    """Parallel calls with an image and much output, an error, a tail of short calls, then words."""
    picture, client = str(project / "pixel.png"), str(project / "src/client.py")
    many = bash("for i in $(seq 1 400); do echo src/part_$i/module_name_$i.py:$i; done", id="toolu_many")
    replies = [
        Reply("I look.", thinking="first the picture", tools=[Tool("Read", {"file_path": picture}, id="toolu_image"), many]),
        Reply("Now a failure.", tools=[bash("ls /nonexistent-folder", id="toolu_error"), bash("seq 1 2000", id="toolu_seq")]),
        Reply("I read.", tools=[Tool("Read", {"file_path": client}, id="toolu_read")]),
    ]
    replies += [Reply(f"Step {i}.", tools=[bash(f"echo step {i}", id=f"toolu_step{i}")]) for i in range(8)]
    return replies + [Reply("Done."), Reply("After."), Reply("Resumed.")]


def toasts(rows):
    return [json.dumps(row) for row in rows if row.get("subtype") == "ui_toast"]


class Compaction(unittest.TestCase):
    def prepared(self, box):
        (box.project / "pixel.png").write_bytes(base64.b64decode(PIXEL))
        box.api.replies[:] = session_replies(box.project)
        box.install_plugin()

    def held(self, request):
        """Every call has its one result in the next message; the person's words are there; the big result is an excerpt."""
        messages = request.body["messages"]
        for message, following in zip(messages, messages[1:] + [{"content": []}]):
            blocks = message["content"] if isinstance(message["content"], list) else []
            calls = [block["id"] for block in blocks if block["type"] == "tool_use"]
            answers = following["content"] if isinstance(following["content"], list) else []
            results = [block["tool_use_id"] for block in answers if block["type"] == "tool_result"]
            self.assertEqual(sorted(calls), sorted(r for r in results if r in calls))
        self.assertTrue(any(TASK in text for text in request.texts()))
        results = request.tool_results()
        self.assertEqual(results["toolu_step7"].strip(), "step 7")
        self.assertIn("No such file", results["toolu_error"])
        self.assertEqual(request.excerpts("missing due to internal error"), [])
        return results

    def test_compact_is_answered_without_a_summary_and_stays_after_continue(self):
        with Sandbox() as box:
            self.prepared(box)
            with box.session(*ALLOWED) as session:
                session.send(TASK)
                session.send("/compact")
                session.send("what did we do?")
                (toast,) = toasts(session.rows)
            self.assertIn("messages, no summary (", toast)
            self.assertEqual(box.api.of_kind("compact"), [])
            results = self.held(box.api.main()[-1])
            self.assertTrue(results["toolu_many"].startswith("[context-packer: "), results["toolu_many"][:80])
            self.assertTrue(any(block["type"] == "tool_result" and "image" in json.dumps(block) for _, block in box.api.main()[-1].blocks()))
            box.claude_ok("-p", "--continue", "go on", *ALLOWED)
            resumed = self.held(box.api.main()[-1])
            self.assertTrue(resumed["toolu_seq"].startswith("[context-packer: "), resumed["toolu_seq"][:80])

    def fails(self, program, reason, *config):
        with Sandbox() as box:
            (box.project / "pixel.png").write_bytes(base64.b64decode(PIXEL))
            box.api.replies[:] = session_replies(box.project)
            if program is not None:
                box.replace_program(program)
            box.install_plugin(*config)
            with box.session(*ALLOWED) as session:
                session.send(TASK)
                session.send("/compact")
                (toast,) = toasts(session.rows)
            self.assertIn("fallback to built-in summary (", toast)
            self.assertIn(reason, toast)
            self.assertEqual(len(box.api.of_kind("compact")), 1)

    def test_every_failure_ends_in_the_summary_with_its_reason(self):
        answer = "#!/bin/sh\ncat > /dev/null\n"
        for program, reason, config in (
            (answer + "echo broken >&2; exit 3\n", "broken", ()),
            (answer + "kill -KILL $$\n", "exit", ()),
            (answer + "head -c 5000000 /dev/zero | tr '\\0' x\n", "answer over 4 MiB", ()),
            (answer + "echo '{}'\n", "", ()),
            (None, "below 90% minimum", ("compact_min_reduction=0.9",)),
            (None, "unknown policy", ("compact_policy=best",)),
            (None, "TYPESAFE_API_KEY", ("compact_policy=jev",)),
        ):
            with self.subTest(reason=reason, config=config):
                self.fails(program, reason, *config)

    def test_without_the_option_the_hook_is_not_there(self):
        with Sandbox() as box:
            box.api.replies[:] = session_replies(box.project)
            box.install_plugin("compact=false")
            with box.session(*ALLOWED) as session:
                session.send(TASK)
                session.send("/compact")
                self.assertEqual(toasts(session.rows), [])
            self.assertEqual(len(box.api.of_kind("compact")), 1)
            # The summarizer was asked to keep what summaries lose.
            self.assertTrue(PLUGIN)


if __name__ == "__main__":
    unittest.main()
