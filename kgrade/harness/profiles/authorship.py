"""Which kernels of a profile a submission defines itself: by their names, in its sources.

A profiler gives a kernel's demangled name, `void gemm<float, 128>(float*, int)`; sources say `__global__ void gemm(`,
in CUDA files and in text of Python files, or `def gemm(`. Nothing is parsed or run.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

import msgspec

from kgrade.records.profile import Authored, KernelProfile, Profile

_GLOBAL: Final = re.compile(rb"__global__")
_CALLED: Final = re.compile(rb"([A-Za-z_]\w*)\s*\(")
_PYTHON: Final = re.compile(rb"^[ \t]*def\s+([A-Za-z_]\w*)\s*\(", re.MULTILINE)
_HEAD_BYTES: Final = 1000
_NO_NAMES: Final = frozenset({b"__launch_bounds__", b"__attribute__", b"__cluster_dims__", b"alignas", b"__align__"})
_WORD: Final = re.compile(r"\w*")
_NAME: Final = re.compile(r"[A-Za-z_]\w*")
# What Triton has put behind a kernel's name: specialised arguments, as in `softmax_0d1d2de`.
_SPECIALISED: Final = re.compile(r"_\d[\da-z]*$")


def linked(profile: Profile, solution: Mapping[str, bytes], folder: str = "solution") -> Profile:
    """Return `profile` with each kernel that `solution` defines linked to the place; operators are not linked.

    `solution` holds files by path below `folder` of the item.
    """
    if profile.unit != "kernel":
        return profile
    found = definitions(solution, folder)
    kernels = [_linked(kernel, found) for kernel in profile.kernels]
    return msgspec.structs.replace(profile, kernels=kernels)


def definitions(solution: Mapping[str, bytes], folder: str) -> dict[str, Authored]:
    """Every function that may be a kernel, by its name; the first definition of a name counts."""
    found: dict[str, Authored] = {}
    for path, data in sorted(solution.items()):
        places = [(match.start(1), match[1]) for match in _PYTHON.finditer(data)] if path.endswith(".py") else []
        places += _cuda(data)
        for start, name in places:
            text = name.decode()
            line = data.count(b"\n", 0, start) + 1
            found.setdefault(text, Authored(name=text, path=f"{folder}/{path}", line=line))
    return found


def base_name(name: str) -> str:
    """The function's own name in a profiler's name: without its result, namespaces, templates and arguments."""
    depth, kept = 0, []
    for character in name.removesuffix(".kd").replace("(anonymous namespace)", "_"):
        if character in "<[{":
            depth += 1
        elif character in ">]}":
            depth = max(depth - 1, 0)
        elif character == "(" and not depth:
            break
        elif not depth:
            kept.append(character)
    return _last_name("".join(kept).rpartition("::")[2].rstrip())


def _last_name(text: str) -> str:
    """The name that `text` ends with, in time that grows with its length alone: names come from files of others."""
    word = _WORD.match(text[::-1])
    found = _NAME.search(word[0][::-1]) if word else None
    return found[0] if found else ""


def _cuda(data: bytes) -> list[tuple[int, bytes]]:
    places = []
    for match in _GLOBAL.finditer(data):
        called = _CALLED.finditer(data, match.end(), match.end() + _HEAD_BYTES)
        name = next((each for each in called if each[1] not in _NO_NAMES), None)
        if name is not None:
            places.append((name.start(1), name[1]))
    return places


def _linked(kernel: KernelProfile, found: Mapping[str, Authored]) -> KernelProfile:
    base = base_name(kernel.name)
    authored = found.get(base) or found.get(_SPECIALISED.sub("", base))
    return msgspec.structs.replace(kernel, authored=authored)
