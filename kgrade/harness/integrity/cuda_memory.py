"""Buffers of CUDA kernels: shared arrays that nothing sets, and fixed capacities that drop what does not fit."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tree_sitter import Node

_MOST_TEXT = 400
_WARP = "32"
_READS = ("binary_expression", "parenthesized_expression", "subscript_argument_list", "return_statement")


def only_read(name: Node) -> bool:
    """Whether the name of an array stands where an element of it goes into arithmetic, or where it is declared.

    Everywhere else (an argument, a member, a reference, an address) something could write to it.
    """
    node, parent = name, name.parent
    while parent is not None and _is_array_of(parent, node):
        node, parent = parent, parent.parent
    if parent is None:
        return False
    if node == name:
        return parent.type == "array_declarator"
    if parent.type == "assignment_expression":
        return adds(parent) or parent.child_by_field_name("right") == node
    return parent.type in _READS


def _is_array_of(subscript: Node, node: Node) -> bool:
    return subscript.type == "subscript_expression" and subscript.child_by_field_name("argument") == node


def adds(assignment: Node) -> bool:
    """Whether an assignment changes what is there, as `+=` does, and sets nothing."""
    operator = assignment.child_by_field_name("operator")
    return assignment.type == "assignment_expression" and operator is not None and operator.type != "="


def unset(name: str, written: Collection[str], added: Collection[str], handed: Collection[str]) -> bool:
    """Whether nothing sets the shared array `name`: its elements are read, or added to, and that is all.

    `written` are names that are assigned to or passed on, `handed` those that stand where something could write.
    """
    return bool(name) and name not in written and (name not in handed or name in added)


_WIDE = re.compile(
    r"\b(u?(int|char|short|long)|float|double|half|__half|__nv_bfloat16|nv_bfloat16)[2348]\b|reinterpret_cast"
)


def fraction(condition: str, lengths: Collection[str]) -> list[str]:
    """Return the divisors of a loop's bound that is a fixed part of a length: `4` of `i < n / 4`.

    The 32nd part of what is none of `lengths` is the number of warps of a block.
    """
    found = re.findall(r"<=?\s*([A-Za-z_]\w*)\s*/\s*(\d+)\b", condition[:_MOST_TEXT])
    return [divisor for name, divisor in found if divisor != _WARP or name in lengths]


def reads_whole(text: str, divisor: str) -> bool:
    """Whether a kernel handles `divisor` elements a turn, by a wide type or by multiplying an index."""
    return bool(_WIDE.search(text) or re.search(rf"\*\s*{divisor}\b(?!\.)|\b{divisor}\s*\*|\+=\s*{divisor}\b", text))


def slots(declaration: str) -> set[str]:
    """Return the variables of a declaration that hold what an atomic addition returned."""
    return set(re.findall(r"\b(\w+)\s*=\s*atomic(?:Add|Inc)\b", declaration[:_MOST_TEXT]))


def constants(declaration: str) -> Mapping[str, str]:
    """Return the whole numbers that a declaration names for good."""
    if not re.match(r"\s*(static\s+)?(constexpr|const)\b", declaration):
        return {}
    return dict(re.findall(r"\b(\w+)\s*=\s*(\d+)\b", declaration[:_MOST_TEXT]))


def dropped(
    condition: str, taken: Collection[str], numbers: Mapping[str, str], *, leaves: bool = False
) -> Iterator[str]:
    """Yield the fixed bounds under which a slot of `taken` is used; what lies above has no place.

    `leaves`: where the condition holds nothing more is done, so the bound is one from above.
    """
    pattern = r"\b(\w+)\s*>=?\s*(\w+)" if leaves else r"\b(\w+)\s*<=?\s*(\w+)"
    for slot, bound in re.findall(pattern, condition[:_MOST_TEXT]):
        if slot in taken and (bound.isdigit() or bound in numbers):
            yield numbers.get(bound, bound)
