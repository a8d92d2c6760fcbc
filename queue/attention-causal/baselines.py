"""The library's attention with the same mask."""

import torch


def masked_sdpa(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, first: torch.Tensor) -> torch.Tensor:
    """scaled_dot_product_attention with a boolean mask; queries that see nothing are set to 0."""
    positions = torch.arange(q.shape[2], device=q.device)
    started = positions[None, :] >= first[:, None]
    visible = (positions[None, :] <= positions[:, None])[None] & started[:, None, :]
    o = torch.nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=visible[:, None])
    return o.masked_fill(~started[:, None, :, None], 0.0)
