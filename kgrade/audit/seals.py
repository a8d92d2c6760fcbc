"""Seals: the chain of leads' signed statements, whom it lets us trust, and what this clone remembers of it.

Refs lie outside git's chain of hashes, so that signatures alone show neither a rollback nor an omission. A seal names
every branch's commit and the seal before; each clone keeps the first signer and the last commits that it saw.
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from kgrade.audit.lead import now
from kgrade.records import codec
from kgrade.records.faults import BadRecord
from kgrade.records.seal import Seal
from kgrade.records.settings import Settings
from kgrade.repository.branches import Branch, Saved
from kgrade.repository.commits import Change, Identity
from kgrade.repository.grades import SEALS, branches, grade_branches
from kgrade.repository.refs import is_ancestor
from kgrade.repository.runner import Git, GitError
from kgrade.repository.signing import Signed, key_of, signatures
from kgrade.repository.tree import Snapshot, TreeReader

FILE = "seal.yaml"


class Memory(msgspec.Struct, frozen=True, kw_only=True):
    """What this clone saw: the key of the first seal, the last seal, and each branch's last commit."""

    first_key: str = ""
    seal: str = ""
    tips: dict[str, str] = {}


class Link(msgspec.Struct, frozen=True, kw_only=True):
    """One seal of the chain: its commit, its content, and why it does not count, if it does not."""

    commit: str
    seal: Seal | None
    signed: Signed
    fault: str = ""


@dataclass
class Trust:
    """Whose word counts: the settings that leads vouched for, and every key, e-mail and lead they ever named."""

    settings: Settings = field(default_factory=Settings)
    keys: dict[str, list[str]] = field(default_factory=dict)
    emails: dict[str, set[str]] = field(default_factory=dict)
    led: set[str] = field(default_factory=set)

    def accept(self, settings: Settings) -> None:
        """Take `settings` as the word of a lead."""
        self.settings = settings
        self.know(settings)

    def know(self, settings: Settings) -> None:
        """Remember whom `settings` name, a lead's word that others have replaced since."""
        self.led |= set(settings.leads)
        for slug, person in settings.evaluators.items():
            known = self.keys.setdefault(slug, [])
            known += [key for key in map(key_of, person.keys) if key and key not in known]
            self.emails.setdefault(slug, set()).update(person.emails)

    def lead_keys(self) -> dict[str, list[str]]:
        """The keys that leads have now, by lead."""
        people = self.settings.evaluators
        return {lead: [*people[lead].keys] for lead in self.settings.leads if lead in people}


def make_seal(
    reader: TreeReader, queue: Branch, settings: Settings, by: Identity, lead: str
) -> tuple[Branch, Saved, Seal]:
    """Commit a signed seal of all grade branches as they stand; with a remote it waits in the outbox to be sent."""
    stand = grade_branches(queue, settings)
    branch = Branch(reader, SEALS, remote=queue.remote)
    before = branch.head()
    seal = Seal(lead=lead, sealed=now(), queue=queue.ref, refs=dict(sorted(stand.items())), before=before)
    message = f"seal: {len(stand)} branches ({lead})\n\n" + "".join(f"Sealed: {r} {c}\n" for r, c in seal.refs.items())
    return branch, branch.commit([Change(FILE, codec.encode_yaml(seal))], message, by, sign=True), seal


def settings_at(reader: TreeReader, commit: str) -> Settings | None:
    """The settings that stand in `commit`; None where they cannot be read."""
    try:
        snapshot = Snapshot(reader, commit)
        if snapshot.entry("kgrade.yaml") is None:
            return Settings()
        return codec.decode(Settings, snapshot.read("kgrade.yaml"), "kgrade.yaml")
    except (GitError, BadRecord):
        return None


def read_chain(reader: TreeReader, remote: str | None, memory: Memory) -> tuple[list[Link], Trust]:
    """Read the seals, oldest first, each judged by those before it; return them and whom the good ones let us trust."""
    tip = branches(reader.git, remote).get(SEALS)
    trust = Trust()
    links: list[Link] = []
    if tip is None:
        return links, trust
    commits = reader.git.run(["rev-list", "--first-parent", "--reverse", tip]).text.split()
    for commit in commits:
        link = _link(reader, commit, links, trust, memory)
        links.append(link)
        if link.seal is not None and not link.fault:
            vouched = settings_at(reader, link.seal.refs[link.seal.queue])
            if vouched is not None:
                trust.accept(vouched)
    return links, trust


def _link(reader: TreeReader, commit: str, before: list[Link], trust: Trust, memory: Memory) -> Link:
    try:
        seal = codec.decode(Seal, Snapshot(reader, commit).read(FILE), FILE)
    except (GitError, BadRecord) as why:
        return Link(commit=commit, seal=None, signed=Signed("unsigned"), fault=f"it cannot be read: {why}")
    known = Trust()
    vouched = settings_at(reader, seal.refs[seal.queue])
    if not any(not link.fault for link in before) and vouched is not None:
        known.accept(vouched)  # the first seal is believed on first sight, and its key is remembered
    else:
        known = trust
    signed = signatures(reader.git, [commit], known.lead_keys())[commit]
    expected = before[-1].commit if before else None
    fault = ""
    if seal.before != expected:
        fault = f"it names {(seal.before or 'no seal')[:12]} as the one before, which is {(expected or 'none')[:12]}"
    elif vouched is None:
        fault = f"the commit {seal.refs[seal.queue][:12]} that it seals is not here, or its kgrade.yaml cannot be read"
    elif signed.state != "good":
        fault = f"it is not signed by a lead's key ({signed.state.replace('-', ' ')})"
    elif not before and memory.first_key and signed.key != memory.first_key:
        fault = f"it is signed with {signed.key}, but this clone saw the first seal signed with {memory.first_key}"
    return Link(commit=commit, seal=seal, signed=signed, fault=fault)


def remembered(git: Git) -> Memory:
    """What this clone remembers; nothing where the file is missing or cannot be read."""
    try:
        return msgspec.json.decode(_memory_path(git).read_bytes(), type=Memory)
    except (OSError, msgspec.DecodeError):
        return Memory()


def remember(git: Git, before: Memory, links: list[Link], tips: dict[str, str]) -> None:
    """Keep what was seen. A branch's remembered commit only ever moves forward, so that a rewrite stays an alarm."""
    good = [link for link in links if not link.fault]
    kept = dict(before.tips)
    for ref, commit in tips.items():
        if ref not in kept or is_ancestor_here(git, kept[ref], commit):
            kept[ref] = commit
    seal = before.seal
    if good and (not seal or is_ancestor_here(git, seal, good[-1].commit)):
        seal = good[-1].commit
    first = before.first_key or (good[0].signed.key if good else "")
    path = _memory_path(git)
    with contextlib.suppress(OSError):  # a clone that cannot be written in remembers nothing: the seals still speak
        path.parent.mkdir(parents=True, exist_ok=True)
        beside = path.with_suffix(".new")
        beside.write_bytes(msgspec.json.encode(Memory(first_key=first, seal=seal, tips=kept)))
        beside.replace(path)


def is_ancestor_here(git: Git, older: str, newer: str) -> bool:
    """Whether `newer` contains `older`; not where either is missing from this clone."""
    try:
        return is_ancestor(git, older, newer)
    except GitError:
        return False


def _memory_path(git: Git) -> Path:
    return git.common_dir / "kgrade" / "seen.json"
