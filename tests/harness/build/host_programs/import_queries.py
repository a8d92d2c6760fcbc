"""Asks the device what it is when it is imported."""

import torch
import triton
import triton.language as tl

DEVICE = triton.runtime.driver.active.get_active_torch_device()
FACTS = triton.runtime.driver.active.utils.get_device_properties(DEVICE.index)
PROCESSORS = torch.cuda.get_device_properties(0).multi_processor_count
BLOCK = 1024 if torch.cuda.get_device_capability() >= (9, 0) else 256
BACKEND = triton.runtime.driver.active.get_current_target().backend
if not torch.cuda.is_available() or FACTS["multiprocessor_count"] != PROCESSORS:
    raise RuntimeError("no device")


@triton.jit
def stride_over(x, y, n, BLOCK: tl.constexpr):
    for start in range(tl.program_id(0) * BLOCK, n, tl.num_programs(0) * BLOCK):
        at = start + tl.arange(0, BLOCK)
        tl.store(y + at, tl.load(x + at, mask=at < n) + 1, mask=at < n)


def entry(x):
    y = torch.empty(x.shape, dtype=x.dtype, device=DEVICE)
    stride_over[(PROCESSORS,)](x, y, x.numel(), BLOCK=BLOCK, num_stages=2 if BACKEND == "cuda" else 1)
    return y
