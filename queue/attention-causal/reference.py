"""Causal attention over left-padded sequences, in the dtype of q, k and v."""

import math

import torch


def attention(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, first: torch.Tensor) -> torch.Tensor:
    positions = torch.arange(q.shape[2], device=q.device)
    causal = positions[None, :] <= positions[:, None]
    started = positions[None, :] >= first[:, None]
    visible = (causal[None, :, :] & started[:, None, :])[:, None]
    scores = q @ k.transpose(2, 3) / math.sqrt(q.shape[3])
    weights = torch.softmax(scores.masked_fill(~visible, float("-inf")), dim=-1)
    # A query that sees nothing has only -inf scores: its softmax is NaN, its result is 0 by contract.
    return weights.masked_fill(~visible, 0.0) @ v
