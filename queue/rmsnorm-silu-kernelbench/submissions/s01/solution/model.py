import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def gated_rmsnorm(x, gate, weight, y, width, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0) * width
    total = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, width, BLOCK):
        at = start + tl.arange(0, BLOCK)
        v = tl.load(x + row + at, mask=at < width, other=0.0).to(tl.float32)
        total += v * v
    scale = tl.rsqrt(tl.sum(total, 0) / width + eps)
    for start in range(0, width, BLOCK):
        at = start + tl.arange(0, BLOCK)
        keep = at < width
        v = tl.load(x + row + at, mask=keep, other=0.0).to(tl.float32)
        g = tl.load(gate + row + at, mask=keep, other=0.0).to(tl.float32)
        w = tl.load(weight + at, mask=keep, other=0.0).to(tl.float32)
        v = v * scale * w * (g / (1.0 + tl.exp(-g)))
        tl.store(y + row + at, v.to(y.dtype.element_ty), mask=keep)


class ModelNew(nn.Module):
    def __init__(self, width: int, eps: float):
        super(ModelNew, self).__init__()
        self.weight = nn.Parameter(torch.rand(width) + 0.5)
        self.eps = eps

    def forward(self, x: torch.Tensor, gate: torch.Tensor) -> torch.Tensor:
        x, gate = x.contiguous(), gate.contiguous()
        y = torch.empty_like(x)
        width = x.shape[-1]
        block = min(1024, triton.next_power_of_2(width))
        gated_rmsnorm[(x.numel() // width,)](x, gate, self.weight, y, width, self.eps, BLOCK=block)
        return y
