"""The rubric strip: every criterion's score, the levels of the one in focus, gates, verdict, total."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass

from rich.cells import cell_len, set_cell_size
from textual.geometry import Size

from kgrade.records.neutral import neutral
from kgrade.tui.lines import Span

_NAME = 17
_WIDE = 150


@dataclass(frozen=True, slots=True)
class CriterionLine:
    """`score` is a digit, ``-`` for not applicable or ``.`` for none; `levels` are the texts from 0 up."""

    name: str
    score: str = "."
    comment: str = ""
    levels: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class GateState:
    """`sign`: ``x`` confirmed, ``?`` suggested by evidence, space for neither."""

    id: str
    sign: str = " "


@dataclass(frozen=True, slots=True)
class RubricView:
    """What the strip shows of a sheet."""

    title: str = ""
    criteria: tuple[CriterionLine, ...] = ()
    focus: int = 0
    gates: tuple[GateState, ...] = ()
    verdict: str = ""
    total: str = ""
    said: tuple[str, ...] = ()
    """What else stands in the sheet, such as feedback."""

    hint: str = "digits  J K"


def strip_height(width: int, height: int, larger: int = 0) -> int:
    """Rows of the strip on a screen of this size, `larger` of them asked for (fewer if negative)."""
    if height < 24:
        usual = 2
    elif width >= _WIDE and height >= 40:
        usual = 11
    else:
        usual = 6 if height < 30 else 8
    return max(2, min(usual + larger, max(2, height - 8)))


def rubric_lines(view: RubricView, size: Size) -> Sequence[Sequence[Span]]:
    """The strip in `size`: two lines, or stacked, with all levels of the focused criterion where there is room.

    On wide screens they stand at the right, in a strip made larger below the criteria.
    """
    if not view.criteria:
        return [[Span(view.title or "no sheet", "dim")]]
    if size.height < 4:
        return [_criterion(view, view.focus, size.width), _summary(view)]
    rows = size.height - 2
    first = max(0, min(view.focus - rows // 2, len(view.criteria) - rows))
    numbers = range(first, min(first + rows, len(view.criteria)))
    beside = size.width >= _WIDE
    left_width = size.width // 2 if beside else size.width
    listed = [_criterion(view, number, left_width, with_levels=not beside) for number in numbers]
    if not beside and rows > len(view.criteria) + 1:
        levels = _all_levels(view.criteria[view.focus], size.width - 6, rows - len(listed) - 1)
        listed += [[], *([Span("    "), *level] for level in levels)]
    listed += [[] for _ in range(rows - len(listed))]
    if beside:
        levels = _all_levels(view.criteria[view.focus], size.width - left_width - 2, rows)
        listed = [
            [*_padded(line, left_width), Span("│ ", "dim"), *level]
            for line, level in zip(listed, levels + [[]] * (rows - len(levels)))
        ]
    return [_header(view, size.width), *listed, _summary(view)]


def _header(view: RubricView, width: int) -> list[Span]:
    scored = sum(criterion.score != "." for criterion in view.criteria)
    right = f" {scored}/{len(view.criteria)} scored  {view.hint} ---"
    left = f"- {neutral(view.title)} "
    return [Span(left + "-" * max(1, width - cell_len(left) - cell_len(right)) + right, "dim")]


def _criterion(view: RubricView, number: int, width: int, *, with_levels: bool = True) -> list[Span]:
    criterion = view.criteria[number]
    focused = number == view.focus
    marker = "> " if focused else "  "
    name = set_cell_size(neutral(criterion.name), _NAME)
    room = max(8, width - _NAME - 7)
    if focused and with_levels and criterion.levels:
        said = _levels_that_fit(criterion, room)
    elif criterion.comment:
        said = [Span(_first_line(criterion.comment))]
    elif focused:
        said = []  # all of its levels stand beside it
    elif criterion.score.isdigit() and int(criterion.score) < len(criterion.levels):
        said = [Span(neutral(criterion.levels[int(criterion.score)]), "dim")]
    else:
        said = []
    return _cut(
        [Span(marker + name, "focus" if focused else ""), Span(f"{criterion.score}   "), *said],
        width,
    )


def _levels_that_fit(criterion: CriterionLine, room: int) -> list[Span]:
    """The level that was chosen, or the middle one, and its neighbours as far as there is room."""
    texts = [f"{level} {neutral(text)}" for level, text in enumerate(criterion.levels)]
    middle = int(criterion.score) if criterion.score.isdigit() else len(texts) // 2
    middle = min(middle, len(texts) - 1)
    shown = {middle}
    used = cell_len(texts[middle])
    for distance in range(1, len(texts)):
        for level in (middle + distance, middle - distance):
            if 0 <= level < len(texts) and used + 3 + cell_len(texts[level]) <= room:
                shown.add(level)
                used += 3 + cell_len(texts[level])
    spans: list[Span] = []
    for level in sorted(shown):
        spans += [Span(" | ", "dim")] if spans else []
        # One that stands alone is the chosen one, as the digit before it says.
        spans += _level(texts[level], chosen=len(shown) > 1 and criterion.score == str(level))
    return spans


def _level(text: str, *, chosen: bool) -> list[Span]:
    """A level whose number alone says that it is chosen: scoring again then sends two digits and not two sentences."""
    return [Span(text[:1], "focus"), Span(text[1:])] if chosen else [Span(text)]


def _all_levels(criterion: CriterionLine, width: int, rows: int) -> list[list[Span]]:
    """All level texts, wrapped as far as `rows` allow, one line each if they do not."""
    wrapped = [
        textwrap.wrap(f"{level} {neutral(text)}", width, subsequent_indent="  ") or [f"{level}"]
        for level, text in enumerate(criterion.levels)
    ]
    if sum(map(len, wrapped)) > rows:
        wrapped = [[f"{level} {neutral(text)}"] for level, text in enumerate(criterion.levels)]
    return [
        _level(line, chosen=number == 0 and criterion.score == str(level))
        for level, lines in enumerate(wrapped)
        for number, line in enumerate(lines)
    ][:rows]


def _summary(view: RubricView) -> list[Span]:
    spans = [Span(" gates: ", "dim")]
    raised = [gate for gate in view.gates if gate.sign != " "]
    if not raised:
        spans.append(Span("none raised"))
    for gate in raised:
        spans.append(Span(f"{gate.id}{gate.sign if gate.sign == '?' else ''} ", "bad" if gate.sign == "x" else "warn"))
    verdict = view.verdict or "-"
    spans += [Span("  verdict: ", "dim"), Span(verdict, "strong"), Span("   total so far ", "dim")]
    spans.append(Span(view.total or "-"))
    return [*spans, *(Span(f"   {', '.join(view.said)}", "note") for _ in view.said[:1])]


def _first_line(text: str) -> str:
    first, _, rest = text.partition("\n")
    return neutral(first) + (" …" if rest else "")


def _cut(line: list[Span], width: int) -> list[Span]:
    kept: list[Span] = []
    for span in line:
        room = width - sum(cell_len(before.text) for before in kept)
        if cell_len(span.text) > room:
            return [*kept, Span(set_cell_size(span.text, max(0, room - 1)) + "…", span.style)]
        kept.append(span)
    return kept


def _padded(line: list[Span], width: int) -> list[Span]:
    return [*line, Span(" " * max(0, width - sum(cell_len(span.text) for span in line)))]
