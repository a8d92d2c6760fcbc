"""How a task can be run on a target of this machine, or why it cannot."""

from __future__ import annotations

from dataclasses import dataclass

from kgrade.harness.build.targets import architecture
from kgrade.harness.device.nvml import Gpu
from kgrade.records.task import Task

INTERPRETED = "cpu"


@dataclass(frozen=True)
class Method:
    """A way to run Python kernels: the framework of their arrays, what stands for the device, what it cannot see."""

    framework: str
    stand_in: str | None
    text: str
    unseen: tuple[str, ...]


TRITON = Method(
    "torch",
    "triton",
    "Triton interpreter, bfloat16 and float8 as values, bounds checked",
    (
        "rounding inside a dot: TF32 operands are rounded to nearest, and sums are kept in float32",
        "float8 accumulation narrower than float32",
        "the order of atomics and of reductions",
        "races between programs: they run one after another",
        "registers, shared memory and launch limits",
    ),
)
PALLAS = Method(
    "jax",
    "pallas",
    "Pallas interpret mode on the CPU",
    (
        "the device's default precision: float32 dots run in float32 here, as bfloat16 passes on a TPU",
        "the order of grid steps that a device runs in parallel",
        "block shapes and memory spaces that a device's compiler refuses",
    ),
)
TRITON_AHEAD = Method(
    "torch",
    None,
    "launches recorded from the submission's own host code, on tensors without data, then compiled ahead of time",
    (),
)
PALLAS_AHEAD = Method("jax", None, "traced on shapes alone, then lowered ahead of time", ())
ON_GPU = Method("torch", None, "on the device, in PyTorch", ())
PALLAS_ON_GPU = Method("jax", None, "on the device, in JAX", ())
NATIVE = Method("torch", None, "on the device, built by nvcc", ())
TORCH = Method("torch", "torch", "PyTorch on the CPU, cuda devices replaced", ("anything particular to a device",))


def candidate_method(task: Task) -> Method | None:
    """Return how the submissions of `task` are imported and interpreted, or None when nothing here can run them."""
    if task.language == "cuda" and task.interface not in ("cuda", "flashinfer"):
        return TORCH  # CUDA sources in Python, which loads them as extensions
    return {"triton": TRITON, "pallas": PALLAS, "python": TORCH}.get(task.language)


def ahead_method(task: Task, vendor: str) -> Method | None:
    """Return how the kernels of `task` are compiled for a device of `vendor` that is not here, or None."""
    if task.language == "triton" and vendor in ("cuda", "rocm"):
        return TRITON_AHEAD
    if task.language == "pallas" and vendor in ("tpu", "cuda") and task.interface == "function":
        return PALLAS_AHEAD
    return None


def device_method(task: Task) -> Method | None:
    """Return how Python submissions of `task`, and the baselines of any, run on a GPU that is here, or None."""
    return {"triton": ON_GPU, "python": ON_GPU, "cuda": ON_GPU, "pallas": PALLAS_ON_GPU}.get(task.language)


def oracle_method(task: Task) -> Method:
    """Return how the task's own Python runs: its reference is plain array code, with no device to stand in for."""
    framework = {"pallas": "jax"}.get(task.language, "torch")
    foreign = task.interface in ("kernelbench", "gpumode", "flashinfer")  # their references name cuda devices
    return Method(framework, "torch" if foreign and framework == "torch" else None, f"{framework} on the CPU", ())


def why_not_run(task: Task, target: str, gpu: Gpu | None = None) -> str | None:
    """Say why submissions of `task` cannot be executed for `target` here; None when they can.

    `gpu` is the GPU of this machine that `target` is run on, if there is one.
    """
    if task.devices > 1:
        return f"it needs {task.devices} devices"
    if task.language == "hip":
        return "hip kernels run on a GPU only"
    if task.language == "nki":
        return "NKI kernels run on a Neuron device only: no simulator of it can be installed here"
    if target == INTERPRETED or gpu is not None:
        return None
    arch = architecture(target)
    if arch is None or arch.vendor != "cuda":
        return f"kernels are run on NVIDIA GPUs only, so nothing was run on {target}"
    major, minor = arch.capability
    how = "emulated" if task.language == "cuda" else "interpreted"
    return f"no GPU of compute capability {major}.{minor} is here, so nothing was run on {target}; target cpu is {how}"
