"""Sessions whose output is drawn twice, as Textual writes it and as the driver sends it, and compared at every rest.

A session is recorded once: keys in packets, texts with wide characters and marks, pastes and sizes, over one of the
desks that stand still or over the sample queue. Then the same stream goes to two terminals of a kind.
"""

from __future__ import annotations

import asyncio
import os
import random
import subprocess
import tty
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from unittest import mock

from textual import events
from textual.drivers import headless_driver

import kgrade.tui
from kgrade.desk import Desk
from kgrade.tui.app import KgradeApp
from kgrade.tui.driver.cells import BLANK, Grid
from kgrade.tui.driver.shadow import Shadow
from kgrade.tui.driver.stream import Painter
from kgrade.tui.keys import KeyTable, notation
from kgrade.tui.palette import Theme, choose_theme
from kgrade.tui.panes import panes
from tests.tui.snapshots import SCENES
from tests.tui.worlds import KINDS, TABLE, WORDS, StillDesk, makers, nothing_collected

Size = tuple[int, int]
Step = str | Size
"""A packet of keys, or a size that the terminal takes."""

Piece = str | Size | None
"""What Textual writes, a size, or None: everything was drawn, and the two screens must be the same."""

SIZES: Final = ((80, 24), (100, 30), (160, 48), (61, 20), (120, 40), (43, 15), (200, 60))
THEMES: Final[tuple[Theme, ...]] = ("ansi", "dark", "light")
NAMES: Final = {"\r": "enter", "\x1b": "escape", "\t": "tab", " ": "space", "\x7f": "backspace"}
TEXTS: Final = (*WORDS, "as stated", "ﷺ ligature", "ａｂｃ", "a\u0301\u0302 marks", "x" * 90, "tab\tin")
JOINED: Final = ("🇩🇪 flag", "👍🏽 good", "❤\ufe0f 1\ufe0f\u20e3 key", "👨\u200d👩\u200d👧 ✊🏿 all")
"""Emoji of several characters, of which terminals make one or as many, more and less wide than they are laid out."""

_LEFT_OUT: Final = {"close", "run", "probe", "feedback", "editor.text", "editor.place", "mouse"}
"""Actions that leave, start programs, or need a terminal."""


@dataclass(frozen=True)
class Session:
    """What is done in a session: `kind` is a desk's, or "sample"."""

    number: int
    kind: str
    theme: Theme
    size: Size
    steps: tuple[Step, ...]


def session(number: int, *, kinds: Sequence[str] = (*KINDS, "sample"), texts: Sequence[str] = TEXTS) -> Session:
    """Session `number`: it passes one of the kept screens, the next number the next, then goes where chance leads."""
    dice = random.Random(number)
    scene = SCENES[number % len(SCENES)]
    kind = kinds[number % len(kinds)]
    size = SIZES[number % len(SIZES)]
    chosen: list[Step] = [scene.keys, scene.back] if scene.back else [scene.keys]
    now = size
    for _ in range(16):
        step = _step(dice, now, texts)
        now = step if isinstance(step, tuple) else now
        chosen.append(step)
    return Session(number, kind, THEMES[number % len(THEMES)], size, tuple(chosen))


def _step(dice: random.Random, now: Size, texts: Sequence[str]) -> Step:
    chance = dice.random()
    if chance < 0.15:
        return dice.choice([size for size in SIZES if size != now])
    if chance < 0.35:
        return dice.choice("cmC/") + dice.choice(texts) + dice.choice(["\r", "\r", "\x1b", " more", "\x7f\x7f"])
    if chance < 0.5:
        return dice.choice(SCENES).keys
    if chance < 0.8:
        return dice.choice(["j" * 18, "j" * 40, "k" * 40, "j", "jj", "k", "kkk", "\x04", "G", " "])
    return "".join(dice.choice(_KEYS) for _ in range(dice.randrange(1, 4)))


_KEYS: Final = [
    key
    for binding in KeyTable().within("grading")
    for key in binding.keys
    if binding.action not in _LEFT_OUT and len(key) == 1
] + ["\r", "\t", " ", "y", "q", "\x04", "\x15"]


# Recording


class _Staying(KgradeApp):
    CSS_PATH = str(Path(kgrade.tui.__file__).with_name("styles") / "stage.tcss")

    def on_mount(self, event: events.Mount) -> None:
        """Signals are not the application's here."""
        event.prevent_default()

    def exit(self, *_: object, **__: object) -> None:
        """The session goes on after it was left."""


def record(session: Session, folder: Path, sample: Callable[[Path], Path]) -> list[Piece]:
    """What Textual writes in `session`; `sample` makes a copy of the sample queue in a folder."""
    pieces: list[Piece] = []

    class Recorder(headless_driver.HeadlessDriver):
        is_headless = False  # type: ignore[assignment]

        def write(self, data: str) -> None:
            pieces.append(data)

    async def run(app: KgradeApp) -> None:
        async with app.run_test(size=session.size) as pilot:
            await _drawn(app)
            pieces.append(None)
            for step in session.steps:
                if isinstance(step, tuple):
                    pieces.append(step)
                    await pilot.resize_terminal(*step)
                else:
                    for key in step:
                        name = NAMES.get(key) or (f"ctrl+{chr(ord(key) + 96)}" if key < " " else key)
                        app.stage.dispatcher.key(notation(name, key), key)
                await _drawn(app)
                pieces.append(None)

    choose_theme(session.theme)
    try:
        with (
            mock.patch.object(headless_driver, "HeadlessDriver", Recorder),
            nothing_collected(),
            _desk(session, folder, sample) as desk,
        ):
            of_kind = panes(desk.history) if session.kind == "sample" else makers(session.kind)
            table = KeyTable() if session.kind == "sample" else TABLE
            asyncio.run(run(_Staying(desk, of_kind, table=table)))
    finally:
        choose_theme("ansi")
    return pieces


@contextmanager
def _desk(session: Session, folder: Path, sample: Callable[[Path], Path]) -> Iterator[Any]:
    if session.kind != "sample":
        yield StillDesk(session.kind, folder)
        return
    with closing(Desk.open(sample(folder), evaluator="ada")) as desk:
        yield desk


async def _drawn(app: KgradeApp) -> None:
    """Wait until no worker works, no search goes on, and what they changed is drawn."""
    while any(not worker.is_finished for worker in app.workers) or app.stage.view._search is not None:
        await app.workers.wait_for_complete()
        await asyncio.sleep(0)
    for _ in range(2):
        drawn = asyncio.Event()
        app.stage.call_after_refresh(drawn.set)
        await drawn.wait()


# Two panes of tmux


class TmuxPair:
    """The same stream on two panes of tmux: as it is, and through the shadow. Its server ends with `close`."""

    def __init__(self, socket: Path, size: Size, *, scrolls: bool = True) -> None:
        self._socket = str(socket)
        self._run("new-session", "-d", "-x", str(size[0]), "-y", str(size[1]), "-n", "stock", "sleep 3600")
        self._run("new-window", "-d", "-n", "ours", "sleep 3600")
        self._run("set-option", "-g", "status", "off")
        self._panes: dict[str, int] = {}
        for name in ("stock", "ours"):
            self._run("set-option", "-t", f":{name}", "-w", "window-size", "manual")
            self._run("resize-window", "-t", f":{name}", "-x", str(size[0]), "-y", str(size[1]))
            place = self._run("display-message", "-p", "-t", f":{name}", "#{pane_tty}").strip()
            self._panes[name] = os.open(place, os.O_RDWR | os.O_NOCTTY)
            tty.setraw(self._panes[name])
        self._size = size
        self._cursors = ("", "")
        self._shadow = Shadow(*size, scrolls=scrolls)
        self.feed("\x1b[?1049h\x1b[?7l")

    def feed(self, data: str) -> None:
        self._write("stock", data)
        self._write("ours", self._shadow.feed(data))

    def resize(self, width: int, height: int) -> None:
        self._size = (width, height)
        for name in self._panes:
            self._run("resize-window", "-t", f":{name}", "-x", str(width), "-y", str(height))
        self._write("stock", "\x1b[m\x1b[2J")
        self._write("ours", self._shadow.resize(width, height))

    def assert_equal(self) -> None:
        """Every cell with its attributes."""
        asked: list[str] = []
        for name in self._panes:
            self._write(name, "\x1b[5n")
            taken = b""
            # tmux answers when it has drawn all that came before.
            while b"\x1b[0n" not in taken:
                taken += os.read(self._panes[name], 4096)
            asked += ["capture-pane", "-e", "-p", "-N", "-t", f":{name}", ";"]
            asked += ["display-message", "-p", "-t", f":{name}", "#{cursor_flag} #{cursor_y} #{cursor_x}", ";"]
        answers = self._run(*asked[:-1]).split("\n")
        height = self._size[1]
        stock, ours = answers[:height], answers[height + 1 : 2 * height + 1]
        self._cursors = answers[height], answers[2 * height + 1]
        if stock != ours:
            pairs = zip(cells_of(stock, self._size), cells_of(ours, self._size), strict=True)
            for y, (expected, found) in enumerate(pairs):
                assert found == expected, f"row {y}: {ours[y]!r} is not {stock[y]!r}"

    def assert_equal_cursor(self) -> None:
        """Where it was at the last `assert_equal`, if it was seen."""
        stock, ours = self._cursors
        assert stock == ours or stock[0] == ours[0] == "0", f"cursor: {ours} is not {stock}"

    def close(self) -> None:
        self._run("kill-server")
        for descriptor in self._panes.values():
            os.close(descriptor)

    def _write(self, name: str, data: str) -> None:
        left = data.encode()
        while left:
            left = left[os.write(self._panes[name], left) :]

    def _run(self, *arguments: str) -> str:
        command = ["tmux", "-u", "-f", "/dev/null", "-S", self._socket, *arguments]
        environment = {key: value for key, value in os.environ.items() if key not in ("TMUX", "NO_COLOR")}
        environment |= {"LANG": "C.UTF-8", "LC_ALL": "C.UTF-8", "TERM": "xterm-256color"}
        done = subprocess.run(command, env=environment, capture_output=True, check=False, text=True, timeout=60)
        assert done.returncode == 0, f"{arguments}: {done.stderr}"
        return done.stdout


def cells_of(captured: list[str], size: Size) -> list[list[Any]]:
    """The cells of rows as tmux gives them, with their attributes."""
    grid = Grid(*size, torn=BLANK)
    Painter(grid, lambda sequence: None).feed("\n".join(captured))
    return grid.rows
