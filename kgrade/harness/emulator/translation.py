"""From CUDA C++ to C++: launches, `__shared__` variables, inline PTX; the runtime's headers take the rest as it is.

The tree-sitter grammar for CUDA finds what has to change. Edits stay on their line, so that what the compiler and the
checks say is true of the original. A construct that the machine does not have is refused by name.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache

import tree_sitter
import tree_sitter_cuda

from kgrade.harness.emulator import loops, splitting
from kgrade.harness.emulator.constructs import (
    PROVIDED_HEADERS,
    CannotRun,
    includes,
    line_of,
    refused_header,
    refused_name,
)
from kgrade.harness.emulator.ptx import UnknownInstruction, translate_asm

SOURCES = (".cu", ".cuh", ".h", ".hpp", ".inl", ".cpp", ".cc")
_ALIGN = re.compile(rb"__align__(?=[ \t]*\()")
_FORCE_INLINE = re.compile(rb"\b(?:inline|__inline__|__inline)\b(?=[^;{}()]*\b__forceinline__\b)")
_INLINE_AFTER = re.compile(rb"\b__forceinline__\b((?:[ \t\n]+\w+)*?[ \t\n]+)(?:inline|__inline__)\b")
_LAMBDA_QUALIFIER = re.compile(rb"\](?:[ \t]*\b__(?:device|host)__\b)+")
# Devices as extensions of PyTorch name them: here the CPU is the one that they ask for.
_DEVICES = (
    (re.compile(rb"\.type\(\)\s*\.is_cuda\b"), b".is_cpu"),
    (re.compile(rb"\bis_cuda\b"), b"is_cpu"),
    (re.compile(rb"\bkCUDA\b"), b"kCPU"),
    (re.compile(rb"\b(DeviceType::|Backend::|DispatchKey::|TORCH_LIBRARY_IMPL\(\s*\w+\s*,\s*)CUDA\b"), rb"\1CPU"),
)
# Evaluated where the call stands: a literal has no other value for any thread, and `auto` would lose its meaning.
_IN_PLACE = {"number_literal", "null", "true", "false", "char_literal", "initializer_list", "string_literal"}
# Which argument is a kernel, of calls that are given its arguments by address.
_TAKES_A_KERNEL = {b"cudaLaunchKernel": 0, b"cudaLaunchCooperativeKernel": 0, b"cudaLaunchKernelExC": 1}


@cache
def _parser() -> tree_sitter.Parser:
    return tree_sitter.Parser(tree_sitter.Language(tree_sitter_cuda.language()))


@dataclass
class _File:
    """One source on its way: its text, and the edits found so far as (start, end, replacement)."""

    path: str
    text: bytes
    templates: frozenset[bytes]
    known: Mapping[bytes, Sequence[bytes]] | None = None  # what kernels may call; None: no kernel is split
    edits: list[tuple[int, int, bytes]] = field(default_factory=list)

    def refuse(self, construct: str, node: tree_sitter.Node) -> CannotRun:
        return CannotRun(construct, self.path, line_of(self.text, node.start_byte))

    def of(self, node: tree_sitter.Node) -> bytes:
        return self.text[node.start_byte : node.end_byte]


def translate(sources: Mapping[str, bytes], *, split: bool = False, torch: bool = False) -> dict[str, bytes]:
    """Return the translated text of every CUDA or C++ source, under the same relative paths.

    Other files are left out. With `split`, kernels whose threads can be run in a loop are (see `splitting`); the
    checks need each thread for itself. With `torch`, sources are extensions of it. Raises `CannotRun` at the first
    construct that CPU emulation does not have.
    """
    wanted = {path: text for path, text in sorted(sources.items()) if path.endswith(SOURCES)}
    prepared = {path: _prepared(path, _without_device(text) if torch else text) for path, text in wanted.items()}
    trees = {path: _parse(text) for path, text in prepared.items()}
    templates = frozenset(name for path, tree in trees.items() for name in _template_kernels(tree, prepared[path]))
    known: dict[bytes, list[bytes]] | None = {} if split else None
    if known is not None:
        for path, tree in trees.items():
            for name, texts in splitting.bodies(prepared[path], tree).items():
                known.setdefault(name, []).extend(texts)
    return {path: _translated(_File(path, text, templates, known), trees[path]) for path, text in prepared.items()}


def _without_device(text: bytes) -> bytes:
    """Let an extension ask for the CPU where it asks for a CUDA device; no line moves."""
    for device, processor in _DEVICES:
        text = device.sub(processor, text)
    return text


def _prepared(path: str, text: bytes) -> bytes:
    """Drop what has nothing to do here, without moving a line: headers that the runtime brings, inlining hints."""
    pieces = []
    end = 0
    for start, stop, header in includes(text):
        library = refused_header(header)
        if library is not None:
            raise CannotRun(library, path, line_of(text, start))
        if PROVIDED_HEADERS.fullmatch(header):
            pieces += [text[end:start], b" " * (stop - start)]
            end = stop
    text = b"".join([*pieces, text[end:]])
    text = _FORCE_INLINE.sub(lambda found: b" " * len(found.group()), text)
    text = _INLINE_AFTER.sub(lambda found: b"__forceinline__" + found.group(1), text)
    return re.sub(rb"\b__noinline__\b", b"            ", text)


def _parse(text: bytes) -> tree_sitter.Node:
    """Parse what the grammar knows everywhere, at the same offsets.

    `__align__(n)` is seen as `alignas(n)`, and a lambda's `__device__` is not seen.
    """
    seen = _ALIGN.sub(b"alignas  ", text)
    seen = _LAMBDA_QUALIFIER.sub(lambda found: b"]" + b" " * (len(found.group()) - 1), seen)
    return _parser().parse(seen).root_node


def _walk(node: tree_sitter.Node) -> Iterator[tree_sitter.Node]:
    yield node
    for child in node.children:
        yield from _walk(child)


def _template_kernels(root: tree_sitter.Node, text: bytes) -> Iterator[bytes]:
    for node in _walk(root):
        if node.type != "template_declaration":
            continue
        for child in node.children:
            if child.type in ("function_definition", "declaration") and any(
                c.type == "__global__" for c in child.children
            ):
                declarator = child.child_by_field_name("declarator")
                name = declarator.child_by_field_name("declarator") if declarator is not None else None
                if name is not None:
                    yield text[name.start_byte : name.end_byte]


def _translated(file: _File, root: tree_sitter.Node) -> bytes:
    _visit(file, root)
    return b'#pragma GCC visibility push(default)\n#line 1 "' + file.path.encode() + b'"\n' + _apply(file)


def _apply(file: _File, start: int = 0, end: int | None = None) -> bytes:
    """Return the text between two offsets with the edits that lie there; an edit inside another is part of it."""
    end = len(file.text) if end is None else end
    pieces = []
    at = start
    for begin, stop, replacement in sorted(file.edits, key=_insertions_first):
        if begin < at or stop > end:
            continue
        pieces += [file.text[at:begin], replacement]
        at = stop
    return b"".join([*pieces, file.text[at:end]])


def _insertions_first(edit: tuple[int, int, bytes]) -> tuple[int, bool, int]:
    start, stop, _ = edit
    return start, stop > start, -stop


def _visit(file: _File, node: tree_sitter.Node) -> None:
    """Collect edits from the inside out, so that an outer edit finds the inner ones done."""
    for child in node.children:
        _visit(file, child)
    if node.type == "call_expression" and any(child.type == "kernel_call_syntax" for child in node.children):
        _launch(file, node)
    elif node.type == "call_expression":
        _host_call(file, node)
    elif node.type in ("declaration", "field_declaration") and _is_shared(node):
        _shared(file, node)
    elif node.type == "gnu_asm_expression":
        _assembly(file, node)
    elif node.type == "function_definition" and file.known is not None:
        _split(file, node, file.known)
    elif node.type == "preproc_arg" and (b"<<<" in file.of(node) or b"asm" in file.of(node)):
        _macro(file, node)
    elif node.type in ("identifier", "type_identifier") or node.type.startswith("__cluster"):
        construct = refused_name(file.of(node))
        if construct is not None:
            raise file.refuse(construct, node)


def _split(file: _File, node: tree_sitter.Node, known: Mapping[bytes, Sequence[bytes]]) -> None:
    body = node.child_by_field_name("body")
    if body is not None and any(child.type == "__global__" for child in node.children):
        kernel = splitting.Kernel(file.text, body, known)
        file.edits += loops.edits(kernel, lambda start, end: _apply(file, start, end))


def _inside_kernel(node: tree_sitter.Node) -> bool:
    at: tree_sitter.Node | None = node
    while at is not None:
        if at.type == "function_definition" and any(child.type == "__global__" for child in at.children):
            return True
        at = at.parent
    return False


def _base_name(file: _File, node: tree_sitter.Node) -> bytes:
    """Return the last name of a callee: `k` of `ns::k<float>`."""
    while True:
        inner = node.child_by_field_name("name")
        if inner is None:
            return file.of(node)
        node = inner


def _launch(file: _File, node: tree_sitter.Node) -> None:
    if _inside_kernel(node):
        raise file.refuse("a kernel launched from a kernel (dynamic parallelism)", node)
    callee, syntax = node.children[0], node.children[1]
    arguments = node.child_by_field_name("arguments")
    if arguments is None:
        raise file.refuse("a launch without arguments", node)
    configuration = _apply(file, syntax.start_byte + 3, syntax.end_byte - 3)
    target = _apply(file, callee.start_byte, callee.end_byte)
    name = _base_name(file, callee)
    parameters: list[bytes] = []
    passed: list[bytes] = []
    captured: list[bytes] = []
    for argument in (child for child in arguments.named_children if child.type != "comment"):
        text = _apply(file, argument.start_byte, argument.end_byte)
        if argument.type in _IN_PLACE:
            passed.append(text)
            continue
        parameters.append(b"auto emu_%d" % len(parameters))
        passed.append(b"emu_%d" % len(captured))
        captured.append(text)
    if b"__VA_ARGS__" in captured:
        # One argument in the macro's text, any number where it is used.
        parameters, passed = [b"auto... emu_all"], [b"emu_all..."]
        captured = [_apply(file, child.start_byte, child.end_byte) for child in arguments.named_children]
    address = b"nullptr" if name in file.templates else b"emu::address_of(" + target + b")"
    call = b"[=](" + b", ".join(parameters) + b") { " + target + b"(" + b", ".join(passed) + b"); }"
    text = b'emu::launch(emu::Configuration(%b), emu::Kernel{"%b", %b}, %b)' % (
        configuration,
        re.sub(rb"\W", b"_", name),
        address,
        b", ".join([call, *captured]),
    )
    file.edits.append((node.start_byte, node.end_byte, text))


def _host_call(file: _File, node: tree_sitter.Node) -> None:
    """Let calls of the host API that take a kernel by its address have the kernel itself."""
    function, arguments = node.child_by_field_name("function"), node.child_by_field_name("arguments")
    if function is None or arguments is None:
        return
    name = file.of(function)
    given = [child for child in arguments.named_children if child.type != "comment"]
    if name == b"cudaFuncSetAttribute" and given:
        _name_the_kernel(file, given[0])
    elif name in _TAKES_A_KERNEL and len(given) > _TAKES_A_KERNEL[name]:
        kernel = given[_TAKES_A_KERNEL[name]]
        value = kernel.child_by_field_name("value") if kernel.type == "cast_expression" else None
        if value is None and kernel.type == "call_expression" and file.of(kernel).startswith(b"reinterpret_cast"):
            value = kernel.child_by_field_name("arguments")
        if value is not None:  # its type says what the arguments are
            file.edits.append((kernel.start_byte, kernel.end_byte, _apply(file, value.start_byte, value.end_byte)))


def _name_the_kernel(file: _File, first: tree_sitter.Node) -> None:
    """`cudaFuncSetAttribute(kernel<…>, …)` of a template goes by the kernel's name, as its launches do."""
    for part in _walk(first):
        if part.type == "identifier" and file.of(part) in file.templates:
            file.edits.append((first.start_byte, first.end_byte, b'emu::Named{"' + file.of(part) + b'"}'))
            return


def _is_shared(node: tree_sitter.Node) -> bool:
    return any(
        child.type == "type_qualifier" and child.children and child.children[0].type == "__shared__"
        for child in node.children
    )


def _declared_name(node: tree_sitter.Node) -> tree_sitter.Node:
    while True:
        inner = node.child_by_field_name("declarator")
        if inner is None:
            inner = next((child for child in node.named_children if child.type.endswith("declarator")), None)
        if inner is None:
            return next((c for c in node.children if c.type in ("identifier", "field_identifier")), node)
        node = inner


def _shared(file: _File, node: tree_sitter.Node) -> None:
    declarators = node.children_by_field_name("declarator")
    if not declarators:
        raise file.refuse("this form of a __shared__ declaration", node)
    specifiers = []
    for child in node.children:
        if child.start_byte >= declarators[0].start_byte:
            break
        text = file.of(child)
        if (
            child.type == "storage_class_specifier"
            or text == b"__shared__"
            or text.startswith((b"alignas", b"__align__"))
        ):
            continue
        specifiers.append(_apply(file, child.start_byte, child.end_byte))
    extern = any(file.of(child) == b"extern" for child in node.children)
    base = b" ".join(specifiers)
    pieces = []
    for declarator in declarators:
        if declarator.type == "init_declarator":
            raise file.refuse("a __shared__ variable with an initial value", declarator)
        name_node = _declared_name(declarator)
        name = file.of(name_node)
        if extern:
            static = b"" if _in_function(node) else b"static "
            pieces.append(b"%bEMU_DYNAMIC_SHARED(%b, %b);" % (static, base, name))
            continue
        before = _apply(file, declarator.start_byte, name_node.start_byte)
        after = _apply(file, name_node.end_byte, declarator.end_byte)
        first = name if not pieces else file.of(_declared_name(declarators[0]))
        if not pieces:
            pieces.append(b"typedef %b emu_base_%b;" % (base, first))
        pieces.append(
            b'typedef emu_base_%b %bemu_type_%b%b; emu_type_%b& %b = emu::shared_variable<emu_type_%b>([] {}, "%b");'
            % (first, before, name, after, name, name, name, name)
        )
    newlines = b"\n" * file.of(node).count(b"\n")
    text = b" ".join(pieces)
    file.edits.append((node.start_byte, node.end_byte, text + newlines[: max(0, len(newlines) - text.count(b"\n"))]))


def _in_function(node: tree_sitter.Node) -> bool:
    at = node.parent
    while at is not None:
        if at.type in ("function_definition", "lambda_expression"):
            return True
        at = at.parent
    return False


def _assembly(file: _File, node: tree_sitter.Node) -> None:
    try:
        file.edits.append((node.start_byte, node.end_byte, translate_asm(node, file.text)))
    except UnknownInstruction as unknown:
        raise file.refuse(f"the PTX instruction {unknown}", node) from unknown


def _macro(file: _File, node: tree_sitter.Node) -> None:
    """Translate the body of a macro: as statements where it parses as such, else as declarations."""
    body = file.of(node).replace(b"\\\n", b" \n")
    best: tuple[_File, tree_sitter.Node, bytes, bytes] | None = None
    for head, tail in ((b"void emu_macro() { ", b" ; }"), (b"", b"")):
        inner = _File(file.path, head + body + tail, file.templates)
        # A pasted name is one name; the same length keeps the offsets.
        root = _parse(inner.text.replace(b"##", b"__"))
        if best is None or not root.has_error:
            best = (inner, root, head, tail)
        if not root.has_error:
            break
    assert best is not None
    inner, root, head, tail = best
    try:
        _visit(inner, root)
    except CannotRun as refused:
        line = line_of(file.text, node.start_byte) + refused.line - 1
        raise CannotRun(refused.construct, file.path, line) from refused
    if inner.edits:
        text = _apply(inner)[len(head) : len(_apply(inner)) - len(tail)]
        file.edits.append((node.start_byte, node.end_byte, text.replace(b" \n", b"\\\n")))
