"""A grid given as a tuple."""

import torch
import triton
import triton.language as tl


@triton.jit
def scale(x, y, n, factor, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    tl.store(y + at, tl.load(x + at, mask=inside) * factor, mask=inside)


def entry(x):
    y = torch.empty_like(x)
    scale[(triton.cdiv(x.numel(), 256),)](x, y, x.numel(), 2.0, BLOCK=256)
    return y
