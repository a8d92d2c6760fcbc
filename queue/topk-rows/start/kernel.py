"""Expert selection of a router, in PyTorch."""

import torch


def topk8(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    values, indices = x.topk(8, dim=1)
    return values, indices.int()
