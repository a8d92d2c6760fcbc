"""A lead sees where grades differ and decides; the decision is a record on the queue's branch."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from kgrade.cli import run
from kgrade.records import codec
from kgrade.records.adjudication import Adjudication
from kgrade.records.comparison import Comparison
from tests.audit.sealed import Queue
from tests.conftest import Repo
from tests.desk.conftest import small_queue

PATH = "queue/softmax/submissions/s01/adjudication.yaml"


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Queue:
    """ada and bob differ on s01 in every criterion, and agree on s02; Lea leads."""
    repo = Repo(tmp_path_factory.mktemp("cases") / "queue")
    repo.path.mkdir()
    repo.git("init", "-q", "-b", "main")
    repo.git("config", "user.name", "Lea")
    repo.git("config", "user.email", "lea@example.org")
    small_queue(repo)
    settings = "schema: kgrade/settings@1\ngrades_ref: refs/heads/grades/{evaluator}\nleads: [lea]\n"
    repo.commit({"kgrade.yaml": settings}, "settings")
    made = Queue(repo, {})
    for evaluator, item, level in (
        ("ada", "softmax/s01", 1), ("bob", "softmax/s01", 3), ("ada", "softmax/s02", 2), ("bob", "softmax/s02", 2),
    ):  # fmt: skip
        made.grade(evaluator, item, level, key=None)
    return made


@pytest.fixture
def queue(original: Queue, tmp_path: Path) -> Queue:
    return original.copied(tmp_path / "queue")


def criteria(queue: Queue) -> list[str]:
    return list(queue.grade_of("ada", "softmax/s01", 1).scores)


def decision(queue: Queue, *more: str) -> list[str]:
    given = ["adjudicate", "softmax/s01", "--queue", str(queue.repo.path), *more]
    return [*given, "--verdict", "revise", "--cause", "slip", "--reason", "Rows of one element are wrong."]


def test_the_list_and_the_case_show_what_differs(queue: Queue, capsys: pytest.CaptureFixture[str]) -> None:
    at = ["--queue", str(queue.repo.path)]
    assert run(["adjudicate", *at]) == 0
    out = capsys.readouterr().out
    assert "softmax/s01" in out
    assert "softmax/s02" not in out
    assert "1 to decide, 0 decided" in out
    assert run(["adjudicate", "softmax/s01", *at]) == 0
    out = capsys.readouterr().out
    assert "ada" in out.splitlines()[1]
    assert f"{criteria(queue)[0]}, bob: As seen." in out


def test_a_decision_settles_each_level_and_is_committed(queue: Queue, capsys: pytest.CaptureFixture[str]) -> None:
    at = ["--queue", str(queue.repo.path)]
    settled = [argument for name in criteria(queue) for argument in ("--score", f"{name}=2")]
    before = queue.repo.git("status", "--porcelain")
    assert run(decision(queue, *settled)) == 0
    made = codec.decode(Adjudication, queue.repo.show(PATH).encode(), PATH)
    assert (made.verdict, made.total, made.lead, made.cause) == ("revise", 50.0, "lea", "slip")
    own = PATH.replace("adjudication", "grades/ada")
    assert set(made.grades) == {"ada", "bob"}
    assert made.grades["ada"] == queue.repo.git("rev-parse", f"grades/ada:{own}")
    assert queue.repo.git("log", "-1", "--format=%s") == "adjudicate: softmax/s01 revise 50 (lea)"
    assert queue.repo.git("status", "--porcelain") == before
    capsys.readouterr()
    assert run(["adjudicate", *at]) == 0
    assert "0 to decide, 1 decided" in capsys.readouterr().out
    assert run(["export", "grades", *at]) == 0
    rows = [json.loads(each) for each in capsys.readouterr().out.splitlines()]
    assert {row["adjudicated_total"] for row in rows if row["item"] == "softmax/s01"} == {50.0}
    assert run(decision(queue, "--total", "40")) == 0
    assert run(["check", str(queue.repo.path)]) == 0


@pytest.mark.parametrize(
    ("more", "sentence"),
    [
        ([], "differ and are not settled; give each, or the total"),
        (["--score", "nothing=2"], "has no criterion 'nothing'"),
        (["--score", "numerics"], "is no level of a criterion"),
        (["--evaluator", "ada"], "only a lead can do this, and ada is none"),
        (["--total", "300"], "--total"),
    ],
)
def test_what_is_no_decision_is_refused_and_nothing_is_written(
    queue: Queue, capsys: pytest.CaptureFixture[str], more: list[str], sentence: str
) -> None:
    head = queue.repo.git("rev-parse", "main")
    assert run(decision(queue, *more)) == 2
    assert sentence in capsys.readouterr().err
    assert queue.repo.git("rev-parse", "main") == head


def test_a_level_outside_the_scale_and_a_missing_reason_are_refused(
    queue: Queue, capsys: pytest.CaptureFixture[str]
) -> None:
    name = criteria(queue)[0]
    assert run(decision(queue, "--score", f"{name}=7")) == 2
    assert f"the level 7 of {name} is outside 0 to 4" in capsys.readouterr().err
    at = ["adjudicate", "softmax/s01", "--queue", str(queue.repo.path)]
    assert run([*at, "--verdict", "revise"]) == 2
    assert "a decision needs --cause" in capsys.readouterr().err
    assert run([*at, "--reason", "x"]) == 2
    assert "a decision needs --verdict" in capsys.readouterr().err
    assert run(["adjudicate", "scan/s01", "--queue", str(queue.repo.path)]) == 2
    assert "scan/s01 has no grade" in capsys.readouterr().err


def test_a_blind_queue_names_no_grader_and_moved_bytes_are_told(
    queue: Queue, capsys: pytest.CaptureFixture[str]
) -> None:
    settings = "schema: kgrade/settings@1\nblind: true\ngrades_ref: refs/heads/grades/{evaluator}\nleads: [lea]\n"
    moved = {"kgrade.yaml": settings, "queue/softmax/submissions/s01/solution/kernel.py": "# better\n"}
    queue.commit("refs/heads/main", moved, "lea", key=None)
    assert run(["adjudicate", "softmax/s01", "--queue", str(queue.repo.path)]) == 0
    out = capsys.readouterr().out
    assert "A judged another version of the submission" in out
    assert "criterion" in out
    heading = next(row for row in out.splitlines() if row.startswith("criterion"))
    assert heading.split() == ["criterion", "A", "B"]


def test_two_submissions_are_compared_and_a_preference_is_a_record(
    queue: Queue, capsys: pytest.CaptureFixture[str]
) -> None:
    both = ["compare", "softmax/s02", "softmax/s01", "--queue", str(queue.repo.path), "--evaluator", "ada"]
    assert run(both) == 0
    out = capsys.readouterr().out.splitlines()
    assert out[0].split() == ["softmax/s01", "softmax/s02"]
    assert "ada's grade  accept 25    accept 50" in out[1]
    assert run([*both, "--prefer", "softmax/s02", "--reason", "It subtracts the maximum."]) == 0
    path = "queue/softmax/comparisons/ada/s01--s02.yaml"
    made = codec.decode(Comparison, queue.repo.show(path).encode(), path)
    assert (made.preferred, made.reason, made.path) == ("second", "It subtracts the maximum.", path)
    assert run([*both, "--prefer", "neither", "--reason", "Both are right."]) == 0
    assert codec.decode(Comparison, queue.repo.show(path).encode(), path).preferred == "neither"
    assert run(["check", str(queue.repo.path)]) == 0


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["softmax/s01", "scan/s01"], "expected two submissions of one task"),
        (["softmax/s01", "softmax/s01"], "expected two submissions of one task"),
        (["softmax/s01", "softmax/s77"], "there is no submission softmax/s77"),
        (["softmax/s01", "softmax/s02", "--prefer", "s02"], "is neither of the two"),
        (["softmax/s01", "softmax/s02", "--prefer", "neither"], "needs its reason"),
        (["softmax/s01", "softmax/s02", "--reason", "x"], "add --prefer"),
    ],
)
def test_what_cannot_be_compared_is_refused(
    queue: Queue, capsys: pytest.CaptureFixture[str], arguments: list[str], sentence: str
) -> None:
    assert run(["compare", *arguments, "--queue", str(queue.repo.path)]) == 2
    assert sentence in capsys.readouterr().err


@pytest.mark.parametrize(
    ("command", "opened"),
    [
        (["adjudicate", "softmax/s01"], "adjudicate softmax/s01"),
        (["compare", "softmax/s02", "softmax/s01"], "compare softmax/s02 softmax/s01"),
        (["audit"], "audit"),
    ],
)
def test_on_a_terminal_the_screen_opens_and_piped_it_is_printed(
    queue: Queue,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    command: list[str],
    opened: str,
) -> None:
    begun: list[str] = []

    def open_app(folder: Path, evaluator: str | None = None, *, begin: Callable[[object], None]) -> int:
        def note(name: str) -> Callable[..., None]:
            return lambda *items: begun.append(" ".join([name, *map(str, items)]))

        begin(
            SimpleNamespace(
                leading=SimpleNamespace(**{each: note(each) for each in ("adjudicate", "compare", "audit")})
            )
        )
        return 0

    at = [*command, "--queue", str(queue.repo.path)]
    assert run(at) == 0
    assert "softmax/s01" in capsys.readouterr().out
    assert run([*at, "--json"]) == 0
    monkeypatch.setattr(f"kgrade.cli.{command[0]}.open_app", open_app)
    monkeypatch.setattr(f"kgrade.cli.{command[0]}.on_a_terminal", lambda: True)
    assert run(at) == 0
    assert begun == [opened]
    assert run([*at, "--json"]) == 0
    assert begun == [opened]


def test_a_decision_says_what_it_changed_of_each_grade(queue: Queue, capsys: pytest.CaptureFixture[str]) -> None:
    settled = [argument for name in criteria(queue) for argument in ("--score", f"{name}=2")]
    assert run(decision(queue, *settled)) == 0
    out = capsys.readouterr().out
    assert f"ada: accept > revise, 25 > 50 (+25), {criteria(queue)[0]} 1 > 2" in out
    assert f"bob: accept > revise, 75 > 50 (-25), {criteria(queue)[0]} 3 > 2" in out


def test_in_a_blind_queue_only_leads_see_where_grades_differ(queue: Queue, capsys: pytest.CaptureFixture[str]) -> None:
    settings = "schema: kgrade/settings@1\nblind: true\ngrades_ref: refs/heads/grades/{evaluator}\nleads: [lea]\n"
    queue.commit("refs/heads/main", {"kgrade.yaml": settings}, "lea", key=None)
    for command in (["adjudicate"], ["adjudicate", "softmax/s01"]):
        assert run([*command, "--queue", str(queue.repo.path), "--evaluator", "eve"]) == 2
        assert "only a lead can do this, and eve is none" in capsys.readouterr().err
    assert run(["compare", "softmax/s01", "softmax/s02", "--queue", str(queue.repo.path), "--evaluator", "eve"]) == 0
    out = capsys.readouterr().out
    assert "grade" not in out
    assert run(["audit", "--queue", str(queue.repo.path)]) == 0
    assert "ada, bob" not in capsys.readouterr().out.split("widest disagreements")[1]
