"""Compiles first and asks for registers, to choose how many programs stay resident."""

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
    compiled = scale.warmup(x, y, n, 2.0, BLOCK=256, num_warps=4, grid=(1,))
    compiled._init_handles()
    per_block = compiled.n_regs * 32 * compiled.metadata.num_warps
    resident = min(65536 // per_block, 16) * torch.cuda.get_device_properties(0).multi_processor_count
    compiled[(min(resident, triton.cdiv(n, 256)), 1, 1)](x, y, n, 2.0, 256)
    return y
