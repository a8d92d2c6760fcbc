"""Grades and preferences as rows that other programs read."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest

from kgrade.cli import run
from kgrade.records import codec
from kgrade.records.adjudication import Adjudication
from kgrade.records.comparison import Compared, Comparison
from kgrade.repository.check import check
from kgrade.repository.runner import Git
from kgrade.repository.tree import Snapshot, TreeReader
from tests.audit.sealed import Queue
from tests.conftest import Repo
from tests.desk.conftest import small_queue


@pytest.fixture(scope="module")
def queue(tmp_path_factory: pytest.TempPathFactory) -> Queue:
    """ada grades all three, bob two; one item is adjudicated, two are compared, one comment looks like a formula."""
    repo = Repo(tmp_path_factory.mktemp("exported"))
    repo.git("init", "-q", "-b", "main")
    repo.git("config", "user.name", "Ada")
    repo.git("config", "user.email", "ada@example.org")
    small_queue(repo)
    made = Queue(repo, {})
    for evaluator, item, level in (
        ("ada", "softmax/s01", 1), ("ada", "softmax/s02", 4), ("ada", "scan/s01", 3),
        ("bob", "softmax/s01", 2), ("bob", "softmax/s02", 2),
    ):  # fmt: skip
        grade = made.grade_of(evaluator, item, level)
        verdict = "reject" if (evaluator, item) == ("bob", "softmax/s02") else "accept"
        made.altered(evaluator, item, evaluator, {k: getattr(grade, k) for k in ("scores", "points", "total")} | {
            "verdict": verdict, "feedback": "=1+1"}, key=None)  # fmt: skip
    sheet = made.grade_of("ada", "softmax/s02", 1)
    decided = Adjudication(
        item="softmax/s02", lead="lea", decided="2026-01-03T00:00:00Z", rubric=sheet.rubric, grades={"ada": "1" * 40},
        verdict="revise", total=60.0, cause="edge-case", reason="Rows of one element.",
    )  # fmt: skip
    one, two = (made.grade_of("bob", f"softmax/{name}", 1).about.solution_tree for name in ("s01", "s02"))
    compared = Comparison(
        task="softmax", evaluator="bob", task_tree=sheet.about.task_tree, preferred="second", reason="It is right.",
        first=Compared(submission="s01", solution_tree=one), second=Compared(submission="s02", solution_tree=two),
        compared="2026-01-03T00:00:00Z",
    )  # fmt: skip
    files = {
        "queue/softmax/submissions/s02/adjudication.yaml": codec.encode_yaml(decided),
        compared.path: codec.encode_yaml(compared),
        "kgrade.yaml": "schema: kgrade/settings@1\ngrades_ref: refs/heads/grades/{evaluator}\n",
    }
    made.commit("refs/heads/main", files, "ada", key=None)
    repo.git("reset", "-q", "--hard")
    return made


def rows_of(capsys: pytest.CaptureFixture[str], *arguments: str) -> list[dict]:
    assert run(["export", *arguments]) == 0
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def test_every_grade_is_a_row_with_its_provenance(queue: Queue, capsys: pytest.CaptureFixture[str]) -> None:
    found = rows_of(capsys, "grades", "--queue", str(queue.repo.path))
    assert {(row["item"], row["evaluator"]): row["provenance"] for row in found} == {
        ("scan/s01", "ada"): "single",
        ("softmax/s01", "ada"): "unanimous",
        ("softmax/s01", "bob"): "unanimous",
        ("softmax/s02", "ada"): "adjudicated",
        ("softmax/s02", "bob"): "adjudicated",
    }
    [first] = [row for row in found if row["item"] == "scan/s01"]
    assert (first["total"], first["type"], first["author"], first["active_s"]) == (75.0, "generation", "kit", 300)
    assert set(first["scores"].values()) == {3}


def test_preferences_are_comparisons_and_points_far_enough_apart(
    queue: Queue, capsys: pytest.CaptureFixture[str]
) -> None:
    found = rows_of(capsys, "preferences", "--queue", str(queue.repo.path))
    assert [(row["basis"], row["evaluator"], row["chosen"], row["rejected"]) for row in found] == [
        ("comparison", "bob", "s02", "s01"),
        ("points", "ada", "s02", "s01"),
    ]
    assert [row["provenance"] for row in found] == ["unanimous", "unanimous"]
    assert found[0]["chosen_tree"] == found[1]["chosen_tree"] != found[1]["rejected_tree"]


def test_csv_spreads_scores_over_columns_and_holds_no_formula(queue: Queue, tmp_path: Path) -> None:
    file = tmp_path / "grades.csv"
    assert run(["export", "grades", "-o", str(file), "--queue", str(queue.repo.path)]) == 0
    found = list(csv.DictReader(io.StringIO(file.read_text())))
    assert len(found) == 5
    assert {row["feedback"] for row in found} == {"'=1+1"}
    assert sum(name.startswith("scores.") for name in found[0]) >= 4


def test_parquet_holds_the_same(queue: Queue, tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    file = tmp_path / "grades.parquet"
    assert run(["export", "grades", "-o", str(file), "--queue", str(queue.repo.path)]) == 0
    table = parquet.read_table(file)
    assert table.num_rows == 5
    assert sorted(table.column("total").to_pylist()) == [25.0, 50.0, 50.0, 75.0, 100.0]


def test_blind_queues_name_no_author_and_unreadable_grades_are_told(
    queue: Queue, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    copy = queue.copied(tmp_path / "queue")
    settings = "schema: kgrade/settings@1\nblind: true\nleads: [ada]\ngrades_ref: refs/heads/grades/{evaluator}\n"
    copy.commit("refs/heads/main", {"kgrade.yaml": settings}, "ada", key=None)
    copy.commit("refs/heads/grades/eve", {"queue/scan/submissions/s01/grades/eve.yaml": "x\n"}, "eve", key=None)
    assert run(["export", "grades", "--queue", str(copy.repo.path)]) == 0
    told = capsys.readouterr()
    assert {json.loads(line)["author"] for line in told.out.splitlines()} == {None}
    assert "left out: queue/scan/submissions/s01/grades/eve.yaml" in told.err


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [(["-o", "grades.xls"], "tells no format"), (["--format", "parquet"], "say where it goes")],
)
def test_what_cannot_be_written_is_said(
    queue: Queue, capsys: pytest.CaptureFixture[str], arguments: list[str], sentence: str
) -> None:
    assert run(["export", "grades", *arguments, "--queue", str(queue.repo.path)]) == 2
    assert sentence in capsys.readouterr().err


def test_a_comparison_is_checked_and_does_not_change_the_task(queue: Queue, tmp_path: Path) -> None:
    copy = queue.copied(tmp_path / "queue")
    reader = TreeReader(Git.open(copy.repo.path))
    with reader.objects:
        head = Snapshot(reader, copy.repo.git("rev-parse", "main"))
        before = Snapshot(reader, copy.repo.git("rev-parse", "main^"))
        assert head.task_tree("softmax") == before.task_tree("softmax")
        assert not [fault for fault in check(head) if "comparisons" in fault.path]
        good = copy.repo.show("queue/softmax/comparisons/bob/s01--s02.yaml", "main")
        wrong = {
            "queue/softmax/comparisons/eve/s01--s02.yaml": good + "\n",
            "queue/softmax/comparisons/bob/s02--s01.yaml": good.replace("second", "third") + "\n",
        }
        made = copy.commit("refs/heads/main", wrong, "ada", key=None)
        faults = [fault for fault in check(Snapshot(reader, made)) if "comparisons" in fault.path]
    assert {fault.path for fault in faults} == set(wrong)


def test_a_comparison_of_one_with_itself_is_refused() -> None:
    one = Compared(submission="s01", solution_tree="1" * 40)
    both = Comparison(
        task="t", evaluator="ada", task_tree="1" * 40, first=one, second=one, preferred="neither", reason="x",
        compared="2026-01-03T00:00:00Z",
    )  # fmt: skip
    assert [problem.where for problem in both.problems()] == ["second.submission"]
