"""CUDA C++ by tree-sitter: kernels, launches, library calls, what the host looks at. Comments are no code."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from functools import cache
from typing import TYPE_CHECKING

from kgrade.harness.integrity import cuda_host, cuda_kernels, cuda_loops, cuda_memory, cuda_names, vocabulary
from kgrade.harness.integrity.cuda_reach import settle
from kgrade.harness.integrity.cuda_unit import Function, Unit, bare, declared, line_of, note, resolve, text_of
from kgrade.harness.integrity.model import Fact, Model
from kgrade.harness.integrity.python import Ask

if TYPE_CHECKING:
    from tree_sitter import Node, Parser

SUFFIXES = (".cu", ".cuh", ".cpp", ".cc", ".cxx", ".h", ".hpp", ".c", ".hip")
MOST_BYTES = 4 << 20
_MOST_NODES = 1_500_000
_ARITHMETIC = {
    "mma_sync", "__hfma2", "__hfma", "atomicAdd", "wgmma", "expf", "__expf", "exp", "fmaf", "sqrtf", "rsqrtf",
}  # fmt: skip


@cache
def _parser() -> Parser:
    import tree_sitter_cuda
    from tree_sitter import Language, Parser

    return Parser(Language(tree_sitter_cuda.language()))


def read(
    path: str,
    data: bytes,
    model: Model,
    entries: Collection[str] | None,
    first_line: int = 1,
    ask: Ask | None = None,
    *,
    native: bool = False,
) -> bool:
    """Read CUDA C++ into `model`; return whether it holds host functions.

    `entries` are the functions called from outside (None: all that host code holds). `native`: they are called with
    pointers by the harness, as `ask` says.
    """
    if len(data) > MOST_BYTES:
        model.facts.append(Fact("unreadable", f"larger than {MOST_BYTES >> 20} MB", path, first_line))
        return False
    tree = _parser().parse(_pasted(data.replace(b"\0", b" ")))
    unit = Unit(path, first_line, model)
    _declarations(unit, tree.root_node)
    for function, node in _walk(tree.root_node):
        if node.type == "template_type":
            _accumulator(unit, node)
        if function is not None:
            _visit(unit, unit.functions[_name_of(function)], node)
    if not unit.functions and data.strip() and tree.root_node.has_error:
        model.facts.append(Fact("unreadable", "not CUDA C++ that can be parsed", path, first_line))
    called = settle(unit, entries)
    cuda_host.read(unit, tree.root_node, called, ask or Ask(), native=native)
    return any(not (each.is_kernel or each.is_device) for each in unit.functions.values())


def _pasted(data: bytes) -> bytes:
    """The text with `CAT(a, b)` replaced by `ab`, where CAT is a macro that pastes its two arguments together."""
    for match in re.finditer(
        rb"^[ \t]*#[ \t]*define[ \t]+(\w+)\((\w+)[ \t]*,[ \t]*(\w+)\)[ \t]*(\w+)[ \t]*##[ \t]*(\w+)[ \t]*$", data, re.M
    ):
        name, first, second, left, right = match.groups()
        if (left, right) == (first, second):
            data = re.sub(rb"\b" + name + rb"\([ \t]*([\w:]{1,60})[ \t]*,[ \t]*(\w{1,60})[ \t]*\)", rb"\1\2", data)
    return data


def _walk(root: Node) -> Iterator[tuple[Node | None, Node]]:
    """Every named node, with the function definition around it; bounded, and without recursion."""
    waiting: list[tuple[Node | None, Node]] = [(None, root)]
    count = 0
    while waiting:
        function, node = waiting.pop()
        count += 1
        if count > _MOST_NODES:
            return
        yield function, node
        inner = node if node.type == "function_definition" else function
        waiting.extend((inner, child) for child in reversed(node.named_children))


def _accumulator(unit: Unit, node: Node) -> None:
    """Tensor-core accumulators of half precision; an alias of the type is enough to see them."""
    if re.search(r"fragment<[\w:]*accumulator,(.*,)?(__)?half(,\w+)?>", "".join(text_of(node)[:400].split())):
        line = line_of(unit, node)
        unit.model.facts.append(Fact("accumulator", "float16", unit.path, line, frozenset({"summed"}), live=True))


def _name_of(function: Node) -> str:
    node = function.child_by_field_name("declarator")
    while node is not None and node.type not in (
        "identifier",
        "qualified_identifier",
        "field_identifier",
        "operator_name",
    ):
        inner = node.child_by_field_name("declarator") or next(
            (child for child in node.named_children if "declarator" in child.type or "identifier" in child.type), None
        )
        node = inner
    return text_of(node).rpartition("::")[2] or f"at {function.start_point[0]}"


def _declarations(unit: Unit, root: Node) -> None:
    for function, node in _walk(root):
        if node.type == "function_definition":
            head = text_of(node)[: max(0, (node.child_by_field_name("body") or node).start_byte - node.start_byte)]
            name = _name_of(node)
            is_kernel = "__global__" in head
            unit.functions.setdefault(name, Function(name, line_of(unit, node), is_kernel, "__device__" in head))
            unit.functions[name].text = text_of(node)
            if is_kernel:
                cuda_kernels.look(unit.functions[name], node)
        elif node.type == "namespace_alias_definition":
            names = [text_of(child) for child in node.named_children]
            if len(names) == 2:
                unit.aliases[names[0]] = names[1]
        elif node.type == "alias_declaration":
            unit.aliases[text_of(node.child_by_field_name("name"))] = bare(text_of(node.child_by_field_name("type")))
        elif node.type == "type_definition":
            for each in node.children_by_field_name("declarator"):
                if each.type == "type_identifier":
                    unit.aliases[text_of(each)] = bare(text_of(node.child_by_field_name("type")))
        elif node.type == "using_declaration":
            name = text_of(node).removeprefix("using").strip().rstrip(";").strip()
            if name.startswith("namespace"):
                unit.used.add(name.removeprefix("namespace").strip())
            elif "::" in name:
                unit.aliases[name.rpartition("::")[2]] = name
        elif node.type == "preproc_def":
            value = text_of(node.child_by_field_name("value")).strip()
            if value.isdigit():
                unit.constants[text_of(node.child_by_field_name("name"))] = value
            elif re.fullmatch(r"[\w:]+", value):
                unit.aliases[text_of(node.child_by_field_name("name"))] = value
        elif node.type == "declaration" and function is None:
            text = text_of(node)
            unit.constants.update(cuda_memory.constants(text))
            if not re.search(
                r"\b(const|constexpr|__device__|__constant__|__shared__|extern)\b|\(", text.partition("=")[0]
            ):
                unit.globals |= {declared(child) for child in node.children_by_field_name("declarator")}
        elif node.type == "call_expression" and text_of(node.child_by_field_name("function")).endswith(".def"):
            arguments = re.findall(r'"(\w+)"\s*,\s*&?(\w+)', text_of(node)[:400])
            unit.exports.update(arguments)


def _visit(unit: Unit, function: Function, node: Node) -> None:
    kind = node.type
    if kind == "identifier":
        function.mentions.add(unit.aliases.get(text_of(node), text_of(node)).rpartition("::")[2])
        if not cuda_memory.only_read(node):
            function.handed.add(text_of(node))
        if cuda_names.works(text_of(node)) and (node.parent is None or node.parent.type != "call_expression"):
            note(unit, function, "call", cuda_names.told(text_of(node)), node, frozenset({"compute"}), "cxx")
    elif kind == "call_expression":
        _call(unit, function, node)
    elif kind == "if_statement" and not (function.is_kernel or function.is_device):
        _branch(unit, function, node)
    elif kind == "if_statement":
        condition = text_of(node.child_by_field_name("condition"))
        leaves = re.match(r"\{?\s*(return|continue|break)\b", text_of(node.child_by_field_name("consequence")))
        if node.child_by_field_name("alternative") is None:
            for bound in cuda_memory.dropped(condition, function.slots, unit.constants, leaves=bool(leaves)):
                note(unit, function, "dropped", bound, node)
    elif kind == "declaration":
        _local(unit, function, node)
    elif kind in ("assignment_expression", "update_expression"):
        target = node.child_by_field_name("left") or node.child_by_field_name("argument")
        changed = re.findall(r"^\w+", text_of(target).lstrip("(*"))
        (function.added if cuda_memory.adds(node) else function.assigned).update(changed)
        function.operations += kind == "assignment_expression"
        if cuda_names.PERSISTING.search(text_of(target)):
            note(unit, function, "state", "l2.persisting", node)
    elif kind == "binary_expression":
        function.operations += 1
    elif kind == "for_statement" and function.is_kernel:
        condition = text_of(node.child_by_field_name("condition"))
        lengths = {*function.parameters, *(n for n, made in function.declared.items() if "blockDim" not in made)}
        function.shortened += [(part, line_of(unit, node)) for part in cuda_memory.fraction(condition, lengths)]
        if not function.wide:
            for part in cuda_loops.partial(node, function.declared, function.parameters):
                note(unit, function, "sampled", part, node, detail="gap")
    elif kind == "template_function" or kind == "qualified_identifier" or kind == "type_identifier":
        name = resolve(unit, text_of(node))
        function.mentions.add(name.rpartition("::")[2])
        if (
            name.startswith(("cub.", "thrust.", "cutlass."))
            and node.parent is not None
            and node.parent.type != "call_expression"
        ):
            note(unit, function, "call", name, node, frozenset({"compute"}))
    elif kind == "asm_statement" or kind == "gnu_asm_expression":
        text = text_of(node)
        function.operations += 3
        function.barriers += "bar" in text
        if re.search(r"mma\.sync[\w.]*\.f16\.f16\.f16\.f16", text) or re.search(
            r"wgmma[\w.]*\.f16\.(f16|e4m3|e5m2)", text
        ):
            note(unit, function, "accumulator", "float16", node, frozenset({"summed"}))
        if re.search(r"mma[\w.]*\.tf32", text) and not cuda_names.KEEPS_THE_REST.search(function.text):
            note(unit, function, "cast", "tf32", node, detail="dot")


def _call(unit: Unit, function: Function, node: Node) -> None:
    called = node.child_by_field_name("function")
    raw = text_of(called)
    if any(child.type == "kernel_call_syntax" for child in node.named_children):
        _launch(unit, function, node, raw)
        return
    name = resolve(unit, raw)
    last = re.split(r"::|\.|->", name)[-1]
    arguments = text_of(node.child_by_field_name("arguments"))
    if last.startswith("atomic"):
        function.added.update(re.findall(r"^\(\s*&?\s*(\w+)", arguments))
    else:
        function.passed.update(re.findall(r"(?<![\[\w])\w+(?!\s*\[)", arguments))
    if last in cuda_names.LAUNCHERS:
        _launch(
            unit, function, node, next((each for each in re.findall(r"\w+", arguments) if each in unit.functions), "?")
        )
    elif called is not None and called.type == "field_expression":
        attr = text_of(called.child_by_field_name("field"))
        if attr in cuda_names.TENSOR_MATHS and not (function.is_device or function.is_kernel) and "(" in text_of(node):
            note(unit, function, "call", "tensor." + attr, node, frozenset({"compute"}), "cxx")
    elif name.startswith(("torch.", "cub.", "thrust.", "cutlass.")):
        work = vocabulary.family(name) or not name.startswith("torch.")
        device = name.startswith("cub.") and (".Block" in name or ".Warp" in name)
        note(unit, function, "call", name, node, frozenset({"compute"} if work and not device else ()), "cxx")
    elif cuda_names.works(last):
        note(unit, function, "call", cuda_names.told(last), node, frozenset({"compute"}), "cxx")
    elif name in cuda_names.CALLS or (last in cuda_names.CALLS and "::" not in name):
        full = cuda_names.CALLS.get(name) or cuda_names.CALLS[last]
        note(unit, function, "call", full, node, detail=arguments[:200])
    elif last in cuda_names.STREAMS:
        note(unit, function, "stream", "create", node)
    elif last in cuda_names.WAITS:
        note(unit, function, "stream", "wait", node)
    elif last in ("__syncthreads", "__syncwarp", "sync", "barrier_sync", "arrive_and_wait"):
        function.barriers += 1
    elif last == "fill_fragment":
        function.operations += 1
    elif last.startswith("cudaMemcpy") and "DeviceToHost" in arguments:
        function.copied |= set(re.findall(r"&(\w+)", arguments)) | set(re.findall(r"^\(\s*(\w+)", arguments))
    elif last in cuda_names.ROUNDINGS and (function.is_kernel or function.is_device):
        if not cuda_names.KEEPS_THE_REST.search(function.text):
            note(unit, function, "cast", cuda_names.ROUNDINGS[last], node, detail="kernel")
    elif last in _ARITHMETIC:
        function.operations += 3
    elif name in unit.functions and unit.functions[name].is_device:
        function.operations += 2
    if cuda_names.PERSISTING.search(name + arguments) or (
        last in cuda_names.LIMITS and not cuda_names.OTHER_LIMIT.search(arguments)
    ):
        note(unit, function, "state", "l2.persisting", node)


def _launch(unit: Unit, function: Function, node: Node, raw: str) -> None:
    name = re.split(r"::", bare(raw))[-1]
    name = unit.aliases.get(name, name)
    syntax = next((child for child in node.named_children if child.type == "kernel_call_syntax"), None)
    stream = text_of(syntax.named_children[3]) if syntax is not None and len(syntax.named_children) > 3 else ""
    note(unit, function, "launch", name, node, frozenset({"stream:" + stream[:40]}))


def _branch(unit: Unit, function: Function, node: Node) -> None:
    condition = text_of(node.child_by_field_name("condition"))
    words = set(re.findall(r"\w+", condition))
    about: set[str] = {
        f"equals:{number}"
        for number in re.findall(r"==\s*(\d+)\b|\b(\d+)\s*==", condition)
        for number in number
        if number
    }
    if words & {"getenv", "secure_getenv"}:
        about.add("environment")
    if words & function.copied:
        about.add("data")
    kept = words & (function.statics | unit.globals)
    about |= {"static:" + word for word in kept}
    leaves = "return" in text_of(node.child_by_field_name("consequence"))
    about |= {
        "held" for word in kept if leaves and re.search(rf"\b{word}\s*\.\s*(end|count|contains|find)\b", condition)
    }
    note(unit, function, "branch", f"{unit.path}:{line_of(unit, node)}", node, frozenset(about))


def kind_of(node: Node) -> str:
    """The type that a declaration names."""
    return text_of(node.child_by_field_name("type"))


def _local(unit: Unit, function: Function, node: Node) -> None:
    text = text_of(node)
    names = [
        declared(child.child_by_field_name("declarator") or child)
        for child in node.children_by_field_name("declarator")
    ]
    kind = kind_of(node)
    kind = unit.aliases.get(kind, kind)
    narrow = cuda_names.HALF.match(kind) and (function.is_kernel or function.is_device)
    if narrow and not cuda_names.KEEPS_THE_REST.search(function.text):
        note(unit, function, "cast", "bfloat16" if "bfloat" in kind else "float16", node, detail="kernel")
    if re.match(r"\s*(extern\s+)?__shared__\b", text) or "__shared__" in text.partition("=")[0].partition("[")[0]:
        if not cuda_names.BARRIER.match(kind):
            function.shared |= dict.fromkeys(names, line_of(unit, node))
        return
    if text.startswith("static") and not re.match(r"static\s+(const|constexpr)\b[^*=]*(=|;|\[)", text):
        function.statics |= set(names)
    unit.constants.update(cuda_memory.constants(text))
    function.slots |= cuda_memory.slots(text)
    if narrow:
        function.shared.setdefault("half:" + (names[0] if names else ""), line_of(unit, node))
    if cuda_names.PERSISTING.search(text):
        note(unit, function, "state", "l2.persisting", node)
