"""Running git and reading commits: what must hold whatever the repository brings."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path

import git as gitpython
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgrade.records.slugs import ItemId
from kgrade.repository.moves import moves_between
from kgrade.repository.objects import MissingObjectError, ObjectReader, TooLargeError, object_id
from kgrade.repository.runner import Git, GitCancelledError, GitError, GitTimeoutError, git_version, printable
from kgrade.repository.storing import MANY, NewObject, store
from kgrade.repository.tree import (
    Entry,
    PathMissingError,
    Snapshot,
    TreeError,
    TreeReader,
    format_tree,
    name_fault,
    parse_tree,
    split_path,
)
from tests.conftest import Repo
from tests.repository.conftest import QUEUE


def snapshot_of(repo: Repo, commit: str = "HEAD") -> Snapshot:
    return Snapshot(TreeReader(Git.open(repo.path)), repo.git("rev-parse", commit))


def commit_tree(repo: Repo, lines: list[str]) -> str:
    """A commit whose root tree has entries that git's porcelain would refuse to add."""
    tree = repo.git("mktree", "-z", "--missing", input="".join(f"{line}\0" for line in lines).encode())
    return repo.git("commit-tree", tree, "-m", "hostile")


def test_a_folder_without_a_repository_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(GitError, match="not inside a git repository"):
        Git.open(tmp_path)
    with pytest.raises(GitError, match="not a folder"):
        Git.open(tmp_path / "gone")


def test_a_missing_git_is_one_sentence(queue: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patched:
        patched.setenv("PATH", "")
        git_version.cache_clear()
        with pytest.raises(GitError, match="git is not on PATH"):
            Git.open(queue.path)


def test_the_repository_is_found_from_below_and_with_git_dir_set(queue: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patched:
        patched.setenv("GIT_DIR", "/nowhere")
        patched.setenv("GIT_INDEX_FILE", "/nowhere/index")
        git = Git.open(queue.path / "queue" / "softmax")
    assert git.work_tree == queue.path
    assert git.common_dir == queue.path / ".git"


def test_a_hanging_command_is_killed_with_all_it_started(queue: Repo, tmp_path: Path) -> None:
    git = Git.open(queue.path)
    mark = tmp_path / "pid"
    alias = f"alias.hang=!sleep 300 & echo $! > {mark}; wait"
    with pytest.raises(GitTimeoutError, match="gave no answer for 1 s"):
        git.run(["-c", alias, "hang"], timeout=1)
    child = int(mark.read_text())
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline and Path(f"/proc/{child}").exists():
        if "Z" in Path(f"/proc/{child}/stat").read_text().split(")")[1].split()[0]:
            break
        time.sleep(0.02)
    else:
        assert not Path(f"/proc/{child}").exists()
    assert git.log[-1].code is None


def test_a_command_can_be_cancelled(queue: Repo) -> None:
    cancel = threading.Event()
    threading.Timer(0.2, cancel.set).start()
    with pytest.raises(GitCancelledError):
        Git.open(queue.path).run(["-c", "alias.hang=!sleep 300", "hang"], cancel=cancel)


def test_errors_and_log_drive_no_terminal_and_tell_no_secret() -> None:
    shown = "␛[31mred␇ ⟨RLO⟩gnp.exe https://…@host/x"
    assert printable("\x1b[31mred\x07 \u202egnp.exe https://ada:pw@host/x\r\n") == shown
    assert printable("Counting:  10%\rCounting: 100%\r\n") == "Counting:  10%\nCounting: 100%"


def test_settings_of_the_repository_start_no_program(queue: Repo, tmp_path: Path) -> None:
    ran = tmp_path / "ran"
    for name in ("core.fsmonitor", "diff.external", "core.pager", "core.editor"):
        queue.git("config", name, f"touch {ran}; false")
    queue.git("config", "filter.evil.clean", f"touch {ran}; cat")
    queue.git("config", "diff.evil.textconv", f"touch {ran}; cat")
    commit = queue.commit({".gitattributes": "* filter=evil diff=evil\n"})
    ran.unlink(missing_ok=True)
    git = Git.open(queue.path)
    reader = TreeReader(git)
    assert moves_between(reader, None, commit)
    Snapshot(reader, commit).read("README")
    assert not ran.exists()


def test_files_folders_and_bytes_are_read(queue: Repo) -> None:
    snapshot = snapshot_of(queue)
    assert snapshot.read("queue/softmax/prompt.md") == b"Write a softmax.\n"
    assert snapshot.tasks() == ("softmax",)
    assert snapshot.submissions("softmax") == ("s01", "s02")
    assert [path for path, _ in snapshot.walk("")] == sorted(QUEUE)
    assert snapshot.entry("queue/gone") is None
    assert snapshot.list("queue/gone") == ()
    with pytest.raises(PathMissingError, match="queue/gone is missing"):
        snapshot.read("queue/gone")
    with pytest.raises(TreeError, match="queue is a folder where a file was expected"):
        snapshot.read("queue")
    with pytest.raises(TooLargeError, match="README has 8 bytes, above the limit of 7") as caught:
        snapshot.read("README", 7)
    assert caught.value.size == 8
    assert snapshot.read("README", 8) == b"a queue\n"


def test_another_implementation_of_git_agrees(queue: Repo) -> None:
    snapshot = snapshot_of(queue)
    tree = gitpython.Repo(queue.path).commit(snapshot.commit).tree
    theirs = {(str(blob.path), blob.hexsha) for blob in tree.traverse() if blob.type == "blob"}  # type: ignore[union-attr]
    assert {(path, entry.oid) for path, entry in snapshot.walk("")} == theirs


def test_the_task_tree_is_what_mktree_gives_and_grades_do_not_change_it(queue: Repo) -> None:
    lines = queue.git("ls-tree", "HEAD:queue/softmax").splitlines()
    judged = [line for line in lines if line.split("\t")[1] not in ("submissions", "evidence", "grades")]
    assert len(judged) == len(lines) - 2
    expected = queue.git("mktree", input="".join(f"{line}\n" for line in judged).encode())
    before = snapshot_of(queue)
    assert before.task_tree("softmax") == expected
    assert before.solution_tree(ItemId("softmax", "s01")) == queue.git(
        "rev-parse", "HEAD:queue/softmax/submissions/s01/solution"
    )
    queue.commit({"queue/softmax/grades/ada.yaml": "x\n", "queue/softmax/submissions/s01/grades/ada.yaml": "x\n"})
    assert snapshot_of(queue).task_tree("softmax") == expected
    queue.commit({"queue/softmax/prompt.md": "Write another.\n"})
    assert snapshot_of(queue).task_tree("softmax") != expected
    with pytest.raises(PathMissingError):
        before.task_tree("gone")


def test_symlinks_are_shown_and_never_followed(queue: Repo, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("secret")
    (queue.path / "queue/softmax/link").symlink_to(tmp_path / "secret")
    (queue.path / "queue/loop").symlink_to(".")
    queue.git("add", ".")
    queue.git("commit", "-q", "-m", "links")
    snapshot = snapshot_of(queue)
    entry = snapshot.entry("queue/softmax/link")
    assert entry is not None
    assert entry.kind == "symlink"
    assert snapshot.link_target("queue/softmax/link") == str(tmp_path / "secret")
    with pytest.raises(TreeError, match="is a symlink where a file was expected"):
        snapshot.read("queue/softmax/link")
    assert snapshot.entry("queue/loop/softmax") is None
    assert "loop" not in snapshot.tasks()


@pytest.mark.parametrize("name", ["..", ".git", ".GIT", "git~1", ".git ", ".g\u200cit", "a\x1b[2Jb", "a\\b"])
def test_hostile_names_are_shown_as_faults_and_cannot_be_reached(make_repo: Callable[..., Repo], name: str) -> None:
    repo = make_repo("hostile", sound=False)
    blob = repo.git("hash-object", "-w", "--stdin", input=b"x")
    commit = commit_tree(repo, [f"100644 blob {blob}\t{name}", f"100644 blob {blob}\tgood"])
    snapshot = snapshot_of(repo, commit)
    faulty = [(path, entry) for path, entry in snapshot.walk("") if entry.fault]
    assert [entry.name for _, entry in faulty] == [name]
    assert "\x1b" not in faulty[0][1].fault
    with pytest.raises(TreeError, match="cannot be used"):
        snapshot.read(name)
    assert snapshot.read("good") == b"x"


def test_names_that_are_not_utf8_are_faults(make_repo: Callable[..., Repo]) -> None:
    repo = make_repo("hostile", sound=False)
    blob = repo.git("hash-object", "-w", "--stdin", input=b"x")
    raw = f"100644 blob {blob}\t".encode() + b"\xff.py\0"
    tree = repo.git("mktree", "-z", input=raw)
    snapshot = snapshot_of(repo, repo.git("commit-tree", tree, "-m", "x"))
    assert "UTF-8" in snapshot.list("")[0].fault


def test_deep_nesting_ends(make_repo: Callable[..., Repo]) -> None:
    repo = make_repo("deep")
    tree = repo.git("mktree", input=b"")
    for _ in range(80):
        tree = repo.git("mktree", input=f"040000 tree {tree}\td\n".encode())
    snapshot = snapshot_of(repo, repo.git("commit-tree", tree, "-m", "deep"))
    assert ["nested deeper" in entry.fault for _, entry in snapshot.walk("")] == [True]
    with pytest.raises(TreeError, match="nested deeper"):
        split_path("/".join("d" * 80))


@given(st.text(max_size=12))
def test_no_sound_name_leads_anywhere(name: str) -> None:
    if not name_fault(name):
        assert Path("/queue", name).parent == Path("/queue")
        assert os.path.normpath(f"/queue/{name}") == f"/queue/{name}"
        assert name.lower() not in (".", "..", ".git")


NAMES = st.text(st.characters(blacklist_categories=["Cs"], blacklist_characters="\0/"), min_size=1, max_size=8)


@given(st.dictionaries(NAMES, st.sampled_from(["file", "folder", "symlink"]), max_size=8))
def test_trees_survive_being_written_and_read(kinds: dict[str, str]) -> None:
    modes = {"file": "100644", "folder": "40000", "symlink": "120000"}
    entries = [Entry(name, kind, modes[kind], "ab" * 20) for name, kind in kinds.items()]  # type: ignore[arg-type]
    content = format_tree(entries)
    again = parse_tree(content, 20)
    assert {(e.name, e.kind, e.oid) for e in again} == {(e.name, e.kind, e.oid) for e in entries}
    assert format_tree(again) == content


def test_object_ids_are_gits(queue: Repo) -> None:
    assert object_id("blob", b"x\n") == queue.git("hash-object", "--stdin", input=b"x\n")


def test_a_repository_of_the_other_object_format_works(tmp_path: Path) -> None:
    path = tmp_path / "sha256"
    path.mkdir()
    repo = Repo(path)
    repo.git("init", "-q", "-b", "main", "--object-format=sha256")
    repo.git("config", "user.name", "A")
    repo.git("config", "user.email", "a@example.org")
    repo.commit(QUEUE)
    snapshot = snapshot_of(repo)
    assert len(snapshot.task_tree("softmax")) == 64
    assert snapshot.read("README") == b"a queue\n"


def test_the_reader_survives_the_death_of_its_child(queue: Repo) -> None:
    with ObjectReader(Git.open(queue.path)) as reader:
        oid = queue.git("rev-parse", "HEAD:README")
        assert reader.object(oid) == ("blob", b"a queue\n")
        assert reader._child is not None
        os.kill(reader._child.pid, signal.SIGKILL)
        assert reader.object(oid) == ("blob", b"a queue\n")


def test_a_missing_and_a_damaged_object_are_named(queue: Repo) -> None:
    oid = queue.git("rev-parse", "HEAD:README")
    path = queue.path / ".git/objects" / oid[:2] / oid[2:]
    good = path.read_bytes()
    path.chmod(0o644)
    path.write_bytes(b"garbage")
    with ObjectReader(Git.open(queue.path)) as reader:
        with pytest.raises(GitError, match=oid):
            reader.object(oid)
        path.unlink()
        with pytest.raises(MissingObjectError, match=f"{oid} is missing"):
            reader.object(oid)
        assert reader.object(queue.git("rev-parse", "HEAD"))[0] == "commit"
    path.write_bytes(good)


def test_only_object_ids_reach_the_child(queue: Repo) -> None:
    with ObjectReader(Git.open(queue.path)) as reader, pytest.raises(ValueError, match="not an object id"):
        reader.object("HEAD\n" + "0" * 40)


def test_moves_between_commits_follow_the_difference(queue: Repo) -> None:
    old = queue.git("rev-parse", "HEAD")
    queue.git("rm", "-q", "queue/softmax/prompt.md")
    new = queue.commit({"README": "new\n", "queue/ä b": "x\n"})
    reader = TreeReader(Git.open(queue.path))
    moves = {move.path: (move.old, move.new) for move in moves_between(reader, old, new)}
    blob = queue.git("rev-parse", f"{old}:queue/softmax/prompt.md")
    assert moves["queue/softmax/prompt.md"] == (blob, None)
    assert moves["queue/ä b"] == (None, queue.git("rev-parse", "HEAD:queue/ä b"))
    assert set(moves) == {"README", "queue/softmax/prompt.md", "queue/ä b"}
    assert [move.path for move in moves_between(reader, old, new, "README")] == ["README"]
    assert {move.path for move in moves_between(reader, None, old)} == set(QUEUE)


def test_a_shallow_clone_can_be_read(queue: Repo, tmp_path: Path) -> None:
    queue.commit({"README": "two\n"})
    path = tmp_path / "shallow"
    subprocess.run(["git", "clone", "-q", "--depth=1", f"file://{queue.path}", str(path)], check=True)
    snapshot = snapshot_of(Repo(path))
    assert snapshot.read("README") == b"two\n"


def test_thousands_of_objects_stay_in_one_pack_and_are_read_like_others(queue: Repo) -> None:
    git = Git.open(queue.path)
    objects = [NewObject("blob", f"{number}\n".encode()) for number in range(MANY)]
    reader = ObjectReader(git)
    with reader:
        found = store(git, objects)
        assert [reader.object(oid) for oid in found[:: MANY // 5]] == [
            ("blob", each.content) for each in objects[:: MANY // 5]
        ]
    packs = list((queue.path / ".git" / "objects" / "pack").glob("*.pack"))
    assert len(packs) == 1
    assert found == [object_id("blob", each.content, git.object_format) for each in objects]


@pytest.mark.parametrize("object_format", ["sha1", "sha256"])
@pytest.mark.parametrize("shared", [False, True])
def test_what_need_not_be_durable_is_stored_as_git_would(tmp_path: Path, object_format: str, *, shared: bool) -> None:
    subprocess.run(["git", "init", "-q", f"--object-format={object_format}", tmp_path], check=True)
    if shared:
        subprocess.run(["git", "config", "core.sharedRepository", "group"], cwd=tmp_path, check=True)
    git = Git.open(tmp_path)
    new = [NewObject("blob", b"a" * 70_000), NewObject("tree", b""), NewObject("blob", b"")]
    for _ in range(2):
        stored = store(git, new, durable=False)
    for oid, each in zip(stored, new, strict=True):
        assert git.run(["cat-file", each.kind, oid]).stdout == each.content
    assert git.run(["fsck", "--strict"]).code == 0
    started = {entry.arguments[0] for entry in git.log}
    assert ("unpack-objects" in started) == shared
    assert not list((tmp_path / ".git" / "objects").glob("*/tmp_obj_*"))
