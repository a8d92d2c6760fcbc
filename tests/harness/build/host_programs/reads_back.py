"""Reads back what a kernel has counted, and refuses to go on where it is not plausible."""

import torch
import triton
import triton.language as tl


@triton.jit
def scale(x, y, n, factor, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    tl.store(y + at, tl.load(x + at, mask=inside) * factor, mask=inside)


@triton.jit
def count_positive(x, count, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.atomic_add(count, tl.sum((tl.load(x + at, mask=at < n, other=0) > 0).to(tl.int32), 0))


def entry(x):
    count = torch.empty(1, dtype=torch.int32, device="cuda")
    count_positive[(triton.cdiv(x.numel(), 256),)](x, count, x.numel(), BLOCK=256)
    if int(count.item()) > x.numel():
        raise RuntimeError("more positive elements than elements")
    y = torch.empty_like(x)
    scale[(1,)](x, y, int(count.item()), 2.0, BLOCK=256)
    return y
