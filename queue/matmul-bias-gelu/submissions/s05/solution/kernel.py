"""Linear layer with bias and GELU; erf from CUDA's libdevice."""

import torch
import triton
import triton.language as tl
from triton.language.libdevice import erf


@triton.jit
def _linear_gelu(
    x_ptr, w_ptr, bias_ptr, y_ptr,
    M, N, K,
    stride_xm, stride_xk, stride_wk, stride_wn, stride_ym,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):  # fmt: skip
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    cols = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    row_ok = rows[:, None] < M
    col_ok = cols[None, :] < N
    acc = tl.zeros([BLOCK_M, BLOCK_N], tl.float32)
    for start in range(0, K, BLOCK_K):
        ks = start + tl.arange(0, BLOCK_K)
        x_at = x_ptr + rows[:, None] * stride_xm + ks[None, :] * stride_xk
        w_at = w_ptr + ks[:, None] * stride_wk + cols[None, :] * stride_wn
        x = tl.load(x_at, mask=row_ok & (ks[None, :] < K), other=0.0)
        w = tl.load(w_at, mask=(ks[:, None] < K) & col_ok, other=0.0)
        acc = tl.dot(x, w, acc)
    z = acc + tl.load(bias_ptr + cols, mask=cols < N, other=0.0).to(tl.float32)[None, :]
    y = 0.5 * z * (1.0 + erf(z * 0.7071067811865476))
    y_at = y_ptr + rows[:, None] * stride_ym + cols[None, :]
    tl.store(y_at, y.to(y_ptr.dtype.element_ty), mask=row_ok & col_ok)


def matmul_bias_gelu(x: torch.Tensor, w: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    M, K = x.shape
    N = w.shape[1]
    y = torch.empty((M, N), device=x.device, dtype=x.dtype)
    grid = lambda meta: (triton.cdiv(M, meta["BLOCK_M"]), triton.cdiv(N, meta["BLOCK_N"]))
    _linear_gelu[grid](
        x, w, bias, y,
        M, N, K,
        x.stride(0), x.stride(1), w.stride(0), w.stride(1), y.stride(0),
        BLOCK_M=128, BLOCK_N=128, BLOCK_K=64,
        num_warps=8, num_stages=3,
    )  # fmt: skip
    return y
