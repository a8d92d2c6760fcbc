"""One-launch linear layer with bias and GELU."""

import torch
import triton
import triton.language as tl


@triton.jit
def _linear_gelu(
    x_ptr, w_ptr, bias_ptr, y_ptr,
    M, N, K,
    stride_x, stride_w, stride_y,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):  # fmt: skip
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    cols = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    acc = tl.zeros([BLOCK_M, BLOCK_N], tl.float32)
    for start in range(0, K, BLOCK_K):
        ks = start + tl.arange(0, BLOCK_K)
        x_mask = (rows[:, None] < M) & (ks[None, :] < K)
        w_mask = (ks[:, None] < K) & (cols[None, :] < N)
        x = tl.load(x_ptr + rows[:, None] * stride_x + ks[None, :], mask=x_mask, other=0.0)
        w = tl.load(w_ptr + ks[:, None] * stride_w + cols[None, :], mask=w_mask, other=0.0)
        acc += tl.dot(x, w)

    bias = tl.load(bias_ptr + cols, mask=cols < N, other=0.0).to(tl.float32)
    z = acc + bias[None, :]
    y = 0.5 * z * (1.0 + tl.erf(z * 0.7071067811865476))
    y_mask = (rows[:, None] < M) & (cols[None, :] < N)
    tl.store(y_ptr + rows[:, None] * stride_y + cols[None, :], y.to(y_ptr.dtype.element_ty), mask=y_mask)


def matmul_bias_gelu(x: torch.Tensor, w: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    x, w = x.contiguous(), w.contiguous()
    M, K = x.shape
    N = w.shape[1]
    y = torch.empty((M, N), device=x.device, dtype=x.dtype)
    grid = lambda meta: (triton.cdiv(M, meta["BLOCK_M"]), triton.cdiv(N, meta["BLOCK_N"]))
    _linear_gelu[grid](
        x, w, bias, y,
        M, N, K,
        x.stride(0), w.stride(0), x.stride(0),
        BLOCK_M=64, BLOCK_N=128, BLOCK_K=32,
        num_warps=4, num_stages=3,
    )  # fmt: skip
    return y
