"""Online softmax with lane-wise running statistics.

The usual online softmax reduces every block to a scalar before it rescales the running sum. Here each lane keeps
its own maximum and sum over the columns lane, lane + BLOCK, lane + 2 * BLOCK, ...; the lanes meet in a single
reduction after the loop. That takes the shuffles out of the loop.
"""

import torch
import triton
import triton.language as tl

MAX_BLOCK = 1024


@triton.jit
def _softmax_kernel(
    x_ptr,
    y_ptr,
    stride_xm,
    stride_xn,
    stride_ym,
    n_cols,
    BLOCK: tl.constexpr,
):
    row = tl.program_id(0).to(tl.int64)
    lanes = tl.arange(0, BLOCK)
    x_row = x_ptr + row * stride_xm
    y_row = y_ptr + row * stride_ym

    # BLOCK <= n_cols, so the first block is full and every lane has met an element after it.
    lane_max = tl.full([BLOCK], float("-inf"), tl.float32)
    lane_sum = tl.zeros([BLOCK], tl.float32)
    for start in range(0, n_cols, BLOCK):
        cols = start + lanes
        x = tl.load(x_row + cols * stride_xn, mask=cols < n_cols, other=float("-inf")).to(tl.float32)
        new_max = tl.maximum(lane_max, x)
        lane_sum = lane_sum * tl.exp(lane_max - new_max) + tl.exp(x - new_max)
        lane_max = new_max

    row_max = tl.max(lane_max, axis=0)
    row_sum = tl.sum(lane_sum * tl.exp(lane_max - row_max), axis=0)

    for start in range(0, n_cols, BLOCK):
        cols = start + lanes
        inside = cols < n_cols
        x = tl.load(x_row + cols * stride_xn, mask=inside, other=float("-inf")).to(tl.float32)
        y = tl.exp(x - row_max) / row_sum
        tl.store(y_row + cols, y.to(y_ptr.dtype.element_ty), mask=inside)


def softmax(x: torch.Tensor) -> torch.Tensor:
    """Softmax over the last dimension of a matrix of any strides."""
    n_rows, n_cols = x.shape
    y = torch.empty((n_rows, n_cols), device=x.device, dtype=x.dtype)
    # The largest power of two that does not exceed the row: the first block must be full.
    block = min(1 << (n_cols.bit_length() - 1), MAX_BLOCK)
    grid = lambda meta: (n_rows,)
    _softmax_kernel[grid](
        x,
        y,
        x.stride(0),
        x.stride(1),
        y.stride(0),
        n_cols,
        BLOCK=block,
        num_warps=4 if block <= 512 else 8,
    )
    return y
