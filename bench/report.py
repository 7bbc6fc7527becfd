"""Shared by the speed benchmarks: the program under test, facts about the run, the report file."""

import datetime
import os
import pathlib
import re
import subprocess

TOP = pathlib.Path(__file__).resolve().parent.parent


def release(binary):
    """The given path, or that of a release that is built now."""
    if binary is None:
        subprocess.run(["cargo", "build", "--quiet", "--release", "--locked"], cwd=TOP, check=True)
        binary = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", TOP / "target")) / "release/context-packer"
    return str(binary.resolve())


def facts(*programs):
    """Commit, versions (rustc and the named programs), machine and load, as part of a sentence."""
    def output(*command):
        return subprocess.run(command, cwd=TOP, capture_output=True, text=True, check=True).stdout.strip().splitlines()[0]

    commit = output("git", "rev-parse", "--short", "HEAD")
    versions = ", ".join(output(program, "--version") for program in ("rustc", *programs))
    cpu = re.search(r"model name\s*: (.*)", pathlib.Path("/proc/cpuinfo").read_text())
    cores = f"{os.cpu_count()} cores ({cpu[1] if cpu else 'unknown'})"
    return f"commit {commit}, {versions}; {cores}, load at the end {os.getloadavg()[0]:.1f}"


def write(name, title, text):
    """Writes a report under today's date and returns its path."""
    today = datetime.date.today()
    path = TOP / f"bench/runs/{today}-{name}.md"
    path.write_text(f"# {title}, {today}\n\n{text}")
    return path
