"""A long sitting at a queue with a remote: random keys, resizes, the terminal and the network lost and regained."""

from __future__ import annotations

import os
import random
import re
import signal
import subprocess
import time
from dataclasses import dataclass, field
from pathlib import Path

from tests.benchmarks.sitting import ROOT, argv_of, environment
from tests.benchmarks.test_huge import resident_mb
from tests.tui.terminal import Terminal

SIZES = ((80, 24), (100, 30), (160, 48), (90, 40))
READING = ("j", "k", " ", "-", "G", "g", "d", "s", "i", "t", "b", "p", "f", "]", "[", "l", "h", "n", "/exp\r", "w", "w")
_SCORED = re.compile(r"(\d+)/(\d+) scored")


@dataclass
class Figures:
    """What was measured, one entry an item: seconds from a key to what it sends, and from `S` to the next item.

    `memory` holds megabytes of the application, with the number of items that its process had seen by then.
    """

    keys: list[float] = field(default_factory=list)
    saves: list[float] = field(default_factory=list)
    memory: list[tuple[int, float]] = field(default_factory=list)
    lost_terminals: int = 0
    outages: int = 0


class Endurance:
    """Grades one item after the other in a pseudo-terminal and keeps account of what must be in git at the end."""

    def __init__(self, clone: Path, hub: Path, seed: int) -> None:
        self.clone = clone
        self.hub = hub
        self.away = hub.with_name("away")
        self.dice = random.Random(seed)
        self.figures = Figures()
        self.graded: dict[str, list[int]] = {}
        self._seen = 0
        self._terminal = self._opened()

    def go_on(self, items: int, *, lose_terminal: float, resize: float, outage: float) -> None:
        """Grade so many items; the rest are chances that each of these happens at one of them."""
        for _ in range(items):
            if self.away.exists() or self.dice.random() < outage:
                self._switch_network()
            if self.dice.random() < resize:
                self._terminal.resize(*self.dice.choice(SIZES))
                self._terminal.settle(0.1)
            self._grade(lose=self.dice.random() < lose_terminal)

    def close(self) -> None:
        """Let the network come back, send what waits, and leave."""
        if self.away.exists():
            self._switch_network()
        self._terminal.send("/exp\rq")  # the first q ends the search that some item's reading may have left open
        self._terminal.settle(0.2)
        self._terminal.leave()
        self._terminal.close()
        subprocess.run(
            [*argv_of(self.clone)[:3], "sync", "--queue", str(self.clone), "--evaluator", "ada"],
            cwd=ROOT,
            env=_process_environment(),
            check=True,
            capture_output=True,
        )

    def _grade(self, *, lose: bool) -> None:
        terminal = self._terminal
        item, (_, criteria) = self._item(), self._scored()
        for key in self.dice.choices(READING, k=4):
            terminal.send(key)
            terminal.settle(0.01, limit=0.2)
        levels = [self.dice.choice((3, 4)) for _ in range(criteria)]
        terminal.send("K" * criteria)
        terminal.settle(0.03, limit=1)
        half = criteria // 2
        terminal.send("".join(map(str, levels[:half])))
        self._until_scored(half)
        if lose:
            self._lose_terminal(item, half)
            terminal = self._terminal
            terminal.send("K" * criteria + "J" * half)
        before = time.perf_counter()
        terminal.send(str(levels[half]))
        terminal.wait_for_bytes()
        self.figures.keys.append(time.perf_counter() - before)
        terminal.send("".join(map(str, levels[half + 1 :])) + "v1")
        self._until_scored(criteria)
        terminal.wait_until(lambda: "verdict: -" not in terminal.text, "the verdict")
        before = time.perf_counter()
        terminal.send("S")
        terminal.wait_until(
            lambda: self._item_or_none() not in (None, item) or "y saves what may" in terminal.text, f"a save of {item}"
        )
        if self._item_or_none() in (None, item):  # a gate that the evidence suggests is left open
            terminal.send("y")
            terminal.wait_until(lambda: self._item_or_none() not in (None, item), f"the item after {item}")
        self.figures.saves.append(time.perf_counter() - before)
        self.graded[item] = levels
        self._seen += 1
        self.figures.memory.append((self._seen, resident_mb(terminal.pid)))

    def _lose_terminal(self, item: str, scored: int) -> None:
        """The window is closed over a draft: the next one must show it again."""
        before = self._terminal
        before.hang_up()
        before.signal(signal.SIGHUP)
        before.wait_for_exit(reading=False)
        before.close()
        self.figures.lost_terminals += 1
        self._seen = 0
        self._terminal = self._opened()
        found, (there, _) = self._item(), self._scored()
        assert (found, there) == (item, scored), f"lost: {item} with {scored} scores; found {found} with {there}"

    def _switch_network(self) -> None:
        if self.away.exists():
            self.away.rename(self.hub)
        else:
            self.hub.rename(self.away)
            self.figures.outages += 1

    def _opened(self) -> Terminal:
        terminal = Terminal(argv_of(self.clone), width=100, height=30, env=environment(), cwd=ROOT)
        self._terminal = terminal
        terminal.wait_until(lambda: self._item_or_none() is not None, "an item")
        terminal.settle(0.2)
        return terminal

    def _item_or_none(self) -> str | None:
        lines = self._terminal.screen.lines
        whole = _SCORED.search(self._terminal.text) is not None
        found = re.match(r"(task-\d+(?:/s\d+)?)\s", lines[0])
        return found[1] if found and whole else None

    def _item(self) -> str:
        found = self._item_or_none()
        assert found is not None, self._terminal.text
        return found

    def _scored(self) -> tuple[int, int]:
        found = _SCORED.search(self._terminal.text)
        assert found is not None, self._terminal.text
        return int(found[1]), int(found[2])

    def _until_scored(self, count: int) -> None:
        self._terminal.wait_until(lambda: self._scored()[0] == count, f"{count} scores")


def _process_environment() -> dict[str, str]:
    return {**os.environ, **environment()}
