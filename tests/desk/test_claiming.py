"""Claims at the desk: taken with an item, given back, done with the save, never in the way of one."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from datetime import UTC, datetime, timedelta

import pytest

from kgrade.desk import Desk, DeskError, EmptyQueue
from kgrade.desk.claiming import Claiming
from kgrade.desk.people import Slow
from kgrade.records.slugs import ItemId
from kgrade.repository.claims import Claims, LocalRefs, TakenError
from kgrade.repository.commits import Identity
from kgrade.repository.runner import Git
from kgrade.repository.tree import TreeReader
from tests.desk.conftest import small_queue
from tests.desk.test_desk import fill
from tests.repository.test_remote_claims import Latch

REVIEW = ItemId("softmax")
S01 = ItemId("softmax", "s01")
REF = "refs/kgrade/claims/softmax/s01/1"


def state_of(repo, ref=REF):
    return repo.git("log", "-1", "--format=%(trailers:key=State,valueonly)", ref).strip()


def states(desk):
    return {str(place.row.id): (place.state, place.why) for place in desk.rows()}


class Clock:
    """Both clocks of a machine, moved by hand."""

    def __init__(self):
        self.wall, self.steady = time.time(), 0.0


def claims_of(repo, evaluator, clock, lease_s=600):
    reader = TreeReader(Git.open(repo.path))
    return Claims(
        reader,
        LocalRefs(reader.git),
        evaluator,
        Identity(evaluator, f"{evaluator}@example.org"),
        lease_s=lease_s,
        wall=lambda: clock.wall,
        steady=lambda: clock.steady,
    )


def claiming_of(repo, evaluator, clock, lease_s=600):
    claims = claims_of(repo, evaluator, clock, lease_s)
    return Claiming(claims, evaluator, lease_s, steady=lambda: clock.steady)


def test_an_item_on_one_desk_is_not_offered_at_another_and_says_who_has_it(ada, open_desk):
    desk, bob = open_desk(ada), open_desk(ada, evaluator="bob")
    assert desk.next() == REVIEW
    assert bob.next() == S01
    state, why = states(bob)["softmax"]
    assert (state, why.startswith("by ada until ")) == ("claimed", True)
    assert states(desk)["softmax"] == ("open", "")


def test_what_another_holds_can_be_read_but_not_scored(ada, open_desk):
    open_desk(ada).sit(S01)
    sitting = (bob := open_desk(ada, evaluator="bob")).sit(S01)
    assert "softmax/s01 is held by ada until " in sitting.read_only
    assert sitting.status_note == sitting.read_only
    assert sitting.item.solution
    with pytest.raises(DeskError, match="can only be read"):
        sitting.score("numerics", 3)
    sitting.close()
    assert bob._drafts.keys() == []
    assert state_of(ada) == "held"


def test_an_item_left_untouched_is_free_again_and_one_with_a_draft_is_not(ada, open_desk):
    desk, bob = open_desk(ada), open_desk(ada, evaluator="bob")
    desk.sit(S01).close()
    assert state_of(ada) == "released"
    (sitting := desk.sit(S01)).score("numerics", 3)
    sitting.close()
    assert states(bob)["softmax/s01"][0] == "claimed"
    assert desk.sit(S01).read_only is None


def test_the_desk_gives_its_claims_back_when_it_closes(ada, open_desk):
    desk = Desk.open(ada.path)
    desk.next()
    desk.sit(S01).score("numerics", 3)
    desk.close()
    found = ada.git("for-each-ref", "--format=%(refname)", "refs/kgrade/claims").split()
    assert [state_of(ada, ref) for ref in found] == ["released", "released"]


def test_opening_the_open_item_again_keeps_its_claim(ada, open_desk):
    desk = open_desk(ada)
    first = desk.sit(S01)
    second = desk.sit(S01)
    first.close()
    assert state_of(ada) == "held"
    second.close()
    assert state_of(ada) == "released"


def test_a_save_names_its_claim_and_marks_it_done_and_taking_back_holds_it_again(ada, open_desk):
    desk = open_desk(ada)
    fill(sitting := desk.sit(S01))
    held = ada.git("rev-parse", REF)
    assert desk.save(sitting).notes == []
    assert ada.git("log", "-1", "--format=%(trailers:key=Claim,valueonly)").strip() == held
    assert state_of(ada) == "done"
    sitting.close()
    assert desk.take_back().read_only is None
    assert state_of(ada) == "held"
    assert states(open_desk(ada, evaluator="bob"))["softmax/s01"][0] == "claimed"


def test_two_slots_seat_two_and_a_third_only_reads(ada, open_desk):
    ada.commit({"kgrade.yaml": "graders_per_item: 2\n"})
    for name in ("ada", "bob"):
        desk = open_desk(ada, evaluator=name)
        assert desk.next() == REVIEW
        assert desk.sit(REVIEW).read_only is None
    eve = open_desk(ada, evaluator="eve")
    assert eve.next() == S01
    assert "by ada until" in eve.sit(REVIEW).read_only
    assert "by bob until" in eve.sit(REVIEW).read_only


def test_a_queue_that_others_hold_is_empty_and_says_so(ada, open_desk):
    desk = open_desk(ada)
    sittings = [desk.sit(place.row.id) for place in desk.rows()]
    empty = open_desk(ada, evaluator="bob").next()
    assert isinstance(empty, EmptyQueue)
    assert sum("is held: by ada until" in reason for reason in empty.reasons) == len(sittings) == 5


def test_an_empty_queue_names_the_item_that_is_free_next_and_when(ada, open_desk):
    clock = Clock()
    short, long = claiming_of(ada, "eve", clock, lease_s=600), claiming_of(ada, "zoe", clock, lease_s=7200)
    long.take(REVIEW)
    short.take(S01)
    bob = claiming_of(ada, "bob", clock)
    assert bob.others().keys() == {REVIEW, S01}
    clock.steady += 200
    clock.wall += 200
    free = datetime.fromtimestamp(clock.wall + 400).astimezone().strftime("%H:%M")
    words = bob.next_free({REVIEW, S01})
    assert words.startswith("softmax/s01 is the next to be free, at ")
    assert f"{free} unless it is worked on" in words
    assert bob.next_free(set()) == ""
    desk = open_desk(ada)
    sittings = [desk.sit(place.row.id) for place in desk.rows()]
    empty = open_desk(ada, evaluator="bob").next()
    assert any("is the next to be free, at " in reason for reason in empty.reasons)
    assert sittings


def test_whose_lease_ended_unseen_frees_once_a_person_may_say_so(ada):
    clock = Clock()
    claiming_of(ada, "eve", clock, lease_s=600).take(S01)
    clock.wall += 900
    claims = claims_of(ada, "bob", clock)
    (claim,) = claims.holders(S01)
    assert claims.frees(claim) == claim.at + 600 + 900
    clock.steady += 600
    assert claims.frees(claim) == clock.wall


def test_a_claim_that_was_lost_is_a_note_and_the_save_goes_on(ada, open_desk):
    desk = open_desk(ada)
    fill(sitting := desk.sit(S01))
    clock = Clock()
    clock.wall += 3 * 3600
    taken = claiming_of(ada, "bob", clock).take(S01, confirmed=True)
    assert taken.claim.state == "taken-over"
    notes = desk.save(sitting).notes
    assert len(notes) == 1
    assert "moved by someone else" in notes[0]
    assert sitting.status == "Committed"
    assert state_of(ada) == "taken-over"


def test_a_draft_of_mine_can_be_saved_although_another_holds_the_item(ada, open_desk):
    first = Desk.open(ada.path)
    fill(first.sit(S01))
    first.close()
    open_desk(ada, evaluator="bob").sit(S01)
    desk = open_desk(ada)
    assert desk.next() == S01
    sitting = desk.sit(S01)
    assert "held by bob until" in sitting.status_note
    assert sitting.read_only is None
    desk.save(sitting)
    assert ada.show(S01.grade_path("ada"))


def test_where_claims_cannot_be_written_grading_goes_on_with_a_note(ada, open_desk):
    ada.git("update-ref", "refs/kgrade/claims/softmax", "HEAD")  # no ref can lie below another
    desk = open_desk(ada)
    item = desk.next()
    assert item == REVIEW
    sitting = desk.sit(item)
    assert "could not be claimed" in sitting.status_note
    fill(sitting)
    assert desk.save(sitting).commit == ada.git("rev-parse", "HEAD")


def test_a_claim_is_renewed_while_its_holder_works_and_by_no_one_else(ada):
    clock = Clock()
    claiming = claiming_of(ada, "ada", clock)
    hold = claiming.take(S01)
    claiming.work(hold)
    assert hold.renewing is None
    clock.steady += 200
    claiming.work(hold)
    if hold.renewing is not None:
        hold.renewing.join()
    assert state_of(ada) == "renewed"
    claiming.done(S01)
    clock.steady += 200
    claiming.work(hold)
    claiming.close()
    assert state_of(ada) == "done"


@pytest.mark.parametrize("jump", [-86_400, 86_400])
def test_a_clock_that_jumps_in_mid_sitting_moves_no_lease(ada, jump):
    hers, his = Clock(), Clock()
    eve, bob = claiming_of(ada, "eve", hers), claiming_of(ada, "bob", his)
    hold = eve.take(S01)
    bob.others()
    hers.wall += jump
    eve.work(hold)
    assert hold.renewing is None, "a quarter of the lease has not gone by"
    hers.steady += 200
    eve.work(hold)
    if hold.renewing is not None:
        hold.renewing.join()
    assert (state_of(ada), hold.note) == ("renewed", "")
    assert ("by a clock that is ahead" in bob.others()[S01]["eve"]) == (jump > 0)
    his.wall += jump
    with pytest.raises(TakenError):
        bob.take(S01)
    his.steady += 601
    assert bob.take(S01).claim.state == "taken-over"


@pytest.mark.parametrize("jump", [-86_400, 86_400])
def test_a_clock_that_jumps_between_two_saves_confuses_no_undo(ada, open_desk, monkeypatch, jump):
    desk = open_desk(ada)
    for number, item in enumerate((REVIEW, S01)):
        at = datetime.now(UTC) + timedelta(seconds=jump * number)
        monkeypatch.setattr(time, "time", at.timestamp)
        monkeypatch.setattr("kgrade.desk.sitting.now", lambda at=at: f"{at:%Y-%m-%dT%H:%M:%SZ}")
        fill(sitting := desk.sit(item))
        sitting.add_active(30.0)
        desk.save(sitting)
        assert (sitting.status, sitting.grade("ada").times.active_s) == ("Committed", 30)
    assert desk.take_back().item.id == S01


def test_a_holder_who_learns_of_the_loss_while_working_is_told(ada):
    clock = Clock()
    claiming = claiming_of(ada, "ada", clock)
    hold = claiming.take(S01)
    clock.wall += 3600
    claiming_of(ada, "bob", clock).take(S01, confirmed=True)
    clock.steady += 200
    claiming.work(hold)
    if hold.renewing is not None:
        hold.renewing.join()
    assert "moved by someone else" in hold.note
    assert state_of(ada) == "taken-over"


_HOLD = (
    "import sys, time; from pathlib import Path; from kgrade.desk import Desk;"
    "d = Desk.open(Path(sys.argv[1]), evaluator='eve'); s = d.sit(d.next());"
    "print(s.item.id, flush=True); time.sleep(600)"
)


def test_the_claim_of_a_killed_holder_is_taken_over_only_after_its_lease(ada, open_desk):
    holder = subprocess.Popen([sys.executable, "-c", _HOLD, str(ada.path)], stdout=subprocess.PIPE)
    assert holder.stdout is not None
    assert holder.stdout.readline() == b"softmax\n"
    os.kill(holder.pid, signal.SIGKILL)
    assert holder.wait() == -signal.SIGKILL
    holder.stdout.close()
    clock = Clock()
    bob = claiming_of(ada, "bob", clock)
    assert "by eve until" in bob.others()[REVIEW]["eve"]
    clock.steady += 7199
    with pytest.raises(TakenError):
        bob.take(REVIEW)
    clock.steady += 1
    assert REVIEW not in bob.others()
    assert bob.take(REVIEW).claim.state == "taken-over"


def test_a_claim_that_ended_long_ago_is_taken_over_on_the_persons_word(ada, open_desk):
    eve = claiming_of(ada, "eve", old := Clock(), lease_s=60)
    old.wall -= 7200
    eve.take(S01)
    desk = open_desk(ada)
    assert "not seen since; it can be taken over" in states(desk)["softmax/s01"][1]
    assert desk.sit(S01).read_only
    assert desk.sit(S01, take_over=True).read_only is None
    assert state_of(ada) == "taken-over"


_GRADE_ALL = (
    "import sys; from pathlib import Path; from kgrade.desk import Desk; from kgrade.records.slugs import ItemId;"
    "from tests.desk.test_desk import fill\n"
    "desk = Desk.open(Path(sys.argv[1]), evaluator=sys.argv[2]); sys.stdin.readline()\n"
    "while isinstance(item := desk.next(), ItemId):\n"
    "    sitting = desk.sit(item)\n"
    "    if sitting.read_only: continue\n"
    "    fill(sitting); desk.save(sitting); print(item, flush=True); sitting.close()\n"
    "desk.close()\n"
)


def test_two_evaluators_in_two_processes_never_get_the_same_item(ada):
    graders = [
        subprocess.Popen(
            [sys.executable, "-c", _GRADE_ALL, str(ada.path), name],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        for name in ("ada", "bob")
    ]
    for grader in graders:
        assert grader.stdin is not None
        grader.stdin.write(b"\n")
        grader.stdin.flush()
    graded: list[str] = []
    for grader in graders:
        out, err = grader.communicate(timeout=120)
        assert err == b""
        graded += out.decode().split()
    assert sorted(graded) == ["scan", "scan/s01", "softmax", "softmax/s01", "softmax/s02"]
    grades = [path for path in ada.git("ls-tree", "-r", "--name-only", "HEAD").split() if "/grades/" in path]
    assert len(grades) == 5


def test_reading_saving_and_settling_from_many_threads_at_once(ada, open_desk):
    ada.commit({"kgrade.yaml": "graders_per_item: 2\n"})
    desk = open_desk(ada)
    ended = threading.Event()
    failures: list[BaseException] = []

    def again_and_again(work):
        def run():
            try:
                while not ended.is_set():
                    work()
            except BaseException as why:  # noqa: BLE001 - whatever ends a thread fails the test
                failures.append(why)

        return threading.Thread(target=run)

    def another_process():
        ada.commit({f"note-{threading.get_ident()}-{time.monotonic_ns()}": "x"})

    works = (desk.rows, desk.progress, desk.sync, desk.refresh, lambda: desk.history(S01), lambda: desk.standing(S01))
    threads = [again_and_again(work) for work in works]
    for thread in threads:
        thread.start()
    try:
        graded = []
        while isinstance(item := desk.next(), ItemId):
            fill(sitting := desk.sit(item))
            another_process()
            worker = threading.Thread(target=desk.save, args=(sitting,))
            worker.start()
            worker.join()
            assert desk.standing(item)[0] == "Committed"
            sitting.close()
            graded.append(item)
    finally:
        ended.set()
        for thread in threads:
            thread.join()
    assert failures == []
    assert len(graded) == 5
    assert desk.progress().graded == 5
    assert ada.git("status", "--porcelain") == ""


def test_a_slow_remote_gives_out_nothing_on_a_guess_and_the_item_once_it_answers(make_repo, open_desk):
    hub, seed = make_repo("hub", bare=True), make_repo("seed")
    small_queue(seed)
    seed.git("push", "-q", str(hub.path), "main")
    repo = make_repo("ada", clone=hub)
    latch = Latch(hub, repo)
    desk = open_desk(repo)
    desk._claiming._claims._refs._wait_s = 0.3
    latch.shut()
    with pytest.raises(Slow, match="origin is slow"):
        desk.next()
    sitting = desk.sit(S01)
    assert "origin is slow" in sitting.read_only
    assert "can only be read" in sitting.read_only
    latch.open()
    while desk.waits():
        time.sleep(0.02)
    assert desk.next() == REVIEW
    fill(sitting := desk.sit(REVIEW))
    assert desk.save(sitting).notes == []
    assert desk.sync().state == "pushed"
    held = hub.git("for-each-ref", "--format=%(refname)", "refs/kgrade/claims").split()
    assert {ref: state_of(hub, ref) for ref in held if "softmax/_task" in ref} == {
        "refs/kgrade/claims/softmax/_task/1": "done"
    }
    assert hub.git("log", "-1", "--format=%(trailers:key=Claim,valueonly)", "main").strip()
