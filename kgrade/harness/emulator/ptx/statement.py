"""The operands of one `asm` statement, as C++ expressions, and what all instructions share."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field


class UnknownInstruction(Exception):
    """An instruction for which the runtime has no function."""


TYPES = {
    "b8": "uint8_t", "u8": "uint8_t", "s8": "int8_t", "b16": "uint16_t", "u16": "uint16_t", "s16": "int16_t",
    "b32": "uint32_t", "u32": "uint32_t", "s32": "int32_t", "b64": "uint64_t", "u64": "uint64_t", "s64": "int64_t",
    "f16": "__half", "bf16": "__nv_bfloat16", "f16x2": "__half2", "bf16x2": "__nv_bfloat162",
    "f32": "float", "f64": "double", "pred": "bool",
}  # fmt: skip
SITE = "emu::Site::here()"

_SPECIAL = {
    "laneid": "emu::lane()", "warpid": "(emu::machine.rank / 32)", "nwarpid": "64u", "smid": "0u",
    "nsmid": "emu::multiprocessors()", "gridid": "0ull", "dynamic_smem_size": "emu::machine.dynamic_bytes",
    "lanemask_eq": "emu::ptx::special_lanemask(0)", "lanemask_lt": "emu::ptx::special_lanemask(-1)",
    "lanemask_gt": "emu::ptx::special_lanemask(1)",
    "lanemask_le": "(emu::ptx::special_lanemask(-1) | emu::ptx::special_lanemask(0))",
    "lanemask_ge": "(emu::ptx::special_lanemask(1) | emu::ptx::special_lanemask(0))",
    "clock": "unsigned(clock64())", "clock64": "clock64()", "clock_hi": "unsigned(clock64() >> 32)",
    "globaltimer": "clock64()", "globaltimer_lo": "unsigned(clock64())", "globaltimer_hi": "unsigned(clock64() >> 32)",
    **{f"{word}.{axis}": f"{name}.{axis}" for axis in "xyz" for word, name in
       (("tid", "threadIdx"), ("ntid", "blockDim"), ("ctaid", "blockIdx"), ("nctaid", "gridDim"))},
}  # fmt: skip
# An operand of asm, a floating constant by its bits, a number, a name.
_PART = re.compile(
    r"%(?P<operand>\d+)|0[fF](?P<single>[0-9a-fA-F]{8})\b|0[dD](?P<double>[0-9a-fA-F]{16})\b"
    r"|(?P<number>0[xX][0-9a-fA-F]+U?|\d[\w.]*)|(?P<name>%{0,2}[A-Za-z_$][\w$]*(?:\.[xyz]\b)?)"
)
_COUNTED = re.compile(r"(%{0,2}[A-Za-z_$][\w$]*)<(\d+)>")
_MOST_REGISTERS = 1024


@dataclass
class Statement:
    """One asm statement: the C++ expressions of its operands, outputs first, and the registers that it declares."""

    operands: Sequence[str]
    registers: dict[str, str] = field(default_factory=dict)

    def declare(self, kind: str, names: str) -> str:
        """Return the declaration of `.reg .kind names`; no name is one that the surrounding code may use."""
        if kind not in TYPES:
            raise UnknownInstruction(f".reg .{kind}")
        made = []
        for text in (each.strip() for each in names.split(",")):
            counted = _COUNTED.fullmatch(text)
            count = int(counted[2]) if counted else 0
            if count > _MOST_REGISTERS:
                raise UnknownInstruction(f".reg .{kind} {text}")
            for name in [f"{counted[1]}{i}" for i in range(count)] if counted else [text]:
                bare = name.lstrip("%")
                if not re.fullmatch(r"[A-Za-z_$][\w$]*", bare):
                    raise UnknownInstruction(f".reg .{kind} {name}")
                self.registers[bare] = f"emu_reg_{bare}"
                made.append(f"{TYPES[kind]} emu_reg_{bare}{{}};")
        return " ".join(made)

    def value(self, text: str) -> str:
        """Return the C++ expression of one PTX operand."""
        return _PART.sub(self._part, text.strip())

    def group(self, text: str) -> list[str]:
        """Return the expressions of `{a, b}`, or of a single operand."""
        return [self.value(part) for part in text.strip().strip("{}").split(",")]

    def address(self, text: str, words: Sequence[str]) -> str:
        """Return the pointer that `[a]` or `[a + 16]` stands for in the space of memory that `words` name."""
        base, *offset = re.split(r"(?=[+-])", text.strip().strip("[]"), maxsplit=1)
        inside = f"emu::ptx::held<uint64_t>({self.value(base)}){self.value(''.join(offset))}"  # it may be a pointer
        shared = not {"shared", "shared::cta"}.isdisjoint(words)
        return f"emu::ptx::{'shared' if shared else 'global'}({inside})"

    def _part(self, found: re.Match[str]) -> str:
        if found["operand"]:
            return f"({self.operands[int(found['operand'])]})"
        if found["single"]:
            return f"emu::as<float>(0x{found['single']}u)"
        if found["double"]:
            return f"emu::as<double>(0x{found['double']}ull)"
        if found["number"]:
            return found["number"]
        name = found["name"].lstrip("%")
        if name in self.registers:
            return self.registers[name]
        if found["name"].startswith("%") and name in _SPECIAL:
            return _SPECIAL[name]
        if name == "WARP_SZ":
            return "32"
        raise UnknownInstruction(f"special register %{name}" if found["name"].startswith("%") else f"operand {name}")


# Makes the statements of one instruction of its words and its operands; an empty text where nothing stands for it.
Build = Callable[[Statement, list[str], list[str]], str]


def moved(to: str, value: str) -> str:
    """Return what puts `value` into a register: bits, where one is an integer and the other a floating value."""
    return f"emu::ptx::move({to}, {value});"


def held(kind: str, value: str) -> str:
    """Return `value` as an instruction of type `kind` sees it."""
    return f"emu::ptx::held<{TYPES[kind]}>({value})"


def only(words: Sequence[str], *known: str) -> bool:
    """Say whether every modifier is among those `known`, or one that says nothing of a value: a scope, a cache hint."""
    return all(word in known or word in _UNSEEN or word.startswith(("L1::", "L2::")) for word in words)


_UNSEEN = {"gpu", "cta", "sys", "cluster", "aligned", "weak"}
