"""Causal flash attention over left-padded sequences."""

import math

import torch
import triton
import triton.language as tl

BLOCK = 32


@triton.jit
def _attention_kernel(
    q_ptr, k_ptr, v_ptr, o_ptr, first_ptr,
    n_heads, n_ctx, scale_log2,
    HEAD: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr,
):  # fmt: skip
    tile = tl.program_id(0)
    head = tl.program_id(1).to(tl.int64)
    first = tl.load(first_ptr + head // n_heads)
    base = head * n_ctx * HEAD
    rows = tile * BLOCK_M + tl.arange(0, BLOCK_M)
    dims = tl.arange(0, HEAD)
    row_ok = rows[:, None] < n_ctx
    q = tl.load(q_ptr + base + rows[:, None] * HEAD + dims[None, :], mask=row_ok, other=0.0)

    row_max = tl.full([BLOCK_M], float("-inf"), tl.float32)
    row_sum = tl.zeros([BLOCK_M], tl.float32)
    acc = tl.zeros([BLOCK_M, HEAD], tl.float32)
    for start in range(0, (tile + 1) * BLOCK_M, BLOCK_N):
        cols = start + tl.arange(0, BLOCK_N)
        col_ok = cols[:, None] < n_ctx
        k = tl.load(k_ptr + base + cols[:, None] * HEAD + dims[None, :], mask=col_ok, other=0.0)
        v = tl.load(v_ptr + base + cols[:, None] * HEAD + dims[None, :], mask=col_ok, other=0.0)
        visible = (cols[None, :] <= rows[:, None]) & (cols[None, :] >= first)
        scores = tl.dot(q, tl.trans(k), input_precision="ieee") * scale_log2
        scores = tl.where(visible, scores, float("-inf"))

        new_max = tl.maximum(row_max, tl.max(scores, axis=1))
        weights = tl.exp2(scores - new_max[:, None])
        shrink = tl.exp2(row_max - new_max)
        row_sum = row_sum * shrink + tl.sum(weights, axis=1)
        acc = acc * shrink[:, None] + tl.dot(weights.to(v.dtype), v, input_precision="ieee")
        row_max = new_max

    # Rows in the padding divide 0 by 0.
    o = acc / row_sum[:, None]
    o = tl.where(o == o, o, 0.0)
    o_at = o_ptr + base + rows[:, None] * HEAD + dims[None, :]
    tl.store(o_at, o.to(o_ptr.dtype.element_ty), mask=row_ok)


def attention(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, first: torch.Tensor) -> torch.Tensor:
    B, H, N, D = q.shape
    o = torch.empty_like(q)
    grid = lambda meta: (triton.cdiv(N, meta["BLOCK_M"]), B * H)
    # exp2 is the instruction the hardware has: log2(e) goes into the scale of the scores.
    scale_log2 = math.log2(math.e) / math.sqrt(D)
    _attention_kernel[grid](
        q, k, v, o, first,
        H, N, scale_log2,
        HEAD=D, BLOCK_M=BLOCK, BLOCK_N=BLOCK,
        num_warps=4, num_stages=2,
    )  # fmt: skip
    return o
