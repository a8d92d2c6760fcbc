"""A call that is to come later comes, even where its time has passed before anything waits for it."""

from __future__ import annotations

import asyncio
import itertools
from types import SimpleNamespace

import pytest
import textual.timer
from textual.app import App

from kgrade.tui.timers import after


def test_a_call_is_not_lost_on_a_machine_that_stands_still(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each time that the timer of one call looks at the clock, ten seconds have gone by."""
    called = asyncio.Event()
    real, looks = textual.timer._time.get_time, itertools.count(1)

    def later() -> float:
        task = asyncio.current_task()
        alone = task is not None and task.get_name().startswith("set_timer")
        return real() + (10 * next(looks) if alone else 0)

    class Busy(App[None]):
        def on_ready(self) -> None:
            monkeypatch.setattr(textual.timer, "_time", SimpleNamespace(get_time=later))
            after(0.001, self, called.set)

    async def run() -> None:
        async with Busy().run_test():
            await asyncio.wait_for(called.wait(), 60)

    asyncio.run(run())
    assert next(looks) > 2


def test_a_stopped_timer_calls_nothing() -> None:
    called: list[str] = []

    async def run() -> None:
        app = App[None]()
        async with app.run_test() as pilot:
            after(0.001, app, lambda: called.append("stopped")).stop()
            after(0.05, app, lambda: called.append("later"))
            while not called:
                await pilot.pause()

    asyncio.run(run())
    assert called == ["later"]
