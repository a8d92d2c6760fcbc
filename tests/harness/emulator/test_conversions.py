"""Narrow types and integer intrinsics, bit for bit against ml_dtypes and numpy."""

# ruff: noqa: E501 (lines of kernels)
from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

pytestmark = pytest.mark.xdist_group("emulator")

SOURCE = r"""
#include <cuda_fp16.h>
#include <cuda_bf16.h>
#include <cuda_fp8.h>
#include <cstdint>
#define EACH(name, from, to, expression)                                                      \
  __global__ void name##_kernel(const from* x, to* y, int64_t n) {                             \
    const int64_t i = (int64_t)blockIdx.x * 256 + threadIdx.x;                                 \
    if (i < n) { const from v = x[i]; y[i] = expression; }                                     \
  }                                                                                            \
  extern "C" int name(const from* x, to* y, int64_t n, cudaStream_t) {                         \
    name##_kernel<<<(n + 255) / 256, 256>>>(x, y, n);                                          \
    return cudaGetLastError();                                                                 \
  }
EACH(to_half, float, uint16_t, __half_as_ushort(__float2half_rn(v)))
EACH(to_half_zero, float, uint16_t, __half_as_ushort(__float2half_rz(v)))
EACH(from_half, uint16_t, float, __half2float(__ushort_as_half(v)))
EACH(double_to_half, double, uint16_t, __half_as_ushort(__double2half(v)))
EACH(to_bf16, float, uint16_t, __bfloat16_as_ushort(__float2bfloat16_rn(v)))
EACH(from_bf16, uint16_t, float, __bfloat162float(__ushort_as_bfloat16(v)))
EACH(to_e4m3, float, uint8_t, __nv_cvt_float_to_fp8(v, __NV_NOSAT, __NV_E4M3))
EACH(to_e5m2, float, uint8_t, __nv_cvt_float_to_fp8(v, __NV_NOSAT, __NV_E5M2))
EACH(from_e4m3, uint8_t, float, float(*reinterpret_cast<const __nv_fp8_e4m3*>(&v)))
EACH(from_e5m2, uint8_t, float, float(*reinterpret_cast<const __nv_fp8_e5m2*>(&v)))
EACH(saturated, float, uint8_t, __nv_fp8_e4m3(v).__x)
EACH(popcount, uint32_t, int32_t, __popc(v))
EACH(leading, uint32_t, int32_t, __clz(v))
EACH(first, uint32_t, int32_t, __ffs(v))
EACH(reversed, uint32_t, uint32_t, __brev(v))
EACH(multiplied, uint32_t, uint32_t, __umulhi(v, 0x9e3779b9u))
EACH(permuted, uint32_t, uint32_t, __byte_perm(v, ~v, 0x7214))
EACH(dotted, uint32_t, int32_t, __dp4a((int)v, (int)(v * 2654435761u), 7))
EACH(to_int, float, int32_t, __float2int_rn(v))
EACH(to_int_down, float, int32_t, __float2int_rd(v))
struct Three { uint16_t a, b, c; };
EACH(fused_half, Three, uint16_t, __half_as_ushort(__hfma(__ushort_as_half(v.a), __ushort_as_half(v.b), __ushort_as_half(v.c))))
EACH(added_half, Three, uint16_t, __half_as_ushort(__hadd(__ushort_as_half(v.a), __ushort_as_half(v.b))))
EACH(multiplied_bf16, Three, uint16_t, __bfloat16_as_ushort(__hmul(__ushort_as_bfloat16(v.a), __ushort_as_bfloat16(v.b))))
"""

COUNT = 1 << 20


def _mapped(load: Any, name: str, x: np.ndarray, dtype: Any) -> np.ndarray:
    y = np.zeros(len(x), dtype)
    assert load(SOURCE).call(name, np.ascontiguousarray(x), y, len(x), None) == 0
    return y


def _floats() -> np.ndarray:
    """A million floats of every exponent: random bits, and the ties and edges of the narrow types."""
    bits = np.random.default_rng(3).integers(0, 1 << 32, COUNT, dtype=np.uint32)
    halves = np.arange(1 << 16, dtype=np.uint16).view(np.float16).astype(np.float32)
    finite = halves[np.isfinite(halves)]
    with np.errstate(all="ignore"):
        ties = (finite[:-1] + finite[1:]) / 2
    return np.concatenate(
        [bits.view(np.float32), halves, ties, np.array([0, -0.0, np.inf, -np.inf, 464, 465, 61440], np.float32)]
    )


def _same_but_for_nan(got: np.ndarray, expected: np.ndarray) -> None:
    """NaNs agree that they are NaN; the device has one pattern for them, the libraries keep the payload."""
    nan = np.isnan(expected.astype(np.float64))
    assert np.isnan(got[nan].astype(np.float64)).all()
    carrier = f"u{got.itemsize}"
    np.testing.assert_array_equal(got.view(carrier)[~nan], expected.view(carrier)[~nan])


@pytest.mark.parametrize(
    ("name", "dtype"),
    [
        ("to_half", np.float16),
        ("to_bf16", ml_dtypes.bfloat16),
        ("to_e4m3", ml_dtypes.float8_e4m3fn),
        ("to_e5m2", ml_dtypes.float8_e5m2),
    ],
)
def test_narrowing(load: Any, name: str, dtype: Any) -> None:
    x = _floats()
    with np.errstate(all="ignore"):
        expected = x.astype(dtype)
    _same_but_for_nan(_mapped(load, name, x, f"u{np.dtype(dtype).itemsize}").view(dtype), expected)


@pytest.mark.parametrize(
    ("name", "dtype"),
    [
        ("from_half", np.float16),
        ("from_bf16", ml_dtypes.bfloat16),
        ("from_e4m3", ml_dtypes.float8_e4m3fn),
        ("from_e5m2", ml_dtypes.float8_e5m2),
    ],
)
def test_widening(load: Any, name: str, dtype: Any) -> None:
    carrier = f"u{np.dtype(dtype).itemsize}"
    x = np.arange(1 << (8 * np.dtype(dtype).itemsize)).astype(carrier)
    _same_but_for_nan(_mapped(load, name, x, np.float32), x.view(dtype).astype(np.float32))


def test_a_double_is_rounded_once(load: Any) -> None:
    x = np.random.default_rng(5).standard_normal(COUNT) * 10.0 ** np.random.default_rng(6).integers(-8, 5, COUNT)
    x[:4] = [1 + 2**-11 + 2**-40, 1 + 2**-11, 1 + 2**-11 - 2**-40, 65519.999]
    with np.errstate(all="ignore"):
        expected = x.astype(np.float16)
    _same_but_for_nan(_mapped(load, "double_to_half", x, np.uint16).view(np.float16), expected)


def test_towards_zero_never_grows(load: Any) -> None:
    x = _floats()
    x = x[np.isfinite(x) & (np.abs(x) < 65504)]
    got = _mapped(load, "to_half_zero", x, np.uint16).view(np.float16).astype(np.float32)
    nearest = x.astype(np.float16)
    grew = np.abs(nearest.astype(np.float32)) > np.abs(x)
    expected = np.where(grew, np.nextafter(nearest, np.float16(0)), nearest).astype(np.float32)
    np.testing.assert_array_equal(got, expected)


def test_the_class_of_e4m3_saturates(load: Any) -> None:
    x = np.array([448, 465, 1e9, np.inf, -1e9, -np.inf], np.float32)
    got = _mapped(load, "saturated", x, np.uint8).view(ml_dtypes.float8_e4m3fn).astype(np.float32)
    np.testing.assert_array_equal(got, [448, 448, 448, 448, -448, -448])


def _words() -> np.ndarray:
    return np.concatenate(
        [np.random.default_rng(9).integers(0, 1 << 32, COUNT, dtype=np.uint32), [0, 1, 1 << 31, 0xFFFFFFFF]]
    ).astype(np.uint32)


def test_integer_intrinsics(load: Any) -> None:
    x = _words()
    bits = (x[:, None] >> np.arange(32, dtype=np.uint32)) & 1
    np.testing.assert_array_equal(_mapped(load, "popcount", x, np.int32), bits.sum(1))
    np.testing.assert_array_equal(
        _mapped(load, "leading", x, np.int32), np.where(x == 0, 32, np.argmax(bits[:, ::-1], 1))
    )
    np.testing.assert_array_equal(_mapped(load, "first", x, np.int32), np.where(x == 0, 0, np.argmax(bits, 1) + 1))
    weights = (1 << np.arange(31, -1, -1)).astype(np.uint64)
    np.testing.assert_array_equal(_mapped(load, "reversed", x, np.uint32), (bits * weights).sum(1).astype(np.uint32))
    high = (x.astype(np.uint64) * np.uint64(0x9E3779B9)) >> np.uint64(32)
    np.testing.assert_array_equal(_mapped(load, "multiplied", x, np.uint32), high.astype(np.uint32))


def test_bytes_of_words(load: Any) -> None:
    x = _words()
    pool = np.concatenate([x.view(np.uint8).reshape(-1, 4), (~x).view(np.uint8).reshape(-1, 4)], axis=1)
    expected = pool[:, [4, 1, 2, 7]].copy().view(np.uint32)[:, 0]
    np.testing.assert_array_equal(_mapped(load, "permuted", x, np.uint32), expected)
    a, b = x.view(np.int8).reshape(-1, 4).astype(np.int64), (x * np.uint32(2654435761)).view(np.int8).reshape(-1, 4)
    np.testing.assert_array_equal(_mapped(load, "dotted", x, np.int32), 7 + (a * b).sum(1))


def test_a_float_clamps_to_an_integer(load: Any) -> None:
    x = _floats()
    clamped = np.clip(np.nan_to_num(x.astype(np.float64), nan=0.0, posinf=1e30, neginf=-1e30), -(2.0**31), 2.0**31 - 1)
    np.testing.assert_array_equal(_mapped(load, "to_int", x, np.int32), np.rint(clamped).astype(np.int64))
    np.testing.assert_array_equal(_mapped(load, "to_int_down", x, np.int32), np.floor(clamped).astype(np.int64))


def test_arithmetic_in_half_is_rounded_once(load: Any) -> None:
    triples = np.random.default_rng(11).integers(0, 1 << 16, (COUNT // 4, 3)).astype(np.uint16)
    a, b = (triples[:, k].view(np.float16) for k in range(2))
    records = triples.view([("a", "u2"), ("b", "u2"), ("c", "u2")])[:, 0]
    with np.errstate(all="ignore"):
        _same_but_for_nan(_mapped(load, "added_half", records, np.uint16).view(np.float16), a + b)
        p, q = (triples[:, k].view(ml_dtypes.bfloat16).astype(np.float32) for k in range(2))
        got = _mapped(load, "multiplied_bf16", records, np.uint16).view(ml_dtypes.bfloat16)
        _same_but_for_nan(got, (p.astype(np.float64) * q).astype(np.float32).astype(ml_dtypes.bfloat16))


def test_a_fused_product_in_half_is_the_nearest(load: Any) -> None:
    triples = np.random.default_rng(12).integers(0, 1 << 16, (20_000, 3)).astype(np.uint16)
    triples = triples[np.isfinite(triples.view(np.float16)).all(1)]
    records = triples.view([("a", "u2"), ("b", "u2"), ("c", "u2")])[:, 0]
    got = _mapped(load, "fused_half", records, np.uint16).view(np.float16)
    # In units of 2^-48 every operand, product and sum is a whole number, and Python's have no end.
    wholes = [[int(v * 2**24) for v in triples[:, k].view(np.float16).astype(np.float64)] for k in range(3)]
    finite = np.isfinite(got)
    assert finite.mean() > 0.5
    for index in np.flatnonzero(finite):
        exact = wholes[0][index] * wholes[1][index] + (wholes[2][index] << 24)
        errors = [abs((int(float(v) * 2**24) << 24) - exact) for v in _neighbours(got[index])]
        assert errors[0] <= min(errors[1:]), index
        assert errors[0] < min(errors[1:]) or got[index : index + 1].view(np.uint16)[0] % 2 == 0, index


def _neighbours(value: np.float16) -> list[np.float16]:
    beside = [np.nextafter(value, np.float16(np.inf)), np.nextafter(value, np.float16(-np.inf))]
    return [value, *(v for v in beside if np.isfinite(v))]
