"""Killed at any moment, nothing that the screen had shown is lost: each life is killed and the next one looks.

Each life types a run of edits and saves in packets and is killed somewhere in it. What the screen then showed is one
moment of that run, and what the next life shows must be that moment or a later one. What had left the screen by a save
must be in git, as it was when it was saved.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from types import MappingProxyType

import pytest

from kgrade.desk import Desk
from kgrade.records import codec
from kgrade.records.grade import Grade
from kgrade.records.slugs import ItemId
from tests.conftest import Repo
from tests.desk.conftest import KERNEL, small_queue, submission
from tests.tui.sittings import open_app
from tests.tui.terminal import Terminal

VERDICTS = {1: "accept", 2: "revise"}
STATUSES = ("Untouched", "Draft", "Committed", "Pushed")


@dataclass(frozen=True)
class Sheet:
    """What is filled in: (level, comment) by criterion, and the verdict."""

    scores: MappingProxyType[str, tuple[str, str]]
    verdict: str = "-"

    @property
    def is_empty(self) -> bool:
        return self.verdict == "-" and set(self.scores.values()) == {(".", "")}

    def with_score(self, criterion: str, level: str | None = None, comment: str | None = None) -> Sheet:
        old = self.scores[criterion]
        new = (old[0] if level is None else level, old[1] if comment is None else comment)
        return replace(self, scores=MappingProxyType({**self.scores, criterion: new}))


@dataclass(frozen=True)
class Seen:
    """What a screen shows of the open item."""

    item: str
    status: str
    sheet: Sheet

    @classmethod
    def on(cls, terminal: Terminal) -> Seen | None:
        """What `terminal` shows; None in the middle of a picture, which a kill or a full pipe can leave half drawn."""
        lines = terminal.screen.lines
        status = next((word for word in lines[0].split() if word in STATUSES), None)
        top = next((y for y, line in enumerate(lines) if re.match(r"- [a-z-]+ -+ .* scored", line)), None)
        end = next((y for y, line in enumerate(lines) if line.startswith(" gates:")), None)
        if status is None or top is None or end is None:
            return None
        beside = (line.partition("│")[0].removeprefix(">").split() for line in lines[top + 1 : end])
        rows = [row for row in beside if row]  # the words of a level can take more lines than there are criteria
        verdict = re.search(r"verdict: (\S+)", lines[end])
        if verdict is None or any(len(row) < 2 for row in rows):
            return None
        scores = {}
        for name, level, *comment in rows:
            scores[name] = (level, comment[0] if comment and re.fullmatch(r"n\d+", comment[0]) else "")
        return cls(lines[0].split()[0], status, Sheet(MappingProxyType(scores), verdict[1]))


@dataclass(frozen=True)
class Step:
    """Keys, and the sheet after them; None: they save the sheet before them and open another item."""

    keys: str
    after: Sheet | None


@dataclass(frozen=True)
class Life:
    """What was there at its start, what was then typed, and what the screen showed when it was killed."""

    start: Seen
    typed: list[Step]
    shown: Seen
    text: str

    @property
    def sheets(self) -> list[Sheet]:
        """The sheets of the item it began with, in order."""
        return [self.start.sheet, *(step.after for step in self.typed if step.after is not None)]

    @property
    def may_have_saved(self) -> bool:
        return any(step.after is None for step in self.typed)


class Queue:
    """Lives that follow each other at one queue, each looking for what the one before it had shown."""

    def __init__(self, repo: Repo, hub: Repo, seed: int) -> None:
        self.repo = repo
        self.hub = hub
        self.dice = random.Random(seed)
        self.comments = 0
        self.saved: dict[str, Sheet] = {}

    def live(self, before: Life | None) -> Life:
        """Start, look, type, be killed."""
        dice = self.dice
        with open_app(self.repo, 160, 48) as terminal:  # every criterion, and its comment in focus too
            terminal.wait_for("verdict: ")
            terminal.wait_for(" help")
            terminal.wait_until(lambda: Seen.on(terminal) is not None, "a whole picture")
            start = Seen.on(terminal)
            assert start is not None
            shown = start
            if before is not None:
                self.compare(before, start)
            script = self.script(start.sheet)
            typed = script[: max(1, dice.randrange(len(script) * 2))]
            for step in typed:
                terminal.send(step.keys)
                terminal.settle(dice.choice([0.0, 0.0, 0.002, 0.01, 0.05]), limit=0.3)
                shown = Seen.on(terminal) or shown
            if typed[-1].after is None:
                # Into the commit, the push, or past them.
                terminal.settle(0.5, limit=dice.random())
            terminal.kill()
            terminal.settle(0.0)
            return Life(start, typed, Seen.on(terminal) or shown, terminal.text)

    def script(self, sheet: Sheet) -> list[Step]:
        """A run of edits from `sheet` on; some are undone, and now and then the item is saved and looked at again."""
        steps: list[Step] = []

        def go_to(name: str) -> str:
            return "K" * len(sheet.scores) + "J" * list(sheet.scores).index(name)

        for _ in range(self.dice.randrange(2, 6)):
            name, level = self.dice.choice(list(sheet.scores)), str(self.dice.randrange(5))
            steps.append(Step(go_to(name) + level, sheet := sheet.with_score(name, level=level)))
            name, before = self.dice.choice(list(sheet.scores)), sheet
            self.comments += 1
            comment = f"n{self.comments}"
            steps.append(Step(f"{go_to(name)}c\x15{comment}\r", sheet := sheet.with_score(name, comment=comment)))
            if self.dice.random() < 0.3:
                steps.append(Step("u", sheet := before))
        verdict = self.dice.choice([1, 2])
        steps.append(Step(f"v{verdict}", sheet := replace(sheet, verdict=VERDICTS[verdict])))
        if self.dice.random() < 0.6:
            steps.append(Step("Sy", None))
            if self.dice.random() < 0.6:
                steps.append(Step("<", None))
        return steps

    def compare(self, life: Life, found: Seen) -> None:
        """`found` goes on from what `life` had shown, or from what it had typed after that."""
        item, shown, sheets = life.start.item, life.shown, life.sheets
        self.assert_saved_grades()
        if shown.item != item or shown.status in ("Committed", "Pushed") or found.item != item:
            assert life.may_have_saved, f"{item} was left for {found.item} without a save"
            self.saved[item] = sheets[-1]
            assert (found.item, shown.sheet if shown.item == item else sheets[-1]) != (item, sheets[-1]), (
                f"{item} was saved and is {found.status} again; when it was killed the screen said:\n{life.text}"
            )
            self.assert_saved_grades()
            if shown.status == "Pushed":
                self.assert_grade(self.hub, ["main"], shown.item)
            return
        assert shown.sheet in sheets, f"the screen showed what nobody had typed: {shown}"
        rest = sheets[sheets.index(shown.sheet) :]
        assert found.sheet in rest, f"{shown} was shown, and {found} is there"
        assert found.status == "Draft" or shown.status == "Untouched" or found.sheet.is_empty

    def assert_saved_grades(self) -> None:
        """Every grade that was ever saved is in git as it was."""
        for item in self.saved:
            self.assert_grade(self.repo, ["refs/kgrade/outbox/main", "refs/remotes/origin/main", "main"], item)

    def assert_grade(self, repo: Repo, refs: list[str], item: str) -> None:
        path = ItemId.parse(item).grade_path("ada")
        texts = [repo.git("show", f"{ref}:{path}", check=False) for ref in refs]
        data = next((text for text in texts if text), "")
        grade = codec.decode(Grade, data.encode() + b"\n", path)
        sheet = self.saved[item]
        # A comment alone is nothing that a grade can hold.
        expected = {name: score for name, score in sheet.scores.items() if score[0] != "."}
        assert {name: (str(score.score), score.comment) for name, score in grade.scores.items()} == expected
        assert (grade.verdict or "-") == sheet.verdict


def queue_of(make_repo: Callable[..., Repo], submissions: int, seed: int) -> Queue:
    """A task and many submissions, in a clone of a repository that takes pushes."""
    source = make_repo("lead")
    small_queue(source)
    files = {}
    for number in range(3, submissions + 3):
        folder = f"queue/softmax/submissions/s{number:03}"
        files[f"{folder}/submission.yaml"] = submission("2026-11-04T09:30:00Z")
        files[f"{folder}/solution/kernel.py"] = KERNEL + f"# {number}\n"
    source.commit(files, "more submissions")
    hub = make_repo("hub", bare=True)
    source.git("push", "-q", str(hub.path), "main")
    return Queue(make_repo("ada", clone=hub), hub, seed)


@pytest.mark.parametrize("kills", [20, pytest.param(1000, marks=pytest.mark.long)])
def test_what_the_screen_had_shown_is_there_after_the_kill(make_repo: Callable[..., Repo], kills: int) -> None:
    seed = random.randrange(1 << 32)
    print(f"seed {seed}")  # shown where it fails
    queue = queue_of(make_repo, 2 * kills, seed)
    life, number = None, 0
    # Where the machine is slow, more of the kills come before a save is done.
    while number < kills or (len(queue.saved) < kills // 10 and number < 2 * kills):
        life = queue.live(life)
        number += 1
        if kills == 20 or number % 50 == 0:
            for repo in (queue.repo, queue.hub):
                repo.git("fsck", "--strict", "--no-dangling")
    queue.live(life)
    desk = Desk.open(queue.repo.path, evaluator="ada")
    desk.sync()
    desk.close()
    assert len(queue.saved) >= kills // 10
    for item in queue.saved:
        queue.assert_grade(queue.hub, ["main"], item)
