"""Kernels as loops over the threads of a block: no thread needs a stack of its own, and the loops can be vectorised.

A kernel in which no thread ever waits becomes one loop. One whose only waits are `__syncthreads()` in its outermost
statements, or in those of loops whose header is the same for every thread, becomes a loop for each stretch between two
barriers; what a thread keeps over a barrier lies in an array with an element for each thread. (The method is that of
MCUDA: Stratton, Stone and Hwu, LCPC 2008.) Every other kernel is left as it is and runs on fibers.

The stretches see the kernel's parameters and loop variables as constants: a kernel that changes one does not compile
in this form, and its caller translates it again without splitting.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import tree_sitter

Node = tree_sitter.Node
BARRIER = b"__syncthreads"
# A thread that calls one of these may wait for another, or is asked which one it is.
_WAITS = re.compile(
    rb"__sync\w+|__shfl\w*|__ballot\w*|__any\w*|__all\w*|__match_\w+|__reduce_\w+|__activemask|__barrier\w*|__nanosleep"
    rb"|cooperative_groups|this_thread_block|this_grid|coalesced_threads|tiled_partition|nvcuda|wmma|mma_sync|barrier"
    rb"|pipeline|make_pipeline|arrive\w*|wait\w*|producer_\w+|consumer_\w+|memcpy_async|asm|__asm__|__asm|volatile|__laneid|goto"
    rb"|cub|TempStorage|(?:Block|Warp)(?:Reduce|Scan|Load|Store)"
)
_SPINS = re.compile(rb"atomic\w*|__ld\w*acquire|__threadfence\w*")
_WORD = re.compile(rb"[A-Za-z_]\w*")
_LOOPS = ("for_statement", "while_statement", "do_statement", "for_range_loop")
_UNSTEADY = ("subscript_expression", "pointer_expression", "lambda_expression", "assignment_expression")


class Unsplittable(Exception):
    """The kernel is none of those that become loops."""


@dataclass
class Stretch:
    """Statements without a barrier, which every thread runs before any goes on."""

    nodes: list[Node] = field(default_factory=list)
    declares: dict[bytes, Node] = field(default_factory=dict)


@dataclass
class Loop:
    """A loop with barriers in it, the same for every thread."""

    node: Node
    parts: list[Part]


@dataclass
class Shared:
    """A statement for the block as a whole: shared memory, a constant, a type."""

    node: Node
    names: list[bytes]


@dataclass
class Barrier:
    """`__syncthreads();`, which the end of a loop over threads makes superfluous."""

    node: Node


Part = Stretch | Loop | Shared | Barrier


def walk(node: Node) -> Iterator[Node]:
    """Yield `node` and everything below it."""
    yield node
    for child in node.children:
        yield from walk(child)


def words(text: bytes) -> set[bytes]:
    """Return every identifier and keyword in `text`, comments and all: too many is safe."""
    return set(_WORD.findall(text))


def bodies(text: bytes, root: Node) -> dict[bytes, list[bytes]]:
    """Return what each function and macro of a source may name, by its last name."""
    found: dict[bytes, list[bytes]] = {}
    for node in walk(root):
        if node.type in ("preproc_def", "preproc_function_def"):
            name = node.child_by_field_name("name")
        elif node.type == "function_definition":
            name = _function_name(node)
        else:
            continue
        if name is not None:
            last = text[name.start_byte : name.end_byte].rpartition(b"::")[2]
            found.setdefault(last, []).append(text[node.start_byte : node.end_byte])
    return found


def _function_name(node: Node) -> Node | None:
    at = node.child_by_field_name("declarator")
    while at is not None and at.type != "function_declarator":
        at = at.child_by_field_name("declarator")
    return at.child_by_field_name("declarator") if at is not None else None


@dataclass(frozen=True)
class Kernel:
    """One kernel of a source: its text, its body, and the functions and macros that it may call, by name."""

    text: bytes
    body: Node
    known: Mapping[bytes, Sequence[bytes]]

    def of(self, node: Node) -> bytes:
        """Return the text of `node`."""
        return self.text[node.start_byte : node.end_byte]

    def reached(self) -> tuple[set[bytes], bytes]:
        """Return all words of the kernel and of what it calls, and the text of what it calls."""
        seen = words(self.of(self.body))
        called: list[bytes] = []
        todo = list(seen)
        while todo:
            for text in self.known.get(todo.pop(), ()):
                if text not in called:
                    called.append(text)
                    new = words(text) - seen
                    seen |= new
                    todo += new
        return seen, b"\n".join(called)

    def barriers(self) -> list[Node]:
        """Return the statements that are nothing but a barrier."""
        return [
            node
            for node in walk(self.body)
            if node.type == "expression_statement" and re.sub(rb"\s", b"", self.of(node)) == BARRIER + b"();"
        ]


def plan(kernel: Kernel) -> tuple[list[Part] | None, bool]:
    """Return the parts of a kernel with barriers, or None for one without, and whether what it calls asks `threadIdx`.

    Raises `Unsplittable`.
    """
    seen, called = kernel.reached()
    barriers = kernel.barriers()
    mentions = kernel.of(kernel.body).count(BARRIER) + called.count(BARRIER)
    waits = {word for word in seen if _WAITS.fullmatch(word)} - {BARRIER}
    if waits or mentions != len(barriers):
        raise Unsplittable
    everything = kernel.of(kernel.body) + called
    endless = re.search(rb"\b(?:while|do)\b|\bfor\s*\([^;]*;\s*;", everything)
    if endless and any(_SPINS.fullmatch(word) for word in seen):
        raise Unsplittable
    asks = b"threadIdx" in words(called)
    if not barriers:
        return None, asks
    planned = _Planner(kernel, {node.id for node in barriers})
    return planned.sequence(kernel.body, None), asks


class _Planner:
    def __init__(self, kernel: Kernel, barriers: set[int]) -> None:
        self.kernel = kernel
        self.barriers = barriers

    def sequence(self, body: Node, loop: Node | None) -> list[Part]:
        parts: list[Part] = []
        stretch = Stretch()
        for node in body.named_children:
            if node.type in ("comment", "preproc_call"):
                continue
            part = self._apart(node)
            if part is None:
                stretch.nodes.append(node)
                stretch.declares.update(self._declared(node))
                continue
            if stretch.nodes:
                parts.append(stretch)
                stretch = Stretch()
            parts.append(part)
        if stretch.nodes:
            parts.append(stretch)
        self._check_jumps(parts, loop)
        return parts

    def _apart(self, node: Node) -> Part | None:
        """Return the part that `node` makes by itself, or None where it belongs to a stretch."""
        if node.type.startswith("preproc"):
            raise Unsplittable
        if node.id in self.barriers:
            return Barrier(node)
        if any(inner.id in self.barriers for inner in walk(node)):
            body = node.child_by_field_name("body")
            if node.type != "for_statement" or body is None or body.type != "compound_statement":
                raise Unsplittable
            self._check_header(node, body)
            return Loop(node, self.sequence(body, node))
        text = self.kernel.of(node)
        if node.type in ("type_definition", "alias_declaration", "using_declaration", "static_assert_declaration"):
            return Shared(node, [])
        if node.type == "declaration" and re.match(rb"(?:static\s+)?constexpr\b", text):
            return Shared(node, [])
        if node.type == "declaration" and re.search(rb"\b__shared__\b", text):
            return Shared(node, [self.kernel.of(name) for name in _names(node)])
        return None

    def _declared(self, node: Node) -> dict[bytes, Node]:
        if node.type != "declaration":
            return {}
        return {self.kernel.of(name): node for name in _names(node)}

    def _check_header(self, node: Node, body: Node) -> None:
        """The header may name what no thread changes: parameters, constants, the block's index, enclosing loops."""
        head = self.kernel.text[node.start_byte : body.start_byte]
        own = {self.kernel.of(name) for child in node.named_children if child != body for name in _names(child)}
        declared = {
            self.kernel.of(name)
            for each in walk(self.kernel.body)
            if each.type == "declaration" and not re.match(rb"(?:static\s+)?constexpr\b", self.kernel.of(each))
            for name in _names(each)
            if each.parent is None or each.parent.type != "for_statement"
        }
        if words(head) & (declared | {b"threadIdx"}) - own:
            raise Unsplittable
        for child in node.named_children:
            if child == body:
                continue
            for inner in walk(child):
                unsteady = inner.type in _UNSTEADY and not (
                    inner.type == "assignment_expression" and child == node.child_by_field_name("update")
                )
                if unsteady or inner.type == "call_expression" or b"->" in self.kernel.of(child):
                    raise Unsplittable
        initial = node.child_by_field_name("initializer")
        if initial is not None and initial.type != "declaration":
            raise Unsplittable

    def _check_jumps(self, parts: Sequence[Part], loop: Node | None) -> None:
        """No thread may leave the loop, or end, before others have come to the next barrier."""
        for number, part in enumerate(parts):
            if not isinstance(part, Stretch):
                continue
            last = loop is None and number == len(parts) - 1
            for node in (inner for top in part.nodes for inner in walk(top)):
                if node.type == "return_statement" and not last and not _inside(node, ("lambda_expression",)):
                    raise Unsplittable
                if node.type in ("break_statement", "continue_statement") and _jumps_out(node, loop):
                    raise Unsplittable


def _names(node: Node) -> list[Node]:
    """Return the names that a declaration declares."""
    if node.type != "declaration":
        return []
    return [declared_name(declarator) for declarator in node.children_by_field_name("declarator")]


def declared_name(node: Node) -> Node:
    """Return the name that a declarator declares."""
    while True:
        inner = node.child_by_field_name("declarator")
        if inner is None:
            inner = next((child for child in node.named_children if child.type.endswith("declarator")), None)
        if inner is None:
            return next((child for child in node.named_children if child.type == "identifier"), node)
        node = inner


def _inside(node: Node, kinds: Sequence[str]) -> bool:
    at = node.parent
    while at is not None and at.type != "function_definition":
        if at.type in kinds:
            return True
        at = at.parent
    return False


def _jumps_out(node: Node, loop: Node | None) -> bool:
    kinds = (*_LOOPS, "switch_statement") if node.type == "break_statement" else _LOOPS
    at = node.parent
    while at is not None and at.type not in kinds:
        at = at.parent
    return at is None or at == loop


def stretches(parts: Sequence[Part]) -> Iterator[Stretch]:
    """Yield every stretch, in the order of the text."""
    for part in parts:
        if isinstance(part, Stretch):
            yield part
        elif isinstance(part, Loop):
            yield from stretches(part.parts)
