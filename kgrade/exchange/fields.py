"""Foreign files read field by field: every field that is missing, renamed or of another type is one clear sentence."""

from __future__ import annotations

import difflib
import hashlib
import json
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

from kgrade.exchange.brought import Arrivals, Noted, Refused
from kgrade.records import yaml_text
from kgrade.records.faults import BadRecord
from kgrade.records.slugs import slug_of

LARGEST = 8 * 1024 * 1024
_KINDS = {
    "text": str, "a whole number": int, "a number": (int, float), "true or false": bool, "a list": list,
    "a mapping": dict,
}  # fmt: skip
_MISSING: Any = object()


class Misfit(Exception):
    """A foreign file that cannot be used: `place` names file and line, the message what was found and expected."""

    def __init__(self, place: str, why: str) -> None:
        super().__init__(why)
        self.place, self.why = place, why


def refusing(arrivals: Arrivals) -> Arrivals:
    """Hand over what comes up to the first misfit, and that as refused."""
    try:
        yield from arrivals
    except Misfit as why:
        yield Refused(place=why.place, why=why.why)


class Fields:
    """The fields of one foreign mapping; what nobody asked for is told by `unknown`."""

    def __init__(self, place: str, value: Any, within: str = "") -> None:
        self.place, self.within = place, within
        if not isinstance(value, Mapping):
            raise Misfit(place, f"{within or 'the whole'} is {_shown(value)}, expected a mapping of fields")
        self.values: Mapping[str, Any] = {str(key): each for key, each in value.items()}
        self._asked: set[str] = set()

    def has(self, name: str) -> bool:
        """Whether the field is there and not null."""
        return self.values.get(name) is not None

    def text(self, name: str, default: Any = _MISSING) -> str:
        """A field of text."""
        found: str = self._take(name, "text", default)
        return found

    def whole(self, name: str, default: Any = _MISSING) -> int:
        """A whole number."""
        found: int = self._take(name, "a whole number", default)
        return found

    def number(self, name: str, default: Any = _MISSING) -> float:
        """A number."""
        found: float = self._take(name, "a number", default)
        return found

    def flag(self, name: str, default: Any = _MISSING) -> bool:
        """A truth value."""
        found: bool = self._take(name, "true or false", default)
        return found

    def list(self, name: str, default: Any = _MISSING) -> list[Any]:
        """A list."""
        found: list[Any] = self._take(name, "a list", default)
        return found

    def mapping(self, name: str, default: Any = _MISSING) -> Fields:
        """A mapping inside this one."""
        return Fields(self.place, self._take(name, "a mapping", default), self._path(name))

    def any(self, name: str, default: Any = _MISSING) -> Any:
        """A field of any type."""
        self._asked.add(name)
        if name in self.values:
            return self.values[name]
        if default is _MISSING:
            raise self._missing(name, "a value")
        return default

    def misfit(self, name: str, expected: str) -> Misfit:
        """Say that the field does not hold what was expected."""
        return Misfit(self.place, f"{self._path(name)} is {_shown(self.values.get(name))}, expected {expected}")

    def unknown(self) -> Iterator[Noted]:
        """Name the fields that nobody asked for."""
        left = sorted(name for name in self.values if name not in self._asked)
        if left:
            where = f" in {self.within}" if self.within else ""
            names = ", ".join(f"`{name[:60]}`" for name in left[:8]) + (", …" if len(left) > 8 else "")
            noun = "field" if len(left) == 1 else "fields"
            yield Noted(place=self.place, what=f"the {noun} {names}{where} mean nothing here and are kept as they are")

    def _take(self, name: str, kind: str, default: Any) -> Any:
        self._asked.add(name)
        value = self.values.get(name)
        if value is None and default is not _MISSING:
            return default
        if name not in self.values:
            raise self._missing(name, kind)
        wrong = not isinstance(value, _KINDS[kind]) or (isinstance(value, bool) and kind != "true or false")  # type: ignore[arg-type]
        if wrong:
            raise self.misfit(name, kind)
        return value

    def _missing(self, name: str, kind: str) -> Misfit:
        close = difflib.get_close_matches(name, [key for key in self.values if key not in self._asked], 1, 0.75)
        advice = f"; `{close[0]}` is there: was it renamed?" if close else ""
        return Misfit(self.place, f"the field `{self._path(name)}` is missing, expected {kind}{advice}")

    def _path(self, name: str) -> str:
        return f"{self.within}.{name}" if self.within else name


def read_bytes(path: Path, root: Path) -> bytes:
    """The bytes of a foreign file below `root`; raise Misfit for links, large files and what cannot be read."""
    place = place_of(path, root)
    try:
        if path.is_symlink():
            raise Misfit(place, "it is a link, and links are not followed; put a copy of the file there")
        if (size := path.stat().st_size) > LARGEST:
            raise Misfit(place, f"it has {size} bytes, expected at most {LARGEST}; such files stay out of git")
        return path.read_bytes()
    except OSError as why:
        raise Misfit(place, f"it cannot be read: {why.strerror}") from None


def read_text(path: Path, root: Path) -> bytes:
    """The bytes of a foreign file that must be UTF-8 text, which is all that a queue holds."""
    data = read_bytes(path, root)
    try:
        if "\0" not in data.decode():
            return data
    except UnicodeDecodeError as why:
        line = data.count(b"\n", 0, why.start) + 1
        raise Misfit(f"{place_of(path, root)}:{line}", "it holds bytes that are not UTF-8, expected text") from None
    raise Misfit(place_of(path, root), "it is a binary file, expected text")


def read_json(path: Path, root: Path) -> Any:
    """The value of a JSON file."""
    return json_value(read_bytes(path, root), place_of(path, root))


def json_value(data: bytes, place: str) -> Any:
    """The value in `data`; raise Misfit with the line where it is no JSON."""
    try:
        return json.loads(data)
    except json.JSONDecodeError as why:
        raise Misfit(f"{place}:{why.lineno}", f"it is no JSON: {why.msg}") from None
    except (UnicodeDecodeError, RecursionError) as why:
        raise Misfit(place, f"it is no JSON that can be read: {why}") from None


def json_lines(path: Path, root: Path) -> Iterator[tuple[str, Any]]:
    """Each line of a JSON Lines file as its place and value; a Misfit of one line is handed over as the value."""
    for number, line in enumerate(read_bytes(path, root).split(b"\n"), 1):
        if line.strip():
            place = f"{place_of(path, root)}:{number}"
            try:
                yield place, json_value(line, place_of(path, root))
            except Misfit as why:
                yield place, Misfit(place, why.why)


def read_yaml(path: Path, root: Path) -> Any:
    """The value of a YAML file; raise Misfit with line and reason."""
    place = place_of(path, root)
    try:
        return yaml_text.read(read_bytes(path, root), place)[0]
    except BadRecord as why:
        fault = why.faults[0]
        where = place if fault.line is None else f"{place}:{fault.line}"
        raise Misfit(where, f"found {fault.found}, expected {fault.expected}") from None


def place_of(path: Path, root: Path) -> str:
    """How a foreign file is called: its path below what is imported."""
    return path.relative_to(root).as_posix() if path != root and path.is_relative_to(root) else path.name


def name_of(*texts: str) -> str:
    """A slug for foreign names; one that was shortened, or has no letters, keeps apart by a hash of the whole."""
    text = "-".join(texts)
    try:
        slug = slug_of(text)
    except ValueError:
        return f"unnamed-{hashlib.sha256(text.encode()).hexdigest()[:8]}"
    whole = "".join(each if each.isalnum() else "-" for each in text.lower())
    if len(whole.strip("-")) <= 64:
        return slug
    return f"{slug[:55].strip('-')}-{hashlib.sha256(text.encode()).hexdigest()[:8]}"


def time_of(path: Path) -> str:
    """When a file was last changed, as records hold it."""
    return datetime.fromtimestamp(int(path.stat().st_mtime), UTC).isoformat().replace("+00:00", "Z")


def pretty(value: Any) -> bytes:
    """A foreign record as indented JSON, to be kept beside the evidence made of it."""
    return msgspec.json.format(msgspec.json.encode(value), indent=1) + b"\n"


def _shown(value: Any) -> str:
    return "missing" if value is None else f"{value!r:.60}"
