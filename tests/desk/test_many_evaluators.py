"""Many evaluators on one bare remote, killed at random and begun again: none graded twice by chance, none lost."""

from __future__ import annotations

import os
import random
import selectors
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path

import pytest

from kgrade.records.settings import Settings
from kgrade.records.slugs import ItemId
from kgrade.repository.plan import Plan
from tests.conftest import Repo
from tests.desk.grading_process import evaluate, evaluators
from tests.large_queue import large_queue

START = evaluators()
DOUBLE_PERCENT = 20
STALLED_S = 300
"""No line from any process for so long means that they stand still."""

MODES = {"shared": "", "own": "grades_ref: refs/heads/grades/{evaluator}\n"}


@dataclass
class Evaluator:
    """One person's clone and the process that works in it; `kills_at` are counts of grades at which it is killed."""

    name: str
    clone: Path
    kills_at: list[int]
    killed: int = 0
    said: list[str] = field(default_factory=list)
    process: BaseProcess | None = None

    def begin(self) -> Connection:
        hear, tell = START.Pipe(duplex=False)
        self.process = START.Process(target=evaluate, args=(self.clone, self.name, tell, dict(os.environ)))
        self.process.start()
        tell.close()
        return hear

    def errors(self) -> str:
        return (self.clone / ".git" / "stderr").read_text()


def all_work(evaluators: list[Evaluator], chance: random.Random) -> None:
    """Let every evaluator work until the queue is empty for them, killing each as often as it has `kills_at`."""
    with selectors.DefaultSelector() as waiting:

        def begin(who: Evaluator) -> None:
            waiting.register(who.begin(), selectors.EVENT_READ, who)

        for who in evaluators:
            begin(who)
        while waiting.get_map():
            ready = waiting.select(STALLED_S)
            assert ready, f"nothing moves: {[who.errors() for who in evaluators]}"
            for key, _ in ready:
                who: Evaluator = key.data
                told: Connection = key.fileobj
                is_over = False
                try:
                    who.said.append(told.recv())
                except EOFError:
                    is_over = True
                if not is_over and not (who.kills_at and len(who.said) >= who.kills_at[0]):
                    continue
                waiting.unregister(told)
                told.close()
                if is_over:
                    who.process.join()
                    assert who.process.exitcode == 0, who.errors()
                else:
                    _kill(who, chance)
                    begin(who)


def _kill(who: Evaluator, chance: random.Random) -> None:
    """Kill at any moment of the work that follows a grade; what git had begun for it ends by itself."""
    who.kills_at.pop(0)
    who.process.join(timeout=chance.uniform(0, 0.4))
    if who.process.is_alive():
        who.process.kill()
        who.killed += 1
    who.process.join()


@pytest.fixture
def hub_of(tmp_path: Path) -> Callable[[int, int, str], Repo]:
    """A maker of bare remotes with a queue of so many tasks and submissions of each."""

    def make(tasks: int, per_task: int, mode: str) -> Repo:
        settings = f"double_grade_percent: {DOUBLE_PERCENT}\n{MODES[mode]}"
        more = {"kgrade.yaml": settings.encode()}
        large_queue(tmp_path / "seed", tasks * per_task, per_task=per_task, extra=more, checked_out=False)
        subprocess.run(["git", "clone", "-q", "--bare", tmp_path / "seed", tmp_path / "hub"], check=True)
        return Repo(tmp_path / "hub")

    return make


def clones(hub: Repo, count: int) -> Iterator[Path]:
    for number in range(count):
        clone = Repo(hub.path.with_name(f"e{number:02d}"))
        subprocess.run(["git", "clone", "-q", "--no-checkout", hub.path, clone.path], check=True)
        clone.git("config", "user.name", clone.path.name)
        clone.git("config", "user.email", f"{clone.path.name}@example.org")
        clone.git("read-tree", "--empty")
        yield clone.path


def grades_at(hub: Repo) -> Mapping[ItemId, Counter[str]]:
    """By item, who graded it, over all branches of the remote."""
    found: dict[ItemId, Counter[str]] = {}
    for ref in hub.git("for-each-ref", "--format=%(refname)", "refs/heads").split():
        for path in hub.git("ls-tree", "-r", "--name-only", ref, "queue/").split():
            parts = path.split("/")
            if parts[-2] != "grades":
                continue
            item = ItemId(parts[1], parts[3] if parts[2] == "submissions" else None)
            found.setdefault(item, Counter())[parts[-1].removesuffix(".yaml")] += 1
    return found


def sound(repo: Repo) -> None:
    """Nothing is missing or damaged; while git tidies up behind a push, packs come and go under whoever reads them."""
    folder = Path(repo.git("rev-parse", "--absolute-git-dir"))
    deadline = time.monotonic() + 60
    while (folder / "gc.pid").exists() and time.monotonic() < deadline:
        time.sleep(0.1)
    repo.git("fsck", "--strict", "--no-dangling")


@pytest.mark.parametrize(
    ("mode", "people", "tasks", "per_task", "kills"),
    [
        ("shared", 8, 4, 24, 1),
        ("own", 4, 2, 7, 1),
        pytest.param("own", 8, 4, 24, 1, marks=pytest.mark.long),
        pytest.param("shared", 32, 20, 50, 3, marks=pytest.mark.long),
        pytest.param("own", 32, 20, 50, 3, marks=pytest.mark.long),
    ],
)
def test_no_item_is_graded_twice_by_chance_none_is_lost_and_none_is_left(
    hub_of: Callable[[int, int, str], Repo], mode: str, people: int, tasks: int, per_task: int, kills: int
) -> None:
    hub = hub_of(tasks, per_task, mode)
    chance = random.Random(f"{mode} {people}")
    share = tasks * per_task // people
    people_at_work = [
        Evaluator(path.name, path, sorted(chance.randint(1, max(1, share - 2)) for _ in range(kills)))
        for path in clones(hub, people)
    ]
    all_work(people_at_work, chance)

    plan = Plan(Settings(double_grade_percent=DOUBLE_PERCENT))
    items = [ItemId(f"task-{task:05d}") for task in range(tasks)]
    items += [ItemId(task.task, f"s{place:04d}") for task in items for place in range(per_task)]
    found = grades_at(hub)
    assert {str(item): len(found.get(item, ())) for item in items} == {str(i): plan.graders(i) for i in items}
    assert found.keys() <= set(items)
    for who in people_at_work:
        graded = {str(item) for item, by in found.items() if who.name in by}
        assert {line for line in who.said if line != "done"} <= graded
        assert who.said[-1] == "done"
    assert sum(who.killed for who in people_at_work) >= people * kills // 2
    for repo in (hub, *(Repo(who.clone) for who in people_at_work)):
        sound(repo)
