"""`kgrade [PATH]`: the app, on the next item."""

from __future__ import annotations

import contextlib
import gc
import sys
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Literal, get_args

import click

from kgrade.cli.failures import BadInput, Lacking
from kgrade.cli.queue import desk_at, evaluator_option

if TYPE_CHECKING:
    from collections.abc import Callable

    from kgrade.desk import Desk
    from kgrade.tui.screens.grading import GradingPage

Colours = Literal["auto", "truecolor", "256", "16", "none"]


@click.command("open", short_help="Open the queue at PATH.")
@click.argument("path", type=click.Path(path_type=Path), default=Path(), metavar="[PATH]")
@evaluator_option
@click.option("--color", "colours", type=click.Choice(get_args(Colours)), help="How many colours the terminal is sent.")
def command(path: Path, evaluator: str | None, colours: Colours | None) -> int:
    """Open the queue at PATH (default: here) on the next item."""
    return open_app(path, evaluator, colours)


def on_a_terminal() -> bool:
    """Whether a person sits at both ends, so that a screen can be opened."""
    return sys.stdin.isatty() and sys.stdout.isatty()


def open_app(
    folder: Path,
    evaluator: str | None = None,
    colours: Colours | None = None,
    begin: Callable[[GradingPage], None] | None = None,
) -> int:
    """Open the queue at `folder` on this terminal and return the exit code; raise Lacking where there is none.

    `begin` opens what is seen first; by default that is the next item, claimed.
    """
    # Nothing that is imported is garbage, and looking for it there takes a tenth of the time to the first picture.
    gc.disable()
    try:
        if not on_a_terminal():
            with desk_at(folder, evaluator):
                raise Lacking("the app needs a terminal (over SSH: ssh -t); for scripts there is: kgrade list --json")
        return _run(folder, evaluator, colours, begin)
    finally:
        gc.enable()


def _run(
    folder: Path, evaluator: str | None, colours: Colours | None, begin: Callable[[GradingPage], None] | None
) -> int:
    from kgrade.desk.people import config_path, read_config
    from kgrade.tui.colours import choose_colours
    from kgrade.tui.keys import KeyTable, KeyTableError

    config = read_config()
    try:
        table = KeyTable(config.keys, single_letters=config.single_keys)
    except KeyTableError as why:
        raise BadInput(f"{config_path()}: {why}") from None
    colours = colours or config.color
    if colours != "auto":
        choose_colours(colours)  # before Textual is imported, which reads the number once
    with ExitStack() as stack, ThreadPoolExecutor(1, "desk") as beside:
        # Sitting down waits for git several times; Textual is imported meanwhile.
        sitting_down = beside.submit(stack.enter_context, desk_at(folder, evaluator))
        if begin is None:
            beside.submit(_look_ahead, sitting_down)
        from kgrade.tui.app import KgradeApp
        from kgrade.tui.palette import choose_theme
        from kgrade.tui.panes import panes

        desk = sitting_down.result()
        choose_theme(config.theme)
        first = {} if begin is None else {"begin": begin}
        return KgradeApp(desk, panes(desk.history), table=table, **first).run(mouse=config.mouse) or 0


def _look_ahead(desk: Future[Desk]) -> None:
    """Find and claim the first item; what is wrong with that, the app will be told."""
    from kgrade.tui.screens.trouble import TROUBLE

    with contextlib.suppress(*TROUBLE):
        desk.result().next()
