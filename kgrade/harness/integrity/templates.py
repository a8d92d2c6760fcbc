"""Text that is made while a submission runs, as far as it can be told: templates with their places filled."""

from __future__ import annotations

import re
import string
from collections.abc import Mapping, Sequence
from typing import Any

_LONGEST = 1 << 20
_STAND_IN = "1"  # for a value that is not known: it can end a name, and be a number
_PERCENT = re.compile(r"%%|%(?:\((\w+)\))?[-+ #0]*\d*(?:\.\d+)?[sdifgrx]")
_DOLLAR = re.compile(r"\$\$|\$(?:(\w+)|\{(\w+)\})")


def by_format(template: str, values: Sequence[Any], named: Mapping[str, Any]) -> str | None:
    """Return `template.format(*values, **named)` with a stand-in for what is not among them; None for no template."""
    parts: list[str] = []
    count = 0
    try:
        for literal, field, _, _ in string.Formatter().parse(template[:_LONGEST]):
            parts.append(literal)
            if field is None:
                continue
            name = re.split(r"[.\[]", field)[0]
            place = int(name) if name.isdigit() else count
            count += not name
            known = values[place] if (not name or name.isdigit()) and place < len(values) else named.get(name)
            parts.append(_told(known))
    except ValueError:
        return None
    return "".join(parts)[:_LONGEST]


def by_percent(template: str, values: Sequence[Any], named: Mapping[str, Any]) -> str:
    """Return `template % values`, or `% named`, with a stand-in for what is not known."""
    left = list(reversed(values))

    def fill(match: re.Match[str]) -> str:
        if match.group() == "%%":
            return "%"
        return _told(named.get(match.group(1)) if match.group(1) else left.pop() if left else None)

    return _PERCENT.sub(fill, template[:_LONGEST])


def by_dollar(template: str, named: Mapping[str, Any]) -> str:
    """Return `string.Template(template).substitute(**named)` with a stand-in for what is not known."""

    def fill(match: re.Match[str]) -> str:
        return "$" if match.group() == "$$" else _told(named.get(match.group(1) or match.group(2)))

    return _DOLLAR.sub(fill, template[:_LONGEST])


def _told(value: Any) -> str:
    return str(value)[:_LONGEST] if isinstance(value, str | int | float) else _STAND_IN
