"""y = gelu(x @ w + bias) in one launch: tensor-core tiles, float32 sums, epilogue in registers."""

import torch
import triton
import triton.language as tl

# Tile rows walked together before the next tile column: their x tiles stay in L2 while w streams by.
GROUP_M = 8


@triton.jit
def _gelu(z):
    """Exact GELU: z/2 * (1 + erf(z / sqrt 2))."""
    return 0.5 * z * (1.0 + tl.erf(z * 0.7071067811865476))


@triton.jit
def _tile_of(pid, M, N, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, GROUP: tl.constexpr):
    """The tile a program owns when tiles are walked in groups of GROUP tile rows."""
    tiles_m = tl.cdiv(M, BLOCK_M)
    tiles_n = tl.cdiv(N, BLOCK_N)
    per_group = GROUP * tiles_n
    first_m = (pid // per_group) * GROUP
    group_m = min(tiles_m - first_m, GROUP)
    return first_m + (pid % per_group) % group_m, (pid % per_group) // group_m


@triton.jit
def _linear_gelu(
    x_ptr, w_ptr, bias_ptr, y_ptr,
    M, N, K,
    stride_xm, stride_xk, stride_wk, stride_wn, stride_ym,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, GROUP: tl.constexpr,
):  # fmt: skip
    tile_m, tile_n = _tile_of(tl.program_id(0), M, N, BLOCK_M, BLOCK_N, GROUP)
    rows = tile_m * BLOCK_M + tl.arange(0, BLOCK_M)
    cols = tile_n * BLOCK_N + tl.arange(0, BLOCK_N)
    ks = tl.arange(0, BLOCK_K)
    row_ok = rows[:, None] < M
    col_ok = cols[None, :] < N
    # 64-bit offsets: M * N passes 2^31 at M = 131072 and N = 16384.
    x_tile = x_ptr + rows[:, None].to(tl.int64) * stride_xm + ks[None, :] * stride_xk
    w_tile = w_ptr + ks[:, None].to(tl.int64) * stride_wk + cols[None, :] * stride_wn

    acc = tl.zeros([BLOCK_M, BLOCK_N], tl.float32)
    for start in range(0, K, BLOCK_K):
        left = K - start
        x = tl.load(x_tile, mask=row_ok & (ks[None, :] < left), other=0.0)
        w = tl.load(w_tile, mask=(ks[:, None] < left) & col_ok, other=0.0)
        acc = tl.dot(x, w, acc)
        x_tile += BLOCK_K * stride_xk
        w_tile += BLOCK_K * stride_wk

    bias = tl.load(bias_ptr + cols, mask=cols < N, other=0.0).to(tl.float32)
    y = _gelu(acc + bias[None, :])
    y_tile = y_ptr + rows[:, None].to(tl.int64) * stride_ym + cols[None, :]
    tl.store(y_tile, y.to(y_ptr.dtype.element_ty), mask=row_ok & col_ok)


def _config(M: int, N: int) -> dict[str, int]:
    """Tile and pipeline by output size: small outputs need more programs, large ones more reuse."""
    if M <= 64:
        return {"BLOCK_M": 16, "BLOCK_N": 128, "BLOCK_K": 64, "num_warps": 4, "num_stages": 4}
    if M * N <= 2048 * 2048:
        return {"BLOCK_M": 64, "BLOCK_N": 128, "BLOCK_K": 64, "num_warps": 4, "num_stages": 4}
    return {"BLOCK_M": 128, "BLOCK_N": 128, "BLOCK_K": 64, "num_warps": 8, "num_stages": 4}


def matmul_bias_gelu(x: torch.Tensor, w: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """gelu(x @ w + bias) for x [M, K], w [K, N] of any strides and a contiguous bias [N]."""
    M, K = x.shape
    if w.shape[0] != K or bias.shape != (w.shape[1],):
        raise ValueError(f"shapes do not fit: x {tuple(x.shape)}, w {tuple(w.shape)}, bias {tuple(bias.shape)}")
    N = w.shape[1]
    y = torch.empty((M, N), device=x.device, dtype=x.dtype)
    grid = lambda meta: (triton.cdiv(M, meta["BLOCK_M"]) * triton.cdiv(N, meta["BLOCK_N"]),)
    _linear_gelu[grid](
        x, w, bias.contiguous(), y,
        M, N, K,
        x.stride(0), x.stride(1), w.stride(0), w.stride(1), y.stride(0),
        GROUP=GROUP_M, **_config(M, N),
    )  # fmt: skip
    return y
