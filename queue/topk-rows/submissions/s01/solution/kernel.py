"""Top-8 of each row by eight maxima over packed keys.

A key holds an order-preserving image of the value in its upper half and the reversed column in its lower half. Keys
of a row are distinct, so removing the largest removes exactly one entry; among equals the lowest column comes first.
"""

import torch
import triton
import triton.language as tl

K = 8
MAX_COLUMNS = 4096
# Elements a program holds as 64-bit keys: 2048 over 4 warps are 16 keys, 32 registers, a thread.
TILE = 2048


@triton.jit
def _ordered(x):
    """A signed 32-bit image of a float32 that sorts as the float does: -inf lowest, -0 below +0."""
    bits = x.to(tl.int32, bitcast=True)
    return bits ^ ((bits >> 31) & 0x7FFFFFFF)


@triton.jit
def _topk_rows(
    x_ptr, values_ptr, indices_ptr,
    n_rows, n_cols,
    ROWS: tl.constexpr, COLS: tl.constexpr, TOP: tl.constexpr,
):  # fmt: skip
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    cols = tl.arange(0, COLS)
    row_ok = rows < n_rows
    inside = row_ok[:, None] & (cols[None, :] < n_cols)
    x_row = x_ptr + rows.to(tl.int64)[:, None] * n_cols
    # Adding 0 turns -0 into +0, which compares equal to it but has another image.
    x = tl.load(x_row + cols[None, :], mask=inside, other=0.0).to(tl.float32) + 0.0

    removed = -0x8000000000000000
    keys = (_ordered(x).to(tl.int64) << 32) | (COLS - 1 - cols).to(tl.int64)[None, :]
    keys = tl.where(inside, keys, removed)
    for place in range(0, TOP):
        best = tl.max(keys, axis=1)
        column = COLS - 1 - (best & 0xFFFFFFFF).to(tl.int32)
        # The stored value is read back from the input, so it is the input to the bit, in its own dtype.
        value = tl.load(x_ptr + rows.to(tl.int64) * n_cols + column, mask=row_ok)
        out = rows.to(tl.int64) * TOP + place
        tl.store(values_ptr + out, value, mask=row_ok)
        tl.store(indices_ptr + out, column, mask=row_ok)
        keys = tl.where(keys == best[:, None], removed, keys)


def topk8(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """The eight largest entries of each row of a contiguous matrix, descending, with their columns."""
    M, N = x.shape
    if not K <= N <= MAX_COLUMNS:
        raise ValueError(f"rows must have {K} to {MAX_COLUMNS} columns, got {N}")
    values = torch.empty((M, K), device=x.device, dtype=x.dtype)
    indices = torch.empty((M, K), device=x.device, dtype=torch.int32)
    cols = triton.next_power_of_2(N)
    rows = max(1, TILE // cols)
    grid = lambda meta: (triton.cdiv(M, meta["ROWS"]),)
    _topk_rows[grid](x, values, indices, M, N, ROWS=rows, COLS=cols, TOP=K, num_warps=4)
    return values, indices
