"""The one codec: bytes to record and back. YAML for people, JSON for machines, both strict.

A record that does not fit is refused with every fault it has, not the first: each names the file, the line where it
is known, the key path, what was found and what was expected.
"""

from __future__ import annotations

import difflib
import functools
import re
from collections.abc import Iterator
from typing import Annotated, Any, Final, Literal, TypeVar, Union

import msgspec
from msgspec import inspect

from kgrade.records import yaml_text
from kgrade.records.base import Record
from kgrade.records.faults import BadRecord, Fault, Problem

R = TypeVar("R", bound=Record)

_LARGEST_JSON: Final = 64 << 20


def largest(path: str) -> int:
    """Bytes up to which a record at `path` is read.

    What machines write as JSON is read quickly and may be long: the evidence of 10,000 cases has 20 MB.
    """
    return _LARGEST_JSON if path.endswith(".json") else yaml_text.LARGEST_FILE


def decode(kind: type[R], data: bytes, path: str) -> R:
    """Read `data`, the content of the file at `path` (YAML, or JSON by its suffix), as a `kind`; raise BadRecord."""
    sound = _at_once(kind, data, path)
    if sound is not None:
        return sound
    lines: yaml_text.Lines = {}
    if path.endswith(".json"):
        value = _json(data, path)
    else:
        value, lines = yaml_text.read(data, path)
    tag = kind.__struct_config__.tag_field
    try:
        if tag and isinstance(value, dict) and tag not in value:
            raise msgspec.ValidationError(f"no {tag}")
        record = msgspec.convert(value, kind, strict=True)
        problems = list(record.problems())
    except msgspec.ValidationError as why:
        record = None
        problems = [p for p, _ in _misfits(_shape(kind), value, ())] or [
            Problem(where="", found=str(why), expected=kind.__name__.lower())
        ]
    if problems or record is None:
        raise BadRecord([_fault(path, problem, lines) for problem in problems])
    return record


def encode_yaml(record: Record) -> bytes:
    """Return the record as YAML, `schema` first, keys in the order of its struct."""
    return yaml_text.write(msgspec.to_builtins(record))


def encode_json(record: Record) -> bytes:
    """Return the record as JSON, indented so that a diff in git shows which value moved."""
    return msgspec.json.format(msgspec.json.encode(record), indent=1) + b"\n"


_TAG_FIRST = re.compile(rb'\s*\{\s*"schema"\s*:')
"""How JSON begins whose own tag comes first; whether it is there cannot be told from the decoded record."""


def _at_once(kind: type[R], data: bytes, path: str) -> R | None:
    """The record where it is sound and simply written, as nearly all are; None says nothing but to look closely."""
    if len(data) > largest(path):
        return None
    try:
        if path.endswith(".json"):
            if kind.__struct_config__.tag_field != "schema" or not _TAG_FIRST.match(data):
                return None
            record = _decoder(kind).decode(data)
        else:
            value = yaml_text.read_simple(data)
            if value is None or (kind.__struct_config__.tag_field or "") not in ("", *value):
                return None
            record = msgspec.convert(value, kind, strict=True)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    return None if any(True for _ in record.problems()) else record


@functools.cache
def _decoder(kind: type[R]) -> msgspec.json.Decoder[R]:
    return msgspec.json.Decoder(kind)


@functools.cache
def _shape(kind: type[Record]) -> inspect.Type:
    """The shape of `kind`, which takes milliseconds to find out."""
    return inspect.type_info(kind)


def _json(data: bytes, path: str) -> Any:
    if len(data) > largest(path):
        raise BadRecord([Fault(path=path, found=f"{len(data)} bytes", expected=f"at most {largest(path)}")])
    try:
        return msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError) as why:
        raise BadRecord([Fault(path=path, found=str(why), expected="JSON")]) from None
    except RecursionError:
        raise BadRecord([Fault(path=path, found="nesting too deep to read", expected="JSON records")]) from None


def _fault(path: str, problem: Problem, lines: yaml_text.Lines) -> Fault:
    return Fault(
        path=path,
        where=problem.where,
        line=_line(problem.where, lines),
        found=problem.found,
        expected=problem.expected,
        advice=problem.advice,
    )


def _line(where: str, lines: yaml_text.Lines) -> int | None:
    parts: list[str | int] = []
    for name in where.split(".") if where else []:
        head, *indices = name.replace("]", "").split("[")
        parts.append(int(head) if head.isdigit() and (*parts, head) not in lines else head)
        parts += [int(index) for index in indices if index.isdigit()]
    for end in range(len(parts), -1, -1):
        if tuple(parts[:end]) in lines:
            return lines[tuple(parts[:end])]
    return None


_Misfit = tuple[Problem, int]


def _misfits(kind: inspect.Type, value: Any, path: yaml_text.Path) -> Iterator[_Misfit]:
    """Yield every place where `value` does not fit `kind`, with its depth (deeper is the better explanation)."""
    if isinstance(kind, inspect.StructType):
        yield from _struct_misfits(kind, value, path)
    elif isinstance(kind, inspect.DictType) and isinstance(value, dict):
        for key, item in value.items():
            for problem, depth in _misfits(kind.key_type, key, path):
                found = f"the key {key!r}"
                yield Problem(where=_where((*path, key)), found=found, expected=problem.expected), depth
            yield from _misfits(kind.value_type, item, (*path, key))
    elif isinstance(kind, inspect.ListType) and isinstance(value, list) and _fits_length(kind, value):
        for index, item in enumerate(value):
            yield from _misfits(kind.item_type, item, (*path, index))
    elif isinstance(kind, inspect.UnionType):
        yield from _union_misfits(kind, value, path)
    elif not _fits(kind, value):
        yield Problem(where=_where(path), found=_shown(value), expected=_expected(kind)), len(path)


def _struct_misfits(kind: inspect.StructType, value: Any, path: yaml_text.Path) -> Iterator[_Misfit]:
    if not isinstance(value, dict):
        yield Problem(where=_where(path), found=_shown(value), expected="a mapping"), len(path)
        return
    fields = {field.encode_name: field for field in kind.fields}
    if kind.tag_field and value.get(kind.tag_field) != kind.tag:
        found = _shown(value[kind.tag_field]) if kind.tag_field in value else "no such key"
        yield Problem(where=_where((*path, kind.tag_field)), found=found, expected=str(kind.tag)), len(path) + 1
    for key, item in value.items():
        if key in fields:
            yield from _misfits(fields[key].type, item, (*path, key))
        elif key != kind.tag_field:
            close = difflib.get_close_matches(str(key), fields, 1)
            advice = f"did you mean {close[0]}?" if close else "remove it"
            expected = f"one of {', '.join(fields)}"
            yield (
                Problem(
                    where=_where((*path, key)),
                    found=f"the unknown key {key!r}",
                    expected=expected,
                    advice=advice,
                ),
                len(path) + 1,
            )
    for name, field in fields.items():
        if field.required and name not in value:
            yield (
                Problem(
                    where=_where((*path, name)),
                    found="nothing",
                    expected=_expected(field.type),
                    advice=f"add {name}",
                ),
                len(path) + 1,
            )


def _union_misfits(kind: inspect.UnionType, value: Any, path: yaml_text.Path) -> Iterator[_Misfit]:
    explained: list[list[_Misfit]] = []
    for option in kind.types:
        found = list(_misfits(option, value, path))
        if not found:
            return
        explained.append(found)
    deepest = max(explained, key=lambda problems: max(depth for _, depth in problems))
    if max(depth for _, depth in deepest) > len(path):
        yield from deepest
    else:
        yield Problem(where=_where(path), found=_shown(value), expected=_expected(kind)), len(path)


def _fits(kind: inspect.Type, value: Any) -> bool:
    target = _as_annotation(kind)
    try:
        msgspec.convert(value, target, strict=True)
    except msgspec.ValidationError:
        return False
    return True


def _fits_length(kind: inspect.ListType, value: list[Any]) -> bool:
    return len(value) >= (kind.min_length or 0) and (kind.max_length is None or len(value) <= kind.max_length)


def _as_annotation(kind: inspect.Type) -> Any:
    """The annotation that `kind` was made from, for the simple kinds that reach `_fits`."""
    match kind:
        case inspect.LiteralType(values=values):
            return Literal[tuple(values)]
        case inspect.StrType():
            return Annotated[str, _meta(kind, "min_length", "max_length", "pattern")]
        case inspect.IntType():
            return Annotated[int, _meta(kind, "gt", "ge", "lt", "le")]
        case inspect.FloatType():
            return Annotated[float, _meta(kind, "gt", "ge", "lt", "le")]
        case inspect.BoolType():
            return bool
        case inspect.NoneType():
            return type(None)
        case inspect.TupleType(item_types=items):
            return tuple[tuple(_as_annotation(item) for item in items)]  # type: ignore[misc]
        case inspect.UnionType(types=types):
            return Union[tuple(_as_annotation(option) for option in types)]  # noqa: UP007 - made at run time
        case inspect.ListType(item_type=item):
            return Annotated[list[_as_annotation(item)], _meta(kind, "min_length", "max_length")]  # type: ignore[misc]
        case inspect.DictType():
            return dict
    return Any


def _meta(kind: inspect.Type, *names: str) -> msgspec.Meta:
    return msgspec.Meta(**{name: getattr(kind, name) for name in names if getattr(kind, name) is not None})


def _expected(kind: inspect.Type) -> str:
    match kind:
        case inspect.LiteralType(values=values):
            return f"one of {', '.join(map(str, values))}"
        case inspect.StrType(pattern=str() as pattern):
            return f"text of the form {pattern}"
        case inspect.StrType():
            return "text"
        case inspect.BoolType():
            return "true or false"
        case inspect.IntType() | inspect.FloatType():
            noun = "a whole number" if isinstance(kind, inspect.IntType) else "a number"
            bounds = {"from": kind.ge, "above": kind.gt, "to": kind.le, "below": kind.lt}
            return " ".join([noun, *(f"{word} {bound:g}" for word, bound in bounds.items() if bound is not None)])
        case inspect.TupleType(item_types=items):
            return f"a list of {len(items)}: {', '.join(_expected(item) for item in items)}"
        case inspect.ListType(item_type=item):
            return f"a list of {_expected(item)}"
        case inspect.DictType() | inspect.StructType():
            return "a mapping"
        case inspect.UnionType(types=types):
            return " or ".join(_expected(option) for option in types if not isinstance(option, inspect.NoneType))
    return "a value"


def _shown(value: Any) -> str:
    if isinstance(value, dict):
        return "a mapping"
    if isinstance(value, list):
        return f"a list of {len(value)}"
    if value is None or isinstance(value, bool):
        return {None: "nothing", True: "true", False: "false"}[value]
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "…"


def _where(path: yaml_text.Path) -> str:
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else part
    return text
