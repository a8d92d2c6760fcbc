"""A sitting at a real queue in a real terminal, by keys alone, to the commit."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import Repo
from tests.tui.terminal import Terminal

ROOT = Path(__file__).parents[2]
SCRIPT = """
import sys
from pathlib import Path
from kgrade.desk.desk import Desk
from kgrade.tui.app import KgradeApp
from tests.tui.paper_desk import source_of
desk = Desk.open(Path.cwd(), evaluator="ada")
status = KgradeApp(desk, {"source": source_of}).run(mouse=False)
desk.close()
sys.exit(status)
"""


@pytest.fixture
def queue(make_repo: Callable[..., Repo]) -> Repo:
    """The sample's softmax task and its submissions, in a repository of their own."""
    repo = make_repo("ada")
    wanted = [*(ROOT / "queue" / "softmax-rows").rglob("*"), *(ROOT / "rubrics").glob("*.yaml")]
    repo.commit({str(path.relative_to(ROOT)): path.read_bytes() for path in wanted if path.is_file()}, "the queue")
    return repo


@pytest.mark.parametrize(("width", "height"), [(80, 24), (160, 48)])
def test_from_the_first_key_to_the_commit(queue: Repo, width: int, height: int) -> None:
    env = {"PYTHONPATH": f"{ROOT}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"}
    with Terminal([sys.executable, "-c", SCRIPT], width=width, height=height, env=env, cwd=queue.path) as terminal:
        terminal.wait_for("softmax-rows")
        terminal.wait_for("verdict: -")
        terminal.send("c3 clauses untested\r" + "3" * 7 + "v2")
        terminal.wait_for("verdict: revise")
        terminal.wait_for("Draft")
        terminal.send("S")
        terminal.wait_for("softmax-rows/s01")
        terminal.wait_for("softmax-rows: Committed")
        terminal.send("scab\rsjjmlook here\r33333333v1")
        terminal.wait_for("verdict: accept")
        terminal.send("Sy")
        terminal.wait_for("softmax-rows/s01: Committed")
        assert terminal.leave() == 0
    log = queue.git("log", "-2", "--format=%s%n%(trailers:key=Item,valueonly)")
    assert "grade: softmax-rows/s01 accept" in log
    assert "grade: softmax-rows revise" in log
    saved = queue.show("queue/softmax-rows/submissions/s01/grades/ada.yaml")
    assert "text: look here" in saved
    assert "comment: 3 clauses untested" in queue.show("queue/softmax-rows/grades/ada.yaml")
    assert queue.git("status", "--porcelain") == ""
