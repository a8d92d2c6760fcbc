"""One evaluator's process: grades what the desk offers, one item after the other, until the queue is empty.

`python -m tests.desk.grading_process CLONE EVALUATOR`; each item that is in a commit is a line of output.
"""

from __future__ import annotations

import sys
import time
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


def grade_all(desk: Desk) -> None:
    """Do what the app does with an item: open, score, save, send."""
    desk.sync()
    item = next_item(desk)
    while isinstance(item, ItemId):
        sitting = desk.sit(item)
        if sitting.read_only is None:
            fill(sitting)
            desk.save(sitting, follow=False)
            print(item, flush=True)
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


if __name__ == "__main__":
    mine = Desk.open(Path(sys.argv[1]), evaluator=sys.argv[2])
    grade_all(mine)
    send_all(mine)
    mine.close()
    print("done", flush=True)
