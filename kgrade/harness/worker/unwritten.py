"""Which memory of tensors nobody has written yet, as PyTorch's operations tell it, for the checks of extensions."""

from __future__ import annotations

import ctypes
from typing import Any, Dict, Iterator, List, Optional, Tuple

import torch
from torch.utils._python_dispatch import TorchDispatchMode

ALLOCATING = {"empty", "empty_like", "empty_strided", "empty_permuted", "new_empty", "new_empty_strided"}


class Unwritten(TorchDispatchMode):  # type: ignore[misc]
    """Tells `libraries` what is allocated and not written, and what operations write of it.

    Operations that C++ code calls pass here too. What others return is written, as all that the allocator gives.
    """

    def __init__(self, libraries: List[Any]) -> None:
        super().__init__()
        self.libraries = libraries

    def __torch_dispatch__(
        self, operation: Any, types: Any, args: Tuple[Any, ...] = (), kwargs: Optional[Dict[str, Any]] = None
    ) -> Any:
        """Run `operation`, then tell what it allocated or wrote."""
        kwargs = kwargs or {}
        result = operation(*args, **kwargs)
        with torch._C.DisableTorchFunction():  # a tensor tells where it lives, not where the stand-in says
            for tensor in _written(operation._schema, args, kwargs):
                self._tell_written(tensor)
            name = operation._schema.name.partition("::")
            if name[0] == "aten" and name[2] in ALLOCATING and operation._schema.returns[0].alias_info is None:
                self._tell_unwritten(result)
        return result

    def _tell_unwritten(self, tensor: torch.Tensor) -> None:
        # No value of one bit is left over to tell by that it was not written.
        if type(tensor) is torch.Tensor and tensor.device.type == "cpu" and tensor.dtype != torch.bool:
            storage = tensor.untyped_storage()
            for native in self.libraries:
                native.kgrade_emulator_unwritten(
                    ctypes.c_void_p(storage.data_ptr()),
                    ctypes.c_ulong(storage.nbytes()),
                    ctypes.c_ulong(tensor.element_size()),
                )

    def _tell_written(self, tensor: torch.Tensor) -> None:
        if tensor.device.type != "cpu" or tensor.layout != torch.strided or tensor.numel() == 0:
            return
        last = sum((size - 1) * stride for size, stride in zip(tensor.shape, tensor.stride()))
        for native in self.libraries:
            native.kgrade_emulator_written(
                ctypes.c_void_p(tensor.data_ptr()), ctypes.c_ulong((last + 1) * tensor.element_size())
            )


def _written(schema: Any, args: Tuple[Any, ...], kwargs: Dict[str, Any]) -> Iterator[torch.Tensor]:
    for index, argument in enumerate(schema.arguments):
        if argument.alias_info is None or not argument.alias_info.is_write:
            continue
        value = args[index] if index < len(args) else kwargs.get(argument.name)
        for each in value if isinstance(value, (list, tuple)) else [value]:
            if isinstance(each, torch.Tensor):
                yield each
