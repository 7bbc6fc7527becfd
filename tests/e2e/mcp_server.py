"""The MCP server with the official clients, the inspector, ten thousand calls, and the real Claude Code."""

import functools
import hashlib
import json
import os
import re
import select
import subprocess
import sys
import time
import unittest
from pathlib import Path

from client import TOP, Sandbox, bundle
from fake_messages import Reply, Tool
from model import KEY, fake

CLIENTS = Path(__file__).resolve().parent / "mcp_clients"
TASK = "fix the retry backoff in the client"
WANTED = "src/client.py"
# The tool's name as the model sees it: plugin and server of the bundle.
TOOL = "mcp__plugin_context-packer_packer__pack_context"


@functools.cache
def clients():
    """A folder with the pinned clients, installed at first use and kept in the user's cache: venv/ and node_modules/."""
    pins = [CLIENTS / "requirements.txt", CLIENTS / "package.json"]
    digest = hashlib.sha256(b"".join(pin.read_bytes() for pin in pins)).hexdigest()[:16]
    caches = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    home = caches / "context-packer-e2e" / f"mcp-clients-{digest}"
    done = home / "complete"
    if not done.exists():
        home.mkdir(parents=True, exist_ok=True)
        run = functools.partial(subprocess.run, cwd=home, check=True, stdout=subprocess.DEVNULL)
        run([sys.executable, "-m", "venv", "venv"])
        run(["venv/bin/pip", "install", "--quiet", "--disable-pip-version-check", "-r", pins[0]])
        (home / "package.json").write_bytes(pins[1].read_bytes())
        run(["npm", "install", "--no-audit", "--no-fund", "--loglevel=error"])
        done.touch()
    return home


class Server:
    """Our server as a child process that is sent one line at a time."""

    def __init__(self, project, env):
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        self.process = subprocess.Popen([bundle() / "bin" / "context-packer", "mcp"], cwd=project, env=env, **pipes)
        self.request("initialize", {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "e2e", "version": "0"}})

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.wait(5)
        self.process.stdout.close()

    def request(self, method, params):
        message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()
        if not select.select([self.process.stdout], [], [], 20)[0]:
            raise AssertionError("no answer within 20 s")
        return json.loads(self.process.stdout.readline())["result"]

    def call(self, **arguments):
        return self.request("tools/call", {"name": "pack_context", "arguments": arguments})

    def resident_kb(self):
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.search(r"VmRSS:\s+(\d+)", status)[1])


class Clients(unittest.TestCase):
    def run_client(self, box, *command):
        env = {**box.env(), "PATH": os.environ["PATH"]}
        done = subprocess.run(command, cwd=clients(), env=env, capture_output=True, text=True, timeout=120)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout

    def test_the_python_client(self):
        with Sandbox() as box:
            for mode in ("auto", "legacy"):
                with self.subTest(mode=mode):
                    command = [clients() / "venv/bin/python", CLIENTS / "python_client.py", box.dist / "bin" / "context-packer"]
                    version = self.run_client(box, *command, box.project, mode)
                    self.assertEqual(version, "2025-11-25\n")

    def test_the_typescript_client(self):
        with Sandbox() as box:
            command = ["node", CLIENTS / "typescript_client.mjs", box.dist / "bin" / "context-packer", box.project]
            self.run_client(box, *command)

    def inspect(self, box, *args):
        program = ["node_modules/.bin/mcp-inspector", "--cli", box.dist / "bin" / "context-packer", "mcp", "--root", box.project]
        return json.loads(self.run_client(box, *program, *args))

    def test_the_inspector(self):
        with Sandbox() as box:
            (tool,) = self.inspect(box, "--method", "tools/list")["tools"]
            self.assertEqual(tool["name"], "pack_context")
            call = ["--method", "tools/call", "--tool-name", "pack_context"]
            answer = self.inspect(box, *call, "--tool-arg", f"task={TASK}", "limit=2")
            self.assertEqual(len(answer["structuredContent"]["result"]["files"]), 2)
            self.assertIn(WANTED, answer["content"][0]["text"])


class Long(unittest.TestCase):
    def test_memory_is_flat_over_ten_thousand_calls(self):
        with Sandbox() as box, Server(box.project, box.env()) as server:
            sizes = []
            for number in range(1, 10_001):
                answer = server.call(task=f"{TASK} number{number}", limit=5, code=2)
                self.assertFalse(answer["isError"], answer)
                if number % 1000 == 0:
                    sizes.append(server.resident_kb())
            print(f"resident kB after every thousand calls: {sizes}", file=sys.stderr)
            self.assertLess(sizes[-1] - sizes[0], 1024, sizes)


class ClaudeCode(unittest.TestCase):
    def test_it_lists_and_calls_the_tool(self):
        script = [Reply("I look.", tools=[Tool(TOOL, {"task": TASK, "limit": "2"}, id="toolu_1")]), Reply("Done.")]
        with Sandbox(script) as box:
            box.install_plugin()
            turn = box.prompt("please have a look", "--allowedTools", TOOL)
            self.assertFalse(turn.result["is_error"], turn.result)
            first, last = box.api.main()[0], box.api.main()[-1]
            self.assertTrue(first.excerpts(TOOL), "the tool is listed")
            self.assertTrue(first.excerpts("call pack_context once"), "the instructions are there")
            answer = last.tool_results()["toolu_1"]
            self.assertRegex(answer, r"^Picked 2 of 4 files in .* Paths are relative to ")
            self.assertIn(WANTED, answer)

            log = box.debug_log.read_text()
            (took,) = re.findall(r'plugin:context-packer:packer": Successfully connected \(transport: stdio\) in (\d+)ms', log)
            self.assertLess(int(took), 1000, "an unanswered probe costs three seconds")
            self.assertNotRegex(log, r'context-packer:packer": (Connection error|STDIO connection dropped)')

    def test_the_documented_line_connects_it_without_the_plugin(self):
        (line,) = re.findall(r"^claude (mcp add .*)$", (TOP / "docs" / "mcp.md").read_text(), re.MULTILINE)
        with Sandbox() as box:
            (box.bin / "context-packer").symlink_to(box.dist / "bin" / "context-packer-bin")
            box.claude_ok(*line.split())
            self.assertRegex(box.claude_ok("mcp", "list"), r"context-packer: context-packer mcp .*Connected")

    def test_a_file_that_has_just_been_written_is_found(self):
        def write_and_call(_request):
            (box.project / "src" / "zeppelin.py").write_text("def zeppelin_mooring():\n    pass\n")
            return Reply("I look again.", tools=[Tool(TOOL, {"task": "zeppelin mooring"}, id="toolu_2")])

        look = Reply("I look.", tools=[Tool(TOOL, {"task": "zeppelin mooring"}, id="toolu_1")])
        with Sandbox([look, write_and_call, Reply("Done.")]) as box:
            box.install_plugin()
            box.prompt("please have a look", "--allowedTools", TOOL)
            results = box.api.main()[-1].tool_results()
            self.assertNotIn("src/zeppelin.py", results["toolu_1"])
            self.assertIn("src/zeppelin.py", results["toolu_2"])

    def test_the_provider_is_the_option_of_the_plugin(self):
        script = [Reply("I look.", tools=[Tool(TOOL, {"task": TASK}, id="toolu_1")]), Reply("Done.")]
        with Sandbox(script) as box:
            box.install_plugin("provider=oracle")
            box.prompt("please have a look", "--allowedTools", TOOL)
            self.assertIn('unknown provider "oracle"', box.api.main()[-1].tool_results()["toolu_1"])

    def test_the_key_of_the_plugin_reaches_the_model_and_nobody_else(self):
        found, option, variable = "Provider: jev (jev-fake-1)", f"api_key={KEY}", {"TYPESAFE_API_KEY": KEY}
        for options, env, wanted in (([option], {}, found), ([], variable, found), ([], {}, "set TYPESAFE_API_KEY")):
            script = [Reply("I look.", tools=[Tool(TOOL, {"task": TASK}, id="toolu_1")]), Reply("Done.")]
            with self.subTest(options=options, env=env), fake("--key", KEY) as server, Sandbox(script) as box:
                # A server on this machine needs no key; without its URL a key is required.
                box.extra_env = {"TYPESAFE_BASE_URL": server.url, **env} if options or env else {}
                box.install_plugin("provider=jev", *options)
                box.prompt("please have a look", "--allowedTools", TOOL)
                answer = box.api.main()[-1].tool_results()["toolu_1"]
                self.assertIn(wanted, answer)
                self.assertNotIn(KEY, answer + box.debug_log.read_text())


if __name__ == "__main__":
    unittest.main()
