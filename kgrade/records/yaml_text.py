"""YAML as people write it in a queue: read in one pass over the parser's events, safely and with line numbers.

The core schema of YAML 1.2 decides what a plain scalar is, so `1e-9` is a number, `no` is text and a date stays
text. Refused: tags, keys given twice, keys that are not text, nesting past 64, aliases that expand past 1 MB,
files past 8 MB, bytes that are not UTF-8.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import yaml

from kgrade.records.faults import BadRecord, Fault

LARGEST_FILE = 8 * 1024 * 1024
LARGEST_EXPANSION = 1024 * 1024
DEEPEST = 64

Path = tuple[str | int, ...]
Lines = dict[Path, int]

_INT = re.compile(r"[-+]?[0-9]+\Z|0x[0-9a-fA-F]+\Z|0o[0-7]+\Z")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?\Z")
_SPECIAL = {".inf": float("inf"), "+.inf": float("inf"), "-.inf": float("-inf"), ".nan": float("nan")}
_WORDS = {"": None, "~": None, "null": None, "true": True, "false": False}
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class YamlFault(Exception):
    """One thing wrong with the text itself; `line` counts from 1."""

    def __init__(self, line: int | None, found: str, expected: str, advice: str = "") -> None:
        super().__init__(found)
        self.line, self.found, self.expected, self.advice = line, found, expected, advice


def read(data: bytes, path: str) -> tuple[Any, Lines]:
    """Return the value in `data` and the line on which each key path begins; raise BadRecord naming `path`."""
    try:
        text = _text(data)
        return _Reader(text).document()
    except YamlFault as fault:
        raise BadRecord(
            [
                Fault(
                    path=path,
                    line=fault.line,
                    found=fault.found,
                    expected=fault.expected,
                    advice=fault.advice,
                )
            ]
        ) from None


_SIMPLE_LINE = re.compile(
    r"( *)([a-z][a-z0-9_-]*):(?: (?:(\|)|\[([A-Za-z0-9_.,/ -]*)\]|([A-Za-z0-9./][!-~]*(?: [!-~]+)*)))?"
)
"""A key of small letters with nothing, a block of text, a list of words, or one plain scalar of ASCII after it."""

_WORD = re.compile(r"[A-Za-z0-9_./][A-Za-z0-9_./-]*")
_NOT_PLAIN = re.compile(r": | #|:$")


class _NotSimpleError(Exception):
    """Text that needs a closer look."""


def read_simple(data: bytes) -> dict[str, Any] | None:
    """What `read` returns as the value of `data`, many times as fast, where that is written in a simple way.

    None for everything that needs a closer look, sound or not: mappings of names are understood, two blanks deep
    each, with plain scalars, lists of words in brackets and blocks of text.
    """
    try:
        lines = data.decode("ascii").split("\n")
        if lines.pop():  # no newline at the end: the last line of a block would have none either
            return None
        found, at = _simple_mapping(lines, 0, 0)
    except (UnicodeDecodeError, _NotSimpleError):
        return None
    return found if at == len(lines) else None


def _simple_mapping(lines: list[str], at: int, deep: int) -> tuple[dict[str, Any], int]:
    """The mapping that stands from line `at` on, `deep` blanks deep, and the line after it."""
    found: dict[str, Any] = {}
    end = len(lines)
    while at < end:
        match = _SIMPLE_LINE.fullmatch(lines[at])
        if match is None:
            raise _NotSimpleError
        blanks, name, block, words, plain = match.groups()
        if len(blanks) != deep:
            if len(blanks) > deep or not found:
                raise _NotSimpleError
            break
        if name in found or name in _WORDS or deep > 2 * DEEPEST - 4:
            raise _NotSimpleError
        at += 1
        if plain is not None:
            if _NOT_PLAIN.search(plain):
                raise _NotSimpleError
            found[name] = _plain(plain)
        elif block:
            found[name], at = _simple_block(lines, at, deep + 2)
        elif words is not None:
            found[name] = _simple_list(words)
        elif at < end and lines[at].startswith(" " * (deep + 1)):
            found[name], at = _simple_mapping(lines, at, deep + 2)
        else:
            found[name] = None
    if not found:
        raise _NotSimpleError
    return found, at


def _simple_list(words: str) -> list[Any]:
    parts = [part.strip(" ") for part in words.split(",")] if words.strip(" ") else []
    if not all(_WORD.fullmatch(part) for part in parts):
        raise _NotSimpleError
    return [_plain(part) for part in parts]


def _simple_block(lines: list[str], at: int, deep: int) -> tuple[str, int]:
    """The text of the block that stands from line `at` on, `deep` blanks deep, and the line after it."""
    first, margin = at, " " * deep
    while at < len(lines) and lines[at].startswith(margin):
        line = lines[at]
        if not line.isprintable() or not line.strip(" ") or (at == first and line[deep] == " "):
            raise _NotSimpleError
        at += 1
    if at == first or (at < len(lines) and not lines[at].strip(" ")):
        raise _NotSimpleError
    return "".join(f"{line[deep:]}\n" for line in lines[first:at]), at


def write(value: Any) -> bytes:
    """Return `value` as YAML that people like to read: keys in order, long text as blocks, no aliases."""
    text: str = yaml.dump(
        value, Dumper=_Writer, sort_keys=False, allow_unicode=True, width=110, default_flow_style=False
    )
    return text.encode()


def _text(data: bytes) -> str:
    if len(data) > LARGEST_FILE:
        raise YamlFault(
            None, f"{len(data)} bytes", f"at most {LARGEST_FILE}", "keep large material in files of its own"
        )
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as why:
        line = data.count(b"\n", 0, why.start) + 1
        raise YamlFault(
            line, f"byte 0x{data[why.start]:02x}, which is not UTF-8", "UTF-8 text", "save the file as UTF-8"
        ) from None
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        raise YamlFault(line, "a NUL byte", "text", "this looks like a binary file")
    return text


class _Reader:
    """Builds values from events. `size` of a value is the characters it would print, aliases expanded."""

    def __init__(self, text: str) -> None:
        self._events: Iterator[Any] = yaml.parse(text, Loader=_LOADER)
        self._lines: Lines = {}
        self._anchors: dict[str, tuple[Any, int]] = {}
        self._expanded = 0

    def document(self) -> tuple[Any, Lines]:
        try:
            value = self._only_document()
        except yaml.MarkedYAMLError as why:
            mark = why.problem_mark or why.context_mark
            raise YamlFault(mark.line + 1 if mark else None, why.problem or str(why), "YAML") from None
        except yaml.YAMLError as why:
            raise YamlFault(None, str(why).splitlines()[0], "YAML") from None
        return value, self._lines

    def _only_document(self) -> Any:
        next(self._events)
        event = next(self._events)
        if isinstance(event, yaml.StreamEndEvent):
            raise YamlFault(1, "an empty file", "a YAML mapping")
        value, _ = self._value(next(self._events), (), 0)
        next(self._events)
        after = next(self._events)
        if not isinstance(after, yaml.StreamEndEvent):
            raise YamlFault(after.start_mark.line + 1, "a second document", "one document a file")
        return value

    def _value(self, event: Any, path: Path, depth: int) -> tuple[Any, int]:
        line = event.start_mark.line + 1
        if depth > DEEPEST:
            raise YamlFault(line, f"nesting deeper than {DEEPEST}", "a flatter file")
        self._lines[path] = line
        if isinstance(event, yaml.AliasEvent):
            return self._alias(event, line)
        if event.tag and not (isinstance(event, yaml.ScalarEvent) and event.tag == "!"):
            raise YamlFault(line, f"the tag {event.tag}", "plain values without tags")
        if isinstance(event, yaml.ScalarEvent):
            value: Any = _plain(event.value) if event.implicit[0] else event.value
            size = len(event.value)
        elif isinstance(event, yaml.SequenceStartEvent):
            value, size = self._sequence(path, depth)
        else:
            value, size = self._mapping(path, depth)
        if event.anchor:
            self._anchors[event.anchor] = (value, size)
        return value, size

    def _alias(self, event: Any, line: int) -> tuple[Any, int]:
        if event.anchor not in self._anchors:
            raise YamlFault(line, f"the alias *{event.anchor}", "an anchor that stands before it")
        value, size = self._anchors[event.anchor]
        self._expanded += size
        if self._expanded > LARGEST_EXPANSION:
            raise YamlFault(line, "aliases that expand past 1 MB", "the values written out")
        return value, size

    def _sequence(self, path: Path, depth: int) -> tuple[list[Any], int]:
        items: list[Any] = []
        total = 0
        while not isinstance(event := next(self._events), yaml.SequenceEndEvent):
            value, size = self._value(event, (*path, len(items)), depth + 1)
            items.append(value)
            total += size + 1
        return items, total

    def _mapping(self, path: Path, depth: int) -> tuple[dict[str | int, Any], int]:
        entries: dict[str | int, Any] = {}
        total = 0
        while not isinstance(event := next(self._events), yaml.MappingEndEvent):
            line = event.start_mark.line + 1
            if not isinstance(event, yaml.ScalarEvent):
                raise YamlFault(line, "a key that is no text", "keys that are names")
            number = _plain(event.value) if event.implicit[0] else None
            key = number if isinstance(number, int) and not isinstance(number, bool) else event.value
            if key in entries:
                raise YamlFault(line, f"the key {key!r} a second time", "each key once", "merge the two or remove one")
            value, size = self._value(next(self._events), (*path, key), depth + 1)
            self._lines[(*path, key)] = line
            entries[key] = value
            total += len(event.value) + size + 1
        return entries, total


def _plain(text: str) -> Any:
    if len(text) > 5 and text[0].isalpha():  # longer than any word that is not text, and no number
        return text
    word = text.lower() if text in (text.lower(), text.upper(), text.capitalize()) else text
    if word in _WORDS:
        return _WORDS[word]
    if _INT.match(text):
        return int(text, 0) if text[:2] in ("0x", "0o") else int(text) if len(text) < 4000 else text
    if _FLOAT.match(text):
        return float(text)
    return _SPECIAL.get(word, text)


class _Writer(yaml.SafeDumper):
    """Writes what `_plain` reads back as the same value: it quotes by the core schema, not by YAML 1.1."""

    yaml_implicit_resolvers: dict[str, list[tuple[str, re.Pattern[str]]]] = {}

    def ignore_aliases(self, data: Any) -> bool:
        return True


def _write_text(writer: _Writer, text: str) -> yaml.ScalarNode:
    lines = text.split("\n")
    if not all(line.isprintable() for line in lines):
        style = '"'
    elif len(lines) > 1:
        style = '"' if text[0].isspace() or any(line.endswith(" ") for line in lines) else "|"
    else:
        style = "" if isinstance(_plain(text), str) else '"'
    return writer.represent_scalar(_TAG + "str", text, style=style or None)


def _write_float(writer: _Writer, value: float) -> yaml.ScalarNode:
    text = (
        repr(value)
        if value == value and abs(value) != float("inf")
        else {"inf": ".inf", "-inf": "-.inf"}.get(repr(value), ".nan")
    )
    return writer.represent_scalar(_TAG + "float", text)


_TAG = "tag:yaml.org,2002:"
_NUMBER_STARTS = list("+-.0123456789")
_Writer.add_implicit_resolver(_TAG + "null", re.compile(r"(?:~|null|Null|NULL|)\Z"), ["~", "n", "N", ""])
_Writer.add_implicit_resolver(_TAG + "bool", re.compile(r"(?:true|True|TRUE|false|False|FALSE)\Z"), list("tTfF"))
_Writer.add_implicit_resolver(_TAG + "int", _INT, _NUMBER_STARTS)
_Writer.add_implicit_resolver(_TAG + "float", _FLOAT, _NUMBER_STARTS)
_Writer.add_implicit_resolver(
    _TAG + "float", re.compile(r"(?:[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))\Z"), _NUMBER_STARTS
)
_Writer.add_representer(str, _write_text)
_Writer.add_representer(float, _write_float)
