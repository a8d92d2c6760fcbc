"""Matrix transpose."""

import torch


def transposed(x: torch.Tensor) -> torch.Tensor:
    """Return y[N, M], contiguous: y[j, i] = x[i, j]."""
    return x.transpose(0, 1).contiguous()
