"""Host code of CUDA C++, told in Python and read by the reader of Python host code: one model for both languages.

A static variable is one of the module, a struct is a class with fields, and a function that fills what its pointers
point to returns those.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Collection, Iterator
from typing import TYPE_CHECKING

from kgrade.harness.integrity import statements
from kgrade.harness.integrity.calls import Arguments, parameters
from kgrade.harness.integrity.cuda_expressions import arguments_of, expression
from kgrade.harness.integrity.cuda_reader import Reader, function_of
from kgrade.harness.integrity.cuda_unit import Unit, declared, text_of
from kgrade.harness.integrity.python import Ask
from kgrade.harness.integrity.values import ANY, FEWEST_STEPS, Frame, Function, OutOfBudget, Scope, Value, Walk

if TYPE_CHECKING:
    from tree_sitter import Node

_CONTAINER = re.compile(r"\b(unordered_map|map|vector|set|unordered_set|deque|list|array|LRUCache|flat_hash_map)\b")
_TENSOR = re.compile(r"\b(Tensor|TensorList|ArrayRef)\b")
_WHOLE = re.compile(r"\b(int|int64_t|int32_t|long|size_t|unsigned|uint32_t|uint64_t|short)\b")
_ROOTS = ("torch", "os", "sys", "time", "threading", "builtins", "native", "atexit", "socket", "ctypes")
_SUCCESS = re.compile(
    r"^\(?\s*(0|cudaSuccess|\(?int\)?\s*cudaGetLastError\(\)|cudaGetLastError\(\)|cudaPeekAtLastError\(\))"
)
_NULL = re.compile(r"^\(\s*(?:!\s*(\w+)|(\w+)\s*==\s*(?:nullptr|NULL|0))\s*\)$")
_FIELDS = 64


def read(unit: Unit, root: Node, entries: Collection[str], ask: Ask, *, native: bool) -> None:
    """Follow what `entries` do; `native`: they are called with pointers by the harness, and fill the outputs."""
    host = _Host(unit, ask)
    try:
        module = host.module(root)
        walk = Walk(unit.model, {})
        walk.most_steps = FEWEST_STEPS * 4
        scope = Scope(unit.path, variables={name: Value(frozenset({name})) for name in _ROOTS})
        walk.modules[unit.path] = scope
        for name in host.kernels:
            _kernel(walk, scope, unit, name)
        statements.execute(walk, Frame(scope, live=False, setup=True), module.body)
        for _ in range(2):
            walk.summaries.clear()
            walk.counts.clear()
            for name in sorted(set(entries) & host.functions.keys()):
                _enter(walk, host, scope, name)
    except (OutOfBudget, RecursionError):
        return  # what the text names is known without this
    kept = (fact for fact in walk.facts.values() if native or fact.kind != "mutation")
    unit.model.facts.extend(fact for fact in kept if fact.live or fact.setup)


def _kernel(walk: Walk, scope: Scope, unit: Unit, name: str) -> None:
    key = f"{unit.path}:{name}"
    known = unit.functions[name]
    node = function_of(name, list(known.parameters), [ast.Pass()])
    ast.fix_missing_locations(node)
    node.lineno = known.line
    function = Function(key, name, unit.path, node, scope, jit="cuda", stores=frozenset(known.stores))
    walk.functions[key] = function
    scope.variables[name] = Value(frozenset({"def:" + key}))


def _enter(walk: Walk, host: _Host, scope: Scope, name: str) -> None:
    for key in scope.variables.get(name, ANY).names:
        function = walk.functions.get(key.removeprefix("def:"))
        if function is None or isinstance(function.node, ast.Lambda):
            continue
        inner = Frame(Scope(scope.path, scope), live=True, setup=False, entry=True)
        parameters(walk, inner, function.node.args, Arguments([host.given(each) for each in host.functions[name]]))
        walk.visited.add(function.key)
        statements.execute(walk, inner, function.node.body)


class _Parameter:
    """One parameter of a host function: its name, its type, whether it points, and whether the function fills it."""

    def __init__(self, node: Node) -> None:
        declarator = node.child_by_field_name("declarator")
        text = text_of(node).partition("=")[0]
        self.name = declared(declarator).replace("__restrict__", "") or re.sub(r"\W", "", text[-20:])
        if declarator is not None:
            names = re.findall(r"\w+", text_of(declarator))
            self.name = names[-1] if names else self.name
        self.kind = text
        self.points = "*" in text
        self.constant = bool(re.search(r"\bconst\b", text))
        self.tensor = bool(_TENSOR.search(text))
        self.fills = False


class _Host:
    """The host code of one text: its functions by name with their parameters, and its statements in Python."""

    def __init__(self, unit: Unit, ask: Ask) -> None:
        self.reader = Reader(unit)
        self.reader.inner = self.inner
        self.unit = unit
        self.ask = ask
        self.kernels = {name for name, each in unit.functions.items() if each.is_kernel}
        self.reader.kernels = self.kernels
        self.functions: dict[str, list[_Parameter]] = {}
        self.state: list[ast.stmt] = []
        self.shared: set[str] = set()
        self.outs: list[str] = []

    def module(self, root: Node) -> ast.Module:
        """The whole text: state first, then what is defined."""
        made = [each for node in _items(root) for each in self.item(node)]
        for each in made:
            if isinstance(each, ast.FunctionDef) and self.shared:
                each.body.insert(0, ast.Global(sorted(self.shared)))
        classes = [each for each in made if isinstance(each, ast.ClassDef)]
        module = ast.Module([*classes, *self.state, *(each for each in made if each not in classes)], [])
        return ast.fix_missing_locations(module)

    def item(self, node: Node) -> Iterator[ast.stmt]:
        """A function, a struct or a variable at file scope."""
        if node.type == "function_definition":
            yield from self.define(node)
        elif node.type in ("struct_specifier", "class_specifier"):
            yield from self.struct(node)
        elif node.type == "declaration":
            kind = node.child_by_field_name("type")
            if kind is not None and kind.type in ("struct_specifier", "class_specifier"):
                yield from self.struct(kind)
            if "__device__" not in text_of(node)[:80] and "__constant__" not in text_of(node)[:80]:
                self.keep(node)

    def keep(self, node: Node) -> None:
        """A variable that outlives every call."""
        for name, value in self.declarators(node):
            target = self.reader.at(node, ast.Name(name, ast.Store()))
            self.state += [*self.taken(), self.reader.at(node, ast.Assign([target], value))]
            self.shared.add(name)

    def declarators(self, node: Node) -> Iterator[tuple[str, ast.expr]]:
        """The variables that a declaration declares, each with what it starts with."""
        kind = text_of(node.child_by_field_name("type"))
        if kind.startswith(("struct", "class")):
            kind = text_of((node.child_by_field_name("type") or node).child_by_field_name("name"))
        for each in node.children_by_field_name("declarator"):
            inner = each.child_by_field_name("declarator") or each
            names = re.findall(r"\w+", text_of(inner).partition("[")[0])
            if "function_declarator" in (each.type, inner.type) or not names:
                continue
            if "*" in text_of(inner) or "*" in kind:
                self.reader.pointers.add(names[-1])
            start = each.child_by_field_name("value")
            yield names[-1], self.start(node, kind, start)

    def start(self, node: Node, kind: str, start: Node | None) -> ast.expr:
        """What a variable of type `kind` starts with."""
        short = kind.partition("<")[0].rpartition("::")[2].strip()
        if start is None or start.type in ("argument_list", "initializer_list"):
            given = arguments_of(self.reader, start)
            if _CONTAINER.search(kind) and (start is None or not given):
                return self.reader.at(node, ast.Dict([], []))
            if short in ("thread", "jthread"):
                return self.reader.call(node, "threading.Thread", given)
            if short in ("ofstream", "ifstream", "fstream"):
                mode = "r" if short == "ifstream" else "w"
                return self.reader.call(node, "builtins.open", [*given[:1], ast.Constant(mode)])
            if short in self.reader.unit.structs:
                return self.reader.call(node, short, given)
            if start is None:
                return ast.Constant(None)
            return given[0] if len(given) == 1 else self.reader.at(node, ast.Tuple(given, ast.Load()))
        return expression(self.reader, start)

    def struct(self, node: Node) -> Iterator[ast.stmt]:
        """A struct as a class: its fields, its constructor and its methods."""
        name, body = text_of(node.child_by_field_name("name")), node.child_by_field_name("body")
        if not name or body is None:
            return
        fields = [each for each in body.named_children if each.type == "field_declaration"][:_FIELDS]
        names = [
            re.findall(r"\w+", text_of(part).partition("[")[0])
            for each in fields
            for part in each.children_by_field_name("declarator")
        ]
        known = [each[-1] for each in names if each]
        self.reader.unit.structs.add(name)
        made: list[ast.stmt] = [
            ast.AnnAssign(ast.Name(each, ast.Store()), ast.Constant(None), None, 1) for each in known
        ]
        kept, self.reader.fields = self.reader.fields, set(known)
        for each in body.named_children:
            if each.type == "function_definition":
                own = text_of(each.child_by_field_name("declarator")).partition("(")[0].strip()
                made += self.define(each, method="__init__" if own == name else own)
        self.reader.fields = kept
        yield self.reader.at(node, ast.ClassDef(name, [], [], made or [ast.Pass()], []))

    def define(self, node: Node, method: str = "") -> list[ast.stmt]:
        """A host function, unless it is one of the device."""
        body = node.child_by_field_name("body")
        head = text_of(node)[: max(0, (body or node).start_byte - node.start_byte)]
        name = method or re.sub(r"^.*?(\w+)\s*\(.*$", r"\1", " ".join(head.split()), count=1)
        declarator = node.child_by_field_name("declarator")
        while declarator is not None and declarator.type != "function_declarator":
            declarator = declarator.child_by_field_name("declarator")
        if declarator is None or "__global__" in head or ("__device__" in head and "__host__" not in head):
            return []
        name = method or text_of(declarator.child_by_field_name("declarator")).rpartition("::")[2]
        spec = declarator.child_by_field_name("parameters")
        given = [
            _Parameter(each) for each in (spec.named_children if spec is not None else []) if "parameter" in each.type
        ]
        kind = text_of(node.child_by_field_name("type"))
        self.outputs(given, returns=bool(_TENSOR.search(kind)) or kind in ("auto", "std::vector"))
        kept = self.outs
        self.outs = [each.name for each in given if each.fills]
        self.reader.pointers |= {each.name for each in given if each.points}
        made = self.initial(node) + self.block(body)
        if self.outs:
            made.append(self.reader.at(body or node, ast.Return(self.filled())))
            made[-1].lineno = (body or node).end_point[0] + self.unit.first_line
        self.outs = kept
        if not method:
            self.functions[name] = given
        first = ["this"] if method else []
        return [self.reader.at(node, function_of(name, [*first, *(each.name for each in given)], made or [ast.Pass()]))]

    def inner(self, node: Node) -> tuple[list[str], list[ast.stmt]]:
        """The parameters and the body of a lambda expression, which returns what it says."""
        declarator = node.child_by_field_name("declarator")
        spec = declarator.child_by_field_name("parameters") if declarator is not None else None
        given = [_Parameter(each) for each in (spec.named_children if spec is not None else [])]
        kept, self.outs = self.outs, []
        body = self.block(node.child_by_field_name("body"))
        self.outs = kept
        return [each.name for each in given], body

    def initial(self, node: Node) -> list[ast.stmt]:
        """`Type(int n) : size(n) {}`."""
        found: list[ast.stmt] = []
        for each in node.named_children:
            if each.type == "field_initializer_list":
                for part in each.named_children:
                    if part.type == "field_initializer" and len(part.named_children) > 1:
                        target = self.reader.name(part, "this." + text_of(part.named_children[0]))
                        values = arguments_of(self.reader, part.named_children[1])
                        found += self.taken()
                        if values:
                            found.append(self.reader.at(part, ast.Assign([target], values[0])))
        return found

    def outputs(self, given: list[_Parameter], *, returns: bool) -> None:
        """Mark the parameters that the function fills for its caller."""
        if returns:
            return
        known = set(self.ask.outputs)
        for each in given:
            each.fills = each.name in known or (each.points and not each.constant and each.name not in self.ask.tensors)
            each.fills &= not re.search(r"\b(void|char|cuda\w*_t|Stream)\b", each.kind) or each.name in known
        tensors = [each for each in given if each.tensor]
        if tensors and not any(each.fills for each in given):
            named = [each for each in tensors if re.search(r"out|^y|^o|res|dst|^c$", each.name, re.I)]
            for each in named or tensors[-1:]:
                each.fills = True

    def given(self, parameter: _Parameter) -> Value:
        """What comes in for a parameter of an entry."""
        if parameter.fills:
            return Value(tags=frozenset({f"alloc:out:{parameter.name}:empty"}))
        if parameter.tensor or (parameter.points and not re.search(r"\bchar\b|Stream", parameter.kind)):
            return Value(tags=frozenset({"in:" + parameter.name}))
        return Value(tags=frozenset({"shape"})) if _WHOLE.search(parameter.kind) else ANY

    def filled(self) -> ast.expr:
        """What a function hands back through its pointers."""
        return ast.Tuple([ast.Name(each, ast.Load()) for each in self.outs], ast.Load())

    def taken(self) -> list[ast.stmt]:
        """What has to be done before the statement at hand, which is handed over once."""
        found, self.reader.before = self.reader.before, []
        return found

    def block(self, node: Node | None) -> list[ast.stmt]:
        """The statements of a body, in order."""
        if node is None:
            return []
        parts = node.named_children if node.type == "compound_statement" else [node]
        found: list[ast.stmt] = []
        for each in parts:
            made = self.statement(each)
            found += [*self.taken(), *made]
        return found

    def statement(self, node: Node) -> list[ast.stmt]:
        """One statement; what its expressions do on the way stands in the reader."""
        if self.reader.depth > 50:
            return []
        maker: Callable[[Node], list[ast.stmt]] | None = getattr(self, "_" + node.type, None)
        self.reader.depth += 1
        try:
            return maker(node) if maker is not None else []
        finally:
            self.reader.depth -= 1

    def _compound_statement(self, node: Node) -> list[ast.stmt]:
        return self.block(node)

    def _expression_statement(self, node: Node) -> list[ast.stmt]:
        made = [expression(self.reader, each) for each in node.named_children[:1]]
        return [self.reader.at(node, ast.Expr(each)) for each in made if not isinstance(each, ast.Constant)]

    def _declaration(self, node: Node) -> list[ast.stmt]:
        text = text_of(node)[:200]
        lasting = re.match(r"(static|thread_local)\b", text) and not re.match(
            r"static\s+(const|constexpr)\b[^*]*=\s*[\d\"]", text
        )
        found: list[ast.stmt] = []
        for name, value in self.declarators(node):
            target = self.reader.at(node, ast.Name(name, ast.Store()))
            first = [*self.taken(), self.reader.at(node, ast.Assign([target], value))]
            if not lasting:
                found += first
                continue
            self.shared.add(name)
            plain = isinstance(value, ast.Constant | ast.Dict) or (isinstance(value, ast.Tuple) and not value.elts)
            if plain:
                self.state += first
                continue
            empty = self.reader.at(node, ast.Assign([target], ast.Constant(None)))
            unset = ast.Compare(ast.Name(name, ast.Load()), [ast.Is()], [ast.Constant(None)])
            self.state.append(empty)
            found.append(self.reader.at(node, ast.If(unset, first, [])))
        return found

    def _if_statement(self, node: Node) -> list[ast.stmt]:
        condition = node.child_by_field_name("condition")
        start = condition.child_by_field_name("initializer") if condition is not None else None
        first = self.block(start.named_children[0]) if start is not None and start.named_children else []
        test = expression(self.reader, condition)
        first += self.taken()
        other = node.child_by_field_name("alternative")
        body = self.block(node.child_by_field_name("consequence"))
        if other is None and self.failed(condition) and all(isinstance(each, ast.Return) for each in body):
            body = [self.reader.at(node, ast.Raise(None, None))]
        orelse = self.block(other.named_children[-1] if other is not None and other.named_children else None)
        return [*first, self.reader.at(node, ast.If(test, body or [ast.Pass()], orelse))]

    def failed(self, condition: Node | None) -> bool:
        """Whether a condition asks if a pointer of this call alone is null, as it is where memory ran out."""
        match = _NULL.match(text_of(condition))
        name = (match[1] or match[2]) if match else ""
        return name in self.reader.pointers - self.shared - set(self.outs)

    def _return_statement(self, node: Node) -> list[ast.stmt]:
        given = node.named_children[:1]
        value = expression(self.reader, given[0]) if given else None
        if not self.outs:
            return [self.reader.at(node, ast.Return(value))]
        inner = (
            node.parent is not None
            and node.parent.parent is not None
            and node.parent.parent.type != "function_definition"
        )
        if given and inner and not _SUCCESS.match(text_of(given[0])):
            return [self.reader.at(node, ast.Raise(None, None))]  # a status that says what is refused
        if isinstance(value, ast.Call):
            self.reader.do(node, value)
        return [self.reader.at(node, ast.Return(self.filled()))]

    def _for_statement(self, node: Node) -> list[ast.stmt]:
        start = node.child_by_field_name("initializer")
        first = self.block(start) if start is not None and start.type == "declaration" else []
        test = expression(self.reader, node.child_by_field_name("condition"))
        first += self.taken()
        body = self.block(node.child_by_field_name("body"))
        return [*first, self.reader.at(node, ast.While(test, body or [ast.Pass()], []))]

    def _while_statement(self, node: Node) -> list[ast.stmt]:
        return self._for_statement(node)

    def _do_statement(self, node: Node) -> list[ast.stmt]:
        return self.block(node.child_by_field_name("body"))

    def _for_range_loop(self, node: Node) -> list[ast.stmt]:
        over = expression(self.reader, node.child_by_field_name("right"))
        first = self.taken()
        names = re.findall(r"\w+", text_of(node.child_by_field_name("declarator")))
        targets: list[ast.expr] = [ast.Name(each, ast.Store()) for each in names] or [ast.Name("_", ast.Store())]
        target = targets[0] if len(targets) == 1 else ast.Tuple(targets, ast.Store())
        body = self.block(node.child_by_field_name("body"))
        return [*first, self.reader.at(node, ast.For(target, over, body or [ast.Pass()], []))]

    def _switch_statement(self, node: Node) -> list[ast.stmt]:
        subject = expression(self.reader, node.child_by_field_name("condition"))
        first = self.taken()
        body = node.child_by_field_name("body")
        made: list[ast.stmt] = []
        for case in reversed(body.named_children if body is not None else []):
            value = case.child_by_field_name("value")
            inner = [each for part in case.named_children if part != value for each in self.block(part)]
            if case.type != "case_statement":
                continue
            if value is None:
                made = inner
            else:
                test = ast.Compare(subject, [ast.Eq()], [expression(self.reader, value)])
                made = [self.reader.at(case, ast.If(test, inner or [ast.Pass()], made))]
        return [*first, *made]

    def _try_statement(self, node: Node) -> list[ast.stmt]:
        body = self.block(node.child_by_field_name("body"))
        caught = [each for each in node.named_children if each.type == "catch_clause"]
        handlers = [
            ast.ExceptHandler(None, None, self.block(each.child_by_field_name("body")) or [ast.Pass()])
            for each in caught
        ]
        return [self.reader.at(node, ast.Try(body or [ast.Pass()], handlers, [], []))] if handlers else body

    def _throw_statement(self, node: Node) -> list[ast.stmt]:
        return [self.reader.at(node, ast.Raise(None, None))]


def _items(root: Node) -> Iterator[Node]:
    """What stands at file scope, inside namespaces, `extern "C"` and conditions of the preprocessor too."""
    waiting = list(reversed(root.named_children))
    while waiting:
        node = waiting.pop()
        if node.type in ("namespace_definition", "linkage_specification", "preproc_if", "preproc_ifdef",
                         "template_declaration", "preproc_else", "declaration_list", "ERROR"):  # fmt: skip
            waiting += reversed(node.named_children)
        else:
            yield node
