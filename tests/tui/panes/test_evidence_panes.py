from pathlib import Path

import msgspec
import pytest
from rich.cells import cell_len

from kgrade.desk.sheet import Sheet
from kgrade.records import codec
from kgrade.records.evidence import Build, Ceilings, Check, Evidence, SeenFault, Stage, Timing, ToleranceUsed
from kgrade.records.grade import FindingAnswer, Probe, ProbeCase
from kgrade.tui.panes import build, findings, performance, profile, tests
from kgrade.tui.panes.logs import LogRows
from tests.tui.panes.builders import (
    broken,
    built,
    case,
    check,
    checked,
    evidence,
    finding,
    integrity,
    item,
    sizes,
    task,
    timed,
)  # fmt: skip
from tests.tui.panes.shown import shown, text

EMPTY = Sheet()
QUEUE = Path(__file__).parents[3] / "queue"
STAGE_PANES = [build, tests, performance, profile, findings]


@pytest.mark.parametrize("pane", STAGE_PANES)
def test_without_evidence_a_pane_says_what_is_missing_and_what_to_do(pane):
    said = text(pane.pane(item(), EMPTY).lines)
    assert "No evidence has been collected for sm_90 or cpu." in said
    assert "kgrade collect softmax-rows/s01" in said
    assert pane.glance(item()).text == "—"


@pytest.mark.parametrize("pane", STAGE_PANES)
def test_a_stage_that_was_not_asked_for_says_so_and_names_the_other_target(pane):
    said = text(pane.pane(item({"cpu": evidence()}), EMPTY).lines)
    assert "not run, because not collected yet" in said
    assert "No evidence has been collected for sm_90." in said


@pytest.mark.parametrize("pane", STAGE_PANES)
def test_stale_evidence_is_marked(pane):
    said = text(pane.pane(item({"cpu": evidence()}, stale=["cpu"]), EMPTY).lines)
    assert "! stale: these figures are about other bytes" in said


def test_a_reason_is_told_and_a_harness_fault_is_not_the_submissions():
    missing = item({"cpu": evidence(check=Check(status="not-run", reason="no device of this kind is here"))})
    assert "The check: not run, because no device of this kind is here" in text(tests.pane(missing, EMPTY).lines)
    assert "kgrade collect" not in text(tests.pane(missing, EMPTY).lines).split("sm_90")[0]
    failed = item({"cpu": evidence(build=Build(status="error", reason="nvcc vanished"))})
    assert "This is a fault of the harness or the machine" in text(build.pane(failed, EMPTY).lines)
    assert build.glance(failed).text == "!"


def test_the_glance_is_stale_only_where_the_stage_ran():
    aged = item({"cpu": evidence(check=check(checked(case())))}, stale=["cpu"])
    assert tests.glance(aged).text == "1/1✓~"
    assert build.glance(aged).text == "—"


def test_build_shows_resources_at_80_columns():
    lines = shown(build.pane(item({"sm_90": evidence("sm_90", build=built())}), EMPTY).lines)
    assert " sm_90         ✓ passed  12.3 s         1" in lines
    assert next(line for line in lines if "softmax_kernel" in line) == (
        " softmax_kernel  sm_90    64    ! 16/24 B  48 KiB  50 % (32/64), by registers  »"
    )
    assert any("spill to local memory" in line for line in lines)


def test_build_shows_a_failure_with_whose_fault_it_is_and_the_log_with_its_errors():
    log = b"cc1 ok\nkernel.cu(7): warning: unused\nkernel.cu(41): error: undefined\n"
    pane = build.pane(item({"sm_90": evidence("sm_90", build=broken())}, logs={"build.log": log}), EMPTY)
    lines = shown(pane.lines)
    assert "✗ compile (fault of the submission)" in "\n".join(lines)
    assert '   | kernel.cu(41): error: identifier "blokDim" is undefined' in lines
    assert "✗3 kernel.cu(41): error: undefined" in lines
    assert "!2 kernel.cu(7): warning: unused" in lines
    assert pane.glance.text == "✗"
    assert pane.lines[pane.lines.marks[-1]].text == "kernel.cu(41): error: undefined"


def test_a_log_that_is_named_and_not_there_is_said():
    assert "The log build.log is named by the evidence and is not beside it." in text(
        build.pane(item({"sm_90": evidence("sm_90", build=broken())}), EMPTY).lines
    )


def test_a_long_log_waits_behind_a_fold():
    log = b"line\n" * 100_000 + b"error: x\n"
    lines = build.pane(item({"sm_90": evidence("sm_90", build=broken())}, logs={"build.log": log}), EMPTY).lines
    assert "… 100,001 lines, 1 line with errors, o opens" in text(lines)


def checked_item():
    cases = [
        checked(case()),
        checked(case("float32", "large"), ulp=7.5, mismatched=3),
        checked(case(family="neg-inf"), ulp=350, mismatched=812),
        checked(case("float32", M=0, N=64), required=False, mismatched=1),
        checked(case(family="tiny"), ulp=1.5),
    ]
    return item({"cpu": evidence(check=check(*cases))})


def test_cases_stand_failed_first_and_worst_first_and_extra_apart():
    pane = tests.pane(checked_item(), EMPTY)
    lines = shown(pane.lines)
    rows = [line.split("  ")[0].strip() for line in lines if line.startswith(" M=")]
    assert rows == [
        "M=48 N=781 bf16 neg-inf", "M=48 N=781 f32 large", "M=48 N=781 bf16 tiny", "M=48 N=781 bf16", "M=0 N=64 f32",
    ]  # fmt: skip
    assert next(line for line in lines if "neg-inf" in line) == (
        " M=48 N=781 bf16 neg-inf  ✗ failed    812   3.5e-4    0.35  350    0.5 ulp  |go»"
    )
    assert " ✗ failed  2 of 4 required cases passed" in lines
    assert any("extra (outside the contract" in line for line in lines)
    assert [pane.lines[mark].text.split("  ")[0] for mark in pane.lines.marks] == [rows[0], rows[1], rows[4]]
    assert pane.glance.text == "2/4✗"


def test_at_160_columns_the_tolerance_stands_beside_the_size_of_the_reference():
    line = next(line for line in shown(tests.pane(checked_item(), EMPTY).lines, 160) if "neg-inf" in line)
    assert line.endswith("|got-ref| <= 4e-6 + 0.012*|ref|, or 2 ulp (2.1e-2)")


def test_a_case_opens_to_its_figures_elements_and_histogram():
    opened = shown(tests.pane(checked_item(), EMPTY).lines, folds=True)
    assert "     absolute               3.5e-6  3.5e-5  1.7e-4  3.5e-4         5.0e-7" in opened
    assert "     wrong        812 of 37,488 (2.2 %) outside the tolerance" in opened
    assert any("[3, 17]  0.0029296875  0.0012345678" in line for line in opened)
    assert any(line.endswith("█ 37,000") for line in opened)
    assert "     seed 71, took 410 ms" in opened


def test_what_the_method_cannot_see_and_how_it_was_done_are_told():
    said = text(tests.pane(checked_item(), EMPTY).lines)
    assert "a pass on cpu says nothing about these" in said
    assert " - races" in said
    assert "method       Triton interpreter" in said
    assert "not walled   cgroup memory limit" in said


def test_what_the_checks_of_an_emulation_saw_stands_under_the_cases():
    fault = SeenFault(
        kind="race", path="solution/k.cu", line=7, kernel="k", text="k.cu:7: race in k \x1b[2J", case="N=4097 uint8"
    )
    one = msgspec.structs.replace(check(checked(case())), status="flagged", reason="seen", seen=[fault])
    lines = shown(tests.pane(item({"cpu": evidence(check=one)}), EMPTY).lines)
    heading = next(number for number, line in enumerate(lines) if "seen by the checks of CPU emulation" in line)
    assert "1 fault" in lines[heading]
    assert lines[heading + 1].startswith(" - k.cu:7: race in k ")
    assert lines[heading + 1].endswith("(at N=4097 uint8)")
    assert "\x1b" not in lines[heading + 1]


def test_an_output_of_zeros_that_would_pass_is_cried_out():
    one = checked(case())
    loose = msgspec.structs.replace(one.outputs[0], tolerance=ToleranceUsed(atol=0.1, rtol=0.0))
    weak = checked(case(), outputs=[loose])
    assert "! an output of zeros would pass" in text(
        tests.pane(item({"cpu": evidence(check=check(weak))}), EMPTY).lines, folds=True
    )


def test_ones_own_cases_are_listed():
    probe = Probe(
        case=ProbeCase(symbols={"M": 1}, dtype="bfloat16", family="nan"), result="failed", summary="NaN spreads"
    )
    said = text(tests.pane(item(), Sheet(probes={"1": probe})).lines)
    assert "✗ failed  M=1 bf16 nan" in said
    assert "NaN spreads" in said


def test_performance_on_a_device_shows_intervals_and_what_is_missing():
    pane = performance.pane(item({"sm_90": evidence("sm_90", time=timed())}), EMPTY)
    lines = shown(pane.lines)
    assert " M=4096 N=4096 f16  eager       1.31x [1.28, 1.34] faster  12.3 ± 0.30 us" in lines
    assert "                    three-pass  ✗ missing: out of memory" in lines
    assert " ✗ three-pass is missing: out of memory" in lines
    assert any("in the order in which they were taken" in line for line in lines)
    assert "   — no data because only one size was timed" in lines
    assert pane.glance.text == "1.31x"


def test_baselines_without_a_candidate_are_no_speedup_and_the_reason_stands_once():
    one = msgspec.structs.replace(
        timed().cases[0], candidate=None, speedups=[], missing={"candidate": "no answer within 20 s"}
    )
    pane = performance.pane(item({"sm_90": evidence("sm_90", time=timed(cases=[one]))}), EMPTY)
    lines = shown(pane.lines)
    assert " M=4096 N=4096 f16  this     ✗ missing: no answer within 20 s  ✗ missing" in lines
    assert "                    eager    — no speedup: nothing to divide" in lines
    assert pane.glance.text == "missing"


def test_several_sizes_make_a_curve_and_points_on_the_roofline():
    lines = shown(performance.pane(item({"sm_90": evidence("sm_90", time=timed(cases=sizes()))}), EMPTY).lines)
    at = lines.index(" size against time  medians, both axes logarithmic")
    curve, roof = lines[at:][:14], lines[lines.index(" roofline  flop per byte against flop per second") :]
    assert "o candidate  x eager" in curve[13]
    assert sum(line.count("o") + line.count("@") for line in curve[1:11]) == 3
    assert "64 MiB" in curve[12]
    assert any("flop/B" in line for line in roof[:12])
    assert "no roof is drawn because the evidence holds no measured bandwidth" in " ".join(roof)
    assert all(len(line) <= 80 for line in lines)


def test_measured_ceilings_are_the_roof_and_say_where_they_come_from():
    ceilings = Ceilings(
        device="H\x1b[2J200",
        measured="2026-12-01T10:00:00Z",
        method="torch, device events",
        copy_bytes_per_s=4e12,
        flops_per_s={"float16": 8e14},
    )
    time = timed(cases=sizes(), ceilings=ceilings)
    lines = shown(performance.pane(item({"sm_90": evidence("sm_90", time=time)}), EMPTY).lines)
    roof = lines[lines.index(" roofline  flop per byte against flop per second") :]
    said = " ".join(" ".join(roof).split())
    assert "o candidate x roof float16" in said
    assert "% of the roof, which memory sets there" in said
    assert "2026-12-01T10:00:00Z: torch, device events" in said
    assert "no roof is drawn" not in said
    assert "\x1b" not in said
    assert all(cell_len(line) <= 80 for line in lines)


def test_stored_evidence_is_drawn_or_says_why_not():
    stored = [codec.decode(Evidence, path.read_bytes(), path.name) for path in sorted(QUEUE.rglob("evidence/cpu.json"))]
    timings = [one for one in stored if any(case.candidate for case in one.stages.time.cases)]
    assert timings
    for one in timings:
        lines = shown(performance.pane(item({"cpu": one}), EMPTY).lines)
        assert any("in the order in which they were taken" in line or "no data because" in line for line in lines)
        assert "   — no data because an interpreter ran the kernel: its times say nothing of a" in lines
        assert all(cell_len(line) <= 80 for line in lines)


def test_an_interval_that_holds_one_is_no_difference():
    pane = performance.pane(item({"sm_90": evidence("sm_90", time=timed(1.02, (0.97, 1.06)))}), EMPTY)
    assert "1.02x [0.970, 1.06] no difference" in text(pane.lines)
    assert pane.glance.text == "1.02x="


def test_an_interpreters_times_are_never_a_speedup():
    pane = performance.pane(item({"cpu": evidence(time=timed(indicative=False))}), EMPTY)
    said = text(pane.lines)
    assert said.index("not indicative: an interpreter ran the kernel") < said.index("1.31x")
    assert "faster" not in said
    assert "TFLOP/s" not in said
    assert pane.glance.text == "~"


def test_a_flagged_run_is_distrusted_first():
    flagged = timed(status="flagged", reason="the device was throttled")
    pane = performance.pane(item({"sm_90": evidence("sm_90", time=flagged)}), EMPTY)
    assert "! do not trust these times yet: the device was throttled" in text(pane.lines)
    assert pane.glance.text == "1.31x!"


def test_a_task_without_a_benchmark_says_so():
    pane = performance.pane(item(task=task(benchmark=None)), EMPTY)
    assert "The task has no benchmark" in text(pane.lines)


def test_what_a_submission_prepares_outside_the_clock_is_told():
    one = timed().cases[0]
    prepared = msgspec.structs.replace(one, candidate=msgspec.structs.replace(one.candidate, prepare_us=250.0))
    before, after = (
        text(performance.pane(item({"sm_90": evidence("sm_90", time=timed(cases=[each]))}), EMPTY).lines)
        for each in (one, prepared)
    )
    assert "prepares" not in before
    assert "candidate prepares each call for 250 us" in " ".join(after.split())


def test_timing_of_nothing_does_not_invent_a_row():
    nothing = item({"sm_90": evidence("sm_90", time=Timing(status="passed"))})
    assert "No case was timed." in text(performance.pane(nothing, EMPTY).lines)


def test_profile_shows_what_was_seen_and_why_the_rest_was_not():
    seen = Stage(status="flagged", reason="one race", facts=["write after read at kernel.cu:41"])
    pane = profile.pane(item({"cpu": evidence(sanitize=seen)}), EMPTY)
    said = text(pane.lines)
    assert "! flagged  one race" in said
    assert "- write after read at kernel.cu:41" in said
    assert "A profile: not run, because not collected yet" in said
    assert pane.glance.text == "!"


def test_a_finding_shows_proof_question_result_and_disposition():
    settled = integrity(finding(result="error grows 40x at large inputs"), finding(severity="tell", line=3))
    unsettled = integrity(finding())
    judged = item({"cpu": evidence(integrity=settled), "sm_90": evidence("sm_90", integrity=unsettled)})
    answer = FindingAnswer(disposition="false-alarm", comment="inputs are bounded")
    pane = findings.pane(judged, Sheet(findings={finding().key: answer}))
    said = text(pane.lines)
    assert said.index("solution/kernel.py:3") < said.index("solution/kernel.py:10")
    assert "10 | num = tl.exp(x)" in said
    assert "result   cpu: error grows 40x at large inputs" in said
    assert "result   sm_90: not run, so a person must judge" in said
    assert "you      false alarm: inputs are bounded" in said
    assert len(pane.lines.marks) == 2
    assert pane.glance.text == "2!"


def test_an_examination_without_findings_says_what_that_means():
    pane = findings.pane(item({"cpu": evidence(integrity=integrity())}), EMPTY)
    assert "no finding: none of the signs" in text(pane.lines)
    assert pane.glance.text == "✓"


def test_a_log_that_did_not_come_whole_says_so_at_its_end():
    class Broken:
        block = 1 << 14
        size = 1000
        newlines = (0, 2)
        fault = "only 8 of 1000 bytes could be read; see: git fsck, and df"

        def __len__(self) -> int:
            return 8

        def read(self, start: int, stop: int) -> bytes:
            return b"one\ntwo\n"[start:stop]

    rows = LogRows(Broken())
    assert [rows[number].text for number in range(len(rows))] == [
        "one",
        "two",
        "the log ends here too early: only 8 of 1000 bytes could be read; see: git fsck, and df",
    ]
    assert rows[2].sign == "!"
