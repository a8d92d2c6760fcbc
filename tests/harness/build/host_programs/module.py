"""A module with weights, moved to the device."""

import torch
import triton
import triton.language as tl


@triton.jit
def affine(x, w, b, y, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    inside = at < n
    value = tl.load(x + row * n + at, mask=inside) * tl.load(w + at, mask=inside) + tl.load(b + at, mask=inside)
    tl.store(y + row * n + at, value, mask=inside)


class Affine(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(width))
        self.register_buffer("bias", torch.zeros(width))

    def forward(self, x):
        y = torch.empty_like(x)
        width = x.shape[-1]
        affine[(x.shape[0],)](x, self.weight, self.bias, y, width, BLOCK=triton.next_power_of_2(width))
        return y


def entry(x):
    return Affine(x.shape[-1]).to("cuda").eval()(x)
