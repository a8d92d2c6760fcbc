"""Claims of the whole queue as a lead sees them, and clearing away those that keep nobody from anything any more.

Every push is told of every ref, so that claims of long ago make each one slower.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import msgspec

from kgrade.audit.lead import Office
from kgrade.records.slugs import is_foreign
from kgrade.repository.claims import Claim, Claims
from kgrade.repository.grades import grade_branches, standing
from kgrade.repository.opening import Signature
from kgrade.repository.plan import plan_of
from kgrade.repository.remote_claims import claim_refs


class Cleared(msgspec.Struct, frozen=True, kw_only=True):
    """What came of clearing: claims that are gone, finished ones that must stay, and why any did not go."""

    gone: int
    stay: int
    note: str = ""


def claims_of(office: Office, who: str, by: Signature) -> Claims:
    """The claims of the queue: the remote's where there is one."""
    return Claims(office.reader, claim_refs(office.reader.git, office.queue.remote), who, by.identity)


def clear(office: Office, lead: str, by: Signature) -> Cleared:
    """Remove the refs of claims that were given back, and of those that are done with on finished items.

    A claim of an item that wants more grades stays, whatever its state: it is what keeps one evaluator from each of
    its slots. So do all that are done in a blind queue with a branch for each evaluator, where nothing else tells the
    others that an item was graded.
    """
    office.admit(lead)
    office.send(office.queue, by)  # what others graded is seen first
    refs = claim_refs(office.reader.git, office.queue.remote)
    found = Claims(office.reader, refs, lead, by.identity).holders()
    over = _over(office, found)
    ended = {claim.ref: claim.oid for claim in found if claim.state == "released" or claim in over}
    gone = refs.drop(ended)
    refused = len(ended) - gone
    note = f"{refused} more could go, but moved meanwhile or may not be deleted there" if refused else ""
    stay = sum(claim.state == "done" and claim.ref not in ended for claim in found)
    return Cleared(gone=gone, stay=stay, note=note)


def _over(office: Office, found: Sequence[Claim]) -> set[Claim]:
    """The claims whose grade stands on an item that has all the grades asked of it, where everyone can see that."""
    settings = office.settings
    if settings.blind and "{evaluator}" in (settings.grades_ref or ""):
        return set()
    plan = plan_of(office.snapshot(), settings)
    paths = standing(office.reader, grade_branches(office.queue, settings)).keys()
    graded = Counter(
        folder for folder, _, file in (path.rpartition("/grades/") for path in paths) if not is_foreign(file)
    )
    return {
        claim
        for claim in found
        if claim.state == "done"
        and claim.item.grade_path(claim.evaluator) in paths
        and graded[claim.item.folder] >= plan.graders(claim.item)
    }
