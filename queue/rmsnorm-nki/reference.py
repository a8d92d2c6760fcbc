"""RMSNorm, at least in float32 inside."""

import torch

EPSILON = 1e-6


def rmsnorm(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    """Return y[M, N] in x's dtype: each row of x[M, N] over its root mean square, times weight[N]."""
    inside = torch.promote_types(x.dtype, torch.float32)
    wide = x.to(inside)
    mean_square = wide.square().mean(dim=-1, keepdim=True)
    return (wide * torch.rsqrt(mean_square + EPSILON) * weight.to(inside)).to(x.dtype)
