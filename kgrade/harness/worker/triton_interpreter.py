"""Triton's interpreter with bfloat16 and float8 computed as values, not as bit patterns.

The interpreter of Triton 3.6 and 3.7 keeps these types as unsigned integers and then does integer arithmetic on them.
Here blocks of such a type are arrays of the matching ml_dtypes type, so that each operation rounds once, to nearest
even, in the type itself. float16, float32 and float64 keep their own path, with two exceptions that make the
interpreter agree better with a device: float32 operands of a dot in TF32 mode are rounded to TF32, and sums of narrow
types are rounded at each step of a tree.
Must be installed after TRITON_INTERPRET=1 is set and before a kernel runs.
"""

from __future__ import annotations

from typing import Any, Callable, Dict

import ml_dtypes
import numpy as np
import triton.language as tl
from triton.runtime import interpreter as upstream

NARROW: Dict[Any, np.dtype[Any]] = {
    tl.bfloat16: np.dtype(ml_dtypes.bfloat16),
    tl.float8e4nv: np.dtype(ml_dtypes.float8_e4m3fn),
    tl.float8e5: np.dtype(ml_dtypes.float8_e5m2),
    tl.float8e4b8: np.dtype(ml_dtypes.float8_e4m3fnuz),
    tl.float8e5b16: np.dtype(ml_dtypes.float8_e5m2fnuz),
}
NARROW_TYPES = frozenset(NARROW.values())
# A device converts to these with saturation (PTX cvt.rn.satfinite): what is too large becomes the largest value.
SATURATING = frozenset([np.dtype(ml_dtypes.float8_e4m3fn), np.dtype(ml_dtypes.float8_e5m2)])
CARRIER: Dict[int, np.dtype[Any]] = {1: np.dtype(np.uint8), 2: np.dtype(np.uint16)}
Handle = upstream.TensorHandle
ir = upstream._ir
native = upstream._interpreter


def round_to(values: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """Convert to `dtype`, to nearest even, as a device does: float8 of the OCP kind saturates, NaN stays NaN."""
    if dtype in SATURATING and values.dtype != dtype:
        largest = float(ml_dtypes.finfo(dtype).max)
        wide = values.astype(np.float64 if values.dtype == np.float64 else np.float32)
        values = np.where(np.isnan(wide), wide, np.clip(wide, -largest, largest))
    rounded: np.ndarray = values.astype(dtype)
    return rounded


def truncate_to(values: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """Convert to `dtype` towards zero."""
    wide = values.astype(np.float64)
    rounded = round_to(wide, dtype)
    away = np.abs(rounded.astype(np.float64)) > np.abs(wide)
    carrier = np.dtype("u{}".format(dtype.itemsize))
    # One less in the bit pattern of a sign-and-magnitude format is the next value towards zero.
    towards_zero: np.ndarray = (rounded.view(carrier) - away.astype(carrier)).view(dtype)
    return towards_zero


def round_to_tf32(values: np.ndarray) -> np.ndarray:
    """Round float32 to the 10 mantissa bits of TF32, ties away from zero (PTX cvt.rna.tf32); NaN and Inf stay."""
    bits = np.ascontiguousarray(values, np.float32).view(np.uint32)
    rounded = ((bits + np.uint32(0x1000)) & np.uint32(0xFFFFE000)).view(np.float32)
    return np.where(np.isfinite(values), rounded, values)


def tree_sum(values: np.ndarray, axis: int) -> np.ndarray:
    """Sum along `axis` pairwise, rounding in the array's own type at each step, as a tree of adds does."""
    values = np.moveaxis(values, axis, 0)
    while len(values) > 1:
        half = len(values) // 2
        added = values[:half] + values[half : 2 * half]
        values = np.concatenate([added, values[2 * half :]]) if len(values) % 2 else added
    total: np.ndarray = values[0]
    return total


def _is_narrow(array: np.ndarray) -> bool:
    return array.dtype in NARROW_TYPES


def _numpy_type(original: Callable[[Any], np.dtype]) -> Callable[[Any], np.dtype]:
    def numpy_type(type_: Any) -> np.dtype:
        if isinstance(type_, tl.pointer_type):
            return original(type_)
        element = type_.element_ty if isinstance(type_, tl.block_type) else type_
        narrow = NARROW.get(element)
        return narrow if narrow is not None else original(type_)

    return numpy_type


class Narrow(upstream.InterpreterBuilder):  # type: ignore[misc]
    """The interpreter's builder, for blocks that may hold ml_dtypes arrays. What it does not say is upstream's."""

    def get_bf16(self, value: float) -> Any:
        """Return a bfloat16 constant, which upstream lacks."""
        return Handle(np.array([value], dtype=ml_dtypes.bfloat16), tl.bfloat16)

    def create_masked_load(
        self, ptrs: Any, mask: Any, other: Any, cache_modifier: Any, eviction_policy: Any, is_volatile: Any
    ) -> Any:
        """Load bit patterns and read them as values."""
        element = ptrs.get_element_ty()
        narrow = NARROW.get(element)
        if narrow is None:
            return super().create_masked_load(ptrs, mask, other, cache_modifier, eviction_policy, is_volatile)
        carrier = CARRIER[narrow.itemsize]
        fill = np.zeros(ptrs.data.shape, carrier) if other is None else np.ascontiguousarray(other.data).view(carrier)
        return Handle(native.load(ptrs.data, mask.data, fill, carrier).view(narrow), element)

    def create_masked_store(self, ptrs: Any, value: Any, mask: Any, cache_modifier: Any, eviction_policy: Any) -> Any:
        """Store values as bit patterns."""
        data = value.data
        if _is_narrow(data):
            data = np.ascontiguousarray(data).view(CARRIER[data.itemsize])
        return native.store(ptrs.data, data, mask.data)

    def cast_impl(self, src: Any, dst_type: Any) -> Any:
        """Convert to or from a narrow type, rounding once."""
        wanted = upstream._get_np_dtype(dst_type)
        if wanted not in NARROW_TYPES and not _is_narrow(src.data):
            return super().cast_impl(src, dst_type)
        source = src.data.astype(np.float32) if _is_narrow(src.data) else src.data
        return Handle(round_to(source, wanted), dst_type.scalar)

    def create_fp_to_fp(self, src: Any, dst_type: Any, rounding_mode: Any) -> Any:
        """Convert between floating types, to nearest even or towards zero."""
        wanted = upstream._get_np_dtype(dst_type)
        if wanted.itemsize < src.data.itemsize and rounding_mode == ir.ROUNDING_MODE.RTZ:
            return Handle(truncate_to(src.data, wanted), dst_type.scalar)
        return Handle(round_to(src.data, wanted), dst_type.scalar)

    def create_bitcast(self, src: Any, dst_type: Any) -> Any:
        """Read the same bits as another type."""
        return Handle(np.ascontiguousarray(src.data).view(upstream._get_np_dtype(dst_type)), dst_type.scalar)

    def create_fma(self, x: Any, y: Any, z: Any) -> Any:
        """Multiply and add in float32, then round once."""
        if not _is_narrow(z.data):
            return super().create_fma(x, y, z)
        exact = x.data.astype(np.float32) * y.data.astype(np.float32) + z.data.astype(np.float32)
        return Handle(exact.astype(z.data.dtype), z.dtype.scalar)

    def create_clampf(self, arg: Any, lo: Any, hi: Any, propagate_nans: Any) -> Any:
        """Clamp; numpy's own clip does not know the narrow types."""
        if not _is_narrow(arg.data):
            return super().create_clampf(arg, lo, hi, propagate_nans)
        return Handle(np.minimum(np.maximum(arg.data, lo.data), hi.data), arg.dtype.scalar)

    def create_erf(self, arg: Any) -> Any:
        """Compute erf in float32, then round once."""
        if not _is_narrow(arg.data):
            return super().create_erf(arg)
        wide = super().create_erf(Handle(arg.data.astype(np.float32), tl.float32))
        return Handle(wide.data.astype(arg.data.dtype), arg.dtype.scalar)

    def create_rsqrt(self, arg: Any) -> Any:
        """Compute 1/sqrt in float32, then round once."""
        if not _is_narrow(arg.data):
            return super().create_rsqrt(arg)
        wide = 1 / np.sqrt(arg.data.astype(np.float32))
        return Handle(wide.astype(arg.data.dtype), arg.dtype.scalar)

    def create_dot(self, a: Any, b: Any, d: Any, input_precision: Any, max_num_imprecise_acc: Any) -> Any:
        """Multiply matrices: narrow operands exactly, float32 ones as TF32 where that is the precision asked for."""
        left, right = a.data, b.data
        if left.dtype == np.float32 and right.dtype == np.float32 and input_precision == ir.INPUT_PRECISION.TF32:
            left, right = round_to_tf32(left), round_to_tf32(right)
        elif _is_narrow(left) or _is_narrow(right):
            left, right = left.astype(np.float32), right.astype(np.float32)
        else:
            return super().create_dot(a, b, d, input_precision, max_num_imprecise_acc)
        product = np.matmul(left, right)  # products of narrow floats are exact in float32
        return Handle((product + d.data.astype(np.float32)).astype(d.data.dtype), d.dtype.scalar)

    def create_atomic_rmw(self, rmwOp: Any, ptr: Any, val: Any, mask: Any, sem: Any, scope: Any) -> Any:  # noqa: N803
        """Add or exchange narrow values in memory."""
        if not _is_narrow(val.data):
            return super().create_atomic_rmw(rmwOp, ptr, val, mask, sem, scope)
        combine = {ir.ATOMIC_OP.FADD: lambda old, new: old + new, ir.ATOMIC_OP.XCHG: lambda old, new: new}.get(rmwOp)
        if combine is None:
            raise NotImplementedError("atomic {} on {} is not interpreted".format(rmwOp, val.dtype))
        return Handle(self._one_by_one(combine, ptr.data, val.data, mask.data), val.dtype.scalar)

    def _one_by_one(self, combine: Any, pointers: Any, values: np.ndarray, mask: Any) -> np.ndarray:
        """Apply a read-modify-write lane after lane, since several lanes may name one address; return old values."""
        before = np.zeros(values.shape, values.dtype)
        carrier = CARRIER[values.itemsize]
        pointers, mask = np.broadcast_to(pointers, values.shape), np.broadcast_to(mask, values.shape)
        always = np.ones(1, bool)
        for index in zip(*np.nonzero(mask)):
            address = pointers[index].reshape(1)
            old = native.load(address, always, np.zeros(1, carrier), carrier).view(values.dtype)
            new = np.asarray(combine(old, values[index]), values.dtype).reshape(1)
            native.store(address, new.view(carrier), always)
            before[index] = old[0]
        return before


def _sum(self: Any, input: Any) -> Any:
    """Reduce a block to its sum: narrow types in a tree, all others as upstream does."""
    data = input.handle.data
    if data.dtype.itemsize > 2 or not (_is_narrow(data) or data.dtype == np.float16):
        return self.to_tensor(np.sum(data, axis=self.axis, keepdims=self.keep_dims), input.dtype)
    flat, axis = (data.reshape(-1), 0) if self.axis is None else (data, self.axis)
    total = tree_sum(flat, axis)
    if self.keep_dims:
        total = total.reshape((1,) * data.ndim) if self.axis is None else np.expand_dims(total, axis)
    return self.to_tensor(total, input.dtype)


def _with_fnuz(original: Callable[[Any, Any], None]) -> Callable[[Any, Any], None]:
    """Let the interpreter know the two float8 types of AMD's gfx942, which its table of types leaves out."""

    def patch(lang: Any, scope: Any) -> None:
        original(lang, scope)
        others = lang.dtype.to_ir

        def to_ir(self: Any, builder: Any) -> Any:
            if self.name in ("fp8e4b8", "fp8e5b16"):
                return getattr(builder, "get_{}_ty".format(self.name))()
            return others(self, builder)

        scope.set_attr(lang.dtype, "to_ir", to_ir)

    return patch


def install() -> None:
    """Make the interpreter use `Narrow`. Kernels that are already running are not affected."""
    upstream._get_np_dtype = _numpy_type(upstream._get_np_dtype)
    upstream.interpreter_builder.__class__ = Narrow
    upstream.ReduceOps.sum = _sum
    upstream._patch_lang_core = _with_fnuz(upstream._patch_lang_core)
