"""As many programs as multiprocessors, dtypes as constants, options of a loop."""

import torch
import triton
import triton.language as tl


@triton.jit
def persistent(x, y, tiles, OUT: tl.constexpr, PROGRAMS: tl.constexpr, BLOCK: tl.constexpr):
    for tile in tl.range(tl.program_id(0), tiles, PROGRAMS, num_stages=2):
        at = tile * BLOCK + tl.arange(0, BLOCK)
        tl.store(y + at, tl.load(x + at).to(OUT))


def entry(x):
    y = torch.empty_like(x, dtype=torch.float16)
    tiles = x.numel() // 128
    programs = min(tiles, torch.cuda.get_device_properties(x.device).multi_processor_count)
    persistent[(programs,)](x, y, tiles, OUT=tl.float16, PROGRAMS=programs, BLOCK=128)
    return y
