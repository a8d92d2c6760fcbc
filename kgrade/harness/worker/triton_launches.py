"""Triton launches as a submission's own host code makes them, recorded instead of run: no GPU is needed.

`JITFunction.run` is where every launch passes: plain, through heuristics, through the autotuner, from a module. A
record keeps what decides which kernel would be compiled (types, alignment, constants, options), never the data.
"""

from __future__ import annotations

import inspect
import operator
import os
import re
import subprocess
import sys
import tempfile
from typing import Any, Callable, Dict, List, Optional, Tuple

import torch
from torch._subclasses.fake_tensor import FakeTensor
from triton.backends import nvidia
from triton.runtime import autotuner, jit

from . import cuda_stand_in
from .cuda_stand_in import CudaOnCpu, Facts

BASE_ADDRESS = 1 << 40  # where tensors without data pretend to lie: a multiple of every alignment
MOST_LAUNCHES = 64
MOST_VARIANTS = 512
SHOWN = 60


class Address(CudaOnCpu):
    """As `CudaOnCpu`; a tensor without data also has an address, with the alignment that it would have."""

    def __torch_function__(
        self, function: Callable[..., Any], types: Any, args: Any = (), kwargs: Optional[Dict[str, Any]] = None
    ) -> Any:
        """Answer `data_ptr` of a tensor without data; all else as in `CudaOnCpu`."""
        if getattr(function, "__name__", "") == "data_ptr" and isinstance(args[0], FakeTensor):
            return BASE_ADDRESS + args[0].storage_offset() * args[0].element_size()
        return super().__torch_function__(function, types, args, kwargs)


class Pointer:
    """What the compiler needs to know of a tensor argument."""

    def __init__(self, tensor: torch.Tensor) -> None:
        self.dtype = tensor.dtype
        self.shape = list(tensor.shape)
        self._strides = tuple(tensor.stride())
        self._size: int = tensor.element_size()
        self._address: int = tensor.data_ptr()

    def data_ptr(self) -> int:
        """Return the address, of which only the alignment counts."""
        return self._address

    def ptr_range(self) -> int:
        """Return the bytes that can be reached: AMD's compiler asks whether they fit into 32 bits."""
        reach = sum((size - 1) * stride for size, stride in zip(self.shape, self._strides) if size > 0)
        return int((reach + 1) * self._size)

    def stride(self, axis: Optional[int] = None) -> Any:
        """Return the strides in elements."""
        return self._strides if axis is None else self._strides[axis]

    def element_size(self) -> int:
        """Return the bytes of an element."""
        return self._size


class Launch:
    """One kind of launch: a kernel, and all that its compilation depends on."""

    def __init__(self, kernel: Any, key: str, arguments: Tuple[Any, ...], keywords: Dict[str, Any]) -> None:
        self.kernel = kernel
        self.key = key
        self.arguments = arguments
        self.keywords = keywords
        self.constants: Dict[str, str] = {}
        self.types: List[str] = []
        self.grid: List[int] = []
        self.times = 0
        self.tuned = True
        self.place = ""

    def described(self, number: int) -> Dict[str, Any]:
        """Return what crosses the line about this launch."""
        return {
            "number": number,
            "kernel": str(getattr(self.kernel, "__name__", self.kernel))[:80],
            "types": self.types[:16],
            "constants": self.constants,
            "grid": self.grid,
            "times": self.times,
            "tuned": self.tuned,
            "place": self.place,
        }


class Recorder:
    """Takes the place of launching, from `install` until the process ends."""

    def __init__(self, facts: Facts) -> None:
        self.facts = facts
        self.launches: Dict[str, Launch] = {}
        self.tuning = 0
        self.left_out = 0
        self.pruned: List[str] = []
        self.warmed: Dict[str, Tuple[Launch, Any]] = {}
        self.compile: Callable[..., Any] = jit.JITFunction.run

    def install(self) -> None:
        """Record launches from now on, and let every config of an autotuner be launched once."""
        cuda_stand_in.install(self.facts, Address())
        torch.version.hip = "7.0" if self.facts.target[0] == "hip" else None
        driver = cuda_stand_in.install_driver(self.facts, self._tuned)
        driver.launcher_cls = self._launcher
        driver.load_binary = self._loaded
        recorder = self

        def run(kernel: Any, *arguments: Any, grid: Any, warmup: bool, **keywords: Any) -> Any:
            return recorder.record(kernel, arguments, keywords, grid, warmup)

        jit.JITFunction.run = run
        prune = autotuner.Autotuner.prune_configs

        def pruned(tuner: Any, keywords: Dict[str, Any]) -> Any:
            kept = list(prune(tuner, keywords))
            if len(kept) < len(tuner.configs):
                name = getattr(tuner.base_fn, "__name__", "a kernel")
                note = "{}: its own pruning keeps {} of {} configs".format(name, len(kept), len(tuner.configs))
                recorder.pruned = list(dict.fromkeys([*recorder.pruned, note[:200]]))[:MOST_LAUNCHES]
            return kept

        autotuner.Autotuner.prune_configs = pruned

    def _tuned(self, call: Callable[[], None]) -> None:
        self.tuning += 1
        try:
            call()
        finally:
            self.tuning -= 1

    def record(self, kernel: Any, arguments: Tuple[Any, ...], keywords: Dict[str, Any], grid: Any, warmup: bool) -> Any:
        """Record one launch; a warm-up, whose result host code goes on to ask, is compiled as well."""
        for hook in kernel.pre_run_hooks:
            hook(*arguments, **keywords)
        standing = tuple(_standing(value) for value in arguments)
        named = {name: _standing(value) for name, value in keywords.items()}
        bound, specialization, options = kernel.device_caches[0][4](*standing, **named)
        key = "{}:{}:{}:{}".format(kernel.__module__, kernel.__name__, specialization, sorted(options.items(), key=str))
        launch = self.launches.get(key)
        if launch is None:
            launch = Launch(kernel, key, standing, named)
            launch.constants = _constants(kernel, bound, options)
            launch.types = [
                str(each[0])[:40] for each in specialization if str(each[0]).startswith(("*", "tensordesc"))
            ]
            launch.place = _place()
            if len(self.launches) < MOST_VARIANTS:
                self.launches[key] = launch
            else:
                self.left_out += 1
        launch.tuned = launch.tuned and self.tuning > 0
        if warmup:
            compiled = self.compile(kernel, *standing, grid=(1,), warmup=True, **named)
            self.warmed[compiled.hash] = (launch, compiled)
            return compiled
        launch.times += self.tuning == 0
        launch.grid = _grid(grid, _bound(kernel, arguments, keywords, bound))
        return None

    def _launcher(self, source: Any, metadata: Any) -> Callable[..., None]:
        """Return what stands for the launcher of a kernel that host code has compiled by a warm-up."""
        launch, _ = self.warmed[metadata.hash]

        def launched(first: int, second: int, third: int, *more: Any) -> None:
            launch.times += 1
            launch.grid = [operator.index(size) for size in (first, second, third)]

        return launched

    def _loaded(self, name: str, binary: bytes, shared: int, device: int) -> Tuple[None, None, int, int, int]:
        """Stand for loading a binary: module, function, registers, spills and most threads, as a driver gives them.

        Registers are those of the binary; spills are not known before ptxas speaks, and are 0 here.
        """
        registers = 0
        for _, compiled in self.warmed.values():
            if compiled.kernel == binary:
                registers = _registers(compiled, binary)
        return None, None, registers, 0, 1024

    def described(self) -> List[Dict[str, Any]]:
        """Return the launches: first those that the entry makes, then what only the autotuner tries."""
        numbered = list(enumerate(self.launches.values()))
        return [launch.described(number) for number, launch in sorted(numbered, key=lambda each: each[1].tuned)]


def _registers(compiled: Any, binary: bytes) -> int:
    """Return the registers of a thread: from AMD's assembly, or as cuobjdump reads them from a cubin."""
    text = compiled.asm.get("amdgcn")
    if text is None:
        tool = os.path.join(os.path.dirname(nvidia.__file__), "bin", "cuobjdump")
        with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
            file.write(binary)
            file.flush()
            text = subprocess.check_output([tool, "--dump-resource-usage", file.name], universal_newlines=True)
    found = re.search(r"\.vgpr_count:\s*(\d+)|REG:(\d+)", text)
    return int(found[1] or found[2]) if found else 0


def _standing(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return Pointer(value)
    if type(value) is tuple:
        return tuple(_standing(each) for each in value)
    return value


def _bound(kernel: Any, arguments: Tuple[Any, ...], keywords: Dict[str, Any], standing: Dict[str, Any]) -> Any:
    """Return the arguments by name as a callable grid gets them."""
    names = list(standing)
    return {**standing, **dict(zip(names, arguments)), **{k: v for k, v in keywords.items() if k in standing}}


def _grid(grid: Any, bound: Dict[str, Any]) -> List[int]:
    made = grid(bound) if callable(grid) else grid
    sizes = [operator.index(size) for size in (made if isinstance(made, (tuple, list)) else (made,))]
    return [*sizes, 1, 1][:3]


def _constants(kernel: Any, bound: Dict[str, Any], options: Dict[str, Any]) -> Dict[str, str]:
    fixed = {each.name for each in kernel.params if each.is_constexpr}
    shown = {name: _shown(value) for name, value in bound.items() if name in fixed}
    shown.update({name: _shown(value) for name, value in options.items() if name not in ("debug", "grid", "warmup")})
    return dict(list(shown.items())[:24])


def _shown(value: Any) -> str:
    value = getattr(value, "value", value)
    named = getattr(value, "__name__", None)
    return str(named if named is not None else value)[:SHOWN]


def _place() -> str:
    """Return file and line of the innermost frame that lies outside of Triton and of this package."""
    frame = inspect.currentframe()
    mine = (os.path.dirname(os.path.abspath(__file__)), os.path.dirname(os.path.dirname(jit.__file__)))
    while frame is not None:
        file = frame.f_code.co_filename
        if not file.startswith(mine) and not file.startswith("<"):
            return "{}:{}".format(os.path.basename(file), frame.f_lineno)
        frame = frame.f_back
    return ""


def imported(recorder: Recorder) -> str:
    """Prepare this process for `recorder`; return Triton's version. TRITON_INTERPRET must not be set."""
    recorder.install()
    return str(sys.modules["triton"].__version__)
