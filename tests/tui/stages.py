"""The application on a headless screen, driven by keys as one packet or one by one."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping

from rich.segment import Segment
from textual.pilot import Pilot

from kgrade.tui.app import KgradeApp
from kgrade.tui.keys import KeyTable, notation
from kgrade.tui.screens.panes import PaneMaker
from tests.tui.paper_desk import MAKERS, PaperDesk


class Play:
    """A running application. `keys` are written as people would, Enter as ``\\r``."""

    def __init__(self, app: KgradeApp, pilot: Pilot[int], desk: PaperDesk) -> None:
        self.app = app
        self.pilot = pilot
        self.desk = desk

    def at_once(self, keys: str) -> None:
        """Dispatch all of `keys` before anything else happens, as one read from the terminal does."""
        names = {
            "\r": "enter",
            "\x1b": "escape",
            "\t": "tab",
            "\x04": "ctrl+d",
            " ": "space",
            "\x0f": "ctrl+o",
            "\x15": "ctrl+u",
        }
        for key in keys:
            self.app.stage.dispatcher.key(notation(names.get(key, key), key), key)

    async def press(self, keys: str) -> None:
        """Dispatch `keys` and wait until everything is done."""
        self.at_once(keys)
        await self.settled()

    async def settled(self) -> None:
        await self.app.workers.wait_for_complete()
        await self.pilot.pause()
        if self.app._exit:
            return
        drawn = asyncio.Event()
        self.app.stage.call_after_refresh(drawn.set)
        await drawn.wait()

    @property
    def lines(self) -> list[str]:
        rows = self.app.stage._compositor.render_strips(self.app.size)
        return ["".join(segment.text for segment in row if isinstance(segment, Segment)).rstrip() for row in rows]

    @property
    def text(self) -> str:
        return "\n".join(self.lines)

    @property
    def message(self) -> str:
        return self.lines[-2].strip()


def play(
    scene: Callable[[Play], Awaitable[None]],
    *,
    size: tuple[int, int] = (80, 24),
    desk: PaperDesk | None = None,
    makers: Mapping[str, PaneMaker] = MAKERS,
    table: KeyTable | None = None,
) -> KgradeApp:
    """Run `scene` and end the application."""
    desk = desk or PaperDesk()
    app = KgradeApp(desk, makers, table=table)

    async def run() -> None:
        async with app.run_test(size=size) as pilot:
            await pilot.pause()
            await scene(Play(app, pilot, desk))

    asyncio.run(run())
    return app
