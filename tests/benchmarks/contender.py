"""One evaluator of many: grades as many items as each line of input asks for, and answers each with a line.

`python -m tests.benchmarks.contender CLONE EVALUATOR`; an item counts once its grade is at the remote and the next
item is open and claimed.
"""

from __future__ import annotations

import sys
from pathlib import Path

from kgrade.desk import Desk
from kgrade.desk.sitting import Sitting
from kgrade.records.slugs import ItemId
from tests.desk.grading_process import next_item, send_all
from tests.desk.test_desk import fill


def seated(desk: Desk) -> Sitting:
    """A sitting at the next item; RuntimeError where the queue was made too short for the measurement."""
    found = next_item(desk)
    if not isinstance(found, ItemId):
        raise RuntimeError(f"nothing is left to grade: {found.reasons}")
    return desk.sit(found)


if __name__ == "__main__":
    mine = Desk.open(Path(sys.argv[1]), evaluator=sys.argv[2])
    mine.sync()
    sitting = seated(mine)
    print("ready", flush=True)
    for line in sys.stdin:
        for _ in range(int(line)):
            fill(sitting)
            mine.save(sitting, follow=False)
            sitting.close()
            sitting = seated(mine)
            send_all(mine)
        print("done", flush=True)
    mine.close()
