"""The desk that the kept screens are taken from: one item with all kinds of evidence, and a queue in every state."""

from __future__ import annotations

from typing import Any

import msgspec

from kgrade.desk.item import GradeEntry, HistoryEntry, Item
from kgrade.harness.profiles.tools import NCU
from kgrade.records.evidence import Profiling
from kgrade.records.grade import About, Grade, Score, SheetRef, Times
from kgrade.records.profile import Authored, KernelProfile, Launch, Origin, Profile
from kgrade.records.slugs import ItemId
from kgrade.repository.index_rows import EvidenceRow, GradeRow, ItemRow
from kgrade.repository.order import Place, Places
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


def profiled(us: float, own: str, copies: int) -> Profile:
    """A profile of a softmax of 4096 rows: its own kernel of so many us, twice, and copies by the library."""
    mine = KernelProfile(
        name=f"void {own}<float, 128>(float const*, float*, int)",
        launches=2,
        total_us=2 * us,
        min_us=us - 0.4,
        max_us=us + 0.4,
        grid=(4096, 1, 1),
        block=(128, 1, 1),
        registers=40,
        shared_bytes=4096,
        dram_read_bytes=67_108_864.0,
        dram_write_bytes=67_108_864.0,
        flops=167_772_160.0,
        compute_percent=round(250 / us, 2),
        memory_percent=round(4007 / us, 2),
        dram_percent=round(4007 / us, 2),
        l1_percent=31.4,
        l2_percent=38.2,
        l1_hit_percent=0.0,
        l2_hit_percent=49.9,
        occupancy_percent=91.2,
        theoretical_occupancy_percent=100.0,
        limiter="registers",
        stalls={"long scoreboard": 7.41, "barrier": 1.83, "wait": 0.66, "selected": 1.0},
        authored=Authored(name=own, path="solution/kernel.py", line=12),
    )
    copy = KernelProfile(
        name="void at::native::vectorized_elementwise_kernel<4, at::native::copy>(int)",
        launches=copies,
        total_us=9.5 * copies,
        min_us=9.1,
        max_us=9.9,
        grid=(2048, 1, 1),
        block=(128, 1, 1),
        registers=18,
        dram_read_bytes=16_777_216.0,
        dram_write_bytes=16_777_216.0,
        flops=4_194_304.0,
    )
    launches = [Launch(kernel=0, start_us=0.0, duration_us=us), Launch(kernel=0, start_us=us + 30, duration_us=us)]
    after = 2 * us + 45
    launches += [Launch(kernel=1, start_us=after + 14 * n, duration_us=9.5) for n in range(copies)]
    origin = Origin(
        file="ncu.csv", sha256="5d02" * 16, bytes=48_213, when="2026-11-03T10:00:00Z", options=["ncu", *NCU]
    )
    return Profile(
        source="ncu",
        version="2025.3.1",
        device="NVIDIA H100 80GB HBM3",
        capability="9.0",
        origin=origin,
        kernels=[mine, copy],
        launches=launches,
    )


def item(name: str) -> Item:
    if name == "s02":
        return profiled_item()
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


def profiled_item() -> Item:
    """An item with a profile of the start and of the submission."""
    found = profiled(45.6, "softmax_rows", 1)
    device = builders.evidence("sm_90", profile=Profiling(status="passed", profiles=[found]))
    before = Profiling(status="passed", profiles=[profiled(118.4, "softmax_rows", 3)])
    return builders.item(
        {"sm_90": device},
        id=ItemId("softmax-rows", "s02"),
        rubric=RUBRIC,
        solution={"kernel.py": builders.KERNEL},
        start_profiles={"sm_90": before},
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

    def rows(self) -> Places:
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
        return Places.of(
            [
                Place(row=_row("softmax-rows"), state="open"),
                Place(row=_row("softmax-rows/s01", check="failed"), state="draft"),
                Place(row=_row("softmax-rows/s02"), state="claimed", why="by bob until 14:05"),
                Place(row=_row("softmax-rows/s03"), state="skipped", why="needs a B200"),
                Place(row=_row("matmul-bias-gelu/s01", grades=(mine,)), state="graded"),
                Place(row=_row("matmul-bias-gelu/s02", grades=(later,), check="failed"), state="graded"),
                Place(row=_row("transpose-tiled/s01"), state="finished", why="graded by bob, eve"),
                Place(row=_row("scan", faults=(fault,)), state="faulty", why=fault),
            ]
        )

    def my_grades(self) -> list[tuple[ItemRow, GradeRow]]:
        mine = [(place.row, grade) for place in self.rows() for grade in place.row.grades]
        return sorted(mine, key=lambda one: one[1].saved, reverse=True)

    def standing(self, item: ItemId) -> tuple[str, str]:
        return "Pushed", ""

    def progress(self) -> PaperProgress:
        return PaperProgress(2 + len(self.saved), 8, len(self.saved))
