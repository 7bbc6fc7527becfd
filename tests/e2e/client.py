"""Runs a pinned Claude Code in a sandbox: its own HOME, project and Messages API on loopback.

    with Sandbox(replies=[Reply("Done.")]) as box:
        box.install_plugin()
        turn = box.prompt("fix the retry backoff in the client")
        turn.hooks("UserPromptSubmit")   # our hook's answers
        box.api.main()[0].hook_texts()   # what reached the model

A Session is one client process that takes several prompts (`box.session()`); `Sandbox.prompt` is a session of one prompt.
"""

import atexit
import base64
import contextlib
import functools
import hashlib
import json
import os
import queue
import shutil
import subprocess
import tarfile
import tempfile
import threading
import time
from pathlib import Path

from fake_messages import FakeMessages

VERSION = "2.1.332"
PACKAGE = "@anthropic-ai/claude-code-linux-x64"
# From the published package (npm view … dist.integrity); a file with another hash is refused.
INTEGRITY = "sha512-f4JWhzwYutJIHScC7/dYOPX6s28tt7ZADhsOi8zwOHq5fFPEuUeChh2NMfinSg0GrUckYxaeebC4h0DqiKzLcw=="

TOP = Path(__file__).resolve().parents[2]
PLUGIN = "context-packer@context-packer"
# The key in every test that uses one; none of our files may contain it.
KEY = "k3y-that-must-never-be-seen"
# Where the client itself keeps plugins' secret options.
CLIENTS_OWN = ".credentials.json"
# Longest wait for one answer of the client. A turn takes about 2 s here; a hanging hook uses its whole timeout.
TURN_TIMEOUT_S = 120


@functools.cache
def executable():
    """The pinned client, downloaded at first use and kept in the user's cache. Failing to install it is an error."""
    caches = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    home = caches / "context-packer-e2e" / f"claude-code-{VERSION}"
    if not (home / "package" / "claude").exists():
        home.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=home.parent) as scratch:
            unpack_client(Path(scratch))
            # Another run may have been faster; its folder is just as good.
            with contextlib.suppress(OSError):
                (Path(scratch) / "unpacked").rename(home)
    return home / "package" / "claude"


def unpack_client(scratch):
    subprocess.run(["npm", "pack", "--loglevel=error", f"{PACKAGE}@{VERSION}"], cwd=scratch, check=True, stdout=subprocess.DEVNULL)
    (archive,) = scratch.glob("*.tgz")
    digest = hashlib.sha512(archive.read_bytes()).digest()
    found = "sha512-" + base64.b64encode(digest).decode()
    if found != INTEGRITY:
        raise RuntimeError(f"{PACKAGE}@{VERSION} is not the file it was: {found}")
    with tarfile.open(archive) as tar:
        tar.extractall(scratch / "unpacked", filter="data")


@functools.cache
def bundle():
    """The assembled plugin folder. E2E_BINARY names the program to put into it; without it the release is built."""
    command = [TOP / "scripts" / "build-plugin"]
    if os.environ.get("E2E_BINARY"):
        scratch = Path(tempfile.mkdtemp(prefix="context-packer-e2e-"))
        atexit.register(shutil.rmtree, scratch, ignore_errors=True)
        command += ["--binary", os.environ["E2E_BINARY"], "--out", scratch / "dist"]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    return Path(done.stdout.strip())


def look_for_key(folder):
    """Fails if any file below the folder contains the key: logs, indexes, archives, transcripts."""
    for path in folder.rglob("*"):
        if path.name == CLIENTS_OWN or path.is_symlink() or not path.is_file():
            continue
        if KEY.encode() in path.read_bytes():
            raise AssertionError(f"the key is in {path}")


class Sandbox:
    """A scratch folder: home/, project/ (a small git repository), dist/ (a copy of the bundle that tests may
    break), bin/ (first on PATH), tmp/ (TMPDIR)."""

    def __init__(self, replies=()):
        self.folder = Path(tempfile.mkdtemp(prefix="context-packer-e2e-")).resolve()
        self.home, self.project, self.dist, self.bin = (self.folder / n for n in ("home", "project", "dist", "bin"))
        self.tmp = self.folder / "tmp"
        for folder in (self.home / ".claude", self.project, self.bin, self.tmp):
            folder.mkdir(parents=True)
        self.config = self.home / ".claude"
        self.debug_log = self.folder / "debug.txt"
        self.api = FakeMessages(replies)
        self.extra_env = {}
        shutil.copytree(bundle(), self.dist)
        self._make_project()

    def __enter__(self):
        self.api.__enter__()
        return self

    def __exit__(self, *exc):
        self.api.__exit__(*exc)
        try:
            if exc == (None, None, None):
                look_for_key(self.folder)
                self._look_for_key_in_requests()
        finally:
            shutil.rmtree(self.folder, ignore_errors=True)

    def _look_for_key_in_requests(self):
        for request in self.api.requests:
            if KEY in json.dumps(request.body):
                raise AssertionError("the key is in a request of the conversation")

    def _make_project(self):
        files = {
            "src/client.py": "import time\n\n\ndef send_with_retry(send, tries=3):\n    for attempt in range(tries):\n"
            "        try:\n            return send()\n        except IOError:\n            time.sleep(1)  # fixed backoff\n",
            "src/server.py": "def serve(port):\n    print('listening on', port)\n",
            "src/report.py": "def monthly_report(rows):\n    return sum(row.total for row in rows)\n",
            "tests/test_client.py": "from src.client import send_with_retry\n\n\ndef test_retry():\n    assert send_with_retry(lambda: 1) == 1\n",
            "README.md": "# Upload tool\n\nA client, a server and a monthly report.\n",
        }
        for name, text in files.items():
            path = self.project / name
            path.parent.mkdir(exist_ok=True)
            path.write_text(text)
        for args in (["init", "-q", "-b", "main"], ["add", "-A"], ["commit", "-qm", "client with fixed retry backoff"]):
            subprocess.run(["git", *args], cwd=self.project, env=self.env(), check=True)

    def env(self):
        """A clean environment, without keys, settings or programs of the user who runs the tests."""
        path = [p for p in os.environ["PATH"].split(":") if not (Path(p) / "context-packer").exists()]
        git = {f"GIT_{who}_{what}": "e2e@example" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
        return {
            "PATH": ":".join([str(self.bin), *path]),
            "HOME": str(self.home),
            "CLAUDE_CONFIG_DIR": str(self.config),
            "TMPDIR": str(self.tmp),
            "LANG": "C.UTF-8",
            "ANTHROPIC_BASE_URL": self.api.url,
            "ANTHROPIC_API_KEY": "sk-fake",
            # HTTPS to anywhere else fails at once: nothing listens on port 9.
            "HTTPS_PROXY": "http://127.0.0.1:9",
            "NO_PROXY": "127.0.0.1",
            "DISABLE_AUTOUPDATER": "1",
            "DISABLE_TELEMETRY": "1",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            **git,
            **self.extra_env,
        }

    def claude(self, *args, timeout=TURN_TIMEOUT_S):
        """Runs the client to its end in the project; standard error is part of the output."""
        command = [executable(), *map(str, args)]
        return subprocess.run(
            command,
            cwd=self.project,
            env=self.env(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=timeout,
        )

    def claude_ok(self, *args):
        done = self.claude(*args)
        if done.returncode != 0:
            raise AssertionError(f"claude {' '.join(map(str, args))} exited {done.returncode}:\n{done.stdout}")
        return done.stdout

    def install_plugin(self, *config):
        """As a user would: adds dist/ as a marketplace and installs from it. `config`: key=value options."""
        self.claude_ok("plugin", "marketplace", "add", self.dist)
        options = [part for pair in config for part in ("--config", pair)]
        return self.claude_ok("plugin", "install", PLUGIN, *options)

    def replace_program(self, text):
        """Replaces the bundle's native program by another file; None removes it."""
        program = self.dist / "bin" / "context-packer-bin"
        program.unlink()
        if text is not None:
            program.write_text(text)
            program.chmod(0o755)

    def session(self, *args):
        return Session(self, args)

    def prompt(self, text, *args):
        """Sends one prompt to a new client and returns the Turn."""
        with self.session(*args) as session:
            return session.send(text)


class Session:
    """One long-lived client that speaks stream-json; a context manager. `rows` is all of its output."""

    def __init__(self, box, args):
        command = [executable(), "-p", "--input-format", "stream-json", "--output-format", "stream-json", "--verbose"]
        command += ["--include-hook-events", "--debug-file", box.debug_log, *map(str, args)]
        self.rows = []
        self._queue = queue.Queue()
        self._errors = open(box.folder / "stderr.txt", "ab")
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": self._errors}
        self._process = subprocess.Popen(command, cwd=box.project, env=box.env(), **pipes)
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        for line in self._process.stdout:
            self._queue.put(json.loads(line))
        self._queue.put(None)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        with contextlib.suppress(OSError):
            self._process.stdin.close()
        try:
            self._process.wait(20)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process.stdout.close()
        self._errors.close()

    def write(self, text):
        """Sends a prompt without waiting."""
        message = {"type": "user", "message": {"role": "user", "content": text}}
        self._process.stdin.write(json.dumps(message).encode() + b"\n")
        self._process.stdin.flush()

    def send(self, text, timeout=TURN_TIMEOUT_S):
        """Sends a prompt, waits for its result and returns the Turn."""
        self.write(text)
        return self.wait(timeout=timeout)

    def wait(self, until=lambda row: row.get("type") == "result", timeout=TURN_TIMEOUT_S):
        """Reads until a row for which `until` holds, and returns the rows as a Turn."""
        deadline = time.monotonic() + timeout
        seen = []
        while True:
            try:
                row = self._queue.get(timeout=max(0.0, deadline - time.monotonic()))
            except queue.Empty:
                raise AssertionError(f"no answer within {timeout} s; last rows: {seen[-3:]}") from None
            if row is None:
                raise AssertionError(f"the client ended; last rows: {seen[-3:]}")
            seen.append(row)
            self.rows.append(row)
            if until(row):
                return Turn(seen)


class Turn:
    """The rows of one turn."""

    def __init__(self, rows):
        self.rows = rows

    @property
    def result(self):
        """The closing row: `is_error`, `result` (the text) …"""
        return self.rows[-1]

    def hooks(self, event):
        """How an event's hooks ended: rows with `outcome`, `exit_code`, `stdout`, `stderr`."""
        return [r for r in self.rows if r.get("subtype") == "hook_response" and r.get("hook_event") == event]
