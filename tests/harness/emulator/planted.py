"""Kernels with a fault or its repair in one place, and what the checks say of each.

A `//!` at the end of a line marks where the fault is reported; `@` in the source stands for the faulty or the right
text.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

HEAD = "#include <cuda_runtime.h>\n#include <cuda_pipeline.h>\n#include <cstdint>\n"


@dataclass(frozen=True)
class Planted:
    """A kernel `k(const float* x, float* y, int n)`, its launch, the fault and its repair, and what must be said."""

    name: str
    kind: str
    body: str
    wrong: str
    right: str
    launch: str = "k<<<2, 64>>>(x, y, n);"
    n: int = 128
    before: str = ""
    access: str = ""  # what the finding says of it

    def source(self, text: str, entry: str) -> str:
        """The kernel and its launcher `entry`, in a namespace of their own; `text` is the fault or its repair."""
        body = f"{self.before}\n__global__ void k(const float* x, float* y, int n) {{\n{self.body}\n}}"
        launcher = f'extern "C" int {entry}(const float* x, float* y, int64_t n, cudaStream_t) {{\n{self.launch}\n'
        return f"namespace in_{entry} {{\n{body}\n{launcher}return cudaGetLastError(); }}\n}}\n".replace("@", text)


FILL = "const int i = blockIdx.x * blockDim.x + threadIdx.x, t = threadIdx.x; if (i < n) y[i] = x[i];\n"
INDEX = "const int i = blockIdx.x * blockDim.x + threadIdx.x, t = threadIdx.x;\n"


def findings(
    load: Any, every: Sequence[Planted], planted: Planted, wrong: bool, head: str = ""
) -> tuple[list[Any], list[int]]:
    """Run one of `every`, which are compiled as one source after `head`; return what is found, and the lines marked."""
    source, marked = _together(every, head)
    loaded = load(source, True)
    x, y = np.arange(planted.n, dtype=np.float32), np.zeros(planted.n, np.float32)
    entry = _entry(every, planted, wrong)
    loaded.call(entry, x, y, planted.n, None, outputs=(1,))
    return list(loaded.findings), marked[entry]


def named(planted: Planted, found: Sequence[Any], marked: Sequence[int]) -> bool:
    """Say whether one finding has the fault's kind, kernel, line and access, and block and thread where one did it."""
    return any(
        finding.kind == planted.kind
        and finding.kernel == "k"
        and (not marked or finding.line in marked)
        and planted.access in finding.what
        and (not planted.access or (finding.block is not None and finding.thread is not None))
        for finding in found
    )


def _entry(every: Sequence[Planted], planted: Planted, wrong: bool) -> str:
    return f"{'wrong' if wrong else 'right'}_{every.index(planted)}"


def _together(every: Sequence[Planted], head: str) -> tuple[str, dict[str, list[int]]]:
    """One source with every kernel, and the marked lines of each by its entry."""
    source, marked = HEAD + head, {}
    for planted in every:
        for wrong in (True, False):
            entry = _entry(every, planted, wrong)
            first = source.count("\n") + 1
            text = planted.source(planted.wrong if wrong else planted.right, entry)
            marked[entry] = [n for n, line in enumerate(text.split("\n"), first) if "//!" in line]
            source += text
    return source, marked
