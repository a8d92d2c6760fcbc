"""The person's checkouts of a branch: index entries and files that must follow when the branch moves."""

from __future__ import annotations

import contextlib
import os
import secrets
import stat
from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec

from kgrade.records.neutral import neutral
from kgrade.repository.moves import FileMove
from kgrade.repository.objects import object_id
from kgrade.repository.refs import head_ref
from kgrade.repository.runner import Git, reason
from kgrade.repository.tree import TreeReader, split_path

NO_MODE = "0"
FILE_MODE = "100644"
_FOLDER_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class InTheWayError(Exception):
    """Why a checkout cannot follow now; the sentence names what the person may do about it."""


class IndexEntry(msgspec.Struct, frozen=True):
    """One index entry; `oid` is None where the index has none."""

    path: str
    mode: str
    oid: str | None


class IndexPlan(msgspec.Struct, frozen=True):
    """Index entries to write, and what takes them back."""

    entries: tuple[IndexEntry, ...]
    undo: tuple[IndexEntry, ...]


def checkouts_of(git: Git, branch: str) -> list[Git]:
    """The working trees in which `branch` (a full ref name) is checked out."""
    if git.work_tree is not None and git.git_dir == git.common_dir and not (git.common_dir / "worktrees").exists():
        # There is no other working tree, which is the usual case and known without asking git.
        return [git] if head_ref(git) == branch else []
    folders = []
    for block in git.run(["worktree", "list", "--porcelain"]).text.split("\n\n"):
        lines = block.splitlines()
        if f"branch {branch}" in lines and "prunable" not in block and "bare" not in lines:
            folders.append(Path(lines[0].removeprefix("worktree ")))
    return [git if folder == git.work_tree else git.in_folder(folder) for folder in folders]


def rebased_in(git: Git, branch: str) -> Path | None:
    """The git folder in which a rebase of `branch` is under way, if there is one.

    Such a branch is not checked out, yet its rebase fails at the end when it has moved meanwhile.
    """
    linked = git.common_dir / "worktrees"
    folders = [git.common_dir, *(linked.iterdir() if linked.is_dir() else ())]
    for folder in folders:
        for state in ("rebase-merge", "rebase-apply"):
            with contextlib.suppress(FileNotFoundError, NotADirectoryError):
                if (folder / state / "head-name").read_text("utf-8", "replace").strip() == branch:
                    return Path(folder)
    return None


def plan_index(git: Git, moves: Sequence[FileMove]) -> IndexPlan:
    """What `moves` mean for the index of a checkout; nothing is written yet.

    Raises InTheWayError when the lock is held or when the person has staged something else at one of the paths.
    """
    if (git.git_dir / "index.lock").exists():
        raise InTheWayError(_held(git))
    before = _entries(git, [m.path for m in moves])
    fresh_index = not (git.git_dir / "index").exists()
    lines, undo = [], []
    for move in moves:
        found = before.get(move.path, [])
        current = found[0].oid if found else None
        if len(found) > 1 or (found and found[0].mode == "unmerged"):
            raise InTheWayError(f"{move.path} is unmerged in {_shown(git)}; resolve it there")
        if current == move.new and current is not None:
            continue
        if current != move.old and not fresh_index:
            raise InTheWayError(f"{move.path} has staged changes in {_shown(git)}; commit or unstage them there")
        mode = found[0].mode if found else FILE_MODE
        lines.append(IndexEntry(move.path, mode, move.new))
        undo.append(IndexEntry(move.path, mode, current))
    return IndexPlan(tuple(lines), tuple(undo))


def write_index(git: Git, entries: Sequence[IndexEntry]) -> None:
    """Write entries under git's own index lock: all of them, or none and InTheWayError."""
    if not entries:
        return
    records = [f"{e.mode if e.oid else NO_MODE} {e.oid or git.null_oid}\t{e.path}\0" for e in entries]
    text = "".join(records).encode("utf-8", "surrogateescape")
    result = git.run(["update-index", "-z", "--index-info"], input=text, check=False)
    if not result.code:
        return
    if "index.lock" in result.words and "File exists" in result.words:
        raise InTheWayError(_held(git))
    raise InTheWayError(f"the index of {_shown(git)} could not be written: {reason(result)}")


def place_files(git: Git, reader: TreeReader, moves: Iterable[FileMove]) -> list[str]:
    """Bring the working files of `moves` along where they are absent or unchanged.

    A file the person has edited is left; every file that did not follow is named in the answer.
    """
    notes = []
    for move in moves:
        try:
            note = _place(git, reader, move)
        except OSError as error:
            note = f"{move.path} could not be written in {_shown(git)} ({error.strerror}); the commit has it"
        if note:
            notes.append(note)
    return notes


def is_clean(git: Git) -> bool:
    """Whether nothing tracked is staged, changed or unmerged here, and no operation is half done."""
    unfinished = (
        "MERGE_HEAD",
        "CHERRY_PICK_HEAD",
        "REVERT_HEAD",
        "BISECT_LOG",
        "rebase-merge",
        "rebase-apply",
    )
    if any((git.git_dir / name).exists() for name in unfinished):
        return False
    status = git.run(["status", "--porcelain", "-z", "--untracked-files=no", "--ignore-submodules=dirty"])
    return not status.stdout


def _entries(git: Git, paths: Sequence[str]) -> dict[str, list[IndexEntry]]:
    found: dict[str, list[IndexEntry]] = {path: [] for path in paths}
    listed = git.run(["ls-files", "--stage", "-z", "--full-name", "--", *paths]).stdout
    for record in listed.split(b"\0"):
        head, tab, name = record.decode("utf-8", "surrogateescape").partition("\t")
        if tab and name in found:
            mode, oid, stage = head.split(" ")
            found[name].append(IndexEntry(name, mode if stage == "0" else "unmerged", oid))
    return found


def _held(git: Git) -> str:
    lock = neutral(str(git.git_dir / "index.lock"))
    return f"another git command holds {lock}; the branch follows when it is gone"


def _place(git: Git, reader: TreeReader, move: FileMove) -> str:
    assert git.work_tree is not None
    *folders, name = split_path(move.path)
    try:
        folder = _open_folders(git.work_tree, folders, create=move.new is not None)
    except FileNotFoundError:
        return ""
    try:
        present = _blob_in(folder, name, git.object_format)
        if present == move.new:
            return ""
        if present not in (None, move.old):
            return f"{move.path} has edits in {_shown(git)} and was left as it is; the commit has the grade"
        if move.new is None:
            os.unlink(name, dir_fd=folder)
        else:
            _write(folder, name, reader.objects.object(move.new)[1])
    finally:
        os.close(folder)
    if move.new is None:
        _remove_empty(git.work_tree, folders)
    return ""


def _open_folders(root: Path, parts: Sequence[str], *, create: bool) -> int:
    """A descriptor of the folder `parts` below `root`, following no symlink; the caller closes it."""
    current = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    for part in parts:
        try:
            try:
                step = os.open(part, _FOLDER_FLAGS, dir_fd=current)
            except FileNotFoundError:
                if not create:
                    raise
                os.mkdir(part, dir_fd=current)
                step = os.open(part, _FOLDER_FLAGS, dir_fd=current)
        finally:
            os.close(current)
        current = step
    return current


def _blob_in(folder: int, name: str, object_format: str) -> str | None:
    """The blob id of a working file, None when there is none, and no id at all for what is not a file."""
    try:
        handle = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)
    except FileNotFoundError:
        return None
    with os.fdopen(handle, "rb") as file:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            return "not a file"
        return object_id("blob", file.read(), object_format)


def _write(folder: int, name: str, content: bytes) -> None:
    temporary = f".{name[:200]}.{secrets.token_hex(4)}"
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    handle = os.open(temporary, flags, 0o666, dir_fd=folder)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        os.replace(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)
    except OSError:
        os.unlink(temporary, dir_fd=folder)
        raise


def _remove_empty(root: Path, folders: Sequence[str]) -> None:
    """Remove the folders that a deleted file left empty, as git does."""
    for depth in range(len(folders), 0, -1):
        try:
            parent = _open_folders(root, folders[: depth - 1], create=False)
        except OSError:
            return
        try:
            os.rmdir(folders[depth - 1], dir_fd=parent)
        except OSError:
            return
        finally:
            os.close(parent)


def _shown(git: Git) -> str:
    return neutral(str(git.folder))
