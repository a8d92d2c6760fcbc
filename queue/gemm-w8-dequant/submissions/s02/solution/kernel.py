"""Weight-only int8 linear: tiles are dequantised on the fly."""

import torch
import triton
import triton.language as tl


@triton.jit
def _dequant_gemm(
    x_ptr, wq_ptr, scale_ptr, y_ptr,
    M, N, K,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):  # fmt: skip
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    cols = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    row_ok = rows[:, None] < M
    col_ok = cols[None, :] < N
    scale = tl.load(scale_ptr + cols, mask=cols < N, other=0.0)
    acc = tl.zeros([BLOCK_M, BLOCK_N], tl.float32)
    for start in range(0, K, BLOCK_K):
        ks = start + tl.arange(0, BLOCK_K)
        x = tl.load(x_ptr + rows[:, None] * K + ks[None, :], mask=row_ok & (ks[None, :] < K), other=0.0)
        wq = tl.load(wq_ptr + ks[:, None] * N + cols[None, :], mask=(ks[:, None] < K) & col_ok, other=0)
        w = (wq.to(tl.float32) * scale[None, :]).to(x.dtype)
        acc += tl.dot(x, w)
    tl.store(
        y_ptr + rows[:, None] * N + cols[None, :],
        acc.to(y_ptr.dtype.element_ty),
        mask=row_ok & col_ok,
    )


def gemm_w8(x: torch.Tensor, wq: torch.Tensor, scale: torch.Tensor) -> torch.Tensor:
    M, K = x.shape
    N = wq.shape[1]
    y = torch.empty((M, N), device=x.device, dtype=x.dtype)
    grid = lambda meta: (triton.cdiv(M, meta["BLOCK_M"]), triton.cdiv(N, meta["BLOCK_N"]))
    _dequant_gemm[grid](
        x, wq, scale, y,
        M, N, K,
        BLOCK_M=32, BLOCK_N=64, BLOCK_K=64,
        num_warps=4, num_stages=4,
    )  # fmt: skip
    return y
