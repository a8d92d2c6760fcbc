"""The library at its best for this layer, short of a fused epilogue."""

import torch


def addmm_gelu(x: torch.Tensor, w: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """cuBLAS with the bias in its epilogue, then GELU as one elementwise kernel."""
    return torch.nn.functional.gelu(torch.addmm(bias, x, w), approximate="none")
