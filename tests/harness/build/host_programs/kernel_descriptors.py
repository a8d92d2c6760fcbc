"""Tensor descriptors made in the kernel, with an allocator for them."""

import torch
import triton
import triton.language as tl


@triton.jit
def copy(x, y, rows, cols, ROWS: tl.constexpr, COLS: tl.constexpr):
    source = tl.make_tensor_descriptor(x, shape=[rows, cols], strides=[cols, 1], block_shape=[ROWS, COLS])
    target = tl.make_tensor_descriptor(y, shape=[rows, cols], strides=[cols, 1], block_shape=[ROWS, COLS])
    row, col = tl.program_id(0) * ROWS, tl.program_id(1) * COLS
    target.store([row, col], source.load([row, col]))


def entry(x):
    def allocate(size, alignment, stream):
        return torch.empty(size, device="cuda", dtype=torch.int8)

    triton.set_allocator(allocate)
    y = torch.empty_like(x)
    copy[(triton.cdiv(x.shape[0], 16), triton.cdiv(x.shape[1], 32))](x, y, *x.shape, ROWS=16, COLS=32)
    return y
