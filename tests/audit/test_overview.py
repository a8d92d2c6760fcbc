"""The whole audit of a real queue: read from every branch, told in the terminal, as JSON, and on a page."""

from __future__ import annotations

import json
import subprocess
from datetime import UTC, datetime
from html.parser import HTMLParser
from pathlib import Path

import msgspec
import numpy as np
import pytest

from kgrade.audit.changes import changes
from kgrade.audit.coverage import Coverage, coverage
from kgrade.audit.overview import overview
from kgrade.audit.page_history import forecast
from kgrade.audit.reading import standing_grades
from kgrade.cli import run
from kgrade.records.assignments import Assignment, Assignments
from kgrade.records.settings import Settings
from kgrade.records.slugs import ItemId
from kgrade.repository.grades import grade_branches
from kgrade.repository.opening import open_queue
from kgrade.repository.plan import Plan
from kgrade.repository.runner import Git
from kgrade.repository.tree import Snapshot, TreeReader
from tests.audit.sealed import HOUR, START, Queue
from tests.conftest import Repo
from tests.desk.conftest import small_queue, submission

ITEMS = [f"softmax/s{number:02}" for number in range(1, 17)]


@pytest.fixture(scope="module")
def queue(tmp_path_factory: pytest.TempPathFactory) -> Queue:
    """16 submissions; ada and bob grade all, one level apart on every fourth; eve grades two, one with markup in it."""
    repo = Repo(tmp_path_factory.mktemp("audited"))
    repo.git("init", "-q", "-b", "main")
    repo.git("config", "user.name", "Lea")
    repo.git("config", "user.email", "lea@example.org")
    small_queue(repo)
    more = {
        f"queue/{i.replace('/', '/submissions/')}/submission.yaml": submission("2026-11-03T09:30:00Z") for i in ITEMS
    }
    more |= {f"queue/{i.replace('/', '/submissions/')}/solution/kernel.py": f"# {i}\n" for i in ITEMS}
    more["kgrade.yaml"] = "schema: kgrade/settings@1\ngrades_ref: refs/heads/grades/{evaluator}\ngraders_per_item: 2\n"
    repo.commit(more, "more")
    made = Queue(repo, {})
    rng = np.random.default_rng(1)
    for at, item in enumerate(ITEMS):
        level = int(rng.integers(0, 5))
        other = level if at % 4 else (level + 1 if level < 4 else level - 1)
        made.grade("ada", item, level, key=None)
        made.grade("bob", item, other, key=None)
    made.grade("eve", "softmax/s01", 0, key=None)
    made.grade("ada", "softmax/s02", 4, key=None)
    broken = ItemId.parse("softmax/s03").grade_path("eve")
    made.commit("refs/heads/grades/eve", {broken: 'schema: kgrade/grade@1\nitem: x\n"<b>": 1\n'}, "eve", key=None)
    return made


def test_the_overview_is_that_of_every_branch(queue: Queue) -> None:
    reader = TreeReader(Git.open(queue.repo.path))
    with reader.objects:
        branch, settings = open_queue(reader)
        found = overview(reader, branch, settings)
    assert (found.agreement.grades, found.agreement.evaluators) == (33, ["ada", "bob", "eve"])
    assert (found.coverage.items, found.coverage.graded, found.coverage.finished) == (17, 16, 16)
    assert len(found.faults) == 1
    assert all(each.items == 16 for each in found.agreement.criteria)
    assert all(0.6 < each.alpha.value < 1 for each in found.agreement.criteria)
    assert {"softmax/s01", "softmax/s05", "softmax/s13"} <= {each.item for each in found.disagreements}
    assert "softmax/s04" not in {each.item for each in found.disagreements}
    assert [each.gap for each in found.disagreements] == sorted((e.gap for e in found.disagreements), reverse=True)


def test_a_change_is_told_from_what_to_what(queue: Queue) -> None:
    reader = TreeReader(Git.open(queue.repo.path))
    with reader.objects:
        stand = grade_branches(*open_queue(reader))
        of_item = changes(reader, stand, item="softmax/s02")
        of_ada = changes(reader, stand, evaluator="ada")
        of_criterion = changes(reader, stand, criterion="correctness")
    assert [change.evaluator for change in of_item] == ["ada", "bob", "ada"]
    assert of_item[0].moved["total"][1] == "100"
    assert of_item[-1].moved["total"][0] == "-"
    assert len(of_ada) == 17
    assert {change.evaluator for change in of_criterion} <= {"ada", "bob", "eve"}
    assert all("correctness" in change.moved for change in of_criterion)


def test_the_pace_is_that_of_the_last_week(queue: Queue) -> None:
    reader = TreeReader(Git.open(queue.repo.path))
    with reader.objects:
        grades = standing_grades(reader, grade_branches(*open_queue(reader))).grades
        snapshot = Snapshot(reader, queue.repo.git("rev-parse", "main"))
        plan = Plan(Settings(graders_per_item=3), Assignments(items={"softmax/s05": Assignment(retired="a copy")}))
        soon = coverage(snapshot, grades, plan, datetime.fromtimestamp(START + 36 * HOUR, UTC))
        never = coverage(snapshot, grades, plan, datetime.fromtimestamp(START + 5200 * HOUR, UTC))
    assert (soon.items, soon.wanted) == (16, 3 * 16)
    assert (soon.grades_left, soon.per_day) == (3 * 17 - 33 - 1, 33 / 7), "one is wanted no more of what is retired"
    assert soon.days_left == pytest.approx(17 / (33 / 7))
    assert (never.per_day, never.days_left) == (0.0, None)


class Page(HTMLParser):
    """Collects tags and text; a page that loads or runs anything from elsewhere is refused."""

    def __init__(self) -> None:
        super().__init__()
        self.text: list[str] = []
        self.count: dict[str, int] = {}

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag not in ("script", "link", "img", "iframe", "object")
        assert not {"src", "href", "onload"} & {name for name, _ in attrs}
        self.count[tag] = self.count.get(tag, 0) + 1

    def handle_data(self, data: str) -> None:
        self.text.append(data)


def test_the_page_stands_alone_and_shows_hostile_text_as_text(queue: Queue, tmp_path: Path) -> None:
    file = tmp_path / "audit.html"
    assert run(["audit", "--html", str(file), "--queue", str(queue.repo.path)]) == 0
    content = file.read_text()
    page = Page()
    page.feed(content)
    shown = " ".join(page.text)
    assert "Audit of main" in shown
    assert "Krippendorff" in shown
    assert page.count["svg"] == 4, "coverage, forecast, agreement, severity"
    assert page.count["h3"] == 16, "a history for each item that was graded; the unreadable grade is none"
    assert "ada@example.org" in shown
    assert "total 100" in shown
    assert page.count.get("b", 0) == 0
    assert "<b>" in shown


def test_the_terminal_and_json_say_the_same(queue: Queue, capsys: pytest.CaptureFixture[str]) -> None:
    at = ["--queue", str(queue.repo.path)]
    assert run(["audit", *at]) == 0
    out = capsys.readouterr().out
    assert "33 grades by 3 evaluators, 16 items rated twice or more" in out
    assert "16 of 17 submissions finished, 2 grades to go" in out
    assert "unreadable: queue/softmax/submissions/s03/grades/eve.yaml" in out
    assert run(["audit", "--json", *at]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["agreement"]["grades"] == 33
    assert run(["audit", "--history", "--item", "softmax/s02", *at]) == 0
    out = capsys.readouterr().out
    assert "3 saves" in out
    assert "total" in out
    assert "ada (ada@example.org)" in out
    assert "generation@" in out
    assert "shallow" not in out


def test_a_shallow_clone_is_audited_and_says_what_it_cannot_see(
    queue: Queue, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = queue.repo.path.resolve().as_uri()
    subprocess.run(["git", "clone", "-q", "--depth=1", "--no-single-branch", source, tmp_path / "shallow"], check=True)
    for more in ([], ["--history"], ["--verify"]):
        run(["audit", *more, "--queue", str(tmp_path / "shallow")])
        assert "this clone is shallow: what lies before its edge cannot be seen" in capsys.readouterr().out
    file = tmp_path / "audit.html"
    assert run(["audit", "--html", str(file), "--queue", str(tmp_path / "shallow")]) == 0
    assert "this clone is shallow" in file.read_text()


def test_the_forecast_ends_where_the_grades_do() -> None:
    days = {f"2026-11-{day:02d}": 2 for day in range(1, 11)}
    covered = Coverage(
        items=40,
        graded=20,
        finished=20,
        wanted=40,
        grades=20,
        grades_left=20,
        per_day=2.0,
        days_left=10.0,
        by_evaluator={},
        by_day=days,
        as_of="2026-11-10",
    )
    drawn = forecast(covered)
    assert ">2026-11-01<" in drawn
    assert ">2026-11-20<" in drawn
    assert 'class="line ahead" x1="410.0" x2="780.0" y1="70.0" y2="10.0"' in drawn
    still = forecast(msgspec.structs.replace(covered, per_day=0.0, days_left=None))
    assert "ahead" not in still
    assert forecast(msgspec.structs.replace(covered, by_day={})) == ""


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--item", "softmax/s01"], "add --history"),
        (["--verify", "--history"], "give one of them"),
    ],
)
def test_what_cannot_be_asked_together_is_refused(
    queue: Queue, capsys: pytest.CaptureFixture[str], arguments: list[str], sentence: str
) -> None:
    assert run(["audit", *arguments, "--queue", str(queue.repo.path)]) == 2
    assert sentence in capsys.readouterr().err


def test_a_queue_without_grades_is_audited_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    repo = Repo(tmp_path)
    repo.git("init", "-q", "-b", "main")
    repo.git("config", "user.name", "Lea")
    repo.git("config", "user.email", "lea@example.org")
    small_queue(repo)
    for more in ([], ["--verify"], ["--history"], ["--html", str(tmp_path / "page.html")]):
        assert run(["audit", *more, "--queue", str(tmp_path)]) == 0
    assert "0 grades by 0 evaluators" in capsys.readouterr().out
