"""What must be in place before the first line of a submission runs: the framework and what stands for its device."""

from __future__ import annotations

import contextlib
import importlib
import os
from typing import Any, Dict, Optional

import numpy


def prepare(framework: str, interpreter: Optional[str], precise: bool, on_gpu: bool = False) -> Dict[str, str]:
    """Import `framework` and set up `interpreter` (`triton`, `torch`, `pallas` or None); return versions.

    `torch` runs code written for a GPU on the CPU. `precise` lets JAX compute in float64, for the oracle. `on_gpu`
    makes sure that the framework sees the GPU, and starts its context.
    """
    versions = {"numpy": numpy.__version__}
    numpy.seterr(all="ignore")  # a GPU does not warn of an overflow, and warnings would fill the log
    if framework == "torch":
        if interpreter == "triton":
            os.environ["TRITON_INTERPRET"] = "1"  # read when triton is first imported
        import torch

        versions["torch"] = torch.__version__
        torch.set_num_threads(1)
        if interpreter in ("triton", "torch"):
            from . import cuda_stand_in

            cuda_stand_in.install()
        if interpreter == "triton":
            versions["triton"] = _prepare_triton()
        if on_gpu:
            versions.update(_on_gpu(torch))
    elif framework == "jax":
        os.environ["JAX_PLATFORMS"] = "cuda" if on_gpu else "cpu"
        os.environ["XLA_PYTHON_CLIENT_PREALLOCATE"] = "false"  # two workers share the device while they take turns
        import jax

        versions["jax"] = jax.__version__
        jax.config.update("jax_enable_x64", precise)
        if interpreter == "pallas":
            from . import pallas_interpreter

            pallas_interpreter.install()
    return versions


def _on_gpu(torch: Any) -> Dict[str, str]:
    if not torch.cuda.is_available():
        built = torch.version.cuda
        why = "built for CUDA {}, but sees no device".format(built) if built else "built without CUDA"
        raise RuntimeError("torch {} was {}".format(torch.__version__, why))
    torch.cuda.init()
    found = {"cuda": str(torch.version.cuda)}
    with contextlib.suppress(ImportError):  # only kernels in Triton need it, and they will say so
        found["triton"] = str(importlib.import_module("triton").__version__)
    return found


def _prepare_triton() -> str:
    import triton

    from . import cuda_stand_in, triton_bounds, triton_interpreter

    cuda_stand_in.install_driver()
    triton_interpreter.install()
    triton_bounds.install()
    return str(triton.__version__)
