"""How soon a submission is on screen, beside the least that a Textual application takes to show a line."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.benchmarks.measuring import compared, interleaved
from tests.benchmarks.sitting import ROOT, argv_of, environment
from tests.tui.terminal import Terminal

pytestmark = pytest.mark.alone

TRIVIAL = """
from textual.app import App
from textual.widgets import Static
class Trivial(App):
    def compose(self):
        yield Static("here it is")
Trivial().run()
"""


def until_shown(argv: list[str], text: bytes) -> float:
    """Seconds from starting a program to `text` on its way to the screen."""
    before = time.perf_counter()
    with Terminal(argv, env=environment(), cwd=ROOT) as terminal:
        terminal.wait_for_sent(text, limit=120)
        return time.perf_counter() - before


@pytest.mark.parametrize("submissions", [10, pytest.param(10_000, marks=pytest.mark.long)])
def test_a_submission_is_on_screen(
    queue_of: Callable[[int], Path], keep: Callable[..., None], submissions: int
) -> None:
    queue = queue_of(submissions)
    _review_first_task(queue)
    pairs = interleaved(
        lambda: until_shown(argv_of(queue), b"verdict: "),
        lambda: until_shown([sys.executable, "-c", TRIVIAL], b"here it is"),
    )
    because = "the modules of the desk and the panes, and git, come on top of Textual"
    keep(compared("first paint over a trivial Textual app", pairs, 1.6, size=submissions), because)


def _review_first_task(queue: Path) -> None:
    """Leave the first task's review for later, so that what opens is a submission; and make the index, once."""
    from kgrade.desk import Desk
    from kgrade.records.slugs import ItemId

    desk = Desk.open(queue, evaluator="ada")
    desk.skip(ItemId("task-00000"), "reviewed elsewhere")
    found = desk.next()
    desk.close()
    assert isinstance(found, ItemId)
    assert found.submission
    assert os.environ["XDG_STATE_HOME"]
