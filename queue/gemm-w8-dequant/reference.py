"""Weight-only int8 product, in the dtype of the activations."""

import torch


def gemm_w8(x: torch.Tensor, wq: torch.Tensor, scale: torch.Tensor) -> torch.Tensor:
    return ((x @ wq.to(x.dtype)) * scale).to(x.dtype)
