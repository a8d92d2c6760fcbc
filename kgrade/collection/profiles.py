"""Profiles that people bring: a profiler's file becomes evidence of the item that it shows, the file stays outside."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import msgspec

import kgrade
from kgrade.collection.events import CollectionError, Job
from kgrade.collection.queue import Queue
from kgrade.harness.profiles.authorship import linked
from kgrade.harness.profiles.reading import read_profile
from kgrade.harness.profiles.units import BadProfile
from kgrade.harness.run import ItemSource
from kgrade.records import codec
from kgrade.records.evidence import Environment, Evidence, Inputs, Stages, Tool
from kgrade.records.faults import BadRecord
from kgrade.records.profile import Origin, Profile
from kgrade.records.slugs import ItemId
from kgrade.repository.runner import GitError

LARGEST_EVIDENCE = 4 << 20
NOT_HERE = "nothing was run here: only profiles were added"


class Added(msgspec.Struct, frozen=True, kw_only=True):
    """What came of a file: the profile, the target whose evidence has it, and whether it was there before."""

    item: str
    target: str
    profile: Profile
    known: bool


def add_profile(path: Path, item: ItemId, file: Path, target: str | None = None) -> Added:
    """Read `file` and commit what it says as evidence of `item`; without `target`, of the one that it must be about.

    Raises CollectionError where the item or the file cannot be read, or where the target is not clear.
    """
    queue = Queue(path)
    try:
        source = queue.source(item) if queue.holds(item) else None
    except (BadRecord, GitError) as why:
        raise CollectionError(str(why).splitlines()[0]) from None
    if source is None:
        raise CollectionError(f"there is no item {item} in this queue's commits; kgrade list shows what there is")
    found = read(file)
    target = target or _target(found, source.task.targets)
    by = queue.signature().identity.name
    when = datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
    with file.open("rb") as data:
        digest = hashlib.file_digest(data, "sha256").hexdigest()
    origin = Origin(file=file.name, sha256=digest, bytes=file.stat().st_size, when=when, by=by)
    profile = msgspec.structs.replace(_linked(found, source), origin=origin)
    job = Job(item=item, target=target)
    standing = queue.standing(job)
    evidence = standing or _evidence(source, target, profile)
    profiles = evidence.stages.profile.profiles
    if any(each.origin is not None and each.origin.sha256 == digest for each in profiles):
        return Added(item=str(item), target=target, profile=profile, known=True)
    _commit(queue, job, _with(evidence, [*profiles, profile]), profile)
    return Added(item=str(item), target=target, profile=profile, known=False)


def read(file: Path) -> Profile:
    """Read a profiler's file, whichever wrote it; CollectionError with one sentence where that cannot be done."""
    try:
        return read_profile(file)
    except BadProfile as why:
        raise CollectionError(str(why)) from None


def _linked(profile: Profile, source: ItemSource) -> Profile:
    if source.solution is not None:
        return linked(profile, source.solution)
    start = {path.removeprefix("start/"): data for path, data in source.task_files.items() if path.startswith("start/")}
    return linked(profile, start, "start")


def _target(profile: Profile, targets: Sequence[str]) -> str:
    """The target that a profile is about: by the device it names, else the only one of the task that is a device."""
    if profile.unit == "operator" and "cpu" in targets:
        return "cpu"
    named = f"sm_{profile.capability.replace('.', '')}"
    devices = [target for target in targets if target != "cpu"]
    if profile.capability and named in devices:
        return named
    if len(devices) == 1 and not profile.capability:
        return devices[0]
    what = f"a device of compute capability {profile.capability}" if profile.capability else "one device"
    raise CollectionError(f"the profile is of {what}, and the task names {', '.join(targets)}; say which: --target")


def _evidence(source: ItemSource, target: str, profile: Profile) -> Evidence:
    """Evidence of an item of which nothing was collected here."""
    environment = Environment(hardware=profile.device or target, interpreter=False, sandbox=NOT_HERE)
    return Evidence(
        item=source.item,
        target=target,
        collected=datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z"),
        inputs=Inputs(task_tree=source.task_tree, solution_tree=source.solution_tree),
        tool=Tool(version=kgrade.__version__),
        environment=environment,
        stages=Stages(),
    )


def _with(evidence: Evidence, profiles: list[Profile]) -> Evidence:
    stage = msgspec.structs.replace(evidence.stages.profile, status="passed", reason=None, profiles=profiles)
    return msgspec.structs.replace(evidence, stages=msgspec.structs.replace(evidence.stages, profile=stage))


def _commit(queue: Queue, job: Job, evidence: Evidence, profile: Profile) -> None:
    size = len(codec.encode_json(evidence))
    if size > LARGEST_EVIDENCE:
        raise CollectionError(
            f"with this profile the evidence takes {size >> 20} MB; at most {LARGEST_EVIDENCE >> 20} MB go into git,"
            " so profile fewer kernels or fewer metrics"
        )
    queue.commit(job, evidence, {}, f"profile of {profile.source} added")
