"""Every form of mma.sync that runs, with random operands against numpy in float64.

Where an element lies in the lanes is written down here as the PTX ISA states it for each shape, and not taken from the
runtime: `g` is the lane's group of four, `t` its place there, `i` the element among those of the lane.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from kgrade.harness.emulator import CannotRun, translate

pytestmark = pytest.mark.xdist_group("emulator")

# (lane, i) -> (row, column)
Place = Callable[[int, int], tuple[int, int]]


def _place(row: Callable[[int, int, int], int], column: Callable[[int, int, int], int]) -> Place:
    return lambda lane, i: (row(lane // 4, lane % 4, i), column(lane // 4, lane % 4, i))


# Of each shape and width of elements in bits: how many elements of A and B a lane has, and where they lie.
A: dict[tuple[str, int], tuple[int, Place]] = {
    ("m16n8k8", 16): (4, _place(lambda g, t, i: g if i < 2 else g + 8, lambda g, t, i: 2 * t + (i & 1))),
    ("m16n8k16", 16): (
        8,
        _place(
            lambda g, t, i: g if i < 2 or 4 <= i < 6 else g + 8,
            lambda g, t, i: 2 * t + (i & 1) + (0 if i < 4 else 8),
        ),
    ),
    ("m16n8k4", 32): (2, _place(lambda g, t, i: g if i == 0 else g + 8, lambda g, t, i: t)),
    ("m16n8k8", 32): (4, _place(lambda g, t, i: g if i in (0, 2) else g + 8, lambda g, t, i: t if i < 2 else t + 4)),
    ("m8n8k16", 8): (4, _place(lambda g, t, i: g, lambda g, t, i: 4 * t + i)),
    ("m16n8k16", 8): (8, _place(lambda g, t, i: g if i < 4 else g + 8, lambda g, t, i: 4 * t + (i & 3))),
    ("m16n8k32", 8): (
        16,
        _place(
            lambda g, t, i: g if i < 4 or 8 <= i < 12 else g + 8,
            lambda g, t, i: 4 * t + (i & 3) + (0 if i < 8 else 16),
        ),
    ),
    ("m8n8k32", 4): (8, _place(lambda g, t, i: g, lambda g, t, i: 8 * t + i)),
    ("m16n8k32", 4): (16, _place(lambda g, t, i: g if i < 8 else g + 8, lambda g, t, i: 8 * t + (i & 7))),
    ("m16n8k64", 4): (
        32,
        _place(
            lambda g, t, i: g if i < 8 or 16 <= i < 24 else g + 8,
            lambda g, t, i: 8 * t + (i & 7) + (0 if i < 16 else 32),
        ),
    ),
    ("m8n8k128", 1): (32, _place(lambda g, t, i: g, lambda g, t, i: 32 * t + i)),
    ("m16n8k128", 1): (64, _place(lambda g, t, i: g if i < 32 else g + 8, lambda g, t, i: 32 * t + (i & 31))),
    ("m16n8k256", 1): (
        128,
        _place(
            lambda g, t, i: g if i < 32 or 64 <= i < 96 else g + 8,
            lambda g, t, i: 32 * t + (i & 31) + (0 if i < 64 else 128),
        ),
    ),
    ("m8n8k4", 64): (1, _place(lambda g, t, i: g, lambda g, t, i: t)),
    ("m16n8k4", 64): (2, _place(lambda g, t, i: g if i == 0 else g + 8, lambda g, t, i: t)),
    ("m16n8k8", 64): (4, _place(lambda g, t, i: g if i in (0, 2) else g + 8, lambda g, t, i: t if i < 2 else t + 4)),
    ("m16n8k16", 64): (
        8,
        _place(
            lambda g, t, i: g if i % 2 == 0 else g + 8,
            lambda g, t, i: 2 * i + t if i % 2 == 0 else 2 * i - 2 + t,
        ),
    ),
}
B: dict[tuple[str, int], tuple[int, Place]] = {
    ("m16n8k8", 16): (2, _place(lambda g, t, i: 2 * t + i, lambda g, t, i: g)),
    ("m16n8k16", 16): (4, _place(lambda g, t, i: 2 * t + (i & 1) + (0 if i < 2 else 8), lambda g, t, i: g)),
    ("m16n8k4", 32): (1, _place(lambda g, t, i: t, lambda g, t, i: g)),
    ("m16n8k8", 32): (2, _place(lambda g, t, i: t if i == 0 else t + 4, lambda g, t, i: g)),
    ("m8n8k16", 8): (4, _place(lambda g, t, i: 4 * t + i, lambda g, t, i: g)),
    ("m16n8k16", 8): (4, _place(lambda g, t, i: 4 * t + i, lambda g, t, i: g)),
    ("m16n8k32", 8): (8, _place(lambda g, t, i: 4 * t + (i & 3) + (0 if i < 4 else 16), lambda g, t, i: g)),
    ("m8n8k32", 4): (8, _place(lambda g, t, i: 8 * t + i, lambda g, t, i: g)),
    ("m16n8k32", 4): (8, _place(lambda g, t, i: 8 * t + i, lambda g, t, i: g)),
    ("m16n8k64", 4): (16, _place(lambda g, t, i: 8 * t + (i & 7) + (0 if i < 8 else 32), lambda g, t, i: g)),
    ("m8n8k128", 1): (32, _place(lambda g, t, i: 32 * t + i, lambda g, t, i: g)),
    ("m16n8k128", 1): (32, _place(lambda g, t, i: 32 * t + i, lambda g, t, i: g)),
    ("m16n8k256", 1): (64, _place(lambda g, t, i: 32 * t + (i & 31) + (0 if i < 32 else 128), lambda g, t, i: g)),
    ("m8n8k4", 64): (1, _place(lambda g, t, i: t, lambda g, t, i: g)),
    ("m16n8k4", 64): (1, _place(lambda g, t, i: t, lambda g, t, i: g)),
    ("m16n8k8", 64): (2, _place(lambda g, t, i: t if i == 0 else t + 4, lambda g, t, i: g)),
    ("m16n8k16", 64): (4, _place(lambda g, t, i: 4 * i + t, lambda g, t, i: g)),
}
C8 = _place(lambda g, t, i: g, lambda g, t, i: 2 * t + i)
C16 = _place(lambda g, t, i: g if i < 2 else g + 8, lambda g, t, i: 2 * t + (i & 1))
# m8n8k4 of halves, where a lane belongs to one of four products: lanes 0 to 15 have the first four rows (columns of B).
QUARTER: dict[str, Place] = {
    "a row": lambda lane, i: (lane % 4 + (0 if lane < 16 else 4), i),
    "a col": lambda lane, i: (i + (0 if lane < 16 else 4), lane % 4),
    "b row": lambda lane, i: (lane % 4, i + (0 if lane < 16 else 4)),
    "b col": lambda lane, i: (i, lane % 4 + (0 if lane < 16 else 4)),
    "f16": lambda lane, i: (lane % 4 + (0 if lane < 16 else 4), i),
    "f32": lambda lane, i: (
        (lane & 1) + (i & 2) + (0 if lane < 16 else 4),
        (i & 4) + (lane & 2) + (i & 1),
    ),
}

WIDTH = {
    "f16": 16,
    "bf16": 16,
    "tf32": 32,
    "e4m3": 8,
    "e5m2": 8,
    "f64": 64,
    "s8": 8,
    "u8": 8,
    "s4": 4,
    "u4": 4,
    "b1": 1,
}
FLOATS = {
    "f16": np.float16, "bf16": ml_dtypes.bfloat16, "e4m3": ml_dtypes.float8_e4m3fn, "e5m2": ml_dtypes.float8_e5m2,
    "f32": np.float32, "f64": np.float64,
}  # fmt: skip
LIMITS = {"s8": (-128, 128), "u8": (0, 256), "s4": (-8, 8), "u4": (0, 16), "b1": (0, 2)}
# Error of a sum, as a share of the sum of magnitudes; a result in halves is rounded once more.
ROUNDING = {"f32": 2.0**-20, "f64": 2.0**-48, "f16": 2.0**-20}


@dataclass(frozen=True)
class Form:
    """One instruction: shape, layouts, modifiers, and the types of D, A, B and C."""

    shape: str
    d: str
    a: str
    b: str
    c: str
    by: str = "row.col"
    satfinite: str = ""
    bits: str = ""

    @property
    def name(self) -> str:
        return f"mma.sync.aligned.{self.shape}.{self.by}{self.satfinite}.{self.d}.{self.a}.{self.b}.{self.c}{self.bits}"

    @property
    def size(self) -> tuple[int, int, int]:
        m, k = self.shape[1:].split("n8k")
        return int(m), 8, int(k)

    @property
    def quarters(self) -> bool:
        return (self.shape, self.a) == ("m8n8k4", "f16")


def _forms() -> list[Form]:
    forms = [
        Form("m8n8k4", d, "f16", "f16", c, f"{a}.{b}")
        for d, c in (("f16", "f16"), ("f32", "f16"), ("f32", "f32"))
        for a in ("row", "col")
        for b in ("row", "col")
    ]
    for shape in ("m16n8k8", "m16n8k16"):
        forms += [Form(shape, s, "f16", "f16", s) for s in ("f16", "f32")] + [Form(shape, "f32", "bf16", "bf16", "f32")]
    forms += [Form(shape, "f32", "tf32", "tf32", "f32") for shape in ("m16n8k4", "m16n8k8")]
    eights = ("e4m3", "e5m2")
    forms += [
        Form(shape, s, a, b, s)
        for shape in ("m16n8k16", "m16n8k32")
        for s in ("f16", "f32")
        for a in eights
        for b in eights
    ]
    forms += [Form(shape, "f64", "f64", "f64", "f64") for shape in ("m8n8k4", "m16n8k4", "m16n8k8", "m16n8k16")]
    for shapes, types in (
        (("m8n8k16", "m16n8k16", "m16n8k32"), ("s8", "u8")),
        (("m8n8k32", "m16n8k32", "m16n8k64"), ("s4", "u4")),
    ):
        forms += [
            Form(shape, "s32", a, b, "s32", satfinite=end)
            for shape in shapes for a in types for b in types for end in ("", ".satfinite")
        ]  # fmt: skip
    forms += [
        Form(shape, "s32", "b1", "b1", "s32", bits=bits)
        for shape in ("m8n8k128", "m16n8k128", "m16n8k256")
        for bits in (".xor.popc", ".and.popc")
    ]
    return forms


FORMS = _forms()
ENTRY = {form: f"form_{number}" for number, form in enumerate(FORMS)}
SHORT = [
    Form("m8n8k4", "f32", "f16", "f16", "f32", "row.row"),
    Form("m16n8k8", "f16", "f16", "f16", "f16"),
    Form("m16n8k16", "f32", "bf16", "bf16", "f32"),
    Form("m16n8k32", "f32", "e4m3", "e5m2", "f32"),
    Form("m8n8k4", "f64", "f64", "f64", "f64"),
    Form("m16n8k32", "s32", "s8", "u8", "s32", satfinite=".satfinite"),
    Form("m16n8k64", "s32", "s4", "u4", "s32"),
    Form("m16n8k256", "s32", "b1", "b1", "s32", bits=".xor.popc"),
]


def _registers(kind: str, elements: int) -> tuple[str, str, int]:
    """The type of a register of elements of `kind`, its letter in a constraint, and how many hold `elements`."""
    if kind in ("f32", "f64"):
        return ("float", "f", elements) if kind == "f32" else ("double", "d", elements)
    return "uint32_t", "r", elements if kind == "s32" else elements * WIDTH[kind] // 32


def _elements(form: Form) -> tuple[int, int, int]:
    """How many elements of A, B and C a lane has."""
    if form.quarters:
        return 4, 4, 8
    key = form.shape, WIDTH[form.a]
    return A[key][0], B[key][0], form.size[0] // 4


def _source(forms: Sequence[Form]) -> str:
    """One kernel for each form: a lane's registers of A, B and C lie one after another, and so do those of D."""
    lines = ["#include <cuda_runtime.h>", "#include <cstdint>"]
    for form in forms:
        entry = ENTRY[form]
        a, b, c = _elements(form)
        kinds = (form.d, form.a, form.b, form.c)
        types = [_registers(kind, count) for kind, count in zip(kinds, (c, a, b, c), strict=True)]
        groups, operands, at = [], [], 0
        for variable, (_, letter, count) in zip("dabc", types, strict=True):
            groups.append("{" + ", ".join(f"%{at + i}" for i in range(count)) + "}")
            operands.append(", ".join(f'"{"=" * (variable == "d")}{letter}"({variable}[{i}])' for i in range(count)))
            at += count
        loads = " ".join(
            f"{kind} {v}[{count}]; for (int i = 0; i < {count}; ++i) {v}[i] = {v}_[at * {count} + i];"
            for v, (kind, _, count) in zip("abc", types[1:], strict=True)
        )
        kind, _, count = types[0]
        parameters = (
            ", ".join(f"const {t}* {v}_" for v, (t, _, _) in zip("abc", types[1:], strict=True)) + f", {kind}* d_"
        )
        lines += [
            f"__global__ void k_{entry}({parameters}) {{",
            f"  const int at = threadIdx.x; {loads} {kind} d[{count}];",
            f'  asm volatile("{form.name} {", ".join(groups)};" : {operands[0]} : {", ".join(operands[1:])});',
            f"  for (int i = 0; i < {count}; ++i) d_[at * {count} + i] = d[i];",
            "}",
            f'extern "C" int {entry}({parameters}, cudaStream_t s) {{',
            f"  k_{entry}<<<1, 32, 0, s>>>(a_, b_, c_, d_); return cudaGetLastError();",
            "}",
        ]
    return "\n".join(lines) + "\n"


def _drawn(rng: np.random.Generator, kind: str, *shape: int) -> np.ndarray:
    """Values that the type holds, as float64 (integers: int64)."""
    if kind in LIMITS:
        return rng.integers(*LIMITS[kind], shape)
    if kind == "s32":
        return rng.integers(-(2**31), 2**31, shape)
    values = rng.standard_normal(shape)
    if kind == "tf32":
        return (values.astype(np.float32).view(np.uint32) & 0xFFFFE000).view(np.float32).astype(np.float64)
    return values.astype(FLOATS[kind]).astype(np.float64)


def _bits(values: np.ndarray, kind: str) -> np.ndarray:
    """Elements of all lanes, (32, n), as what the registers hold."""
    if kind in ("f32", "f64"):
        return values.astype(FLOATS[kind])
    if kind == "s32":
        return values.astype(np.int32).view(np.uint32)
    width = WIDTH[kind]
    if kind == "tf32":
        raw = values.astype(np.float32).view(np.uint32).astype(np.uint64)
    elif kind in LIMITS:
        raw = (values & (2**width - 1)).astype(np.uint64)
    else:
        raw = values.astype(FLOATS[kind]).view(f"u{width // 8}").astype(np.uint64)
    per = 32 // width
    shifted = raw.reshape(32, -1, per) << (width * np.arange(per, dtype=np.uint64))
    return shifted.sum(2).astype(np.uint32)


def _values(registers: np.ndarray, kind: str) -> np.ndarray:
    """Elements of all lanes, (32, n), of the registers of D."""
    if kind == "f16":
        return registers.view(np.float16).astype(np.float64)
    return registers.view(np.int32).astype(np.int64) if kind == "s32" else registers.astype(np.float64)


def _held(matrix: np.ndarray, place: Place, count: int) -> np.ndarray:
    """Of a matrix (or of four) what each lane has: (32, count)."""
    rows, columns = np.array([[place(lane, i) for i in range(count)] for lane in range(32)]).transpose(2, 0, 1)
    if matrix.ndim == 2:
        return matrix[rows, columns]
    return matrix[np.arange(32)[:, None] % 16 // 4, rows, columns]


@pytest.mark.parametrize("form", SHORT, ids=lambda form: form.name[17:])
def test_a_product_is_right(load: Any, form: Form) -> None:
    _compare(load(_source(SHORT)), form)


@pytest.mark.long
@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.name[17:])
def test_every_product_is_right(load: Any, form: Form) -> None:
    _compare(load(_source(FORMS)), form)


def _compare(loaded: Any, form: Form) -> None:
    rng = np.random.default_rng(FORMS.index(form))
    m, n, k = form.size
    many = (4,) if form.quarters else ()
    a, b, c = (
        _drawn(rng, kind, *many, *shape) for kind, shape in ((form.a, (m, k)), (form.b, (k, n)), (form.c, (m, n)))
    )
    if form.quarters:
        first, second = form.by.split(".")
        places = [QUARTER[f"a {first}"], QUARTER[f"b {second}"], QUARTER[form.c], QUARTER[form.d]]
    else:
        key = form.shape, WIDTH[form.a]
        places = [A[key][1], B[key][1], *[C8 if m == 8 else C16] * 2]
    counts = _elements(form)
    given = [
        np.ascontiguousarray(_bits(_held(matrix, place, count), kind))
        for matrix, place, count, kind in zip((a, b, c), places, counts, (form.a, form.b, form.c), strict=False)
    ]
    kind, _, registers = _registers(form.d, counts[2])
    d = np.zeros((32, registers), {"float": np.float32, "double": np.float64, "uint32_t": np.uint32}[kind])
    assert loaded.call(ENTRY[form], *given, d, None) == 0
    got = _values(d, form.d)
    if form.d == "s32":
        products = (a[:, :, None] ^ b[None]).sum(1) if form.bits == ".xor.popc" else a @ b
        total = products + c
        expected = np.clip(total, -(2**31), 2**31 - 1) if form.satfinite else (total + 2**31) % 2**32 - 2**31
        assert np.array_equal(got, _held(expected, places[3], counts[2]))
        return
    expected, size = a @ b + c, np.abs(a) @ np.abs(b) + np.abs(c)
    bound = ROUNDING[form.d] * size + (2.0**-11 * np.abs(expected) + 2.0**-24 if form.d == "f16" else 0)
    wrong = np.abs(got - _held(expected, places[3], counts[2])) > _held(bound, places[3], counts[2])
    assert not wrong.any(), np.argwhere(wrong)[:5]


REFUSED = (
    "m16n8k32.row.col.f16.f16.f16.f16", "m16n8k16.row.col.f32.tf32.tf32.f32", "m16n8k16.row.col.f16.f16.f16.f32",
    "m16n8k16.row.col.f32.f16.bf16.f32", "m16n8k16.row.row.f32.f16.f16.f32", "m16n8k16.row.col.f16.bf16.bf16.f16",
    "m8n8k4.row.col.f16.f16.f16.f32", "m16n8k32.row.col.s32.s8.s4.s32", "m16n8k256.row.col.s32.b1.b1.s32",
    "m16n8k8.row.col.satfinite.f32.f16.f16.f32", "m16n8k32.row.col.kind::f8f6f4.f32.e2m1.e2m1.f32",
    "m16n8k128.row.col.satfinite.s32.b1.b1.s32.xor.popc", "m32n8k16.row.col.f32.f16.f16.f32",
)  # fmt: skip


@pytest.mark.parametrize("form", REFUSED)
def test_another_form_is_refused_by_name_and_line(form: str) -> None:
    name = f"mma.sync.aligned.{form}"
    text = f'\n__device__ void f() {{ asm("{name} {{%0, %1, %2, %3}}, {{%4}}, {{%5}}, {{%6}};" : "=r"(d)); }}\n'
    with pytest.raises(CannotRun) as refused:
        translate({"a.cu": text.encode()})
    assert (refused.value.construct, refused.value.line) == (f"the PTX instruction {name}", 2)


def test_another_number_of_registers_is_refused() -> None:
    name = "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32"
    text = f'__device__ void f() {{ asm("{name} {{%0, %1, %2, %3}}, {{%4}}, {{%5}}, {{%6}};" : "=r"(d)); }}\n'
    with pytest.raises(CannotRun, match="m16n8k8"):
        translate({"a.cu": text.encode()})
