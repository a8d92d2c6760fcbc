"""Interface `cuda` on a GPU: the object that nvcc made, called with pointers to the tensors' memory."""

from __future__ import annotations

import ctypes
import importlib
from typing import Any, Callable, Dict, List, Sequence

from .cuda_emulated import SCALARS, KernelFailed


class Native:
    """`int entry(inputs..., outputs..., int64_t symbols..., cudaStream_t)` of one shared object."""

    def __init__(self, library: str, entry: str) -> None:
        self.torch = importlib.import_module("torch")
        self.entry = getattr(ctypes.CDLL(library), entry)
        self.entry.restype = ctypes.c_int

    def launcher(self, launch: Dict[str, Any]) -> Callable[..., Dict[str, Any]]:
        """Return a function of the inputs by name that makes the outputs, launches and returns the outputs by name.

        `launch` holds `outputs` as [name, dtype, shape], `symbols` in order and `scalars`, dtypes of the inputs that
        are numbers. An output that bears an input's name is that input; every byte of the others is 255 before the
        call: NaN in every floating type, so that what is not written shows.
        """

        def launched(**inputs: Any) -> Dict[str, Any]:
            made = {
                name: self._unwritten(dtype, shape) for name, dtype, shape in launch["outputs"] if name not in inputs
            }
            arguments: List[Any] = []
            for name, value in inputs.items():
                scalar = name in launch["scalars"]
                arguments.append(SCALARS[launch["scalars"][name]](value) if scalar else self._pointer(name, value))
            arguments += [self._pointer(name, tensor) for name, tensor in made.items()]
            arguments += [ctypes.c_int64(symbol) for symbol in launch["symbols"]]
            stream = self.torch.cuda.current_stream().cuda_stream
            status = self.entry(*arguments, ctypes.c_void_p(stream))
            if status != 0:
                raise KernelFailed("the launcher returned CUDA error {}".format(status))
            return {name: made.get(name, inputs.get(name)) for name, _, _ in launch["outputs"]}

        return launched

    def _pointer(self, name: str, tensor: Any) -> Any:
        if not tensor.is_contiguous():
            raise ValueError("{} is not contiguous: a pointer says nothing about strides".format(name))
        return ctypes.c_void_p(tensor.data_ptr())

    def _unwritten(self, dtype: str, shape: Sequence[int]) -> Any:
        kind = getattr(self.torch, dtype)
        size = kind.itemsize
        for length in shape:
            size *= length
        raw = self.torch.full((size,), 255, dtype=self.torch.uint8, device="cuda")
        return raw.view(kind).view(list(shape))
