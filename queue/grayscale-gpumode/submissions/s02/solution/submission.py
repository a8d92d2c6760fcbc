#!POPCORN leaderboard grayscale
#!POPCORN gpu H100
import torch
import triton
import triton.language as tl
from task import input_t, output_t


@triton.jit
def luma_kernel(image, luma, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    red = tl.load(image + 3 * at)
    green = tl.load(image + 3 * at + 1)
    blue = tl.load(image + 3 * at + 2)
    tl.store(luma + at, 0.2989 * red + 0.5870 * green + 0.1140 * blue)


def custom_kernel(data: input_t) -> output_t:
    luma = torch.empty(data.shape[:2], dtype=data.dtype, device=data.device)
    pixels = luma.numel()
    luma_kernel[(pixels // 256,)](data, luma, BLOCK=256)
    return luma
