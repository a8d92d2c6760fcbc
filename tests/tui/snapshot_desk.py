"""The desk that the kept screens are taken from: one item with all kinds of evidence, and a queue in every state."""

from __future__ import annotations

from typing import Any

import msgspec

from kgrade.desk.item import GradeEntry, HistoryEntry, Item
from kgrade.records.evidence import Profiling
from kgrade.records.grade import About, Grade, Score, SheetRef, Times
from kgrade.records.slugs import ItemId
from kgrade.repository.index_rows import EvidenceRow, GradeRow, ItemRow
from kgrade.repository.order import Place
from kgrade.tui.panes import panes
from kgrade.tui.screens.panes import PaneMaker
from tests.tui.panes import builders
from tests.tui.paper_desk import RUBRIC, PaperDesk, PaperProgress, PaperSitting

EVALUATOR = "ada"
DEVICE_LOG = b"ptxas info    : Used 64 registers, 49152 bytes smem\nkernel.cu(41): warning #177-D: unused\n"


def evidence() -> dict[str, Any]:
    interpreted = builders.evidence(
        "cpu",
        build=builders.built(method="imported by Python", targets=[], kernels=[]),
        check=builders.check(
            builders.checked(builders.case("bfloat16", "neg-inf"), 12_400, 48),
            builders.checked(builders.case("bfloat16"), 0.7),
            builders.checked(builders.case("float32", M=1, N=1), 0.4),
            builders.checked(builders.case("float32"), 1.9),
        ),
        time=builders.timed(0.4, (0.38, 0.43), indicative=False),
        integrity=builders.integrity(builders.finding()),
    )
    device = builders.evidence(
        "sm_90",
        build=builders.built(log="build.log"),
        time=builders.timed(),
        integrity=builders.integrity(builders.finding()),
        profile=Profiling(status="not-run", reason="ncu is not on PATH"),
    )
    return {"cpu": interpreted, "sm_90": device}


def item(name: str) -> Item:
    graded = Grade(
        item=f"softmax-rows/{name}",
        evaluator="bob",
        rubric=SheetRef(id="generation", sha256="4f0c" * 16),
        about=About(task_tree="9c1e" * 10, solution_tree="77ab" * 10),
        scores={"numerics": Score(score=1, comment="rows of -inf give NaN")},
        verdict="revise",
        points=61.5,
        total=61.5,
        times=Times(opened="2026-11-03T09:00:00Z", active_s=412, saved="2026-11-03T09:30:00Z"),
    )
    return builders.item(
        evidence(),
        stale=("sm_90",),
        logs={"build.log": DEVICE_LOG},
        id=ItemId("softmax-rows", name),
        rubric=RUBRIC,
        suggestions={"wrong-result": "cpu: 1 of 4 required cases fail, first M=48 N=781 bfloat16 neg-inf"},
        grades=[GradeEntry(evaluator="bob", grade=graded)],
        solution={"kernel.py": builders.KERNEL, "launch.py": b"from kernel import softmax_kernel\n"},
    )


def commits(item: ItemId) -> list[HistoryEntry]:
    return [
        HistoryEntry(
            commit="d5e37540b1" * 4,
            when="2026-11-03T09:30:00+00:00",
            who="Bob Example",
            what=f"Grade {item}: revise",
            changed=["grades/bob.yaml"],
        ),
        HistoryEntry(
            commit="0a91c4f2e7" * 4,
            when="2026-11-02T16:05:00+00:00",
            who="Kit Example",
            what=f"Hand in {item}",
            changed=["submission.yaml", "solution/kernel.py", "solution/launch.py"],
        ),
    ]


MAKERS: dict[str, PaneMaker] = panes(commits)


def _row(
    name: str, *, check: str = "passed", faults: tuple[str, ...] = (), grades: tuple[GradeRow, ...] = ()
) -> ItemRow:
    stages = {"build": "passed", "check": check, "time": "not-run"}
    seen = EvidenceRow(target="sm_90", stages=stages, stale=name.endswith("s03"))
    task, _, submission = name.partition("/")
    return ItemRow(
        id=ItemId(task, submission or None),
        title="Row-wise softmax, online, any width",
        type="generation",
        language="triton",
        targets=["sm_90", "cpu"],
        author="kit",
        supersedes=None,
        created="2026-11-02T16:05:00Z",
        evidence=[seen],
        grades=list(grades),
        faults=list(faults),
    )


class SnapshotDesk(PaperDesk):
    """What `PaperDesk` does, over items with evidence, and with a queue to look at."""

    evaluator = EVALUATOR

    def sit(self, id: ItemId, *, take_over: bool = False) -> PaperSitting:
        sitting = super().sit(id, take_over=take_over)
        sitting.item = item(id.submission or "")
        return sitting

    def rows(self) -> list[Place]:
        mine = GradeRow(
            evaluator=EVALUATOR,
            verdict="accept",
            total=92.5,
            points=92.5,
            saved="2026-11-03T09:30:00Z",
            sheet="9df86e8a",
        )
        later = msgspec.structs.replace(mine, verdict="revise", total=61.5, saved="2026-11-03T10:02:00Z")
        fault = "queue/scan/task.yaml: titel: unknown key, expected title"
        return [
            Place(row=_row("softmax-rows"), state="open"),
            Place(row=_row("softmax-rows/s01", check="failed"), state="draft"),
            Place(row=_row("softmax-rows/s02"), state="claimed", why="by bob until 14:05"),
            Place(row=_row("softmax-rows/s03"), state="skipped", why="needs a B200"),
            Place(row=_row("matmul-bias-gelu/s01", grades=(mine,)), state="graded"),
            Place(row=_row("matmul-bias-gelu/s02", grades=(later,), check="failed"), state="graded"),
            Place(row=_row("transpose-tiled/s01"), state="finished", why="graded by bob, eve"),
            Place(row=_row("scan", faults=(fault,)), state="faulty", why=fault),
        ]

    def my_grades(self) -> list[tuple[ItemRow, GradeRow]]:
        mine = [(place.row, grade) for place in self.rows() for grade in place.row.grades]
        return sorted(mine, key=lambda one: one[1].saved, reverse=True)

    def standing(self, item: ItemId) -> tuple[str, str]:
        return "Pushed", ""

    def progress(self) -> PaperProgress:
        return PaperProgress(2 + len(self.saved), 8, len(self.saved))
