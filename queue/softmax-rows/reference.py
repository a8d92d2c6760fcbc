"""Softmax over the last dimension, in the dtype of its input."""

import torch


def softmax(x: torch.Tensor) -> torch.Tensor:
    return torch.softmax(x, dim=-1)
