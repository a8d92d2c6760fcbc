"""Saves that must work, and leave the person's own work alone, whatever state the checkout is in."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from kgrade.repository.branches import Branch, Saved
from kgrade.repository.commits import Change, CollisionError, Identity
from kgrade.repository.runner import Git, GitError, Result
from kgrade.repository.tree import TreeReader
from tests.conftest import Repo
from tests.repository.conftest import GRADE

ADA = Identity("Ada", "ada@example.org")
MESSAGE = "grade: softmax/s01 accept 91.0 (ada)\n\nItem: softmax/s01\n"


def branch_of(repo: Repo) -> Branch:
    return Branch(TreeReader(Git.open(repo.path)), "refs/heads/main")


def save(repo: Repo, content: str | None = "verdict: accept\n", path: str = GRADE) -> Saved:
    data = None if content is None else content.encode()
    return branch_of(repo).commit([Change(path, data)], MESSAGE, ADA)


def index(repo: Repo) -> set[str]:
    return {line for line in repo.git("ls-files", "--stage").splitlines() if not line.endswith(GRADE)}


def test_a_save_lands_on_the_branch_and_in_the_checkout(queue: Repo) -> None:
    before = queue.git("rev-parse", "HEAD")
    saved = save(queue)
    assert saved.where == "branch"
    assert saved.ref == "refs/heads/main"
    assert saved.notes == ()
    assert queue.git("rev-parse", "main") == saved.commit
    assert queue.git("rev-parse", "main^") == before
    assert queue.show(GRADE) == "verdict: accept"
    assert (queue.path / GRADE).read_text() == "verdict: accept\n"
    assert queue.git("status", "--porcelain") == ""
    assert queue.git("log", "-1", "--format=%an <%ae>|%s|%(trailers:key=Item,valueonly)") == (
        "Ada <ada@example.org>|grade: softmax/s01 accept 91.0 (ada)|softmax/s01"
    )
    assert queue.git("diff", "--name-only", "HEAD^", "HEAD") == GRADE


def test_what_a_save_writes_is_on_the_disk_when_it_returns(
    queue: Repo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trace = tmp_path / "trace"
    monkeypatch.setenv("GIT_TRACE2_EVENT", str(trace))
    flush, files = os.fsync, []
    monkeypatch.setattr(os, "fsync", lambda file: (files.append(os.readlink(f"/proc/self/fd/{file}")), flush(file)))
    save(queue)
    flushed: dict[str, int] = {}
    command = ""
    for event in map(json.loads, trace.read_text().splitlines()):
        if event["event"] == "cmd_name":
            command = event["name"]
        if event.get("category") == "fsync" and event["key"].startswith("fsync/hardware"):
            flushed[command] = flushed.get(command, 0) + int(event["value"])
    # One blob, the six trees from the root to grades/, and the commit.
    assert len([file for file in files if "/objects/" in file]) == 8
    assert flushed == {"update-ref": 1, "update-index": 1}


def test_a_neighbour_that_git_finds_fault_with_does_not_stop_a_save(make_repo: Callable[..., Repo]) -> None:
    repo = make_repo("hostile", bare=True, sound=False)
    blob = repo.git("hash-object", "-w", "--stdin", input=b"x")
    tree = repo.git("mktree", input=f"100644 blob {blob}\t.git\n".encode())
    repo.git("update-ref", "refs/heads/main", repo.git("commit-tree", tree, "-m", "hostile"))
    assert save(repo).where == "branch"
    assert repo.git("ls-tree", "--name-only", "main").split() == [".git", "queue"]


def test_the_same_bytes_again_make_no_commit(queue: Repo) -> None:
    first = save(queue)
    again = save(queue)
    assert again.commit == first.commit
    assert again.where == "branch"


def test_undoing_a_first_grade_deletes_it_by_a_new_commit(queue: Repo) -> None:
    save(queue)
    undone = save(queue, None)
    assert queue.git("ls-tree", "-r", "--name-only", undone.commit, GRADE) == ""
    assert not (queue.path / GRADE).exists()
    assert not (queue.path / GRADE).parent.exists()
    assert queue.git("status", "--porcelain") == ""
    assert queue.git("rev-list", "--count", "main") == "3"


def test_the_first_commit_of_an_empty_repository(make_repo: Callable[..., Repo]) -> None:
    repo = make_repo("empty")
    saved = save(repo)
    assert queue_files(repo, saved.commit) == [GRADE]
    assert repo.git("status", "--porcelain") == ""


def queue_files(repo: Repo, commit: str) -> list[str]:
    return repo.git("ls-tree", "-r", "--name-only", commit).splitlines()


def make_dirty(repo: Repo) -> None:
    repo.write({"README": "edited\n", "untracked": "x\n"})


def make_staged(repo: Repo) -> None:
    repo.write({"README": "staged\n", "new": "x\n"})
    repo.git("add", "README", "new")
    repo.git("rm", "-q", "--cached", "queue/softmax/prompt.md")


def make_unmerged(repo: Repo) -> None:
    repo.git("checkout", "-q", "-b", "side")
    repo.commit({"README": "theirs\n"})
    repo.git("checkout", "-q", "main")
    repo.commit({"README": "mine\n"})
    repo.git("merge", "side", check=False)
    assert "README" in repo.git("ls-files", "--unmerged")


def make_detached(repo: Repo) -> None:
    repo.git("checkout", "-q", "--detach")


def make_all(repo: Repo) -> None:
    make_unmerged(repo)
    make_staged_beside(repo)
    repo.write({"queue/softmax/task.yaml": "edited: true\n"})


def make_staged_beside(repo: Repo) -> None:
    repo.write({"new": "x\n"})
    repo.git("add", "new")


@pytest.mark.parametrize("state", [make_dirty, make_staged, make_unmerged, make_detached, make_all])
def test_a_save_leaves_index_and_files_of_the_person_alone(queue: Repo, state: Callable[[Repo], None]) -> None:
    state(queue)
    entries, status = index(queue), queue.git("status", "--porcelain")
    head = (queue.path / ".git/HEAD").read_text()
    readme = (queue.path / "README").read_text()
    saved = save(queue)
    assert saved.where == "branch"
    assert queue.show(GRADE, "main") == "verdict: accept"
    assert index(queue) == entries
    assert queue.git("status", "--porcelain") == status
    assert (queue.path / ".git/HEAD").read_text() == head
    assert (queue.path / "README").read_text() == readme


@pytest.mark.parametrize("state", [make_dirty, make_staged, make_unmerged, make_all])
def test_the_next_commit_of_another_file_keeps_the_grade(queue: Repo, state: Callable[[Repo], None]) -> None:
    state(queue)
    save(queue)
    queue.write({"another": "x\n"})
    queue.git("add", "another", *(["README"] if queue.git("ls-files", "--unmerged") else []))
    queue.git("commit", "-q", "-m", "another")
    assert queue.show(GRADE) == "verdict: accept"
    assert queue.show("another") == "x"


def test_a_held_index_lock_sends_the_commit_to_the_outbox_and_the_branch_follows(queue: Repo) -> None:
    tip = queue.git("rev-parse", "main")
    lock = queue.path / ".git/index.lock"
    lock.write_text("held")
    saved = save(queue)
    assert saved.where == "outbox"
    assert saved.ref == "refs/kgrade/outbox/main"
    assert "index.lock" in saved.notes[0]
    assert lock.read_text() == "held"
    assert queue.git("rev-parse", "main") == tip
    assert queue.show(GRADE, saved.ref) == "verdict: accept"

    branch = branch_of(queue)
    assert branch.head() == saved.commit
    assert "index.lock" in branch.settle(ADA).pending
    lock.unlink()
    queue.commit({"README": "moved on\n"})
    assert branch.settle(ADA).pending == ""
    assert branch.outbox() is None
    assert queue.show(GRADE) == "verdict: accept"
    assert queue.show("README") == "moved on"
    assert queue.git("log", "-1", "--format=%an|%s") == "Ada|grade: softmax/s01 accept 91.0 (ada)"
    assert queue.git("status", "--porcelain") == ""


def test_saves_pile_up_in_the_outbox_and_leave_together(queue: Repo) -> None:
    lock = queue.path / ".git/index.lock"
    lock.touch()
    save(queue, "one\n")
    save(queue, "two\n", GRADE.replace("s01", "s02"))
    lock.unlink()
    last = save(queue, "three\n")
    assert last.where == "branch"
    assert queue.git("log", "--format=%s", "main").count("grade:") == 3
    assert queue.show(GRADE) == "three"
    assert queue.show(GRADE.replace("s01", "s02")) == "two"
    assert queue.git("for-each-ref", "refs/kgrade") == ""
    assert queue.git("status", "--porcelain") == ""


def test_a_save_that_comes_while_the_branch_follows_is_followed_too(
    queue: Repo, monkeypatch: pytest.MonkeyPatch
) -> None:
    branch = branch_of(queue)
    other = GRADE.replace("ada", "bob")

    def later(path: str) -> None:
        branch.commit([Change(path, b"verdict: accept\n", None)], "grade", ADA, follow=False)

    advance = branch.advance

    def advanced(old: str | None, new: str) -> list[str]:
        notes = advance(old, new)
        if queue.show(GRADE, branch.ref) and not queue.git("ls-tree", "--name-only", branch.outbox_ref, other):
            later(other)
        return notes

    later(GRADE)
    monkeypatch.setattr(branch, "advance", advanced)
    assert branch.settle(ADA).pending == ""
    assert branch.outbox() is None
    assert queue.show(GRADE, branch.ref) == queue.show(other, branch.ref) == "verdict: accept"


def test_a_lock_left_on_the_branch_sends_the_commit_to_the_outbox(queue: Repo) -> None:
    lock = queue.path / ".git/refs/heads/main.lock"
    lock.touch()
    entries = queue.git("ls-files", "--stage")
    saved = save(queue)
    assert saved.where == "outbox"
    assert "locked" in saved.notes[0]
    assert lock.exists()
    assert queue.git("ls-files", "--stage") == entries
    assert queue.git("status", "--porcelain") == ""
    lock.unlink()
    assert branch_of(queue).settle(ADA).pending == ""
    assert queue.show(GRADE) == "verdict: accept"


def test_an_edited_working_file_is_left_and_said(queue: Repo) -> None:
    save(queue)
    (queue.path / GRADE).write_text("my own note\n")
    saved = save(queue, "verdict: revise\n")
    assert saved.where == "branch"
    assert "was left as it is" in saved.notes[0]
    assert (queue.path / GRADE).read_text() == "my own note\n"
    assert queue.show(GRADE) == "verdict: revise"


def test_a_staged_edit_of_the_same_file_is_neither_lost_nor_committed_over(queue: Repo) -> None:
    save(queue)
    (queue.path / GRADE).write_text("staged by hand\n")
    queue.git("add", GRADE)
    saved = save(queue, "verdict: revise\n")
    assert saved.where == "outbox"
    assert "staged" in saved.notes[0]
    assert queue.git("show", f":{GRADE}") == "staged by hand"
    queue.git("commit", "-q", "-m", "by hand")
    assert "choose" in branch_of(queue).settle(ADA).pending
    assert queue.show(GRADE, saved.ref) == "verdict: revise"


def test_a_branch_under_rebase_is_not_moved(queue: Repo) -> None:
    queue.git("checkout", "-q", "-b", "side")
    queue.commit({"README": "side\n"})
    queue.git("checkout", "-q", "main")
    queue.commit({"README": "main\n"})
    queue.git("rebase", "side", check=False)
    saved = save(queue)
    assert saved.where == "outbox"
    assert "rebased" in saved.notes[0]
    queue.write({"README": "both\n"})
    queue.git("add", "README")
    queue.git("-c", "core.editor=true", "rebase", "--continue")
    assert branch_of(queue).settle(ADA).pending == ""
    assert queue.show(GRADE) == "verdict: accept"
    assert queue.show("README") == "both"


def test_every_working_tree_of_the_branch_follows(queue: Repo, tmp_path: Path) -> None:
    queue.git("checkout", "-q", "--detach")
    queue.git("worktree", "add", "-q", str(tmp_path / "other"), "main")
    other = Repo(tmp_path / "other")
    saved = save(queue)
    assert saved.where == "branch"
    assert (other.path / GRADE).read_text() == "verdict: accept\n"
    assert other.git("status", "--porcelain") == ""
    assert not (queue.path / GRADE).exists()


def test_a_bare_repository_takes_a_save(queue: Repo, make_repo: Callable[..., Repo]) -> None:
    hub = make_repo("hub", bare=True)
    queue.git("push", "-q", str(hub.path), "main")
    assert save(hub).where == "branch"
    assert hub.show(GRADE, "main") == "verdict: accept"


def test_a_missing_index_still_keeps_the_grade(queue: Repo) -> None:
    (queue.path / ".git/index").unlink()
    assert save(queue).where == "branch"
    queue.commit({"another": "x\n"})
    assert queue.show(GRADE) == "verdict: accept"


def test_no_file_is_written_through_a_symlink(queue: Repo, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (queue.path / GRADE).parent.symlink_to(outside)
    saved = save(queue)
    assert saved.where == "branch"
    assert "could not be written" in saved.notes[0]
    assert list(outside.iterdir()) == []
    assert queue.show(GRADE) == "verdict: accept"


def test_two_savers_at_once_both_land(queue: Repo) -> None:
    program = (
        "import sys; from tests.repository.test_saving import *\n"
        "for n in range(4): save(Repo(Path(sys.argv[1])), f'{n}', GRADE.replace('ada', f'{sys.argv[2]}-{n}'))"
    )
    savers = [
        subprocess.Popen([sys.executable, "-c", program, str(queue.path), name], stderr=subprocess.PIPE)
        for name in ("ada", "bob")
    ]
    for saver in savers:
        assert saver.communicate(timeout=120)[1] == b""
    branch_of(queue).settle(ADA)
    names = [n.rpartition("/")[2] for n in queue_files(queue, "main") if "/grades/" in n]
    assert names == [f"{who}-{n}.yaml" for who in ("ada", "bob") for n in range(4)]
    assert queue.git("status", "--porcelain") == ""


def test_a_change_made_from_another_version_is_refused(queue: Repo) -> None:
    save(queue)
    theirs = queue.git("rev-parse", f"main:{GRADE}")
    with pytest.raises(CollisionError, match="choose one") as caught:
        branch_of(queue).commit([Change(GRADE, b"mine\n", base=None)], MESSAGE, ADA)
    assert caught.value.theirs == theirs
    assert caught.value.mine is not None
    assert branch_of(queue).commit([Change(GRADE, b"mine\n", base=theirs)], MESSAGE, ADA).where == "branch"


@pytest.mark.parametrize("path", ["../out.yaml", "/etc/x", "queue/.git/config", "queue/.GIT/x", "a//b", "a/\nb"])
def test_no_path_leads_out_of_the_tree(queue: Repo, path: str) -> None:
    before = queue.git("rev-parse", "main")
    with pytest.raises(GitError, match="cannot be used"):
        save(queue, "x", path)
    assert queue.git("rev-parse", "main") == before


def test_a_file_is_not_written_below_a_file(queue: Repo) -> None:
    with pytest.raises(GitError, match=r"README is a file where a folder was expected"):
        save(queue, "x", "README/grade.yaml")


def test_hooks_of_the_repository_do_not_run(queue: Repo) -> None:
    hooks = queue.path / ".git/hooks"
    hooks.mkdir(exist_ok=True)
    for name in ("pre-commit", "post-commit", "reference-transaction", "post-index-change"):
        (hooks / name).write_text("#!/bin/sh\ntouch hook-ran\nexit 1\n")
        (hooks / name).chmod(0o755)
    assert save(queue).where == "branch"
    assert not (queue.path / "hook-ran").exists()
    assert not (queue.path / ".git/hook-ran").exists()


def test_a_signed_save_verifies(queue: Repo, tmp_path: Path) -> None:
    key = tmp_path / "key"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(key)], check=True)
    allowed = tmp_path / "allowed"
    allowed.write_text(f"ada@example.org {key.with_suffix('.pub').read_text()}")
    for name, value in {
        "gpg.format": "ssh",
        "user.signingKey": str(key),
        "gpg.ssh.allowedSignersFile": str(allowed),
    }.items():
        queue.git("config", name, value)
    branch = branch_of(queue)
    saved = branch.commit([Change(GRADE, b"x\n")], MESSAGE, ADA, sign=True)
    queue.git("verify-commit", saved.commit)
    assert queue.git("log", "-1", "--format=%G?") == "G"
    key.unlink()
    with pytest.raises(GitError, match="commit-tree"):
        branch.commit([Change(GRADE, b"y\n")], MESSAGE, ADA, sign=True)
    assert queue.git("rev-parse", "main") == saved.commit


class KilledError(BaseException):
    """Stands for the death of the process."""


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
def test_a_save_killed_at_any_command_leaves_a_repository_in_which_it_succeeds(
    queue: Repo, monkeypatch: pytest.MonkeyPatch, after: bool
) -> None:
    real = Git.run
    commands = len(branch_commands(queue))
    for fatal in range(commands):
        content = f"verdict: {fatal}\n"
        left = iter([False] * fatal + [True])

        def run(git: Git, arguments: Sequence[str], left: Iterator[bool] = left, **options: Any) -> Result:
            dying = next(left)
            if dying and not after:
                raise KilledError
            result = real(git, arguments, **options)
            if dying:
                raise KilledError
            return result

        branch = branch_of(queue)
        with monkeypatch.context() as patched:
            patched.setattr(Git, "run", run)
            with pytest.raises(KilledError):
                branch.commit([Change(GRADE, content.encode())], MESSAGE, ADA)
        queue.git("fsck", "--strict", "--no-dangling")
        queue.commit({"another": f"{fatal}{after}\n"})
        assert save(queue, content).where == "branch"
        assert queue.show(GRADE) == content.strip()
        assert (queue.path / GRADE).read_text() == content
        assert queue.git("status", "--porcelain") == ""


def branch_commands(repo: Repo) -> list[str]:
    """The git commands of one save, by name."""
    branch = branch_of(repo)
    before = len(branch.git.log)
    branch.commit([Change(GRADE, b"first\n")], MESSAGE, ADA)
    return [entry.arguments[0] for entry in branch.git.log[before:]]
