"""Claims over a plain bare remote: one winner, the remote's word alone counts, and no network is only a note."""

from __future__ import annotations

import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable

import pytest

from kgrade.records.slugs import ItemId
from kgrade.repository.claims import Claim, Claims, TakenError
from kgrade.repository.commits import Identity
from kgrade.repository.remote import Remote, SlowError, UnreachableError
from kgrade.repository.remote_claims import QUIET_S, RemoteRefs
from kgrade.repository.runner import Git, GitError
from kgrade.repository.tree import TreeReader
from tests.conftest import Repo

S01 = ItemId("softmax", "s01")
REF = "refs/kgrade/claims/softmax/s01/1"


class Clock:
    def __init__(self) -> None:
        self.steady = 0.0


@pytest.fixture
def hub(make_repo: Callable[..., Repo], queue: Repo) -> Repo:
    made = make_repo("hub", bare=True)
    queue.git("push", "-q", str(made.path), "main")
    return made


class Latch:
    """A remote that answers nothing while it is shut; it hears everything."""

    def __init__(self, hub: Repo, *clones: Repo) -> None:
        self._shut = hub.path / "shut"
        for service in ("upload-pack", "receive-pack"):
            server = hub.path / f"slow-{service}"
            server.write_text(f'#!/bin/sh\nwhile [ -e {self._shut} ]; do sleep 0.02; done\nexec git-{service} "$@"\n')
            server.chmod(0o755)
            for clone in clones:
                clone.git("config", f"remote.origin.{service.replace('-', '')}", str(server))

    def shut(self) -> None:
        self._shut.touch()

    def open(self) -> None:
        self._shut.unlink()


def claims_of(repo: Repo, evaluator: str, clock: Clock | None = None, slots: int = 1, wait_s: float = 30.0) -> Claims:
    clock = clock or Clock()
    reader = TreeReader(Git.open(repo.path))
    refs = RemoteRefs(reader.git, Remote(reader.git, "origin"), steady=lambda: clock.steady, wait_s=wait_s)
    identity = Identity(evaluator.title(), f"{evaluator}@example.org")
    return Claims(reader, refs, evaluator, identity, slots=lambda item: slots, steady=lambda: clock.steady)


def test_a_claim_is_seen_by_every_clone_and_moves_forward_only(make_repo: Callable[..., Repo], hub: Repo) -> None:
    ada, bob = make_repo("ada", clone=hub), make_repo("bob", clone=hub)
    hub.git("config", "receive.denyNonFastForwards", "true")
    hub.git("config", "receive.denyDeletes", "true")
    mine, theirs = claims_of(ada, "ada"), claims_of(bob, "bob")
    claim = mine.acquire(S01)
    assert hub.git("rev-parse", REF) == claim.oid
    with pytest.raises(TakenError, match="taken by ada"):
        theirs.acquire(S01)
    mine.release(mine.renew(claim))
    won = theirs.acquire(S01)
    theirs.done(won)
    states = hub.git("log", "--reverse", "--format=%(trailers:key=State,valueonly,separator=%x2C)", REF)
    assert states.split() == ["held", "renewed", "released", "held", "done"]
    with pytest.raises(TakenError, match="taken by bob"):
        mine.acquire(S01)


def test_one_evaluator_in_two_clones_has_one_slot(make_repo: Callable[..., Repo], hub: Repo) -> None:
    here, there = make_repo("here", clone=hub), make_repo("there", clone=hub)
    first = claims_of(here, "ada", slots=2).acquire(S01)
    again = claims_of(there, "ada", slots=2).acquire(S01)
    assert (again.slot, again.state) == (first.slot, "renewed")
    assert claims_of(make_repo("bob", clone=hub), "bob", slots=2).acquire(S01).slot == 2


RACER = """
import sys
from pathlib import Path
from kgrade.records.slugs import ItemId
from kgrade.repository.claims import Claims, TakenError
from kgrade.repository.commits import Identity
from kgrade.repository.remote import Remote
from kgrade.repository.remote_claims import RemoteRefs
from kgrade.repository.runner import Git
from kgrade.repository.tree import TreeReader
name, folder, slots = sys.argv[1], Path(sys.argv[2]), int(sys.argv[3])
reader = TreeReader(Git.open(folder))
refs = RemoteRefs(reader.git, Remote(reader.git, "origin"))
claims = Claims(reader, refs, name, Identity(name, name), slots=lambda item: slots)
sys.stdin.readline()
try:
    print(claims.acquire(ItemId("softmax", "s01")).slot)
except TakenError:
    print("taken")
reader.objects.close()
"""


@pytest.mark.parametrize("slots", [1, 2])
def test_of_racers_one_wins_each_slot(make_repo: Callable[..., Repo], hub: Repo, slots: int) -> None:
    clones = [make_repo(f"racer{number}", clone=hub) for number in range(5)]
    racers = [
        subprocess.Popen(
            [sys.executable, "-c", RACER, f"racer{number}", str(clone.path), str(slots)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for number, clone in enumerate(clones)
    ]
    for racer in racers:
        racer.stdin.write("go\n")
        racer.stdin.flush()
    said = Counter(racer.communicate(timeout=120)[0].strip() for racer in racers)
    assert said == {**{str(slot): 1 for slot in range(1, slots + 1)}, "taken": 5 - slots}


def test_a_remote_that_is_gone_is_asked_once_and_then_left_alone_for_a_while(
    make_repo: Callable[..., Repo], hub: Repo, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock, ada = Clock(), make_repo("ada", clone=hub)
    claims = claims_of(ada, "ada", clock)
    away = hub.path.with_name("away")
    hub.path.rename(away)
    with pytest.raises(UnreachableError, match="origin cannot be"):
        claims.acquire(S01)
    asked: list[str] = []
    real = Git.run
    monkeypatch.setattr(Git, "run", lambda self, a, **options: (asked.append(a[0]), real(self, a, **options))[1])
    with pytest.raises(UnreachableError):
        claims.acquire(S01)
    assert not {"fetch", "push", "ls-remote"} & set(asked)
    away.rename(hub.path)
    clock.steady += QUIET_S
    assert claims.acquire(S01).evaluator == "ada"


def test_a_slow_remote_is_waited_for_and_what_it_gave_late_is_mine(make_repo: Callable[..., Repo], hub: Repo) -> None:
    ada, bob = make_repo("ada", clone=hub), make_repo("bob", clone=hub)
    latch = Latch(hub, ada)
    mine = claims_of(ada, "ada", wait_s=0.3)
    mine.refresh()
    latch.shut()
    for _ in range(5):  # however often: slow is never taken for out of reach
        with pytest.raises(SlowError, match=r"origin is slow: no answer yet after 0\.3 s"):
            mine.acquire(S01)
    assert mine.waits()
    assert hub.git("for-each-ref", "refs/kgrade") == ""
    latch.open()
    claim = until_answered(mine, lambda: mine.acquire(S01))
    assert hub.git("log", "--format=%(trailers:key=Evaluator,valueonly)", "-1", REF).strip() == "ada"
    with pytest.raises(TakenError, match="taken by ada"):
        claims_of(bob, "bob").acquire(S01)
    latch.shut()
    with pytest.raises(SlowError):
        mine.renew(claim)
    latch.open()
    assert until_answered(mine, lambda: mine.done(claim)).state == "done"
    assert not mine.waits()


def test_one_that_was_out_of_reach_and_is_silent_keeps_nobody_waiting_and_is_heard_when_it_speaks(
    make_repo: Callable[..., Repo], hub: Repo
) -> None:
    clock, ada = Clock(), make_repo("ada", clone=hub)
    latch = Latch(hub, ada)
    claims = claims_of(ada, "ada", clock, wait_s=0.3)
    away = hub.path.with_name("away")
    hub.path.rename(away)
    with pytest.raises(UnreachableError):
        claims.acquire(S01)
    away.rename(hub.path)
    latch.shut()
    clock.steady += QUIET_S
    for _ in range(2):
        with pytest.raises(UnreachableError):
            claims.acquire(S01)
    latch.open()
    clock.steady += QUIET_S
    assert until_answered(claims, lambda: claims.acquire(S01)).evaluator == "ada"


def test_a_server_that_always_lets_go_counts_as_out_of_reach_in_the_end(
    make_repo: Callable[..., Repo], hub: Repo
) -> None:
    ada = make_repo("ada", clone=hub)
    server = hub.path / "server"
    server.write_text("#!/bin/sh\necho Connection reset by peer >&2\nexit 255\n")
    server.chmod(0o755)
    claims = claims_of(ada, "ada")
    claims.refresh()
    ada.git("config", "remote.origin.uploadpack", str(server))
    ada.git("config", "remote.origin.receivepack", str(server))
    for kind in (SlowError, SlowError, UnreachableError):
        with pytest.raises(kind, match="Connection reset by peer"):
            claims.refresh()


def until_answered(claims: Claims, work: Callable[[], Claim]) -> Claim:
    """What comes of `work` once the remote has answered, as a person does it again."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        try:
            return work()
        except (SlowError, UnreachableError):
            while claims.waits():
                time.sleep(0.02)
    raise AssertionError("the remote never answered")


def test_a_server_that_refuses_claims_says_so(make_repo: Callable[..., Repo], hub: Repo) -> None:
    hook = hub.path / "hooks" / "pre-receive"
    hook.write_text("#!/bin/sh\necho no claims here >&2\nexit 1\n")
    hook.chmod(0o755)
    with pytest.raises(GitError, match="did not take a claim: no claims here"):
        claims_of(make_repo("ada", clone=hub), "ada").acquire(S01)


def test_a_lock_left_on_a_claim_at_the_remote_is_named_and_left(make_repo: Callable[..., Repo], hub: Repo) -> None:
    lock = hub.path / f"{REF}.lock"
    lock.parent.mkdir(parents=True)
    lock.touch()
    ada = claims_of(make_repo("ada", clone=hub), "ada")
    with pytest.raises(GitError, match=f"origin keeps {REF} locked; ask a lead"):
        ada.acquire(S01)
    assert lock.exists()
    lock.unlink()
    assert ada.acquire(S01).ref == REF
