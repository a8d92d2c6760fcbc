"""The commands on a queue, on the sample queue: list, next, show, save, check, feedback."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from kgrade.desk import Desk
from kgrade.records import codec
from kgrade.records.grade import Grade, Score, Times
from kgrade.records.slugs import ItemId
from tests.cli.conftest import Kgrade
from tests.conftest import Repo

ITEM = "histogram-u8/s01"


@pytest.fixture(autouse=True)
def ada(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Git knows the person."""
    settings = tmp_path / "gitconfig"
    settings.write_text("[user]\n\tname = Ada\n\temail = ada@example.org\n")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(settings))


def grade_of(demo: Path, item: str = ITEM, feedback: str = "Say which alignment the buffer has.") -> Grade:
    """A complete grade of `item`, as it stands in the demo."""
    desk = Desk.open(demo)
    shown = desk.item(ItemId.parse(item))
    desk.close()
    return Grade(
        item=item,
        evaluator="ada",
        rubric=shown.rubric_ref,
        about=shown.about,
        scores={criterion.id: Score(score=3) for criterion in shown.rubric.criteria},
        verdict="revise",
        feedback=feedback,
        times=Times(opened="2026-11-03T09:30:00Z", active_s=60, saved="2026-11-03T09:31:00Z"),
    )


def test_list_and_next_agree(kgrade: Kgrade, demo: Path) -> None:
    rows = json.loads(kgrade("list", "--json", "--queue", str(demo)).stdout)
    assert len(rows) >= 24
    assert {row["state"] for row in rows} == {"open"}
    assert rows[0]["id"] == json.loads(kgrade("next", "--json", at=demo).stdout)["item"]
    assert kgrade("next", at=demo).stdout == f"{rows[0]['id']}\n"
    said = kgrade("list", at=demo / "queue").stdout
    assert f"0 of {len(rows)} graded by ada" in said
    assert all(row["id"] in said for row in rows)


def test_an_empty_queue_says_why(kgrade: Kgrade, make_repo: Callable[..., Repo]) -> None:
    repo = make_repo("queue")
    kgrade("init", at=repo.path)
    repo.git("add", ".")
    repo.git("commit", "-qm", "begin")
    said = kgrade("next", at=repo.path)
    assert (said.returncode, said.stdout) == (0, "")
    assert said.stderr.startswith("nothing to grade: ")
    found = json.loads(kgrade("next", "--json", at=repo.path).stdout)
    assert found["item"] is None
    assert found["reasons"] or found["hint"]


def test_show_takes_an_id_or_a_path(kgrade: Kgrade, demo: Path) -> None:
    by_id = kgrade("show", ITEM, at=demo)
    assert "Histogram of bytes" in by_id.stdout
    assert "histogram.cu" in by_id.stdout
    assert kgrade("show", "queue/histogram-u8/submissions/s01/", at=demo).stdout == by_id.stdout
    data = json.loads(kgrade("show", ITEM, "--json", at=demo).stdout)
    repo = Repo(demo)
    assert data["about"]["solution_tree"] == repo.git("rev-parse", "HEAD:queue/histogram-u8/submissions/s01/solution")
    assert data["solution"] == {
        "histogram.cu": int(repo.git("cat-file", "-s", "HEAD:queue/histogram-u8/submissions/s01/solution/histogram.cu"))
    }


def test_an_unknown_item_is_one_sentence(kgrade: Kgrade, demo: Path) -> None:
    said = kgrade("show", "histogram-u8/s99", at=demo)
    assert said.returncode == 2
    assert said.stderr == "kgrade: there is no item histogram-u8/s99 in this queue; kgrade list shows what there is\n"


def test_a_saved_grade_is_a_commit_that_checks_and_becomes_feedback(kgrade: Kgrade, demo: Path, tmp_path: Path) -> None:
    file = tmp_path / "grade.yaml"
    file.write_bytes(codec.encode_yaml(grade_of(demo)))
    said = kgrade("save", ITEM, "--file", str(file), at=demo)
    assert said.returncode == 0, said.stderr
    assert said.stdout.startswith("Committed: queue/histogram-u8/submissions/s01/grades/ada.yaml in ")
    repo = Repo(demo)
    assert repo.git("log", "-1", "--format=%s") == f"grade: {ITEM} revise 75 (ada)"
    assert repo.git("status", "--porcelain") == ""
    assert kgrade("check", at=demo).stdout == "no faults\n"
    assert kgrade("check", "--commit", "HEAD", at=demo).returncode == 0
    assert "Say which alignment the buffer has." in kgrade("feedback", ITEM, at=demo).stdout
    assert [row["id"] for row in json.loads(kgrade("list", "--mine", "--json", at=demo).stdout)] == [ITEM]


def test_a_grade_may_come_on_stdin_and_is_pushed(kgrade: Kgrade, demo: Path, make_repo: Callable[..., Repo]) -> None:
    hub = make_repo("hub", bare=True)
    repo = Repo(demo)
    repo.git("remote", "add", "origin", str(hub.path))
    repo.git("push", "-q", "origin", "main")
    text = codec.encode_yaml(grade_of(demo)).decode()
    said = kgrade("save", ITEM, "--file", "-", "--json", at=demo, input=text)
    assert said.returncode == 0, said.stderr
    saved = json.loads(said.stdout)
    assert saved["state"] == "Pushed"
    assert hub.git("log", "-1", "--format=%H", "main") == saved["commit"]


def test_a_push_that_fails_loses_nothing(kgrade: Kgrade, demo: Path, tmp_path: Path) -> None:
    repo = Repo(demo)
    repo.git("remote", "add", "origin", str(tmp_path / "gone"))
    text = codec.encode_yaml(grade_of(demo)).decode()
    saved = json.loads(kgrade("save", ITEM, "--file", "-", "--json", at=demo, input=text).stdout)
    assert saved["state"] == "Committed"
    assert saved["notes"]
    assert repo.git("cat-file", "-t", saved["commit"]) == "commit"


def test_a_grade_of_something_else_is_refused(kgrade: Kgrade, demo: Path) -> None:
    grade = grade_of(demo)
    for changed, word in (
        (msgspec.structs.replace(grade, item="histogram-u8/s02"), "histogram-u8/s02"),
        (msgspec.structs.replace(grade, evaluator="bob"), "bob"),
        (msgspec.structs.replace(grade, scores={"no-such": Score(score=1)}), "no-such"),
    ):
        said = kgrade("save", ITEM, "--file", "-", at=demo, input=codec.encode_yaml(changed).decode())
        assert said.returncode == 2
        assert said.stderr.count("\n") == 1
        assert word in said.stderr
    assert Repo(demo).git("rev-list", "--count", "HEAD") == "1"


def test_every_fault_of_the_file_is_told(kgrade: Kgrade, demo: Path) -> None:
    said = kgrade("save", ITEM, "--file", "-", at=demo, input="schema: kgrade/grade@1\nitem: 3\nverdct: revise\n")
    assert said.returncode == 2
    for words in ("stdin:2: item", "did you mean verdict?", "evaluator: found nothing"):
        assert words in said.stderr


def test_check_tells_every_fault_and_each_on_its_line(kgrade: Kgrade, demo: Path) -> None:
    task = demo / "queue/histogram-u8/task.yaml"
    task.write_text(task.read_text().replace("type: generation", "type: \x1b[31mguess").replace("title:", "titel:"))
    (demo / "queue/softmax-rows/prompt.md").unlink()
    said = kgrade("check", at=demo)
    assert said.returncode == 1
    assert "softmax-rows/prompt.md" in said.stdout
    assert "histogram-u8/task.yaml" in said.stdout
    assert "\x1b" not in said.stdout
    faults = json.loads(kgrade("check", "--json", str(demo)).stdout)
    assert said.stdout.splitlines()[-1] == f"{len(faults)} faults"
    assert len(said.stdout.splitlines()) == len(faults) + 1
    assert kgrade("check", "--commit", "HEAD", at=demo).returncode == 0
    assert kgrade("check", "--commit", "--upload-pack=x", at=demo).returncode == 2


def test_what_the_author_reads_cannot_act_on_a_terminal(kgrade: Kgrade, demo: Path) -> None:
    text = codec.encode_yaml(grade_of(demo, feedback="look\x1b]0;owned\x07 here\u202e")).decode()
    assert kgrade("save", ITEM, "--file", "-", at=demo, input=text).returncode == 0
    for arguments in (["feedback", ITEM], ["feedback", ITEM, "--json"]):
        said = kgrade(*arguments, at=demo).stdout
        assert not {"\x1b", "\x07", "\u202e"} & set(said)
        assert "owned" in said


def test_feedback_without_a_grade_says_so(kgrade: Kgrade, demo: Path) -> None:
    said = kgrade("feedback", ITEM, at=demo)
    assert said.returncode == 2
    assert "no grade yet" in said.stderr
