"""The code as it stands: the solution's files in full, then, behind folds, what was handed out and the reference."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kgrade.tui.highlight import HighlightedText
from kgrade.tui.lines import LazyRows, Lines, Place, Row, Rows, Span, message
from kgrade.tui.pane import Glance, Pane
from kgrade.tui.panes import figures
from kgrade.tui.panes.layout import BLANK, Column, Entry, Joined, fold, heading, table
from kgrade.tui.panes.remarks import Remarks

if TYPE_CHECKING:
    from kgrade.desk.item import Item
    from kgrade.desk.sheet import Sheet

_SNIFFED: Final = 8_000
_ABOUT: Final = ("prompt.md", "task.yaml")


def pane(item: Item, sheet: Sheet) -> Pane:
    """The files of `item`; of a task under review, its own files stand in full."""
    own = {path: data for path, data in item.files.items() if path not in _ABOUT}
    shown = {f"solution/{path}": data for path, data in item.solution.items()} if item.submission else own
    if not shown:
        return Pane(message("! There is no source file.", "  L shows where the item came from, i what was asked."))
    remarks = Remarks(item, sheet)
    codes: list[Lines] = [
        code_rows(path, data, remarks) if _is_text(data) else Rows([]) for path, data in shown.items()
    ]
    parts: list[Lines] = [Rows(_contents(shown, codes, remarks))] if len(shown) > 1 else []
    for (path, data), code in zip(shown.items(), codes):
        parts += [Rows([BLANK, heading(path, _kind(data))] if parts else [heading(path, _kind(data))]), code]
    if item.submission and own:
        parts.append(Rows([BLANK, heading("the task's files"), *_folds(own, item, remarks)]))
    return Pane(Joined(parts), glance(item))


def glance(item: Item) -> Glance:
    """How many files there are, when there is more than one."""
    count = len(item.solution) if item.submission else 0
    return Glance(str(count)) if count > 1 else Glance()


def code_rows(path: str, data: bytes, remarks: Remarks) -> LazyRows:
    """A file with line numbers and remarks, coloured by window. `path` is as notes name it."""
    text = HighlightedText(data, path)
    digits = len(str(len(text)))

    def make(index: int) -> Row:
        place = Place(path, index + 1)
        aside = remarks.aside(place)
        return Row(
            spans=text[index],
            gutter=(Span(f"{index + 1:{digits}} ", "number"),),
            aside=aside,
            place=place,
            sign=remarks.sign(place),
            mark="finding" if aside else "",
            fold=remarks.in_full(place),
        )

    return LazyRows(len(text), make, [line - 1 for line in remarks.lines(path) if line <= len(text)], text.source.find)


def _contents(files: dict[str, bytes], codes: list[Lines], remarks: Remarks) -> list[Row]:
    """The list of files, from which Enter goes to each."""
    columns = [Column("file, Enter goes there", most=50), Column("what"), Column("remarks", right=True)]
    entries = []
    at = 1 + len(files)
    for (path, data), code in zip(files.items(), codes):
        cells = [path, _kind(data), str(len(remarks.lines(path)) or "")]
        entries.append(Entry(cells, place=Place(path, 1), to=at + 1))
        at += 2 + len(code)
    return table(columns, entries)


def _folds(files: dict[str, bytes], item: Item, remarks: Remarks) -> list[Row]:
    reference = item.task.reference.partition(":")[0]
    rows = []
    for path in sorted(files, key=lambda name: (name != reference, not name.startswith("start/"), name)):
        role = "the reference" if path == reference else "handed out" if path.startswith("start/") else "the task's"
        label = f"  {path}  {role}, {_kind(files[path])}"
        if _is_text(files[path]):
            rows.append(fold(label, code_rows(path, files[path], remarks), ""))
        else:
            rows.append(Row(spans=(Span(label),)))
    return rows


def _kind(data: bytes) -> str:
    if not _is_text(data):
        return f"binary, {figures.size(len(data))}, not shown"
    return figures.count(data.count(b"\n") + (bool(data) and not data.endswith(b"\n")), "line")


def _is_text(data: bytes) -> bool:
    return b"\0" not in data[:_SNIFFED]
