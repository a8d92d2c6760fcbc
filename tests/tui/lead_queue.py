"""A queue that three people graded and Lea leads: most grades agree, three items do not; every commit has its date."""

from __future__ import annotations

import atexit
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import cache
from pathlib import Path

from kgrade.desk import Desk
from kgrade.records import codec, scoring
from kgrade.records.grade import About, GateAnswer, Grade, Score, SheetRef, Times
from kgrade.records.rubric import Rubric, Verdict, sheet_sha256
from kgrade.records.slugs import ItemId
from kgrade.repository.runner import Git
from kgrade.repository.tree import Snapshot, TreeReader
from tests.audit.sealed import HOUR, PROJECT, Queue
from tests.conftest import Repo
from tests.desk.conftest import KERNEL, SMALL_QUEUE, submission

ITEMS = [f"softmax/s{number:02}" for number in range(1, 13)]
DIFFER = ("softmax/s02", "softmax/s05", "softmax/s07")
"""The items on which ada and bob differ, by 2, 1 and 1 levels."""

_WORDS = {
    ("ada", "softmax/s02"): "A row of -inf gives NaN: the maximum is subtracted from itself.",
    ("bob", "softmax/s02"): "All required cases pass; a row of -inf is asked for nowhere in the task.",
}


def lead_queue(repo: Repo, *, blind: bool = False) -> Queue:
    """Twelve submissions of one task; ada and bob grade all of them, eve four and in a hurry."""
    repo.git("config", "user.name", "Lea")
    repo.git("config", "user.email", "lea@example.org")
    made = Queue(repo, {})
    names = [item.rpartition("/")[2] for item in ITEMS]
    more = {f"queue/softmax/submissions/{n}/submission.yaml": submission("2026-01-01T09:30:00Z") for n in names}
    more |= {f"queue/softmax/submissions/{n}/solution/kernel.py": f"{KERNEL}\nVARIANT = {n!r}\n" for n in names}
    sheets = {f"rubrics/{path.name}": path.read_text() for path in (PROJECT / "rubrics").glob("*.yaml")}
    settings = (
        "schema: kgrade/settings@1\ngrades_ref: refs/heads/grades/{evaluator}\nleads: [lea]\ngraders_per_item: 2\n"
    )
    files = {**SMALL_QUEUE, **more, **sheets, "kgrade.yaml": settings + ("blind: true\n" if blind else "")}
    made.commit("refs/heads/main", files, "lea", key=None, message="a queue")
    repo.git("reset", "-q", "--hard")
    levels = {item: at * 7 % 5 for at, item in enumerate(ITEMS)}
    _grade(made, "ada", {item: {"numerics": level} for item, level in levels.items()}, levels, 410)
    apart = {"softmax/s02": {"numerics": levels["softmax/s02"] + 2, "scoping": 3}}
    apart |= {"softmax/s05": {"scoping": 2}, "softmax/s07": {"numerics": 3}}
    _grade(made, "bob", {item: apart.get(item, {}) for item in ITEMS}, levels, 380)
    _grade(made, "eve", {item: {} for item in ITEMS[8:]}, levels, 45)
    return made


def _grade(made: Queue, who: str, items: Mapping[str, Mapping[str, int]], levels: Mapping[str, int], took: int) -> None:
    """One commit of all of `who`'s grades: `levels` in every criterion but those that `items` gives otherwise."""
    reader = TreeReader(Git.open(made.repo.path))
    snapshot = Snapshot(reader, made.repo.git("rev-parse", "main"))
    sheet = snapshot.read("rubrics/generation.yaml")
    rubric = codec.decode(Rubric, sheet, "rubrics/generation.yaml")
    stamp = datetime.fromtimestamp(made.now + HOUR, UTC).isoformat().replace("+00:00", "Z")
    files = {}
    for item, own in items.items():
        found = ItemId.parse(item)
        given = {each.id: own.get(each.id, levels[item]) for each in rubric.criteria}
        word = _WORDS.get((who, item), "")
        scores = {name: Score(score=level, comment=word if name == "numerics" else "") for name, level in given.items()}
        gates = (
            {"wrong-result": GateAnswer(confirmed=True, comment="NaN.")} if (who, item) == ("ada", DIFFER[0]) else {}
        )
        verdict: Verdict = "revise" if gates or levels[item] < 2 else "accept"
        result = scoring.score(rubric, scores, gates, verdict)
        grade = Grade(
            item=item, evaluator=who, rubric=SheetRef(id="generation", sha256=sheet_sha256(sheet)),
            about=About(task_tree=snapshot.task_tree(found.task), solution_tree=snapshot.solution_tree(found)),
            scores=scores, gates=gates, verdict=verdict, points=result.points, total=result.total,
            times=Times(opened=stamp, active_s=took + 3 * levels[item], saved=stamp),
        )  # fmt: skip
        files[found.grade_path(who)] = codec.encode_yaml(grade)
    reader.objects.close()
    made.commit(f"refs/heads/grades/{who}", files, who, key=None, message=f"grade {len(files)} items ({who})")


@contextmanager
def lead_desk() -> Iterator[Desk]:
    """Lea's desk at a copy of the queue that is hers alone."""
    with tempfile.TemporaryDirectory() as folder:
        at = Path(folder) / "queue"
        shutil.copytree(_built(), at)
        desk = Desk.open(at, evaluator="lea")
        try:
            yield desk
        finally:
            desk.close()


@cache
def _built() -> Path:
    """The queue, built once for all who copy it."""
    folder = Path(tempfile.mkdtemp(prefix="kgrade-lead-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    repo = Repo(folder)
    repo.git("init", "-q", "-b", "main")
    lead_queue(repo)
    return folder
