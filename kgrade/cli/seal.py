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
    from kgrade.audit.seals import make_seal
    from kgrade.audit.verification import verify
    from kgrade.desk.people import evaluator_of, read_config
    from kgrade.repository.commits import Identity
    from kgrade.repository.opening import git_identity, open_queue, signature
    from kgrade.repository.remote import Remote
    from kgrade.repository.runner import Git
    from kgrade.repository.sync import Sync
    from kgrade.repository.tree import TreeReader

    git = Git.open(queue)
    reader = TreeReader(git)
    with reader.objects:
        branch, settings = open_queue(reader)
        name, email = git_identity(git)
        lead = evaluator_of(name, email, settings, read_config(), evaluator)
        if lead not in settings.leads:
            leads = ", ".join(settings.leads) or "nobody: add `leads: [NAME]` to kgrade.yaml"
            raise failures.BadInput(f"only a lead can seal, and {lead} is none; leads of this queue: {leads}")
        person = settings.evaluators.get(lead)
        if person is None or not person.keys:
            raise failures.BadInput(f"kgrade.yaml names no key of {lead}'s; add one under evaluators.{lead}.keys")
        alarms = verify(reader, branch, settings).alarms
        for alarm in alarms:
            say(line(f"{alarm.kind}: {alarm.sentence}; see: {alarm.command}"))
        if alarms and not anyway:
            say(f"not sealed: {len(alarms)} alarms; mend them, or vouch for them with --anyway")
            return failures.FOUND_FAULTS
        by = signature(git, Identity(name or lead, email or f"{lead}@localhost"), settings, lead)
        saved, seal = make_seal(reader, branch, settings, by.identity, lead)
        say(f"sealed {len(seal.refs)} branches in {saved.commit[:12]}")
        if branch.remote is not None:
            from kgrade.repository.branches import Branch
            from kgrade.repository.grades import SEALS

            seals = Branch(reader, SEALS, remote=branch.remote)
            standing = Sync(seals, Remote(git, branch.remote), by.identity, sign=True).step()
            say(line(standing.reason or f"sent to {branch.remote}"))
    return failures.DONE
