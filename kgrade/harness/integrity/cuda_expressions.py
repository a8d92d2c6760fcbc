"""Expressions of CUDA C++ host code as the expressions of Python that mean the same to the reader of host code.

A pointer's or a tensor's element, a container's look-up, a launch: each becomes what Python would write for it, so that
one reader follows values in both languages. What has no counterpart becomes the call of a name that nobody knows.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from kgrade.harness.integrity import cuda_names
from kgrade.harness.integrity.cuda_reader import UNKNOWN_NAME, Reader
from kgrade.harness.integrity.cuda_runtime import special
from kgrade.harness.integrity.cuda_unit import bare, resolve, text_of

if TYPE_CHECKING:
    from tree_sitter import Node

_DEEPEST = 60
_BINARY: dict[str, type[ast.operator]] = {
    "+": ast.Add, "-": ast.Sub, "*": ast.Mult, "/": ast.FloorDiv, "%": ast.Mod, "<<": ast.LShift, ">>": ast.RShift,
    "|": ast.BitOr, "&": ast.BitAnd, "^": ast.BitXor,
}  # fmt: skip
_COMPARE: dict[str, type[ast.cmpop]] = {
    "==": ast.Eq, "!=": ast.NotEq, "<": ast.Lt, ">": ast.Gt, "<=": ast.LtE, ">=": ast.GtE,
}  # fmt: skip
_CASTS = ("static_cast", "reinterpret_cast", "const_cast", "dynamic_cast", "std::move", "std::forward", "std::as_const",
          "std::ref", "std::cref", "std::get", "move", "C10_UNLIKELY", "C10_LIKELY", "__builtin_expect")  # fmt: skip
_WHOLE = re.compile(
    r"^\s*(std::)?(u?intptr_t|size_t|u?int64_t|unsigned (long|int)|(unsigned )?long long|unsigned)\b[^*]*$"
)
_CHECKS = ("TORCH_CHECK", "AT_ASSERT", "CHECK_", "TORCH_INTERNAL_ASSERT", "assert", "static_assert", "C10_CUDA_KERNEL")
# Methods of tensors and containers by the attribute of a Python tensor that means the same.
_ATTRIBUTES = {"sizes": "shape", "scalar_type": "dtype", "dtype": "dtype", "options": "dtype", "device": "device",
               "strides": "shape"}  # fmt: skip
_SAME = {"data", "begin", "cbegin", "load", "value", "get", "front", "back", "c_str", "contiguous", "defined_or"}
_POINTERS = {"data_ptr", "const_data_ptr", "mutable_data_ptr"}
_CALLS = {
    "getCurrentCUDAStream": "torch.cuda.current_stream", "getStreamFromPool": "torch.cuda.Stream",
    "cudaDeviceSynchronize": "torch.cuda.synchronize", "cudaStreamSynchronize": "torch.cuda.synchronize",
    "cudaEventSynchronize": "torch.cuda.synchronize", "printf": "builtins.print", "puts": "builtins.print",
    "fprintf": "builtins.print", "fputs": "builtins.print", "fopen": "builtins.open", "write": "os.write",
    "rename": "os.rename", "remove": "os.remove", "unlink": "os.unlink", "quick_exit": "os._exit",
    "_Exit": "os._exit", "kill": "os.kill", "raise": "os.kill", "thread": "threading.Thread",
    "jthread": "threading.Thread", "async": "threading.Thread",
}  # fmt: skip


def expression(reader: Reader, node: Node | None) -> ast.expr:
    """The expression of Python that means the same as `node` to a reader of host code."""
    if node is None:
        return ast.Constant(None)
    if reader.depth > _DEEPEST:
        return reader.unknown(node)
    reader.depth += 1
    try:
        return _READERS.get(node.type, _other)(reader, node)
    finally:
        reader.depth -= 1


def arguments_of(reader: Reader, node: Node | None) -> list[ast.expr]:
    """The arguments of a call, in order."""
    return [
        expression(reader, each) for each in (node.named_children if node is not None else []) if not _comment(each)
    ]


def _comment(node: Node) -> bool:
    return node.type == "comment"


def _other(reader: Reader, node: Node) -> ast.expr:
    inner = [expression(reader, child) for child in node.named_children[:16] if "type" not in child.type]
    return reader.call(node, UNKNOWN_NAME, inner) if inner else reader.unknown(node)


def _inner(reader: Reader, node: Node) -> ast.expr:
    return expression(reader, node.child_by_field_name("value") or next(iter(reversed(node.named_children)), None))


def _number(reader: Reader, node: Node) -> ast.expr:
    text = re.sub(r"[uUlLfF']+$", "", text_of(node)).replace("'", "")
    for kind in (lambda each: int(each, 0), float):
        try:
            return reader.at(node, ast.Constant(kind(text)))
        except ValueError:
            continue
    return reader.unknown(node)


def _string(reader: Reader, node: Node) -> ast.expr:
    return reader.at(node, ast.Constant(text_of(node).strip('"')))


def _literal(reader: Reader, node: Node) -> ast.expr:
    return reader.at(node, ast.Constant({"true": True, "false": False}.get(node.type)))


def _name(reader: Reader, node: Node) -> ast.expr:
    text = text_of(node)
    if text == "NULL":
        return reader.at(node, ast.Constant(None))
    if text in ("cudaSuccess", "hipSuccess"):
        return reader.at(node, ast.Constant(0))
    if text in reader.fields:
        return reader.name(node, "this." + text)
    if text in reader.unit.constants:
        return reader.at(node, ast.Constant(int(reader.unit.constants[text])))
    return reader.name(node, text)


def _qualified(reader: Reader, node: Node) -> ast.expr:
    name = resolve(reader.unit, text_of(node))
    last = name.rpartition("::")[2]
    return reader.name(node, last if "::" in name else name)


def _field(reader: Reader, node: Node) -> ast.expr:
    owner = expression(reader, node.child_by_field_name("argument"))
    name = text_of(node.child_by_field_name("field"))
    if name in ("second", "first"):
        return owner
    return reader.at(node, ast.Attribute(owner, name, ast.Load()))


def _subscript(reader: Reader, node: Node) -> ast.expr:
    owner = expression(reader, node.child_by_field_name("argument"))
    indices = node.child_by_field_name("indices")
    keys = [_key(reader, each) for each in (indices.named_children if indices is not None else [])]
    key = keys[0] if len(keys) == 1 else ast.Tuple(keys, ast.Load())
    return reader.at(node, ast.Subscript(owner, key, ast.Load()))


def _key(reader: Reader, node: Node) -> ast.expr:
    """A key of a container; of a pointer, its address is the key."""
    made = expression(reader, node)
    return reader.call(node, "builtins.id", [made]) if _is_pointer(reader, node) else made


def _is_pointer(reader: Reader, node: Node) -> bool:
    return node.type in ("identifier", "field_expression") and text_of(node) in reader.pointers


def _unary(reader: Reader, node: Node) -> ast.expr:
    operator = text_of(node.child_by_field_name("operator"))
    value = expression(reader, node.child_by_field_name("argument"))
    if operator == "!":
        return reader.at(node, ast.UnaryOp(ast.Not(), value))
    if operator == "-":
        return reader.at(node, ast.UnaryOp(ast.USub(), value))
    if operator == "*":
        return reader.at(node, ast.Subscript(value, ast.Constant(0), ast.Load()))
    return value


def _binary(reader: Reader, node: Node) -> ast.expr:
    first, second = node.child_by_field_name("left"), node.child_by_field_name("right")
    operator = text_of(node.child_by_field_name("operator"))
    left, right = expression(reader, first), expression(reader, second)
    if operator in ("&&", "||"):
        return reader.at(node, ast.BoolOp(ast.And() if operator == "&&" else ast.Or(), [left, right]))
    if operator in _COMPARE:
        kind = _COMPARE[operator]
        if operator in ("==", "!=") and any(each is not None and _is_pointer(reader, each) for each in (first, second)):
            kind = ast.Is if operator == "==" else ast.IsNot
        return reader.at(node, ast.Compare(left, [kind()], [right]))
    if operator in _BINARY:
        return reader.at(node, ast.BinOp(left, _BINARY[operator](), right))
    return reader.call(node, UNKNOWN_NAME, [left, right])


def _assignment(reader: Reader, node: Node) -> ast.expr:
    target = expression(reader, node.child_by_field_name("left"))
    value = expression(reader, node.child_by_field_name("right"))
    operator = text_of(node.child_by_field_name("operator"))
    if not isinstance(target, ast.Name | ast.Attribute | ast.Subscript | ast.Tuple):
        return value
    if operator == "=":
        reader.assign(node, target, value)
    elif operator[:-1] in _BINARY:
        reader.change(node, target, _BINARY[operator[:-1]](), value)
    return target


def _update(reader: Reader, node: Node) -> ast.expr:
    target = expression(reader, node.child_by_field_name("argument"))
    operator = ast.Add() if "+" in text_of(node.child_by_field_name("operator")) else ast.Sub()
    reader.change(node, target, operator, ast.Constant(1))
    return target


def _choice(reader: Reader, node: Node) -> ast.expr:
    parts = [expression(reader, node.child_by_field_name(each)) for each in ("condition", "consequence", "alternative")]
    return reader.at(node, ast.IfExp(*parts))


def _cast(reader: Reader, node: Node) -> ast.expr:
    """`(uintptr_t)p`: the address itself, where what is cast is a pointer."""
    value = node.child_by_field_name("value")
    if value is not None and _WHOLE.search(text_of(node.child_by_field_name("type"))) and _is_pointer(reader, value):
        return reader.call(node, "builtins.id", [expression(reader, value)])
    return _inner(reader, node)


def _sequence(reader: Reader, node: Node) -> ast.expr:
    return reader.at(node, ast.Tuple(arguments_of(reader, node), ast.Load()))


def _made(reader: Reader, node: Node) -> ast.expr:
    """`Type{a, b}`."""
    kind = bare(text_of(node.child_by_field_name("type"))).rpartition("::")[2]
    return reader.call(node, kind or UNKNOWN_NAME, arguments_of(reader, node.child_by_field_name("value")))


def _lambda(reader: Reader, node: Node) -> ast.expr:
    return reader.function(node)


def _launch(reader: Reader, node: Node, syntax: Node, raw: str) -> ast.expr:
    name = re.split(r"::", bare(raw))[-1]
    name = reader.unit.aliases.get(name, name)
    grid = ast.Tuple(arguments_of(reader, syntax), ast.Load())
    given = arguments_of(reader, node.child_by_field_name("arguments"))
    launcher = reader.at(node, ast.Subscript(reader.name(node, name), grid, ast.Load()))
    return reader.at(node, ast.Call(launcher, given, []))


def _call(reader: Reader, node: Node) -> ast.expr:
    called = node.child_by_field_name("function")
    raw = text_of(called)
    syntax = next((child for child in node.named_children if child.type == "kernel_call_syntax"), None)
    if syntax is not None:
        return _launch(reader, node, syntax, raw)
    if called is not None and called.type == "lambda_expression":
        return reader.at(node, ast.Call(reader.function(called), [], []))
    if called is not None and called.type == "field_expression":
        return _method(reader, node, called)
    return _free(reader, node, raw)


def _method(reader: Reader, node: Node, called: Node) -> ast.expr:
    given = node.child_by_field_name("arguments")
    owner = expression(reader, called.child_by_field_name("argument"))
    name = bare(text_of(called.child_by_field_name("field")))
    keys = [_key(reader, each) for each in (given.named_children if given is not None else []) if not _comment(each)]
    if name in ("find", "at") and keys:
        return reader.method(node, owner, "get", keys[:1])
    if name in ("count", "contains") and keys:
        return reader.at(node, ast.Compare(keys[0], [ast.In()], [owner]))
    if name in ("emplace", "insert", "insert_or_assign", "try_emplace", "put", "store") and keys:
        pair = keys[0].elts if len(keys) == 1 and isinstance(keys[0], ast.Tuple) else keys
        if name == "store":
            reader.assign(node, owner, keys[0])
        elif len(pair) > 1:
            value = pair[1] if len(pair) == 2 else ast.Tuple(list(pair[1:]), ast.Load())
            reader.assign(node, reader.at(node, ast.Subscript(owner, pair[0], ast.Store())), value)
        return owner
    if name in ("push_back", "emplace_back", "push", "emplace_front", "push_front"):
        return reader.method(node, owner, "append", keys)
    if name in ("fetch_add", "fetch_sub"):
        reader.change(node, owner, ast.Add(), ast.Constant(1))
        return owner
    if name in ("defined", "has_value"):
        return reader.at(node, ast.Compare(owner, [ast.IsNot()], [ast.Constant(None)]))
    if name in ("size", "empty") and not keys:
        return reader.call(node, "builtins.len", [owner])
    if name in ("end", "cend"):
        return reader.unknown(node)
    if name in _ATTRIBUTES:
        return reader.at(node, ast.Attribute(owner, _ATTRIBUTES[name], ast.Load()))
    if name in _SAME and not keys:
        return owner
    return reader.method(node, owner, "data_ptr" if name in _POINTERS else name, keys)


def _free(reader: Reader, node: Node, raw: str) -> ast.expr:
    list_of = node.child_by_field_name("arguments")
    name = resolve(reader.unit, raw)
    last = re.split(r"::|\.", name)[-1]
    given = arguments_of(reader, list_of)
    if bare(raw) in _CASTS and given:
        number = _WHOLE.search(raw.partition("<")[2].rpartition(">")[0].removeprefix("const "))
        plain = list_of.named_children[0] if list_of is not None else None
        held = plain is not None and _is_pointer(reader, plain)
        return reader.call(node, "builtins.id", given[:1]) if number and held else given[-1]
    if last.startswith(_CHECKS):
        if given and isinstance(given[0], ast.Constant) and not given[0].value:
            reader.before.append(reader.at(node, ast.Raise(None, None)))
        return reader.at(node, ast.Constant(None))
    known_to_runtime = special(last)
    if known_to_runtime is not None:
        return known_to_runtime(reader, node, given)
    if last.startswith("AT_DISPATCH"):
        for each in given:
            if isinstance(each, ast.Name) and each.id.startswith("lambda_"):
                reader.do(node, reader.at(node, ast.Call(each, [], [])))
        return reader.at(node, ast.Constant(None))
    if last == "now" and "clock" in name:
        return reader.call(node, "time.perf_counter")
    if last in cuda_names.LAUNCHERS:
        kernel = next((each for each in given if isinstance(each, ast.Name) and each.id in reader.kernels), None)
        if kernel is not None:
            launcher = reader.at(node, ast.Subscript(kernel, ast.Constant(1), ast.Load()))
            return reader.at(node, ast.Call(launcher, [each for each in given if each is not kernel], []))
    known = cuda_names.CALLS.get(name) or (cuda_names.CALLS.get(last) if "::" not in name else None)
    if known is None and last in _CALLS and last not in reader.unit.functions:
        known = _CALLS[last]
    if known is not None:
        return reader.call(node, known, given)
    if name.startswith("torch.") or name in reader.unit.functions:
        return reader.call(node, name, given)
    own = last in reader.unit.functions or "::" not in name
    return reader.call(node, last if own else UNKNOWN_NAME, given)


_READERS: dict[str, Callable[[Reader, Node], ast.expr]] = {
    "number_literal": _number, "string_literal": _string, "raw_string_literal": _string, "true": _literal,
    "false": _literal, "null": _literal, "nullptr": _literal, "identifier": _name, "qualified_identifier": _qualified,
    "field_expression": _field, "subscript_expression": _subscript, "unary_expression": _unary,
    "pointer_expression": _unary, "binary_expression": _binary, "assignment_expression": _assignment,
    "update_expression": _update, "conditional_expression": _choice, "initializer_list": _sequence,
    "argument_list": _sequence, "compound_literal_expression": _made, "lambda_expression": _lambda,
    "call_expression": _call, "parenthesized_expression": _inner, "cast_expression": _cast,
    "condition_clause": _inner, "template_function": _qualified, "this": _name, "comma_expression": _inner,
}  # fmt: skip
