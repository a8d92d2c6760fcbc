"""The contexts that open over another and close again: a text being typed, a list to choose from, a question."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from rich.cells import cell_len
from textual.fuzzy import Matcher

from kgrade.records.neutral import neutral
from kgrade.tui.dispatcher import Dispatcher
from kgrade.tui.keys import Context
from kgrade.tui.lines import Row, Rows, Span
from kgrade.tui.panes.layout import wrapped
from kgrade.tui.text_entry import TextEntry
from kgrade.tui.widgets.lines import LineView, Position

_SIGNS = 2
"""Columns before each row, for the cursor and a sign."""


class Surface(Protocol):
    """The part of the screen that contexts draw on."""

    view: LineView
    dispatcher: Dispatcher

    def say(self, text: str, tone: str = "") -> None:
        """Show a sentence to the person."""

    def show_entry(self, entry: TextEntry | None) -> None:
        """Show the text being typed; None when it is done."""

    def edit_outside(self, text: str) -> str | None:
        """Have `text` edited in $EDITOR; None, with a sentence said, if that failed."""


class TextContext:
    """A line of text; `done` gets it on Enter, `cancelled` is called on Esc. `options` complete its beginning."""

    context: Context = "text"

    def __init__(
        self,
        surface: Surface,
        entry: TextEntry,
        done: Callable[[str], None],
        *,
        cancelled: Callable[[], None] = lambda: None,
        changed: Callable[[str], None] = lambda text: None,
        options: Sequence[str] = (),
    ) -> None:
        self._surface = surface
        self._entry = entry
        self._done = done
        self._cancelled = cancelled
        self._changed = changed
        self._options = options
        surface.show_entry(entry)
        surface.dispatcher.open(self)

    def why_not(self, action: str) -> str | None:
        """Everything can be done in a text, completion where there is something to complete."""
        return "nothing to complete here" if action == "text.complete" and not self._options else None

    def perform(self, action: str, key: str) -> None:
        """Move, erase, finish or give up."""
        if action == "text.accept":
            self._close()
            self._done(self._entry.text)
        elif action == "text.cancel":
            self._close()
            self._cancelled()
        elif action == "text.editor":
            edited = self._surface.edit_outside(self._entry.text)
            if edited is not None:
                self._close()
                self._done(edited)
        elif action == "text.complete":
            self._complete()
        else:
            self._entry.edit(action)
            self._redraw()

    def typed(self, text: str) -> None:
        """Put text in; pasted lines stay lines."""
        self._entry.typed(text.replace("\r\n", "\n").replace("\r", "\n"))
        self._redraw()

    def _complete(self) -> None:
        fitting = [option for option in self._options if option.startswith(self._entry.text)]
        if len(fitting) == 1:
            self._entry.text = fitting[0]
            self._entry.cursor = len(fitting[0])
            self._redraw()
        else:
            self._surface.view.show(Rows([Row((Span(option),)) for option in fitting or self._options]))

    def _redraw(self) -> None:
        self._surface.show_entry(self._entry)
        self._changed(self._entry.text)

    def _close(self) -> None:
        self._surface.show_entry(None)
        self._surface.dispatcher.close(self)


@dataclass(frozen=True, slots=True)
class Option:
    """One row of a list to choose from."""

    id: str
    text: str
    detail: str = ""


class PickContext:
    """A list in the evidence's place, the cursor on number `first`; `chosen` gets the id.

    It closes on a choice unless `stays`.
    """

    context: Context = "pick"

    def __init__(
        self,
        surface: Surface,
        title: str,
        options: Callable[[], Sequence[Option]],
        chosen: Callable[[str], None],
        *,
        stays: bool = False,
        anyway: Callable[[], None] | None = None,
        first: int = 0,
    ) -> None:
        self._surface = surface
        self._anyway = anyway
        self._title = title
        self._options = options
        self._chosen = chosen
        self._stays = stays
        self._before: Position = surface.view.position
        self._starts: list[int] = []
        self._draw(first)
        surface.say(title)
        surface.dispatcher.open(self)

    def why_not(self, action: str) -> str | None:
        """All but going on in spite of the list, where the list stands in nobody's way."""
        return "nothing here to save" if action == "choose.anyway" and self._anyway is None else None

    def perform(self, action: str, key: str) -> None:
        """Move in the list, choose from it, or close it."""
        options = self._options()
        if action == "close":
            self.close()
        elif action in ("line.down", "line.up"):
            self._go_to(self._number + (1 if action == "line.down" else -1))
        elif action in ("top", "bottom"):
            self._go_to(0 if action == "top" else len(options) - 1)
        elif action == "choose":
            self._choose(self._number, options)
        elif action == "choose.anyway" and self._anyway is not None:
            self.close()
            self._anyway()
        elif action == "choose.number":
            self._choose(int(key) - 1 if key.isdigit() else -1, options)

    def typed(self, text: str) -> None:
        """Nothing is typed here."""

    def close(self) -> None:
        """Show again what was there before."""
        self._surface.view.resume(self._before)
        self._surface.say("")
        self._surface.dispatcher.close(self)

    def _choose(self, number: int, options: Sequence[Option]) -> None:
        if not 0 <= number < len(options):
            self._surface.say(f"choose a number from 1 to {len(options)}", "warn")
            return
        if not self._stays:
            self.close()
        self._chosen(options[number].id)
        if self._stays and self._surface.dispatcher.is_open(self):
            self._draw(number)

    @property
    def _number(self) -> int:
        """The option under the cursor, counted from 0."""
        return bisect_right(self._starts, self._surface.view.position.cursor) - 1

    def _go_to(self, number: int) -> None:
        if self._starts:
            self._surface.view.go_to(self._starts[min(max(0, number), len(self._starts) - 1)])

    def _draw(self, at: int) -> None:
        rows = [Row((Span(self._title, "heading"),))]
        self._starts = []
        for number, option in enumerate(self._options(), 1):
            self._starts.append(len(rows))
            rows += _option_rows(f"{number:2} ", option, self._surface.view.size.width - _SIGNS)
        self._surface.view.show(Rows(rows))
        self._go_to(at)


def _option_rows(number: str, option: Option, width: int) -> list[Row]:
    """An option on one row where it fits `width` cells, else on as many as it needs: one chooses what one has read."""
    detail = f"  {option.detail}" if option.detail else ""
    first = Span(number, "key")
    if cell_len(neutral(number + option.text + detail)) <= width:
        return [Row((first, Span(option.text), Span(detail, "dim")) if detail else (first, Span(option.text)))]
    hang = " " * len(number)
    room = max(10, width - len(number))
    lines = [Span(line) for line in wrapped(option.text, room)] + [
        Span(line, "dim") for line in wrapped(option.detail, room)
    ]
    return [Row((Span(hang) if row else first, line)) for row, line in enumerate(lines)]


class FindContext:
    """A list that shrinks to what fits the letters typed; Enter gives the id of the one under the cursor to `chosen`.

    A number alone brings the option of that number to the top.
    """

    context: Context = "text"

    def __init__(self, surface: Surface, title: str, options: Sequence[Option], chosen: Callable[[str], None]) -> None:
        self._surface = surface
        self._title = title
        self._options = options
        self._chosen = chosen
        self._entry = TextEntry("find")
        self._starts: list[int] = []
        self._before: Position = surface.view.position
        surface.dispatcher.open(self)
        self._draw()

    def why_not(self, action: str) -> str | None:
        """All but what long texts need."""
        return "not here: this only finds" if action in ("text.complete", "text.editor") else None

    def perform(self, action: str, key: str) -> None:
        """Move in the list, choose from it, change the letters, or give up."""
        view = self._surface.view
        if action in ("text.next", "text.previous"):
            at = bisect_right(self._starts, view.position.cursor) - 1 + (1 if action == "text.next" else -1)
            if self._starts:
                view.go_to(self._starts[min(max(0, at), len(self._starts) - 1)])
        elif action == "text.accept":
            found = self._found()
            if found:
                chosen = found[max(0, bisect_right(self._starts, view.position.cursor) - 1)][1]
                self._close()
                self._chosen(chosen.id)
            else:
                self._surface.say(f"nothing fits {self._entry.text!r}", "warn")
        elif action == "text.cancel":
            self._close()
        else:
            self._entry.edit(action)
            self._draw()

    def typed(self, text: str) -> None:
        """Find with more letters."""
        self._entry.typed(" ".join(text.split("\n")))
        self._draw()

    def _found(self) -> list[tuple[int, Option]]:
        """The options that fit, the best first, with their numbers."""
        wanted = self._entry.text.strip()
        numbered = list(enumerate(self._options, 1))
        if not wanted:
            return numbered
        matcher = Matcher(wanted)
        scored = [(matcher.match(option.text), number, option) for number, option in numbered]
        scored += [(math.inf, number, option) for number, option in numbered if wanted == str(number)]
        best: dict[int, tuple[float, Option]] = {}
        for score, number, option in scored:
            if score > best.get(number, (0.0, option))[0]:
                best[number] = (score, option)
        return [(number, option) for number, (_, option) in sorted(best.items(), key=lambda one: -one[1][0])]

    def _draw(self) -> None:
        found = self._found()
        rows = [Row((Span(f"{self._title}, {len(found)} of {len(self._options)}", "heading"),))]
        self._starts = []
        for number, option in found:
            self._starts.append(len(rows))
            rows += _option_rows(f"{number:2} ", option, self._surface.view.size.width - _SIGNS)
        self._surface.view.show(Rows(rows))
        self._surface.view.go_to(1)
        self._surface.show_entry(self._entry)

    def _close(self) -> None:
        self._surface.show_entry(None)
        self._surface.view.resume(self._before)
        self._surface.dispatcher.close(self)


class QuestionContext:
    """A question that y answers with `yes`; anything else leaves things as they are."""

    context: Context = "question"

    def __init__(self, surface: Surface, question: str, yes: Callable[[], None]) -> None:
        self._surface = surface
        self._yes = yes
        surface.say(f"{question} (y/n)", "warn")
        surface.dispatcher.open(self)

    def why_not(self, action: str) -> str | None:
        """Both answers can be given."""
        return None

    def perform(self, action: str, key: str) -> None:
        """Take the answer."""
        self._surface.dispatcher.close(self)
        self._surface.say("")
        if action == "yes":
            self._yes()

    def typed(self, text: str) -> None:
        """Nothing is typed here."""
