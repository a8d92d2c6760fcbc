"""Every item of the project's own queue can be shown in every pane."""

from pathlib import Path

import pytest

from kgrade.desk.sheet import Sheet
from kgrade.records import codec
from kgrade.records.slugs import ItemId
from kgrade.records.submission import Submission
from kgrade.records.task import Task
from kgrade.tui.panes import panes
from tests.tui.panes.builders import item
from tests.tui.panes.shown import shown

QUEUE = Path(__file__).parents[3] / "queue"
FOLDERS = sorted(path.parent for path in QUEUE.glob("*/submissions/*/submission.yaml"))


def files(folder: Path) -> dict[str, bytes]:
    found = (path for path in sorted(folder.rglob("*")) if path.is_file() and "__pycache__" not in path.parts)
    return {str(path.relative_to(folder)): path.read_bytes() for path in found}


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: f"{folder.parents[1].name}/{folder.name}")
def test_every_pane_shows_every_submission(folder):
    home = folder.parents[1]
    own = {path: data for path, data in files(home).items() if not path.startswith(("submissions/", "evidence/"))}
    start = {path.removeprefix("start/"): data for path, data in own.items() if path.startswith("start/")}
    one = item(
        id=ItemId(home.name, folder.name),
        task=codec.decode(Task, own["task.yaml"], "task.yaml"),
        submission=codec.decode(Submission, (folder / "submission.yaml").read_bytes(), "submission.yaml"),
        prompt=own["prompt.md"].decode(),
        files=own,
        solution=files(folder / "solution"),
        bases={"start": start} if start else {},
    )
    for name, make in panes(lambda _: []).items():
        pane = make(one, Sheet())
        assert shown(pane.lines, folds=True), name
        if pane.split is not None:
            assert shown(pane.split, 160, folds=True), name
