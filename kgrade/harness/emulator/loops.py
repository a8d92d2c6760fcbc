"""Writing a kernel as loops over its threads, from the parts that `splitting` found."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import tree_sitter

from kgrade.harness.emulator.splitting import (
    Barrier,
    Kernel,
    Loop,
    Part,
    Shared,
    Stretch,
    Unsplittable,
    declared_name,
    plan,
    stretches,
    walk,
    words,
)

Node = tree_sitter.Node
Apply = Callable[[int, int], bytes]
Edit = tuple[int, int, bytes]


def edits(kernel: Kernel, apply: Apply) -> list[Edit]:
    """Return the edits that make `kernel` a loop over its threads; none where it is not one of those.

    `apply` returns the text between two offsets with the edits that were made before.
    """
    try:
        parts, asks = plan(kernel)
        made = _Writer(kernel, apply, b"true" if asks else b"false")
        return made.whole() if parts is None else made.parts(parts)
    except Unsplittable:
        return []


class _Writer:
    def __init__(self, kernel: Kernel, apply: Apply, asks: bytes) -> None:
        self.kernel = kernel
        self.apply = apply
        self.asks = asks
        self.made: list[Edit] = []
        self.shared: list[bytes] = []
        self.kept: dict[bytes, Node] = {}

    def whole(self) -> list[Edit]:
        body = self.kernel.body
        head = b"{ EMU_BLOCK; emu_block.threads<%b>([=](const uint3 threadIdx) mutable EMU_IN_LOOP {" % self.asks
        return [
            (body.start_byte, body.start_byte + 1, head),
            (body.end_byte - 1, body.end_byte, b"}); }"),
        ]

    def parts(self, parts: Sequence[Part]) -> list[Edit]:
        body = self.kernel.body
        self.kept = self._kept(parts)
        self.made.append((body.start_byte, body.start_byte + 1, b"{ EMU_BLOCK;"))
        for part in parts:
            self._write(part, outermost=True)
        return self.made

    def _kept(self, parts: Sequence[Part]) -> dict[bytes, Node]:
        """Return the declarations of what is used in a later stretch than its own."""
        every = list(stretches(parts))
        used = [words(b" ".join(self.kernel.of(node) for node in stretch.nodes)) for stretch in every]
        kept: dict[bytes, Node] = {}
        for number, stretch in enumerate(every):
            for name, node in stretch.declares.items():
                before = b" ".join(self.kernel.of(each) for each in stretch.nodes if each.start_byte < node.start_byte)
                if name in kept and name in words(before):
                    raise Unsplittable  # two variables of one name in one stretch
                if any(name in found for found in used[number + 1 :]):
                    together = [other for other, its in stretch.declares.items() if its == node]
                    if any(kept.get(other, node) != node for other in together):
                        raise Unsplittable
                    kept.update(dict.fromkeys(together, node))
        return kept

    def _write(self, part: Part, outermost: bool) -> None:
        if isinstance(part, Barrier):
            self.made.append((part.node.start_byte, part.node.end_byte, b";"))
        elif isinstance(part, Shared):
            self.shared += part.names
        elif isinstance(part, Loop):
            if outermost:
                self._rooms(list(stretches([part])), part.node.start_byte)
            for inner in part.parts:
                self._write(inner, outermost=False)
        else:
            if outermost:
                self._rooms([part], part.nodes[0].start_byte)
            self._stretch(part)

    def _rooms(self, stretches: Sequence[Stretch], at: int) -> None:
        """Declare, before what stands at `at`, the arrays that hold what threads keep."""
        names = [
            name for stretch in stretches for name, node in stretch.declares.items() if self.kept.get(name) == node
        ]
        text = b"".join(self._room(name) for name in names)
        if text:
            self.made.append((at, at, text))

    def _room(self, name: bytes) -> bytes:
        node = self.kept[name]
        declarators = node.children_by_field_name("declarator")
        before = self.kernel.text[node.start_byte : declarators[0].start_byte]
        if words(before) & {b"auto", b"static", b"decltype", b"volatile", b"register", b"alignas"}:
            raise Unsplittable
        declarator = next(each for each in declarators if self.kernel.of(declared_name(each)) == name)
        if declarator.type == "init_declarator":
            declarator = declarator.child_by_field_name("declarator") or declarator
        if any(inner.type == "reference_declarator" for inner in walk(declarator)):
            raise Unsplittable
        named = declared_name(declarator)
        left = self.kernel.text[declarator.start_byte : named.start_byte]
        right = self.kernel.text[named.end_byte : declarator.end_byte]
        return b"typedef %b %bemu_of_%b%b; EMU_ROOM(%b); " % (before.strip(), left, name, right, name)

    def _stretch(self, stretch: Stretch) -> None:
        first, last = stretch.nodes[0], stretch.nodes[-1]
        used = words(b" ".join(self.kernel.of(node) for node in stretch.nodes))
        captured = b"".join(b", &" + name for name in self.shared)
        mine = b"".join(
            b"EMU_MINE(%b); " % name
            for name, node in self.kept.items()
            if name in used and node.start_byte < last.end_byte and stretch.declares.get(name, node) == node
        )
        head = b"emu_block.stretch<%b>([=%b](const uint3 threadIdx, const unsigned emu_rank) EMU_IN_LOOP { %b" % (
            self.asks, captured, mine,
        )  # fmt: skip
        self.made.append((first.start_byte, first.start_byte, head))
        for node in dict.fromkeys(stretch.declares.values()):
            if node in self.kept.values():
                self.made.append((node.start_byte, node.end_byte, self._assigned(node)))
        self.made.append((last.end_byte, last.end_byte, b" });"))

    def _assigned(self, node: Node) -> bytes:
        """Return the declaration `node` as assignments to what the thread keeps."""
        pieces = []
        for declarator in node.children_by_field_name("declarator"):
            name = self.kernel.of(declared_name(declarator))
            if declarator.type == "init_declarator":
                inner = declarator.child_by_field_name("declarator")
                assert inner is not None
                initial = self.apply(inner.end_byte, declarator.end_byte)
                pieces.append(
                    b"{ std::remove_const_t<emu_of_%b> emu_first%b; emu::keep(%b, emu_first); }" % (name, initial, name)
                )
        return b" ".join(pieces) or b";"
