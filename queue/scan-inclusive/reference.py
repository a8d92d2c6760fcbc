"""Inclusive prefix sum."""

import torch


def inclusive_sum(x: torch.Tensor) -> torch.Tensor:
    """Return y[N] in x's dtype: y[i] is the sum of x[0] to x[i]."""
    return torch.cumsum(x, dim=0)
