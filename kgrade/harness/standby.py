"""A worker that is replaced when it dies: one case that crashes must not take the other cases with it."""

from __future__ import annotations

from kgrade.harness.workers import Entry, Lost, Worker

REPLACEMENTS = 3


class Standby:
    """Keeps one worker ready. `recipe` makes it, `functions` are what it imports, by name."""

    def __init__(self, recipe: Worker, functions: dict[str, Entry], import_s: float) -> None:
        self.recipe = recipe
        self.functions = functions
        self.import_s = import_s
        self.import_seconds = 0.0
        self.log = bytearray()
        self.versions: dict[str, str] = {}
        self._worker: Worker | None = None
        self._broken: Lost | None = None
        self._left = REPLACEMENTS + 1
        self.started = 0

    def get(self) -> Worker:
        """Return a live worker with everything imported; raise `Lost` when it cannot be had, or not any more."""
        if self._broken is not None:
            raise self._broken
        if self._worker is not None and self._worker.alive:
            return self._worker
        self.close()
        if self._left == 0:
            reason = f"not run: the worker died {REPLACEMENTS + 1} times before"
            raise Lost("given up", reason, reason, alive=False)
        self._left -= 1
        self.started += 1
        self._worker = self.recipe.another()
        try:
            self._worker.start()
            self.versions |= self._worker.versions
            if self.functions:
                self.import_seconds = self._worker.load(self.functions, self.import_s)
        except Lost as lost:
            self._broken = lost  # what cannot be imported once will not be imported the next time
            raise
        return self._worker

    def twin(self) -> Standby:
        """Return another one that serves the same functions from a process of its own."""
        return Standby(self.recipe, self.functions, self.import_s)

    def restart(self) -> None:
        """End the worker, so that the next one asked is a fresh process; that is no replacement of one that died."""
        if self._worker is not None and self._worker.alive:
            self._left += 1
        self.close()

    def add(self, name: str, where: Entry, within_s: float) -> None:
        """Import one function more, here and in every worker to come; raise `Lost` when it cannot be imported."""
        self.get().load({name: where}, within_s)
        self.functions = {**self.functions, name: where}

    def close(self) -> None:
        """End the worker, if there is one, and keep what it printed."""
        if self._worker is not None:
            self.log += self._worker.finish()
            self._worker = None
