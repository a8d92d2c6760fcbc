"""Moves and conversions between types."""

from __future__ import annotations

from kgrade.harness.emulator.ptx.statement import TYPES, Build, Statement, held, moved

_PARTS = {"b32": ("uint32_t", "b16", 16), "b64": ("uint64_t", "b32", 32)}
_INTEGERS = ("u8", "s8", "u16", "s16", "u32", "s32", "u64", "s64")
_REALS = ("f16", "bf16", "f32", "f64")
_WHOLE = {"rni": "nearbyint", "rzi": "trunc", "rmi": "floor", "rpi": "ceil"}
# Conversions of which each has a form of its own; fp8 always saturates, as PTX asks for.
_FORMS = {
    "rn.f16x2.f32": "emu::ptx::pack_half({0}, {1})",
    "rz.f16x2.f32": "emu::ptx::pack_half_rz({0}, {1})",
    "rn.bf16x2.f32": "emu::ptx::pack_bf16({0}, {1})",
    "rz.bf16x2.f32": "emu::ptx::pack_bf16_rz({0}, {1})",
    "rz.f16.f32": "__float2half_rz({0})",
    "rz.bf16.f32": "__float2bfloat16_rz({0})",
    "rna.tf32.f32": "emu::ptx::round_tf32({0})",
    "rn.satfinite.e4m3x2.f32": "emu::ptx::pack_fp8<emu::E4M3>({0}, {1})",
    "rn.satfinite.e5m2x2.f32": "emu::ptx::pack_fp8<emu::E5M2>({0}, {1})",
    "rn.satfinite.e4m3x2.f16x2": "emu::ptx::narrow_fp8<emu::E4M3>({0})",
    "rn.satfinite.e5m2x2.f16x2": "emu::ptx::narrow_fp8<emu::E5M2>({0})",
    "rn.f16x2.e4m3x2": "emu::ptx::widen_fp8<emu::E4M3>({0})",
    "rn.f16x2.e5m2x2": "emu::ptx::widen_fp8<emu::E5M2>({0})",
}
_SOURCES = {"f32": "f32", "f16x2": "b32", "e4m3x2": "b16", "e5m2x2": "b16"}


def _move(statement: Statement, words: list[str], arguments: list[str]) -> str:
    to, value = arguments
    if len(words) != 2 or words[1] not in TYPES:
        return ""
    if "{" not in to + value:
        return moved(statement.value(to), held(words[1], statement.value(value)))
    whole, part, bits = _PARTS[words[1]]
    if value.startswith("{"):
        low, high = statement.group(value)
        joined = f"({whole}){held(part, low)} | ({whole}){held(part, high)} << {bits}"
        return moved(statement.value(to), f"{whole}({joined})")
    low, high = statement.group(to)
    parts = f"{moved(low, f'{TYPES[part]}(emu_whole)')} {moved(high, f'{TYPES[part]}(emu_whole >> {bits})')}"
    return f"const {whole} emu_whole = {held(words[1], statement.value(value))}; {parts}"


def _convert(statement: Statement, words: list[str], arguments: list[str]) -> str:
    *modifiers, target, source = words[1:]
    to, *values = map(statement.value, arguments)
    form = _FORMS.get(".".join(words[1:]))
    if form is not None:
        seen = [held(_SOURCES[source], value) for value in values]
        return moved(to, form.format(*seen))
    (value,) = values
    made = _converted(modifiers, target, source, held(source, value))
    return moved(to, made) if made else ""


def _converted(modifiers: list[str], target: str, source: str, value: str) -> str:
    kind = TYPES[target]
    if target in _INTEGERS and source in _INTEGERS:
        return {(): f"({kind})({value})", ("sat",): f"emu::ptx::clamped<{kind}>({value})"}.get(tuple(modifiers), "")
    if target in _INTEGERS and source in _REALS:
        mode, *rest = modifiers
        if rest not in ([], ["sat"]):  # which says nothing: a conversion to an integer clamps (PTX ISA, cvt)
            return ""
        wide = "double" if source == "f64" else "float"
        return f"emu::to_integer<{kind}>(std::{_WHOLE[mode]}(({wide})({value})))"
    if target not in _REALS:
        return ""
    if source in _INTEGERS:
        return f"{kind}({value})" if modifiers == ["rn"] else ""
    if target == source:
        (mode,) = modifiers
        return f"{kind}(std::{_WHOLE[mode]}({value}))" if target in ("f32", "f64") else ""
    exact = (target, source) in {("f32", "f16"), ("f32", "bf16"), ("f64", "f16"), ("f64", "bf16"), ("f64", "f32")}
    return f"{kind}({'(float)' if source in ('f16', 'bf16') else ''}{value})" if modifiers == ["rn"][exact:] else ""


def _address(statement: Statement, words: list[str], arguments: list[str]) -> str:
    to, value = map(statement.value, arguments)
    if not {"param", "const", "shared::cluster"}.isdisjoint(words):
        return ""
    if {"shared", "shared::cta"}.isdisjoint(words):
        return moved(to, value)
    if "to" in words:
        return moved(to, f"(uint64_t)__cvta_generic_to_shared((const void*)(uintptr_t)({value}))")
    return moved(to, f"(uint64_t)__cvta_shared_to_generic({value})")


CONVERSIONS: dict[str, Build] = {"mov": _move, "cvt": _convert, "cvta": _address}
