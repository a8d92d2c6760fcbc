import torch
from task import input_t, output_t

WEIGHTS = (0.2989, 0.5870, 0.1140)


def generate_input(height: int, width: int, seed: int) -> input_t:
    gen = torch.Generator(device="cuda")
    gen.manual_seed(seed)
    return torch.rand(height, width, 3, device="cuda", dtype=torch.float32, generator=gen).contiguous()


def ref_kernel(data: input_t) -> output_t:
    return sum(weight * data[..., channel] for channel, weight in enumerate(WEIGHTS))


def check_implementation(data: input_t, output: output_t) -> tuple[bool, str]:
    expected = ref_kernel(data)
    if output.shape != expected.shape:
        return False, f"SIZE MISMATCH: {tuple(output.shape)} instead of {tuple(expected.shape)}"
    bad = torch.nonzero(~torch.isclose(output, expected, rtol=1e-5, atol=1e-6))
    if len(bad):
        return False, f"mismatch found! {len(bad)} pixels, the first at {bad[0].tolist()}"
    return True, ""
