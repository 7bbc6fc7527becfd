"""Shared by the peer scripts: reads tasks, checks out each task's parent, prints the peer's ranking.

Tasks are the lines of `scripts/bench-ranking CLONES --print-tasks`; the output is what `--systems` of the same program reads.
"""
import json
import os
import subprocess
import sys
import tempfile

SOURCE = set(
    "astro bash c cc cjs clj cljs cpp cs css cxx dart elm erl ex exs fs go gradle graphql groovy h hh hpp hs html java jl js jsx kt "
    "kts lua m mjs ml mli mm php pl proto ps1 py r rb rs sass scala scss sh sol sql svelte swift tf ts tsx vb vue zig zsh".split()
)


def is_source(path):
    """The files that the product ranks, so that every tool ranks the same ones."""
    return path.rsplit(".", 1)[-1].lower() in SOURCE


def lay_out(clones, repo, commit, folder):
    """Writes the source files of a commit into a folder, skipping blobs that the clone lacks."""
    git_dir = os.path.join(clones, repo.replace("/", "+"), "repo")
    if not os.path.isdir(git_dir):
        git_dir = os.path.join(clones, repo)
    names = subprocess.run(
        ["git", "--git-dir", git_dir, "ls-tree", "-r", "-z", "--name-only", commit], capture_output=True, check=True
    ).stdout.split(b"\0")
    names = [name for name in names if name and is_source(os.fsdecode(name))]
    environment = dict(os.environ, GIT_DIR=git_dir, GIT_INDEX_FILE=os.path.join(folder, ".index"), GIT_NO_LAZY_FETCH="1")
    subprocess.run(["git", "read-tree", commit], env=environment, check=True)
    subprocess.run(
        ["git", "checkout-index", "-z", "--stdin", "-q", "-f", f"--prefix={folder}/tree/"],
        input=b"\0".join(names), env=environment, check=False, stderr=subprocess.DEVNULL,
    )
    os.remove(os.path.join(folder, ".index"))
    return os.path.join(folder, "tree")


def each_task(rank):
    """Calls `rank(tree, task)` for every task of the first argument's file and prints its distinct files."""
    tasks, clones = sys.argv[1], sys.argv[2]
    with open(tasks, encoding="utf8") as lines:
        for task in map(json.loads, lines):
            with tempfile.TemporaryDirectory() as folder:
                tree = lay_out(clones, task["repo"], task["parent"], folder)
                files = dict.fromkeys(os.path.relpath(f, tree) if os.path.isabs(f) else f for f in rank(tree, task["task"]))
            files = [file for file in files if is_source(file)]
            print(json.dumps({"repo": task["repo"], "commit": task["commit"], "files": files}), flush=True)
