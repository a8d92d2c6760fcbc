"""y = (x @ wq) * scale with int8 weights that are widened in registers."""

import torch
import triton
import triton.language as tl


@triton.jit
def _gemm_w8(
    x_ptr, wq_ptr, scale_ptr, y_ptr,
    M, N, K,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):  # fmt: skip
    rows = tl.program_id(1) * BLOCK_M + tl.arange(0, BLOCK_M)
    cols = tl.program_id(0) * BLOCK_N + tl.arange(0, BLOCK_N)
    row_ok = rows[:, None] < M
    col_ok = cols[None, :] < N
    row_at = rows[:, None].to(tl.int64)

    acc = tl.zeros([BLOCK_M, BLOCK_N], tl.float32)
    for start in range(0, K, BLOCK_K):
        ks = start + tl.arange(0, BLOCK_K)
        x = tl.load(x_ptr + row_at * K + ks[None, :], mask=row_ok & (ks[None, :] < K), other=0.0)
        wq = tl.load(
            wq_ptr + ks[:, None].to(tl.int64) * N + cols[None, :],
            mask=(ks[:, None] < K) & col_ok,
            other=0,
        )
        # -127 ... 127 needs seven bits of significand: exact in float16 and in bfloat16.
        acc = tl.dot(x, wq.to(x.dtype), acc)

    scale = tl.load(scale_ptr + cols, mask=cols < N, other=0.0)
    y = acc * scale[None, :]
    tl.store(y_ptr + row_at * N + cols[None, :], y.to(y_ptr.dtype.element_ty), mask=row_ok & col_ok)


def _config(M: int) -> dict[str, int]:
    """Narrow M is bound by the read of the weights: long K steps, many in flight. Wide M: by the matrix rate."""
    if M <= 16:
        return {"BLOCK_M": 16, "BLOCK_N": 64, "BLOCK_K": 128, "num_warps": 4, "num_stages": 5}
    if M <= 64:
        return {"BLOCK_M": 64, "BLOCK_N": 64, "BLOCK_K": 64, "num_warps": 4, "num_stages": 4}
    return {"BLOCK_M": 128, "BLOCK_N": 128, "BLOCK_K": 64, "num_warps": 8, "num_stages": 3}


def gemm_w8(x: torch.Tensor, wq: torch.Tensor, scale: torch.Tensor) -> torch.Tensor:
    """(x @ wq) * scale for contiguous x [M, K], int8 wq [K, N] and float32 scale [N]."""
    M, K = x.shape
    if wq.dtype is not torch.int8 or wq.shape[0] != K or scale.shape != (wq.shape[1],):
        raise ValueError(f"wq must be int8 [{K}, N] with a scale [N], got {wq.dtype} {tuple(wq.shape)}")
    N = wq.shape[1]
    y = torch.empty((M, N), device=x.device, dtype=x.dtype)
    grid = lambda meta: (triton.cdiv(N, meta["BLOCK_N"]), triton.cdiv(M, meta["BLOCK_M"]))
    _gemm_w8[grid](x, wq, scale, y, M, N, K, **_config(M))
    return y
