"""y = gelu(x @ w + bias) as three kernels: product, bias, activation."""

import torch
import triton
import triton.language as tl

ELEMENTS = 4096


@triton.jit
def _matmul(
    x_ptr, w_ptr, sum_ptr,
    M, N, K,
    stride_xm, stride_xk, stride_wk, stride_wn,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):  # fmt: skip
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    cols = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    acc = tl.zeros([BLOCK_M, BLOCK_N], tl.float32)
    for start in range(0, K, BLOCK_K):
        ks = start + tl.arange(0, BLOCK_K)
        x = tl.load(
            x_ptr + rows[:, None] * stride_xm + ks[None, :] * stride_xk,
            mask=(rows[:, None] < M) & (ks[None, :] < K),
            other=0.0,
        )
        w = tl.load(
            w_ptr + ks[:, None] * stride_wk + cols[None, :] * stride_wn,
            mask=(ks[:, None] < K) & (cols[None, :] < N),
            other=0.0,
        )
        acc += tl.dot(x, w)
    inside = (rows[:, None] < M) & (cols[None, :] < N)
    tl.store(sum_ptr + rows[:, None] * N + cols[None, :], acc, mask=inside)


@triton.jit
def _add_bias(sum_ptr, bias_ptr, n_elements, N, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n_elements
    z = tl.load(sum_ptr + at, mask=inside)
    bias = tl.load(bias_ptr + at % N, mask=inside).to(tl.float32)
    tl.store(sum_ptr + at, z + bias, mask=inside)


@triton.jit
def _gelu(sum_ptr, y_ptr, n_elements, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n_elements
    z = tl.load(sum_ptr + at, mask=inside)
    y = 0.5 * z * (1.0 + tl.erf(z * 0.7071067811865476))
    tl.store(y_ptr + at, y.to(y_ptr.dtype.element_ty), mask=inside)


def matmul_bias_gelu(x: torch.Tensor, w: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    M, K = x.shape
    N = w.shape[1]
    total = torch.empty((M, N), device=x.device, dtype=torch.float32)
    y = torch.empty((M, N), device=x.device, dtype=x.dtype)
    tiles = lambda meta: (triton.cdiv(M, meta["BLOCK_M"]), triton.cdiv(N, meta["BLOCK_N"]))
    _matmul[tiles](
        x, w, total,
        M, N, K,
        x.stride(0), x.stride(1), w.stride(0), w.stride(1),
        BLOCK_M=64, BLOCK_N=64, BLOCK_K=32,
    )  # fmt: skip
    flat = lambda meta: (triton.cdiv(M * N, meta["BLOCK"]),)
    _add_bias[flat](total, bias, M * N, N, BLOCK=ELEMENTS)
    _gelu[flat](total, y, M * N, BLOCK=ELEMENTS)
    return y
