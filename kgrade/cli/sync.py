"""`kgrade sync`: send what waits, follow the remote; or carry grades where no network goes."""

from __future__ import annotations

from pathlib import Path

import click

from kgrade.cli import failures
from kgrade.cli.output import line, say
from kgrade.cli.queue import desk_at, queue_options


@click.command("sync", short_help="Send what waits and follow the remote; or carry grades in a file.")
@click.option(
    "--bundle",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Write what waits to FILE instead.",
)
@click.option(
    "--take",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    metavar="FILE",
    help="Send the grades in FILE, which another clone's --bundle wrote.",
)
@queue_options
def command(bundle: Path | None, take: Path | None, queue: Path, evaluator: str | None) -> int:
    """Push the grades that wait here and fetch what others did; exit code 1 while something still waits.

    Where you may only read the remote, --bundle FILE writes your grades to a file for someone who may push: they send
    it with --take FILE. A file that would change anything but grades is refused.
    """
    if bundle is not None and take is not None:
        raise failures.BadInput("--bundle writes a file and --take reads one; give one of them")
    if take is not None:
        from kgrade.repository.bundles import BundleError

        try:
            return _taken(take, queue, evaluator)
        except BundleError as why:
            raise failures.BadInput(str(why)) from None
    with desk_at(queue, evaluator) as desk:
        if bundle is not None:
            count = desk.bundle(bundle)
            say(f"{count} {'commit' if count == 1 else 'commits'} in {bundle}; who may push sends them with --take")
            return failures.DONE
        standing = desk.sync()
        for note in (*desk.notes, *desk.alarms):
            say(line(note))
    if standing is None:
        say("this queue has no remote; grades are on their branch here")
        return failures.DONE
    if standing.state == "pushed":
        say("everything is at the remote")
        return failures.DONE
    say(line(f"{standing.waiting} waiting: {standing.reason}"))
    return failures.FOUND_FAULTS


def _taken(file: Path, queue: Path, evaluator: str | None) -> int:
    from kgrade.audit.lead import office_at
    from kgrade.cli.lead import lead_of
    from kgrade.repository.branches import Branch
    from kgrade.repository.bundles import branches_in, take_bundle

    notes: list[str] = []
    with office_at(queue) as office:
        _, by = lead_of(office, evaluator)
        template = office.settings.grades_ref or office.queue.ref
        before, _, after = template.partition("{evaluator}")
        for ref in branches_in(office.reader.git, file):
            if not (ref.startswith(before) and ref.endswith(after)):
                raise failures.BadInput(f"{file} carries {ref}, and this queue's grades go to {template}")
            branch = Branch(office.reader, ref, remote=office.queue.remote)
            notes += office.send(branch, by)
            count = take_bundle(branch, file)
            say(f"{count} {'commit' if count == 1 else 'commits'} taken for {branch.short}")
            notes += office.send(branch, by) if branch.remote is not None else branch.settle(by.identity).notes
    for note in dict.fromkeys(notes):
        say(line(note))
    return failures.FOUND_FAULTS if notes else failures.DONE
