"""Matrices that the lanes of a warp hold between them: ldmatrix, stmatrix, movmatrix and mma.sync."""

from __future__ import annotations

import re
from dataclasses import dataclass

from kgrade.harness.emulator.ptx.statement import SITE, Build, Statement, held, moved, only


@dataclass(frozen=True)
class _Operand:
    """A type that mma.sync multiplies: its name in the runtime, and how many elements a register holds.

    Those of one `family` may be multiplied with each other. `sums` are the types that D and C may both have.
    """

    name: str
    held: int
    family: str
    sums: tuple[str, ...]
    shapes: tuple[str, ...]


_EIGHT_BITS = ("m8n8k16", "m16n8k16", "m16n8k32")
_FOUR_BITS = ("m8n8k32", "m16n8k32", "m16n8k64")
_OPERANDS = {
    "f16": _Operand("F16", 2, "f16", ("f32", "f16"), ("m16n8k8", "m16n8k16")),
    "bf16": _Operand("BF16", 2, "bf16", ("f32",), ("m16n8k8", "m16n8k16")),
    "tf32": _Operand("TF32", 1, "tf32", ("f32",), ("m16n8k4", "m16n8k8")),
    "e4m3": _Operand("FP8E4M3", 4, "fp8", ("f32", "f16"), ("m16n8k16", "m16n8k32")),
    "e5m2": _Operand("FP8E5M2", 4, "fp8", ("f32", "f16"), ("m16n8k16", "m16n8k32")),
    "f64": _Operand("F64", 1, "f64", ("f64",), ("m8n8k4", "m16n8k4", "m16n8k8", "m16n8k16")),
    "s8": _Operand("S8", 4, "int8", ("s32",), _EIGHT_BITS),
    "u8": _Operand("U8", 4, "int8", ("s32",), _EIGHT_BITS),
    "s4": _Operand("S4", 8, "int4", ("s32",), _FOUR_BITS),
    "u4": _Operand("U4", 8, "int4", ("s32",), _FOUR_BITS),
    "b1": _Operand("B1", 32, "b1", ("s32",), ("m8n8k128", "m16n8k128", "m16n8k256")),
}
_SUMS = {"f32": "float", "f64": "double", "s32": "int", "f16": "unsigned"}
_MMA = re.compile(
    r"mma\.sync\.aligned\.(?P<shape>m(?P<m>\d+)n8k(?P<k>\d+))\.(?P<a_by>row|col)\.(?P<b_by>row|col)"
    r"(?P<saturates>\.satfinite)?\.(?P<d>\w+)\.(?P<a>\w+)\.(?P<b>\w+)\.(?P<c>\w+)(?:\.(?P<bits>xor|and)\.popc)?"
)


def _matrices(words: list[str]) -> int:
    """Return how many 8 x 8 matrices of 16 bits are moved, 0 where it is another form."""
    known = only(words[1:], "sync", "m8n8", "x1", "x2", "x4", "trans", "shared", "shared::cta", "b16")
    return next((int(word[1:]) for word in words if word in ("x1", "x2", "x4")), 0) if known and "m8n8" in words else 0


def _load_matrix(statement: Statement, words: list[str], arguments: list[str]) -> str:
    count, targets = _matrices(words), statement.group(arguments[0])
    if count != len(targets):
        return ""
    given = " ".join(moved(target, f"emu_out[{i}]") for i, target in enumerate(targets))
    template = f"<{count}, {'true' if 'trans' in words else 'false'}>"
    at = statement.address(arguments[1], words)
    return f"unsigned emu_out[{count}]; emu::ptx::ldmatrix{template}(emu_out, {at}, {SITE}); {given}"


def _store_matrix(statement: Statement, words: list[str], arguments: list[str]) -> str:
    count, values = _matrices(words), statement.group(arguments[1])
    if count != len(values):
        return ""
    at = statement.address(arguments[0], words)
    given = ", ".join(held("b32", value) for value in values)
    template = f"<{count}, {'true' if 'trans' in words else 'false'}>"
    return f"const unsigned emu_in[] = {{{given}}}; emu::ptx::stmatrix{template}({at}, emu_in, {SITE});"


def _move_matrix(statement: Statement, words: list[str], arguments: list[str]) -> str:
    if words[1:] != ["sync", "aligned", "m8n8", "trans", "b16"]:
        return ""
    to, value = map(statement.value, arguments)
    return moved(to, f"emu::ptx::transpose({held('b32', value)}, {SITE})")


def _multiply(statement: Statement, words: list[str], arguments: list[str]) -> str:
    """`mma.sync` of the shapes and types that have a row in `_OPERANDS`, and m8n8k4 of halves."""
    form = _MMA.fullmatch(".".join(words))
    if form is None:
        return ""
    if (form["shape"], form["a"]) == ("m8n8k4", "f16"):
        return _multiply_quarters(statement, form, arguments)
    first, second = _OPERANDS[form["a"]], _OPERANDS[form["b"]]
    integers = first.sums == ("s32",)
    if first.family != second.family or form["shape"] not in first.shapes or (form["a_by"], form["b_by"]) != _USUAL:
        return ""
    if form["d"] != form["c"] or form["d"] not in first.sums or bool(form["bits"]) != (first.family == "b1"):
        return ""
    if form["saturates"] and (not integers or first.family == "b1"):
        return ""
    rows, registers = int(form["m"]), int(form["k"]) // (4 * first.held)
    half = form["d"] == "f16"
    sums = rows // 8 if half else rows // 4
    template = [first.name, second.name, str(rows), str(registers)]
    if not half:
        product = "Differing" if form["bits"] == "xor" else "Times"  # of single bits, a product is what both have
        template += [product, "long long" if form["saturates"] else _SUMS[form["d"]]]
    name = f"{'mma_half' if half else 'mma'}<{', '.join(f'emu::ptx::{t}' if t in _NAMES else t for t in template)}>"
    counts = (sums, registers * rows // 8, registers, sums)
    return _product(statement, name, counts, (form["d"], form["a"], form["c"]), arguments)


def _multiply_quarters(statement: Statement, form: re.Match[str], arguments: list[str]) -> str:
    sums = (form["d"], form["c"])
    if form["b"] != "f16" or sums not in _QUARTERS or form["saturates"] or form["bits"]:
        return ""
    by = ", ".join("true" if form[each] == "row" else "false" for each in ("a_by", "b_by"))
    counts = (4 if sums[0] == "f16" else 8, 2, 2, 4 if sums[1] == "f16" else 8)
    return _product(statement, f"mma_quarters<{by}>", counts, (sums[0], "f16", sums[1]), arguments)


def _product(
    statement: Statement, name: str, counts: tuple[int, ...], types: tuple[str, str, str], arguments: list[str]
) -> str:
    """Call a function of the runtime with the registers of A, B and C, of which there have to be `counts`, D first."""
    d, a, b, c = (statement.group(argument) for argument in arguments)
    if (len(d), len(a), len(b), len(c)) != counts:
        return ""
    wide = types[1] == "f64"
    lists = [
        ", ".join(held(kind, value) for value in group)
        for kind, group in (
            ("f64" if wide else "b32", a),
            ("f64" if wide else "b32", b),
            (_BITS.get(types[2], types[2]), c),
        )
    ]
    register = "double" if wide else "unsigned"
    given = " ".join(moved(target, f"emu_d[{i}]") for i, target in enumerate(d))
    return (
        f"const {register} emu_a[] = {{{lists[0]}}}, emu_b[] = {{{lists[1]}}}; "
        f"const {_SUMS[types[2]]} emu_c[] = {{{lists[2]}}}; {_SUMS[types[0]]} emu_d[{len(d)}]; "
        f"emu::ptx::{name}(emu_d, emu_a, emu_b, emu_c, {SITE}); {given}"
    )


_USUAL = ("row", "col")
_QUARTERS = (("f32", "f32"), ("f32", "f16"), ("f16", "f16"))  # types of D and C
_NAMES = {operand.name for operand in _OPERANDS.values()} | {"Times", "Differing"}
_BITS = {"f16": "b32"}
MATRICES: dict[str, Build] = {
    "ldmatrix": _load_matrix, "stmatrix": _store_matrix, "movmatrix": _move_matrix, "mma": _multiply,
}  # fmt: skip
