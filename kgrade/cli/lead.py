"""What commands for leads share: who the lead is, whose name is on their commits, and what came of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from kgrade.cli.output import line, say

if TYPE_CHECKING:
    from kgrade.audit.lead import Office
    from kgrade.repository.branches import Saved
    from kgrade.repository.opening import Signature


Command = TypeVar("Command", bound=Callable[..., Any])


def items_argument(command: Command) -> Command:
    """Add the arguments ITEM..., handed over as the texts `items`."""
    return click.argument("items", nargs=-1, required=True, metavar="ITEM...")(command)


def say_decided(saved: Saved, what: str) -> None:
    """Tell what a lead's decision came to, and what is to be known about its commit."""
    say(line(f"{what}, in {saved.commit[:12]}"))
    for note in saved.notes:
        say(line(note))


def lead_of(office: Office, asked: str | None) -> tuple[str, Signature]:
    """Return who works here, by the git identity or as `asked`, and how their commits are made."""
    from kgrade.desk.people import evaluator_of, read_config
    from kgrade.repository.opening import git_identity

    name, email = git_identity(office.reader.git)
    lead = evaluator_of(name, email, office.settings, read_config(), asked)
    return lead, office.signature_of(lead)
