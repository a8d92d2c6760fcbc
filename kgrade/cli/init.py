"""`kgrade init`: a repository becomes a queue."""

from __future__ import annotations

from pathlib import Path

import click

from kgrade.cli.output import say, say_json


@click.command("init", short_help="Turn a git repository into a queue.")
@click.argument("folder", type=click.Path(path_type=Path), default=Path("."), metavar="[DIR]")
@click.option("--json", "as_json", is_flag=True, help="Print the written files as JSON.")
def command(folder: Path, as_json: bool) -> None:
    """Write the rubrics, an empty queue/ and a commented kgrade.yaml at the root of the repository at DIR.

    Nothing is overwritten and nothing is committed.
    """
    from kgrade import sample

    written = sample.begin_queue(folder)
    if as_json:
        say_json(written)
        return
    for name in written:
        say(f"wrote {name}")
    say("next: add tasks under queue/, look them over with: kgrade check")
    say("then: git add queue rubrics kgrade.yaml && git commit")
