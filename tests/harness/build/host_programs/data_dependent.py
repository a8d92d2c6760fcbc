"""How much is launched depends on the values of the input."""

import torch
import triton
import triton.language as tl


@triton.jit
def scale(x, y, n, factor, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    tl.store(y + at, tl.load(x + at, mask=inside) * factor, mask=inside)


def entry(x):
    kept = x[x > 0]
    programs = max(1, int((x > 0).sum().item()) // 256)
    y = torch.empty_like(kept)
    scale[(programs,)](kept, y, kept.numel(), 2.0, BLOCK=256)
    return y
