"""What is judged at each case, and how: good and wrong kernels in PyTorch, Triton and Pallas."""

from __future__ import annotations

import pytest

from kgrade.harness.run import Machine
from tests.harness.items import IN_PALLAS, IN_TRITON, REFERENCE, TASK, TIMED, gather, need, reasons

pytestmark = [pytest.mark.xdist_group("collect"), pytest.mark.usefixtures("shared_workers")]
ONE_CASE = [{"M": 3, "N": 37, "dtype": "float32"}]


@pytest.mark.parametrize("language", ["triton", "pallas"])
def test_good_kernels_pass_where_they_are_interpreted(machine: Machine, language: str) -> None:
    need(*(("torch", "triton") if language == "triton" else ("jax",)))
    evidence, _ = gather(machine, IN_TRITON if language == "triton" else IN_PALLAS, {"language": language})
    assert evidence.stages.check.status == "passed", reasons(evidence)
    assert evidence.stages.check.unseen
    assert language in evidence.environment.versions or "jax" in evidence.environment.versions


@pytest.mark.parametrize("language", ["triton", "pallas"])
def test_wrong_kernels_fail_with_the_worst_element(machine: Machine, language: str) -> None:
    need(*(("torch", "triton") if language == "triton" else ("jax",)))
    good = IN_TRITON if language == "triton" else IN_PALLAS
    wrong = good.replace("tl.sum(v, 0)", "(tl.sum(v, 0) + 9)").replace(
        "v.sum(-1, keepdims=True)", "(v.sum(-1) + 9)[:, None]"
    )
    assert wrong != good
    evidence, _ = gather(machine, wrong, {"language": language})
    check = evidence.stages.check
    assert check.status == "failed"
    assert check.reason == "2 of 2 cases failed, the first: M=3 N=37 float32 normal"
    assert check.cases[0].outputs[0].worst
    assert "compared elements are outside" in reasons(evidence)


def test_an_unmasked_tail_and_an_unwritten_output_are_seen(machine: Machine) -> None:
    need("torch", "triton")
    evidence, _ = gather(machine, IN_TRITON.replace(", mask=i < N, other=0.0", ""), {"language": "triton"})
    assert "out-of-bounds load: program (2, 0, 0), 27 of 64 lanes" in reasons(evidence)
    evidence, _ = gather(machine, IN_TRITON.replace("kernel[(x.shape[0],)]", "kernel[(2,)]"), {"language": "triton"})
    assert evidence.stages.check.status == "failed"
    assert "37 of 111 elements have NaN or Inf on one side only" in reasons(evidence)


@pytest.mark.parametrize(
    ("solution", "build", "reason"),
    [
        ("def scale(x):\n    import os\n    os._exit(0)\n", "passed", "exit status 0"),
        ("def scale(x):\n    while True: pass\n", "passed", "time limit: no answer to `call` within 1 s"),
        ("def scale(x):\n    return x[:, :5]\n", "passed", "shape [3, 5] where [3, 37] was expected"),
        ("def scale(x):\n    return (x / x.sum(-1, keepdims=True)).double()\n", "passed", "larger than expected"),
        (
            "def scale(x):\n    y = x / x.sum(-1, keepdims=True)\n    x.zero_()\n    return y\n",
            "passed",
            "inputs written: x",
        ),
        ("def scale(y):\n    return y\n", "passed", "TypeError: scale() got an unexpected keyword argument 'x'"),
        ("import nowhere\ndef scale(x):\n    return x\n", None, ""),
        ("def scale(x:\n", "failed", ""),
        ("def other(x):\n    return x\n", "failed", ""),
        ("raise SystemExit(0)\ndef scale(x):\n    return x\n", "failed", ""),
    ],
)
def test_each_failure_is_the_submissions_alone(machine: Machine, solution: str, build: str | None, reason: str) -> None:
    need("torch")
    evidence, _ = gather(machine, solution, {"limits": {"run_s": 1, "build_s": 60}, "cases": ONE_CASE})
    found = evidence.stages
    assert build is None or found.build.status == build, found.build.reason
    if build == "passed":
        assert found.check.status == "failed"
        assert reason in reasons(evidence)
    else:
        assert found.check.status == "not-run"
        assert (found.check.reason or "").startswith("it cannot be imported: ")


def test_a_broken_reference_is_the_tasks_fault(machine: Machine) -> None:
    need("torch")
    evidence, _ = gather(machine, REFERENCE, files={"reference.py": "def scale(x):\n    raise ValueError('no')\n"})
    check = evidence.stages.check
    assert check.status == "error"
    failure = check.cases[0].failure
    assert failure is not None
    assert (failure.fault, failure.line) == ("task", "ValueError: no")


def test_inputs_that_the_task_names_may_be_written(machine: Machine) -> None:
    need("torch")
    changes = {"inplace": ["x"], "outputs": {"x": {"shape": ["M", "N"], "dtype": "$dtype"}}}
    evidence, _ = gather(machine, "def scale(x):\n    x /= x.sum(-1, keepdims=True)\n", changes)
    assert evidence.stages.check.status == "passed", reasons(evidence)


def test_a_share_of_elements_may_be_out_where_the_task_allows_it(machine: Machine) -> None:
    need("torch")
    solution = "def scale(x):\n    y = x / x.sum(-1, keepdims=True)\n    y[0, 0] += 0.5\n    return y\n"
    assert gather(machine, solution)[0].stages.check.status == "failed"
    evidence, _ = gather(machine, solution, {"matched_ratio": 0.99, "error_cap": 1.0})
    assert evidence.stages.check.status == "passed", reasons(evidence)
    evidence, _ = gather(machine, solution, {"matched_ratio": 0.99, "error_cap": 0.1})
    assert evidence.stages.check.status == "failed"


def test_the_tasks_checker_has_the_last_word_on_values(machine: Machine) -> None:
    need("torch")
    checker = (
        "def check(inputs, outputs, reference):\n"
        "    ok = bool((abs(outputs['y'].sum(-1) - 1) < 1e-2).all())\n"
        "    return ok, f'rows sum to {outputs[\"y\"].sum(-1)[0]:.2f}'\n"
    )
    changes = {"checker": "check.py:check"}
    uniform = "def scale(x):\n    return x * 0 + 1 / x.shape[1]\n"
    evidence, _ = gather(machine, uniform, changes, {"check.py": checker})
    assert evidence.stages.check.status == "passed", reasons(evidence)
    evidence, _ = gather(machine, "def scale(x):\n    return x * 0\n", changes, {"check.py": checker})
    assert "checker: rows sum to 0.00" in reasons(evidence)
    evidence, _ = gather(machine, uniform, changes, {"check.py": "def check(*a):\n    return 1\n"})
    assert evidence.stages.check.status == "error"


@pytest.mark.parametrize("language", ["python", "pallas"])
def test_gradients_are_checked_against_float64(machine: Machine, language: str) -> None:
    need("torch" if language == "python" else "jax")
    # In bfloat16 the gradients of this reference cancel: the framework's own are off by more than the tolerance.
    changes = {"language": language, "backward": ["x"], "cases": ONE_CASE}
    evidence, _ = gather(machine, REFERENCE, changes)
    assert evidence.stages.check.status == "passed", reasons(evidence)
    assert [output.name for output in evidence.stages.check.cases[0].outputs] == ["y", "grad x"]
    if language == "python":
        detached = "def scale(x):\n    return x / x.sum(-1, keepdims=True).detach()\n"
        evidence, _ = gather(machine, detached, changes)
        assert evidence.stages.check.status == "failed"
        assert "grad x: " in reasons(evidence)


def test_gradients_are_part_of_a_review_and_stay_judged_beside_a_checker(machine: Machine) -> None:
    need("torch")
    changes = {"backward": ["x"], "cases": ONE_CASE}
    evidence, _ = gather(machine, None, changes)
    check = evidence.stages.check
    assert (check.status, check.controls[0].passes) == ("passed", []), reasons(evidence)
    assert [output.name for output in check.cases[0].outputs] == ["y", "grad x"]
    detached = "def scale(x):\n    return x / x.sum(-1, keepdims=True).detach()\n"
    lenient = "def check(inputs, outputs, reference):\n    return True, 'anything goes'\n"
    evidence, _ = gather(machine, detached, {**changes, "checker": "check.py:check"}, {"check.py": lenient})
    outputs = evidence.stages.check.cases[0].outputs
    assert [(output.name, output.status) for output in outputs] == [("y", "passed"), ("grad x", "failed")]
    assert reasons(evidence).startswith("grad x: ")


def test_layouts_reach_the_submission_and_cases_outside_the_contract_cannot_fail(machine: Machine) -> None:
    need("torch")
    layouts = ["contiguous", "transposed", "strided", "offset", "broadcast"]
    inputs = {"x": {**TASK["inputs"]["x"], "layouts": layouts}}
    solution = "def scale(x):\n    assert x.is_contiguous()\n    return x / x.sum(-1, keepdims=True)\n"
    evidence, _ = gather(machine, solution, {"inputs": inputs})
    failed = {case.case.layout for case in evidence.stages.check.cases if case.status == "failed"}
    assert failed == {"transposed", "strided", "broadcast"}
    evidence, _ = gather(machine, solution, {"inputs": inputs, "requires": ["M >= 100"]})
    assert evidence.stages.check.status == "passed"
    assert not any(case.required for case in evidence.stages.check.cases)


def test_a_task_review_examines_the_reference_and_the_tolerance(machine: Machine) -> None:
    need("torch")
    evidence, _ = gather(machine, None)
    assert evidence.stages.build.status == "not-run"
    assert evidence.stages.check.status == "passed"
    weak = {"float32": {"atol": 1.0, "rtol": 0}, "bfloat16": {"atol": 1.0, "rtol": 0}}
    evidence, _ = gather(machine, None, {"tolerance": weak})
    check = evidence.stages.check
    assert check.status == "flagged"
    assert [len(control.passes) for control in check.controls if control.name == "zeros"] == [2]


def test_timing_is_measured_from_outside_and_never_called_indicative(machine: Machine) -> None:
    need("torch")
    evidence, _ = gather(machine, REFERENCE, TIMED, stages=["time"])
    timing = evidence.stages.time
    assert (timing.status, timing.indicative) == ("passed", False), timing.notes
    assert "interpreter: not indicative" in timing.notes
    small, large = timing.cases
    assert small.candidate is not None
    assert small.candidate.n >= 5
    assert [speedup.baseline for speedup in small.speedups] == ["eager"]
    assert "defines no function 'missing'" in small.missing["broken"]
    assert small.flops == 2 * 256 * 1024
    assert large.candidate is None
    assert large.missing["candidate"].startswith("not run: too large for an interpreter")


def test_a_kernel_that_skips_its_work_when_timed_is_flagged(machine: Machine) -> None:
    need("torch")
    solution = (
        "calls = [0]\ndef scale(x):\n    calls[0] += 1\n"
        "    return x / x.sum(-1, keepdims=True) if calls[0] < 4 else x\n"
    )
    timing = gather(machine, solution, TIMED, stages=["check", "time"])[0].stages.time
    assert timing.status == "flagged"
    assert "the outputs of the timed calls are wrong: y: " in (timing.reason or "")


GENERATED = {
    "inputs": {
        "x": {"shape": ["M", "N"], "dtype": "$dtype", "generator": "inputs.py:rows"},
        "ends": {"shape": ["M"], "dtype": "int32", "generator": "inputs.py:ends"},
    }
}
GENERATORS = (
    "import numpy as np\ndef rows(shape, symbols, rng):\n    return rng.uniform(1, 2, shape) * symbols['M']\n"
    "def ends(shape, symbols, rng):\n    return np.sort(rng.integers(1, symbols['N'], shape))\n"
)
WITH_ENDS = "def scale(x, ends):\n    assert (ends[1:] >= ends[:-1]).all()\n    return x / x.sum(-1, keepdims=True)\n"


def test_inputs_may_come_from_the_tasks_own_generator(machine: Machine) -> None:
    need("torch")
    files = {"inputs.py": GENERATORS, "reference.py": WITH_ENDS}
    evidence, _ = gather(machine, WITH_ENDS, GENERATED, files)
    assert evidence.stages.check.status == "passed", reasons(evidence)
    spy = WITH_ENDS.replace("    return", "    assert 3 <= x.min() and x.max() <= 6.01\n    return")
    assert gather(machine, spy, GENERATED, files)[0].stages.check.status == "passed"
    short = {**files, "inputs.py": GENERATORS.replace("1, 2, shape", "1, 2, shape[1:]")}
    check = gather(machine, WITH_ENDS, GENERATED, short)[0].stages.check
    assert (check.status, check.reason) == ("not-run", "the generator of x made [37] where [3, 37] was expected")
    broken = {**files, "inputs.py": GENERATORS.replace("symbols['N']", "symbols['K']")}
    check = gather(machine, WITH_ENDS, GENERATED, broken)[0].stages.check
    assert check.reason == "task fault: its inputs cannot be made: KeyError: 'K'"


def test_what_is_prepared_before_a_call_is_given_to_it(machine: Machine) -> None:
    need("torch")
    solution = (
        "def plan(x):\n    return {'total': x.sum(-1, keepdims=True)}\ndef scale(x, total):\n    return x / total\n"
    )
    changes = {"prepare": "plan", **TIMED}
    stages = gather(machine, solution, changes, stages=["build", "check", "time"])[0].stages
    assert (stages.check.status, stages.time.status) == ("passed", "passed"), stages.check.cases
    timed = stages.time.cases[0]
    assert timed.candidate is not None
    assert timed.candidate.prepare_us is not None
    assert timed.candidate.prepare_us > 0
    assert all(baseline.prepare_us is None for baseline in timed.baselines.values())
    evidence, _ = gather(machine, solution.replace("{'total': x.sum(-1, keepdims=True)}", "3"), changes)
    assert "prepare returned" in reasons(evidence)
    evidence, _ = gather(machine, solution.replace("def plan", "def layout"), changes)
    assert (evidence.stages.build.status, evidence.stages.build.reason) == (
        "failed",
        "no function 'plan' in solution/kernel.py",
    )


DROPOUT = {
    "reference": "reference.py:scale",
    "stochastic": {"keep": 0.75},
    "cases": [{"M": 40, "N": 128, "dtype": ["float32", "bfloat16"]}],
}
DROPPED = "import torch\ndef scale(x):\n    return torch.nn.functional.dropout(x, 0.25)\n"


def test_random_outputs_are_judged_by_their_distribution(machine: Machine) -> None:
    need("torch")
    files = {"reference.py": DROPPED}
    seeded = DROPPED.replace("    return", "    torch.manual_seed(x.numel())\n    return")
    evidence, _ = gather(machine, seeded, DROPOUT, files)
    assert evidence.stages.check.status == "passed", reasons(evidence)
    evidence, _ = gather(machine, DROPPED.replace("0.25", "0.5"), DROPOUT, files)
    assert "kept in part 1 of 16" in reasons(evidence)
    review = gather(machine, None, DROPOUT, files)[0].stages.check
    assert review.status == "passed", review.reason
    assert {each.name for each in review.controls} == {"zeros", "mean", "input copy", "last block missing"}
    assert not any(each.passes for each in review.controls)


def test_a_reference_that_narrows_inside_is_named(machine: Machine) -> None:
    need("torch")
    narrow = "def scale(x):\n    x = x.float()\n    return x / x.sum(-1, keepdims=True)\n"
    evidence, _ = gather(machine, REFERENCE, {"cases": ONE_CASE}, {"reference.py": narrow})
    assert "errors of y under the rounding of float32: the reference narrows to it" in evidence.stages.check.unseen
    evidence, _ = gather(machine, REFERENCE, {"cases": ONE_CASE})
    assert not any("narrows" in text for text in evidence.stages.check.unseen)
