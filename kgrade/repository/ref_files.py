"""Refs as git's own files hold them: each turn of a sitting asks for a few, and starting git for each would be felt.

Only the format called `files` is read (gitrepository-layout(5), git-pack-refs(1)); where a repository keeps its refs
otherwise, git is asked.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType

_OID = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_NO_REF = re.compile(r"[\x00-\x20\x7f~^:?*\[\\]|\.\.|@\{|//|/\.|\.lock/|(?:/|\.|\.lock)$")
_LINKS = 5
"""Symbolic refs that are followed one after the other, as in git."""


def are_read_here(common_dir: Path) -> bool:
    """Whether the refs of the repository with this git folder are in files that can be read here."""
    return not (common_dir / "reftable").exists()


def may_be_ref(name: str) -> bool:
    """Whether `name`, which begins with `refs/`, follows the rules of git-check-ref-format(1)."""
    return name.isprintable() and name.startswith("refs/") and not _NO_REF.search(name)


def refs_in_files(common_dir: Path, prefix: str) -> dict[str, str]:
    """The ref that is `prefix` and those below it, with their object ids, in no order; damaged ones are left out."""
    prefix = prefix.rstrip("/")
    # Loose before packed: packing writes the packed file first, so a ref on its way is seen at least once.
    loose = dict(_loose(common_dir, prefix))
    packed = _packed(common_dir)
    below = f"{prefix}/"
    found = {name: oid for name, oid in packed.items() if name == prefix or name.startswith(below)}
    for name, value in loose.items():
        oid = _resolved(common_dir, value, _LINKS)
        if oid is not None:
            found[name] = oid
    return found


def ref_in_files(common_dir: Path, ref: str) -> str | None:
    """The object id of one ref, or None when there is no such ref."""
    value = _content(common_dir / ref)
    return _packed(common_dir).get(ref) if value is None else _resolved(common_dir, value, _LINKS)


def _loose(common_dir: Path, name: str) -> Iterator[tuple[str, str]]:
    """The refs at and below `name` that have files of their own, with what stands in them."""
    if _NO_REF.search(name):
        return
    try:
        below = sorted(os.listdir(common_dir / name))
    except FileNotFoundError:
        return
    except NotADirectoryError:
        value = _content(common_dir / name)
        if value is not None:
            yield name, value
        return
    for each in below:
        yield from _loose(common_dir, f"{name}/{each}")


def _content(file: Path) -> str | None:
    try:
        return file.read_text("utf-8", "replace").strip()
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
        return None


def _resolved(common_dir: Path, value: str, links: int) -> str | None:
    if _OID.fullmatch(value):
        return value
    target = value.removeprefix("ref:").strip()
    if not links or target == value or not target.startswith("refs/") or _NO_REF.search(target):
        return None
    further = _content(common_dir / target)
    return _packed(common_dir).get(target) if further is None else _resolved(common_dir, further, links - 1)


def _packed(common_dir: Path) -> MappingProxyType[str, str]:
    file = common_dir / "packed-refs"
    try:
        at = file.stat()
    except FileNotFoundError:
        return MappingProxyType({})
    # Git replaces the file by another and never writes into it, so these tell its versions apart.
    return _packed_version(file, at.st_ino, at.st_mtime_ns, at.st_size)


@lru_cache(maxsize=8)
def _packed_version(file: Path, inode: int, changed_ns: int, size: int) -> MappingProxyType[str, str]:
    refs: dict[str, str] = {}
    for line in file.read_text("utf-8", "surrogateescape").splitlines():
        oid, _, name = line.partition(" ")
        if _OID.fullmatch(oid) and name.startswith("refs/"):
            refs[name] = oid
    return MappingProxyType(refs)
