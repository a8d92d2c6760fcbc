"""The eight largest entries of each row, in descending order."""

import torch


def topk8(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    values, indices = torch.topk(x, 8, dim=1, largest=True, sorted=True)
    return values, indices.to(torch.int32)
