"""The lead at work on one queue: who it is, what is read, and how their decisions become commits."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from kgrade.records.settings import Settings
from kgrade.repository.branches import Branch, Saved
from kgrade.repository.commits import Change
from kgrade.repository.opening import Signature, open_queue, queue_snapshot
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
    """Open the queue that holds `path`."""
    reader = TreeReader(Git.open(path))
    with reader.objects:
        yield Office(reader, *open_queue(reader))


def now() -> str:
    """The time in whole seconds, as records hold it."""
    return datetime.now(UTC).replace(microsecond=0).isoformat().replace("+00:00", "Z")
