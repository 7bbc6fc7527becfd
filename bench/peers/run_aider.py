#!/usr/bin/env python3
"""Ranks with aider's repository map: run_aider.py TASKS CLONES, run by the Python that aider is installed for (bench/peers/README.md)."""
import contextlib
import os
import re
import sys

from aider.io import InputOutput
from aider.repomap import RepoMap

from common import each_task


class Words:
    """Replaces the model, which the map only uses to count tokens."""

    def token_count(self, text):
        return len(text) // 4


def stem(file):
    return os.path.splitext(os.path.basename(file))[0].lower()


def rank(tree, task):
    files = [os.path.join(folder, name) for folder, _, names in os.walk(tree) for name in names]
    files = [file for file in files if os.path.isfile(file)]
    # As aider treats a message: its words are identifiers, and words of five letters or more name files.
    words = set(re.split(r"\W+", task))
    stems = {word.lower() for word in words if len(word) >= 5}
    with contextlib.redirect_stdout(sys.stderr):
        repo_map = RepoMap(root=tree, main_model=Words(), io=InputOutput(yes=True, pretty=False, fancy_input=False))
        named = [file for file in files if os.path.basename(file) in task.split() or stem(file) in stems]
        tags = repo_map.get_ranked_tags([], files, {repo_map.get_rel_fname(file) for file in named}, words)
    return [tag[0] for tag in tags]


each_task(rank)
