"""Counts of each byte value, exact."""

import torch


def histogram(data: torch.Tensor) -> torch.Tensor:
    """Return counts[256] (int32): how often each value occurs in data[N] (uint8)."""
    return torch.bincount(data.reshape(-1).to(torch.int64), minlength=256).to(torch.int32)
