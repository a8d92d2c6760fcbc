"""Claims that ended, two versions of a grade, a rewritten branch: settled by a key, on real desks and a real remote."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from kgrade.desk import Desk
from kgrade.records.slugs import ItemId
from kgrade.tui.panes import panes
from kgrade.tui.screens.stage import Stage
from tests.conftest import Repo
from tests.desk.conftest import ada, open_desk  # noqa: F401  (fixtures)
from tests.desk.test_claiming import Clock, claiming_of
from tests.desk.test_desk import fill
from tests.desk.test_sending import box, grade, hub, level_of  # noqa: F401  (fixtures)
from tests.tui.stages import Play, play

S01 = ItemId("softmax", "s01")


def at(desk: Desk, scene: Callable[[Play], object]) -> None:
    play(scene, desk=desk, makers=panes(desk.history), size=(100, 30))  # type: ignore[arg-type]


def test_an_item_whose_claim_ended_is_taken_over(ada: Repo, open_desk: Callable[..., Desk]) -> None:  # noqa: F811
    eve = claiming_of(ada, "eve", old := Clock(), lease_s=60)
    old.wall -= 7200
    eve.take(S01)

    async def scene(on: Play) -> None:
        await on.press("Q/softmax/s01\r\r")
        assert "! only reading" in on.lines[0]
        assert "is held by eve" in on.message
        await on.press("3")
        assert "is held by eve" in on.message
        await on.press("T")
        assert "take softmax/s01 over, if its claim has ended" in on.text
        await on.press("\r3")
        assert "only reading" not in on.lines[0]
        assert "Draft" in on.lines[0]

    at(open_desk(ada), scene)


def test_what_is_held_now_stays_held(ada: Repo, open_desk: Callable[..., Desk]) -> None:  # noqa: F811
    claiming_of(ada, "eve", Clock()).take(S01)

    async def scene(on: Play) -> None:
        await on.press("Q/softmax/s01\r\rT\r")
        assert "! only reading" in on.lines[0]
        assert "is held by eve" in on.message

    at(open_desk(ada), scene)


def test_one_of_two_versions_is_chosen_and_sent(hub: Repo, box: Callable[..., tuple[Repo, Desk]]) -> None:  # noqa: F811
    _, there = box("there")
    _, here = box("here")
    grade(here, level=2)
    grade(there, level=4)
    there.sync()

    async def scene(on: Play) -> None:
        await on.settled()
        assert "! two versions" in on.lines[0]
        await on.press("Q/softmax/s01\r\r")
        await on.press("T")
        assert "keep the version from here: accept, total 50" in on.text
        assert "keep the one saved elsewhere: accept, total 100" in on.text
        await on.press("2")
        assert "two versions" not in on.lines[0]
        assert "Pushed" in on.lines[0]
        assert on.text.count("  4   ") >= 4
        await on.press("T")
        assert on.message == "nothing is to be settled"

    at(here, scene)
    assert level_of(hub.show(S01.grade_path("ada"), "main")) == 4


@pytest.mark.parametrize("key", ["1", "2", "3"])
def test_what_moved_while_it_was_open_is_still_valid_looked_at_again_or_given_up(
    ada: Repo,  # noqa: F811
    open_desk: Callable[..., Desk],  # noqa: F811
    key: str,
) -> None:
    desk = open_desk(ada)
    fill(sitting := desk.sit(S01))
    sitting.close()

    async def scene(on: Play) -> None:
        ada.commit({"queue/softmax/submissions/s01/solution/kernel.py": "meanwhile = True\n"})
        await on.press("S")
        assert "not saved yet: the submission changed while this was open" in on.text
        await on.press(key)
        await on.settled()
        assert on.lines[0].startswith("softmax/s01") == (key != "1")
        assert ("Draft" in on.lines[0]) == (key == "2")
        assert ("meanwhile = True" in on.text) == (key != "1")

    at(desk, scene)
    assert desk.standing(S01)[0] == ("Committed" if key == "1" else "Untouched")


def test_a_rewritten_branch_is_said_until_it_is_followed(
    hub: Repo,  # noqa: F811
    box: Callable[..., tuple[Repo, Desk]],  # noqa: F811
) -> None:
    _, desk = box("one")
    before = hub.git("rev-parse", "main")
    grade(desk)
    desk.sync()
    hub.git("update-ref", "refs/heads/main", before)

    async def scene(on: Play) -> None:
        await on.settled()
        assert "! branch rewritten" in on.lines[0]
        assert "was rewritten on origin" in on.message
        await on.press("T\r")
        assert "your grade of softmax/s01 is not in the rewritten branch" in on.message
        await on.press("3")
        assert "rewritten" not in on.lines[0]

    at(desk, scene)


def test_what_could_not_be_sent_says_when_it_is_tried_again_and_is(
    hub: Repo,  # noqa: F811
    box: Callable[..., tuple[Repo, Desk]],  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    _, desk = box("one")
    grade(desk)
    away = hub.path.with_name("away")
    hub.path.rename(away)
    timers: list[tuple[float, Callable[[], None]]] = []

    def set_timer(stage: Stage, delay: float, then: Callable[[], None]) -> Held:
        timers.append((delay, then))
        return Held()

    monkeypatch.setattr(Stage, "set_timer", set_timer)

    async def scene(on: Play) -> None:
        page, stage = on.app.page, on.app.stage
        assert page is not None
        await on.settled()
        assert "tried again at" in on.message
        assert "not sent, again at " in on.lines[0]
        await on.press("ckept")
        stage.mention("tried again at noon", "warn")
        await on.settled()
        assert "tried again at noon" in on.lines[-1]
        assert "kept" in on.lines[-2], "what is said stands over the keys, not over what is typed"
        await on.press("\x1b")
        away.rename(hub.path)
        delay, again = [each for each in timers if each[1] == page.sync][-1]
        assert delay > 0
        again()
        await on.settled()
        assert "not sent" not in on.lines[0]

    at(desk, scene)
    assert level_of(hub.show(S01.grade_path("ada"), "main")) == 3


class Held:
    """A timer that a person's patience stands for."""

    def stop(self) -> None:
        """Nothing runs."""
