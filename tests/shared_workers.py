"""Workers that outlive a test. Starting one behind the wall and importing its framework takes seconds each time.

Tests of what is judged share them. Tests of the process itself (hostile code, limits, logs) start their own.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from kgrade.harness.methods import Method
from kgrade.harness.run import Run
from kgrade.harness.sandbox import Ended
from kgrade.harness.standby import Standby
from kgrade.harness.watchdog import Limits
from kgrade.harness.workers import INSIDE, Entry, Worker


class Hosts:
    """The processes that are kept, one for each way of running code. They see every item collected below `folder`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._living: dict[tuple[str, str | None, bool, bool], Worker] = {}
        self._starter = ThreadPoolExecutor(1)  # what a thread started behind the wall dies with that thread

    def workers(
        self, run: Run, folder: str, method: Method, functions: dict[str, Entry], *, precise: bool = False
    ) -> Standby:
        """Stand in for `Run.workers`."""
        place = run.folder / folder
        wall, interpreter = run.machine.wall, run.machine.interpreter
        guest = Guest(
            wall,
            interpreter,
            place,
            method.framework,
            method.stand_in,
            Limits(),
            precise,
            host=self,
            prepares="prepare" in functions,
        )
        guest.watched = folder == "item"
        return Standby(guest, functions, run.source.task.limits.build_s)

    def living(self, guest: Guest) -> Worker:
        """Return a running process fit for `guest`."""
        kind = (guest.framework, guest.stand_in, guest.precise, guest.prepares)
        host = self._living.get(kind)
        if host is None or not host.alive:
            host = Worker(guest.wall, guest.interpreter, self.folder, *kind[:2], Limits(cpu_s=3600), kind[2])
            self._starter.submit(host.start).result()
            self._living[kind] = host
        return host

    def close(self) -> None:
        """End every process."""
        for host in self._living.values():
            host.finish()
        self._starter.shutdown()


@dataclass
class Guest(Worker):
    """A worker of one item, in a process that was there before and goes on afterwards; what it prints is not kept."""

    host: Hosts | None = None
    prepares: bool = False

    def another(self) -> Worker:
        """Return a worker like this one that has not been started."""
        made = super().another()
        return Guest(
            made.wall,
            made.interpreter,
            made.folder,
            made.framework,
            made.stand_in,
            made.limits,
            made.precise,
            made.watched,
            made.device,
            host=self.host,
            prepares=self.prepares,
        )

    def start(self) -> None:
        """Take a seat in a running process."""
        assert self.host is not None
        self._at = self.host.living(self)
        self._channel, self._shut, self.versions = self._at._channel, self._at._shut, self._at.versions

    def place(self, file: str) -> str:
        """Return the path of `file` as the process sees it."""
        assert self.host is not None
        if not self.wall.moves_paths:
            return str(self.folder / file)
        return str(INSIDE / "queue" / self.folder.relative_to(self.host.folder) / file)

    def stop(self, grace_s: float = 0.0) -> Ended:
        """End the process: nobody takes a seat in it again."""
        self._at._ended = super().stop(grace_s)
        return self._at._ended

    def finish(self) -> bytes:
        """Leave; the process goes on."""
        self._shut = None
        return b""


@pytest.fixture(scope="session")
def hosts() -> Iterator[Hosts]:
    folder = Path(tempfile.mkdtemp(prefix="kgrade-shared-"))
    folder.chmod(0o711)
    made = Hosts(folder)
    yield made
    made.close()
    shutil.rmtree(folder)


@pytest.fixture
def shared_workers(hosts: Hosts, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let what a test collects run in processes that other tests have used."""
    monkeypatch.setattr(tempfile, "tempdir", str(hosts.folder))
    alone = Run.workers

    def shared(run: Run, *given: Any, **named: Any) -> Standby:
        own = [named.pop(each, None) for each in ("device", "emulation", "gpu")]
        if any(each is not None for each in own):  # it keeps what it records or loads, or has a GPU: it serves one item
            return alone(run, *given, device=own[0], emulation=own[1], gpu=own[2], **named)
        return hosts.workers(run, *given, **named)

    monkeypatch.setattr(Run, "workers", shared)
