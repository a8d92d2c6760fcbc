"""Pushing: nothing lost and a true standing when it fails, hangs, is refused or the remote is gone."""

from __future__ import annotations

import shutil
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from kgrade.repository.branches import Branch
from kgrade.repository.commits import Change, Identity
from kgrade.repository.refs import RefMove
from kgrade.repository.remote import Remote
from kgrade.repository.runner import Git, GitCancelledError
from kgrade.repository.sync import Sync
from kgrade.repository.tree import TreeReader
from tests.conftest import Repo
from tests.repository.conftest import GRADE

ADA = Identity("Ada", "ada@example.org")


@pytest.fixture
def hub(queue: Repo, make_repo: Callable[..., Repo]) -> Repo:
    hub = make_repo("hub", bare=True)
    queue.git("push", "-q", str(hub.path), "main")
    return hub


@pytest.fixture
def ada(hub: Repo, make_repo: Callable[..., Repo]) -> Repo:
    return make_repo("ada", clone=hub)


def syncer(repo: Repo, *, push_timeout: float = 60, also: tuple[str, ...] = ()) -> Sync:
    reader = TreeReader(Git.open(repo.path))
    branch = Branch(reader, "refs/heads/main", remote="origin")
    return Sync(branch, Remote(reader.git, "origin", push_timeout=push_timeout), ADA, also=also)


def save(sync: Sync, content: str = "verdict: accept\n", path: str = GRADE) -> str:
    saved = sync.branch.commit([Change(path, content.encode())], f"grade: {content}", ADA)
    assert saved.where == "outbox"
    return saved.commit


def hook(repo: Repo, name: str, script: str) -> Path:
    path = repo.path / ("hooks" if (repo.path / "HEAD").exists() else ".git/hooks") / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return path


def test_a_save_is_pushed_and_the_clean_checkout_follows(hub: Repo, ada: Repo) -> None:
    sync = syncer(ada)
    commit = save(sync)
    assert [w.commit for w in sync.waiting()] == [commit]
    standing = sync.step()
    assert (standing.state, standing.reason, standing.waiting) == ("pushed", "", 0)
    assert hub.git("rev-parse", "main") == commit
    assert ada.git("rev-parse", "main") == commit
    assert (ada.path / GRADE).read_text() == "verdict: accept\n"
    assert ada.git("status", "--porcelain") == ""
    assert ada.git("for-each-ref", "refs/kgrade/outbox", "refs/kgrade/outbox-base") == ""


def test_a_rejected_push_is_remade_on_the_new_tip(hub: Repo, ada: Repo, make_repo: Callable[..., Repo]) -> None:
    bob = make_repo("bob", clone=hub)
    sync = syncer(ada)
    save(sync)
    theirs = bob.commit({"README": "bob\n"})
    bob.git("push", "-q", "origin", "main")
    assert sync.step().state == "pushed"
    assert hub.git("rev-parse", "main^") == theirs
    assert hub.show(GRADE, "main") == "verdict: accept"
    assert hub.show("README", "main") == "bob"


def test_a_push_that_loses_the_race_is_repeated(hub: Repo, ada: Repo, make_repo: Callable[..., Repo]) -> None:
    bob = make_repo("bob", clone=hub)
    bob.commit({"README": "bob\n"})
    once = hub.path / "once"
    script = f"[ -e {once} ] && exit 0; touch {once}; unset $(git rev-parse --local-env-vars)\n"
    hook(ada, "pre-push", script + f"git -C {bob.path} push -q origin main")
    sync = syncer(ada)
    save(sync)
    assert sync.step().state == "pushed"
    assert hub.show("README", "main") == "bob"
    assert hub.show(GRADE, "main") == "verdict: accept"


def test_a_dirty_checkout_is_not_touched_and_its_next_commit_keeps_the_grade(hub: Repo, ada: Repo) -> None:
    ada.write({"README": "edited\n", "new": "x\n"})
    ada.git("add", "new")
    status, head = ada.git("status", "--porcelain"), ada.git("rev-parse", "HEAD")
    sync = syncer(ada)
    save(sync)
    assert sync.step().state == "pushed"
    assert ada.git("status", "--porcelain") == status
    assert ada.git("rev-parse", "HEAD") == head
    ada.git("commit", "-q", "-m", "mine")
    ada.git("checkout", "-q", "README")
    ada.git("pull", "-q", "--no-rebase", "--no-edit")
    ada.git("push", "-q")
    assert hub.show(GRADE, "main") == "verdict: accept"
    assert hub.show("new", "main") == "x"


def test_commits_the_person_has_not_pushed_stay_with_the_person(hub: Repo, ada: Repo) -> None:
    ada.commit({"private": "not yet\n"})
    sync = syncer(ada)
    assert sync.branch.ahead() == 1
    save(sync)
    assert sync.step().state == "pushed"
    assert "private" not in hub.git("ls-tree", "--name-only", "main")


def test_a_refusing_hook_is_heard_once_and_its_words_are_kept(hub: Repo, ada: Repo) -> None:
    refusal = hook(hub, "pre-receive", "echo run >> count; printf 'grades are \\033[31mclosed\\n' >&2; exit 1")
    sync = syncer(ada)
    commit = save(sync)
    standing = sync.step()
    assert (standing.state, standing.trouble, standing.retry_in) == ("committed", "refused", None)
    assert "grades are ␛[31mclosed" in standing.reason
    assert standing.waiting == 1
    assert (hub.path / "count").read_text() == "run\n"
    assert syncer(ada).branch.head() == commit
    refusal.unlink()
    assert syncer(ada).step().state == "pushed"
    assert hub.git("rev-parse", "main") == commit


MARK = "refs/kgrade/claims/softmax/s01/1"


def test_other_refs_go_along_with_the_first_push_also_where_that_comes_second(
    hub: Repo, ada: Repo, make_repo: Callable[..., Repo]
) -> None:
    bob = make_repo("bob", clone=hub)
    sync = syncer(ada)
    save(sync)
    bob.commit({"README": "bob\n"})
    bob.git("push", "-q", "origin", "main")
    mark = ada.git("rev-parse", "main")
    standing = sync.step(along=[RefMove(MARK, mark, None)])
    assert (standing.state, standing.carried) == ("pushed", {MARK})
    assert hub.git("rev-parse", MARK) == mark
    assert hub.show("README", "main") == "bob"
    save(sync, "again\n")
    standing = sync.step(along=[RefMove(MARK, ada.git("rev-parse", "main"), "1" * 40)])
    assert (standing.state, standing.carried) == ("pushed", set())
    assert hub.git("rev-parse", MARK) == mark
    assert hub.show(GRADE, "main") == "again"


@pytest.mark.parametrize(
    ("name", "script"),
    [("update", "case $1 in refs/kgrade/*) exit 1;; esac"), ("pre-receive", "if grep -q refs/kgrade; then exit 1; fi")],
)
def test_where_the_server_refuses_what_went_along_the_grade_goes_alone(
    hub: Repo, ada: Repo, name: str, script: str
) -> None:
    hook(hub, name, script)
    sync = syncer(ada)
    commit = save(sync)
    standing = sync.step(along=[RefMove(MARK, commit, None)])
    assert (standing.state, standing.carried) == ("pushed", set())
    assert hub.git("rev-parse", "main") == commit
    assert hub.git("for-each-ref", MARK) == ""


def test_the_persons_own_pre_push_hook_applies(hub: Repo, ada: Repo) -> None:
    own = hook(ada, "pre-push", "echo not on a Friday >&2; exit 1")
    sync = syncer(ada)
    save(sync)
    standing = sync.step()
    assert standing.trouble == "refused"
    assert "pre-push" in standing.reason
    assert "not on a Friday" in standing.reason
    own.unlink()
    assert sync.step().state == "pushed"


def test_a_hanging_push_is_killed_and_made_again(hub: Repo, ada: Repo) -> None:
    slow = hook(hub, "pre-receive", "sleep 60")
    sync = syncer(ada, push_timeout=1)
    save(sync)
    standing = sync.step()
    assert (standing.state, standing.trouble, standing.waiting) == ("committed", "slow", 1)
    assert "origin is slow: git push gave no answer for 1 s and was stopped" in standing.reason
    assert "waited for 2 s" in standing.reason
    assert standing.retry_in is not None
    slow.unlink()
    assert sync.step().state == "pushed"


@pytest.mark.parametrize(
    ("words", "trouble"),
    [
        ("fatal: the remote end hung up unexpectedly", "slow"),
        ("kex_exchange_identification: Connection closed by remote host", "slow"),
        ("error: RPC failed; HTTP 503 curl 22 The requested URL returned error: 503", "slow"),
        ("ssh: Could not resolve hostname hub: Name or service not known", "offline"),
        ("ssh: connect to host hub port 22: Connection refused", "offline"),
        ("ssh: connect to host hub port 22: No route to host", "offline"),
        ("ssh: connect to host hub port 22: Connection timed out", "offline"),
    ],
)
def test_a_server_that_lets_go_is_busy_and_only_one_that_is_not_there_is_out_of_reach(
    hub: Repo, ada: Repo, words: str, trouble: str
) -> None:
    server = hub.path / "server"
    server.write_text(f"#!/bin/sh\necho '{words}' >&2\nexit 255\n")
    server.chmod(0o755)
    ada.git("config", "remote.origin.uploadpack", str(server))
    ada.git("config", "remote.origin.receivepack", str(server))
    sync = syncer(ada)
    save(sync)
    standing = sync.step()
    assert (standing.state, standing.trouble, standing.waiting) == ("committed", trouble, 1)
    assert words.partition(": ")[2] in standing.reason
    assert standing.retry_in is not None


def test_a_push_killed_after_it_landed_counts_as_pushed(hub: Repo, ada: Repo) -> None:
    hook(hub, "post-receive", "exec >/dev/null 2>&1; sleep 60")
    sync = syncer(ada, push_timeout=2)
    commit = save(sync)
    assert sync.step().state == "pushed"
    assert hub.git("rev-parse", "main") == commit


def test_a_hanging_push_can_be_cancelled(hub: Repo, ada: Repo) -> None:
    hook(hub, "pre-receive", "touch started; sleep 60")
    sync = syncer(ada)
    save(sync)
    cancel = threading.Event()

    def cancel_when_started() -> None:
        while not (hub.path / "started").exists():
            time.sleep(0.02)
        cancel.set()

    watcher = threading.Thread(target=cancel_when_started)
    watcher.start()
    with pytest.raises(GitCancelledError):
        sync.step(cancel)
    watcher.join()
    assert len(sync.waiting()) == 1


def test_a_save_during_a_push_goes_out_too(hub: Repo, ada: Repo) -> None:
    hook(hub, "pre-receive", "[ -e done ] && exit 0; touch started; while [ ! -e go ]; do sleep 0.02; done; touch done")
    sync = syncer(ada)
    save(sync, "one\n")

    def save_when_started() -> None:
        while not (hub.path / "started").exists():
            time.sleep(0.02)
        save(sync, "two\n")
        (hub.path / "go").touch()

    saver = threading.Thread(target=save_when_started)
    saver.start()
    assert sync.step().state == "pushed"
    saver.join()
    assert hub.git("log", "--format=%s", "-2", "main") == "grade: two\ngrade: one"


def test_with_the_remote_gone_saves_go_on_and_are_pushed_later(hub: Repo, ada: Repo) -> None:
    away = hub.path.with_name("away")
    sync = syncer(ada)
    shutil.move(hub.path, away)
    save(sync, "one\n")
    first = sync.step()
    assert (first.state, first.trouble, first.waiting) == ("committed", "offline", 1)
    assert "origin cannot be reached" in first.reason
    save(sync, "two\n")
    second = sync.step()
    assert second.waiting == 2
    assert first.retry_in is not None
    assert second.retry_in is not None
    assert first.retry_in <= 2.4 < 3.2 <= second.retry_in
    shutil.move(away, hub.path)
    assert syncer(ada).step().state == "pushed"
    assert hub.show(GRADE, "main") == "two"
    assert hub.git("log", "--format=%s", "-2", "main") == "grade: two\ngrade: one"


def test_the_delay_stops_growing_at_five_minutes(hub: Repo, ada: Repo) -> None:
    sync = syncer(ada)
    save(sync)
    shutil.rmtree(hub.path)
    delays = [sync.step().retry_in or 0 for _ in range(10)]
    assert max(delays) <= 360
    assert delays[-1] >= 240


def test_a_lock_left_on_the_remote_is_named(hub: Repo, ada: Repo) -> None:
    lock = hub.path / "refs/heads/main.lock"
    lock.touch()
    sync = syncer(ada)
    save(sync)
    standing = sync.step()
    assert standing.trouble == "locked"
    assert "refs/heads/main" in standing.reason
    assert lock.exists()
    lock.unlink()
    assert sync.step().state == "pushed"


def test_a_rewritten_remote_is_an_alarm_until_accepted(hub: Repo, ada: Repo, make_repo: Callable[..., Repo]) -> None:
    bob = make_repo("bob", clone=hub)
    sync = syncer(ada)
    save(sync, "one\n")
    assert sync.step().state == "pushed"
    old = hub.git("rev-parse", "main")
    bob.commit({"README": "rewritten\n"})
    bob.git("push", "-q", "--force", "origin", "main")
    save(sync, "two\n", GRADE.replace("s01", "s02"))
    standing = sync.step()
    assert (standing.state, standing.trouble, standing.retry_in) == ("committed", "rewritten", None)
    assert "rewritten" in standing.reason
    assert ada.git("for-each-ref", "--format=%(objectname)", "refs/kgrade/evidence/origin") == old
    assert hub.show("README", "main") == "rewritten"
    sync.accept_rewrite()
    assert sync.step().state == "pushed"
    assert hub.show(GRADE.replace("s01", "s02"), "main") == "two"
    assert ada.git("rev-parse", f"refs/kgrade/evidence/origin/main/{old[:12]}") == old


def test_a_branch_that_vanished_is_not_silently_made_again(hub: Repo, ada: Repo) -> None:
    sync = syncer(ada)
    save(sync)
    hub.git("update-ref", "-d", "refs/heads/main")
    assert sync.step().trouble == "rewritten"
    assert hub.git("for-each-ref") == ""
    sync.accept_rewrite()
    assert sync.step().state == "pushed"
    assert hub.show(GRADE, "main") == "verdict: accept"


@pytest.mark.parametrize("keep", ["mine", "theirs"])
def test_one_evaluator_on_two_boxes_chooses_and_both_stay_in_history(
    hub: Repo, ada: Repo, make_repo: Callable[..., Repo], keep: str
) -> None:
    other = syncer(make_repo("other", clone=hub))
    save(other, "theirs\n")
    assert other.step().state == "pushed"
    sync = syncer(ada)
    save(sync, "mine\n")
    save(sync, "another\n", GRADE.replace("s01", "s02"))
    standing = sync.step()
    assert (standing.state, standing.trouble, standing.retry_in) == ("committed", "collision", None)
    assert standing.collision is not None
    assert hub.show(GRADE, "main") == "theirs"
    sync.choose(standing.collision, "mine" if keep == "mine" else "theirs")
    assert sync.step().state == "pushed"
    assert hub.show(GRADE, "main") == keep
    assert hub.show(GRADE.replace("s01", "s02"), "main") == "another"
    versions = [hub.show(GRADE, c) for c in hub.git("rev-list", "main", "--", GRADE).split()]
    assert {"mine", "theirs"} <= set(versions)


def test_grade_branches_of_others_are_followed_and_their_rewrite_is_an_alarm(
    hub: Repo, ada: Repo, make_repo: Callable[..., Repo]
) -> None:
    bob = make_repo("bob", clone=hub)
    bob.git("checkout", "-q", "--orphan", "grades/bob")
    old = bob.commit({GRADE.replace("ada", "bob"): "bob\n"})
    bob.git("push", "-q", "origin", "grades/bob")
    sync = syncer(ada, also=("refs/heads/grades/*",))
    assert sync.step().alarms == ()
    assert ada.git("rev-parse", "refs/kgrade/remotes/origin/grades/bob") == old
    bob.git("commit", "-q", "--amend", "-m", "rewritten")
    bob.git("push", "-q", "--force", "origin", "grades/bob")
    standing = sync.step()
    assert standing.state == "pushed"
    assert "grades/bob was rewritten" in standing.alarms[0]
    assert ada.git("rev-parse", "refs/kgrade/remotes/origin/grades/bob") == old


def test_an_own_grade_branch_is_made_on_the_first_push(hub: Repo, ada: Repo) -> None:
    reader = TreeReader(Git.open(ada.path))
    branch = Branch(reader, "refs/heads/grades/ada", remote="origin")
    sync = Sync(branch, Remote(reader.git, "origin"), ADA)
    save(sync)
    assert sync.step().state == "pushed"
    assert hub.git("ls-tree", "-r", "--name-only", "grades/ada") == GRADE


def test_a_remote_that_only_reads_is_found_out(hub: Repo, ada: Repo) -> None:
    ada.git("remote", "set-url", "--push", "origin", str(hub.path.with_name("nowhere")))
    sync = syncer(ada)
    head = ada.git("rev-parse", "HEAD")
    assert "nowhere" in sync.remote.refusal(head, "refs/heads/main")
    ada.git("remote", "set-url", "--push", "origin", str(hub.path))
    assert sync.remote.refusal(head, "refs/heads/main") == ""


def test_the_log_shows_what_was_run_without_secrets(ada: Repo) -> None:
    git = Git.open(ada.path)
    git.run(["ls-remote", "https://ada:secret@127.0.0.1:1/x"], check=False)
    entry = git.log[-1]
    assert entry.arguments[0] == "ls-remote"
    assert entry.code == 128
    assert "secret" not in repr(git.log)


def test_a_shallow_clone_saves_and_pushes_also_on_a_branch_that_moved_on(
    hub: Repo, ada: Repo, make_repo: Callable[..., Repo]
) -> None:
    ada.commit({"README": "two\n"})
    ada.git("push", "-q", "origin", "main")
    shallow = make_repo("shallow")
    shallow.git("fetch", "-q", "--depth=1", hub.path.as_uri(), "main")
    shallow.git("reset", "-q", "--hard", "FETCH_HEAD")
    shallow.git("remote", "add", "origin", hub.path.as_uri())
    assert shallow.git("rev-parse", "--is-shallow-repository") == "true"
    sync = syncer(shallow)
    save(sync)
    ada.commit({"README": "three\n"})
    ada.git("push", "-q", "origin", "main")
    assert sync.step().state == "pushed"
    assert hub.git("show", f"main:{GRADE}") == "verdict: accept"
    assert hub.git("show", "main:README") == "three"
    assert hub.git("rev-list", "--count", "main") == str(int(ada.git("rev-list", "--count", "main")) + 1)
    assert shallow.git("rev-parse", "--is-shallow-repository") == "true"
