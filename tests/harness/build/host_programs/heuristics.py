"""Constants that heuristics derive from the arguments."""

import torch
import triton
import triton.language as tl


@triton.heuristics(
    {
        "BLOCK": lambda given: triton.next_power_of_2(given["n"]),
        "num_warps": lambda given: 8 if given["n"] > 512 else 4,
    }
)
@triton.jit
def row_sum(x, y, stride, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    tl.store(y + row, tl.sum(tl.load(x + row * stride + at, mask=at < n, other=0.0), 0))


def entry(x):
    y = torch.empty(x.shape[0], device=x.device)
    row_sum[(x.shape[0],)](x, y, x.stride(0), x.shape[1])
    return y
