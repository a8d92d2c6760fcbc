"""One evaluator's process: grades what the desk offers, one item after the other, until the queue is empty.

Each item that is in a commit is told at once. `evaluators` starts such processes from one that has imported all they
need, so that a machine with few cores is busy with grading and not with starting interpreters.
"""

from __future__ import annotations

import multiprocessing
import os
import time
from collections.abc import Callable, Mapping
from multiprocessing.connection import Connection
from multiprocessing.context import ForkServerContext
from pathlib import Path

from kgrade.desk import Desk, EmptyQueue
from kgrade.desk.people import Slow
from kgrade.records.slugs import ItemId
from tests.desk.test_desk import fill


def next_item(desk: Desk) -> ItemId | EmptyQueue:
    """What is next, however slow the remote is to say."""
    while True:
        try:
            return desk.next()
        except Slow:
            while desk.waits():
                time.sleep(0.1)


def grade_all(desk: Desk, tell: Callable[[str], None]) -> None:
    """Do what the app does with an item: open, score, save, send; `tell` of each that is in a commit."""
    desk.sync()
    item = next_item(desk)
    while isinstance(item, ItemId):
        sitting = desk.sit(item)
        if sitting.read_only is None:
            fill(sitting)
            desk.save(sitting, follow=False)
            tell(str(item))
        sitting.close()
        item = next_item(desk)
        desk.sync()
        if not isinstance(item, ItemId):  # as of before that step
            item = next_item(desk)


def send_all(desk: Desk) -> None:
    """Leave nothing unsent; RuntimeError where trying again alone does not help."""
    while (standing := desk.sync()) is not None and standing.state != "pushed":
        if standing.retry_in is None:
            raise RuntimeError(standing.reason)


def evaluate(clone: Path, evaluator: str, told: Connection, environment: Mapping[str, str]) -> None:
    """Grade until the queue is empty for `evaluator`; the last that is told is `done`."""
    os.environ.clear()
    os.environ.update(environment)
    errors = os.open(clone / ".git" / "stderr", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.dup2(errors, 2)
    mine = Desk.open(clone, evaluator=evaluator)
    grade_all(mine, told.send)
    send_all(mine)
    mine.close()
    told.send("done")


def evaluators() -> ForkServerContext:
    """Where such processes are begun, with `evaluate` as what they do."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([__name__])
    return context
