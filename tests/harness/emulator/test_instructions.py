"""Every PTX instruction that runs, on a warp's worth of values, against what the PTX ISA says, in numpy.

One translation unit holds them all. Of each: the kind of its result, the letters of its operands, what is expected.
"""

# ruff: noqa: E501 (lines of the table)
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from tests.harness.emulator.lanes import (
    BY,
    LANES,
    VALUES,
    A,
    B,
    C,
    D,
    E,
    F,
    G,
    H,
    L,
    M,
    N,
    P,
    Q,
    S,
    T,
    V,
    W,
    X,
    differing,
    results,
)

pytestmark = pytest.mark.xdist_group("emulator")


def s32(v: Any) -> Any:
    return v.view(np.int32)


def s64(v: Any) -> Any:
    return v.view(np.int64)


def wide(*values: Any) -> list[list[int]]:
    """Python's own integers, lane by lane."""
    return [[int(each) for each in lane] for lane in zip(*values, strict=True)]


def each(function: Callable[..., int], *values: Any) -> Any:
    return [function(*lane) & (2**64 - 1) for lane in wide(*values)]


def flush(v: Any) -> Any:
    return np.where(np.abs(v) < np.float32(2.0**-126), np.copysign(np.float32(0), v), v)


def half(words: Any) -> Any:
    return words.view(np.float16)


def brain(words: Any) -> Any:
    return words.view(ml_dtypes.bfloat16)


def pair(values: Any, dtype: Any) -> Any:
    return values.astype(np.float64).astype(np.float32).astype(dtype).view(np.uint32)


def halves(function: Callable[..., Any], *words: Any) -> Any:
    return pair(function(*(half(each).astype(np.float64) for each in words)), np.float16)


def brains(function: Callable[..., Any], *words: Any) -> Any:
    return pair(function(*(brain(each).astype(np.float64) for each in words)), ml_dtypes.bfloat16)


def funnel(low: int, high: int, by: int, clamp: bool, left: bool) -> int:
    by = min(by, 32) if clamp else by & 31
    both = high << 32 | low
    return (both << by >> 32 if left else both >> by) & 0xFFFFFFFF


def field(a: int, position: int, length: int, width: int, signed: bool) -> int:
    position, length = position & 255, length & 255
    top = min(position + length - 1, width - 1)
    sign = signed and length and a >> top & 1
    bits = [a >> (position + i) & 1 if i < length and position + i < width else sign for i in range(width)]
    return sum(bit << i for i, bit in enumerate(bits))


def insert(a: int, b: int, position: int, length: int, width: int) -> int:
    position, length = position & 255, length & 255
    for i in range(min(length, max(0, width - position))):
        b = b & ~(1 << (position + i)) | (a >> i & 1) << (position + i)
    return b


def perm(a: int, b: int, chosen: list[int]) -> int:
    eight = [(b << 32 | a) >> 8 * i & 255 for i in range(8)]
    return sum((eight[n & 7] if not n & 8 else 255 * (eight[n & 7] >> 7)) << 8 * i for i, n in enumerate(chosen))


def dot(a: int, b: int, c: int, first: Any, second: Any) -> int:
    left, right = np.array([a], np.uint32).view(first).astype(int), np.array([b], np.uint32).view(second).astype(int)
    return (c + int((left * right[: len(left)]).sum())) % 2**32


def clip(v: Any, dtype: Any) -> Any:
    low, high = np.iinfo(dtype).min, np.iinfo(dtype).max
    return np.array([0 if x != x else int(min(max(x, low), high)) for x in v.astype(np.float64)], dtype)


def eight(high: Any, low: Any, dtype: Any) -> Any:
    largest = float(ml_dtypes.finfo(dtype).max)
    return [
        sum(int(np.float32(np.clip(v, -largest, largest)).astype(dtype).view(np.uint8)) << s for v, s in ((a, 8), (b, 0)))
        if a == a and b == b else None
        for a, b in zip(high.astype(float), low.astype(float), strict=True)
    ]  # fmt: skip


def shuffled(mode: str, by: Any, limits: int) -> Any:
    segments, clamp = limits >> 8 & 31, limits & 31
    last = (LANES & segments) | (clamp & ~segments)
    by = np.asarray(by).astype(np.int64) & 31
    source = {"up": LANES - by, "down": LANES + by, "bfly": LANES ^ by, "idx": (LANES & segments) | (by & ~segments)}[
        mode
    ]
    inside = source >= last if mode == "up" else source <= last
    return np.where(inside, source, LANES), inside


MASK = 0xFFFFFFFF
ODD = sum(1 << i for i in LANES if A[i] & 1)
SAME = [sum(1 << j for j in LANES if C[j] >> 30 == C[i] >> 30) for i in LANES]
EXACT: dict[str, tuple[str, str, Callable[[], Any]]] = {
    # Integers.
    "add.u32 %0, %1, %2;": ("r", "AB", lambda: A + B),
    "sub.s64 %0, %1, %2;": ("l", "LM", lambda: L - M),
    "mul.lo.u32 %0, %1, %2;": ("r", "AB", lambda: A * B),
    "mul.hi.s32 %0, %1, %2;": ("r", "AB", lambda: each(lambda a, b: a * b >> 32 & MASK, s32(A), s32(B))),
    "mul.hi.u64 %0, %1, %2;": ("l", "LM", lambda: each(lambda a, b: a * b >> 64, L, M)),
    "mul.wide.s32 %0, %1, %2;": ("l", "AB", lambda: each(lambda a, b: a * b, s32(A), s32(B))),
    "mad.wide.u32 %0, %1, %2, %3;": ("l", "ABL", lambda: each(lambda a, b, c: a * b + c, A, B, L)),
    "mad.lo.s32 %0, %1, %2, %3;": ("r", "ABC", lambda: A * B + C),
    "mad.hi.u32 %0, %1, %2, %3;": ("r", "ABC", lambda: each(lambda a, b, c: (a * b >> 32) + c & MASK, A, B, C)),
    "div.u32 %0, %1, %2;": ("r", "CN", lambda: each(lambda a, b: a // b, C, N)),
    "rem.s32 %0, %1, %2;": ("r", "AN", lambda: np.fmod(s32(A).astype(np.int64), s32(N)).astype(np.int32).view(np.uint32)),
    "min.s32 %0, %1, %2;": ("r", "AB", lambda: np.minimum(s32(A), s32(B)).view(np.uint32)),
    "max.u64 %0, %1, %2;": ("l", "LM", lambda: np.maximum(L, M)),
    "neg.s32 %0, %1;": ("r", "A", lambda: -A),
    "abs.s32 %0, %1;": ("r", "A", lambda: np.abs(s32(A)).view(np.uint32)),
    "sad.s32 %0, %1, %2, %3;": ("r", "ABC", lambda: each(lambda a, b, c: abs(a - b) + c & MASK, s32(A), s32(B), C)),
    "not.b64 %0, %1;": ("l", "L", lambda: ~L),
    "xor.b32 %0, %1, %2;": ("r", "AB", lambda: A ^ B),
    "shl.b32 %0, %1, %2;": ("r", "AS", lambda: each(lambda a, s: a << min(s, 64) & MASK, A, S)),
    "shr.u32 %0, %1, %2;": ("r", "AS", lambda: each(lambda a, s: a >> s, A, S)),
    "shr.s32 %0, %1, %2;": ("r", "AS", lambda: each(lambda a, s: a >> s & MASK, s32(A), S)),
    "shl.b64 %0, %1, %2;": ("l", "LS", lambda: each(lambda a, s: a << s, L, S)),
    "shr.s64 %0, %1, %2;": ("l", "LS", lambda: each(lambda a, s: a >> s, s64(L), S)),
    **{
        f"shf.{side}.{mode}.b32 %0, %1, %2, %3;": ("r", "ABS", lambda side=side, mode=mode: each(lambda a, b, s: funnel(a, b, s, mode == "clamp", side == "l"), A, B, S))
        for side in "lr" for mode in ("wrap", "clamp")
    },
    "popc.b32 %0, %1;": ("r", "A", lambda: each(lambda a: a.bit_count(), A)),
    "popc.b64 %0, %1;": ("r", "L", lambda: each(lambda a: a.bit_count(), L)),
    "clz.b32 %0, %1;": ("r", "A", lambda: each(lambda a: 32 - a.bit_length(), A)),
    "clz.b64 %0, %1;": ("r", "L", lambda: each(lambda a: 64 - a.bit_length(), L)),
    "brev.b32 %0, %1;": ("r", "A", lambda: each(lambda a: int(f"{a:032b}"[::-1], 2), A)),
    "brev.b64 %0, %1;": ("l", "L", lambda: each(lambda a: int(f"{a:064b}"[::-1], 2), L)),
    "bfind.u32 %0, %1;": ("r", "A", lambda: each(lambda a: a.bit_length() - 1 & MASK, A)),
    "bfind.s32 %0, %1;": ("r", "A", lambda: each(lambda a: (a if a >= 0 else ~a).bit_length() - 1 & MASK, s32(A))),
    "bfe.u32 %0, %1, %2, %3;": ("r", "AST", lambda: each(lambda a, p, n: field(a, p, n, 32, False), A, S, T)),
    "bfe.s32 %0, %1, %2, %3;": ("r", "AST", lambda: each(lambda a, p, n: field(a, p, n, 32, True), A, S, T)),
    "bfe.u64 %0, %1, %2, %3;": ("l", "LST", lambda: each(lambda a, p, n: field(a, p, n, 64, False), L, S, T)),
    "bfe.s64 %0, %1, %2, %3;": ("l", "LST", lambda: each(lambda a, p, n: field(a, p, n, 64, True), L, S, T)),
    "bfi.b32 %0, %1, %2, %3, %4;": ("r", "ABST", lambda: each(lambda a, b, p, n: insert(a, b, p, n, 32), A, B, S, T)),
    "bfi.b64 %0, %1, %2, %3, %4;": ("l", "LMST", lambda: each(lambda a, b, p, n: insert(a, b, p, n, 64), L, M, S, T)),
    "lop3.b32 %0, %1, %2, %3, 0x96;": ("r", "ABC", lambda: A ^ B ^ C),
    "lop3.b32 %0, %1, %2, %3, 0xca;": ("r", "ABC", lambda: (A & B) | (~A & C)),
    "prmt.b32 %0, %1, %2, %3;": ("r", "ABC", lambda: each(lambda a, b, c: perm(a, b, [c >> 4 * i & 15 for i in range(4)]), A, B, C)),
    **{
        f"prmt.b32.{mode} %0, %1, %2, %3;": ("r", "ABC", lambda choose=choose: each(lambda a, b, c: perm(a, b, choose(c & 3)), A, B, C))
        for mode, choose in {
            "f4e": lambda c: [c, c + 1, c + 2, c + 3], "b4e": lambda c: [c, (c - 1) % 8, (c - 2) % 8, (c - 3) % 8], "rc8": lambda c: [c] * 4,
            "ecl": lambda c: [max(i, c) for i in range(4)], "ecr": lambda c: [min(i, c) for i in range(4)], "rc16": lambda c: [2 * (c & 1), 2 * (c & 1) + 1] * 2,
        }.items()
    },
    **{
        f"dp4a.{left}.{right} %0, %1, %2, %3;": ("r", "ABC", lambda left=left, right=right: each(lambda a, b, c: dot(a, b, c, f"{left[0].replace('s', 'i')}1", f"{right[0].replace('s', 'i')}1"), A, B, C))
        for left in ("u32", "s32") for right in ("u32", "s32")
    },
    "dp2a.lo.s32.u32 %0, %1, %2, %3;": ("r", "ABC", lambda: each(lambda a, b, c: dot(a, b, c, "i2", "u1"), A, B, C)),
    "dp2a.hi.u32.s32 %0, %1, %2, %3;": ("r", "ABC", lambda: each(lambda a, b, c: dot(a, b >> 16, c, "u2", "i1"), A, B, C)),
    # Floating values, with what a modifier changes.
    "add.ftz.f32 %0, %1, %2;": ("f", "FG", lambda: flush(flush(F) + flush(G))),
    "add.f32 %0, %1, %2;": ("f", "FG", lambda: F + G),
    "fma.rn.f32 %0, %1, %2, %3;": ("f", "FGH", lambda: (F.astype(np.longdouble) * G + H).astype(np.float32)),
    "mul.ftz.f32 %0, %1, 0f3F800000;": ("f", "F", lambda: flush(F)),
    "min.f32 %0, %1, %2;": ("f", "FG", lambda: np.fmin(F, G)),
    "max.f32 %0, %1, %2;": ("f", "FG", lambda: np.fmax(F, G)),
    "abs.f32 %0, %1;": ("f", "F", lambda: np.abs(F)),
    "neg.ftz.f32 %0, %1;": ("f", "F", lambda: flush(-F)),
    "copysign.f32 %0, %1, %2;": ("f", "FX", lambda: np.copysign(X, F)),
    "div.rn.f32 %0, %1, %2;": ("f", "FG", lambda: F / G),
    "rcp.rn.f64 %0, %1;": ("d", "E", lambda: 1 / E),
    "sqrt.rn.f32 %0, %1;": ("f", "X", lambda: np.sqrt(X)),
    "add.f16x2 %0, %1, %2;": ("r", "PQ", lambda: halves(np.add, P, Q)),
    "mul.bf16x2 %0, %1, %2;": ("r", "VW", lambda: brains(np.multiply, V, W)),
    "fma.rn.f16x2 %0, %1, %2, %1;": ("r", "PQ", lambda: halves(lambda p, q: p * q + p, P, Q)),
    "min.f16x2 %0, %1, %2;": ("r", "PQ", lambda: halves(np.minimum, P, Q)),
    "max.bf16x2 %0, %1, %2;": ("r", "VW", lambda: brains(np.maximum, V, W)),
    "neg.f16x2 %0, %1;": ("r", "P", lambda: P ^ np.uint32(0x80008000)),
    "abs.bf16x2 %0, %1;": ("r", "V", lambda: V & np.uint32(0x7FFF7FFF)),
    # Comparisons: a NaN is neither less, equal nor greater, and unordered forms say so.
    **{
        f"{{ .reg .pred p; setp.{name}.f32 p, %1, %2; selp.u32 %0, 1, 0, p; }}": ("r", "FG", test)
        for name, test in {
            "lt": lambda: F < G, "ne": lambda: (F < G) | (F > G), "neu": lambda: F != G, "equ": lambda: ~((F < G) | (F > G)),
            "geu": lambda: ~(F < G), "num": lambda: ~(np.isnan(F) | np.isnan(G)), "nan": lambda: np.isnan(F) | np.isnan(G),
        }.items()
    },
    "{ .reg .pred p; setp.eq.ftz.f32 p, %1, 0f00000000; selp.u32 %0, 1, 0, p; }": ("r", "F", lambda: flush(F) == 0),
    "{ .reg .pred p, q; setp.hi.u32 q, %1, 77; setp.lt.and.s32 p|q, %1, %2, q; selp.b32 %0, %1, %2, p; @q add.u32 %0, %0, 1; }":
        ("r", "AB", lambda: np.where((s32(A) < s32(B)) & (A > 77), A, B) + (~(s32(A) < s32(B)) & (A > 77))),
    "{ .reg .pred p; setp.ne.u32 p, %1, %2; not.pred p, p; selp.u32 %0, 1, 0, p; }": ("r", "AB", lambda: A == B),
    "{ .reg .b32 t<3>; mov.b32 t1, %1; xor.b32 t2, t1, 5; mov.u32 %0, t2; }": ("r", "A", lambda: A ^ 5),
    # Conversions.
    "cvt.u32.u64 %0, %1;": ("r", "L", lambda: L.astype(np.uint32)),
    "cvt.s64.s32 %0, %1;": ("l", "A", lambda: s32(A).astype(np.int64).view(np.uint64)),
    "cvt.s32.s8 %0, %1;": ("r", "A", lambda: A.astype(np.uint8).view(np.int8).astype(np.int32).view(np.uint32)),
    "cvt.sat.s8.s32 %0, %1;": ("r", "A", lambda: np.clip(s32(A), -128, 127).view(np.uint32)),
    "cvt.sat.u8.s32 %0, %1;": ("r", "A", lambda: np.clip(s32(A), 0, 255).view(np.uint32)),
    **{
        f"cvt.{mode}.s32.f32 %0, %1;": ("r", "F", lambda to=to: clip(to(F), np.int32).view(np.uint32))
        for mode, to in {"rni": np.rint, "rzi": np.trunc, "rmi": np.floor, "rpi": np.ceil}.items()
    },
    "cvt.rzi.u32.f32 %0, %1;": ("r", "F", lambda: clip(np.trunc(F), np.uint32)),
    "cvt.rni.sat.s8.f32 %0, %1;": ("r", "F", lambda: clip(np.rint(F), np.int8).astype(np.int32).view(np.uint32)),
    "cvt.rni.f32.f32 %0, %1;": ("f", "F", lambda: np.rint(F)),
    "cvt.rn.f32.s32 %0, %1;": ("f", "A", lambda: s32(A).astype(np.float32)),
    "cvt.rn.f32.f64 %0, %1;": ("f", "D", lambda: D.astype(np.float32)),
    "cvt.f64.f32 %0, %1;": ("d", "F", lambda: F.astype(np.float64)),
    "cvt.rn.f16.f32 %0, %1;": ("h", "H", lambda: H.astype(np.float16).view(np.uint16)),
    "cvt.rn.f16x2.f32 %0, %1, %2;": ("r", "HX", lambda: np.stack([X, H], 1).astype(np.float16).view(np.uint32)[:, 0]),
    "cvt.rn.bf16x2.f32 %0, %1, %2;": ("r", "HX", lambda: np.stack([X, H], 1).astype(ml_dtypes.bfloat16).view(np.uint32)[:, 0]),
    "cvt.rz.bf16x2.f32 %0, %1, %2;": ("r", "HX", lambda: (H.view(np.uint32) & 0xFFFF0000) | X.view(np.uint32) >> 16),
    "cvt.rna.tf32.f32 %0, %1;": ("r", "H", lambda: (H.view(np.uint32) + 0x1000) & ~np.uint32(0x1FFF)),
    "cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;": ("h", "FX", lambda: eight(F, X, ml_dtypes.float8_e4m3fn)),
    "cvt.rn.satfinite.e5m2x2.f32 %0, %1, %2;": ("h", "HX", lambda: eight(H, X, ml_dtypes.float8_e5m2)),
    "cvt.rn.satfinite.e4m3x2.f16x2 %0, %1;": ("h", "P", lambda: eight(half(P)[1::2], half(P)[::2], ml_dtypes.float8_e4m3fn)),
    "{ .reg .b16 t; cvt.u16.u32 t, %1; cvt.rn.f16x2.e5m2x2 %0, t; }":
        ("r", "Q", lambda: pair(Q.astype(np.uint16).view(ml_dtypes.float8_e5m2).astype(np.float32), np.float16)),
    "{ .reg .b16 lo, hi; mov.b32 {lo, hi}, %1; mov.b32 %0, {hi, lo}; }": ("r", "A", lambda: A << np.uint32(16) | A >> np.uint32(16)),
    # What the lanes of a warp do together.
    "mov.u32 %0, %%laneid;": ("r", "", lambda: LANES),
    "mov.u32 %0, %%lanemask_lt;": ("r", "", lambda: (1 << LANES) - 1),
    "mov.u32 %0, %%lanemask_ge;": ("r", "", lambda: MASK - ((1 << LANES) - 1)),
    "mov.u32 %0, %%warpid;": ("r", "", lambda: 0 * LANES),
    "mov.u32 %0, %%nsmid;": ("r", "", lambda: 0 * LANES + 132),
    "mov.u32 %0, %%ntid.x;": ("r", "", lambda: 0 * LANES + 32),
    "{ .reg .u64 t0, t1; .reg .pred p; mov.u64 t0, %%clock64; mov.u64 t1, %%globaltimer; setp.lo.u64 p, t0, t1; selp.u32 %0, 1, 0, p; }":
        ("r", "", lambda: LANES >= 0),
    **{
        f"{{ .reg .pred p; shfl.sync.{mode}.b32 %0|p, %1, %2, {limits:#x}, -1; @!p add.u32 %0, %0, 1; }}":
            ("r", "AY", lambda mode=mode, limits=limits: A[shuffled(mode, BY, limits)[0]] + ~shuffled(mode, BY, limits)[1])
        for mode, limits in (("idx", 0x1F), ("idx", 0x181F), ("up", 0x0), ("down", 0x1F), ("down", 0x1807), ("bfly", 0x1F), ("bfly", 0x1C03))
    },
    "{ .reg .pred p; .reg .b32 t; and.b32 t, %1, 1; setp.ne.u32 p, t, 0; vote.sync.ballot.b32 %0, p, 0xffffffff; }": ("r", "A", lambda: 0 * LANES + ODD),
    "{ .reg .pred p; setp.ne.u32 p, %1, 0; vote.sync.all.pred p, p, 0xffffffff; selp.u32 %0, 1, 0, p; }": ("r", "A", lambda: 0 * LANES),
    "{ .reg .b32 t; shr.u32 t, %1, 30; match.any.sync.b32 %0, t, 0xffffffff; }": ("r", "C", lambda: SAME),
    "{ .reg .pred p; match.all.sync.b64 %0|p, 7, 0xffffffff; @!p mov.u32 %0, 1; }": ("r", "", lambda: 0 * LANES + MASK),
    "redux.sync.add.u32 %0, %1, 0xffffffff;": ("r", "A", lambda: 0 * LANES + int(A.sum(dtype=np.uint32))),
    "redux.sync.max.s32 %0, %1, 0xffffffff;": ("r", "A", lambda: 0 * LANES + int(s32(A).max())),
    "redux.sync.xor.b32 %0, %1, 0xffffffff;": ("r", "A", lambda: 0 * LANES + int(np.bitwise_xor.reduce(A))),
    "{ .reg .pred p; elect.sync %0|p, 0xffffffff; selp.u32 %0, 7, 0, p; }": ("r", "", lambda: np.where(LANES == 0, 7, 0)),
    "{ .reg .pred p; elect.sync _|p, 0xffffffff; selp.u32 %0, 1, 0, p; }": ("r", "", lambda: LANES == 0),
    "activemask.b32 %0;": ("r", "", lambda: 0 * LANES + MASK),
    "movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;": ("r", "A", lambda: np.ascontiguousarray(A.view(np.uint16).reshape(8, 8).T).view(np.uint32).reshape(32)),
}  # fmt: skip
NEAR: dict[str, tuple[str, str, Callable[[], Any]]] = {
    "ex2.approx.ftz.f32 %0, %1;": ("f", "H", lambda: np.exp2(H)),
    "lg2.approx.f32 %0, %1;": ("f", "X", lambda: np.log2(X)),
    "rsqrt.approx.f32 %0, %1;": ("f", "X", lambda: X**-0.5),
    "rcp.approx.ftz.f32 %0, %1;": ("f", "X", lambda: 1 / X),
    "div.full.f32 %0, %1, %2;": ("f", "HX", lambda: H / X),
    "sqrt.approx.f32 %0, %1;": ("f", "X", lambda: np.sqrt(X)),
    "tanh.approx.f32 %0, %1;": ("f", "H", lambda: np.tanh(H)),
    "sin.approx.f32 %0, %1;": ("f", "H", lambda: np.sin(H)),
    "fma.rn.f64 %0, %1, %2, %2;": ("d", "EE", lambda: E * E + E),
}


def _asm(text: str, kind: str, letters: str) -> tuple[str, str]:
    given = ", ".join(f'"{VALUES[letter]}"({letter})' for letter in letters)
    return kind, f'asm volatile("{text}" : "={kind}"(made) : {given});'


@pytest.fixture(scope="module")
def given(load: Any) -> dict[str, Any]:
    table = {**EXACT, **NEAR}
    return results(load, {text: _asm(text, kind, letters) for text, (kind, letters, _) in table.items()})


def test_each_instruction_gives_what_the_isa_says(given: dict[str, Any]) -> None:
    wrong = differing(given, {text: (kind, expected) for text, (kind, _, expected) in EXACT.items()})
    with np.errstate(all="ignore"):
        for text, (_, _, expected) in NEAR.items():
            if not np.allclose(given[text], expected(), rtol=2e-6, atol=1e-7):
                wrong.append((text, given[text], expected()))
    assert not wrong, "\n".join(map(str, wrong))
