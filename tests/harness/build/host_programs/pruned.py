"""Tuning above heuristics, with a rule of its own that drops configs, and buffers to reset."""

import torch
import triton
import triton.language as tl


def small_enough(configs, given, **more):
    return [config for config in configs if config.kwargs["BLOCK"] <= 256]


@triton.autotune(
    configs=[triton.Config({"BLOCK": block}) for block in (64, 128, 256, 512, 1024)],
    key=["n"],
    prune_configs_by={"early_config_prune": small_enough},
    reset_to_zero=["total"],
)
@triton.heuristics({"EVEN": lambda given: given["n"] % given["BLOCK"] == 0})
@triton.jit
def add_up(x, total, n, BLOCK: tl.constexpr, EVEN: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    if EVEN:
        tl.atomic_add(total, tl.sum(tl.load(x + at), 0))
    else:
        tl.atomic_add(total, tl.sum(tl.load(x + at, mask=at < n, other=0.0), 0))


def entry(x):
    total = torch.zeros(1, device=x.device, dtype=torch.float32)
    add_up[lambda meta: (triton.cdiv(x.numel(), meta["BLOCK"]),)](x, total, x.numel())
    return total
