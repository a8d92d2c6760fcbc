"""`kgrade profile show FILE` and `kgrade profile add ITEM FILE`: what a profiler saw, read or kept as evidence."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from kgrade.cli import failures
from kgrade.cli.output import columns, line, say, say_json
from kgrade.cli.queue import item_argument, json_option, parse_item, queue_option

if TYPE_CHECKING:
    from kgrade.records.profile import KernelProfile, Profile

_SHOWN = 20
_FILES = (
    "Print where the time goes in FILE: a CSV page or a report of ncu (.ncu-rep), a CSV or an sqlite export of nsys, a"
    " trace of torch.profiler (.gz too), a CSV of rocprofv3, or a summary-json of neuron-profile."
)


@click.group("profile", short_help="Read a profiler's file, or add it to an item as evidence.")
def command() -> None:
    """Read what a profiler wrote; see: kgrade profile show --help and kgrade profile add --help."""


@command.command("show", short_help="Say where the time goes in a profiler's file.", help=_FILES)
@click.argument("file", type=click.Path(path_type=Path), metavar="FILE")
@json_option
def show(file: Path, as_json: bool) -> int:
    """Print the kernels of `file` by time."""
    from kgrade.collection import CollectionError
    from kgrade.collection.profiles import read

    try:
        found = read(file)
    except CollectionError as why:
        raise failures.BadInput(str(why)) from None
    if as_json:
        say_json(found)
    else:
        _tell(found)
    return failures.DONE


@command.command("add", short_help="Commit a profiler's file as evidence of an item.")
@item_argument
@click.argument("file", type=click.Path(path_type=Path), metavar="FILE")
@click.option("--target", help="The target that it is about (default: the one that its device says).")
@queue_option
@json_option
def add(item: str, file: Path, target: str | None, queue: Path, as_json: bool) -> int:
    """Commit what FILE says as evidence of ITEM, for the profile pane; the file itself stays where it is.

    FILE is whatever `kgrade profile show` reads. A profile of the code that a task hands out is added to the task, and
    is shown beside those of its submissions.
    """
    from kgrade.collection import CollectionError
    from kgrade.collection.profiles import add_profile

    try:
        added = add_profile(queue, parse_item(item), file, target)
    except CollectionError as why:
        raise failures.BadInput(str(why)) from None
    if as_json:
        say_json(added)
        return failures.DONE
    _tell(added.profile)
    done = "is evidence already" if added.known else "is evidence now"
    say(line(f"{file.name} {done}: {added.item} on {added.target}"))
    return failures.DONE


def _tell(profile: Profile) -> None:
    rows = [["time", "share", "launches", "mean", profile.unit]]
    rows += [_row(kernel, profile.total_us) for kernel in profile.kernels[:_SHOWN]]
    say(columns(rows))
    more = len(profile.kernels) - _SHOWN + profile.kernels_left_out
    if more > 0:
        say(f"and {more} more")
    say(line(f"{profile.source}{f', {profile.device}' if profile.device else ''}: {profile.total_us:,.3f} us in all"))
    for note in profile.notes:
        say(line(f"! {note}"))


def _row(kernel: KernelProfile, whole: float) -> list[str]:
    share = f"{100 * kernel.total_us / whole:.1f} %" if kernel.total_us is not None and whole > 0 else "-"
    times = [f"{us:,.3f} us" if us is not None else "-" for us in (kernel.total_us, kernel.mean_us)]
    mine = f"{kernel.authored.path}:{kernel.authored.line} " if kernel.authored else ""
    return [times[0], share, f"{kernel.launches:,}", times[1], mine + kernel.name[:100]]
