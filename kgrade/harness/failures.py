"""One classifier over one table of signatures (`failures.tsv`): what failed, the line that proves it, what to do.

A row of the table is one signature: kind, origin, scope, whose fault, whether to retry, pattern, advice. A `general`
row only says that something of its kind failed, so it is named where no `specific` one is found. In a pattern
`…` stands for any text within a line, ` | ` separates alternatives, and ` + ` adds texts that must occur elsewhere in
the same log. A pattern that starts with `…` may stand anywhere in a line; any other must begin the line or
follow a tag such as `RuntimeError: `. Rows of the CUDA runtime hold code, name and text as its library prints them;
short texts among those count only where the line speaks of CUDA. Rows of kind `none` are known to be harmless.
"""

from __future__ import annotations

import bisect
import csv
import functools
import io
import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import resources
from typing import get_args

from kgrade.records.evidence import Failure, Fault

# The first kind that a log holds is the failure: what comes later in this order often follows from it.
KINDS = (
    "harness",
    "environment",
    "timeout",
    "compile",
    "link",
    "launch",
    "device-fault",
    "memory",
    "shape",
    "accuracy",
    "benchmark",
)
HARMLESS = "none"
_LONGEST_LINE = 400
_CUDA_RUNTIME = "cuda runtime"

_TAG_END = re.compile(r"(?:^|[:\])>|,(–-]|(?<![\s=])=|\b(?:error|failed|with|E|F))[\s\"']*\Z", re.IGNORECASE)
_HEDGE = re.compile(
    r"\b(?:if you|when you|see|saw|says?|said|such as|e\.g|for example|example:|previous(?:ly)?|last time|quot\w+)\b",
    re.IGNORECASE,
)
_CUDA_CONTEXT = re.compile(r"cuda|gpuassert|\bgpu\b", re.IGNORECASE)
_RAISED = re.compile(r"(?:Error|Exception|Exit|Interrupt)\(\Z")
_ECHO_PREFIXES = (">", "#", "//", "/*", "* ", "--", "+ ", "- ", "|")
_GUTTER = re.compile(r"\s*\d* \| ")
_CARET = re.compile(r"\s*\^[\s^~]*\Z")
_TRITON_ECHO = re.compile(r"\bat \d+:\d+:\s*\Z")


@dataclass(frozen=True)
class Signature:
    """One row of the table. `expression` finds it; all of `parts` must occur; `anchored`, `in_cuda` restrict where."""

    kind: str
    origin: str
    general: bool
    fault: Fault
    retry: bool
    pattern: str
    advice: str
    expression: re.Pattern[str]
    parts: tuple[str, ...]
    anchored: bool
    in_cuda: bool = False


def classify(text: str) -> Failure | None:
    """Return the failure that a log or exception shows, or None when no signature stands in it.

    Text that only quotes another log is passed over: Markdown quotes and fences, comments, source that a tool
    echoes, string literals, and sentences about an error ("if you see …").
    """
    log = _Log(text)
    found = [hit for signature in signatures() for hit in log.hits(signature)]
    longest: dict[int, _Hit] = {}
    for hit in found:
        if hit.start not in longest or hit.end > longest[hit.start].end:
            longest[hit.start] = hit
    failures = [hit for hit in longest.values() if hit.signature.kind != HARMLESS]
    if not failures:
        return None
    first = min(failures, key=lambda hit: (KINDS.index(hit.signature.kind), hit.signature.general, hit.start))
    row = first.signature
    line = log.line_at(first.start).strip()[:_LONGEST_LINE]
    return Failure(kind=row.kind, line=line, fault=row.fault, retry=row.retry, advice=row.advice)


@functools.cache
def signatures() -> tuple[Signature, ...]:
    """Return the table, one signature for each alternative of each row, in the table's order."""
    table = resources.files("kgrade.harness").joinpath("failures.tsv").read_text(encoding="utf-8")
    rows = csv.DictReader(io.StringIO(table), delimiter="\t", quoting=csv.QUOTE_NONE)
    return tuple(signature for row in rows for signature in _signatures_of(row))


def _signatures_of(row: dict[str, str]) -> Iterator[Signature]:
    kind, fault = row["kind"], row["fault"]
    known = kind in (*KINDS, HARMLESS) and fault in get_args(Fault)
    if not known or row["retry"] not in ("yes", "no") or row["scope"] not in ("specific", "general"):
        raise ValueError(f"failures.tsv: the row of {row['pattern']!r} has an unknown kind, scope, fault or retry")
    if row["origin"].startswith(_CUDA_RUNTIME):
        yield from _cuda_signatures(row)
        return
    for alternative in row["pattern"].split(" | "):
        text, *also = alternative.split(" + ")
        words = text.removeprefix("…").split("…")
        end = r"(?!\w)" if text[-1].isalnum() else ""
        expression = "[^\n]*?".join(re.escape(word) for word in words) + end
        yield _signature(row, expression, (*words, *also), anchored=not text.startswith("…"))


def _cuda_signatures(row: dict[str, str]) -> Iterator[Signature]:
    """A runtime error counts by its name, and by its text: short texts must speak of CUDA and end there."""
    _, name, text = row["pattern"].split(" ", 2)
    yield _signature(row, rf"\b{name}\b", (name,), anchored=True)
    end = r"(?![\w-])"
    if len(text.split()) < 4:
        end = r"(?=\s*(?:$|[^\w\s]|(?:at|in|on)\b|\S+\.cuh?\b))"
    yield _signature(row, rf"\b{re.escape(text)}{end}", (text,), anchored=False, in_cuda=True)


def _signature(
    row: dict[str, str], expression: str, parts: tuple[str, ...], *, anchored: bool, in_cuda: bool = False
) -> Signature:
    fault: Fault = row["fault"]  # type: ignore[assignment]  # _signatures_of has checked it
    return Signature(
        row["kind"],
        row["origin"],
        row["scope"] == "general",
        fault,
        row["retry"] == "yes",
        row["pattern"],
        row["advice"],
        re.compile(expression, re.MULTILINE),
        parts,
        anchored,
        in_cuda,
    )


@dataclass(frozen=True)
class _Hit:
    signature: Signature
    start: int
    end: int


class _Log:
    """A text and which of its lines only echo something else."""

    def __init__(self, text: str) -> None:
        self.text = text.replace("\r\n", "\n")
        self._lines = self.text.split("\n")
        self._echoes = _echoes(self._lines)
        self._starts = [0, *itertools.accumulate(len(line) + 1 for line in self._lines)]

    def hits(self, signature: Signature) -> Iterator[_Hit]:
        """Yield every place where `signature` stands as a message of its own."""
        if not all(part in self.text for part in signature.parts):
            return
        for match in signature.expression.finditer(self.text):
            if self._speaks(signature, match.start()):
                yield _Hit(signature, match.start(), match.end())

    def line_at(self, place: int) -> str:
        """Return the line that holds the character at `place`."""
        return self._lines[self._number(place)]

    def _number(self, place: int) -> int:
        return bisect.bisect_right(self._starts, place) - 1

    def _speaks(self, signature: Signature, place: int) -> bool:
        number = self._number(place)
        if self._echoes[number]:
            return False
        line, column = self._lines[number], place - self._starts[number]
        before = line[:column]
        if line.startswith("\t") and before.strip():
            return False
        if _HEDGE.search(before) or _quoted(line, column):
            return False
        if signature.in_cuda:
            alone = len(signature.pattern.split()) >= 6 and _TAG_END.search(before) is not None
            return alone or _CUDA_CONTEXT.search(before) is not None
        return not signature.anchored or _TAG_END.search(before) is not None


def _echoes(lines: list[str]) -> list[bool]:
    """Mark the lines that are comments, quotes, fenced text, or source that a compiler or traceback echoes."""
    marks = []
    fenced = triton = False
    for line, following in zip(lines, [*lines[1:], ""], strict=True):
        bare = line.lstrip()
        if bare.startswith("```"):
            fenced = not fenced
        indent = len(line) - len(line.lstrip(" "))
        marks.append(
            fenced
            or triton
            or bare.startswith(_ECHO_PREFIXES)
            or indent >= 4
            or (indent >= 2 and _CARET.match(following) is not None)
            or _GUTTER.match(line) is not None
        )
        if _TRITON_ECHO.search(line) and not marks[-1]:
            triton = True
        elif triton and _CARET.match(line):
            triton = False
    return marks


def _quoted(line: str, column: int) -> bool:
    """Whether `column` lies in a string literal or code span of `line` that is not an exception's own text."""
    opened: str | None = None
    begin = 0
    for place, character in enumerate(line[:column]):
        if opened:
            if character == opened:
                opened = None
        elif character in '"`“' or (character == "'" and not line[place - 1 : place].isalnum()):
            opened, begin = "”" if character == "“" else character, place
    if opened is None or opened not in line[column:]:
        return False
    return _RAISED.search(line[:begin]) is None
