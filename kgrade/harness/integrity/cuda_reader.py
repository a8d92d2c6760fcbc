"""What the reader of CUDA C++ host code knows while it tells that code in Python."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

from kgrade.harness.integrity.cuda_unit import Unit, line_of

if TYPE_CHECKING:
    from tree_sitter import Node

UNKNOWN_NAME = "unknown thing"
Made = TypeVar("Made", bound=ast.AST)


@dataclass(slots=True)
class Reader:
    """One text while its host code is told in Python. `before` holds what is done before the statement at hand."""

    unit: Unit
    before: list[ast.stmt] = field(default_factory=list)
    pointers: set[str] = field(default_factory=set)
    fields: set[str] = field(default_factory=set)
    kernels: set[str] = field(default_factory=set)
    inner: Callable[[Node], tuple[list[str], list[ast.stmt]]] | None = None
    depth: int = 0
    count: int = 0

    def at(self, node: Node, made: Made) -> Made:
        """`made`, at the place of `node`."""
        place = {"lineno": line_of(self.unit, node), "col_offset": node.start_point[1]}
        for name, value in place.items():
            setattr(made, name, value)
            setattr(made, "end_" + name, value)
        return made

    def name(self, node: Node, text: str) -> ast.expr:
        """A chain of names, `torch.cuda.Stream`."""
        first, *rest = text.split(".")
        made: ast.expr = self.at(node, ast.Name(first, ast.Load()))
        for part in rest:
            made = self.at(node, ast.Attribute(made, part, ast.Load()))
        return made

    def unknown(self, node: Node) -> ast.expr:
        """Something that is not known."""
        return self.name(node, UNKNOWN_NAME)

    def call(self, node: Node, name: str, arguments: Sequence[ast.expr] = ()) -> ast.expr:
        """The call of what `name` stands for."""
        made: ast.expr = self.at(node, ast.Call(self.name(node, name), list(arguments), []))
        return made

    def method(self, node: Node, owner: ast.expr, name: str, arguments: Sequence[ast.expr] = ()) -> ast.expr:
        """The call of a method."""
        called = self.at(node, ast.Attribute(owner, name, ast.Load()))
        made: ast.expr = self.at(node, ast.Call(called, list(arguments), []))
        return made

    def assign(self, node: Node, target: ast.expr, value: ast.expr) -> None:
        """Have `target = value` done before the statement at hand."""
        self.before.append(self.at(node, ast.Assign([target], value)))

    def change(self, node: Node, target: ast.expr, operator: ast.operator, value: ast.expr) -> None:
        """Have `target += value` done before the statement at hand."""
        if isinstance(target, ast.Name | ast.Attribute | ast.Subscript):
            self.before.append(self.at(node, ast.AugAssign(target, operator, value)))

    def do(self, node: Node, value: ast.expr) -> None:
        """Have `value` computed before the statement at hand."""
        self.before.append(self.at(node, ast.Expr(value)))

    def function(self, node: Node | None) -> ast.expr:
        """A lambda expression, as the name of a function that is defined before the statement at hand."""
        assert node is not None
        self.count += 1
        name = f"lambda_{self.count}"
        kept, self.before = self.before, []
        parameters, body = self.inner(node) if self.inner is not None else ([], [])
        self.before = kept
        self.before.append(self.at(node, function_of(name, parameters, body or [ast.Pass()])))
        return self.name(node, name)


def function_of(name: str, parameters: Sequence[str], body: list[ast.stmt]) -> ast.FunctionDef:
    """A function of Python with these parameters."""
    given = ast.arguments([], [ast.arg(each) for each in parameters], None, [], [], None, [])
    return ast.FunctionDef(name, given, body, [], None, None)
