"""Local claims: one winner per slot, one slot per evaluator, and leases that end."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter

import pytest

from kgrade.records.slugs import ItemId
from kgrade.repository.claims import Claims, LocalRefs, LostError, TakenError
from kgrade.repository.commits import Identity
from kgrade.repository.runner import Git
from kgrade.repository.tree import TreeReader
from tests.conftest import Repo

S01 = ItemId("softmax", "s01")
REF = "refs/kgrade/claims/softmax/s01/1"


class Clock:
    def __init__(self) -> None:
        self.wall = 1_800_000_000.0
        self.steady = 0.0

    def pass_s(self, seconds: float) -> None:
        self.wall += seconds
        self.steady += seconds


def claims_of(repo: Repo, evaluator: str, clock: Clock | None = None, slots: int = 1) -> Claims:
    clock = clock or Clock()
    reader = TreeReader(Git.open(repo.path))
    identity = Identity(evaluator.title(), f"{evaluator}@example.org")
    return Claims(
        reader,
        LocalRefs(reader.git),
        evaluator,
        identity,
        slots=lambda item: slots,
        wall=lambda: clock.wall,
        steady=lambda: clock.steady,
    )


def test_a_claim_is_a_commit_on_the_empty_tree_with_its_trailers(queue: Repo) -> None:
    claim = claims_of(queue, "ada").acquire(S01)
    assert queue.git("rev-parse", REF) == claim.oid
    assert queue.git("ls-tree", claim.oid) == ""
    trailers = dict(t.split(": ") for t in queue.git("log", "-1", "--format=%(trailers)", REF).splitlines() if t)
    assert trailers.pop("Nonce") == claim.nonce
    assert trailers.pop("Host") == claim.host
    assert trailers == {
        "Item": "softmax/s01",
        "Slot": "1",
        "Evaluator": "ada",
        "Lease-Seconds": "7200",
        "State": "held",
    }


def test_every_move_is_a_fast_forward(queue: Repo) -> None:
    ada = claims_of(queue, "ada")
    claim = ada.acquire(S01)
    claim = ada.renew(claim)
    ada.release(claim)
    bob = claims_of(queue, "bob")
    bob.done(bob.acquire(S01))
    states = queue.git("log", "--reverse", "--format=%(trailers:key=State,valueonly,separator=%x2C)", REF)
    assert states.split() == ["held", "renewed", "released", "held", "done"]


def test_a_held_item_is_taken_for_others_and_renewed_for_its_holder(queue: Repo) -> None:
    first = claims_of(queue, "ada").acquire(S01)
    with pytest.raises(TakenError, match="taken by ada"):
        claims_of(queue, "bob").acquire(S01)
    again = claims_of(queue, "ada").acquire(S01)
    assert again.nonce != first.nonce
    assert again.state == "renewed"
    with pytest.raises(LostError):
        claims_of(queue, "ada").renew(first)


def test_an_evaluator_never_holds_two_slots_and_done_counts(queue: Repo) -> None:
    ada = claims_of(queue, "ada", slots=2)
    ada.acquire(S01)
    ada.acquire(S01)
    assert [c.slot for c in ada.holders(S01)] == [1]
    bob = claims_of(queue, "bob", slots=2)
    bob.done(bob.acquire(S01))
    with pytest.raises(TakenError):
        bob.acquire(S01)
    with pytest.raises(TakenError, match="ada, bob"):
        claims_of(queue, "eve", slots=2).acquire(S01)


def test_two_slots_won_at_once_shrink_to_one(queue: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    here, there = claims_of(queue, "ada", slots=2), claims_of(queue, "ada", slots=2)
    stale = there.holders(S01)
    here.acquire(S01)
    real = there.holders
    answers = iter([stale, stale])
    monkeypatch.setattr(there, "holders", lambda item=None: next(answers, None) or real(item))
    with pytest.raises(TakenError):
        there._only(there._write(S01, 2, "held", REF[:-1] + "2", None) or pytest.fail("slot 2 was free"))
    assert [(c.slot, c.holds) for c in real(S01)] == [(1, True), (2, False)]


def test_a_live_claim_cannot_be_taken_over(queue: Repo) -> None:
    clock = Clock()
    claim = claims_of(queue, "ada", clock).acquire(S01)
    bob = claims_of(queue, "bob", clock)
    assert bob.expiry(bob.holders(S01)[0]) == "live"
    clock.wall += claim.lease_s + 60
    with pytest.raises(TakenError):
        bob.take_over(claim, confirmed=True)


def test_a_claim_that_stood_still_for_a_lease_is_free(queue: Repo) -> None:
    clock = Clock()
    ada = claims_of(queue, "ada", clock)
    claim = ada.acquire(S01)
    bob = claims_of(queue, "bob", clock)
    bob.holders()
    clock.steady += claim.lease_s - 1
    assert bob.expiry(bob.holders(S01)[0]) == "live"
    clock.steady += 1
    taken = bob.take_over(bob.holders(S01)[0])
    assert (taken.evaluator, taken.state) == ("bob", "taken-over")
    assert queue.git("rev-parse", f"{REF}^") == claim.oid
    with pytest.raises(LostError):
        ada.renew(claim)


def test_a_renewed_claim_starts_its_lease_anew(queue: Repo) -> None:
    clock = Clock()
    ada, bob = claims_of(queue, "ada", clock), claims_of(queue, "bob", clock)
    claim = ada.acquire(S01)
    bob.holders()
    clock.pass_s(claim.lease_s - 1)
    ada.renew(claim)
    clock.pass_s(10)
    assert bob.expiry(bob.holders(S01)[0]) == "live"


def test_a_claim_from_long_ago_needs_a_word_from_the_person(queue: Repo) -> None:
    clock = Clock()
    claim = claims_of(queue, "ada", clock).acquire(S01)
    clock.wall += claim.lease_s + 15 * 60 + 1
    bob = claims_of(queue, "bob", clock)
    old = bob.holders(S01)[0]
    assert bob.expiry(old) == "confirm"
    with pytest.raises(TakenError):
        bob.take_over(old)
    assert bob.take_over(old, confirmed=True).evaluator == "bob"


def test_a_commit_from_the_future_means_skewed_clocks(queue: Repo) -> None:
    clock = Clock()
    claim = claims_of(queue, "ada", clock).acquire(S01)
    bob = claims_of(queue, "bob", clock)
    assert not bob.skewed(claim)
    clock.wall -= 121
    assert bob.skewed(claim)


def test_what_is_no_claim_is_left_out(queue: Repo) -> None:
    ada = claims_of(queue, "ada", slots=2)
    ada.acquire(S01)
    queue.git("update-ref", "refs/kgrade/claims/softmax/s02/1", "HEAD")
    queue.git("update-ref", "refs/kgrade/claims/other/s01/1", REF)
    queue.git("update-ref", "refs/kgrade/claims/softmax/s01/2", queue.git("rev-parse", "HEAD:README"))
    assert [c.ref for c in ada.holders()] == [REF]
    with pytest.raises(TakenError, match="cannot be read"):
        claims_of(queue, "bob").acquire(ItemId("softmax", "s02"))


def test_of_many_racers_one_wins_each_item(queue: Repo) -> None:
    program = (
        "import sys; from tests.repository.test_claims import *\n"
        "claims = claims_of(Repo(Path(sys.argv[1])), sys.argv[2])\n"
        "sys.stdin.readline()\n"
        "for n in range(5):\n"
        "    try: claims.acquire(ItemId('race', f's{n}')); print(n)\n"
        "    except TakenError: pass\n"
    ).replace("import sys;", "import sys; from pathlib import Path;")
    racers = [
        subprocess.Popen(
            [sys.executable, "-c", program, str(queue.path), name],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        for name in ("ada", "bob", "eve", "dan")
    ]
    wins: Counter[int] = Counter()
    for racer in racers:
        assert racer.stdin is not None
        racer.stdin.write(b"\n")
        racer.stdin.flush()
    for racer in racers:
        out, err = racer.communicate(timeout=120)
        assert err == b""
        wins.update(int(line) for line in out.split())
    assert wins == dict.fromkeys(range(5), 1)
