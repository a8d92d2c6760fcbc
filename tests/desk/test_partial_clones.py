"""An evaluator in a partial, shallow clone: an item comes in one fetch, the next few before they are asked for."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from kgrade.desk import Desk, DeskError
from kgrade.records.slugs import ItemId
from tests.large_queue import large_queue

DEPTH = pytest.mark.parametrize("depth", [(), ("--depth=1",)], ids=["full", "shallow"])


def git(folder: Path, *arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=folder, check=True, capture_output=True, text=True)
    return done.stdout.strip()


@pytest.fixture
def hub(tmp_path: Path) -> Path:
    large_queue(tmp_path / "made", 40, per_task=20, with_evidence=True)
    git(tmp_path, "clone", "-q", "--bare", "made", "hub")
    git(tmp_path / "hub", "config", "uploadpack.allowFilter", "true")
    git(tmp_path / "hub", "config", "uploadpack.allowAnySHA1InWant", "true")
    return tmp_path / "hub"


def cloned(hub: Path, *more: str) -> Path:
    git(hub.parent, "clone", "-q", "--no-checkout", "--filter=blob:none", *more, f"file://{hub}", "ada")
    git(hub.parent / "ada", "config", "user.name", "Ada")
    git(hub.parent / "ada", "config", "user.email", "ada@example.org")
    return hub.parent / "ada"


class Fetches:
    """The fetches of files that git made since the last look, by its own trace."""

    def __init__(self, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self._path = path
        self._seen = 0
        monkeypatch.setenv("GIT_TRACE2_EVENT", str(path))

    def since(self) -> int:
        events = [json.loads(line) for line in self._path.read_text().splitlines()] if self._path.exists() else []
        fresh, self._seen = events[self._seen :], len(events)
        starts = [event["argv"] for event in fresh if event["event"] == "start"]
        return sum("fetch" in argv and "--filter=blob:none" in argv for argv in starts)


def here(clone: Path, path: str) -> bool:
    oid = git(clone, "rev-parse", f"HEAD:{path}")
    listed = git(clone, "cat-file", "--batch-all-objects", "--batch-check=%(objectname)").split("\n")
    return oid in listed


@DEPTH
def test_only_the_item_at_hand_and_the_next_few_are_fetched(
    hub: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, depth: tuple[str, ...]
) -> None:
    clone = cloned(hub, *depth)
    fetches = Fetches(tmp_path / "trace", monkeypatch)
    desk = Desk.open(clone, evaluator="ada")
    first = desk.next()
    assert isinstance(first, ItemId)
    assert fetches.since() <= 3, "the records of the queue come in a few fetches, however many they are"
    last = ItemId("task-00001", "s0019")
    solution = f"{last.folder}/solution/kernel.py"
    assert not here(clone, solution)
    sitting = desk.sit(last)
    assert fetches.since() == 1
    assert here(clone, solution)
    assert not here(clone, f"{ItemId('task-00001', 's0018').folder}/solution/kernel.py")
    assert sitting.item.solution["kernel.py"]
    assert sitting.item.evidence
    for criterion in sitting.item.rubric.criteria:
        sitting.score(criterion.id, 3)
    sitting.edit("verdict", "", sitting.item.rubric.verdicts[0])
    fetches.since()
    saved = desk.save(sitting, anyway=True, follow=False)
    sitting.close()
    desk.sync()
    assert fetches.since() == 1, "the next few, in one fetch"
    following = desk.next()
    assert isinstance(following, ItemId)
    desk.sit(following).close()
    assert fetches.since() == 0
    desk.sync()
    assert desk.standing(last)[0] == "Pushed"
    assert git(hub, "cat-file", "-t", f"main:{saved.path}") == "blob"
    desk.close()


def test_without_the_remote_what_is_not_here_is_one_sentence(hub: Path) -> None:
    clone = cloned(hub)
    desk = Desk.open(clone, evaluator="ada")
    assert isinstance(desk.next(), ItemId)
    desk.sync()
    away = hub.rename(hub.with_name("away"))
    with pytest.raises(DeskError, match="files are not in this partial clone and origin does not give them now"):
        desk.item(ItemId("task-00001", "s0019"))
    desk.close()
    away.rename(hub)
    git(clone, "fetch", "-q", "--refetch", "--no-filter", "origin")  # as the sentence says
    hub.rename(away)
    desk = Desk.open(clone, evaluator="ada")
    assert desk.item(ItemId("task-00001", "s0019")).solution
    desk.close()


def test_a_queue_that_was_never_read_is_one_sentence_too(hub: Path) -> None:
    clone = cloned(hub)
    hub.rename(hub.with_name("away"))
    with pytest.raises(DeskError, match=r"40 files are not in this partial clone"):
        Desk.open(clone, evaluator="ada").rows()
