"""The bundle in the real client: valid, found as a marketplace, installed, removed."""

import json
import unittest

from client import PLUGIN, TOP, Sandbox
from fake_messages import Reply, Tool


class Install(unittest.TestCase):
    def validate(self, box, folder):
        done = box.claude("plugin", "validate", "--strict", folder)
        self.assertEqual(done.returncode, 0, done.stdout)
        return done.stdout

    def test_the_built_folder_is_valid(self):
        with Sandbox() as box:
            said = self.validate(box, box.dist)
            self.assertIn("UserPromptSubmit", said)
            for complaint in ("README", "LICENSE"):
                self.assertNotIn(complaint, said)

    def test_the_source_folders_are_valid(self):
        with Sandbox() as box:
            self.validate(box, TOP)
            self.validate(box, TOP / "plugin")

    def test_add_install_list_uninstall(self):
        with Sandbox() as box:
            added = box.claude_ok("plugin", "marketplace", "add", box.dist)
            self.assertIn("context-packer", added)
            box.claude_ok("plugin", "install", PLUGIN)
            plugin = self.ours(box)
            self.assertEqual((plugin["version"], plugin["enabled"]), (self.version(), True))
            box.claude_ok("plugin", "uninstall", PLUGIN)
            self.assertIsNone(self.ours(box))

    def ours(self, box):
        """Our row in the client's list of plugins, or None."""
        rows = json.loads(box.claude_ok("plugin", "list", "--json"))
        return next((row for row in rows if row["id"] == PLUGIN), None)

    def version(self):
        return json.loads((TOP / "plugin" / ".claude-plugin" / "plugin.json").read_text())["version"]

    def test_the_command_is_on_the_path_of_the_bash_tool(self):
        call = Tool("Bash", {"command": "context-packer --version", "description": "version"}, "toolu_version")
        with Sandbox([Reply("I ask.", tools=[call])]) as box:
            box.install_plugin()
            box.prompt("which version is it?", "--allowedTools", "Bash")
            said = box.api.main()[-1].tool_results()["toolu_version"]
            self.assertEqual(said.strip(), f"context-packer {self.version()}")
