"""The queue, my grades, findings, bases and collecting, on a real desk and a headless screen."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import msgspec
import pytest

from kgrade.desk import Desk
from kgrade.desk.anchors import lines_sha256
from kgrade.desk.item import EvidenceFile
from kgrade.records.grade import FindingAnswer
from kgrade.repository.index_rows import GradeRow
from kgrade.tui.panes import panes
from kgrade.tui.queue_view import my_grades_listing
from tests.conftest import Repo
from tests.desk.conftest import small_queue
from tests.tui.panes.builders import evidence, finding, integrity
from tests.tui.stages import Play, play


@pytest.fixture
def desk(make_repo: Callable[..., Repo]) -> Iterator[Desk]:
    repo = make_repo("ada")
    small_queue(repo)
    broken = {"queue/bad/task.yaml": "schema: kgrade/task@1\ntitel: no\n", "queue/bad/prompt.md": "# Bad\n"}
    repo.commit(broken, "a task that cannot be read")
    desk = Desk.open(repo.path, evaluator="ada")
    yield desk
    desk.close()


def at(desk: Desk, scene: Callable[[Play], object], **options: object) -> None:
    play(scene, desk=desk, makers=panes(desk.history), **options)  # type: ignore[arg-type]


def listed(on: Play) -> list[str]:
    return [line for line in on.lines[1:-2] if line.strip()]


def items(on: Play) -> list[str]:
    return [line.lstrip("> ").split()[1] for line in listed(on)]


def test_the_queue_names_every_item_and_its_state(desk: Desk) -> None:
    async def scene(on: Play) -> None:
        await on.press("3Q")
        states = {line.lstrip("> ").split()[1]: line.lstrip("> ").split()[0] for line in listed(on)}
        assert states["softmax"] == "draft"
        assert states["bad"] == "faulty"
        assert {states[name] for name in ("scan", "scan/s01", "softmax/s01", "softmax/s02")} == {"open"}
        assert "0 of 5 graded, 0 today; 6 shown" in on.message

    at(desk, scene)


def test_the_faults_of_an_item_fold_out(desk: Desk) -> None:
    async def scene(on: Play) -> None:
        await on.press("Q/faulty\r")
        assert "1 shown" in on.message
        await on.press("o")
        assert "queue/bad/task.yaml" in on.text
        await on.press("\r")
        assert "queue/bad/task.yaml" in on.message

    at(desk, scene)


def test_the_filter_acts_while_it_is_typed_and_enter_opens(desk: Desk) -> None:
    async def scene(on: Play) -> None:
        await on.press("Q/scan/s")
        assert items(on) == ["scan/s01"]
        await on.press("\r\r")
        assert on.lines[0].startswith("scan/s01")
        await on.press("Q/nothing like it\r")
        assert "No item holds 'nothing like it'." in on.text

    at(desk, scene)


def test_a_key_cycles_the_order(desk: Desk) -> None:
    async def scene(on: Play) -> None:
        await on.press("Qs")
        assert "sorted by state" in on.message
        await on.press("s")
        assert "sorted by item" in on.message
        assert items(on) == ["bad", "scan", "scan/s01", "softmax", "softmax/s01", "softmax/s02"]

    at(desk, scene)


def test_another_order_is_that_of_the_queue_as_it_stands_now(desk: Desk) -> None:
    later = {"queue/later/task.yaml": "schema: kgrade/task@1\ntitel: no\n", "queue/later/prompt.md": "# Later\n"}

    async def scene(on: Play) -> None:
        await on.press("Q")
        Repo(desk.git.common_dir.parent).commit(later, "a task that came meanwhile")
        await on.press("/later\r")
        assert "No item holds 'later'." in on.text
        await on.press("s")
        assert items(on) == ["later"]

    at(desk, scene)


def test_my_grades_stand_newest_first_and_open_to_be_amended(desk: Desk) -> None:
    async def scene(on: Play) -> None:
        await on.press("H")
        assert "You have graded nothing here yet." in on.text
        await on.press("q" + "3" * 7 + "v1S")
        await on.press("H")
        line = next(line for line in on.lines if "Committed" in line)
        assert "softmax" in line
        assert "accept" in line
        await on.press("\r")
        assert on.lines[0].startswith("softmax  task review")
        assert "Committed" in on.lines[0]
        await on.press("2")
        assert "Draft" in on.lines[0]

    at(desk, scene)


def test_a_finding_is_judged_where_it_stands(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    found = msgspec.structs.replace(
        desk.item(next(place.row.id for place in desk.rows() if place.row.id.submission)),
        evidence={
            "cpu": EvidenceFile(evidence=evidence(integrity=integrity(finding())), stale=False, blob="0" * 40, logs={})
        },
    )
    monkeypatch.setattr(desk, "item", lambda item: found)
    key = found.evidence["cpu"].evidence.stages.integrity.findings[0].key

    async def scene(on: Play) -> None:
        await on.press("f")
        assert "not judged yet" in on.text
        await on.press("g]\r")
        await on.press("2")
        await on.press("the cast is asked for\r")
        assert "you      false alarm: the cast is asked for" in on.text
        sheet = on.app.page._scoring.sitting.sheet  # type: ignore[union-attr]
        assert sheet.findings == {key: FindingAnswer(disposition="false-alarm", comment="the cast is asked for")}
        await on.press("u")
        await on.press("u")
        assert "not judged yet" in on.text

    at(desk, scene)


def test_the_diff_goes_from_base_to_base(desk: Desk) -> None:
    async def scene(on: Play) -> None:
        await on.press("Q/softmax/s02\r\rd")
        assert "solution against previous" in on.text
        await on.press("B")
        assert on.message == "against reference"
        assert "solution against reference" in on.text
        await on.press("3")
        assert "solution against reference" in on.text
        await on.press("BB")
        assert "solution against previous" in on.text
        await on.press("iB")
        assert "nothing else to compare" in on.message

    at(desk, scene)


def test_a_gate_that_the_evidence_suggests_is_confirmed_with_its_sentence(desk: Desk) -> None:
    async def scene(on: Play) -> None:
        await on.press("Q/scan/s01\r\rx")
        number = next(line.lstrip("> ").split()[0] for line in on.lines if "(?) not-measured" in line)
        assert "no timing on" in on.text
        await on.press(number)
        answer = on.app.page._scoring.sitting.sheet.gates["not-measured"]  # type: ignore[union-attr]
        assert answer.confirmed
        assert answer.comment.startswith("no timing on")

    at(desk, scene)


def test_collecting_shows_the_lines_of_the_command_and_the_item_again(desk: Desk) -> None:
    async def scene(on: Play) -> None:
        await on.press("Q/scan/s01\r\r2R1")
        assert f"kgrade collect scan/s01 --queue {desk.root} --again"[:70] in on.text
        assert "scan/s01 cpu: build" in on.text
        assert "done: q shows the item again" in on.message
        await on.press("q")
        assert on.lines[0].startswith("scan/s01")
        assert "Draft" in on.lines[0]
        await on.press("b")
        assert "No evidence has been collected for cpu" not in on.text

    at(desk, scene, size=(100, 30))


def test_what_is_saved_within_one_second_stands_in_the_order_of_history(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kgrade.desk.sitting.now", lambda: "2026-11-03T09:30:00Z")
    ids = [place.row.id for place in desk.rows() if place.row.id.submission]
    order = [ids[1], ids[2], ids[0]]
    for item in order:
        sitting = desk.sit(item)
        sitting.edit("verdict", "", "revise")
        desk.save(sitting, anyway=True)
    assert [row.id for row, _ in desk.my_grades()] == order[::-1]

    async def scene(on: Play) -> None:
        await on.press("H")
        assert [line.lstrip("> ").split()[2] for line in listed(on)] == [str(item) for item in order[::-1]]

    at(desk, scene)


def test_the_rows_of_my_grades_say_how_far_each_has_come(desk: Desk) -> None:
    grade = GradeRow(evaluator="ada", verdict="accept", total=75.0, points=75.0, saved="", sheet="9df86e8a")
    rows = [place.row for place in desk.rows()]
    grades = [(row, grade) for row in rows]
    listing = my_grades_listing(grades, lambda item: "Pushed")
    assert listing.items == [row.id for row in rows]
    assert "Pushed" in listing.lines[0].text
    assert not any(my_grades_listing([], lambda item: "Pushed").items)
    assert "No item holds 'zz'" in my_grades_listing(grades, str, "zz").lines[0].text


def test_a_note_on_the_old_side_is_anchored_to_the_base_that_is_shown(desk: Desk) -> None:
    async def scene(on: Play) -> None:
        await on.press("Q/softmax/s02\r\rd/exp(x) \r")
        await on.press("mthis was the better one\r")
        note = on.app.page._scoring.sitting.sheet.comments["1"]  # type: ignore[union-attr]
        assert (note.path, note.lines, note.side) == ("solution/kernel.py", (5, 5), "old")
        old = on.app.page._scoring.sitting.item.bases["previous"]["kernel.py"].decode().split("\n")  # type: ignore[union-attr]
        assert note.text_sha256 == lines_sha256(old[4:5])
        await on.press("B")
        assert "this was the better one" not in on.text

    at(desk, scene, size=(100, 30))


def test_differences_in_blanks_are_left_out_and_shown_again(desk: Desk) -> None:
    async def scene(on: Play) -> None:
        await on.press("Q/softmax/s02\r\rdW")
        assert on.message == "differences in blanks are left out"
        assert "differences in blanks left out" in on.text
        await on.press("3")
        assert "differences in blanks left out" in on.text
        await on.press("WsW")
        assert on.message == "this pane compares nothing"

    at(desk, scene)
