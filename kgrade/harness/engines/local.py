"""The engine that needs nothing: this machine."""

from __future__ import annotations

import threading
from collections.abc import Collection

from kgrade.harness.collect import collect
from kgrade.harness.engines import Collected
from kgrade.harness.progress import OnProgress
from kgrade.harness.run import ItemSource, Machine


class Local:
    """Runs items here, each in the thread that asks. This machine is looked at once for each Python."""

    at_once = 1

    def __init__(self) -> None:
        self._machines: dict[str | None, Machine] = {}
        self._turn = threading.Lock()

    def collect(
        self,
        source: ItemSource,
        target: str,
        stages: Collection[str],
        on_progress: OnProgress,
        cancel: threading.Event,
        python: str | None,
    ) -> Collected:
        """Run the stages; see `Engine.collect`."""
        return collect(source, target, stages, on_progress, cancel, self._machine(python))

    def close(self) -> None:
        """Hold nothing."""

    def _machine(self, python: str | None) -> Machine:
        with self._turn:
            if python not in self._machines:
                self._machines[python] = Machine.here(python)
            return self._machines[python]
