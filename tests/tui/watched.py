"""The application as a program that says when it is idle: `python -m tests.tui.watched KIND REPORTS`.

Two keys that no table holds are its watcher's. F12: when everything typed before it is done and drawn, say so in the
terminal's title and write what the state is to the folder REPORTS. F11: begin again, with a desk of its own.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final
from unittest import mock

import msgspec
from textual import events
from textual.drivers.linux_driver import LinuxDriver

import kgrade.tui
from kgrade.tui.app import KgradeApp
from kgrade.tui.palette import Theme, choose_theme
from kgrade.tui.screens.grading import GradingPage
from tests.tui.worlds import StillDesk, makers, nothing_collected

TELL: Final = "\x1b[24~"
AGAIN: Final = "\x1b[23~"


def title(number: int) -> str:
    """The terminal's title when the program is idle for the time `number`."""
    return f"idle-{number}"


class Watched(KgradeApp):
    """Leaves only when it is killed: that it was to leave is a part of its state."""

    CSS_PATH = str(Path(kgrade.tui.__file__).with_name("styles") / "stage.tcss")

    def __init__(self, kind: str, reports: Path) -> None:
        super().__init__(StillDesk(kind, reports.parent), makers(kind))  # type: ignore[arg-type]
        self._kind = kind
        self._reports = reports
        self._told = 0
        self._left = False

    def exit(self, *_: object, **__: object) -> None:
        """Take note of it and stay."""
        self._left = True

    async def on_event(self, event: events.Event) -> None:
        """Answer the watcher; all else is as always."""
        if isinstance(event, events.Key) and event.key in ("f11", "f12"):
            self._answering = asyncio.create_task(self._answer(again=event.key == "f11"))
        else:
            await super().on_event(event)

    async def _answer(self, *, again: bool) -> None:
        with self._context():
            await self._idle()
            if again:
                self._begin_again()
                await self._idle()
            self._told += 1
            whole = self._reports / f"{self._told}.json"
            whole.with_suffix(".part").write_text(json.dumps(self.state()), encoding="utf-8")
            whole.with_suffix(".part").rename(whole)
            assert self._driver is not None
            self._driver.write(f"\x1b]2;{title(self._told)}\x07")

    async def _idle(self) -> None:
        """Wait until no worker works, no search goes on, and what they changed is drawn."""
        while any(not worker.is_finished for worker in self.workers) or self.stage.view._search is not None:
            await self.workers.wait_for_complete()
            await asyncio.sleep(0)
        for _ in range(2):
            drawn = asyncio.Event()
            self.stage.call_after_refresh(drawn.set)
            await drawn.wait()

    def _begin_again(self) -> None:
        """Everything as at the start: contexts, parts, view, mouse, desk."""
        stage, driver = self.stage, self._driver
        if self.page is not None:
            self.page.put_away()
        stage.show_entry(None)
        stage.dispatcher._open.clear()
        stage.view.wrap, stage.view.needle = False, ""
        stage._zoomed, stage._larger = False, 0
        if isinstance(driver, LinuxDriver) and driver._mouse:
            stage.toggle_mouse()
        self._left = False
        self._desk = StillDesk(self._kind, self._reports.parent)  # type: ignore[assignment]
        page = self.page = GradingPage(stage, self._desk, self._makers)
        page.open_next()
        page.sync()

    def state(self) -> dict[str, Any]:
        """Where keys go, what is open, every sheet of the desk, and what stands on the screen."""
        desk: Any = self._desk
        page, stage = self.page, self.stage
        scoring = page._scoring if page is not None else None
        if scoring is not None:
            scoring.texts.keep()
        rows = stage._compositor.render_strips(self.size)
        entry = getattr(stage.dispatcher.top, "_entry", None)
        driver: Any = self._driver
        return {
            "contexts": [type(each).__name__ for each in stage.dispatcher._open],
            "context": stage.dispatcher.top.context,
            "entry": None if entry is None else [entry.label, entry.text, entry.cursor],
            "size": list(stage._compositor.size),
            "left": self._left,
            "mouse": driver._mouse,
            "item": None if scoring is None else str(scoring.sitting.item.id),
            "focus": None if scoring is None else scoring.focus,
            "sheets": [
                [str(each.item.id), each.status, each.begun_texts, msgspec.to_builtins(each.sheet)]
                for each in desk.sittings
            ],
            "saved": sorted(str(item) for item in desk.saved),
            "skipped": {str(item): why for item, why in desk.skipped.items()},
            "screen": ["".join(segment.text for segment in row).rstrip() for row in rows],
        }


def main(kind: str, reports: str) -> int:
    """Run until killed. `KGRADE_THEME` chooses the shades."""
    theme: Theme = os.environ.get("KGRADE_THEME", "ansi")  # type: ignore[assignment]
    choose_theme(theme)
    clock = SimpleNamespace(monotonic=lambda: 0.0, strftime=lambda form: "09:41")
    with mock.patch("kgrade.tui.screens.grading.time", clock), nothing_collected():
        return Watched(kind, Path(reports)).run(mouse=False) or 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
