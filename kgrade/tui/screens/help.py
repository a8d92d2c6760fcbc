"""Help for where one is, made from the key table: what each key does, and why it does not just now."""

from __future__ import annotations

from collections.abc import Sequence

from kgrade.tui.contexts import TextContext
from kgrade.tui.dispatcher import Receiver
from kgrade.tui.keys import Binding, Context, KeyTable
from kgrade.tui.lines import Row, Rows, Span
from kgrade.tui.screens.reading import Deeds, reading_deeds
from kgrade.tui.screens.stage import Stage
from kgrade.tui.text_entry import TextEntry


def help_rows(table: KeyTable, receiver: Receiver, wanted: str = "") -> Rows:
    """The keys of `receiver`'s context by group; only those whose words hold `wanted`."""
    rows: list[Row] = []
    groups: dict[str, list[Binding]] = {}
    for binding in table.within(receiver.context):
        if wanted.lower() in f"{binding.action} {binding.does} {' '.join(binding.keys)}".lower():
            groups.setdefault(binding.group, []).append(binding)
    for group, bindings in groups.items():
        rows.append(Row((Span(group, "heading"),)))
        rows += [_row(binding, receiver.why_not(binding.action)) for binding in bindings]
    if not rows:
        rows.append(Row((Span(f"no key does anything with {wanted!r}"),)))
    return Rows(rows)


def _row(binding: Binding, reason: str | None) -> Row:
    keys = _keys_shown(binding.keys)
    spans = [Span(f"  {keys:<14} ", "key"), Span(f"{binding.does:<46} "), Span(binding.action, "dim")]
    if reason is not None:
        spans.append(Span(f"  not now: {reason}", "warn"))
    return Row(tuple(spans))


def _keys_shown(keys: Sequence[str]) -> str:
    if not keys:
        return "(no key)"
    return f"{keys[0]}–{keys[-1]}" if len(keys) > 8 else " ".join(keys)


class HelpPage:
    """The help, over the page that it is about."""

    context: Context = "help"

    def __init__(self, stage: Stage, about: Receiver) -> None:
        self._stage = stage
        self._about = about
        self._before = stage.view.position
        self._deeds: Deeds = {
            **reading_deeds(stage),
            "search": lambda key: TextContext(
                stage,
                TextEntry("show keys for"),
                self._filter,
                changed=self._filter,
                cancelled=lambda: self._filter(""),
            ),
            "redraw": lambda key: stage.draw_afresh(),
            "close": lambda key: self.close(),
        }
        self._filter("")
        stage.say("help: / filters, q closes")
        stage.dispatcher.open(self)

    def why_not(self, action: str) -> str | None:
        """Everything can be done here."""
        return None

    def perform(self, action: str, key: str) -> None:
        """Read, filter, close."""
        self._deeds[action](key)

    def typed(self, text: str) -> None:
        """Nothing is typed here."""

    def close(self) -> None:
        """Show again what was there before."""
        self._stage.view.resume(self._before)
        self._stage.say("")
        self._stage.dispatcher.close(self)

    def _filter(self, wanted: str) -> None:
        self._stage.view.show(help_rows(self._stage.dispatcher.table, self._about, wanted))
