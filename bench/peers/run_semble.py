#!/usr/bin/env python3
"""Ranks with semble's lexical half: run_semble.py TASKS CLONES STUB_MODEL, run by a Python that has semble installed.

STUB_MODEL is a folder with any model2vec model. It is loaded but not used at alpha 0.
"""
import sys

from semble import SembleIndex

from common import each_task


def rank(tree, task):
    index = SembleIndex.from_path(tree, model_path=sys.argv[3])
    return [result.chunk.file_path for result in index.search(task, top_k=200, alpha=0.0)]


each_task(rank)
