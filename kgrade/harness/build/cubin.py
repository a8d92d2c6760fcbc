"""What a cubin says about its kernels: launch bounds, constant memory and size of code, read from the ELF file itself.

A cubin is 64-bit little-endian ELF. Section `.nv.info.<kernel>` is a list of attributes, each a format byte, an
attribute byte and two bytes that are a value or, in the sized format, the length of what follows. The numbers of
the attributes are those that NVIDIA's `cuobjdump -elf` prints as EIATTR_MAX_THREADS and EIATTR_REQNTID.
"""

from __future__ import annotations

import os
import stat
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_LARGEST = 256 << 20
_HEADER = struct.Struct("<16s2HI3QI6H")
_SECTION = struct.Struct("<2I4Q2I2Q")
_SIZED = 4
_MAX_THREADS = 0x05
_REQUIRED_THREADS = 0x10
_INFO = ".nv.info."
_CODE = ".text."
_PARAMETERS = ".nv.constant0."
_CONSTANTS = ".nv.constant3"


@dataclass(frozen=True)
class KernelImage:
    """One kernel of a cubin: `bound` is the most threads of a block that it was compiled for, None when not stated."""

    bound: int | None
    constant_bytes: int
    code_bytes: int


@dataclass(frozen=True)
class Image:
    """A cubin: its kernels by mangled name, and the bytes of `__constant__` data they share."""

    kernels: dict[str, KernelImage]
    constant_bytes: int


class NotCubinError(ValueError):
    """The bytes are no cubin that can be read."""


def load_cubin(path: Path) -> Image:
    """Read the cubin at `path`, which hostile code may have put there: only a regular file of sane size is opened.

    Raises NotCubinError, also when there is no such file.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        with open(descriptor, "rb") as file:
            facts = os.fstat(descriptor)
            if not stat.S_ISREG(facts.st_mode) or facts.st_size > _LARGEST:
                raise NotCubinError("no readable cubin: not a regular file of at most 256 MiB")
            return read_cubin(file.read(_LARGEST))
    except OSError as why:
        raise NotCubinError(f"no readable cubin: {why.strerror}") from None


def read_cubin(data: bytes) -> Image:
    """Return what `data` says about its kernels; raise NotCubinError when it is no well-formed 64-bit ELF file."""
    try:
        sections = dict(_sections(data))
    except NotCubinError:
        raise
    except (struct.error, IndexError, ValueError, OverflowError) as why:
        raise NotCubinError(f"no readable cubin: {why}") from None
    names = [name.removeprefix(_PARAMETERS) for name in sections if name.startswith(_PARAMETERS)]
    kernels = {
        name: KernelImage(
            _bound(sections.get(_INFO + name, b"")),
            len(sections[_PARAMETERS + name]),
            len(sections.get(_CODE + name, b"")),
        )
        for name in names
    }
    return Image(kernels, len(sections.get(_CONSTANTS, b"")))


def _sections(data: bytes) -> Iterator[tuple[str, bytes]]:
    header = _HEADER.unpack_from(data)
    if not header[0].startswith(b"\x7fELF\x02\x01"):
        raise NotCubinError("no readable cubin: the file does not start as 64-bit little-endian ELF")
    table, entry_size, count, names_at = header[6], header[11], header[12], header[13]
    entries = [_SECTION.unpack_from(data, table + index * entry_size) for index in range(count)]
    names = _content(data, entries[names_at])
    for entry in entries:
        end = names.index(b"\0", entry[0]) if b"\0" in names[entry[0] :] else len(names)
        yield names[entry[0] : end].decode(), _content(data, entry)


def _content(data: bytes, entry: tuple[int, ...]) -> bytes:
    return data[entry[4] : entry[4] + entry[5]]


def _bound(info: bytes) -> int | None:
    place = 0
    while place + 4 <= len(info):
        form, attribute, value = struct.unpack_from("<BBH", info, place)
        place += 4
        if form != _SIZED:
            continue
        if attribute in (_MAX_THREADS, _REQUIRED_THREADS) and value >= 12 and place + 12 <= len(info):
            x, y, z = struct.unpack_from("<3I", info, place)
            return int(x * y * z)
        place += value
    return None
