"""A grid computed from the constants."""

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
    n = x.numel()
    scale[lambda meta: (triton.cdiv(n, meta["BLOCK"]),)](x, y, n, 2.0, BLOCK=512, num_warps=8)
    return y
