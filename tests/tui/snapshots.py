"""Kept pictures of every screen, as text: `python -m tests.tui.snapshots --write`, or `--svg SCREEN 80x24 dark > FILE`.

A file holds one screen at every size: its characters, then the runs of its styles, row by row (`bold*3 -*5 green*2`;
rows of nothing but the default are left out). Themes only exchange colours, so one list of runs, with the colours by
name, stands for all of them; taking them fails where it does not.
"""

from __future__ import annotations

import argparse
import io
import itertools
import os
import sys
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Final, get_args
from unittest import mock

from rich.console import Console
from rich.segment import Segment
from rich.style import Style
from rich.terminal_theme import TerminalTheme
from rich.text import Text

from kgrade.tui.palette import SHADES, Theme, choose_theme
from kgrade.tui.panes import panes
from tests.tui.lead_queue import lead_desk
from tests.tui.snapshot_desk import MAKERS, SnapshotDesk
from tests.tui.stages import Play, play

FOLDER: Final = Path(__file__).with_name("kept")
SIZES: Final = ((80, 24), (100, 30), (160, 48))
THEMES: Final[tuple[Theme, ...]] = ("dark", "light")
CLOCK: Final = "09:41"
_SIXTEEN: Final = [
    (0, 0, 0),
    (170, 0, 0),
    (0, 130, 0),
    (150, 90, 0),
    (0, 0, 170),
    (130, 0, 130),
    (0, 120, 120),
    (170, 170, 170),
]
_DARK: Final = TerminalTheme((24, 26, 31), (220, 223, 228), _SIXTEEN)
_LIGHT: Final = TerminalTheme((253, 253, 251), (30, 32, 36), _SIXTEEN)
_ATTRIBUTES: Final = ("bold", "dim", "italic", "underline", "reverse", "strike", "blink")


@dataclass(frozen=True, slots=True)
class Scene:
    """A screen: the keys that lead to it from the one before, and those that lead back."""

    name: str
    keys: str
    back: str = ""


SCENES: Final = (
    Scene("diff", "d"),
    Scene("diff-blanks", "W", "W"),
    Scene("diff-start-opened", "]]]]k", ""),
    Scene("task", "i"),
    Scene("source", "s"),
    Scene("build", "b"),
    Scene("tests", "t"),
    Scene("tests-case", "]oj", "ko"),
    Scene("performance", "p"),
    Scene("profile", "r"),
    Scene("findings", "f"),
    Scene("rule", "]I", "q"),
    Scene("history", "L"),
    Scene("comment", "dcThe maximum is not subtracted, so large inputs overflow", "\x1b"),
    Scene("search", "/exp\r", "/\r"),
    Scene("snippets", ";", "\x1b"),
    Scene("gates", "x", "q"),
    Scene("verdict", "v", "q"),
    Scene("missing", "S", "q"),
    Scene("scored", "32104" + "sgjjjjjjjjjmis a mask needed here?\r"),
    Scene("stages", "R", "q"),
    Scene("help", "?", "q"),
    Scene("queue", "Q", "q"),
    Scene("my-grades", "H", "q"),
    Scene("zoomed", "z", "z"),
    Scene("profile-kernels", ">rz"),
    Scene("profile-roofline", " "),
    Scene("profile-timeline", "G"),
)

LEAD_SCENES: Final = (
    Scene("audit-agreement", "A"),
    Scene("audit-evaluators", "e"),
    Scene("audit-time", "t"),
    Scene("audit-coverage", "c"),
    Scene("audit-disagreements", "d"),
    Scene("audit-history", "L", "d"),
    Scene("audit-verify", "v", "d"),
    Scene("adjudication", "\r"),
    Scene("adjudication-comments", "J", "K"),
    Scene("adjudication-missing", "3S", "q"),
    Scene("adjudication-cause", "C", "3"),
    Scene("comparison", "=1"),
    Scene("comparison-code", "d"),
    Scene("comparison-tests", "t"),
)
"""What a lead sees: at a real queue, in the light theme at the smallest size only, as each of these asks git."""


@dataclass(frozen=True, slots=True)
class Screen:
    """What stands on a screen: its rows as text, and as runs of styles (name of the style, number of characters)."""

    rows: tuple[str, ...]
    runs: tuple[tuple[tuple[str, int], ...], ...]


def taken(size: tuple[int, int], theme: Theme) -> dict[str, Screen]:
    """Every screen at `size` in `theme`, by name."""
    found: dict[str, Screen] = {}

    def walk(scenes: Sequence[Scene]) -> Callable[[Play], Awaitable[None]]:
        async def all_of_them(on: Play) -> None:
            for scene in scenes:
                await on.press(scene.keys)
                strips = on.app.stage._compositor.render_strips(on.app.size)
                found[scene.name] = _screen([list(strip) for strip in strips], theme)
                await on.press(scene.back)

        return all_of_them

    # The page's own clock only: the event loop goes by the real one.
    clock = SimpleNamespace(monotonic=lambda: 0.0, strftime=lambda form: CLOCK)
    choose_theme(theme)
    try:
        with (
            mock.patch.dict(os.environ, {"TZ": "UTC"}),
            mock.patch("kgrade.tui.screens.grading.time", clock),
        ):
            time.tzset()
            play(walk(SCENES), size=size, desk=SnapshotDesk(("s01", "s02")), makers=MAKERS)
            if theme == THEMES[0] or size == SIZES[0]:
                with lead_desk() as desk:
                    play(walk(LEAD_SCENES), size=size, desk=desk, makers=panes(desk.history))  # type: ignore[arg-type]
    finally:
        time.tzset()
        choose_theme("ansi")
    return found


def pictures(size: tuple[int, int]) -> dict[str, Screen]:
    """Every screen at `size`, the same in all themes but for the shades; AssertionError where it is not."""
    dark, *others = (taken(size, theme) for theme in THEMES)
    for other in others:
        for name, screen in other.items():
            assert screen == dark[name], f"{name} at {size} is another screen in another theme"
    return dark


def text_of(screens: Mapping[tuple[int, int], Screen]) -> str:
    """One screen at every size as the text that is kept."""
    return "".join(itertools.chain.from_iterable(_section(size, screen) for size, screen in screens.items()))


def _section(size: tuple[int, int], screen: Screen) -> Iterator[str]:
    width, height = size
    yield f"== {width}x{height} ==\n"
    yield from (f"{row.rstrip()}\n" for row in screen.rows)
    yield "-- styles --\n"
    for number, runs in enumerate(screen.runs):
        if any(style != "-" for style, _ in runs):
            yield f"{number}: {' '.join(f'{style}*{count}' for style, count in runs)}\n"


def read(text: str) -> dict[tuple[int, int], Screen]:
    """The screens of a kept file by size."""
    screens = {}
    for part in text.split("== ")[1:] if text.startswith("== ") else []:
        head, _, rest = part.partition(" ==\n")
        width, height = map(int, head.split("x"))
        rows, _, styles = rest.partition("-- styles --\n")
        runs: list[tuple[tuple[str, int], ...]] = [(("-", width),)] * height
        for line in styles.splitlines():
            number, _, described = line.partition(": ")
            pairs = (run.rpartition("*") for run in described.split())
            runs[int(number)] = tuple((style, int(count)) for style, _, count in pairs)
        padded = tuple(row.ljust(width) for row in rows.splitlines())
        screens[width, height] = Screen(padded, tuple(runs))
    return screens


def svg(screen: Screen, theme: Theme, title: str) -> str:
    """The screen as a picture, on a dark or a light ground."""
    width = sum(count for _, count in screen.runs[0])
    console = Console(record=True, width=width, file=io.StringIO(), force_terminal=True, color_system="truecolor")
    for row, runs in zip(screen.rows, screen.runs):
        line = Text(no_wrap=True, overflow="crop")
        at = 0
        for style, count in runs:
            line.append(row[at : at + count], _style(style, theme))
            at += count
        console.print(line, crop=False, highlight=False)
    return console.export_svg(title=title, theme=_LIGHT if theme == "light" else _DARK)


def _style(name: str, theme: Theme) -> Style:
    shades = SHADES[theme]
    return Style.parse("none" if name == "-" else " ".join(shades.get(word, word) for word in name.split("+")))


def _screen(strips: Sequence[Sequence[Segment]], theme: Theme) -> Screen:
    names = {shade: name for name, shade in SHADES[theme].items()}
    rows, runs = [], []
    for strip in strips:
        pieces = [(segment.text, _name(segment.style, names)) for segment in strip if segment.text]
        rows.append("".join(text for text, _ in pieces))
        runs.append(tuple(_merged(pieces)))
    return Screen(tuple(rows), tuple(runs))


def _merged(pieces: Iterable[tuple[str, str]]) -> Iterator[tuple[str, int]]:
    for style, group in itertools.groupby(pieces, key=lambda piece: piece[1]):
        yield style, sum(len(text) for text, _ in group)


def _name(style: Style | None, names: Mapping[str, str]) -> str:
    if style is None:
        return "-"
    words = [attribute for attribute in _ATTRIBUTES if getattr(style, attribute)]
    for ground, color in (("", style.color), ("on_", style.bgcolor)):
        if color is not None and color.name not in ("default", "ansi_default"):
            words.append(ground + names.get(color.name, color.name))
    return "+".join(words) or "-"


def main(arguments: Sequence[str]) -> int:
    """Write every kept screen anew, or draw one of them."""
    parser = argparse.ArgumentParser(prog="python -m tests.tui.snapshots", description=main.__doc__)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--svg", nargs=3, metavar=("SCREEN", "SIZE", "THEME"))
    options = parser.parse_args(arguments)
    if options.svg:
        name, size, theme = options.svg
        if theme not in get_args(Theme):
            parser.error(f"no theme {theme!r}")
        width, height = map(int, size.split("x"))
        kept = read((FOLDER / f"{name}.txt").read_text(encoding="utf-8"))
        sys.stdout.write(svg(kept[width, height], theme, f"{name} {size} {theme}"))
    if options.write:
        FOLDER.mkdir(exist_ok=True)
        by_size = {size: pictures(size) for size in SIZES}
        for scene in (*SCENES, *LEAD_SCENES):
            text = text_of({size: screens[scene.name] for size, screens in by_size.items()})
            (FOLDER / f"{scene.name}.txt").write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
