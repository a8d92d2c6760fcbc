"""The lead at work on one queue: who it is, what is read, and how their decisions become commits."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from kgrade.records.settings import Settings
from kgrade.repository.branches import Branch, Saved
from kgrade.repository.commits import Change, Identity
from kgrade.repository.opening import Signature, git_identity, open_queue, queue_snapshot, signature
from kgrade.repository.remote import Remote
from kgrade.repository.runner import Git
from kgrade.repository.sync import Sync
from kgrade.repository.tree import Snapshot, TreeReader


class LeadError(Exception):
    """Something a lead can mend, in one sentence: what, where, what was expected, what to do."""


class NotALead(LeadError):
    """Who is no lead of this queue cannot decide; the sentence says who can."""


@dataclass
class Office:
    """One open queue."""

    reader: TreeReader
    queue: Branch
    settings: Settings

    def snapshot(self) -> Snapshot:
        """The queue as it stands."""
        return queue_snapshot(self.queue)

    def admit(self, who: str) -> None:
        """Raise NotALead unless `who` leads this queue."""
        if who not in self.settings.leads:
            leads = ", ".join(self.settings.leads) or "nobody yet: add `leads: [NAME]` to kgrade.yaml"
            raise NotALead(f"only a lead can do this, and {who} is none; leads of this queue: {leads}")

    def signature_of(self, who: str) -> Signature:
        """How commits of `who`, made by this clone's git identity, are signed."""
        name, email = git_identity(self.reader.git)
        identity = Identity(name or who, email or f"{who}@localhost")
        return signature(self.reader.git, identity, self.settings, who)

    def commit(self, change: Change, subject: str, trailers: dict[str, str], by: Signature) -> Saved:
        """Commit one change to the queue's branch and send it where there is a remote; notes say how that went."""
        body = "".join(f"{key}: {value}\n" for key, value in trailers.items())
        saved = self.queue.commit([change], f"{subject}\n\n{body}", by.identity, sign=by.sign)
        return Saved(saved.commit, saved.ref, saved.where, (*saved.notes, *self.send(self.queue, by)))

    def send(self, branch: Branch, by: Signature) -> list[str]:
        """Send what waits on `branch`; a sentence where it did not go."""
        if branch.remote is None:
            return []
        standing = Sync(branch, Remote(branch.git, branch.remote), by.identity, sign=by.sign).step()
        return [standing.reason] if standing.reason else []


@contextmanager
def office_at(path: Path) -> Iterator[Office]:
    """Open the queue that holds `path`, and close its reader."""
    office = office_of(path)
    with office.reader.objects:
        yield office


def office_of(path: Path) -> Office:
    """Open the queue that holds `path`; its reader stands until `office.reader.objects` is closed."""
    reader = TreeReader(Git.open(path))
    return Office(reader, *open_queue(reader))


def now() -> str:
    """The time in whole seconds, as records hold it."""
    return datetime.now(UTC).replace(microsecond=0).isoformat().replace("+00:00", "Z")
