"""Following a queue over a bare remote: nothing twice, nothing lost, and what comes later is collected too."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from kgrade.collection import CollectionError, Event, Finished, Noted, Skipped, Summary
from kgrade.collection.turns import SPACE
from kgrade.collection.watch import watch_queue
from kgrade.records import codec
from kgrade.records.evidence import Evidence
from kgrade.records.slugs import ItemId
from kgrade.repository.claims import Claims
from kgrade.repository.commits import Identity
from kgrade.repository.remote import Remote
from kgrade.repository.remote_claims import RemoteRefs
from kgrade.repository.runner import Git
from kgrade.repository.tree import TreeReader
from tests.conftest import Repo

PROJECT = Path(__file__).resolve().parents[1]
PATIENCE_S = 60.0
TASK = """\
schema: kgrade/task@1
title: Row sums
type: generation
language: nki
targets: [trn2]
entry: rows
reference: reference.py:rows
inputs: {x: {shape: [M, N], dtype: $dtype}}
outputs: {y: {shape: [M], dtype: $dtype}}
cases: [{M: 3, N: 5, dtype: float32}]
tolerance: {float32: {atol: 1e-6, rtol: 1e-6}}
rubric: generation
"""
SUBMISSION = "schema: kgrade/submission@1\nauthor: kit\ncreated: 2026-11-03T09:30:00Z\n"
KERNEL = "import neuronxcc.nki as nki\n\n\n@nki.jit\ndef rows(x):\n    return x\n"
READ_ONLY = ("integrity",)  # of NKI, which no machine here can run: collected by reading, in milliseconds
NAMES = [f"s{number:02}" for number in range(1, 7)]


def submission(name: str, kernel: str = KERNEL, task: str = "rows") -> dict[str, str]:
    folder = f"queue/{task}/submissions/{name}"
    return {f"{folder}/submission.yaml": SUBMISSION, f"{folder}/solution/k.py": kernel}


@pytest.fixture
def lead(make_repo: Callable[..., Repo]) -> Repo:
    made = make_repo("lead")
    files = {
        "queue/rows/task.yaml": TASK,
        "queue/rows/prompt.md": "Sum each row.\n",
        "queue/rows/reference.py": "def rows(x):\n    return x.sum(-1)\n",
    }
    for name in NAMES:
        files |= submission(name, f"{KERNEL}# {name}\n")
    made.commit(files, "a queue")
    return made


@pytest.fixture
def hub(lead: Repo, make_repo: Callable[..., Repo]) -> Repo:
    made = make_repo("hub", bare=True)
    lead.git("remote", "add", "origin", str(made.path))
    lead.git("push", "-q", "origin", "main")
    return made


class Box:
    """A machine that follows the queue in a clone of its own, until `stop`."""

    def __init__(self, repo: Repo, **options: object) -> None:
        self.repo = repo
        self.events: list[Event] = []
        self.cancel = threading.Event()
        self.result: list[Summary] = []
        given = {"targets": ["trn2"], "stages": READ_ONLY, "every_s": 0.05, **options}

        def follow() -> None:
            self.result.append(watch_queue(repo.path, on_event=self.events.append, cancel=self.cancel, **given))

        self.thread = threading.Thread(target=follow, daemon=True)
        self.thread.start()

    def stop(self) -> Summary:
        self.cancel.set()
        self.thread.join(PATIENCE_S)
        assert not self.thread.is_alive()
        (summary,) = self.result
        return summary

    def finished(self) -> list[str]:
        return [str(event.job.item) for event in list(self.events) if isinstance(event, Finished)]

    def noted(self) -> list[str]:
        return [event.text for event in list(self.events) if isinstance(event, Noted)]


def until(holds: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not holds():
        assert time.monotonic() < deadline, f"{what} did not come about in {PATIENCE_S:g} s"
        time.sleep(0.05)


def path_of(item: str, target: str = "trn2") -> str:
    return ItemId.parse(item).evidence_path(target)


def at_hub(hub: Repo, item: str, target: str = "trn2") -> Evidence | None:
    shown = hub.git("show", f"main:{path_of(item, target)}", check=False)
    return codec.decode(Evidence, shown.encode(), item) if shown else None


def commits_of(hub: Repo, item: str) -> list[str]:
    return hub.git("log", "--format=%an %s", "main", "--", path_of(item)).splitlines()


def nothing_is_held(hub: Repo) -> bool:
    states = hub.git("for-each-ref", SPACE, "--format=%(contents:body)")
    return not re.search(r"^State: (held|renewed|taken-over)$", states, re.MULTILINE)


def test_two_machines_share_the_work_and_none_does_what_the_other_did(
    hub: Repo, make_repo: Callable[..., Repo]
) -> None:
    boxes = [Box(make_repo(name, clone=hub)) for name in ("north", "south")]
    until(lambda: all(at_hub(hub, f"rows/{name}") for name in NAMES), "evidence of every submission at the remote")
    summaries = [box.stop() for box in boxes]
    assert sorted(boxes[0].finished() + boxes[1].finished()) == [f"rows/{name}" for name in NAMES]
    assert sum(summary.finished for summary in summaries) == len(NAMES)
    assert [len(commits_of(hub, f"rows/{name}")) for name in NAMES] == [1] * len(NAMES)
    assert nothing_is_held(hub)
    for box in boxes:
        assert box.repo.git("for-each-ref", "refs/kgrade/outbox") == ""
        assert box.repo.git("status", "--porcelain") == ""


def test_what_is_pushed_or_changed_later_is_collected_too(
    lead: Repo, hub: Repo, make_repo: Callable[..., Repo]
) -> None:
    box = Box(make_repo("north", clone=hub), items=[ItemId("rows", "s01"), ItemId("rows", "s07")])
    until(lambda: at_hub(hub, "rows/s01") is not None, "the first evidence")
    first = at_hub(hub, "rows/s01")
    lead.git("pull", "-q", "--rebase", "origin", "main")
    lead.commit({**submission("s07"), "queue/rows/submissions/s01/solution/k.py": "rows = None\n"})
    lead.git("push", "-q", "origin", "main")
    until(lambda: at_hub(hub, "rows/s07") is not None, "evidence of the new submission")
    until(lambda: at_hub(hub, "rows/s01") != first, "evidence of the changed submission")
    assert box.stop().finished == 3
    tree = lead.git("rev-parse", "HEAD:queue/rows/submissions/s01/solution")
    found = at_hub(hub, "rows/s01")
    assert found is not None
    assert found.inputs.solution_tree == tree
    assert "waiting for commits" in box.noted()


def test_without_a_network_work_goes_on_and_of_two_that_met_the_newer_stands(
    hub: Repo, make_repo: Callable[..., Repo]
) -> None:
    alone, other = make_repo("north", clone=hub), make_repo("south", clone=hub)
    alone.git("remote", "set-url", "origin", str(hub.path) + "-away")
    options = {"items": [ItemId("rows", "s01")]}
    box = Box(alone, **options)
    until(lambda: box.finished() == ["rows/s01"], "evidence collected without a network")
    box.stop()
    assert any("working without a lease" in text for text in box.noted())
    assert any("1 commit is kept here" in text for text in box.noted())
    time.sleep(1.1)  # evidence is dated to the second, and which is newer must be plain
    later = Box(other, **options)
    until(lambda: at_hub(hub, "rows/s01") is not None, "the other machine's evidence")
    later.stop()
    newest = at_hub(hub, "rows/s01")
    alone.git("remote", "set-url", "origin", str(hub.path))
    again = Box(alone, **options)
    until(lambda: alone.git("for-each-ref", "refs/kgrade/outbox") == "", "the outbox to be sent")
    assert again.stop().finished == 0
    assert at_hub(hub, "rows/s01") == newest
    assert {line.split()[0] for line in commits_of_all(hub, "rows/s01")} == {"North", "South"}


def commits_of_all(hub: Repo, item: str) -> list[str]:
    return hub.git("log", "--full-history", "--format=%an %s", "main", "--", path_of(item)).splitlines()


def test_what_a_machine_that_died_had_begun_is_taken_over_when_its_lease_ends(
    hub: Repo, make_repo: Callable[..., Repo]
) -> None:
    dead = make_repo("south", clone=hub)
    reader = TreeReader(Git.open(dead.path))
    space = f"{SPACE}trn2/"
    refs = RemoteRefs(reader.git, Remote(reader.git, "origin"), space=space)
    Claims(reader, refs, "box-gone", Identity("Gone", "gone@example.org"), lease_s=2, space=space).acquire(
        ItemId("rows", "s01")
    )
    box = Box(make_repo("north", clone=hub), items=[ItemId("rows", "s01")])
    until(lambda: box.finished() == ["rows/s01"], "the lease to end")
    box.stop()
    assert any(isinstance(event, Skipped) and event.why.endswith("collects it") for event in box.events)
    assert nothing_is_held(hub)


def test_without_a_remote_the_branch_itself_is_followed(lead: Repo) -> None:
    box = Box(lead, items=[ItemId("rows", "s01")])
    until(lambda: box.finished() == ["rows/s01"], "the first evidence")
    lead.commit({"queue/rows/submissions/s01/solution/k.py": "rows = None\n"})
    until(lambda: len(box.finished()) == 2, "evidence of the changed submission")
    box.stop()
    assert lead.git("status", "--porcelain") == ""


def test_an_item_that_was_never_there_is_said_at_once(lead: Repo) -> None:
    with pytest.raises(CollectionError, match="there is no item rows/s09"):
        watch_queue(lead.path, [ItemId("rows", "s09")], cancel=threading.Event())


def test_ctrl_c_ends_what_runs_and_loses_nothing(lead: Repo, hub: Repo, make_repo: Callable[..., Repo]) -> None:
    pytest.importorskip("torch", reason="torch is not installed")
    stuck = TASK.replace("language: nki", "language: python").replace("targets: [trn2]", "targets: [cpu]")
    files = {"queue/stuck/task.yaml": stuck, "queue/stuck/prompt.md": "x\n"}
    files["queue/stuck/reference.py"] = "def rows(x):\n    return x.sum(-1)\n"
    files |= submission("s01", "import time\n\ntime.sleep(3600)\n\n\ndef rows(x):\n    return x\n", task="stuck")
    lead.commit(files)
    lead.git("push", "-q", "origin", "main")
    box = make_repo("north", clone=hub)
    items = ["rows/s01", "stuck/s01"]
    command = [sys.executable, "-m", "kgrade", "collect", *items, "--watch", "--stage", "build", "--stage", "integrity"]
    running = subprocess.Popen(
        command,
        cwd=box.path,
        env={**os.environ, "PYTHONPATH": str(PROJECT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        until(lambda: at_hub(hub, "rows/s01") is not None, "the first evidence at the remote")
        held = f"{SPACE}cpu/stuck/s01"
        until(lambda: hub.git("for-each-ref", held) != "", "the second job to be begun")
        running.send_signal(signal.SIGINT)
        said, _ = running.communicate(timeout=PATIENCE_S)
    finally:
        running.kill()
    assert running.returncode == 130, said
    assert "rows/s01 trn2: build" in said
    assert "what was collected is kept" in said
    assert at_hub(hub, "stuck/s01", "cpu") is None
    assert nothing_is_held(hub)
    assert box.git("for-each-ref", "refs/kgrade/outbox") == ""
