"""The families of intrinsics, on a warp's worth of values, against numpy and ml_dtypes. One translation unit holds them."""

# ruff: noqa: E501 (lines of the table)
from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from tests.harness.emulator.lanes import A, B, C, F, H, P, Q, V, W, X, differing, results

pytestmark = pytest.mark.xdist_group("emulator")


def lanes(function: Callable[..., Any], *words: Any, kind: str) -> Any:
    """Apply `function` to every lane of packed integers, and pack what comes of it."""
    with np.errstate(over="ignore"):
        made = np.stack(np.broadcast_arrays(function(*(word.view(kind).astype(np.int64) for word in words))))
    return made.reshape(-1).astype(np.int64).astype(kind.replace("i", "u")).view(np.uint32)


def clipped(function: Callable[..., Any], *words: Any, kind: str) -> Any:
    limits = np.iinfo(kind)
    return lanes(lambda *each: np.clip(function(*each), limits.min, limits.max), *words, kind=kind)


def narrow(function: Callable[..., Any], *words: Any, dtype: Any = np.float16) -> Any:
    """Apply `function` to every narrow value as a double, and round once."""
    made = function(*(word.view(dtype).astype(np.float64) for word in words))
    return np.broadcast_to(made, 64).astype(np.float32).astype(dtype).view(np.uint32)


def mask(test: Callable[..., Any], *words: Any, dtype: Any = np.float16) -> Any:
    return (
        np.where(test(*(word.view(dtype).astype(np.float64) for word in words)), 0xFFFF, 0)
        .astype(np.uint16)
        .view(np.uint32)
    )


def low(words: Any, dtype: Any = np.float16) -> Any:
    return words.view(dtype)[::2]


def saturated(v: Any) -> Any:
    return np.clip(v, 0, 1)


P = P.copy()
P.view(np.float16)[[0, 5]] = np.nan, np.inf
V = V.copy()
V.view(ml_dtypes.bfloat16)[[1, 6]] = np.nan, -np.inf
BF = ml_dtypes.bfloat16
EACH = {"__half2": ("P", "Q", np.float16, P, Q), "__nv_bfloat162": ("V", "W", BF, V, W)}
COMPARED = {
    "eq": lambda a, b: a == b, "ne": lambda a, b: (a < b) | (a > b), "lt": lambda a, b: a < b, "ge": lambda a, b: a >= b,
    "equ": lambda a, b: ~((a < b) | (a > b)), "neu": lambda a, b: a != b, "ltu": lambda a, b: ~(a >= b), "geu": lambda a, b: ~(a < b),
}  # fmt: skip
TABLE: dict[str, tuple[str, Callable[[], Any]]] = {}
for kind, (one, two, dtype, x, y) in EACH.items():
    pa, pb = f"emu::as<{kind}>({one})", f"emu::as<{kind}>({two})"
    for name, function in {
        "__hadd2": lambda a, b: a + b, "__hsub2_rn": lambda a, b: a - b, "__hmul2": lambda a, b: a * b,
        "__h2div": lambda a, b: a / b, "__hmax2": np.fmax, "__hmin2": np.fmin, "__hmax2_nan": np.maximum, "__hmin2_nan": np.minimum,
        "__hadd2_sat": lambda a, b: saturated(np.nan_to_num(a + b, nan=0, posinf=1)),
        "__heq2": lambda a, b: (a == b) * 1.0, "__hgeu2": lambda a, b: ~(a < b) * 1.0,
    }.items():  # fmt: skip
        TABLE[f"emu::as<unsigned>({name}({pa}, {pb}))"] = (
            "r",
            lambda f=function, x=x, y=y, d=dtype: same_nan(narrow(f, x, y, dtype=d), d),
        )
    for name, holds in COMPARED.items():
        TABLE[f"__h{name}2_mask({pa}, {pb})"] = ("r", lambda t=holds, x=x, y=y, d=dtype: mask(t, x, y, dtype=d))
        TABLE[f"unsigned(__h{name}({pa}.x, {pb}.x)) + 2 * __hb{name}2({pa}, {pb})"] = (
            "r",
            lambda t=holds, x=x, y=y, d=dtype: (lambda both: both[:, 0] + 2 * both.all(1))(
                t(*(v.view(d).astype(float) for v in (x, y))).reshape(32, 2)
            ),
        )
    TABLE[f"emu::as<unsigned>(__hfma2_relu({pa}, {pb}, {pa}))"] = (
        "r",
        lambda x=x, y=y, d=dtype: same_nan(
            narrow(lambda a, b: np.where(a * b + a < 0, 0, a * b + a), x, y, dtype=d), d
        ),
    )
    TABLE[f"emu::as<unsigned>(-{pa})"] = ("r", lambda x=x: x ^ np.uint32(0x80008000))


def same_nan(words: Any, dtype: Any) -> Any:
    """Return `words` with the device's one NaN in place of every other."""
    bits = words.view(np.uint16).copy()
    bits[np.isnan(words.view(dtype).astype(float))] = 0x7FFF
    return bits.view(np.uint32)


SIGNED, UNSIGNED = {"2": "i2", "4": "i1"}, {"2": "u2", "4": "u1"}
for n in "24":
    for name, pack, of, function in (
        ("vadd", lanes, UNSIGNED, np.add), ("vsub", lanes, UNSIGNED, np.subtract),
        ("vaddss", clipped, SIGNED, np.add), ("vsubss", clipped, SIGNED, np.subtract),
        ("vaddus", clipped, UNSIGNED, np.add), ("vsubus", clipped, UNSIGNED, np.subtract),
        ("vmaxs", lanes, SIGNED, np.maximum), ("vminu", lanes, UNSIGNED, np.minimum),
        ("vabsdiffu", lanes, UNSIGNED, lambda a, b: np.abs(a - b)), ("vhaddu", lanes, UNSIGNED, lambda a, b: (a + b) >> 1),
        ("vavgu", lanes, UNSIGNED, lambda a, b: (a + b + 1) >> 1), ("vcmpgts", lanes, SIGNED, lambda a, b: -1 * (a > b)),
        ("vsetleu", lanes, UNSIGNED, lambda a, b: 1 * (a <= b)), ("vcmpne", lanes, UNSIGNED, lambda a, b: -1 * (a != b)),
    ):  # fmt: skip
        TABLE[f"__{name}{n}(A, B)"] = ("r", lambda p=pack, f=function, k=of[n]: p(f, A, B, kind=k))
    TABLE[f"__vabsss{n}(A)"] = ("r", lambda k=SIGNED[n]: clipped(np.abs, A, kind=k))
    TABLE[f"__vnegss{n}(A)"] = ("r", lambda k=SIGNED[n]: clipped(np.negative, A, kind=k))
    TABLE[f"__vsads{n}(A, B)"] = (
        "r",
        lambda k=SIGNED[n]: np.abs(A.view(k).astype(int) - B.view(k).astype(int)).reshape(32, -1).sum(1),
    )


def signed(words: Any) -> Any:
    return words.view(np.int32).astype(np.int64)


def wrapped(values: Any) -> Any:
    return values.astype(np.int64).astype(np.int32).astype(np.int64)


def inverse(function: Callable[[float], float], y: float, lowest: float, highest: float) -> float:
    """Of a rising function, by bisection."""
    for _ in range(100):
        middle = (lowest + highest) / 2
        lowest, highest = (middle, highest) if function(middle) < y else (lowest, middle)
    return (lowest + highest) / 2


TABLE |= {
    "__dp2a_lo(int(A), int(B), int(C))": ("r", lambda: C + (A.view("i2").astype(int).reshape(32, 2) * B.view("i1").astype(int).reshape(32, 4)[:, :2]).sum(1)),
    "__dp2a_hi(A, B, C)": ("r", lambda: C + (A.view("u2").astype(int).reshape(32, 2) * B.view("u1").astype(int).reshape(32, 4)[:, 2:]).sum(1)),
    "__dp4a(emu::as<char4>(A), emu::as<char4>(B), int(C))": ("r", lambda: C + (A.view("i1").astype(int) * B.view("i1").astype(int)).reshape(32, 4).sum(1)),
    "__urhadd(A, B)": ("r", lambda: (A.astype(np.uint64) + B + 1) >> np.uint64(1)),
    "__fns(A, 3, 2)": ("r", lambda: [([i for i in range(3, 32) if a >> i & 1] + [0xFFFFFFFF] * 2)[1] for a in A.tolist()]),
    "__viaddmax_s32(int(A), int(B), int(C))": ("r", lambda: np.maximum(wrapped(signed(A) + signed(B)), signed(C))),
    "__vimax3_s32_relu(int(A), int(B), int(C))": ("r", lambda: np.maximum(np.maximum(signed(A), signed(B)), np.maximum(signed(C), 0))),
    "__viaddmin_u16x2(A, B, C)": ("r", lambda: lanes(lambda a, b, c: np.minimum((a + b) & 0xFFFF, c), A, B, C, kind="u2")),
    "__half2int_ru(__float2half(F))": ("r", lambda: [0 if v != v else int(np.clip(np.ceil(v), -(2.0**31), 2**31 - 1)) for v in F.astype(np.float16).astype(float)]),
    "(unsigned short)__half2short_rd(__float2half(F))": ("r", lambda: [0 if v != v else int(np.clip(np.floor(v), -32768, 32767)) & 0xFFFF for v in F.astype(np.float16).astype(float)]),
    "__float2ll_rz(F)": ("l", lambda: [1 << 63 if v != v else int(np.clip(np.trunc(v), -(2.0**63), 2.0**63 - 1025)) if abs(v) < 1e30 else (2**63 - 1 if v > 0 else -(2**63)) for v in F.astype(float)]),
    "__float2int_rz(F)": ("r", lambda: [0 if v != v else int(np.clip(np.trunc(v), -(2.0**31), 2**31 - 1)) for v in F.astype(float)]),
    **{
        f"__half_as_ushort(__int2half_{mode}(int(A >> 12)))": ("r", lambda pick=pick: [pick(v) for v in (A >> np.uint32(12)).astype(float)])
        for mode, pick in {
            "rz": lambda v: toward(v, -math.inf), "rd": lambda v: toward(v, -math.inf), "ru": lambda v: toward(v, math.inf),
        }.items()
    },
    "__int2float_ru(int(A))": ("f", lambda: [np.nextafter(np.float32(v), np.float32(np.inf)) if float(np.float32(v)) < v else np.float32(v) for v in signed(A).astype(float)]),
    "__double2float_rd(double(A) / 3)": ("f", lambda: [np.nextafter(np.float32(v), np.float32(-np.inf)) if float(np.float32(v)) > v else np.float32(v) for v in A.astype(float) / 3]),
}  # fmt: skip
NEAR: dict[str, tuple[str, Callable[[], Any]]] = {
    "erfinvf(0.999f * sinf(H))": ("f", lambda: [inverse(math.erf, float(np.float32(0.999) * np.sin(v)), -6, 6) for v in H]),
    "erfcinvf(1e-3f * X)": ("f", lambda: [inverse(lambda t: -math.erfc(t), -1e-3 * float(v), 0, 10) for v in X]),
    "normcdfinvf(0.1f * X)": ("f", lambda: [inverse(lambda t: math.erfc(-t / math.sqrt(2)) / 2, 0.1 * float(v), -9, 9) for v in X]),
    "erfcxf(X)": ("f", lambda: [math.exp(float(v) ** 2) * math.erfc(v) for v in X]),
    "cyl_bessel_i0f(X)": ("f", lambda: np.i0(X.astype(float))),
    "rcbrt(double(X))": ("d", lambda: 1 / np.cbrt(X.astype(float))),
    "normf(2, &X_[lane & 30])": ("f", lambda: np.repeat(np.hypot(X[::2].astype(float), X[1::2].astype(float)), 2)),
}  # fmt: skip


def toward(v: float, side: float) -> int:
    """Return the bits of the half on that side of `v`."""
    near = np.float16(np.float32(v)) if v < 65520 else np.float16(np.inf)
    if (side > 0 and float(near) < v) or (side < 0 and float(near) > v):
        near = np.nextafter(near, np.float16(side))
    return int(near.view(np.uint16))


@pytest.fixture(scope="module")
def given(load: Any) -> dict[str, Any]:
    statements = {text: (kind, f"made = {text};") for text, (kind, _) in {**TABLE, **NEAR}.items()}
    return results(load, statements, P=P, V=V)


def test_every_intrinsic_is_right(given: dict[str, Any]) -> None:
    wrong = differing(given, TABLE)
    for text, (_, expected) in NEAR.items():
        if not np.allclose(given[text], expected(), rtol=1e-6):
            wrong.append((text, given[text], expected()))
    assert not wrong, "\n".join(map(str, wrong))
