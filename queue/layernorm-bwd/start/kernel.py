"""LayerNorm gradients, one torch operator a line."""

import torch

EPSILON = 1e-5


def layernorm_backward(
    x: torch.Tensor, w: torch.Tensor, dy: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    wide = x.float()
    upstream = dy.float()
    mean = wide.mean(dim=1, keepdim=True)
    centred = wide - mean
    var = (centred * centred).mean(dim=1, keepdim=True)
    rstd = torch.rsqrt(var + EPSILON)
    xhat = centred * rstd

    db = upstream.sum(dim=0)
    dw = (upstream * xhat).sum(dim=0)

    g = upstream * w.float()
    mean_g = g.mean(dim=1, keepdim=True)
    mean_gx = (g * xhat).mean(dim=1, keepdim=True)
    dx = rstd * (g - mean_g - xhat * mean_gx)
    return dx.to(x.dtype), dw.to(x.dtype), db.to(x.dtype)
