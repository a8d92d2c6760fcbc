"""No brackets: `run` is called, with arguments that are None, flags and pairs."""

import torch
import triton
import triton.language as tl


@triton.jit
def combine(x, bias, y, n, factors, FLIP: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + at, mask=at < n) * factors[0] + factors[1]
    if bias is not None:
        value += tl.load(bias + at, mask=at < n)
    if FLIP:
        value = -value
    tl.store(y + at, value, mask=at < n)


def entry(x):
    y = torch.empty_like(x)
    n = x.numel()
    combine.run(x, None, y, n, (2.0, 1.0), FLIP=True, BLOCK=128, grid=(triton.cdiv(n, 128),), warmup=False)
    return y
