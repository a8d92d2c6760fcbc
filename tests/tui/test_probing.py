"""`P`: a case of one's own, asked for, run while one watches, kept in the sheet, and taken back."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
import pytest

from kgrade.records.slugs import ItemId
from tests.conftest import Repo
from tests.harness.test_probe import QUEUE
from tests.tui.paper_desk import PaperDesk, PaperSitting
from tests.tui.stages import Play, play


class RowsDesk(PaperDesk):
    """A paper desk whose items lie in a real queue, so that the harness can take them from there."""

    def __init__(self, repo: Repo) -> None:
        super().__init__(("s01",))
        self.root = repo.path

    def sit(self, item: ItemId) -> PaperSitting:
        sitting = super().sit(item)
        sitting.item = msgspec.structs.replace(sitting.item, id=ItemId("rows", "s01"))
        return sitting


@pytest.fixture
def desk(make_repo: Callable[..., Repo]) -> RowsDesk:
    repo = make_repo("queue")
    repo.commit(QUEUE)
    return RowsDesk(repo)


def test_a_case_of_ones_own_runs_and_is_kept_as_a_probe(desk: RowsDesk) -> None:
    pytest.importorskip("torch", reason="torch is not installed")

    async def scene(on: Play) -> None:
        await on.press("P\x15M=2 N=7 float32\r")
        assert "rows/s01: M=2 N=7 float32" in on.text
        assert "failed: on cpu: " in on.text
        assert "kept as a probe" in on.message
        (probe,) = on.desk.sittings[0].sheet.probes.values()
        assert (probe.result, probe.case.symbols) == ("failed", {"M": 2, "N": 7})
        await on.press("q")
        assert "47 of 48 pass" in on.text, "the tests pane, which lists the probes"
        await on.press("u")
        assert not on.desk.sittings[0].sheet.probes

    play(scene, desk=desk, size=(120, 40))


def test_what_is_no_case_is_said_and_keeps_nothing(desk: RowsDesk) -> None:
    async def scene(on: Play) -> None:
        await on.press("P\x15weird\r")
        assert "'weird' is no size" in on.text
        assert not on.desk.sittings[0].sheet.probes
        await on.press("q")
        await on.press("P\x1b")
        assert not on.desk.sittings[0].sheet.probes

    play(scene, desk=desk, size=(120, 40))
