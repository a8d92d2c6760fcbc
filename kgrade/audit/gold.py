"""Gold: the levels that leads know to be right, kept where evaluators do not look.

They are grades of leads on a ref of their own, which no clone of the queue fetches and nothing sends to the queue's
remote. Leads share them through a repository that only they can read.
"""

from __future__ import annotations

import msgspec

from kgrade.audit.lead import LeadError, Office
from kgrade.audit.reading import standing_grades
from kgrade.records import codec
from kgrade.records.grade import Grade
from kgrade.records.slugs import ItemId
from kgrade.repository.commits import Change, CollisionError, Committer
from kgrade.repository.opening import Signature
from kgrade.repository.refs import commits_between, is_ancestor, merge_base, move_ref, read_ref
from kgrade.repository.remote import Remote
from kgrade.repository.tree import Snapshot, TreeReader

GOLD = "refs/kgrade/gold"
_FETCHED = "refs/kgrade/gold-fetched"
_WHY = "kgrade: gold"


class Golden(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of one item: the right levels by criterion, by which lead, since when."""

    item: str
    levels: dict[str, int]
    lead: str
    saved: str


def golden(reader: TreeReader) -> list[Golden]:
    """All that is known in this clone, by item; of several leads' words on one item the last counts."""
    tip = read_ref(reader.git, GOLD)
    if tip is None:
        return []
    latest: dict[str, Golden] = {}
    for grade in sorted(standing_grades(reader, {GOLD: tip}).grades, key=lambda each: each.saved):
        levels = {name: level for name, level in grade.scores.items() if level is not None}
        latest[grade.item] = Golden(item=grade.item, levels=levels, lead=grade.evaluator, saved=grade.saved)
    return [latest[item] for item in sorted(latest)]


def keep(office: Office, lead: str, by: Signature, grade: Grade) -> str:
    """Commit `grade` of `lead` as gold; the commit's id. What was known before stays in the ref's history."""
    office.admit(lead)
    reader, path = office.reader, ItemId.parse(grade.item).grade_path(lead)
    tip = read_ref(reader.git, GOLD)
    entry = Snapshot(reader, tip).entry(path) if tip else None
    change = Change(path, codec.encode_yaml(grade), entry.oid if entry else None)
    message = f"gold: {grade.item} ({lead})\n\nItem: {grade.item}\n"
    commit = Committer(reader, by.identity, sign=by.sign).commit(tip, [change], message)
    move_ref(reader.git, GOLD, commit, tip, _WHY)
    return commit


def share(office: Office, lead: str, by: Signature, place: str) -> int:
    """Take from the leads' repository `place` (a remote's name, a path or a URL) what is new, and send what it lacks.

    Returns how many items are known afterwards. LeadError where evaluators read `place`, or leads contradict.
    """
    office.admit(lead)
    git = office.reader.git
    urls = {git.settings.get(f"remote.{office.queue.remote}.{key}") for key in ("url", "pushurl")} - {None}
    if place == office.queue.remote or place in urls or git.settings.get(f"remote.{place}.url") in urls:
        raise LeadError(f"evaluators read {place}; gold goes to a repository that only leads can read")
    remote = Remote(git, place)
    mine, theirs = read_ref(git, GOLD), _fetched(remote)
    tip = _joined(office, by, mine, theirs) if mine and theirs else mine or theirs
    if tip is None:
        raise LeadError(f"nothing is known here or at {place}; begin with: kgrade gold ITEM --file GRADE")
    if tip != mine:
        move_ref(git, GOLD, tip, mine, _WHY)
    if tip != theirs:
        answer = remote.push(tip, GOLD)
        if answer.outcome != "taken":
            raise LeadError(f"{place} did not take it: {answer.words}; try again")
    return len(golden(office.reader))


def _fetched(remote: Remote) -> str | None:
    if GOLD not in remote.tips(GOLD):
        return None
    remote.fetch([f"+{GOLD}:{_FETCHED}"])
    tip = read_ref(remote.git, _FETCHED)
    move_ref(remote.git, _FETCHED, None, tip, _WHY)
    return tip


def _joined(office: Office, by: Signature, mine: str, theirs: str) -> str:
    """Both histories as one: mine made anew on theirs where each holds what the other lacks."""
    git = office.reader.git
    if is_ancestor(git, theirs, mine):
        return mine
    committer = Committer(office.reader, by.identity, sign=by.sign)
    tip = theirs
    try:
        for commit in commits_between(git, merge_base(git, mine, theirs), mine):
            tip = committer.replay(commit, tip)
    except CollisionError as clash:
        raise LeadError(
            f"{clash.path} differs here and there; take one of them with: kgrade gold ITEM --file"
        ) from None
    return tip
