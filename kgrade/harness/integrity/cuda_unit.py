"""One text of CUDA C++ while it is read: its functions, what they do, and what names in it mean."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from kgrade.harness.integrity import cuda_names
from kgrade.harness.integrity.model import Fact, Kind, Model, Tags

if TYPE_CHECKING:
    from tree_sitter import Node


@dataclass(slots=True)
class Function:
    """A function or kernel of the text, and what was seen in it."""

    name: str
    line: int
    is_kernel: bool
    is_device: bool
    mentions: set[str] = field(default_factory=set)
    facts: list[Fact] = field(default_factory=list)
    statics: set[str] = field(default_factory=set)
    copied: set[str] = field(default_factory=set)
    shared: dict[str, int] = field(default_factory=dict)
    assigned: set[str] = field(default_factory=set)
    added: set[str] = field(default_factory=set)
    slots: set[str] = field(default_factory=set)
    handed: set[str] = field(default_factory=set)
    passed: set[str] = field(default_factory=set)
    shortened: list[tuple[str, int]] = field(default_factory=list)
    parameters: dict[str, bool] = field(default_factory=dict)
    declared: Mapping[str, str] = field(default_factory=dict)
    wide: bool = False
    stores: set[str] = field(default_factory=set)
    blind: bool = False
    moves: bool = False
    text: str = ""
    barriers: int = 0
    operations: int = 0


@dataclass(slots=True)
class Unit:
    """One text of CUDA C++ being read; `first_line` is where it starts in the file that holds it."""

    path: str
    first_line: int
    model: Model
    aliases: dict[str, str] = field(default_factory=dict)
    used: set[str] = field(default_factory=set)
    constants: dict[str, str] = field(default_factory=dict)
    functions: dict[str, Function] = field(default_factory=dict)
    globals: set[str] = field(default_factory=set)
    exports: dict[str, str] = field(default_factory=dict)
    structs: set[str] = field(default_factory=set)


def text_of(node: Node | None) -> str:
    """The source of `node`."""
    return node.text.decode("utf-8", "replace") if node is not None and node.text is not None else ""


def declared(node: Node | None) -> str:
    """The name that a declarator declares."""
    match = re.match(r"[*&\s]*(\w+)", text_of(node))
    return match.group(1) if match else ""


def bare(text: str) -> str:
    """A name without template arguments, whatever they hold."""
    found, depth = [], 0
    for character in text[:2000]:
        if character == "<":
            depth += 1
        elif character == ">":
            depth -= 1
        elif depth <= 0 and not character.isspace():
            found.append(character)
    return "".join(found)


def line_of(unit: Unit, node: Node) -> int:
    """The line of `node` in the file that holds the text, from 1."""
    return unit.first_line + node.start_point[0]


def resolve(unit: Unit, name: str) -> str:
    """The canonical name of what `name` calls: `torch.matmul` for `at::matmul`, aliases and macros followed."""
    parts = bare(name).lstrip(":").split("::")
    for _ in range(6):
        if parts[0] not in unit.aliases or unit.aliases[parts[0]] == parts[0]:
            break
        parts = [*unit.aliases[parts[0]].lstrip(":").split("::"), *parts[1:]]
    if parts[0] in cuda_names.SPACES and len(parts) > 1:
        return ".".join([cuda_names.SPACES[parts[0]], *parts[1:]])
    if len(parts) == 1 and unit.used & {"at", "torch"} and parts[0] in cuda_names.TENSOR_MATHS:
        return "torch." + parts[0]
    if len(parts) == 1 and "thrust" in unit.used and parts[0] in cuda_names.THRUST:
        return "thrust." + parts[0]
    if len(parts) > 1 and unit.used & {"cub", "thrust"} and parts[0].startswith("Device"):
        return ".".join(["cub", *parts])
    return "::".join(parts)


def note(
    unit: Unit, function: Function, kind: Kind, name: str, node: Node, about: Tags = frozenset(), detail: str = ""
) -> None:
    """Write down what `function` does at `node`, with the branches around it."""
    guards = []
    child, parent = node, node.parent
    while parent is not None and parent.type != "function_definition":
        if parent.type == "if_statement":
            where = f"{unit.path}:{line_of(unit, parent)}"
            if child == parent.child_by_field_name("consequence"):
                guards.append(where + "+")
            elif child == parent.child_by_field_name("alternative"):
                guards.append(where + "-")
        elif parent.type == "catch_clause":
            guards.append("except")
        child, parent = parent, parent.parent
    function.facts.append(
        Fact(kind, name, unit.path, line_of(unit, node), about, guards=tuple(reversed(guards)), detail=detail)
    )
