"""A lead's word on who grades what, how early and how often: one file beside the settings, changed by commits."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from kgrade.audit.housekeeping import claims_of
from kgrade.audit.lead import LeadError, Office
from kgrade.records import codec
from kgrade.records.assignments import Assignment, Assignments
from kgrade.records.slugs import FOREIGN, ItemId
from kgrade.repository.branches import Saved
from kgrade.repository.commits import Change
from kgrade.repository.grades import grade_branches, standing
from kgrade.repository.opening import Signature
from kgrade.repository.plan import ASSIGNMENTS
from kgrade.repository.tree import Snapshot

MOST_NAMED = 3
"""Items that the first line of a commit names; a longer list is counted there."""


class NotAssigned(LeadError):
    """A decision that cannot be taken down; the sentence says why."""


Decide = Callable[[ItemId, Assignment], Assignment]


def assign(office: Office, lead: str, by: Signature, items: Sequence[ItemId], evaluators: Sequence[str]) -> Saved:
    """Offer `items` to `evaluators` alone; to everyone where none is named."""
    known = office.settings.evaluators
    strangers = [name for name in evaluators if known and name not in known]
    if strangers:
        raise NotAssigned(f"kgrade.yaml names no evaluator {', '.join(strangers)}; it names {', '.join(sorted(known))}")
    chosen = list(dict.fromkeys(evaluators))
    who = ", ".join(chosen) or "everyone"
    return _decided(office, lead, by, items, f"to {who}", lambda _, old: _with(old, evaluators=chosen))


def prioritise(office: Office, lead: str, by: Signature, items: Sequence[ItemId], level: int) -> Saved:
    """Offer `items` before all those of a lower priority (0 where nothing was said)."""
    return _decided(office, lead, by, items, f"priority {level}", lambda _, old: _with(old, priority=level))


def retire(office: Office, lead: str, by: Signature, items: Sequence[ItemId], reason: str) -> Saved:
    """Offer `items` to nobody any more; their grades stay and count."""
    if not reason.strip():
        raise NotAssigned("retiring an item needs its reason, in a sentence that the evaluators will read")
    return _decided(office, lead, by, items, "retired", lambda _, old: _with(old, retired=reason.strip()))


def requeue(office: Office, lead: str, by: Signature, items: Sequence[ItemId]) -> Saved:
    """Ask for one grade more of each of `items`, retired or finished as they may be, and free claims that ended."""
    office.admit(lead)
    paths = standing(office.reader, grade_branches(office.queue, office.settings))
    most = office.settings.retire_after

    def once_more(item: ItemId, old: Assignment) -> Assignment:
        here = f"{item.folder}/grades/"
        graded = sum(path.startswith(here) and not path.startswith(f"{here}{FOREIGN}") for path in paths)
        if most is not None and graded >= most:
            raise NotAssigned(
                f"{item} has {graded} grades, and kgrade.yaml retires items after {most}; raise that first"
            )
        return _with(old, retired="", graders=min(graded + 1, 100))

    saved = _decided(office, lead, by, items, "once more", once_more)
    for item in items:
        _free(office, lead, by, item)
    return saved


def _decided(office: Office, lead: str, by: Signature, items: Sequence[ItemId], what: str, decide: Decide) -> Saved:
    """Commit what `decide` makes of each item; NotALead, NotAssigned, or CollisionError where a lead was faster."""
    office.admit(lead)
    told = office.send(office.queue, by)  # what other leads decided is seen first
    snapshot = office.snapshot()
    gone = [str(item) for item in items if snapshot.entry(item.folder) is None]
    if gone:
        raise NotAssigned(f"there is no item {', '.join(gone)} in this queue; kgrade list shows what there is")
    before, base = _standing(snapshot)
    after = dict(before.items)
    for item in items:
        decided = decide(item, after.get(str(item), Assignment()))
        if decided == Assignment():
            after.pop(str(item), None)
        else:
            after[str(item)] = decided
    if after == before.items:
        raise NotAssigned(f"nothing changes: {_named(items)} {'is' if len(items) == 1 else 'are'} so already ({what})")
    data = codec.encode_yaml(Assignments(items=dict(sorted(after.items()))))
    subject = f"assign: {_named(items)} {what} ({lead})"
    saved = office.commit(Change(ASSIGNMENTS, data, base), subject, {"Item": " ".join(map(str, items))}, by)
    return Saved(saved.commit, saved.ref, saved.where, tuple(dict.fromkeys([*told, *saved.notes])))


def _standing(snapshot: Snapshot) -> tuple[Assignments, str | None]:
    entry = snapshot.entry(ASSIGNMENTS)
    if entry is None:
        return Assignments(), None
    return codec.decode(Assignments, snapshot.read(ASSIGNMENTS), ASSIGNMENTS), entry.oid


def _free(office: Office, lead: str, by: Signature, item: ItemId) -> None:
    """Release the claims on `item` whose holders were not seen for their lease and the grace after it."""
    claims = claims_of(office, lead, by)
    for claim in claims.holders(item):
        if claim.holds and claim.evaluator != lead and claims.expiry(claim) != "live":
            claims.release(claims.take_over(claim, confirmed=True))


def _with(old: Assignment, **changes: object) -> Assignment:
    return msgspec.structs.replace(old, **changes)


def _named(items: Sequence[ItemId]) -> str:
    return ", ".join(map(str, items)) if len(items) <= MOST_NAMED else f"{len(items)} items"
