"""From signs to findings: the words that a person reads, and their order."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from kgrade.harness.integrity.rules import RULES, Rule
from kgrade.records.evidence import Finding, Severity

GRAVITY: dict[Severity, int] = {"tell": 0, "suspect": 1, "note": 2}
BY_ID: dict[str, Rule] = {rule.id: rule for rule in RULES}


def of_rule(rule: Rule, severity: Severity, path: str, line: int, snippet: str, said: str) -> Finding:
    """Return the finding that `rule` makes at a place; `said` names the particulars."""
    return Finding(
        rule=rule.id,
        name=rule.name,
        severity=severity,
        path=path,
        line=max(1, line),
        snippet=snippet,
        why=f"{said[:1].upper()}{said[1:]}. {rule.what} Honest code that looks alike: {rule.honest}",
        settles=rule.settles,
    )


def made(
    rule: str, severity: Severity, path: str, line: int, said: str, solution: Mapping[str, bytes], entry: str
) -> Finding:
    """Return a finding that a test made; without a place of its own it stands at the entry's definition.

    `solution` maps paths below `solution/` to bytes; `entry` is the task's, `name` or `file:name`.
    """
    if not path or path.removeprefix("solution/") not in solution:
        path, line = _entry(solution, entry)
    lines = solution.get(path.removeprefix("solution/"), b"").decode("utf-8", "replace").splitlines()
    snippet = lines[line - 1].strip()[:200] if 0 < line <= len(lines) else ""
    return of_rule(BY_ID[rule], severity, path, line, snippet, said)


def _entry(solution: Mapping[str, bytes], entry: str) -> tuple[str, int]:
    """Return path and line of the definition that the task asks for; hostile source is searched, not parsed."""
    name = entry.rpartition(":")[2].encode()
    defines = re.compile(
        rb"^(?:async\s+def|def|class)\s+%b\b|^%b\s*=" % (re.escape(name), re.escape(name)), re.MULTILINE
    )
    for path in sorted(solution):
        match = defines.search(solution[path])
        if match:
            return f"solution/{path}", solution[path].count(b"\n", 0, match.start()) + 1
    return f"solution/{min(solution, default='')}", 1


def ordered(findings: Iterable[Finding]) -> list[Finding]:
    """Gravest first, then by place."""
    return sorted(findings, key=lambda one: (GRAVITY[one.severity], one.path, one.line, one.rule))
