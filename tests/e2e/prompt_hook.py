"""The prompt hook in the real client: which prompts get a list, and which do not."""

import json
import shutil
import unittest

from client import PLUGIN, TOP, Sandbox, bundle
from fake_messages import Reply, Tool

TASK = "fix the retry backoff in the client"
WANTED = "src/client.py"


class PromptHook(unittest.TestCase):
    def added(self, box):
        """What our hook has added to the newest request of the conversation, including earlier prompts."""
        return box.api.main()[-1].hook_texts()

    def silent(self, turn):
        """The hook ran to its end and added nothing, neither for the model nor for the user."""
        hooks = turn.hooks("UserPromptSubmit")
        self.assertEqual([(h["exit_code"], h["stdout"], h["stderr"]) for h in hooks], [(0, "", "")])
        self.assertFalse(turn.result["is_error"], turn.result)

    def test_a_task_gets_the_ranked_list(self):
        with Sandbox() as box:
            box.install_plugin()
            turn = box.prompt(TASK)
            (hook,) = turn.hooks("UserPromptSubmit")
            answer = json.loads(hook["stdout"])
            given = answer["hookSpecificOutput"]["additionalContext"]
            (text,) = self.added(box)
            self.assertIn(given, text)
            self.assertIn(WANTED, given)
            self.assertEqual(hook["stderr"], "")
            notice = answer["systemMessage"]
            self.assertEqual(len(notice.splitlines()), 1, notice)
            self.assertEqual(box.api.main()[-1].excerpts(notice), [], "the notice is for the user, not for the model")

    def test_prompts_that_are_no_task_get_nothing(self):
        with Sandbox() as box:
            box.install_plugin()
            with box.session() as session:
                session.send(TASK)
                self.assertEqual(len(self.added(box)), 1)
                for prompt in ("thanks", "/init", "ok do it"):
                    with self.subTest(prompt=prompt):
                        self.silent(session.send(prompt))
                        self.assertEqual(len(self.added(box)), 1)

    def test_a_task_notification_gets_nothing(self):
        # Its words are those of a task, so only the skip rule can keep the hook silent.
        about = {"command": "sleep 0.5", "description": "retry the backoff tests of the client", "run_in_background": True}
        with Sandbox([Reply("I start it.", tools=[Tool("Bash", about)]), Reply("Started."), Reply("Seen.")]) as box:
            box.install_plugin()
            with box.session("--allowedTools", "Bash") as session:
                session.send(TASK)
                turn = session.wait()
                self.silent(turn)
            newest = box.api.main()[-1]
            self.assertTrue(any("task-notification" in text for text in newest.texts()), "no notification came")
            self.assertEqual(len(newest.hook_texts()), 1)

    def test_the_same_list_is_given_once_a_session(self):
        with Sandbox() as box:
            box.install_plugin()
            with box.session() as session:
                session.send(TASK)
                self.silent(session.send(TASK))
                self.assertEqual(len(self.added(box)), 1)
            box.prompt(TASK)
            self.assertEqual(len(self.added(box)), 1, "a new session has not seen the list yet")

    def test_the_list_is_given_again_after_a_compaction(self):
        with Sandbox() as box:
            box.install_plugin()
            with box.session() as session:
                session.send(TASK)
                session.send("/compact")
                session.send(TASK)
            (text,) = self.added(box)
            self.assertIn(WANTED, text)

    def test_the_largest_answer_arrives_whole(self):
        # Over 10,000 characters the client puts the text into a file and shows the model its first 2 KB.
        with Sandbox() as box:
            for number in range(20):
                lines = (f"retry_backoff_{number}_{line} = client_fix(backoff, retry)  # \u00e9\u6f22" for line in range(120))
                (box.project / f"src/client_{number}.py").write_text("\n".join(lines))
                # Most files contain none of the words; otherwise the words would not tell files apart.
                for other in ("menu", "chart"):
                    (box.project / f"src/{other}_{number}.py").write_text(f"{other} = {number}\n")
            box.install_plugin("hook_limit=20", "hook_code=10")
            (hook,) = box.prompt(TASK).hooks("UserPromptSubmit")
            given = json.loads(hook["stdout"])["hookSpecificOutput"]["additionalContext"]
            self.assertGreater(len(given), 4_000, "the options asked for code")
            (text,) = self.added(box)
            self.assertIn(given, text)

    def test_options_of_the_plugin_reach_the_program(self):
        with Sandbox() as box:
            box.install_plugin("hook_limit=1", "hook_notice=false")
            (hook,) = box.prompt(TASK).hooks("UserPromptSubmit")
            answer = json.loads(hook["stdout"])
            given = answer["hookSpecificOutput"]["additionalContext"]
            self.assertEqual(1, sum(line.startswith("#") for line in given.splitlines()), given)
            self.assertNotIn("systemMessage", answer)

    def test_the_repository_is_a_marketplace_too(self):
        with Sandbox() as box:
            box.claude_ok("plugin", "marketplace", "add", TOP)
            box.claude_ok("plugin", "install", PLUGIN)
            self.silent(box.prompt(TASK))
            (box.bin / "context-packer").symlink_to(bundle() / "bin" / "context-packer-bin")
            box.prompt(TASK)
            (text,) = self.added(box)
            self.assertIn(WANTED, text)

    def test_the_settings_snippet_works_without_the_plugin(self):
        with Sandbox() as box:
            shutil.copy(TOP / "hooks" / "settings.json", box.config / "settings.json")
            (box.bin / "context-packer").symlink_to(bundle() / "bin" / "context-packer-bin")
            turn = box.prompt(TASK)
            self.assertEqual(len(turn.hooks("UserPromptSubmit")), 1)
            (text,) = self.added(box)
            self.assertIn(WANTED, text)
