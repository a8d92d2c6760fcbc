"""Inline PTX: each `asm` statement becomes C++ statements, one for each instruction.

Instructions and their operands: PTX ISA. An instruction that is not in the tables is refused by its name, and so is a
modifier that nothing honours.
"""

from __future__ import annotations

import ast
import re

import tree_sitter

from kgrade.harness.emulator.ptx.arithmetic import ARITHMETIC
from kgrade.harness.emulator.ptx.conversions import CONVERSIONS
from kgrade.harness.emulator.ptx.matrices import MATRICES
from kgrade.harness.emulator.ptx.memory import MEMORY
from kgrade.harness.emulator.ptx.statement import Build, Statement, UnknownInstruction
from kgrade.harness.emulator.ptx.warps import WARPS

__all__ = ["UnknownInstruction", "translate_asm"]

_BUILDERS: dict[str, Build] = {**ARITHMETIC, **CONVERSIONS, **MEMORY, **MATRICES, **WARPS}


def translate_asm(node: tree_sitter.Node, text: bytes) -> bytes:
    """Return the statement that stands for an `asm` expression; raise `UnknownInstruction`."""
    template, operands = _parts(node, text)
    statement = Statement(operands)
    body = re.sub(r"//[^\n]*|/\*.*?\*/", " ", template, flags=re.DOTALL)
    lines = [_instruction(statement, part) for part in _split(body)]
    made = f"do {{ {' '.join(lines)} }} while (0)".replace("\n", " ").encode()
    return made + b"\n" * text.count(b"\n", node.start_byte, node.end_byte)


def _parts(node: tree_sitter.Node, text: bytes) -> tuple[str, list[str]]:
    template = ""
    operands = []
    for child in node.children:
        raw = text[child.start_byte : child.end_byte].decode(errors="replace")
        if child.type in ("string_literal", "raw_string_literal", "concatenated_string"):
            template += _written(child, text)
        elif child.type in ("gnu_asm_output_operand_list", "gnu_asm_input_operand_list"):
            for operand in child.named_children:
                raw = text[operand.start_byte : operand.end_byte].decode(errors="replace")
                if raw.startswith("["):
                    raise UnknownInstruction(f"operand {raw.partition(']')[0]}]")
                operands.append(raw[raw.index("(") + 1 : raw.rindex(")")])
        elif child.is_named and child.type not in ("gnu_asm_qualifier", "gnu_asm_clobber_list", "comment"):
            raise UnknownInstruction(f"text {raw}")
    return template, operands


def _written(node: tree_sitter.Node, text: bytes) -> str:
    """Return the text of a literal, or of several beside each other."""
    raw = text[node.start_byte : node.end_byte].decode(errors="replace")
    if node.type == "concatenated_string":
        return "".join(_written(child, text) for child in node.named_children if child.type != "comment")
    plain = re.fullmatch(r'R"([^(]*)\((.*)\)\1"', raw, re.DOTALL)
    if plain:
        return plain[2]
    try:
        value = ast.literal_eval(raw)
    except (SyntaxError, ValueError):
        value = None
    if not isinstance(value, str):  # a macro's name, which only the preprocessor knows
        raise UnknownInstruction(f"text {raw}")
    return value


def _split(body: str) -> list[str]:
    """Instructions without the braces of scopes; braces around vectors follow an operand and stay."""
    body = re.sub(r"^\s*\{(?=\s*(?:\.reg|[a-z@]))|\}\s*$", " ", body)
    return [part.strip() for part in body.split(";") if part.strip()]


def _arguments(text: str) -> list[str]:
    return [part.strip() for part in re.findall(r"\{[^}]*\}|\[[^\]]*\]|[^,\s][^,]*", text) if part.strip()]


def _instruction(statement: Statement, text: str) -> str:
    declared = re.fullmatch(r"\.reg\s+\.(\w+)\s+(.+)", text, re.DOTALL)
    if declared:
        return statement.declare(declared[1], declared[2])
    guard = re.match(r"@(!?)(%{0,2}\w+)\s+", text)
    condition = ""
    if guard:
        condition = f"if ({guard[1]}{statement.value(guard[2])}) "
        text = text[guard.end() :]
    opcode, *rest = text.split(None, 1)
    words = opcode.split(".")
    build = _BUILDERS.get(words[0])
    try:
        made = build(statement, words, _arguments(rest[0] if rest else "")) if build is not None else ""
    except (ValueError, IndexError, KeyError):  # another number of operands, or a type that no table has
        made = ""
    if not made:
        raise UnknownInstruction(opcode)
    return f"{condition}{{ {made} }}"
