"""Bodies of CUDA kernels: which pointers they store to, and what of what they load reaches what they store."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from typing import TYPE_CHECKING

from kgrade.harness.integrity import cuda_loops
from kgrade.harness.integrity.cuda_unit import Function, text_of

if TYPE_CHECKING:
    from tree_sitter import Node

_LOADS = {"__ldg", "__ldcs", "__ldca", "__ldcg", "__ldlu", "__ldcv", "ld", "load"}
_STORES = {"__stcs", "__stcg", "__stwb", "__stwt", "st", "store_matrix_sync", "store"}
_TRIFLES = {"min", "max", "fminf", "fmaxf", "float", "int", "make_float4", "make_float2", "__float2half",
            "__half2float", "__bfloat162float", "__float2bfloat16"}  # fmt: skip
_MOST = 30_000


def look(function: Function, node: Node) -> None:
    """Find what the kernel `function` stores to, and whether that depends on what it loads."""
    body = node.child_by_field_name("body")
    if body is None:
        return
    flow = _Flow(node, body)
    function.parameters = flow.parameters
    function.declared, function.wide = cuda_loops.declarations(function.text), cuda_loops.wide(function.text)
    function.stores = flow.written
    if not flow.opaque and flow.written and flow.stored:
        reached = list(flow.reached([*flow.stored, *flow.targets, *flow.conditions]))
        function.blind = not any(flow.loads(each) for each in reached)
        function.moves = not flow.mixed and _operations(flow) == 0


class _Flow:
    """The names of one kernel: what each is given, and which pointers of the caller each may stand for."""

    def __init__(self, node: Node, body: Node) -> None:
        self.parameters, self.constant = _parameters(node)
        self.values: dict[str, list[Node]] = defaultdict(list)
        self.addresses: dict[str, list[Node]] = defaultdict(list)
        self.stored: list[Node] = []
        self.conditions: list[Node] = []
        self.targets: list[Node] = []
        self.opaque = self.mixed = False
        self.shared: set[str] = set()
        self.body = body
        for each in _inside(body):
            self._visit(each)
        self.outputs = {root for each in self.targets if _points(each) for root in self.roots(each)} - self.read()
        self.written = {root for target in self.targets for root in self.roots(target)} - self.constant

    def read(self) -> set[str]:
        """The pointers of which an element is read: it stands where nothing is assigned to it."""
        targets = {each.id for each in self.targets}
        return {
            root
            for each in _inside(self.body)
            if each.id not in targets and each.type in ("subscript_expression", "pointer_expression") and _points(each)
            for root in self.roots(each)
        }

    def _visit(self, node: Node) -> None:
        if node.type == "init_declarator":
            name = _base(node.child_by_field_name("declarator"))
            value = node.child_by_field_name("value")
            if value is not None:
                self.values[name].append(value)
                self.addresses[name].append(value)
        elif node.type == "assignment_expression":
            self._assigned(node)
        elif node.type == "call_expression":
            self._called(node)
        elif node.type in ("if_statement", "conditional_expression", "while_statement"):
            condition = node.child_by_field_name("condition")
            if condition is not None:
                self.conditions.append(condition)
        elif node.type == "preproc_call" and "pragma" in text_of(node)[:12]:
            return
        elif node.type in ("asm_statement", "gnu_asm_expression", "preproc_call"):
            self.opaque = True
            self.targets += [each for each in _inside(node) if each.type == "identifier"]
        elif node.type == "declaration" and "__shared__" in text_of(node)[:60]:
            self.shared |= {_base(each) for each in node.children_by_field_name("declarator")}

    def _assigned(self, node: Node) -> None:
        target, value = node.child_by_field_name("left"), node.child_by_field_name("right")
        if target is None or value is None:
            return
        name = _base(target)
        self.values[name].append(value)
        if text_of(node.child_by_field_name("operator")) != "=":
            self.values[name].append(node)
        if not _points(target):
            self.addresses[name].append(value)
        else:
            self.values[name].append(target)
            self.targets.append(target)
            if self.roots(target) or name not in self.shared:
                self.stored.append(value)

    def _called(self, node: Node) -> None:
        called = text_of(node.child_by_field_name("function")).partition("<")[0].rpartition("::")[2]
        given = node.child_by_field_name("arguments")
        parts = given.named_children if given is not None else []
        if called in _LOADS:
            return
        if called.startswith("atomic") or called in _STORES:
            self.targets += parts[:1]
            self.stored += parts[1:]
            self.mixed |= called.startswith("atomic")
            for each in parts[:1]:
                self.values[_base(each)] += parts
            return
        for each in parts:
            pointer = each.type == "identifier" and (self.parameters.get(text_of(each)) or text_of(each) in self.shared)
            if each.type == "pointer_expression" or pointer or (each.type == "binary_expression" and self.roots(each)):
                self.targets.append(each)
                self.opaque = True

    def roots(self, node: Node, seen: frozenset[str] = frozenset()) -> set[str]:
        """The pointers of the caller that the address `node` may be computed from."""
        found: set[str] = set()
        for each in _addressed(_peeled(node)):
            name = text_of(each)
            if self.parameters.get(name):
                found.add(name)
            elif name not in seen and len(seen) < 6:
                for value in self.addresses.get(name, [])[:16]:
                    found |= self.roots(value, seen | {name})
        return found

    def reached(self, start: list[Node]) -> Iterator[Node]:
        """The nodes that the values of `start` are computed from, through names."""
        waiting, seen, count = list(start), set[str](), 0
        while waiting and count < _MOST:
            count += 1
            node = waiting.pop()
            yield node
            if node.type == "identifier" and text_of(node) not in seen:
                seen.add(text_of(node))
                waiting += self.values.get(text_of(node), [])
            if not _vanishes(node):
                waiting += node.named_children

    def loads(self, node: Node) -> bool:
        """Whether `node` reads an element that the kernel was given, or something that cannot be told."""
        if node.type in ("subscript_expression", "pointer_expression") and _points(node):
            return bool(self.roots(node) - self.outputs)
        if node.type == "call_expression":
            called = text_of(node.child_by_field_name("function")).partition("<")[0]
            return called in _LOADS or "tex" in called or "load" in called
        return False


def _vanishes(node: Node) -> bool:
    """`x - x` and `x * 0`: the same whatever x is."""
    if node.type != "binary_expression":
        return False
    operator = text_of(node.child_by_field_name("operator"))
    left, right = (text_of(node.child_by_field_name(side)).strip("() ") for side in ("left", "right"))
    if operator == "-":
        return left == right
    return operator == "*" and any(re.fullmatch(r"0*\.?0*[fF]?", each) and "0" in each for each in (left, right))


def _operations(flow: _Flow) -> int:
    """How many operations stand between what is loaded and what is stored; indices are not counted."""
    waiting, seen, count = list(flow.stored), set[str](), 0
    while waiting and count < 3:
        node = waiting.pop()
        if node.type in ("subscript_expression", "pointer_expression"):
            name = _base(node)
            waiting += [] if name in seen or flow.roots(node) else flow.values.get(name, [])
            seen.add(name)
        elif node.type == "identifier":
            if text_of(node) not in seen:
                seen.add(text_of(node))
                waiting += flow.values.get(text_of(node), [])
        elif node.type == "call_expression":
            called = text_of(node.child_by_field_name("function")).partition("<")[0].rpartition("::")[2]
            given = node.child_by_field_name("arguments")
            if called not in _LOADS:
                count += 1 if called in _TRIFLES or "cast" in called else 2
                waiting += given.named_children if given is not None else []
        else:
            count += node.type in ("binary_expression", "assignment_expression")
            waiting += node.named_children
    return count


def _parameters(node: Node) -> tuple[dict[str, bool], set[str]]:
    """The parameters of a kernel, whether each points, and those that point to what may not be changed."""
    found: dict[str, bool] = {}
    constant: set[str] = set()
    declarator = node.child_by_field_name("declarator")
    while declarator is not None and declarator.type != "function_declarator":
        inner = declarator.child_by_field_name("declarator")
        declarator = inner or next((each for each in declarator.named_children if "declarator" in each.type), None)
    spec = declarator.child_by_field_name("parameters") if declarator is not None else None
    for each in spec.named_children if spec is not None else []:
        text = text_of(each).partition("=")[0]
        names = re.findall(r"\w+", text.partition("[")[0])
        if names:
            found[names[-1]] = bool(re.search(r"[*\[]|Accessor|TensorView|span", text))
            constant |= {names[-1]} if re.search(r"\bconst\b[^*]*\*|^[^*]*\bconst\s*\*", text) else set()
    return found, constant


def _base(node: Node | None) -> str:
    """The name that an address, an element or a declarator starts from."""
    for _ in range(40):
        if node is None or node.type == "identifier":
            break
        node = (
            node.child_by_field_name("argument")
            or node.child_by_field_name("declarator")
            or node.child_by_field_name("left")
            or node.child_by_field_name("value")
            or next((each for each in reversed(node.named_children) if "type" not in each.type), None)
        )
    return text_of(node)


def _points(node: Node) -> bool:
    """Whether something stands for an element that an address leads to."""
    if node.type == "field_expression":
        inner = node.child_by_field_name("argument")
        return inner is not None and _points(inner)
    if node.type == "pointer_expression":
        return text_of(node).startswith("*")
    return node.type == "subscript_expression" or (
        node.type == "parenthesized_expression" and any(_points(each) for each in node.named_children)
    )


def _peeled(node: Node) -> Node:
    """The address of an element: `y + 3` of `*(y + 3)` and of `(y + 3)[i].x`."""
    for _ in range(40):
        inner = node.child_by_field_name("argument")
        if inner is None or not (_points(node) or node.type in ("field_expression", "pointer_expression")):
            break
        node = inner
    return node


def _addressed(node: Node) -> Iterator[Node]:
    """The names that an address is made of; what is read from memory on the way is none."""
    waiting, count = [node], 0
    while waiting and count < _MOST:
        count += 1
        each = waiting.pop()
        if each.type == "identifier":
            yield each
        elif each.type == "call_expression":
            called = text_of(each.child_by_field_name("function"))
            given = each.child_by_field_name("arguments")
            waiting += given.named_children if given is not None and "_cast" in called else []
        elif not (_points(each) and not text_of(each).startswith("&")):
            waiting += each.named_children


def _inside(node: Node) -> Iterator[Node]:
    waiting, count = [node], 0
    while waiting and count < _MOST:
        count += 1
        each = waiting.pop()
        yield each
        waiting += reversed(each.named_children)
