"""Tampering of every kind on a sealed repository is named; honest histories raise no alarm."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Literal

import pytest

from kgrade.records import codec
from kgrade.records.comparison import Compared, Comparison
from kgrade.records.grade import SheetRef
from kgrade.records.slugs import ItemId
from tests.audit.sealed import HOUR, Queue, everyone, make_keys, sealed_queue
from tests.conftest import Repo

ADA, BOB, MAIN, SEALS = "refs/heads/grades/ada", "refs/heads/grades/bob", "refs/heads/main", "refs/heads/seals"
ADAS = "queue/softmax/submissions/s01/grades/ada.yaml"
ADJUDICATION = "queue/softmax/submissions/s01/adjudication.yaml"
COMPARISON = "queue/softmax/comparisons/ada/s01--s02.yaml"
RETIRED = "schema: kgrade/assignments@1\nitems:\n  softmax/s01: {retired: Superseded.}\n"

if shutil.which("ssh-keygen") is None:
    pytest.skip("ssh-keygen is not here", allow_module_level=True)


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Queue:
    folder = tmp_path_factory.mktemp("sealed")
    keys = folder / "keys"
    keys.mkdir()
    repo = Repo(folder / "queue")
    repo.path.mkdir()
    repo.git("init", "-q", "-b", "main")
    repo.git("config", "user.name", "Lea")
    repo.git("config", "user.email", "lea@example.org")
    queue = sealed_queue(repo, make_keys(keys))
    assert queue.alarms() == set()  # and this clone now remembers what it saw
    return queue


@pytest.fixture
def queue(original: Queue, tmp_path: Path) -> Queue:
    return original.copied(tmp_path / "queue")


def comparison(preferred: Literal["first", "second"]) -> bytes:
    return codec.encode_yaml(
        Comparison(
            task="softmax",
            evaluator="ada",
            task_tree="1" * 40,
            first=Compared(submission="s01", solution_tree="2" * 40),
            second=Compared(submission="s02", solution_tree="3" * 40),
            preferred=preferred,
            reason="Fewer passes over memory.",
            compared="2026-01-02T10:00:00Z",
        )
    )


# Tampering: each function does one thing that an honest history does not hold


def rewritten(q: Queue) -> None:
    q.repo.git("update-ref", ADA, q.repo.git("rev-parse", f"{ADA}^"))
    q.grade("ada", "softmax/s02", 4)


def rolled_back(q: Queue) -> None:
    q.repo.git("update-ref", ADA, q.repo.git("rev-parse", f"{ADA}^"))


def branch_removed(q: Queue) -> None:
    q.repo.git("update-ref", "-d", BOB)


def grade_removed_by_another(q: Queue) -> None:
    q.commit(ADA, {ADAS: None}, "eve")


def grade_removed_unsigned(q: Queue) -> None:
    q.commit(ADA, {ADAS: None}, "eve", key=None)


def edited_by_another(q: Queue) -> None:
    q.forge("ada", "softmax/s01", "eve")


def edited_by_the_lead(q: Queue) -> None:
    q.forge("ada", "softmax/s01", "lea")


def edited_unsigned(q: Queue) -> None:
    q.forge("ada", "softmax/s01", "eve", key=None)


def author_forged(q: Queue) -> None:
    q.forge("ada", "softmax/s01", "eve", key=None, email="ada@example.org")


def unknown_key(q: Queue) -> None:
    q.grade("ada", "softmax/s01", 4, key="mallory")


def content_changed_under_the_signature(q: Queue) -> None:
    signed = q.repo.git("cat-file", "commit", ADA)
    other = q.repo.git("rev-parse", f"{BOB}^{{tree}}")
    own = q.repo.git("rev-parse", f"{ADA}^{{tree}}")
    forged = signed.replace(own, other) + "\n"
    made = q.repo.git("hash-object", "-t", "commit", "-w", "--stdin", input=forged.encode())
    q.repo.git("update-ref", ADA, made)


def dated_before_its_parent(q: Queue) -> None:
    q.grade("ada", "softmax/s01", 4, at=q.now - 48 * HOUR, authored=q.now + HOUR)


def saved_time_altered(q: Queue) -> None:
    times = q.grade_of("ada", "softmax/s01", 2, saved=q.now - 72 * HOUR).times
    q.altered("ada", "softmax/s01", "ada", {"times": times})


def total_altered(q: Queue) -> None:
    q.altered("ada", "softmax/s01", "ada", {"total": 99.0})


def evil_merge(q: Queue) -> None:
    tip = q.repo.git("rev-parse", ADA)
    grade = codec.encode_yaml(q.grade_of("ada", "softmax/s01", 4))
    side = q.commit("refs/heads/side", {"note": "x"}, "ada", parents=[tip])
    other = q.commit("refs/heads/other", {"more": "y"}, "ada", parents=[tip])
    q.commit(ADA, {ADAS: grade, "more": "y"}, "eve", parents=[side, other])


def sheet_invented(q: Queue) -> None:
    q.altered("ada", "softmax/s01", "ada", {"rubric": SheetRef(id="generation", sha256="0" * 64)})


def judged_bytes_invented(q: Queue) -> None:
    about = q.grade_of("ada", "softmax/s01", 2).about
    q.altered(
        "ada", "softmax/s01", "ada", {"about": type(about)(task_tree="1" * 40, solution_tree=about.solution_tree)}
    )


def key_promoted(q: Queue) -> None:
    people = everyone() | {"ada": (["ada@example.org"], ["ada", "mallory"])}
    q.commit(MAIN, {"kgrade.yaml": q.settings(people, ["lea"])}, "eve")
    q.grade("ada", "softmax/s01", 4, key="mallory")


def made_oneself_a_lead(q: Queue) -> None:
    q.commit(MAIN, {"kgrade.yaml": q.settings(everyone(), ["lea", "eve"])}, "eve")
    q.seal("eve")


def sealed_by_an_evaluator(q: Queue) -> None:
    q.grade("ada", "scan/s01", 2)
    q.seal("eve")


def seal_taken_back(q: Queue) -> None:
    q.grade("ada", "scan/s01", 2)
    q.seal()
    assert q.alarms() == set()
    q.repo.git("update-ref", SEALS, q.repo.git("rev-parse", f"{SEALS}^"))


def seals_removed(q: Queue) -> None:
    q.repo.git("update-ref", "-d", SEALS)


def seals_begun_anew(q: Queue) -> None:
    q.repo.git("update-ref", "-d", SEALS)
    rolled_back(q)
    q.seal()


def grade_moved_to_another_item(q: Queue) -> None:
    grade = q.grade_of("ada", "softmax/s01", 3)
    q.commit(ADA, {ItemId.parse("scan/s01").grade_path("ada"): codec.encode_yaml(grade)}, "ada")


def adjudicated_by_an_evaluator(q: Queue) -> None:
    q.commit(MAIN, {ADJUDICATION: "schema: kgrade/adjudication@1\n"}, "eve")


def assigned_by_an_evaluator(q: Queue) -> None:
    q.commit(MAIN, {"assignments.yaml": RETIRED}, "eve")


def assigned_unsigned_in_the_leads_name(q: Queue) -> None:
    q.commit(MAIN, {"assignments.yaml": RETIRED}, "eve", key=None, email="lea@example.org")


def adjudication_altered_unsigned_in_the_leads_name(q: Queue) -> None:
    q.commit(MAIN, {ADJUDICATION: "schema: kgrade/adjudication@1\n"}, "lea")
    q.commit(MAIN, {ADJUDICATION: "schema: kgrade/adjudication@1\n\n"}, "eve", key=None, email="lea@example.org")


def decided_after_leading_ended(q: Queue) -> None:
    q.commit(MAIN, {"kgrade.yaml": q.settings(everyone(), ["lea", "bob"])}, "lea")
    q.commit(MAIN, {"kgrade.yaml": q.settings(everyone(), ["lea"])}, "lea")
    q.commit(MAIN, {"assignments.yaml": RETIRED}, "bob")


def comparison_edited_by_another(q: Queue) -> None:
    q.commit(MAIN, {COMPARISON: comparison("first")}, "ada")
    q.commit(MAIN, {COMPARISON: comparison("second")}, "eve")


def comparison_removed_by_another(q: Queue) -> None:
    q.commit(MAIN, {COMPARISON: comparison("first")}, "ada")
    q.commit(MAIN, {COMPARISON: None}, "eve", key=None)


def broken_grade(q: Queue) -> None:
    q.commit(ADA, {ADAS: "schema: kgrade/grade@1\n"}, "ada")


TAMPERING: list[tuple[Callable[[Queue], None], set[str]]] = [
    (rewritten, {"rewritten"}),
    (rolled_back, {"rolled-back"}),
    (branch_removed, {"removed"}),
    (grade_removed_by_another, {"removed"}),
    (grade_removed_unsigned, {"removed", "unsigned"}),
    (edited_by_another, {"edited-by-another"}),
    (edited_by_the_lead, {"edited-by-another"}),
    (edited_unsigned, {"edited-by-another", "unsigned"}),
    (author_forged, {"unsigned"}),
    (unknown_key, {"mis-signed"}),
    (content_changed_under_the_signature, {"bad-signature", "rewritten"}),
    (dated_before_its_parent, {"back-dated"}),
    (saved_time_altered, {"back-dated"}),
    (total_altered, {"wrong-total"}),
    (evil_merge, {"edited-by-another"}),
    (sheet_invented, {"unknown-rubric"}),
    (judged_bytes_invented, {"bytes-missing"}),
    (key_promoted, {"settings", "mis-signed"}),
    (made_oneself_a_lead, {"settings", "seal"}),
    (sealed_by_an_evaluator, {"seal"}),
    (seal_taken_back, {"seal"}),
    (seals_removed, {"seal"}),
    (seals_begun_anew, {"seal", "rolled-back"}),
    (grade_moved_to_another_item, {"misplaced"}),
    (adjudicated_by_an_evaluator, {"not-a-lead"}),
    (assigned_by_an_evaluator, {"not-a-lead"}),
    (assigned_unsigned_in_the_leads_name, {"unsigned"}),
    (adjudication_altered_unsigned_in_the_leads_name, {"unsigned"}),
    (decided_after_leading_ended, {"not-a-lead"}),
    (comparison_edited_by_another, {"edited-by-another"}),
    (comparison_removed_by_another, {"removed", "unsigned"}),
    (broken_grade, {"unreadable"}),
]


@pytest.mark.parametrize(("tamper", "kinds"), TAMPERING, ids=lambda value: getattr(value, "__name__", ""))
def test_tampering_is_named(queue: Queue, tamper: Callable[[Queue], None], kinds: set[str]) -> None:
    tamper(queue)
    assert kinds <= queue.alarms()


# Honest histories


def nothing(q: Queue) -> None:
    pass


def more_grades(q: Queue) -> None:
    q.grade("ada", "scan/s01", 2)
    q.grade("eve", "softmax/s01", 1)


def amended(q: Queue) -> None:
    q.grade("ada", "softmax/s01", 1)
    q.grade("ada", "softmax/s01", 3)
    q.seal()


def taken_back(q: Queue) -> None:
    old = q.repo.show(ADAS, ADA)
    q.grade("ada", "softmax/s01", 1)
    q.commit(ADA, {ADAS: old + "\n"}, "ada")


def first_grade_taken_back(q: Queue) -> None:
    q.grade("eve", "scan/s01", 1)
    q.commit("refs/heads/grades/eve", {ItemId.parse("scan/s01").grade_path("eve"): None}, "eve")


def merged(q: Queue) -> None:
    tip = q.repo.git("rev-parse", ADA)
    one = q.grade("ada", "softmax/s01", 4)
    q.repo.git("update-ref", ADA, tip)
    other = q.grade("ada", "scan/s01", 4)
    path = ItemId.parse("scan/s01").grade_path("ada")
    q.commit(ADA, {path: q.repo.show(path, other) + "\n"}, "ada", parents=[one, other])


def key_rotated(q: Queue) -> None:
    q.grade("ada", "scan/s01", 1)
    q.commit(MAIN, {"kgrade.yaml": q.settings(everyone() | {"ada": (["ada@example.org"], ["ada2"])}, ["lea"])}, "lea")
    q.grade("ada", "softmax/s01", 1, key="ada2")
    q.seal()
    q.grade("ada", "softmax/s02", 1, key="ada2")


def person_renamed(q: Queue) -> None:
    people = everyone() | {"ada": (["ada@example.org", "ada@new.example"], ["ada"])}
    q.commit(MAIN, {"kgrade.yaml": q.settings(people, ["lea"])}, "lea")
    q.grade("ada", "softmax/s01", 1, email="ada@new.example")


def sent_late(q: Queue) -> None:
    at = q.now - 3 * HOUR
    path = ItemId.parse("scan/s01").grade_path("eve")
    grade = codec.encode_yaml(q.grade_of("eve", "scan/s01", 2, saved=at))
    q.commit("refs/heads/grades/eve", {path: grade}, "eve", at=at)


def remade_on_a_new_tip(q: Queue) -> None:
    at = q.now
    path = ItemId.parse("scan/s01").grade_path("ada")
    grade = codec.encode_yaml(q.grade_of("ada", "scan/s01", 2, saved=at))
    q.commit(ADA, {path: grade}, "ada", at=at + 50 * HOUR, authored=at)


def task_and_sheet_moved_on(q: Queue) -> None:
    sheet = q.repo.show("rubrics/generation.yaml").replace("title:", "title: Second", 1)
    q.commit(
        MAIN,
        {"queue/softmax/prompt.md": "# Softmax\n\nRows.\n", "rubrics/generation.yaml": sheet + "\n"},
        "bob",
        key=None,
    )
    q.repo.git("reset", "-q", "--hard")
    q.grade("eve", "softmax/s01", 2)


def lead_changed(q: Queue) -> None:
    q.commit(MAIN, {"kgrade.yaml": q.settings(everyone(), ["lea", "bob"])}, "lea")
    q.seal()
    q.grade("ada", "scan/s01", 2)
    q.seal("bob")


def decided_and_compared(q: Queue) -> None:
    q.commit(MAIN, {"kgrade.yaml": q.settings(everyone(), ["lea", "bob"])}, "lea")
    q.commit(MAIN, {"assignments.yaml": RETIRED}, "bob")
    q.commit(MAIN, {ADJUDICATION: "schema: kgrade/adjudication@1\n"}, "lea")
    q.commit(MAIN, {COMPARISON: comparison("first")}, "ada")
    q.commit(MAIN, {COMPARISON: comparison("second")}, "ada")
    q.commit(MAIN, {"kgrade.yaml": q.settings(everyone(), ["lea"])}, "lea")
    q.seal()


HONEST = [
    nothing, more_grades, amended, taken_back, first_grade_taken_back, merged, key_rotated, person_renamed, sent_late,
    remade_on_a_new_tip, task_and_sheet_moved_on, lead_changed, decided_and_compared,
]  # fmt: skip


@pytest.mark.parametrize("live", HONEST, ids=lambda value: value.__name__)
def test_an_honest_history_raises_no_alarm(queue: Queue, live: Callable[[Queue], None]) -> None:
    live(queue)
    assert [alarm.sentence for alarm in queue.verified().alarms] == []


def test_every_grade_is_told_with_its_signer_and_its_seal(queue: Queue) -> None:
    queue.grade("ada", "scan/s01", 2)
    found = queue.verified()
    assert {(each.signature, each.signer) for each in found.grades} == {("good", "ada"), ("good", "bob")}
    assert [each.path for each in found.grades if each.seal is None] == ["queue/scan/submissions/s01/grades/ada.yaml"]
    assert [each.kind for each in found.findings] == ["unsealed"]
    assert (found.seals, len(found.grades)) == (1, 5)


def test_a_remembered_rewrite_stays_an_alarm_until_it_is_mended(queue: Queue) -> None:
    tip = queue.repo.git("rev-parse", ADA)
    queue.grade("ada", "scan/s01", 2)
    assert queue.alarms() == set()
    queue.repo.git("update-ref", ADA, tip)
    assert queue.alarms() == queue.alarms() == {"rolled-back"}
