#!/usr/bin/env python3
"""Ranks with probe: run_probe.py TASKS CLONES, with PROBE naming its binary (bench/peers/README.md says where it comes from)."""
import json
import os
import re
import subprocess

from common import each_task


def rank(tree, task):
    # probe reads punctuation as syntax.
    words = " ".join(re.findall(r"\w+", task))
    command = [os.environ["PROBE"], "search", words, ".", "--format", "json", "--max-results", "60", "--allow-tests"]
    out = subprocess.run(command, cwd=tree, capture_output=True, text=True, timeout=120).stdout
    start = out.find("{")
    if start < 0:
        return []
    results = json.JSONDecoder().raw_decode(out[start:])[0].get("results", [])
    # Blocks come in path order; a file scores as its best block.
    results.sort(key=lambda result: -result["score"])
    return [result["file"].removeprefix("./") for result in results]


each_task(rank)
