"""Softmax over rows of any width: one read where a row fits in registers, two where it does not."""

import torch
import triton
import triton.language as tl

# 8192 float32 values over 16 warps are 16 registers a thread; past that the row no longer stays on chip.
MAX_RESIDENT = 8192
# Width of a step of the online pass: wide enough for full-width loads at 8 warps, small enough to keep occupancy.
ONLINE_BLOCK = 2048


@triton.jit
def _softmax_resident(x_ptr, y_ptr, stride_xm, stride_xn, stride_ym, n_cols, BLOCK: tl.constexpr):
    """One program a row; the row is read once. BLOCK >= n_cols."""
    row = tl.program_id(0).to(tl.int64)
    cols = tl.arange(0, BLOCK)
    inside = cols < n_cols
    x = tl.load(x_ptr + row * stride_xm + cols * stride_xn, mask=inside, other=float("-inf")).to(tl.float32)
    numerator = tl.exp(x - tl.max(x, axis=0))
    y = numerator / tl.sum(numerator, axis=0)
    tl.store(y_ptr + row * stride_ym + cols, y.to(y_ptr.dtype.element_ty), mask=inside)


@triton.jit
def _softmax_online(x_ptr, y_ptr, stride_xm, stride_xn, stride_ym, n_cols, BLOCK: tl.constexpr):
    """One program a row; maximum and sum in one pass, the quotient in a second."""
    row = tl.program_id(0).to(tl.int64)
    lanes = tl.arange(0, BLOCK)
    x_row = x_ptr + row * stride_xm
    y_row = y_ptr + row * stride_ym

    row_max = float("-inf")
    row_sum = 0.0
    for start in range(0, n_cols, BLOCK):
        cols = start + lanes
        x = tl.load(x_row + cols * stride_xn, mask=cols < n_cols, other=float("-inf")).to(tl.float32)
        new_max = tl.maximum(row_max, tl.max(x, axis=0))
        # While every entry so far is -inf, (-inf) - (-inf) would be NaN and stay in the sum for good. Any finite
        # shift will do there: all the exponentials are 0.
        shift = tl.where(new_max == float("-inf"), 0.0, new_max)
        row_sum = row_sum * tl.exp(row_max - shift) + tl.sum(tl.exp(x - shift), axis=0)
        row_max = new_max

    # A row of nothing but -inf has sum 0 and must give NaN: (-inf) - (-inf) below is the wanted one.
    for start in range(0, n_cols, BLOCK):
        cols = start + lanes
        inside = cols < n_cols
        x = tl.load(x_row + cols * stride_xn, mask=inside, other=float("-inf")).to(tl.float32)
        y = tl.exp(x - row_max) / row_sum
        tl.store(y_row + cols, y.to(y_ptr.dtype.element_ty), mask=inside)


def softmax(x: torch.Tensor) -> torch.Tensor:
    """Softmax over the last dimension of a matrix of any strides."""
    if x.dim() != 2:
        raise ValueError(f"softmax takes a matrix, got {x.dim()} dimensions")
    n_rows, n_cols = x.shape
    y = torch.empty((n_rows, n_cols), device=x.device, dtype=x.dtype)
    strides = (x.stride(0), x.stride(1), y.stride(0))
    grid = lambda meta: (n_rows,)
    if n_cols <= MAX_RESIDENT:
        block = triton.next_power_of_2(n_cols)
        warps = max(1, min(16, block // 256))
        _softmax_resident[grid](x, y, *strides, n_cols, BLOCK=block, num_warps=warps)
    else:
        _softmax_online[grid](x, y, *strides, n_cols, BLOCK=ONLINE_BLOCK, num_warps=8)
    return y
