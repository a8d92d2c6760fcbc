"""Queues of any size in a real repository, made by `git fast-import` in one stream: 10,000 submissions take seconds.

Every record is sound: tasks, submissions, kernels of their own, and on request grades and evidence whose tree ids are
those of the commit. What stands in them follows from the item's number alone, so two queues of one size are equal.
"""

from __future__ import annotations

import functools
import json
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO

from kgrade.repository.objects import object_id
from kgrade.repository.tree import Entry, format_tree
from tests.records.test_codec import TASK

PER_TASK = 50
"""Submissions of one task."""

_RUBRICS = Path(__file__).resolve().parents[1] / "rubrics"
_KERNEL = (
    "import torch\n\n\ndef softmax(x):\n    shifted = torch.exp(x - {number})\n    return shifted / shifted.sum(-1)\n"
)
_GRADE = """\
schema: kgrade/grade@1
item: {item}
evaluator: {evaluator}
rubric:
  id: generation
  sha256: {sheet}
about:
  task_tree: {task_tree}
  solution_tree: {solution_tree}
scores:
  numerics:
    score: {score}
    comment: rows of -inf are not covered
verdict: revise
total: {total}
times:
  opened: 2026-11-03T09:30:00Z
  saved: 2026-11-03T09:37:00Z
"""
_SAMPLE = Path(__file__).resolve().parents[1] / "queue" / "add-rmsnorm-flashinfer"
"""The task of the sample queue whose evidence stands for all: 16 KB of one target and 1.5 KB of another."""


def large_queue(
    folder: Path,
    submissions: int,
    *,
    per_task: int = PER_TASK,
    graded_by: Sequence[str] = (),
    with_evidence: bool = False,
    extra: Mapping[str, bytes] | None = None,
    checked_out: bool = True,
) -> None:
    """Make a repository in `folder`, which must not exist, with one commit that holds so many submissions.

    Every submission is graded by each of `graded_by`. `extra` are further files by path, also in place of those.
    Without `checked_out` the working tree stays empty, as in a bare clone.
    """
    folder.mkdir(parents=True)
    for arguments in (
        ["init", "--quiet", "--initial-branch=main"],
        ["config", "user.name", "Ada"],
        ["config", "user.email", "ada@example.org"],
        ["config", "gc.auto", "0"],
    ):
        subprocess.run(["git", *arguments], cwd=folder, check=True)
    importer = subprocess.Popen(["git", "fast-import", "--quiet"], cwd=folder, stdin=subprocess.PIPE)
    assert importer.stdin is not None
    with importer.stdin as stream:
        stream.write(b"commit refs/heads/main\ncommitter Ada <ada@example.org> 1790000000 +0000\ndata 7\na queue")
        for path, data in _rubrics():
            _write(stream, path, data)
        for path, text in _items(submissions, per_task, graded_by, with_evidence):
            _write(stream, path, text.encode())
        for path, data in (extra or {}).items():
            _write(stream, path, data)
    if importer.wait():
        raise AssertionError("git fast-import refused the queue")
    if checked_out:
        subprocess.run(["git", "reset", "--quiet", "--hard"], cwd=folder, check=True)


def graded_further(folder: Path, ref: str, grades: int, evaluator: str = "cyd") -> str:
    """Commit so many first grades by `evaluator`, spread over the queue, to `ref`, beside what is on main.

    Return the commit.
    """
    listed = _said(folder, "ls-tree", "-r", "-t", "--full-tree", "main", "queue/").split("\n")
    trees = {path: head.split()[2] for head, _, path in (line.partition("\t") for line in listed)}
    solutions = [path for path in trees if path.endswith("/solution")]
    importer = subprocess.Popen(["git", "fast-import", "--quiet"], cwd=folder, stdin=subprocess.PIPE)
    assert importer.stdin is not None
    with importer.stdin as stream:
        told = b"%d grades" % grades
        stream.write(b"commit %s\ncommitter Cyd <cyd@example.org> 1790000100 +0000\n" % ref.encode())
        stream.write(b"data %d\n%s\nfrom refs/heads/main^0" % (len(told), told))
        for path in solutions[:: max(1, len(solutions) // grades)][:grades]:
            item = path.removeprefix("queue/").removesuffix("/solution").replace("/submissions/", "/")
            facts = {"item": item, "task_tree": trees[path.split("/submissions/")[0]], "solution_tree": trees[path]}
            grade = _GRADE.format(**facts, evaluator=evaluator, sheet="4f" * 32, score=3, total=75.0)
            _write(stream, f"{path.removesuffix('solution')}grades/{evaluator}.yaml", grade.encode())
    if importer.wait():
        raise AssertionError("git fast-import refused the grades")
    return _said(folder, "rev-parse", ref)


def _said(folder: Path, *arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=folder, check=True, capture_output=True, text=True).stdout.strip()


def _rubrics() -> Iterator[tuple[str, bytes]]:
    return ((f"rubrics/{path.name}", path.read_bytes()) for path in sorted(_RUBRICS.glob("*.yaml")))


def _write(stream: IO[bytes], path: str, data: bytes) -> None:
    stream.write(b"\nM 100644 inline %s\ndata %d\n" % (path.encode(), len(data)))
    stream.write(data)


def _items(submissions: int, per_task: int, graded_by: Sequence[str], with_evidence: bool) -> Iterator[tuple[str, str]]:
    for first in range(0, submissions, per_task):
        task = f"task-{first // per_task:05d}"
        asked = {
            "task.yaml": TASK.replace("Row-wise softmax", f"Softmax {first // per_task}"),
            "prompt.md": "# Softmax\n\nAny width.\n",
            "reference.py": "def softmax(x):\n    return x.softmax(-1)\n",
        }
        yield from ((f"queue/{task}/{name}", text) for name, text in asked.items())
        task_tree = _tree(asked)
        for number in range(first, min(first + per_task, submissions)):
            yield from _submission(task, task_tree, number, number - first, graded_by, with_evidence)


def _submission(
    task: str, task_tree: str, number: int, place: int, graded_by: Sequence[str], with_evidence: bool
) -> Iterator[tuple[str, str]]:
    name = f"s{place:04d}"
    folder = f"queue/{task}/submissions/{name}"
    minute = number % (28 * 24 * 60)
    created = f"2026-10-{1 + minute // 1440:02d}T{minute // 60 % 24:02d}:{minute % 60:02d}:00Z"
    yield f"{folder}/submission.yaml", f"schema: kgrade/submission@1\nauthor: kit-{number % 17}\ncreated: {created}\n"
    kernel = _KERNEL.format(number=number)
    yield f"{folder}/solution/kernel.py", kernel
    facts = {"item": f"{task}/{name}", "task_tree": task_tree, "solution_tree": _tree({"kernel.py": kernel})}
    for evaluator in graded_by:
        score = number % 5
        grade = _GRADE.format(**facts, evaluator=evaluator, sheet="4f" * 32, score=score, total=25.0 * score)
        yield f"{folder}/grades/{evaluator}.yaml", grade
    if with_evidence:
        for target, text in _evidence().items():
            yield f"{folder}/evidence/{target}.json", text % facts


@functools.cache
def _evidence() -> dict[str, str]:
    """Evidence as it was collected for the sample, by target, with places for the item and what was examined."""
    found = {}
    for file in sorted((_SAMPLE / "submissions" / "s01" / "evidence").glob("*.json")):
        text = file.read_text().replace("%", "%%")
        inputs = json.loads(text)["inputs"]
        for name, value in {**inputs, "item": json.loads(text)["item"]}.items():
            text = text.replace(value, f"%({name})s")
        found[file.stem] = text
    return found


def _tree(files: Mapping[str, str]) -> str:
    """The id of the tree that holds `files` and nothing else."""
    entries = [Entry(name, "file", "100644", object_id("blob", text.encode())) for name, text in files.items()]
    return object_id("tree", format_tree(entries))
