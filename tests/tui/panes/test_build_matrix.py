"""Where kernels fit, and what differs between builds of them."""

from kgrade.desk.sheet import Sheet
from kgrade.records.evidence import Build, Failure, KernelResources, Occupancy
from kgrade.tui.panes import build
from kgrade.tui.panes.build_matrix import differences, matrix
from tests.tui.panes.builders import evidence, item
from tests.tui.panes.shown import shown


def kernel(target, registers=64, *, block="128", failure=None, **more):
    return KernelResources(
        kernel="matmul(*fp16)",
        target=target,
        config={"BLOCK": block},
        registers=registers,
        occupancy=Occupancy(block_threads=128, active_warps=32, max_warps=64, limiter="registers"),
        failure=failure,
        **more,
    )


EMPTY = Sheet()
TOO_LARGE = Failure(kind="launch", line="does not fit on sm_80: 1 byte too many", fault="submission", advice="Less.")
SM_80 = [kernel("sm_80", spill_store_bytes=8), kernel("sm_80", block="256", failure=TOO_LARGE)]
SM_90 = [kernel("sm_90", 96, tensor={"HGMMA.64x128x16.F32": 4}, instructions={"tensor cores": 4}),
         kernel("sm_90", block="256")]  # fmt: skip


def text(rows):
    return "\n".join(row.text for row in rows)


def test_the_matrix_says_for_each_target_whether_a_kernel_fits():
    rows = [row.text.split("  ") for row in matrix({"sm_80": SM_80, "sm_90": SM_90, "cpu": []})]
    cells = [[cell.strip() for cell in row if cell.strip()] for row in rows]
    assert cells[1:4] == [
        ["kernel", "sm_80", "sm_90"],
        ["matmul(*fp16) BLOCK=128", "! 50 %", "✓ 50 %"],
        ["matmul(*fp16) BLOCK=256", "✗ launch", "✓ 50 %"],
    ]


def test_one_target_needs_no_matrix():
    assert matrix({"sm_90": SM_90}) == []


def test_differences_show_only_what_changed():
    (row,) = differences(SM_80, SM_90, "sm_80", "sm_90")
    assert row.text.startswith("sm_80 → sm_90: 2 of 2 kernels differ")
    inside = text(row.fold[number] for number in range(len(row.fold)))
    assert "64 → 96" in inside
    assert "8/0 B → none" in inside
    assert "none → HGMMA.64x128x16.F32" in inside
    assert "matmul on sm_80: does not fit on sm_80" in inside
    (same,) = differences(SM_90, SM_90, "a", "b")
    assert same.text == "a → b: 0 of 2 kernels differ"
    assert differences(SM_80, [], "a", "b") == []


def test_the_pane_compares_targets_and_the_start():
    found = {
        "sm_80": evidence("sm_80", build=Build(status="failed", reason="x", kernels=SM_80)),
        "sm_90": evidence("sm_90", build=Build(status="passed", kernels=SM_90)),
    }
    start = Build(status="passed", kernels=[kernel("sm_90", 40, block="64")])
    lines = shown(build.pane(item(found, start=start), EMPTY).lines)
    joined = "\n".join(lines)
    assert "where it fits" in joined
    assert "sm_90 → sm_80: 2 of 2 kernels differ" in joined
    assert "start on sm_90 → this solution: 1 of 1 kernel" in joined
