"""CUDA C++ by tree-sitter: kernels, launches, library calls, what the host looks at. Comments are no code."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING

from kgrade.harness.integrity import cuda_memory, cuda_names, vocabulary
from kgrade.harness.integrity.model import Fact, Kernel, Kind, Model, Tags

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


@dataclass(slots=True)
class _Function:
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
    atomics: set[str] = field(default_factory=set)
    slots: set[str] = field(default_factory=set)
    handed: set[str] = field(default_factory=set)
    passed: set[str] = field(default_factory=set)
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
    functions: dict[str, _Function] = field(default_factory=dict)
    globals: set[str] = field(default_factory=set)
    exports: dict[str, str] = field(default_factory=dict)


def read(path: str, data: bytes, model: Model, entries: Collection[str] | None, first_line: int = 1) -> bool:
    """Read CUDA C++ into `model`; return whether it holds host functions.

    `entries` are the functions called from outside (None: all that host code holds).
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
    _settle(unit, entries)
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


def _text(node: Node | None) -> str:
    return node.text.decode("utf-8", "replace") if node is not None and node.text is not None else ""


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
    if re.search(r"fragment<[\w:]*accumulator,(.*,)?(__)?half(,\w+)?>", "".join(_text(node)[:400].split())):
        line = _line(unit, node)
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
    return _text(node).rpartition("::")[2] or f"at {function.start_point[0]}"


def _declarations(unit: Unit, root: Node) -> None:
    for function, node in _walk(root):
        if node.type == "function_definition":
            head = _text(node)[: max(0, (node.child_by_field_name("body") or node).start_byte - node.start_byte)]
            name = _name_of(node)
            is_kernel = "__global__" in head
            unit.functions.setdefault(name, _Function(name, _line(unit, node), is_kernel, "__device__" in head))
        elif node.type == "namespace_alias_definition":
            names = [_text(child) for child in node.named_children]
            if len(names) == 2:
                unit.aliases[names[0]] = names[1]
        elif node.type == "alias_declaration":
            unit.aliases[_text(node.child_by_field_name("name"))] = _bare(_text(node.child_by_field_name("type")))
        elif node.type == "using_declaration":
            name = _text(node).removeprefix("using").strip().rstrip(";").strip()
            if name.startswith("namespace"):
                unit.used.add(name.removeprefix("namespace").strip())
            elif "::" in name:
                unit.aliases[name.rpartition("::")[2]] = name
        elif node.type == "preproc_def":
            value = _text(node.child_by_field_name("value")).strip()
            if value.isdigit():
                unit.constants[_text(node.child_by_field_name("name"))] = value
            elif re.fullmatch(r"[\w:]+", value):
                unit.aliases[_text(node.child_by_field_name("name"))] = value
        elif node.type == "declaration" and function is None:
            text = _text(node)
            unit.constants.update(cuda_memory.constants(text))
            if not re.search(
                r"\b(const|constexpr|__device__|__constant__|__shared__|extern)\b|\(", text.partition("=")[0]
            ):
                unit.globals |= {_declared(child) for child in node.children_by_field_name("declarator")}
        elif node.type == "call_expression" and _text(node.child_by_field_name("function")).endswith(".def"):
            arguments = re.findall(r'"(\w+)"\s*,\s*&?(\w+)', _text(node)[:400])
            unit.exports.update(arguments)


def _declared(node: Node | None) -> str:
    match = re.match(r"[*&\s]*(\w+)", _text(node))
    return match.group(1) if match else ""


def _bare(text: str) -> str:
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


def _line(unit: Unit, node: Node) -> int:
    return unit.first_line + node.start_point[0]


def resolve(unit: Unit, name: str) -> str:
    """The canonical name of what `name` calls: `torch.matmul` for `at::matmul`, aliases and macros followed."""
    parts = _bare(name).lstrip(":").split("::")
    for _ in range(6):
        if parts[0] not in unit.aliases or unit.aliases[parts[0]] == parts[0]:
            break
        parts = [*unit.aliases[parts[0]].lstrip(":").split("::"), *parts[1:]]
    if parts[0] in cuda_names.SPACES and len(parts) > 1:
        return ".".join([cuda_names.SPACES[parts[0]], *parts[1:]])
    if len(parts) == 1 and unit.used & {"at", "torch"} and parts[0] in cuda_names.TENSOR_MATHS:
        return "torch." + parts[0]
    if len(parts) > 1 and unit.used & {"cub", "thrust"} and parts[0].startswith("Device"):
        return ".".join(["cub", *parts])
    return "::".join(parts)


def _visit(unit: Unit, function: _Function, node: Node) -> None:
    kind = node.type
    if kind == "identifier":
        function.mentions.add(unit.aliases.get(_text(node), _text(node)).rpartition("::")[2])
        if not cuda_memory.only_read(node):
            function.handed.add(_text(node))
    elif kind == "call_expression":
        _call(unit, function, node)
    elif kind == "if_statement" and not (function.is_kernel or function.is_device):
        _branch(unit, function, node)
    elif kind == "if_statement":
        condition = _text(node.child_by_field_name("condition"))
        if node.child_by_field_name("alternative") is None:
            for bound in cuda_memory.dropped(condition, function.slots, unit.constants):
                _note(unit, function, "dropped", bound, node)
    elif kind == "declaration":
        _local(unit, function, node)
    elif kind in ("assignment_expression", "update_expression"):
        target = node.child_by_field_name("left") or node.child_by_field_name("argument")
        function.assigned.update(re.findall(r"^\w+", _text(target).lstrip("(*")))
        function.operations += kind == "assignment_expression"
    elif kind == "binary_expression":
        function.operations += 1
    elif kind == "template_function" or kind == "qualified_identifier" or kind == "type_identifier":
        name = resolve(unit, _text(node))
        if (
            name.startswith(("cub.", "thrust.", "cutlass."))
            and node.parent is not None
            and node.parent.type != "call_expression"
        ):
            _note(unit, function, "call", name, node, frozenset({"compute"}))
    elif kind == "asm_statement" or kind == "gnu_asm_expression":
        text = _text(node)
        function.operations += 3
        function.barriers += "bar" in text
        if re.search(r"mma\.sync[\w.]*\.f16\.f16\.f16\.f16", text) or re.search(
            r"wgmma[\w.]*\.f16\.(f16|e4m3|e5m2)", text
        ):
            _note(unit, function, "accumulator", "float16", node, frozenset({"summed"}))


def _note(
    unit: Unit, function: _Function, kind: Kind, name: str, node: Node, about: Tags = frozenset(), detail: str = ""
) -> None:
    guards = []
    child, parent = node, node.parent
    while parent is not None and parent.type != "function_definition":
        if parent.type == "if_statement":
            where = f"{unit.path}:{_line(unit, parent)}"
            if child == parent.child_by_field_name("consequence"):
                guards.append(where + "+")
            elif child == parent.child_by_field_name("alternative"):
                guards.append(where + "-")
        elif parent.type == "catch_clause":
            guards.append("except")
        child, parent = parent, parent.parent
    function.facts.append(
        Fact(kind, name, unit.path, _line(unit, node), about, guards=tuple(reversed(guards)), detail=detail)
    )


def _call(unit: Unit, function: _Function, node: Node) -> None:
    called = node.child_by_field_name("function")
    raw = _text(called)
    if any(child.type == "kernel_call_syntax" for child in node.named_children):
        _launch(unit, function, node, raw)
        return
    name = resolve(unit, raw)
    last = re.split(r"::|\.|->", name)[-1]
    arguments = _text(node.child_by_field_name("arguments"))
    if last.startswith("atomic"):
        function.atomics.update(re.findall(r"^\(\s*&?\s*(\w+)", arguments))
    else:
        function.passed.update(re.findall(r"(?<![\[\w])\w+(?!\s*\[)", arguments))
    if last in cuda_names.LAUNCHERS:
        _launch(
            unit, function, node, next((each for each in re.findall(r"\w+", arguments) if each in unit.functions), "?")
        )
    elif called is not None and called.type == "field_expression":
        attr = _text(called.child_by_field_name("field"))
        if attr in cuda_names.TENSOR_MATHS and not (function.is_device or function.is_kernel) and "(" in _text(node):
            _note(unit, function, "call", "tensor." + attr, node, frozenset({"compute"}), "cxx")
    elif name.startswith(("torch.", "cub.", "thrust.", "cutlass.")):
        work = vocabulary.family(name) or not name.startswith("torch.")
        device = name.startswith("cub.") and (".Block" in name or ".Warp" in name)
        _note(unit, function, "call", name, node, frozenset({"compute"} if work and not device else ()), "cxx")
    elif cuda_names.LIBRARY.match(last) and not re.search(
        r"Create|Destroy|Set|Get|Workspace|Descriptor|Status|Init|Handle", last
    ):
        _note(
            unit,
            function,
            "call",
            "cublas." + last if "blas" in last.lower() else last,
            node,
            frozenset({"compute"}),
            "cxx",
        )
    elif name in cuda_names.CALLS or (last in cuda_names.CALLS and "::" not in name):
        full = cuda_names.CALLS.get(name) or cuda_names.CALLS[last]
        _note(unit, function, "call", full, node, detail=arguments[:200])
    elif last in cuda_names.STREAMS:
        _note(unit, function, "stream", "create", node)
    elif last in cuda_names.WAITS:
        _note(unit, function, "stream", "wait", node)
    elif last in ("__syncthreads", "__syncwarp", "sync", "barrier_sync", "arrive_and_wait"):
        function.barriers += 1
    elif last == "fill_fragment":
        function.operations += 1
    elif last.startswith("cudaMemcpy") and "DeviceToHost" in arguments:
        function.copied |= set(re.findall(r"&(\w+)", arguments)) | set(re.findall(r"^\(\s*(\w+)", arguments))
    elif last in _ARITHMETIC:
        function.operations += 3
    elif name in unit.functions and unit.functions[name].is_device:
        function.operations += 2
    if cuda_names.PERSISTING.search(arguments):
        _note(unit, function, "state", "l2.persisting", node)


def _launch(unit: Unit, function: _Function, node: Node, raw: str) -> None:
    name = re.split(r"::", _bare(raw))[-1]
    name = unit.aliases.get(name, name)
    syntax = next((child for child in node.named_children if child.type == "kernel_call_syntax"), None)
    stream = _text(syntax.named_children[3]) if syntax is not None and len(syntax.named_children) > 3 else ""
    _note(unit, function, "launch", name, node, frozenset({"stream:" + stream[:40]}))


def _branch(unit: Unit, function: _Function, node: Node) -> None:
    condition = _text(node.child_by_field_name("condition"))
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
    _note(unit, function, "branch", f"{unit.path}:{_line(unit, node)}", node, frozenset(about))


def _local(unit: Unit, function: _Function, node: Node) -> None:
    text = _text(node)
    names = [
        _declared(child.child_by_field_name("declarator") or child)
        for child in node.children_by_field_name("declarator")
    ]
    if re.match(r"\s*(extern\s+)?__shared__\b", text) or "__shared__" in text.partition("=")[0].partition("[")[0]:
        if not text.lstrip().startswith("extern"):
            function.shared |= dict.fromkeys(names, _line(unit, node))
        return
    if text.startswith("static") and not re.match(r"static\s+(const|constexpr)\b[^*=]*(=|;|\[)", text):
        function.statics |= set(names)
    unit.constants.update(cuda_memory.constants(text))
    function.slots |= cuda_memory.slots(text)
    kind = _text(node.child_by_field_name("type"))
    if cuda_names.HALF.match(kind) and (function.is_kernel or function.is_device):
        function.shared.setdefault("half:" + (names[0] if names else ""), _line(unit, node))
    if cuda_names.PERSISTING.search(text):
        _note(unit, function, "state", "l2.persisting", node)


def _settle(unit: Unit, entries: Collection[str] | None) -> None:
    """Find what is reached from the entries, and hand every fact over with it."""
    roots = _roots(unit, entries)
    reached: set[str] = set()
    waiting = list(roots)
    while waiting:
        name = waiting.pop()
        if name in reached or name not in unit.functions:
            continue
        reached.add(name)
        waiting.extend(unit.functions[name].mentions & unit.functions.keys())
        waiting.extend(fact.name for fact in unit.functions[name].facts if fact.kind == "launch")
    incremented = defaultdict(set)
    for function in unit.functions.values():
        if not (function.is_kernel or function.is_device):
            incremented[function.name] = function.assigned & (function.statics | unit.globals)
    for name, function in unit.functions.items():
        live = name in reached
        if function.is_kernel:
            key = f"{unit.path}:{name}"
            unit.model.kernels[key] = Kernel(name, "cuda", unit.path, function.line, function.operations <= 1)
        _kernel_facts(unit, function)
        if re.match(
            r"(cuda|hip)(Event|Device|Stream)(ElapsedTime|Synchronize|Record)|clock_gettime$|gettimeofday$", name
        ):
            unit.model.facts.append(Fact("patch", "time." + name, unit.path, function.line, live=True))
        for fact in function.facts:
            _hand_over(unit, fact, live, incremented[name])


def _roots(unit: Unit, entries: Collection[str] | None) -> set[str]:
    host = {name for name, each in unit.functions.items() if not (each.is_kernel or each.is_device)}
    if entries is None:
        return host
    wanted = {unit.exports.get(name, name) for name in entries}
    if not wanted:
        return set()
    return wanted if wanted & unit.functions.keys() else host


def _hand_over(unit: Unit, fact: Fact, live: bool, assigned: set[str]) -> None:
    name, about = fact.name, fact.about
    if fact.kind == "launch":
        name = f"{unit.path}:{name}"
    if fact.kind == "branch":
        kept = {tag[7:] for tag in about if tag.startswith("static:")} & assigned
        text = unit.model.snippet(fact.path, fact.line)
        words = "|".join(map(re.escape, sorted(kept)))
        if kept and re.search(rf"[A-Za-z_]\w*\s*==\s*({words})\b|\b({words})\s*==\s*(?!nullptr|NULL)[A-Za-z_]", text):
            key = frozenset({"pointer", "computed"})
            unit.model.facts.append(Fact("memo", "stored:static", fact.path, fact.line, key, live, False, fact.guards))
        elif kept and re.search(rf"\b({words})\s*(\+\+|>=?|<=?|==|%)|\+\+\s*({words})\b", text):
            about |= {"count"}
    unit.model.facts.append(Fact(fact.kind, name, fact.path, fact.line, about, live, False, fact.guards, fact.detail))


def _kernel_facts(unit: Unit, function: _Function) -> None:
    for name, line in function.shared.items():
        if name.startswith("half:"):
            if name[5:] in function.assigned and re.search(r"(acc|sum|total|partial)", name):
                function.facts.append(Fact("accumulator", "float16", unit.path, line, frozenset({"summed"})))
        elif function.is_kernel and cuda_memory.unset(
            name, function.assigned | function.passed, function.atomics, function.handed
        ):
            function.facts.append(Fact("shared", name, unit.path, line, frozenset({"unset"})))
        elif function.is_kernel and not function.barriers:
            function.facts.append(Fact("shared", name, unit.path, line, frozenset({"no-barrier"})))
