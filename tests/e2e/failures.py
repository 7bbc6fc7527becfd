"""Failing open in the real client: whatever happens to our program, the turn goes on and the model sees none of it."""

import shutil
import unittest
from pathlib import Path

from client import TOP, Sandbox

TASK = "fix the retry backoff in the client"
MARK = "PRINTED-BY-A-BROKEN-PROGRAM"

# Shell code that replaces the program, after it has left a sign that it ran and read its input.
BROKEN = {
    "exits 1": f"echo {MARK}; exit 1",
    "exits 2, which would drop the prompt": f"echo {MARK} >&2; exit 2",
    "crashes before it answers": "kill -SEGV $$",
    "crashes in the middle of its answer": f"""printf '%s' '{{"systemMessage":"{MARK}'; kill -KILL $$""",
    "answers, then crashes": f"""echo '{{"systemMessage":"{MARK}"}}'; kill -ABRT $$""",
    "prints text": f"echo {MARK}",
    "prints half an object": f"""printf '%s' '{{"hookSpecificOutput":{{"additionalContext":"{MARK}'""",
    "prints what only looks like an object": f"""echo '{{"{MARK} }}'""",
    "prints braces": f"echo '{{ {MARK} }}'",
    "prints bytes": rf"printf '\000\377\376 {MARK} \200\n'",
    "prints text before its object": f"echo '{MARK}'; echo '{{}}'",
}
SIGN = 'echo $$ >"$TMPDIR/ran"'

# Files that are not programs.
UNUSABLE = {
    "missing": None,
    "text": MARK,
    "made for another machine": "\x7fELF\x02\x01\x01" + "\0" * 100 + MARK,
}


class Failures(unittest.TestCase):
    def goes_on(self, box, turn):
        """The model got the prompt and nothing from us, and its answer came back."""
        self.assertFalse(turn.result["is_error"], turn.result)
        self.assertEqual(turn.result["result"], "Done.")
        (request,) = box.api.main()
        self.assertTrue(request.excerpts(TASK))
        self.assertEqual(request.excerpts(MARK), [])
        self.assertEqual(request.hook_texts(), [])

    def test_a_broken_program(self):
        for name, body in BROKEN.items():
            with self.subTest(name), Sandbox() as box:
                box.install_plugin()
                box.replace_program(f"#!/bin/sh\n{SIGN}\ncat >/dev/null\n{body}\n")
                hook = self.turn(box)
                self.assertEqual(hook["exit_code"], 0, "the user would see an error at every prompt")
                self.assertTrue((box.tmp / "ran").exists())

    def test_an_unusable_program(self):
        for name, content in UNUSABLE.items():
            with self.subTest(name), Sandbox() as box:
                box.install_plugin()
                box.replace_program(content)
                self.assertEqual(self.turn(box)["exit_code"], 0)

    def test_a_hanging_program_is_ended_by_the_timeout(self):
        with Sandbox() as box:
            box.install_plugin()
            box.replace_program(f"#!/bin/sh\n{SIGN}\nexec sleep 3600\n")
            self.assertEqual(self.turn(box)["outcome"], "cancelled")
            pid = int((box.tmp / "ran").read_text())
            self.assertFalse(is_running(pid), "the program outlived its hook")

    def turn(self, box):
        """Checks that a turn goes on, and returns how our hook ended."""
        turn = box.prompt(TASK)
        self.goes_on(box, turn)
        (hook,) = turn.hooks("UserPromptSubmit")
        return hook

    def test_a_missing_program_without_the_plugin(self):
        with Sandbox() as box:
            shutil.copy(TOP / "hooks" / "settings.json", box.config / "settings.json")
            self.goes_on(box, box.prompt(TASK))


def is_running(pid):
    """Whether a process is alive; a zombie is not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False
