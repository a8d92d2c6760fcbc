"""Where the function that a task asks for stands in a submission."""

from __future__ import annotations

import re
from collections.abc import Mapping


class Unfound(Exception):
    """The function that the task asks for is not in the submission; the message says where it was looked for."""


def find_entry(entry: str, solution: Mapping[str, bytes]) -> tuple[str, str]:
    """Return file and name of `entry` (`name`, or `file.py:name`). Hostile source is searched, never parsed here."""
    file, _, name = entry.rpartition(":")
    modules = sorted(path for path in solution if path.endswith(".py"))
    if file:
        if file not in solution:
            raise Unfound(f"solution/{file} is missing")
        return f"solution/{file}", name
    binds = re.compile(
        rb"^(?:async\s+def|def|class)\s+%b\b|^%b\s*[:=]|^from\s.*\bimport\b.*\b%b\b" % ((name.encode(),) * 3),
        re.MULTILINE,
    )
    found = [path for path in modules if "/" not in path and binds.search(solution[path])]
    if not found:
        where = ", ".join(f"solution/{path}" for path in modules) or "solution/, which holds no Python file"
        raise Unfound(f"no function {name!r} in {where}")
    if len(found) > 1:
        raise Unfound(f"{name!r} is defined in {' and in '.join(f'solution/{path}' for path in found)}")
    return f"solution/{found[0]}", name
