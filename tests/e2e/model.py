"""Decision models against independent programs: a server with a real small model, a fault injector with
its conformance test, the vendor's Python client, and our hook in the real Claude Code. No keys are used,
and nothing leaves the machine."""

import functools
import http.client
import json
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import threading
import time
import unittest
import venv
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from client import KEY, TOP, Sandbox, bundle, look_for_key
from fake_messages import Reply

# jevcompat: MIT, the public conformance suite; sparrow-decider: a server whose small model is part of its package.
PACKAGES = ("jevcompat==0.1.1", "typesafe-sdk==0.7.5", "sparrow-decider==0.2.0")
TASK = "retry the connection with a backoff when the server closes it"
# A whole pack with a model on two shared cores takes at most a minute; a hang is a failure.
TIMEOUT_S = 240

# Faults of `jevcompat mock` that our program must notice. With every other fault a ranking comes out,
# because it breaks what we do not rely on (scores, legends, confidences, shapes of unused errors).
ENDS_IN = {
    "wrong-route": "check the URL",
    "xssi-200": "requests to the model failed",
    "nan": "requests to the model failed",
    "noul-range": "requests to the model failed",
    "reject-jev-latest": "refuses",
    "auth-rejects-header": "check TYPESAFE_API_KEY",
    "auth-x-api-key": "check TYPESAFE_API_KEY",
}
# Requests about several files fail and requests about one do not: the ranking says what is missing.
WITH_FAILURES = {"first-question-only"}
# With these there is a ranking of unknown price.
WITHOUT_COST = {"no-usage", "float-usage"}


@functools.cache
def tool(name):
    """A program of the pinned packages, installed once into the user's cache."""
    caches = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    home = caches / "context-packer-e2e" / "-".join(["model", *PACKAGES]).replace("==", "-")
    if not (home / "complete").exists():
        shutil.rmtree(home, ignore_errors=True)
        venv.create(home, with_pip=True)
        subprocess.run([home / "bin" / "python", "-m", "pip", "install", "--quiet", *PACKAGES], check=True)
        (home / "complete").touch()
    return home / "bin" / name


@functools.cache
def fake_program():
    """Our own fake server, the one that the Rust tests use."""
    target = Path(os.environ.get("CARGO_TARGET_DIR") or TOP / "target")
    build = ["cargo", "build", "--quiet", "--locked", "--example", "fake-system-one", "--target-dir", target]
    subprocess.run(build, cwd=TOP, check=True)
    return target / "debug" / "examples" / "fake-system-one"


class Program:
    """A server in its own process; `url` is set once it answers. It stops with the `with` block."""

    def __init__(self, command, port=None):
        self.command, self.port = command, port

    def __enter__(self):
        self.process = subprocess.Popen(self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        if self.port is None:
            self.url = self.process.stdout.readline().decode().strip()
        else:
            self.url = f"http://127.0.0.1:{self.port}"
            self.wait()
        return self

    def __exit__(self, *exc):
        self.process.kill()
        self.process.communicate()

    def wait(self):
        due = time.monotonic() + 60
        while time.monotonic() < due:
            connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=5)
            try:
                connection.request("GET", "/")
                return connection.getresponse().read()
            except OSError:
                time.sleep(0.05)
            finally:
                connection.close()
        raise AssertionError(f"{self.command} does not answer")


def free_port():
    with ThreadingHTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler) as server:
        return server.server_address[1]


def fake(*args):
    return Program([fake_program(), *args])


def mock(*args):
    port = free_port()
    return Program([tool("jevcompat"), "mock", "--port", str(port), *args], port)


# Its server queues five connections, Python's default; a longer queue is set before it starts.
LONG_QUEUE = "import socketserver; socketserver.TCPServer.request_queue_size = 256; from sparrow_decider.cli import main; main()"


def sparrow(long_queue=False):
    port = free_port()
    program = [tool("python"), "-c", LONG_QUEUE] if long_queue else [tool("sparrow-decider")]
    return Program([*program, "serve", "--port", str(port)], port)


class Project:
    """A scratch repository; `pack` runs our program in it with a clean environment."""

    def __init__(self, files):
        self.root = Path(tempfile.mkdtemp(prefix="context-packer-e2e-")).resolve()
        for name, text in files.items():
            path = self.root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(text)
        subprocess.run(["git", "init", "-q"], cwd=self.root, check=True)

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        try:
            look_for_key(self.root)
        finally:
            shutil.rmtree(self.root, ignore_errors=True)

    def pack(self, url, *args, **env):
        program = bundle() / "bin" / "context-packer-bin"
        base = {"PATH": os.environ["PATH"], "HOME": str(self.root), "TYPESAFE_BASE_URL": url, "TYPESAFE_API_KEY": KEY}
        command = [program, "pack", TASK, "--provider", "jev", "--json", "--root", self.root, *args]
        done = subprocess.run(command, env=base | env, capture_output=True, text=True, timeout=TIMEOUT_S)
        if KEY in done.stdout + done.stderr:
            raise AssertionError("the key was printed")
        return done


def small_project():
    return Project({
        "src/client.py": b"def connect(server):\n    # retry with a backoff\n    server.open()\n",
        "src/report.py": b"def report(rows):\n    return sum(rows)\n",
        "tests/test_client.py": b"def test_connection_is_retried(): pass\n",
    })


def real_project(count):
    """The shortest files of the standard library: real code, on every machine that runs this, quick to score."""
    library = Path(sysconfig.get_path("stdlib"))
    files = [p for p in library.rglob("*.py") if "site-packages" not in p.parts and p.stat().st_size > 200]
    files.sort(key=lambda path: (path.stat().st_size, path))
    return Project({str(path.relative_to(library)): path.read_bytes() for path in files[:count]})


class Recorder:
    """A proxy between our program and a server that records requests with their answers."""

    def __init__(self, port):
        self.exchanges, recorder = [], self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
                connection.request("POST", self.path, body, {"Content-Type": "application/json"})
                response = connection.getresponse()
                answer = response.read()
                recorder.exchanges.append((json.loads(body), json.loads(answer)))
                self.send_response(response.status)
                self.send_header("Content-Length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

            def log_message(self, *args):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = "http://127.0.0.1:%d" % self.server.server_address[1]

    def __enter__(self):
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *exc):
        self.server.shutdown()
        self.server.server_close()


# Repeats our program's requests with the vendor's client and prints the answers. Runs in the packages' own Python.
ASK_AGAIN = """
import json, sys
from typesafe_sdk import Choice, Noul, TypeSafeClient
kinds = {"noul": lambda q: Noul(instructions=q["instructions"]), "choice": lambda q: Choice(instructions=q["instructions"], criteria=q["criteria"])}
requests = json.load(sys.stdin)
with TypeSafeClient(api_key="none", base_url=sys.argv[1], timeout=120) as client:
    for request in requests:
        questions = {key: kinds[q["type"]](q) for key, q in request["questions"].items()}
        answer = client.system_one(state=request["state"], questions=questions, model=request["model"])
        nouls = {key: value.noul for key, value in answer.nouls.items()}
        choices = {key: dict(value.probabilities) for key, value in answer.choices.items()}
        print(json.dumps({"nouls": nouls, "choices": choices}))
"""


class Conformance(unittest.TestCase):
    def test_our_fake_passes_the_public_suite(self):
        for key in ([], ["--key", KEY]):
            with self.subTest(key=bool(key)), fake(*key) as server:
                done = subprocess.run([tool("jevcompat"), "test", server.url, *key], capture_output=True, text=True, timeout=TIMEOUT_S)
                self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_every_fault_ends_in_a_ranking_or_in_its_error(self):
        listed = subprocess.run([tool("jevcompat"), "mock", "--list-faults"], capture_output=True, text=True, check=True).stdout
        faults = [line.split()[0] for line in listed.splitlines() if line.strip()]
        self.assertGreater(len(faults), 40)
        self.assertLessEqual(set(ENDS_IN) | WITHOUT_COST, set(faults))
        with small_project() as project:
            for fault in faults:
                # Without a key the server accepts everyone: authentication faults show only with one.
                key = ["--key", KEY] if fault.startswith("auth-") and fault != "auth-rejects-header" else []
                with self.subTest(fault=fault), mock("--fault", fault, *key) as server:
                    self.one_fault(fault, project.pack(server.url))

    def one_fault(self, fault, done):
        if fault in ENDS_IN:
            self.assertEqual((done.returncode, done.stdout), (1, ""), done.stderr)
            self.assertIn(ENDS_IN[fault], done.stderr)
            return
        self.assertEqual(done.returncode, 0, done.stderr)
        answer = json.loads(done.stdout)
        failed = answer["result"]["failedBatches"]
        self.assertEqual(failed > 0, fault in WITH_FAILURES)
        self.assertEqual(any("failed batches" in warning for warning in answer["warnings"]), failed > 0)
        self.assertEqual(len(answer["result"]["files"]), 3)
        self.assertEqual(answer["costUsd"] is None, fault in WITHOUT_COST)


class SmallModel(unittest.TestCase):
    def check(self, done):
        self.assertEqual(done.returncode, 0, done.stderr)
        answer = json.loads(done.stdout)
        print(f"320 files: {answer['calls']} calls, {answer['failedCalls']} failed, {answer['totalMs']} ms", file=sys.stderr)
        self.assertEqual((answer["scored"], answer["result"]["failedBatches"]), (320, 0), done.stdout)
        self.assertTrue(answer["model"].startswith("sparrow"), answer["model"])

    def test_a_project_of_320_files_is_ranked(self):
        with sparrow(long_queue=True) as server, real_project(320) as project:
            self.check(project.pack(server.url))

    def test_48_connections_at_once_where_five_may_wait(self):
        """Three packs at once; each starts with six requests for sketches and ten for sources."""
        with sparrow() as server, real_project(320) as project, ThreadPoolExecutor(3) as pool:
            for done in pool.map(lambda _: project.pack(server.url), range(3)):
                self.check(done)

    def test_the_vendors_client_gets_the_same_answers(self):
        with sparrow() as server, small_project() as project, Recorder(server.port) as recorder:
            self.assertEqual(project.pack(recorder.url).returncode, 0)
            requests = [request for request, _ in recorder.exchanges]
            self.assertGreaterEqual(len(requests), 4)
            again = subprocess.run(
                [tool("python"), "-c", ASK_AGAIN, server.url], input=json.dumps(requests), capture_output=True, text=True, timeout=TIMEOUT_S
            )
            self.assertEqual(again.returncode, 0, again.stderr)
            theirs = [json.loads(line) for line in again.stdout.splitlines()]
            for (_, ours), their in zip(recorder.exchanges, theirs, strict=True):
                for key, answer in ours["answers"].items():
                    if answer["type"] == "noul":
                        self.assertEqual(answer["noul"], their["nouls"][key])
                    else:
                        self.assertEqual(answer["probabilities"], their["choices"][key])


class Hook(unittest.TestCase):
    """The prompt hook with the provider jev, in the real client."""

    PROMPT = "fix the retry backoff in the client"

    def box(self, server):
        box = Sandbox([Reply("Done.")])
        box.extra_env = {"TYPESAFE_BASE_URL": server.url, "TYPESAFE_API_KEY": KEY, "CONTEXT_PACKER_HOOK_PROVIDER": "jev"}
        return box

    def test_the_models_ranking_reaches_the_conversation(self):
        with fake("--key", KEY) as server, self.box(server) as box:
            box.install_plugin()
            box.prompt(self.PROMPT)
            (text,) = box.api.main()[-1].hook_texts()
            self.assertIn("by the decision model jev-fake-1", text)
            self.assertIn("src/client.py", text)
            self.assertNotIn(KEY, box.debug_log.read_text())

    def test_a_hanging_model_holds_the_turn_no_longer_than_the_deadline(self):
        with fake("--fault", "hang") as server, self.box(server) as box:
            box.install_plugin("hook_deadline_ms=1500")
            turn = box.prompt(self.PROMPT)
            self.assertFalse(turn.result["is_error"], turn.result)
            self.assertEqual(box.api.main()[-1].hook_texts(), [])
            (hook,) = turn.hooks("UserPromptSubmit")
            self.assertEqual((hook["exit_code"], hook["stdout"], hook["stderr"]), (0, "", ""))
