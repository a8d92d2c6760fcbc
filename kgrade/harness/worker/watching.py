"""One watched call: on storage that is used again or is new, with its outputs read at return and once more later.

What is said of types, threads and launches is a claim by the process under test; the bytes of the outputs are judged
on the other side.
"""

from __future__ import annotations

import os
import threading
import time
from typing import Any, Callable, Dict, List

from .audit import Audit
from .calls import Caller
from .interfaces.function import outputs
from .launches import Launches
from .surroundings import Snapshot
from .wire import Request

LATER = " later"
MOST = 16
_listdir, _sleep = os.listdir, time.sleep


class Watcher:
    """Calls functions and looks at what they leave behind, from `begin` on, which comes before their import."""

    def __init__(self, caller: Caller) -> None:
        self.caller = caller
        self.launches = Launches()
        self.audit = Audit()
        self.slots: Dict[str, Dict[str, Any]] = {}

    def begin(self, folder: str) -> None:
        """Watch what code below `folder` does from now on."""
        self.slots.clear()
        self.launches.watch()
        self.audit.begin(folder)
        self.before = Snapshot()
        self.threads, self.children = _alive()

    def call(self, request: Request, function: Callable[..., Any]) -> Dict[str, Any]:
        """Call once. `slot` names the storage of the inputs; with `again` it gets new values under old addresses."""
        message = request.message
        inputs = self._inputs(request, message["slot"], message["again"])
        specs = message["outputs"]
        now = [spec for spec in specs if not spec["name"].endswith(LATER)]
        self.launches.clear(message["retrace"])
        result = function(**inputs)
        self.caller.arrays.finish(result)
        values = outputs(result, [spec["name"] for spec in now], inputs)
        forms = [self.caller.arrays.form(value) for value in values]
        described = self.caller.write(request, values, now)
        _sleep(message["delay_s"])
        described += self.caller.write(request, values, specs[len(now) :])
        threads, children = _alive()
        return {
            "outputs": described,
            "forms": forms,
            "touched": self.caller.touched(request, inputs),
            "threads": sorted(threads - self.threads)[:MOST],
            "children": sorted(children - self.children)[:MOST],
            "launches": dict(list(self.launches.counts.items())[:MOST]) if self.launches.watched else None,
        }

    def _inputs(self, request: Request, slot: str, again: bool) -> Dict[str, Any]:
        fresh = self.caller.inputs(request)
        kept = self.slots.get(slot)
        if not again or kept is None:
            self.slots[slot] = fresh
            return fresh
        for name, value in fresh.items():
            if hasattr(value, "shape"):
                self.caller.arrays.refill(kept[name], value)
        return kept

    def left(self) -> Dict[str, Any]:
        """Say what is replaced, moved and was done since before the import."""
        return {"replaced": self.before.replaced(), "moved": self.before.moved(), "events": self.audit.events}


def _alive() -> "tuple[set[str], set[str]]":
    """Return this process's threads (by name where Python knows them) and children."""
    named = {each.native_id: each.name for each in threading.enumerate()}
    threads, children = set(), set()
    for number in _listdir("/proc/self/task"):
        threads.add("{} {}".format(number, named.get(int(number), "native")))
        try:
            with open("/proc/self/task/{}/children".format(number)) as listed:
                children.update(listed.read().split())
        except OSError:
            continue
    return threads, children
