"""`kgrade seal`: a lead's signed statement of where every grade branch stands."""

from __future__ import annotations

from pathlib import Path

import click

from kgrade.cli import failures
from kgrade.cli.output import line, say
from kgrade.cli.queue import queue_options


@click.command("seal", short_help="Sign a statement of where every grade branch stands.")
@queue_options
@click.option("--anyway", is_flag=True, help="Seal although verification raises alarms.")
def command(queue: Path, evaluator: str | None, anyway: bool) -> int:
    """Sign the commits on which all grade branches stand, so that a later rewrite or removal shows everywhere.

    Only a lead of this queue can seal, with a key that kgrade.yaml names as theirs. What verification finds is told
    first: a seal vouches for what it covers. Exit code 1 when alarms keep it from being made.
    """
    from kgrade.audit.lead import office_at
    from kgrade.audit.seals import make_seal
    from kgrade.audit.verification import verify
    from kgrade.cli.lead import lead_of

    with office_at(queue) as office:
        lead, by = lead_of(office, evaluator)
        office.admit(lead)
        person = office.settings.evaluators.get(lead)
        if person is None or not person.keys:
            raise failures.BadInput(f"kgrade.yaml names no key of {lead}'s; add one under evaluators.{lead}.keys")
        alarms = verify(office.reader, office.queue, office.settings).alarms
        for alarm in alarms:
            say(line(f"{alarm.kind}: {alarm.sentence}; see: {alarm.command}"))
        if alarms and not anyway:
            say(f"not sealed: {len(alarms)} alarms; mend them, or vouch for them with --anyway")
            return failures.FOUND_FAULTS
        branch, saved, seal = make_seal(office.reader, office.queue, office.settings, by.identity, lead)
        say(f"sealed {len(seal.refs)} branches in {saved.commit[:12]}")
        for note in office.send(branch, by):
            say(line(note))
        if branch.remote is not None and branch.outbox() is None:
            say(f"sent to {branch.remote}")
    return failures.DONE
