"""Storing objects, any number in one go.

Few are written here as loose objects (gitrepository-layout(5)), without any process of git's. Many, and those of a
repository that several users write to, whose rights git sets, go through a pack (gitformat-pack(5)) made here:
`unpack-objects` writes loose objects as well and leaves those that are there already. Neither looks closer at what is
in a tree: neighbours that git finds fault with must not keep a grade from being saved. Thousands, which an import
brings, stay in the pack: one file to flush.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple

from kgrade.records.neutral import neutral
from kgrade.repository.objects import object_id
from kgrade.repository.runner import Git, GitError

AS_OBJECTS: Final = ("unpack-objects", "-q")
AS_A_PACK: Final = ("index-pack", "--stdin")
MANY = 1000
_TYPES: Final = {"commit": 1, "tree": 2, "blob": 3}


class NewObject(NamedTuple):
    """An object to store; `kind` is `commit`, `tree` or `blob`."""

    kind: str
    content: bytes


def store(git: Git, objects: Sequence[NewObject], *, durable: bool = True) -> list[str]:
    """Store `objects` and return their ids; raise GitError with some of them perhaps stored.

    They are on the disk when it returns, unless they need not be `durable`: then that is the system's to decide.
    """
    if objects and len(objects) < MANY and "core.sharedrepository" not in git.settings:
        return [_loose(git, each, durable=durable) for each in objects]
    if objects:
        body = b"PACK" + (2).to_bytes(4, "big") + len(objects).to_bytes(4, "big") + b"".join(map(_packed, objects))
        end = hashlib.new(git.object_format, body, usedforsecurity=False).digest()
        git.run(AS_OBJECTS if len(objects) < MANY else AS_A_PACK, input=body + end, durable=durable)
    return [object_id(kind, content, git.object_format) for kind, content in objects]


def _loose(git: Git, new: NewObject, *, durable: bool) -> str:
    """Store one object as a file that no reader sees half written; return its id."""
    oid = object_id(new.kind, new.content, git.object_format)
    path = git.common_dir / "objects" / oid[:2] / oid[2:]
    if path.exists():
        return oid
    temporary: Path | None = None
    try:
        path.parent.mkdir(exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=path.parent, prefix="tmp_obj_", delete=False) as file:
            temporary = Path(file.name)
            file.write(zlib.compress(f"{new.kind} {len(new.content)}\0".encode() + new.content, 1))
            if durable:
                file.flush()
                os.fsync(file.fileno())
        temporary.chmod(0o444)
        os.replace(temporary, path)
    except OSError as why:
        if temporary is not None:
            temporary.unlink(missing_ok=True)
        raise GitError(f"an object could not be stored in {neutral(str(path.parent))}: {why.strerror}") from None
    return oid


def _packed(new: NewObject) -> bytes:
    """An entry of a pack: type and size in a variable number of bytes, then the content compressed."""
    size = len(new.content)
    head = bytearray([_TYPES[new.kind] << 4 | size & 0x0F])
    size >>= 4
    while size:
        head[-1] |= 0x80
        head.append(size & 0x7F)
        size >>= 7
    return bytes(head) + zlib.compress(new.content, 1)
