"""Lets PyTorch code written for a GPU run on the CPU: `cuda` devices become the CPU, device queries get an answer.

Tensors say that they live on cuda:0, new ones are made on the CPU, and memory that nobody has written yet holds NaN
(the largest integer for integer types), so that an element which a kernel forgets to write is seen.
"""

from __future__ import annotations

import contextlib
import types
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Tuple

import torch
from torch.overrides import TorchFunctionMode

DEVICE = torch.device("cuda", 0)
CPU = torch.device("cpu")
UNWRITTEN = {"empty", "empty_like", "empty_strided", "new_empty", "new_empty_strided", "empty_permuted"}


class Facts(NamedTuple):
    """What a device says about itself; `target` is what Triton compiles for: backend, architecture, warp size."""

    target: Tuple[str, Any, int] = ("cuda", 80, 32)
    capability: Tuple[int, int] = (8, 0)
    multiprocessors: int = 108
    shared_bytes: int = 166912


AMPERE = Facts()


def _on_cpu(value: Any) -> Any:
    """Return `value` with a cuda device, however it is written, replaced by the CPU."""
    if isinstance(value, torch.device) and value.type == "cuda":
        return CPU
    if isinstance(value, str) and (value == "cuda" or value.startswith("cuda:")):
        return CPU
    return value


def poison(tensor: torch.Tensor) -> torch.Tensor:
    """Fill memory that was just allocated with NaN, or with the largest value of an integer type."""
    if tensor.numel() == 0 or tensor.is_complex():
        return tensor
    if torch.are_deterministic_algorithms_enabled() and torch.utils.deterministic.fill_uninitialized_memory:
        return tensor  # PyTorch has filled it
    if tensor.is_floating_point():
        if tensor.element_size() == 1:  # one-byte floats cannot be filled; 0x7f is NaN in each that has a sign bit
            return tensor.view(torch.uint8).fill_(0x7F).view(tensor.dtype)
        return tensor.fill_(float("nan"))
    return tensor if tensor.dtype == torch.bool else tensor.fill_(torch.iinfo(tensor.dtype).max)


class CudaOnCpu(TorchFunctionMode):  # type: ignore[misc]
    """Every torch function call passes here while the mode is active."""

    def __torch_function__(
        self, function: Callable[..., Any], types: Any, args: Any = (), kwargs: Optional[Dict[str, Any]] = None
    ) -> Any:
        """Run `function` with cuda devices replaced; answer queries about where a tensor lives."""
        kwargs = dict(kwargs or {})
        name = getattr(function, "__name__", "")
        if function is torch.device:
            return function(*args, **kwargs)
        if name == "__get__":
            answer = _property(function, args[0])
            if answer is not None:
                return answer
        if name in ("cuda", "pin_memory"):
            return args[0]
        if name == "get_device":
            return 0
        if "device" in kwargs:
            kwargs["device"] = _on_cpu(kwargs["device"])
        kwargs.pop("pin_memory", None)
        result = function(*[_on_cpu(value) for value in args], **kwargs)
        return poison(result) if name in UNWRITTEN and isinstance(result, torch.Tensor) else result


class Generator(torch.Generator):  # type: ignore[misc]
    """A generator of random numbers that lives on the CPU, whatever device it was asked for."""

    def __new__(cls, device: Any = None) -> Any:
        """Return a generator for the CPU."""
        return super().__new__(cls, CPU)


def _seed(seed: int) -> None:
    """Seed what draws for both devices; torch.manual_seed itself calls this for the GPU's share."""
    torch.default_generator.manual_seed(int(seed))


def _property(function: Any, tensor: Any) -> Any:
    asked = getattr(getattr(function, "__self__", None), "__name__", "")
    if not isinstance(tensor, torch.Tensor):
        return None
    return {"is_cuda": True, "is_cpu": False, "device": DEVICE}.get(asked)


class Stream:
    """A stream that is always done."""

    cuda_stream = 0

    def __init__(self, *arguments: Any, **keywords: Any) -> None:
        self.device = DEVICE

    def __enter__(self) -> Stream:
        return self

    def __exit__(self, *error: Any) -> None:
        pass

    def synchronize(self) -> None:
        """Nothing to wait for."""

    def wait_stream(self, other: Any) -> None:
        """Nothing to wait for."""

    def wait_event(self, event: Any) -> None:
        """Nothing to wait for."""

    def record_event(self, event: Any = None) -> Any:
        """Return an event that has happened."""
        return event or Event()


class Event:
    """An event that has happened. There is no device clock here, so elapsed time cannot be asked for."""

    def __init__(self, *arguments: Any, **keywords: Any) -> None:
        pass

    def record(self, stream: Any = None) -> None:
        """Nothing to record."""

    def synchronize(self) -> None:
        """Nothing to wait for."""

    def query(self) -> bool:
        """Return that the event has happened."""
        return True

    def elapsed_time(self, other: Any) -> float:
        """Refuse: a made-up time would steer an autotuner."""
        raise RuntimeError("there is no device clock on the CPU")


def install(facts: Facts = AMPERE, mode: Optional[CudaOnCpu] = None) -> None:
    """Answer device queries in place of torch.cuda, and turn cuda devices into the CPU from now on.

    `mode` is what torch functions pass through instead of a plain `CudaOnCpu`.
    """
    properties = types.SimpleNamespace(
        name="CPU standing in for a GPU",
        major=facts.capability[0],
        minor=facts.capability[1],
        multi_processor_count=facts.multiprocessors,
        total_memory=80 << 30,
        warp_size=facts.target[2],
        shared_memory_per_block_optin=facts.shared_bytes,
        gcnArchName=str(facts.target[1]),
        max_threads_per_multi_processor=2048,
        regs_per_multiprocessor=65536,
    )
    answers: Dict[str, Callable[..., Any]] = {
        "is_available": lambda: True,
        "is_initialized": lambda: True,
        "init": lambda: None,
        "_lazy_init": lambda: None,
        "synchronize": lambda device=None: None,
        "current_device": lambda: 0,
        "set_device": lambda device: None,
        "device_count": lambda: 1,
        "get_device_properties": lambda device=None: properties,
        "get_device_capability": lambda device=None: facts.capability,
        "get_device_name": lambda device=None: properties.name,
        "empty_cache": lambda: None,
        "is_bf16_supported": lambda including_emulation=True: True,
        "is_current_stream_capturing": lambda: False,
        "current_stream": lambda device=None: Stream(),
        "default_stream": lambda device=None: Stream(),
        "device": lambda device=None: contextlib.nullcontext(),
        "stream": lambda stream=None: contextlib.nullcontext(),
        "manual_seed": _seed,
        "manual_seed_all": _seed,
    }
    for name, answer in answers.items():
        setattr(torch.cuda, name, answer)
    torch.Generator = Generator
    torch.cuda.Stream = Stream
    torch.cuda.Event = Event
    (mode or CudaOnCpu()).__enter__()  # for as long as the worker lives


def install_driver(facts: Facts = AMPERE, benchmark: Optional[Callable[..., Any]] = None) -> Any:
    """Give Triton a driver that answers queries made at import and by the autotuner, which keeps its first config.

    `benchmark` is called with what the autotuner wants to have timed. Return the driver.
    """
    from triton.backends.compiler import GPUTarget
    from triton.backends.driver import DriverBase
    from triton.runtime import driver

    def untimed(call: Callable[[], None], figures: int) -> List[float]:
        if benchmark is not None:
            benchmark(call)
        return [1.0] * figures

    class StandIn(DriverBase):  # type: ignore[misc]
        """A device that can be asked about, but not launched on: the interpreter runs the kernels."""

        def __init__(self) -> None:
            self.utils = self

        @classmethod
        def is_active(cls) -> bool:
            return True

        def map_python_to_cpp_type(self, name: str) -> str:
            return name

        def get_current_target(self) -> Any:
            return GPUTarget(*facts.target)

        def get_active_torch_device(self) -> torch.device:
            return DEVICE

        def get_current_device(self) -> int:
            return 0

        def set_current_device(self, index: int) -> None:
            pass

        def get_current_stream(self, index: int = 0) -> int:
            return 0

        def get_device_capability(self, index: int = 0) -> Any:
            return facts.capability

        def get_device_interface(self) -> Any:
            return torch.cuda

        def get_device_properties(self, index: int = 0) -> Dict[str, int]:
            return {
                "max_shared_mem": facts.shared_bytes,
                "multiprocessor_count": facts.multiprocessors,
                "max_num_regs": 65536,
                "warpSize": facts.target[2],
                "sm_clock_rate": 1410000,
                "mem_clock_rate": 1215000,
                "mem_bus_width": 5120,
            }

        def get_empty_cache_for_benchmark(self) -> torch.Tensor:
            return torch.zeros(1)

        def clear_cache(self, cache: Any) -> None:
            pass

        def get_benchmarker(self) -> Callable[..., List[float]]:
            return lambda call, quantiles=None, **options: untimed(call, len(quantiles or (1,)))

    active = StandIn()
    driver.set_active(active)
    return active
