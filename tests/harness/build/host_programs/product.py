"""A matrix product in half precision: what the matrix units do is in its listing."""

import torch
import triton
import triton.language as tl


@triton.jit
def product(a, b, c, M, N, K, TILE_M: tl.constexpr, TILE_N: tl.constexpr, TILE_K: tl.constexpr):
    rows = tl.program_id(0) * TILE_M + tl.arange(0, TILE_M)
    cols = tl.program_id(1) * TILE_N + tl.arange(0, TILE_N)
    depth = tl.arange(0, TILE_K)
    total = tl.zeros((TILE_M, TILE_N), dtype=tl.float32)
    for start in range(0, K, TILE_K):
        at = start + depth
        left = tl.load(a + rows[:, None] * K + at[None, :], mask=(rows[:, None] < M) & (at[None, :] < K), other=0.0)
        right = tl.load(b + at[:, None] * N + cols[None, :], mask=(at[:, None] < K) & (cols[None, :] < N), other=0.0)
        total = tl.dot(left, right, total)
    tl.store(c + rows[:, None] * N + cols[None, :], total, mask=(rows[:, None] < M) & (cols[None, :] < N))


def entry(x):
    x = x.to(torch.bfloat16)
    y = torch.empty((x.shape[0], x.shape[0]), dtype=torch.float32, device=x.device)
    tiles = {"TILE_M": 64, "TILE_N": 64, "TILE_K": 32}
    grid = (triton.cdiv(x.shape[0], 64), triton.cdiv(x.shape[0], 64))
    product[grid](x, x.t().contiguous(), y, x.shape[0], x.shape[0], x.shape[1], **tiles, num_warps=4, num_stages=3)
    return y
