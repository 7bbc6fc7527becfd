#!/usr/bin/env python3
"""Ranks with CodeGraph: run_codegraph.py TASKS CLONES, with CODEGRAPH naming its program (bench/peers/README.md says where it comes from)."""
import json
import os
import subprocess

from common import each_task

# Enough for more than twenty files.
NODES = "200"


def rank(tree, task):
    program = os.environ["CODEGRAPH"]
    environment = dict(os.environ, CODEGRAPH_TELEMETRY="0", DO_NOT_TRACK="1")
    subprocess.run([program, "init", tree], env=environment, capture_output=True, check=True, timeout=600)
    command = [program, "context", task, "--path", tree, "--format", "json", "--no-code", "--max-nodes", NODES]
    out = subprocess.run(command, env=environment, capture_output=True, check=True, timeout=120).stdout
    found = json.loads(out)
    # Entry points come first, then their neighbours.
    return [node["filePath"] for node in found["entryPoints"] + found["nodes"]]


each_task(rank)
