"""The other way to write it with the library."""

import torch


def sorted_prefix(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """A full sort of each row, then its first eight columns."""
    values, indices = torch.sort(x, dim=1, descending=True)
    return values[:, :8].contiguous(), indices[:, :8].to(torch.int32)
