"""LayerNorm gradients in one pass over the rows and a small second launch.

Each program owns a run of consecutive rows. dx of a row needs only that row, so it is finished at once; dw and db need
every row, so a program sums its own rows in float32 registers and leaves one partial row of each in memory. A second
launch adds the partial rows, always in the same order, and rounds once.
"""

import torch
import triton
import triton.language as tl

EPSILON = 1e-5
MAX_COLUMNS = 8192
# Two programs for each of the 132 multiprocessors of an H100: enough to hide latency, and few partial rows.
PROGRAMS = 264
# Rows are worth sharing out only down to this many: each program costs a partial row of dw and of db.
MIN_ROWS = 8


@triton.jit
def _row_gradients(
    x_ptr, w_ptr, dy_ptr, dx_ptr, dw_part_ptr, db_part_ptr,
    n_rows, n_cols, rows_each, epsilon,
    BLOCK: tl.constexpr,
):  # fmt: skip
    """dx of the rows of one program, and its float32 share of dw and db."""
    program = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    inside = cols < n_cols
    w = tl.load(w_ptr + cols, mask=inside, other=0.0).to(tl.float32)
    dw = tl.zeros([BLOCK], tl.float32)
    db = tl.zeros([BLOCK], tl.float32)

    first = program.to(tl.int64) * rows_each
    for step in range(0, min(rows_each, n_rows - program * rows_each)):
        at = (first + step) * n_cols + cols
        x = tl.load(x_ptr + at, mask=inside, other=0.0).to(tl.float32)
        dy = tl.load(dy_ptr + at, mask=inside, other=0.0).to(tl.float32)

        mean = tl.sum(x, axis=0) / n_cols
        # Lanes beyond the row hold 0, not the mean: they must not enter the variance.
        centred = tl.where(inside, x - mean, 0.0)
        rstd = 1.0 / tl.sqrt(tl.sum(centred * centred, axis=0) / n_cols + epsilon)
        xhat = centred * rstd

        g = dy * w
        mean_g = tl.sum(g, axis=0) / n_cols
        mean_gx = tl.sum(g * xhat, axis=0) / n_cols
        dx = rstd * (g - mean_g - xhat * mean_gx)
        tl.store(dx_ptr + at, dx.to(dx_ptr.dtype.element_ty), mask=inside)

        dw += dy * xhat
        db += dy

    tl.store(dw_part_ptr + program * n_cols + cols, dw, mask=inside)
    tl.store(db_part_ptr + program * n_cols + cols, db, mask=inside)


@triton.jit
def _sum_parts(
    dw_part_ptr, db_part_ptr, dw_ptr, db_ptr,
    n_parts, n_cols,
    PARTS: tl.constexpr, COLS: tl.constexpr,
):  # fmt: skip
    """Adds the partial rows of a strip of columns and rounds once."""
    cols = tl.program_id(0) * COLS + tl.arange(0, COLS)
    col_ok = cols < n_cols
    dw = tl.zeros([PARTS, COLS], tl.float32)
    db = tl.zeros([PARTS, COLS], tl.float32)
    for start in range(0, n_parts, PARTS):
        parts = start + tl.arange(0, PARTS)
        at = parts[:, None] * n_cols + cols[None, :]
        inside = (parts[:, None] < n_parts) & col_ok[None, :]
        dw += tl.load(dw_part_ptr + at, mask=inside, other=0.0)
        db += tl.load(db_part_ptr + at, mask=inside, other=0.0)
    tl.store(dw_ptr + cols, tl.sum(dw, axis=0).to(dw_ptr.dtype.element_ty), mask=col_ok)
    tl.store(db_ptr + cols, tl.sum(db, axis=0).to(db_ptr.dtype.element_ty), mask=col_ok)


def layernorm_backward(
    x: torch.Tensor, w: torch.Tensor, dy: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """dx [M, N], dw [N] and db [N] of LayerNorm for contiguous x and dy [M, N]."""
    M, N = x.shape
    if N > MAX_COLUMNS:
        raise ValueError(f"a row of {N} columns does not fit in registers; at most {MAX_COLUMNS}")
    rows_each = max(MIN_ROWS, triton.cdiv(M, PROGRAMS))
    parts = triton.cdiv(M, rows_each)
    dx = torch.empty_like(x)
    dw, db = torch.empty_like(w), torch.empty_like(w)
    dw_part = torch.empty((parts, N), device=x.device, dtype=torch.float32)
    db_part = torch.empty((parts, N), device=x.device, dtype=torch.float32)

    block = triton.next_power_of_2(N)
    grid = lambda meta: (parts,)
    _row_gradients[grid](
        x, w, dy, dx, dw_part, db_part,
        M, N, rows_each, EPSILON,
        BLOCK=block, num_warps=max(1, min(16, block // 256)),
    )  # fmt: skip
    strips = lambda meta: (triton.cdiv(N, meta["COLS"]),)
    _sum_parts[strips](dw_part, db_part, dw, db, parts, N, PARTS=32, COLS=64)
    return dx, dw, db
