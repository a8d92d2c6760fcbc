"""Where evidence is collected: on this machine, or on the nodes of a cluster.

An engine runs the stages of one item on one target and answers with its evidence, which is the same whichever engine
ran them. Any thread may ask, and waits until its item is done.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from typing import Protocol

from kgrade.harness.progress import OnProgress
from kgrade.harness.run import ItemSource
from kgrade.records.evidence import Evidence

Collected = tuple[Evidence, dict[str, bytes]]
"""The evidence, and its logs by file name."""


class EngineError(Exception):
    """The engine that was asked for cannot be used; one sentence says why and what to do."""


class Undone(Exception):
    """An item was not collected for a reason that lies outside of it, after every try; one sentence says which."""


class Engine(Protocol):
    """Runs items. `at_once` is how many it is useful to ask for at the same time."""

    @property
    def at_once(self) -> int:
        """How many items it is useful to ask for at the same time, from as many threads."""

    def collect(
        self,
        source: ItemSource,
        target: str,
        stages: Collection[str],
        on_progress: OnProgress,
        cancel: threading.Event,
        python: str | None,
    ) -> Collected:
        """Run `stages` of `source` on `target`, the item's code in `python` (None: the one that runs kgrade).

        Raises `Cancelled` soon after `cancel` is set, `Undone` when the item could not be run anywhere.
        """

    def close(self) -> None:
        """Give back what the engine holds."""


@contextmanager
def opened(name: str, note: Callable[[str], None]) -> Iterator[Engine]:
    """The engine called `name`, `local` or `ray`, while the block runs; `note` gets sentences for the person.

    Raises EngineError where it cannot be used.
    """
    if name == "ray":
        from kgrade.harness.engines.cluster import RayCluster

        engine: Engine = RayCluster.joined(note)
    else:
        from kgrade.harness.engines.local import Local

        engine = Local()
    try:
        yield engine
    finally:
        engine.close()
