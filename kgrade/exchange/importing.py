"""`kgrade import`: what lies in a folder becomes one commit to the queue.

Nothing is written before everything was read: an import that is stopped leaves the queue as it was, and the next one
finds by content what is here already.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from kgrade.exchange.brought import Arrivals
from kgrade.exchange.formats import Options, arrivals_of
from kgrade.exchange.landing import Landing, Row, tally
from kgrade.records.settings import Settings
from kgrade.repository.branches import Branch, Saved
from kgrade.repository.commits import Change, Identity
from kgrade.repository.opening import Signature, git_identity, open_queue, queue_snapshot, signature
from kgrade.repository.remote import Remote
from kgrade.repository.sync import Sync
from kgrade.repository.tree import Snapshot, TreeReader

Told = Callable[[str], None]
EVERY = 100


class UnreadableFolder(Exception):
    """A file or folder among what is imported that cannot be read; the sentence names it."""


@dataclass(frozen=True)
class Imported:
    """What an import came to: its table, and its commits (the queue's; and grades', where they have branches)."""

    format: str
    rows: list[Row]
    saved: list[Saved]
    notes: list[str]


def import_folder(reader: TreeReader, path: Path, options: Options, *, dry: bool, told: Told) -> Imported:
    """Import `path` into the queue that `reader` reads; with `dry`, only tell what would come."""
    queue, settings = open_queue(reader)
    name, email = git_identity(reader.git)
    by = signature(reader.git, Identity(name or "kgrade", email or "kgrade@localhost"), settings)
    landing = Landing(
        queue_snapshot(queue), reader, f"{by.identity.name} <{by.identity.email}>", _standing(queue, settings)
    )
    try:
        found, arrivals = arrivals_of(path, options)
        rows = landing.take(_counted(arrivals, told))
    except OSError as why:
        raise UnreadableFolder(f"{why.filename or path} cannot be read: {why.strerror}; nothing was imported") from None
    saved = [] if dry else _commit(queue, settings, landing, f"import: {path.name or found} ({found})", rows, by, told)
    notes = [] if dry or not saved else _send(queue, by)
    return Imported(found, rows, saved, notes)


def _counted(arrivals: Arrivals, told: Told) -> Arrivals:
    for count, arrival in enumerate(arrivals, 1):
        if count % EVERY == 0:
            told(f"{count:,} read")
        yield arrival


def _standing(queue: Branch, settings: Settings) -> Callable[[str], bytes | None]:
    """What reads a grade where this queue keeps those of its evaluator."""

    def read(path: str) -> bytes | None:
        branch = _branch_of(queue, settings, path.rpartition("/")[2].removesuffix(".yaml"))
        head = branch.head()
        snapshot = Snapshot(queue.reader, head) if head else None
        return snapshot.read(path) if snapshot is not None and snapshot.entry(path) is not None else None

    return read


def _branch_of(queue: Branch, settings: Settings, evaluator: str) -> Branch:
    if settings.grades_ref is None:
        return queue
    ref = settings.grades_ref.replace("{evaluator}", evaluator)
    return queue if ref == queue.ref else Branch(queue.reader, ref, remote=queue.remote)


def _commit(
    queue: Branch, settings: Settings, landing: Landing, subject: str, rows: list[Row], by: Signature, told: Told
) -> list[Saved]:
    """One commit to the queue, and one to each branch of its own that holds an evaluator's grades."""
    wanted: dict[str, tuple[Branch, dict[str, bytes | None]]] = {queue.ref: (queue, dict(landing.files))}
    for evaluator, files in landing.grade_files.items():
        branch = _branch_of(queue, settings, evaluator)
        wanted.setdefault(branch.ref, (branch, {}))[1].update(files)
    saved = []
    counts = tally(rows)
    body = ", ".join(f"{counts[state]} {state}" for state in ("new", "changed") if counts.get(state))
    for branch, pieces in wanted.values():
        if pieces:
            told(f"committing {len(pieces):,} files to {branch.short}")
            changes = [Change(path, data) for path, data in pieces.items()]
            saved.append(branch.commit(changes, f"{subject}\n\n{body}\n", by.identity, sign=by.sign))
    return saved


def _send(queue: Branch, by: Signature) -> list[str]:
    """Send what waits on the queue's branch; a sentence where it did not go."""
    if queue.remote is None:
        return []
    standing = Sync(queue, Remote(queue.git, queue.remote), by.identity, sign=by.sign).step(threading.Event())
    return [standing.reason] if standing.reason else []
