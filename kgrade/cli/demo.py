"""`kgrade demo`: the sample queue, in a repository of its own."""

from __future__ import annotations

from pathlib import Path

import click

from kgrade.cli.output import say, say_json


@click.command("demo", short_help="Copy the sample queue into a folder and grade it.")
@click.option(
    "--dir",
    "folder",
    type=click.Path(path_type=Path),
    default=Path("kgrade-demo"),
    show_default=True,
    help="Where; run again with the same folder to go on.",
)
@click.option("--no-open", is_flag=True, help="Make the folder and stop.")
@click.option("--json", "as_json", is_flag=True, help="Print what was made as JSON; implies --no-open.")
def command(folder: Path, no_open: bool, as_json: bool) -> int | None:
    """Make a git repository of the sample queue and open it.

    Nothing outside that folder is touched; delete it when you are done.
    """
    from kgrade import sample

    made = sample.make_demo(folder)
    if as_json:
        say_json({"folder": str(folder.resolve()), "made": made})
        return None
    say(f"{'made' if made else 'going on in'} {folder}")
    if no_open:
        say(f"open it with: kgrade {folder}")
        return None
    from kgrade.cli.open import open_app

    return open_app(folder)
