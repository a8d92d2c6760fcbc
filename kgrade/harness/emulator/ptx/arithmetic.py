"""Arithmetic, logic and comparisons."""

from __future__ import annotations

from collections.abc import Collection

from kgrade.harness.emulator.ptx.statement import TYPES, Build, Statement, held, moved, only

_INTEGERS = ("u16", "s16", "u32", "s32", "u64", "s64")
_BITS = ("b16", "b32", "b64")
_REALS = ("f32", "f64")
_HALVES = ("f16", "f16x2", "bf16", "bf16x2")
_WORDS = ("u32", "s32", "u64", "s64")


def _function(name: str, types: Collection[str], modifiers: Collection[str] = (), needs: Collection[str] = ()) -> Build:
    """A builder for `op{.modifiers}.type d, a, b…`, which `name` computes of operands of that type.

    One of `needs` has to stand there. `.ftz` takes denormal operands and results to zero (PTX ISA, floating-point).
    """

    def build(statement: Statement, words: list[str], arguments: list[str]) -> str:
        kind = words[-1]
        flushes = "ftz" in words and kind in ("f32", "f16", "f16x2")
        if kind not in types or not only(words[1:-1], "ftz", *modifiers, *needs):
            return ""
        if needs and set(needs).isdisjoint(words):
            return ""
        to, *values = arguments
        seen = [held(kind, statement.value(value)) for value in values]
        if flushes:
            seen = [f"emu::ptx::flush({value})" for value in seen]
        made = f"{name}({', '.join(seen)})"
        return moved(statement.value(to), f"emu::ptx::flush({made})" if flushes else made)

    return build


def _either(*builds: Build) -> Build:
    """The first of some builders that knows the instruction."""

    def build(statement: Statement, words: list[str], arguments: list[str]) -> str:
        return next((made for each in builds if (made := each(statement, words, arguments))), "")

    return build


def _untyped(name: str, *forms: str, operands: int) -> Build:
    """A builder for an instruction of exactly one of `forms`, whose operands are taken as they are."""

    def build(statement: Statement, words: list[str], arguments: list[str]) -> str:
        if ".".join(words[1:]) not in forms:
            return ""
        to, *values = map(statement.value, arguments)
        return moved(to, f"{name}({', '.join(values)})") if len(values) == operands else ""

    return build


def _shift(statement: Statement, words: list[str], arguments: list[str]) -> str:
    kinds = _BITS if words[0] == "shl" else _BITS + _INTEGERS
    if len(words) != 2 or words[1] not in kinds:
        return ""
    to, value, count = map(statement.value, arguments)
    return moved(to, f"emu::ptx::{words[0]}({held(words[1], value)}, {held('u32', count)})")


def _funnel(statement: Statement, words: list[str], arguments: list[str]) -> str:
    _, side, mode, kind = words
    if side not in "lr" or kind != "b32":
        return ""
    name = f"__funnelshift_{side}{ {'wrap': '', 'clamp': 'c'}[mode] }"
    to, *values = map(statement.value, arguments)
    low, high, count = values
    return moved(to, f"{name}({low}, {high}, {count})")


def _permute(statement: Statement, words: list[str], arguments: list[str]) -> str:
    mode = {"": "emu::ptx::Bytes::any"} | {
        each: f"emu::ptx::Bytes::{each}" for each in ("f4e", "b4e", "rc8", "ecl", "ecr", "rc16")
    }
    to, a, b, c = map(statement.value, arguments)
    if words[1] != "b32":
        return ""
    return moved(to, f"emu::ptx::prmt({mode['.'.join(words[2:])]}, {a}, {b}, {c})")


def _dot(statement: Statement, words: list[str], arguments: list[str]) -> str:
    high = {"dp4a": 0, "dp2a": {"lo": 0, "hi": 1}.get(words[1])}[words[0]]
    a, b = words[1:] if words[0] == "dp4a" else words[2:]
    if high is None or {a, b} - {"u32", "s32"}:
        return ""
    to, *values = map(statement.value, arguments)
    first, second = (f"{'u' if each == 'u32' else ''}int8_t" for each in (a, b))
    if words[0] == "dp4a":
        return moved(to, f"emu::ptx::dp4a<{first}, {second}>({', '.join(values)})")
    return moved(to, f"emu::ptx::dp2a<{first.replace('8', '16')}, {second}, {high}>({', '.join(values)})")


def _product(statement: Statement, words: list[str], arguments: list[str]) -> str:
    """`mul` and `mad` of integers: the low half, the high half, or all of it."""
    if len(words) != 3:
        return ""
    _, part, kind = words
    to, a, b, *c = map(statement.value, arguments)
    if len(c) != (words[0] == "mad") or kind not in _INTEGERS:
        return ""
    wide = {"u16": "u32", "s16": "s32", "u32": "u64", "s32": "s64"}
    if part == "lo":
        made, of = f"emu::ptx::mul({held(kind, a)}, {held(kind, b)})", kind
    elif part == "hi":
        function = {"u32": "__umulhi", "s32": "__mulhi", "u64": "__umul64hi", "s64": "__mul64hi"}[kind]
        made, of = f"{function}({held(kind, a)}, {held(kind, b)})", kind
    elif part == "wide":
        of = wide[kind]
        made = f"({TYPES[of]}){held(kind, a)} * ({TYPES[of]}){held(kind, b)}"
    else:
        return ""
    return moved(to, f"({TYPES[of]})({made} + {held(of, c[0])})" if c else f"({TYPES[of]})({made})")


def _bit_field(statement: Statement, words: list[str], arguments: list[str]) -> str:
    kinds = _WORDS if words[0] == "bfe" else ("b32", "b64")
    if len(words) != 2 or words[1] not in kinds:
        return ""
    to, *values = map(statement.value, arguments)
    count = 1 if words[0] == "bfe" else 2
    seen = [held(words[1], value) for value in values[:count]] + [held("u32", value) for value in values[count:]]
    return moved(to, f"emu::ptx::{words[0]}({', '.join(seen)})") if len(values) == count + 2 else ""


_COMPARED = {
    "eq": "{a} == {b}", "ne": "{a} < {b} || {a} > {b}", "lt": "{a} < {b}", "le": "{a} <= {b}", "gt": "{a} > {b}",
    "ge": "{a} >= {b}", "equ": "!({a} < {b} || {a} > {b})", "neu": "{a} != {b}", "ltu": "!({a} >= {b})",
    "leu": "!({a} > {b})", "gtu": "!({a} <= {b})", "geu": "!({a} < {b})",
    "num": "{a} == {a} && {b} == {b}", "nan": "{a} != {a} || {b} != {b}",
    "lo": "{a} < {b}", "ls": "{a} <= {b}", "hi": "{a} > {b}", "hs": "{a} >= {b}",
}  # fmt: skip
_JOINED = {"and": "&&", "or": "||", "xor": "!="}


def _compare(statement: Statement, words: list[str], arguments: list[str]) -> str:
    _, comparison, *modifiers, kind = words
    real = kind in ("f32", "f64", "f16", "bf16")
    if (kind not in _INTEGERS + _BITS and not real) or (not real and comparison in ("equ", "neu", "num", "nan")):
        return ""
    if comparison in ("lo", "ls", "hi", "hs") and not kind.startswith("u"):
        return ""
    flushes = "ftz" in modifiers
    join = [each for each in modifiers if each != "ftz"]
    if len(join) > 1 or set(join) - set(_JOINED) or (flushes and kind != "f32") or len(arguments) != 3 + len(join):
        return ""
    a, b = (held(kind, statement.value(each)) for each in arguments[1:3])
    if flushes:
        a, b = f"emu::ptx::flush({a})", f"emu::ptx::flush({b})"
    lines = [f"const auto emu_a = {a}; const auto emu_b = {b};"]
    lines.append(f"const bool emu_yes = {_COMPARED[comparison].format(a='emu_a', b='emu_b')};")
    also = f"bool({statement.value(arguments[3])})" if join else ""
    for way, yes in (("first", "emu_yes"), ("second", "!emu_yes")):
        lines.append(f"const bool emu_{way} = {f'({yes}) {_JOINED[join[0]]} {also}' if join else yes};")
    for name, way in zip(arguments[0].split("|"), ("first", "second"), strict=False):
        if name.strip() != "_":
            lines.append(f"{statement.value(name)} = emu_{way};")
    return " ".join(lines)


def _select(statement: Statement, words: list[str], arguments: list[str]) -> str:
    if len(words) != 2 or words[1] not in TYPES:
        return ""
    to, a, b, which = map(statement.value, arguments)
    return moved(to, f"({which}) ? {held(words[1], a)} : {held(words[1], b)}")


_ROUNDED = ("rn",)
_FAST = ("approx",)
ARITHMETIC: dict[str, Build] = {
    "add": _function("emu::ptx::add", _INTEGERS + _REALS + _HALVES, _ROUNDED),
    "sub": _function("emu::ptx::sub", _INTEGERS + _REALS + _HALVES, _ROUNDED),
    "mul": _either(_product, _function("emu::ptx::mul", _REALS + _HALVES, _ROUNDED)),
    "mad": _either(_product, _function("emu::ptx::fma", _REALS, _ROUNDED)),
    "fma": _function("emu::ptx::fma", _REALS + _HALVES, (), _ROUNDED),
    "div": _either(
        _function("emu::ptx::div", _INTEGERS),
        _function("emu::ptx::real_div", _REALS, (), ("rn", "full", "approx")),
    ),
    "rem": _function("emu::ptx::rem", _INTEGERS),
    "neg": _function("emu::ptx::neg", ("s16", "s32", "s64", *_REALS, *_HALVES)),
    "abs": _function("emu::ptx::abs", ("s16", "s32", "s64", *_REALS, *_HALVES)),
    "min": _function("emu::ptx::min", _INTEGERS + _REALS + _HALVES),
    "max": _function("emu::ptx::max", _INTEGERS + _REALS + _HALVES),
    "and": _function("emu::ptx::both", (*_BITS, "pred")),
    "or": _function("emu::ptx::either", (*_BITS, "pred")),
    "xor": _function("emu::ptx::differ", (*_BITS, "pred")),
    "not": _function("emu::ptx::invert", (*_BITS, "pred")),
    "shl": _shift, "shr": _shift, "shf": _funnel, "prmt": _permute, "bfe": _bit_field, "bfi": _bit_field,
    "lop3": _untyped("emu::ptx::lop3", "b32", operands=4),
    "popc": _function("emu::ptx::popc", ("b32", "b64")), "clz": _function("emu::ptx::clz", ("b32", "b64")),
    "brev": _function("emu::ptx::brev", ("b32", "b64")), "bfind": _function("emu::ptx::bfind", _WORDS),
    "sad": _function("emu::ptx::sad", ("u32", "s32")), "dp4a": _dot, "dp2a": _dot,
    "setp": _compare, "selp": _select,
    "copysign": _function("emu::ptx::copysign", _REALS),
    "ex2": _function("emu::ptx::ex2", ("f32", *_HALVES), (), _FAST),
    "tanh": _function("emu::ptx::tanh", ("f32", *_HALVES), (), _FAST),
    "lg2": _function("log2f", ("f32",), (), _FAST), "sin": _function("sinf", ("f32",), (), _FAST),
    "cos": _function("cosf", ("f32",), (), _FAST),
    "rcp": _function("emu::ptx::rcp", _REALS, (), ("approx", "rn")),
    "rsqrt": _function("emu::ptx::rsqrt", _REALS, (), _FAST),
    "sqrt": _function("emu::ptx::sqrt", _REALS, (), ("approx", "rn")),
}  # fmt: skip
