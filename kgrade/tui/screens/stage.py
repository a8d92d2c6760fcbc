"""The one Textual screen. Its widgets are mounted once; pages show themselves on it and take turns.

Pushing a Textual screen takes effect some messages later, and keys that came meanwhile would go astray. So there
is one screen, and what opens and closes are contexts of the dispatcher.
"""

from __future__ import annotations

from textual.app import App, ComposeResult
from textual.drivers.linux_driver import LinuxDriver
from textual.geometry import Offset
from textual.screen import Screen

from kgrade.records.neutral import neutral
from kgrade.tui.dispatcher import Dispatcher
from kgrade.tui.driver import ChangedCellsDriver
from kgrade.tui.editor import EditorError, edited
from kgrade.tui.keys import KeyTable
from kgrade.tui.text_entry import TextEntry
from kgrade.tui.widgets.bottom import EntryText, KeysShown, MessageText, key_lines, message_lines, parted
from kgrade.tui.widgets.drawn import Drawn
from kgrade.tui.widgets.lines import LineView
from kgrade.tui.widgets.rubric import RubricView, rubric_lines, strip_height
from kgrade.tui.widgets.status import Status, status_lines
from kgrade.tui.widgets.tabs import TabState, tab_lines


class Stage(Screen[None]):
    """Status, tabs, evidence, rubric strip, message, keys, from top to bottom."""

    def __init__(self, app: App[int], table: KeyTable) -> None:
        super().__init__()
        self.application = app
        self.dispatcher = Dispatcher(table, self.say, self._context_changed)
        self.status = Drawn(status_lines, Status(), id="status")
        self.tabs: Drawn[tuple[TabState, ...]] = Drawn(tab_lines, (), id="tabs")
        self.view = LineView(id="evidence")
        self.strip = Drawn(rubric_lines, RubricView(), id="strip")
        self.message: Drawn[MessageText | EntryText] = Drawn(message_lines, MessageText(), id="message")
        self.keys: Drawn[KeysShown | MessageText] = Drawn(key_lines, KeysShown(), base="dim", id="keys")
        self._larger = 0
        self._zoomed = False
        self._with_rubric = False
        self._typing = False
        self._with_tabs = False

    def compose(self) -> ComposeResult:
        """Everything, once."""
        yield from (self.status, self.tabs, self.view, self.strip, self.message, self.keys)

    # For pages and contexts

    def say(self, text: str, tone: str = "") -> None:
        """Show a sentence in the message line, and what does not fit over the keys; "" clears it."""
        line, rest = parted(neutral(text), self.size.width - 2)
        self.message.show(MessageText(line, tone))
        if rest:
            self.keys.show(MessageText(rest, tone))
        elif isinstance(self.keys.value, MessageText):
            self._context_changed()

    def mention(self, text: str, tone: str = "") -> None:
        """Say what nobody asked for just now: while a text is typed in the message line, it stands over the keys."""
        if self._typing:
            self.keys.show(MessageText(parted(neutral(text), self.size.width - 2)[0], tone))
        else:
            self.say(text, tone)

    def show_entry(self, entry: TextEntry | None) -> None:
        """Show the text being typed in the message line, with the terminal's own cursor in it."""
        self._typing = entry is not None
        if entry is None:
            self.say("")
            self._cursor(visible=False)
            return
        spans, column = entry.drawn(self.message.size.width or self.size.width)
        self.message.show(EntryText(tuple(spans)))
        self.application.cursor_position = Offset(column, self.message.region.y)
        self._cursor(visible=True)

    def edit_outside(self, text: str) -> str | None:
        """Have `text` edited in $EDITOR; None, with a sentence said, if that failed."""
        try:
            return edited(self.application, text)
        except EditorError as why:
            self.say(str(why), "bad")
            return None

    def set_parts(self, *, rubric: bool, tabs: bool | None = None) -> None:
        """Whether the rubric strip, and the tabs (None: with the strip), are on the stage."""
        self._with_rubric = rubric
        self._with_tabs = rubric if tabs is None else tabs
        self._lay_out_now()

    def zoom(self) -> bool:
        """Give the strip's rows to the evidence, or take them back; return whether it has them now."""
        self._zoomed = not self._zoomed
        self._lay_out_now()
        return self._zoomed

    def enlarge_strip(self, rows: int) -> None:
        """Give the strip more rows, or fewer."""
        self._larger = max(-9, min(self._larger + rows, 30))
        self._lay_out_now()

    def draw_afresh(self) -> None:
        """Draw everything again, whatever the terminal shows."""
        driver = self.application._driver
        if isinstance(driver, ChangedCellsDriver):
            driver.draw_afresh()
        self.refresh(layout=True)

    def toggle_mouse(self) -> None:
        """Let the program have the mouse, or leave it to the terminal, whose own selection then works."""
        driver = self.application._driver
        if driver is None or driver.is_headless or not isinstance(driver, LinuxDriver):
            self.say("no mouse here")
            return
        on = not driver._mouse
        if on:
            driver._mouse = True
            driver._enable_mouse_support()
        else:
            driver._disable_mouse_support()
            driver._mouse = False
        self.say("mouse on: the terminal selects with Shift held" if on else "mouse off: the terminal selects")

    # The stage itself

    def on_resize(self) -> None:
        """Lay out for the new size."""
        self._lay_out()

    def _lay_out(self) -> None:
        width, height = self.size
        self.tabs.display = self._with_tabs
        self.strip.display = self._with_rubric and not self._zoomed
        self.strip.styles.height = strip_height(width, height, self._larger)

    def _lay_out_now(self) -> None:
        """Lay out, so that the key after this one, in the same packet perhaps, finds every part in its new size."""
        self._lay_out()
        # What was arranged is kept by the number of parts, not by their heights.
        self._clear_arrangement_cache()
        with self.application.batch_update():
            self._refresh_layout()

    def _context_changed(self) -> None:
        self.keys.show(KeysShown.of(self.dispatcher.table, self.dispatcher.top.context))

    def _cursor(self, *, visible: bool) -> None:
        driver = self.application._driver
        if driver is not None and not driver.is_headless:
            driver.write("\x1b[?25h" if visible else "\x1b[?25l")
