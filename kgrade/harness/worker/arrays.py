"""Raw bytes to the arrays of a framework and back. One class for each framework, all with the same methods.

`load` makes a fresh array of `shape` and `dtype` (a name such as `bfloat16`) from contiguous row-major bytes; `widen`
converts a floating array to float64, exactly; `unload` gives back dtype name, shape, strides in elements and bytes;
`finish` waits until the device has done its work; `broken` says whether an error has made the device useless to this
process; `refill` gives an array new values under its old address, and `form` says what kind of object an output is
without calling anything of its own.
"""

from __future__ import annotations

import importlib
import math
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple

import numpy as np

Unloaded = Tuple[str, List[int], Optional[List[int]], bytes]

# How the dtypes that numpy lacks are carried: as unsigned integers of the same width.
CARRIERS = {
    "bfloat16": np.uint16,
    "float8_e4m3fn": np.uint8,
    "float8_e5m2": np.uint8,
    "float8_e4m3fnuz": np.uint8,
    "float8_e5m2fnuz": np.uint8,
}


def _carried(raw: Any, offset: int, shape: Sequence[int], dtype: str) -> np.ndarray:
    carrier = np.dtype(CARRIERS.get(dtype, dtype))
    return np.frombuffer(raw, carrier, count=math.prod(shape), offset=offset).reshape(shape).copy()


class TorchArrays:
    """torch tensors, for Triton and plain PyTorch."""

    def __init__(self, device: str = "cpu") -> None:
        self.torch = importlib.import_module("torch")
        self.device = device

    def load(self, raw: Any, offset: int, shape: Sequence[int], dtype: str, layout: str = "contiguous") -> Any:
        """Return a tensor that owns its storage, laid out in memory as `layout` says."""
        tensor = self.torch.from_numpy(_carried(raw, offset, shape, dtype))
        if dtype in CARRIERS:
            tensor = tensor.view(getattr(self.torch, dtype))
        return self._laid_out(tensor.to(self.device), layout)

    def _laid_out(self, tensor: Any, layout: str) -> Any:
        if layout == "transposed" and tensor.dim() >= 2:
            return tensor.transpose(-1, -2).contiguous().transpose(-1, -2)
        if layout == "strided" and tensor.dim() >= 1:
            size = (*tensor.shape[:-1], 2 * tensor.shape[-1])
            wide = self.torch.zeros(size, dtype=tensor.dtype, device=tensor.device)
            wide[..., ::2] = tensor
            return wide[..., ::2]
        if layout == "offset":
            room = self.torch.zeros(tensor.numel() + 1, dtype=tensor.dtype, device=tensor.device)
            room[1:] = tensor.reshape(-1)
            return room[1:].view(tensor.shape)
        if layout == "broadcast" and tensor.dim() >= 1:
            return tensor[:1].clone().expand(tensor.shape)
        return tensor

    def widen(self, tensor: Any) -> Any:
        """Return the tensor in float64 when it is floating, else as it is."""
        return tensor.to(self.torch.float64) if tensor.is_floating_point() else tensor

    def unload(self, tensor: Any) -> Unloaded:
        """Return dtype name, shape, strides and the bytes in row-major order."""
        if not isinstance(tensor, self.torch.Tensor):
            return NumpyArrays().unload(tensor)
        plain = self.torch.Tensor.detach(tensor).to("cpu")  # a method hung on the output must not answer for it
        name = str(plain.dtype).replace("torch.", "")
        strides = list(plain.stride())
        plain = plain.contiguous()
        if name in CARRIERS:
            plain = plain.view(self.torch.int16 if plain.element_size() == 2 else self.torch.uint8)
        return name, list(plain.shape), strides, plain.numpy().tobytes()

    def gradients(self, function: Callable[..., Any], inputs: Dict[str, Any], names: List[str]) -> Any:
        """Call `function`; return its result and what maps output gradients to those of the inputs in `names`."""
        leaves = {name: inputs[name].detach().requires_grad_(True) for name in names}
        result = function(**dict(inputs, **leaves))

        def pull(outputs: List[Any], upstream: List[Any]) -> List[Any]:
            return list(self.torch.autograd.grad(outputs, list(leaves.values()), upstream))

        return result, pull

    def finish(self, results: Any) -> None:
        """Wait for the device; work on the CPU is done when the call returns."""
        if self.device != "cpu":
            self.torch.cuda.synchronize()

    def broken(self) -> bool:
        """Say whether the device still fails after an error: then it was a sticky one, which ends its context."""
        try:
            self.finish(None)
        except RuntimeError:
            return True
        return False

    def refill(self, tensor: Any, values: Any) -> None:
        """Overwrite the tensor's bytes; neither its address nor its version counter tells."""
        if self.device != "cpu":
            tensor.detach().data.copy_(values)  # what is written through `data` does not count as a new version
            return
        bits = {1: self.torch.uint8, 2: self.torch.int16}.get(tensor.element_size())
        plain = tensor.detach()
        known = plain.dtype in (self.torch.bfloat16,) or "float8" in str(plain.dtype)
        to, new = (plain.view(bits), values.view(bits)) if known else (plain, values)
        np.copyto(to.numpy(), new.numpy())

    def form(self, tensor: Any) -> Dict[str, Any]:
        """Return the exact type, the names hung on the object, and the bytes of its storage (-1: it has none)."""
        kind = type(tensor)
        if not issubclass(kind, self.torch.Tensor):
            return _form(tensor)
        try:
            with self.torch._C.DisableTorchFunction():
                held = int(self.torch.Tensor.untyped_storage(tensor).nbytes())
        except (RuntimeError, NotImplementedError, TypeError):
            held = -1
        return dict(_form(tensor), storage=held, plain=kind in (self.torch.Tensor, self.torch.nn.Parameter))


class JaxArrays:
    """JAX arrays, for Pallas. They have no strides, so there is one layout."""

    def __init__(self) -> None:
        self.jax = importlib.import_module("jax")
        self.numpy = importlib.import_module("jax.numpy")

    def load(self, raw: Any, offset: int, shape: Sequence[int], dtype: str, layout: str = "contiguous") -> Any:
        """Return an array on the default device."""
        array = _carried(raw, offset, shape, dtype)
        return self.numpy.asarray(array.view(self.numpy.dtype(dtype)) if dtype in CARRIERS else array)

    def widen(self, array: Any) -> Any:
        """Return the array in float64 when it is floating (needs jax_enable_x64)."""
        return array.astype("float64") if self.numpy.issubdtype(array.dtype, self.numpy.floating) else array

    def unload(self, array: Any) -> Unloaded:
        """Return dtype name, shape, no strides and the bytes."""
        plain = np.ascontiguousarray(np.asarray(array))
        return plain.dtype.name, list(np.shape(array)), None, plain.tobytes()

    def gradients(self, function: Callable[..., Any], inputs: Dict[str, Any], names: List[str]) -> Any:
        """Call `function`; return its result and what maps output gradients to those of the inputs in `names`."""
        result, pullback = self.jax.vjp(
            lambda *leaves: function(**dict(inputs, **dict(zip(names, leaves)))), *(inputs[name] for name in names)
        )

        def pull(outputs: List[Any], upstream: List[Any]) -> List[Any]:
            structure = self.jax.tree_util.tree_structure(result)
            return list(pullback(self.jax.tree_util.tree_unflatten(structure, upstream)))

        return result, pull

    def finish(self, results: Any) -> None:
        """Wait for results that JAX computes asynchronously."""
        self.jax.block_until_ready(results)

    def broken(self) -> bool:
        """JAX does not tell."""
        return False

    def form(self, array: Any) -> Dict[str, Any]:
        """Return the exact type; JAX's own arrays are plain."""
        kind = type(array)
        return dict(_form(array), plain=kind.__module__.startswith(("jax", "numpy")))


class NumpyArrays:
    """numpy arrays; bfloat16 and float8 need ml_dtypes."""

    def load(self, raw: Any, offset: int, shape: Sequence[int], dtype: str, layout: str = "contiguous") -> Any:
        """Return an array that owns its memory."""
        array = _carried(raw, offset, shape, dtype)
        if layout == "offset":  # one element behind the beginning of its storage
            storage = np.empty(array.size + 1, array.dtype)
            storage[1:] = array.ravel()
            array = storage[1:].reshape(array.shape)
        return array.view(getattr(importlib.import_module("ml_dtypes"), dtype)) if dtype in CARRIERS else array

    def widen(self, array: Any) -> Any:
        """Return the array in float64 when it is floating."""
        floating = array.dtype.kind == "f" or array.dtype.name in CARRIERS
        return array.astype(np.float64) if floating else array

    def unload(self, array: Any) -> Unloaded:
        """Return dtype name, shape, strides and the bytes; Python numbers become arrays of one element."""
        plain = np.asarray(array)
        if plain.dtype.hasobject:
            raise TypeError("an output must be an array, got {}".format(type(array).__name__))
        strides = [stride // max(plain.itemsize, 1) for stride in plain.strides]
        return plain.dtype.name, list(plain.shape), strides, np.ascontiguousarray(plain).tobytes()

    def finish(self, results: Any) -> None:
        """Nothing to wait for."""

    def broken(self) -> bool:
        """There is no device that could be."""
        return False

    def refill(self, array: Any, values: Any) -> None:
        """Overwrite the array's values."""
        np.copyto(array, values)

    def form(self, array: Any) -> Dict[str, Any]:
        """Return the exact type; numpy's own arrays are plain."""
        return _form(array)


def _form(value: Any) -> Dict[str, Any]:
    kind = type(value)
    try:
        hung = sorted(str(name)[:60] for name in object.__getattribute__(value, "__dict__"))[:8]
    except AttributeError:
        hung = []
    plain = kind.__module__ in ("numpy", "builtins")
    return {"type": "{}.{}".format(kind.__module__, kind.__qualname__)[:120], "hung": hung, "plain": plain}


FRAMEWORKS: Dict[str, Callable[[], Any]] = {"torch": TorchArrays, "jax": JaxArrays, "numpy": NumpyArrays}
