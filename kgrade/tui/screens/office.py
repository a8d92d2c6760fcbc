"""What a lead asks of the whole queue, in a thread: it says how far it is, can be given up, and comes one at a time."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Final, TypeVar

from kgrade.audit.lead import LeadError, Office, office_of
from kgrade.records.faults import BadRecord
from kgrade.repository.runner import GitError
from kgrade.tui.screens.stage import Stage
from kgrade.tui.screens.trouble import TROUBLE, sentence

Told = Callable[[str], None]
"""Says how far a job is; raises to end one that was given up."""

Answer = TypeVar("Answer")

_PROBLEMS: Final = (*TROUBLE, LeadError, GitError, BadRecord, OSError)


class _GivenUpError(Exception):
    """Nobody waits for the answer any more."""


class OfficeWork:
    """The office of the queue at `folder`, asked through one standing reader. Nothing here blocks the screen."""

    def __init__(self, stage: Stage, folder: Path) -> None:
        self._stage = stage
        self._folder = folder
        self._office: Office | None = None
        self._turn = threading.Lock()
        self._given_up: threading.Event | None = None
        self._writes = ""

    def ask(
        self, what: str, job: Callable[[Office, Told], Answer], done: Callable[[Answer], None], *, writes: bool = False
    ) -> None:
        """Have `job` done in a thread and its answer given to `done`; one that was still waited for is given up.

        One that `writes` is not given up: until it has ended nothing else is asked.
        """
        if self._writes:
            self._stage.say(f"still {self._writes}…")
            return
        self.give_up()
        given_up = self._given_up = threading.Event()
        self._writes = what if writes else ""
        self._stage.say(f"{what}…" if writes else f"{what}… q cancels")
        self._stage.run_worker(lambda: self._work(job, done, given_up), thread=True)

    @property
    def writing(self) -> str:
        """What is being written just now; "" if nothing is."""
        return self._writes

    def give_up(self) -> bool:
        """Wait no longer; False if nothing was waited for, or what is waited for writes."""
        if self._given_up is None or self._writes:
            return False
        self._given_up.set()
        self._given_up = None
        return True

    def close(self) -> None:
        """End the reader when what it is at has ended; nobody waits for its answer any more."""
        if self._given_up is not None:
            self._given_up.set()
        self._stage.run_worker(self._close, thread=True)

    def _work(
        self, job: Callable[[Office, Told], Answer], done: Callable[[Answer], None], given_up: threading.Event
    ) -> None:
        """In a thread: jobs take turns, as the reader is one."""
        application = self._stage.application

        def told(text: str) -> None:
            if given_up.is_set():
                raise _GivenUpError
            application.call_from_thread(self._say, given_up, text)

        try:
            with self._turn:
                if given_up.is_set():
                    return
                if self._office is None:
                    self._office = office_of(self._folder)
                answer = job(self._office, told)
        except _GivenUpError:
            return
        except _PROBLEMS as why:
            application.call_from_thread(self._failed, given_up, sentence(why))
        else:
            application.call_from_thread(self._answered, given_up, done, answer)

    def _say(self, given_up: threading.Event, text: str) -> None:
        if not given_up.is_set() and not self._writes:
            self._stage.say(f"{text}… q cancels")

    def _failed(self, given_up: threading.Event, why: str) -> None:
        if not given_up.is_set():
            self._given_up, self._writes = None, ""
            self._stage.say(why, "bad")

    def _answered(self, given_up: threading.Event, done: Callable[[Answer], None], answer: Answer) -> None:
        if not given_up.is_set():
            self._given_up, self._writes = None, ""
            self._stage.say("")
            done(answer)

    def _close(self) -> None:
        with self._turn:
            if self._office is not None:
                self._office.reader.objects.close()
                self._office = None
