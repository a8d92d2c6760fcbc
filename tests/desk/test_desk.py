"""The whole work of an evaluator without a screen, on real repositories."""

import errno
import os
import subprocess
import sys
from types import SimpleNamespace

import pytest

from kgrade.desk import Desk, DeskError, EmptyQueue, Incomplete, Moved
from kgrade.records import codec
from kgrade.records.faults import BadRecord
from kgrade.records.grade import GateAnswer, Grade, LineNote, Score
from kgrade.records.slugs import ItemId
from kgrade.repository import storing
from tests.desk.conftest import SMALL_QUEUE, small_queue
from tests.desk.test_feedback import evidence

S01 = ItemId("softmax", "s01")
REVIEW = ItemId("softmax")


def fill(sitting, level=3, verdict="accept"):
    for criterion in sitting.item.rubric.criteria:
        sitting.score(criterion.id, level)
    for gate in sitting.item.suggestions:
        sitting.edit("gates", gate, GateAnswer(confirmed=False, comment="not here"))
    sitting.edit("verdict", "", verdict)


def grade_next(desk):
    item = desk.next()
    sitting = desk.sit(item)
    fill(sitting)
    desk.save(sitting)
    return str(item)


def test_a_whole_queue_is_graded_in_order_until_it_is_empty_and_says_why(ada, open_desk):
    desk = open_desk(ada)
    assert desk.evaluator == "ada"
    graded = [grade_next(desk) for _ in range(5)]
    assert graded == ["softmax", "softmax/s01", "softmax/s02", "scan", "scan/s01"]
    empty = desk.next()
    assert isinstance(empty, EmptyQueue)
    assert empty.reasons == ["5 items in the queue", "5 graded by you"]
    progress = desk.progress()
    assert (progress.graded, progress.total, progress.today) == (5, 5, 5)
    assert ada.git("status", "--porcelain") == ""


def test_a_saved_grade_is_a_commit_with_trailers_at_its_path(ada, open_desk):
    desk = open_desk(ada)
    sitting = desk.sit(S01)
    fill(sitting, level=2, verdict="revise")
    sitting.comment("numerics", "Rows of -inf give NaN.")
    saved = desk.save(sitting)
    assert sitting.status == "Committed"
    path = "queue/softmax/submissions/s01/grades/ada.yaml"
    assert saved.path == path
    grade = codec.decode(Grade, ada.show(path).encode(), path)
    assert grade.points == grade.total == 50.0
    assert grade.about.task_tree == desk.snapshot().task_tree("softmax")
    assert grade.scores["numerics"] == Score(score=2, comment="Rows of -inf give NaN.")
    subject, _, trailers = ada.git("log", "-1", "--format=%s%n%n%b").partition("\n\n")
    assert subject == "grade: softmax/s01 revise 50 (ada)"
    assert trailers.startswith("Item: softmax/s01\nRubric: generation@")


def test_an_incomplete_sheet_says_what_is_missing_and_can_be_saved_anyway(ada, open_desk):
    desk = open_desk(ada)
    sitting = desk.sit(S01)
    with pytest.raises(DeskError, match="nothing to save"):
        desk.save(sitting, anyway=True)
    sitting.score("numerics", 1)
    sitting.edit("scores", "performance", Score(na=True))
    with pytest.raises(Incomplete) as caught:
        desk.save(sitting)
    places = [place for place, _ in caught.value.missing]
    assert places[0] == "numerics"
    assert "verdict" in places
    assert "not-measured" in places
    assert sitting.status == "Draft"
    desk.save(sitting, anyway=True)
    grade = codec.decode(Grade, ada.show(S01.grade_path("ada")).encode(), "ada.yaml")
    assert list(grade.scores) == ["numerics"]
    assert grade.points == 25.0


def test_a_draft_survives_and_comes_first(ada, open_desk):
    desk = Desk.open(ada.path)
    sitting = desk.sit(ItemId("scan", "s01"))
    assert sitting.status == "Untouched"
    assert sitting.score("numerics", 3) == "numerics . -> 3"
    sitting.score("numerics", 2)
    sitting.undo()
    sitting.add_active(12.5)
    sitting.edit("feedback", "", "Subtract the maximum.")
    desk.close()
    again = open_desk(ada)
    assert again.next() == ItemId("scan", "s01")
    taken_up = again.sit(again.next())
    assert taken_up.status == "Draft"
    assert taken_up.sheet.scores["numerics"].score == 3
    assert taken_up.sheet.feedback == "Subtract the maximum."
    assert taken_up.active_s == 12.5
    assert taken_up.undo() == "feedback 3 words -> ."
    assert taken_up.redo() == "feedback . -> 3 words"


def test_a_draft_survives_kill_and_a_torn_last_line(ada, open_desk):
    script = (
        "import os, sys; from pathlib import Path; from kgrade.desk import Desk;"
        "from kgrade.records.slugs import ItemId;"
        "d = Desk.open(Path(sys.argv[1])); s = d.sit(ItemId('softmax', 's01'));"
        "s.score('numerics', 4); s.score('quality', 2); os.kill(os.getpid(), 9)"
    )
    done = subprocess.run([sys.executable, "-c", script, str(ada.path)], check=False)
    assert done.returncode == -9
    desk = open_desk(ada)
    journal = desk._drafts.journal("softmax/s01").path
    with journal.open("ab") as file:
        file.write(b'0badc0de {"do": {"field"')
    sitting = desk.sit(S01)
    assert {name: score.score for name, score in sitting.sheet.scores.items()} == {"numerics": 4, "quality": 2}
    sitting.score("scoping", 3)
    assert set(desk.sit(S01).sheet.scores) == {"numerics", "quality", "scoping"}


def test_a_draft_that_outlived_its_commit_is_no_draft(ada, open_desk, monkeypatch):
    desk = Desk.open(ada.path)
    item = desk.next()
    sitting = desk.sit(item)
    fill(sitting)
    with monkeypatch.context() as ended:
        ended.setattr(type(sitting), "settle", lambda self: None)  # the program ends before
        desk.save(sitting)
    desk.close()
    desk = open_desk(ada)
    assert desk.next() != item
    sitting = desk.sit(item)
    assert (sitting.status, sitting.is_draft) == ("Committed", False)
    sitting.edit("verdict", "", "reject")
    desk.save(sitting)


def test_a_draft_that_went_on_after_the_commit_stays(ada, open_desk):
    desk = Desk.open(ada.path)
    item = ItemId.parse(grade_next(desk))
    desk.sit(item).edit("verdict", "", "reject")
    desk.close()
    desk = open_desk(ada)
    assert desk.next() == item
    assert desk.sit(item).is_draft


def test_a_second_window_reads_only_and_says_why(ada, open_desk):
    first = open_desk(ada)
    sitting = first.sit(S01)
    sitting.score("numerics", 4)
    second = open_desk(ada)
    assert "this window only reads" in second.read_only
    shown = second.sit(S01)
    assert shown.sheet.scores["numerics"].score == 4
    with pytest.raises(DeskError, match="only reads"):
        shown.score("numerics", 1)


def test_saving_again_replaces_and_the_history_keeps_both(ada, open_desk):
    desk = open_desk(ada)
    fill(sitting := desk.sit(S01), level=2)
    desk.save(sitting)
    amended = desk.sit(S01)
    assert amended.status == "Committed"
    assert amended.sheet.scores["numerics"].score == 2
    amended.score("numerics", 4)
    assert amended.status == "Draft"
    desk.save(amended)
    entries = desk.history(S01)
    assert [entry.what for entry in entries[:2]] == [
        "grade: softmax/s01 accept 62.5 (ada)",
        "grade: softmax/s01 accept 50 (ada)",
    ]
    assert entries[0].changed == ["grades/ada.yaml"]


def test_taking_back_a_first_grade_removes_the_file_and_reopens_the_draft(ada, open_desk):
    desk = open_desk(ada)
    fill(sitting := desk.sit(S01))
    saved = desk.save(sitting)
    reopened = desk.take_back()
    assert reopened.item.id == S01
    assert reopened.status == "Draft"
    assert reopened.sheet.scores["numerics"].score == 3
    assert S01.grade_path("ada") not in ada.git("ls-tree", "-r", "--name-only", "HEAD")
    assert ada.git("log", "-1", "--format=%b").strip() == f"Undoes: {saved.commit}"
    assert ada.git("status", "--porcelain") == ""
    assert desk.next() == S01
    desk.save(reopened)
    assert desk.sit(S01).status == "Committed"


def test_taking_back_an_amended_grade_brings_the_one_before(ada, open_desk):
    desk = open_desk(ada)
    fill(sitting := desk.sit(S01), level=2)
    desk.save(sitting)
    amended = desk.sit(S01)
    amended.score("numerics", 4)
    desk.save(amended)
    reopened = desk.take_back()
    assert reopened.sheet.scores["numerics"].score == 4
    standing = codec.decode(Grade, ada.show(S01.grade_path("ada")).encode(), "ada.yaml")
    assert standing.scores["numerics"].score == 2
    reopened.discard()
    assert reopened.sheet.scores["numerics"].score == 2


def test_of_two_saves_in_one_second_the_later_is_taken_back(ada, open_desk, monkeypatch):
    monkeypatch.setattr("kgrade.desk.sitting.now", lambda: "2026-11-03T09:37:00Z")
    desk = open_desk(ada)
    for item in (ItemId("softmax", "s02"), S01, ItemId("scan", "s01"), ItemId("softmax")):
        fill(sitting := desk.sit(item))
        desk.save(sitting)
    assert desk.take_back().item.id == ItemId("softmax")


def test_what_moved_while_open_is_named_and_can_be_called_valid(ada, open_desk):
    desk = open_desk(ada)
    fill(sitting := desk.sit(S01))
    ada.commit({"queue/softmax/submissions/s01/evidence/broken.json": "{}"})
    rubric = (ada.path / "rubrics/generation.yaml").read_text()
    changed = {
        "queue/softmax/prompt.md": "# Other\n",
        "queue/softmax/submissions/s01/solution/kernel.py": "x = 1\n",
        "queue/softmax/submissions/s01/evidence/cpu.json": codec.encode_json(evidence()).decode(),
        "rubrics/generation.yaml": rubric.replace("title: ", "title: Another ", 1),
    }
    ada.commit(changed)
    with pytest.raises(Moved) as caught:  # evidence that cannot be read is nothing to look at again
        desk.save(sitting)
    assert caught.value.what == ["the task", "the submission", "the evidence", "the rubric"]
    assert sitting.status == "Draft"
    desk.save(sitting, still_valid=True)
    grade = codec.decode(Grade, ada.show(S01.grade_path("ada")).encode(), "ada.yaml")
    assert grade.about.evidence == {
        "cpu": ada.git("rev-parse", "HEAD~:queue/softmax/submissions/s01/evidence/cpu.json")
    }
    assert grade.about.task_tree == desk.snapshot().task_tree("softmax")


def test_a_review_is_scored_under_its_own_sheet(ada, open_desk):
    desk = open_desk(ada)
    sitting = desk.sit(REVIEW)
    assert sitting.item.rubric_ref.id == "task-review"
    fill(sitting)
    assert desk.save(sitting).path == "queue/softmax/grades/ada.yaml"


def test_a_resubmission_shows_what_came_before(ada, open_desk):
    desk = open_desk(ada)
    sitting = desk.sit(S01)
    note = LineNote(path="solution/kernel.py", lines=(5, 5), text_sha256="0" * 64, text="overflows")
    fill(sitting)
    sitting.edit("comments", sitting.new_key("comments"), note)
    desk.save(sitting)
    shown = desk.item(ItemId("softmax", "s02"))
    assert list(shown.bases) == ["previous", "reference"]
    assert shown.previous.scores["numerics"].score == 3
    assert [old.status for old in shown.notes_before] == ["addressed"]
    assert desk.sit(ItemId("softmax", "s02")).sheet.scores == {}


def test_items_left_for_later_are_offered_from_the_queue_only(ada, open_desk):
    desk = open_desk(ada)
    desk.skip(REVIEW, "no time")
    assert desk.next() == S01
    states = {str(place.row.id): (place.state, place.why) for place in desk.rows()}
    assert states["softmax"] == ("skipped", "no time")
    fill(sitting := desk.sit(REVIEW))
    desk.save(sitting)
    assert {str(place.row.id): place.state for place in desk.rows()}["softmax"] == "graded"


def test_two_evaluators_share_a_queue(ada, open_desk):
    fill(sitting := (desk := open_desk(ada)).sit(S01))
    desk.save(sitting)
    bob = open_desk(ada, evaluator="bob")
    assert bob.read_only is None
    states = {str(place.row.id): (place.state, place.why) for place in bob.rows()}
    assert states["softmax/s01"] == ("finished", "graded by ada")
    assert [entry.evaluator for entry in bob.item(S01).grades] == ["ada"]


def test_a_blind_queue_hides_authors_and_others_grades_until_mine_is_in(ada, open_desk):
    ada.commit({"kgrade.yaml": "blind: true\ngraders_per_item: 2\n"})
    fill(sitting := (desk := open_desk(ada)).sit(S01))
    desk.save(sitting)
    bob = open_desk(ada, evaluator="bob")
    shown = bob.item(S01)
    assert shown.submission.author == "hidden"
    assert shown.grades == []
    fill(sitting := bob.sit(S01))
    bob.save(sitting)
    assert [entry.evaluator for entry in bob.item(S01).grades] == ["ada", "bob"]


def test_one_branch_for_each_evaluator(ada, open_desk):
    ada.commit({"kgrade.yaml": "grades_ref: refs/heads/grades/{evaluator}\ngraders_per_item: 2\n"})
    tip = ada.git("rev-parse", "main")
    for name in ("ada", "bob"):
        fill(sitting := (desk := open_desk(ada, evaluator=name)).sit(S01))
        desk.save(sitting)
    assert ada.git("rev-parse", "main") == tip
    assert ada.git("ls-tree", "-r", "--name-only", "grades/bob") == S01.grade_path("bob")
    assert [entry.evaluator for entry in desk.item(S01).grades] == ["ada", "bob"]
    assert {str(place.row.id): place.state for place in desk.rows()}["softmax/s01"] == "graded"


def test_a_faulty_item_does_not_stop_the_others(ada, open_desk):
    ada.commit(
        {
            "queue/softmax/submissions/s01/submission.yaml": "author: [\n",
            "queue/scan/task.yaml": "schema: kgrade/task@1\n",
            "queue/softmax/submissions/s02/grades/eve.yaml": b"\xff\xfe",
        }
    )
    desk = open_desk(ada)
    states = {str(place.row.id): place.state for place in desk.rows()}
    assert states == {
        "softmax": "open",
        "softmax/s01": "faulty",
        "softmax/s02": "open",
        "scan": "faulty",
        "scan/s01": "faulty",
    }
    with pytest.raises(BadRecord, match=r"submission\.yaml"):
        desk.item(S01)
    assert "not UTF-8" in str(desk.item(ItemId("softmax", "s02")).faults[0])
    assert [grade_next(desk) for _ in range(2)] == ["softmax", "softmax/s02"]
    assert desk.next().reasons[-1] == "3 cannot be read (kgrade check names every fault)"


def test_a_grade_from_a_file_is_checked_and_computed_anew(ada, open_desk):
    desk = open_desk(ada)
    sitting = desk.sit(S01)
    fill(sitting)
    data = codec.encode_yaml(sitting.grade("ada")).replace(b"total: 75.0", b"total: 99.0")
    desk.grade_file(S01, data, "mine.yaml")
    assert codec.decode(Grade, ada.show(S01.grade_path("ada")).encode(), "x").total == 75.0
    with pytest.raises(DeskError, match="grades softmax/s01, not softmax/s02"):
        desk.grade_file(ItemId("softmax", "s02"), data, "mine.yaml")
    with pytest.raises(DeskError, match="names speed"):
        desk.grade_file(S01, data.replace(b"  numerics:", b"  speed:"), "mine.yaml")
    with pytest.raises(DeskError, match="bob's grade"):
        desk.grade_file(S01, data.replace(b"evaluator: ada", b"evaluator: bob"), "mine.yaml")


def test_with_a_remote_the_status_follows_the_grade(make_repo, open_desk):
    hub = make_repo("hub", bare=True)
    seed = make_repo("seed")
    small_queue(seed)
    seed.git("push", "-q", str(hub.path), "main")
    ada = make_repo("ada", clone=hub)
    desk = open_desk(ada)
    fill(sitting := desk.sit(S01))
    desk.save(sitting)
    assert sitting.status == "Committed"
    assert desk.unsent() == 1
    assert {str(place.row.id): place.state for place in desk.rows()}["softmax/s01"] == "graded"
    assert desk.sync().state == "pushed"
    assert sitting.status == "Pushed"
    assert desk.unsent() == 0
    assert hub.git("log", "-1", "--format=%s", "main") == "grade: softmax/s01 accept 75 (ada)"


def test_what_is_no_queue_is_said_in_one_sentence(tmp_path, make_repo):
    with pytest.raises(DeskError, match="not inside a git repository"):
        Desk.open(tmp_path)
    empty = make_repo("empty")
    with pytest.raises(DeskError, match="has no commit yet"):
        Desk.open(empty.path)
    empty.commit({"README": "x"})
    with pytest.raises(DeskError, match="holds no queue/ folder"):
        Desk.open(empty.path)


def test_a_name_that_belongs_to_someone_else_is_refused(ada):
    ada.commit({"kgrade.yaml": "evaluators: {bob: {name: Bob, emails: [bob@example.org]}}\n"})
    with pytest.raises(DeskError, match="belongs to Bob"):
        Desk.open(ada.path, evaluator="bob")


def test_a_full_disk_at_the_draft_is_loud_and_loses_nothing(ada, open_desk, monkeypatch):
    from kgrade.repository import drafts

    desk = open_desk(ada)
    sitting = desk.sit(S01)
    sitting.score("numerics", 4)
    real = drafts.os.pwrite
    monkeypatch.setattr(drafts.os, "pwrite", lambda file, data, at: real(file, data[: len(data) // 2], at))
    with pytest.raises(drafts.DraftError, match="No space left"):
        sitting.score("quality", 3)
    monkeypatch.undo()
    assert sitting.sheet.scores.keys() == {"numerics"}
    sitting.score("quality", 3)
    assert desk.sit(S01).sheet.scores.keys() == {"numerics", "quality"}


def test_a_full_disk_at_the_commit_leaves_the_draft_and_no_half_object(ada, open_desk, monkeypatch):
    def full(file):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    desk = open_desk(ada)
    fill(sitting := desk.sit(S01))
    monkeypatch.setattr(storing, "os", SimpleNamespace(fsync=full, replace=os.replace))
    with pytest.raises(DeskError, match=r"stays a draft.*No space left"):
        desk.save(sitting)
    monkeypatch.undo()
    assert sitting.status == "Draft"
    assert not list((ada.path / ".git" / "objects").glob("*/tmp_obj_*"))
    desk.save(sitting)
    assert sitting.status == "Committed"


def test_the_small_queue_has_no_faults(ada, open_desk):
    assert len(SMALL_QUEUE) == 12
    assert all(place.state == "open" for place in open_desk(ada).rows())
