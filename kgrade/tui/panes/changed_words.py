"""Which words differ between two lines that are alike."""

from __future__ import annotations

import difflib
import re
from typing import Final

_LONGEST_LINE: Final = 1_000
_TOKEN: Final = re.compile(r"\w+|\s+|[^\w\s]")
_ALIKE: Final = 0.4


def changed_parts(old: str, new: str) -> tuple[list[tuple[int, int]], list[tuple[int, int]]] | None:
    """Return the character ranges, end excluded, in which two lines differ, by words; None when they are not alike."""
    if max(len(old), len(new)) > _LONGEST_LINE:
        return None
    left, right = _TOKEN.findall(old), _TOKEN.findall(new)
    matcher = difflib.SequenceMatcher(None, left, right, autojunk=False)
    kept = sum(len("".join(left[a : a + n]).strip()) for a, _, n in matcher.get_matching_blocks())
    longest = max(len(old.strip()), len(new.strip()))
    if longest and kept / longest < _ALIKE:
        return None
    ends_left, ends_right = _ends(left), _ends(right)
    gone, come = [], []
    for kind, a, a_end, b, b_end in matcher.get_opcodes():
        if kind == "equal":
            continue
        if a_end > a:
            gone.append((ends_left[a], ends_left[a_end]))
        if b_end > b:
            come.append((ends_right[b], ends_right[b_end]))
    return gone, come


def _ends(tokens: list[str]) -> list[int]:
    ends = [0]
    for token in tokens:
        ends.append(ends[-1] + len(token))
    return ends
