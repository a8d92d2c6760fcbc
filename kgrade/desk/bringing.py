"""What a partial clone needs for an item: brought in one go when it is opened, or before, while another is graded."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice
from typing import Final

from kgrade.records.slugs import ItemId
from kgrade.repository.objects import ObjectReader
from kgrade.repository.order import Places
from kgrade.repository.runner import GitError
from kgrade.repository.tree import Snapshot

NEXT: Final = 3
"""Open items that are brought before anybody asks for them."""


def bring_items(
    objects: ObjectReader,
    snapshot: Snapshot,
    items: Iterable[ItemId],
    grades_in: Sequence[Snapshot],
    cancel: threading.Event | None = None,
) -> int:
    """Bring all files of `items` that are not here; how many those were. NotHereError when the remote gives none."""
    if objects.partial.remote is None:
        return 0
    return objects.partial.bring(chain.from_iterable(_files_of(snapshot, item, grades_in) for item in items), cancel)


def bring_next(
    objects: ObjectReader,
    snapshot: Snapshot,
    places: Places,
    grades_in: Sequence[Snapshot],
    cancel: threading.Event | None = None,
) -> None:
    """Bring the next open items, for whoever opens them soon; without the remote they are brought then."""
    each = map(places.__getitem__, range(places.first_open, len(places)))
    items = list(islice((place.row.id for place in each if place.state == "open"), NEXT))
    with contextlib.suppress(GitError):
        bring_items(objects, snapshot, items, grades_in, cancel)


def _files_of(snapshot: Snapshot, item: ItemId, grades_in: Sequence[Snapshot]) -> Iterator[str]:
    """The ids of the files that are read to show `item`: its own, its task's, the rubrics and the grades."""
    task = ItemId(item.task)
    folders = [item.folder, "rubrics"] if item.submission else ["rubrics"]
    for entry in snapshot.list(task.folder):
        if entry.kind == "folder" and entry.name != "submissions":
            folders.append(f"{task.folder}/{entry.name}")
        elif entry.kind in ("file", "symlink"):
            yield entry.oid
    for folder in folders:
        yield from (entry.oid for _, entry in snapshot.walk(folder) if entry.kind in ("file", "symlink"))
    for each in grades_in:
        yield from (entry.oid for entry in each.list(f"{item.folder}/grades") if entry.kind == "file")
