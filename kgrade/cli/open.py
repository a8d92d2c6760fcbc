"""`kgrade [PATH]`: the app, on the next item."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from kgrade.cli.failures import Lacking
from kgrade.cli.queue import desk_at, evaluator_option


@click.command("open", short_help="Open the queue at PATH.")
@click.argument("path", type=click.Path(path_type=Path), default=Path(), metavar="[PATH]")
@evaluator_option
def command(path: Path, evaluator: str | None) -> int:
    """Open the queue at PATH (default: here) on the next item."""
    return open_app(path, evaluator)


def open_app(folder: Path, evaluator: str | None = None) -> int:
    """Open the queue at `folder` on this terminal; raise Lacking where there is none."""
    with desk_at(folder, evaluator) as desk:
        if not (sys.stdin.isatty() and sys.stdout.isatty()):
            raise Lacking("the app needs a terminal (over SSH: ssh -t); for scripts there is: kgrade list --json")
        from kgrade.tui.app import run

        return run(desk)
