"""What a submission shares with those handed in before it: each is fingerprinted once, however many are compared to it.

So a queue costs as many fingerprintings as it has submissions, and one more submission costs one more.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping
from hashlib import sha256
from typing import TYPE_CHECKING

from kgrade.harness.integrity import cuda, reading, similarity

if TYPE_CHECKING:
    from kgrade.harness.run import HandedIn

LEAST_OWN = 24
"""Fingerprints that a submission has beyond the task's own code, at least, where it can be compared to others."""

_MOST_KEPT = 16384


class Prints:
    """The fingerprints of sets of files, kept by what says which bytes these are; for any thread."""

    def __init__(self) -> None:
        self.made = 0
        self._kept: OrderedDict[str, frozenset[int]] = OrderedDict()
        self._turn = threading.Lock()

    def of(self, key: str, read: Callable[[], Mapping[str, bytes]]) -> frozenset[int]:
        """Return the fingerprints of the files that `read` gives, which `key` stands for; none of what cannot be read.

        The files are taken apart behind the wall: what ends that process takes nothing else with it.
        """
        with self._turn:
            known = self._kept.get(key)
            if known is not None:
                self._kept.move_to_end(key)
                return known
        found = frozenset(reading.ask(reading.Request(_readable(read()), prints=True)).prints)
        with self._turn:
            self.made += 1
            self._kept[key] = found
            while len(self._kept) > _MOST_KEPT:
                self._kept.popitem(last=False)
        return found


PRINTS = Prints()


def shares(
    files: Mapping[str, bytes], task_files: Mapping[str, bytes], others: Mapping[str, HandedIn]
) -> dict[str, float]:
    """Return, by item id, what share (0 to 1) of `files` stands in each of `others`, the task's own code left out."""
    if not others:
        return {}
    own = PRINTS.of(_key(files), lambda: files) - PRINTS.of(_key(task_files), lambda: task_files)
    if len(own) < LEAST_OWN:
        return {}
    return {item: similarity.contained(own, PRINTS.of(each.tree, each.read)) for item, each in sorted(others.items())}


def _readable(files: Mapping[str, bytes]) -> dict[str, bytes]:
    return {path: data for path, data in files.items() if path.endswith((".py", *cuda.SUFFIXES))}


def _key(files: Mapping[str, bytes]) -> str:
    found = sha256()
    for path, data in sorted(files.items()):
        found.update(b"%d:%d:" % (len(path.encode()), len(data)) + path.encode() + data)
    return found.hexdigest()
