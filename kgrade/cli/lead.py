"""What commands for leads share: who the lead is, and whose name is on their commits."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kgrade.audit.lead import Office
    from kgrade.repository.opening import Signature


def lead_of(office: Office, asked: str | None) -> tuple[str, Signature]:
    """Return who works here, by the git identity or as `asked`, and how their commits are made."""
    from kgrade.desk.people import evaluator_of, read_config
    from kgrade.repository.opening import git_identity

    name, email = git_identity(office.reader.git)
    lead = evaluator_of(name, email, office.settings, read_config(), asked)
    return lead, office.signature_of(lead)
