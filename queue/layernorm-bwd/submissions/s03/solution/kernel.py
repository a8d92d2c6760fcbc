"""LayerNorm gradients: one pass over the rows, partial sums for dw and db, one launch to add them."""

import torch
import triton
import triton.language as tl

ROWS_EACH = 32


@triton.jit
def _backward_rows(
    x_ptr, w_ptr, dy_ptr, dx_ptr, dw_part_ptr, db_part_ptr,
    n_rows, n_cols,
    ROWS: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    program = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    col_ok = cols < n_cols
    w = tl.load(w_ptr + cols, mask=col_ok, other=0.0).to(tl.float32)
    dw = tl.zeros([BLOCK], tl.float32)
    db = tl.zeros([BLOCK], tl.float32)
    for step in range(0, ROWS):
        row = program * ROWS + step
        inside = col_ok & (row < n_rows)
        at = row.to(tl.int64) * n_cols + cols
        x = tl.load(x_ptr + at, mask=inside, other=0.0).to(tl.float32)
        dy = tl.load(dy_ptr + at, mask=inside, other=0.0).to(tl.float32)
        mean = tl.sum(x, axis=0) / n_cols
        centred = tl.where(inside, x - mean, 0.0)
        var = tl.sum(centred * centred, axis=0) / n_cols
        rstd = tl.rsqrt(var + 1e-5)
        xhat = centred * rstd
        g = dy * w
        c1 = tl.sum(g, axis=0) / n_cols
        c2 = tl.sum(g * xhat, axis=0) / n_cols
        dx = (g - c1 - xhat * c2) * rstd
        tl.store(dx_ptr + at, dx.to(dx_ptr.dtype.element_ty), mask=inside)
        dw += dy * xhat
        db += dy
    tl.store(dw_part_ptr + program * n_cols + cols, dw, mask=col_ok)
    tl.store(db_part_ptr + program * n_cols + cols, db, mask=col_ok)


@triton.jit
def _add_parts(part_ptr, out_ptr, n_parts, n_cols, BLOCK: tl.constexpr):
    cols = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    col_ok = cols < n_cols
    total = tl.zeros([BLOCK], tl.float32)
    for part in range(0, n_parts):
        total += tl.load(part_ptr + part * n_cols + cols, mask=col_ok, other=0.0).to(tl.float32)
    tl.store(out_ptr + cols, total.to(out_ptr.dtype.element_ty), mask=col_ok)


def layernorm_backward(
    x: torch.Tensor, w: torch.Tensor, dy: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    M, N = x.shape
    parts = triton.cdiv(M, ROWS_EACH)
    dx = torch.empty_like(x)
    dw, db = torch.empty_like(w), torch.empty_like(w)
    dw_part = torch.empty((parts, N), device=x.device, dtype=torch.float32)
    db_part = torch.empty((parts, N), device=x.device, dtype=torch.float32)
    grid = lambda meta: (parts,)
    _backward_rows[grid](
        x, w, dy, dx, dw_part, db_part,
        M, N,
        ROWS=ROWS_EACH, BLOCK=triton.next_power_of_2(N),
    )  # fmt: skip
    strips = lambda meta: (triton.cdiv(N, meta["BLOCK"]),)
    _add_parts[strips](dw_part, dw, parts, N, BLOCK=128)
    _add_parts[strips](db_part, db, parts, N, BLOCK=128)
    return dx, dw, db
