"""What an export of results is made of: the answers to tasks of one interface, with their files and their evidence."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec

from kgrade.exchange.brought import OF_THE_QUEUE
from kgrade.exchange.carried import Ruling, Word, ruling, words_about
from kgrade.exchange.fields import Fields, json_value
from kgrade.exchange.standing import Export, Graded, decoded
from kgrade.records.evidence import Evidence
from kgrade.records.slugs import ItemId
from kgrade.records.submission import Submission
from kgrade.records.task import Interface, Task
from kgrade.repository.runner import GitError
from kgrade.repository.tree import Snapshot, TreeReader


class Found(msgspec.Struct, frozen=True):
    """One record of evidence; `kept` is the foreign record that it was made of, where it was imported."""

    evidence: Evidence
    kept: bytes | None


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """One submission as it is committed, and the evidence and the words that are about these very bytes."""

    id: ItemId
    task: Task
    task_files: Mapping[str, bytes]
    submission: Submission
    files: Mapping[str, bytes]
    found: list[Found]
    words: list[Word]

    @property
    def ruling(self) -> Ruling | None:
        """Why people reject it, where they do."""
        return ruling(self.words)


class Written(msgspec.Struct, frozen=True):
    """One file that an export writes; `when` is the time that the file gets, None for that of writing."""

    path: str
    data: bytes
    when: str | None = None


class Parcel:
    """Files that leave together, none written over another, and a sentence for each thing that stays."""

    def __init__(self, left_out: Iterable[str] = ()) -> None:
        self.files: dict[str, Written] = {}
        self.left_out = list(left_out)
        self._taken: dict[str, str] = {}

    def put(self, path: str, data: bytes, when: str | None, what: str) -> bool:
        """Take a file; False where another one of other content has its name, which `left_out` then says."""
        if path.startswith("/") or ".." in path.split("/"):
            raise ValueError(f"{path!r} leads out of the folder")
        name = self._taken.setdefault(path.lower(), path)
        if name in self.files and self.files[name].data != data:
            self.left_out.append(f"{what}: another one leaves as {name} already")
            return False
        self.files.setdefault(name, Written(name, data, when))
        return True

    def leave(self, what: object, why: str) -> None:
        """Say what stays and why."""
        self.left_out.append(f"{what}: {why}")


def answers_of(
    reader: TreeReader, snapshot: Snapshot, said: Export, interface: Interface, source: str, *, named: bool
) -> tuple[list[Answer], Parcel]:
    """Every submission to a task of `interface`; `source` is the name under which foreign records are kept here."""
    parcel = Parcel(said.faults)
    graded = {str(item.id): item for item in said.items}
    answers: list[Answer] = []
    for name in snapshot.tasks():
        try:
            answers += _of_task(reader, snapshot, name, interface, source, graded, parcel, named=named)
        except GitError as why:
            parcel.leave(name, str(why))
    return answers, parcel


def _of_task(
    reader: TreeReader,
    snapshot: Snapshot,
    name: str,
    interface: Interface,
    source: str,
    graded: Mapping[str, Graded],
    parcel: Parcel,
    *,
    named: bool,
) -> Iterator[Answer]:
    folder = f"queue/{name}"
    task = decoded(Task, snapshot.read(f"{folder}/task.yaml"), f"{folder}/task.yaml", parcel.left_out)
    if task is None or task.interface != interface:
        return
    task_files = {
        path: reader.objects.object(entry.oid)[1]
        for path, entry in _files(snapshot, folder)
        if not path.startswith(OF_THE_QUEUE) and path not in ("task.yaml", "prompt.md")
    }
    for each in snapshot.submissions(name):
        item = ItemId(name, each)
        path = f"{item.folder}/submission.yaml"
        submission = decoded(Submission, snapshot.read(path), path, parcel.left_out)
        if submission is None:
            continue
        tree = snapshot.solution_tree(item)
        yield Answer(
            id=item,
            task=task,
            task_files=task_files,
            submission=submission,
            files={
                path: reader.objects.object(entry.oid)[1] for path, entry in _files(snapshot, f"{item.folder}/solution")
            },
            found=list(_found(snapshot, item, tree, source, parcel)),
            words=words_about(graded.get(str(item)), tree, named=named),
        )


def _found(snapshot: Snapshot, item: ItemId, tree: str, source: str, parcel: Parcel) -> Iterator[Found]:
    """The evidence about these bytes: foreign records of `source`, and what was collected here."""
    beside = dict(_files(snapshot, f"{item.folder}/evidence"))
    for name in sorted(beside):
        if not name.endswith(".json") or "/" in name:
            continue
        path = f"{item.folder}/evidence/{name}"
        evidence = decoded(Evidence, snapshot.read(path), path, parcel.left_out)
        if evidence is None:
            continue
        log = f"{name.removesuffix('.json')}.{source}.log"
        if evidence.inputs.solution_tree != tree or evidence.inputs.task_tree != snapshot.task_tree(item.task):
            parcel.leave(f"{item} on {evidence.target}", "its evidence is about other bytes; collect it again")
        elif log in beside:
            yield Found(evidence, snapshot.read(f"{item.folder}/evidence/{log}"))
        elif not evidence.target.startswith("imported-"):
            yield Found(evidence, None)


def _files(snapshot: Snapshot, folder: str) -> Iterator[tuple[str, Any]]:
    if snapshot.entry(folder) is not None:
        for path, entry in snapshot.walk(folder):
            if entry.kind == "file":
                yield path.removeprefix(f"{folder}/"), entry


def kept_records(kept: bytes, place: str) -> list[dict[str, Any]]:
    """The mappings in the lines of a foreign record; Misfit where a queue holds something else there."""
    return [dict(Fields(place, json_value(line, place)).values) for line in kept.split(b"\n") if line.strip()]


def file_name(text: str) -> str:
    """A part of a path that is safe on every system."""
    return re.sub(r"[^A-Za-z0-9._-]+", "_", text).strip("._")[:150] or "unnamed"
