"""Small real-looking records: one row-wise softmax in Triton, its evidence on a CPU and on a device."""

from __future__ import annotations

import msgspec

from kgrade.desk.item import EvidenceFile, Item
from kgrade.records import codec
from kgrade.records.evidence import (
    Build,
    BuildTarget,
    Case,
    CaseCheck,
    CaseTiming,
    Check,
    Element,
    Environment,
    Evidence,
    Failure,
    Figures,
    Finding,
    Inputs,
    Integrity,
    KernelResources,
    Magnitude,
    Occupancy,
    OutputCheck,
    Samples,
    Speedup,
    Spread,
    Stages,
    Timing,
    ToleranceUsed,
    Tool,
)
from kgrade.records.grade import About, SheetRef
from kgrade.records.rubric import Criterion, Rubric
from kgrade.records.slugs import ItemId
from kgrade.records.submission import Submission
from kgrade.records.task import Task

TASK_YAML = b"""\
schema: kgrade/task@1
title: Row-wise softmax, online, any width
type: generation
language: triton
targets: [sm_90, cpu]
entry: softmax
reference: reference.py:softmax
inputs:
  x: {shape: [M, N], dtype: $dtype, layouts: [contiguous, transposed]}
requires: [M >= 1, N >= 1]
outputs:
  y: {shape: [M, N], dtype: $dtype}
cases:
  - {M: 48, N: 781, dtype: [float32, bfloat16], families: [normal, neg-inf]}
  - {M: 0, N: 64, dtype: float32}
benchmark:
  cases: [{M: 4096, N: 4096, dtype: float16}]
  baselines: {eager: "reference.py:softmax", three-pass: "baselines.py:three_pass"}
tolerance:
  float32: {atol: 1.0e-9, rtol: 2.0e-6, ulp: 8}
  bfloat16: {atol: 4.0e-6, rtol: 1.2e-2, ulp: 2}
work: {flops: 5*M*N, bytes: 2*M*N*itemsize}
forbidden: [torch.softmax, torch.compile]
rubric: generation
"""

PROMPT = """\
# Row-wise softmax

Write a Triton kernel with `y[i, j] = exp(x[i, j] - m_i)` divided by the sum over the row, which must be a single \
pass over the data.

- `-inf` is an ordinary input,
  no matter where it stands
- `N` need not be a power of two

| dtype | bound |
|---|---|
| f32 | 2e-6 |

```python
def softmax(x):
    return x  # one pass
```
"""

KERNEL = b"""\
import triton
import triton.language as tl


@triton.jit
def softmax_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * n + cols, mask=cols < n, other=-float("inf"))
    num = tl.exp(x)
    tl.store(y_ptr + row * n + cols, num / tl.sum(num), mask=cols < n)
"""

START = KERNEL.replace(b"num = tl.exp(x)", b"num = tl.exp(x - tl.max(x))").replace(b"import triton\n", b"", 1)
REFERENCE = b"import torch\n\n\ndef softmax(x):\n    return torch.softmax(x, -1)\n"

RUBRIC = Rubric(
    title="Generation",
    criteria=[Criterion(id="numerics", title="Numbers", weight=100, levels={n: f"level {n}" for n in range(5)})],
    verdicts=["accept", "revise"],
)


def task(**changes) -> Task:
    return msgspec.structs.replace(codec.decode(Task, TASK_YAML, "task.yaml"), **changes)


def item(evidence: dict[str, Evidence] | None = None, *, stale=(), logs=None, **changes) -> Item:
    files = {
        target: EvidenceFile(evidence=one, stale=target in stale, blob="b" * 40, logs=logs or {})
        for target, one in (evidence or {}).items()
    }
    fields = {
        "id": ItemId.parse("softmax-rows/s01"),
        "task": task(),
        "submission": Submission(author="someone", created="2026-11-03T09:30:00Z"),
        "rubric": RUBRIC,
        "rubric_ref": SheetRef(id="generation", sha256="4f0c" * 16),
        "about": About(task_tree="9c1e" * 10, solution_tree="77ab" * 10),
        "prompt": PROMPT,
        "files": {"prompt.md": PROMPT.encode(), "reference.py": REFERENCE, "start/kernel.py": START},
        "solution": {"kernel.py": KERNEL},
        "bases": {"start": {"kernel.py": START}, "reference": {"reference.py": REFERENCE}},
        "evidence": files,
        "grades": [],
        "previous": None,
        "notes_before": [],
        "suggestions": {},
        "faults": [],
    }
    return Item(**{**fields, **changes})


def evidence(target="cpu", **stages) -> Evidence:
    interpreted = target == "cpu"
    return Evidence(
        item="softmax-rows/s01",
        target=target,
        collected="2026-11-03T10:00:00Z",
        inputs=Inputs(task_tree="9c1e" * 10, solution_tree="77ab" * 10),
        tool=Tool(version="0.1"),
        environment=Environment(
            hardware="x86-64, 2 cores" if interpreted else "NVIDIA H100",
            versions={"torch": "2.13.0"},
            interpreter=interpreted,
            sandbox="bubblewrap",
            lacks=["cgroup memory limit"],
        ),
        stages=Stages(**stages),
    )


def spread(scale: float) -> Spread:
    return Spread(max=scale, p50=scale / 100, p99=scale / 10, p999=scale / 2)


def measured(ulp: float, mismatched: int = 0, **counts) -> Figures:
    return Figures(
        elements=37_488,
        mismatched=mismatched,
        absolute=spread(ulp * 1e-6),
        relative=spread(ulp * 1e-3),
        ulp=spread(ulp),
        histogram=[37_000, 400, 80, 0, 8],
        **counts,
    )


def case(dtype="bfloat16", family="normal", **symbols) -> Case:
    return Case(symbols=symbols or {"M": 48, "N": 781}, dtype=dtype, family=family)


def checked(about: Case, ulp=0.7, mismatched=0, **changes) -> CaseCheck:
    status = "failed" if mismatched else "passed"
    element = Element(index=[3, 17], got=0.0029296875, expected=0.0012345678, absolute=1.7e-3, relative=1.37, ulp=350)
    output = OutputCheck(
        name="y",
        shape=[48, 781],
        dtype=about.dtype,
        status=status,
        tolerance=ToleranceUsed(atol=4e-6, rtol=1.2e-2, ulp=2),
        magnitude=Magnitude(max_abs=0.021, mean_abs=1.28e-3),
        figures=measured(ulp, mismatched),
        framework=measured(0.5),
        first=[element] if mismatched else [],
        worst=[element],
    )
    fields = {"case": about, "status": status, "seed": 71, "seconds": 0.41, "outputs": [output], **changes}
    return CaseCheck(**fields)


def check(*cases: CaseCheck) -> Check:
    status = "failed" if any(one.status == "failed" and one.required for one in cases) else "passed"
    return Check(
        status=status, method="Triton interpreter", cases=list(cases), unseen=["races", "TF32 inside dot products"]
    )


def built(status="passed", **changes) -> Build:
    kernel = KernelResources(
        kernel="softmax_kernel",
        target="sm_90",
        registers=64,
        spill_store_bytes=16,
        spill_load_bytes=24,
        shared_bytes=49_152,
        occupancy=Occupancy(block_threads=256, active_warps=32, max_warps=64, limiter="registers"),
    )
    one = BuildTarget(
        target="sm_90", status="passed", seconds=12.3, command=["nvcc", "-arch=sm_90"], warnings=["unused"]
    )
    return Build(**{"status": status, "method": "nvcc 13.0", "targets": [one], "kernels": [kernel], **changes})


def broken() -> Build:
    failure = Failure(
        kind="compile",
        line='kernel.cu(41): error: identifier "blokDim" is undefined',
        fault="submission",
        advice="The name is not declared; see the line above.",
    )
    one = BuildTarget(target="sm_90", status="failed", seconds=0.8, failure=failure, reason="compile error")
    return built("failed", targets=[one], kernels=[], log="build.log")


def samples(median=12.3, n=40, interval=(12.1, 12.6)) -> Samples:
    values = [median + (step % 7) * 0.05 for step in range(n)]
    return Samples(
        samples_us=values, n=n, median_us=median, mad_us=0.05, iqr_us=0.1, min_us=median, interval_us=interval
    )


def timed(ratio=1.31, interval=(1.28, 1.34), indicative=True, **changes) -> Timing:
    one = CaseTiming(
        case=Case(symbols={"M": 4096, "N": 4096}, dtype="float16"),
        candidate=samples(),
        baselines={"eager": samples(16.1, interval=(15.9, 16.4))},
        speedups=[Speedup(baseline="eager", ratio=ratio, interval=interval)],
        missing={"three-pass": "out of memory"},
        flops=8.4e7,
        bytes=6.7e7,
    )
    fields = {"status": "passed", "method": "device events", "indicative": indicative, "cases": [one], **changes}
    return Timing(**fields)


def sizes() -> list[CaseTiming]:
    """The case of `timed` at three sizes, each 16 times the one before."""
    return [
        msgspec.structs.replace(
            timed().cases[0],
            case=Case(symbols={"M": 4096, "N": columns}, dtype="float16"),
            candidate=samples(12.3 * factor + 3, interval=(12.2 * factor + 3, 12.5 * factor + 3)),
            baselines={"eager": samples(16.1 * factor + 2, interval=(15.9 * factor + 2, 16.4 * factor + 2))},
            missing={},
            flops=5.0 * 4096 * columns,
            bytes=4.0 * 4096 * columns,
        )
        for columns, factor in ((16, 1 / 16), (256, 1.0), (4096, 16.0))
    ]


def finding(**changes) -> Finding:
    fields = {
        "rule": "S5",
        "name": "truncated-maths",
        "severity": "suspect",
        "path": "solution/kernel.py",
        "line": 10,
        "snippet": "num = tl.exp(x)",
        "why": "The maximum of the row is not subtracted before the exponential.",
        "settles": "large inputs against float64",
    }
    return Finding(**{**fields, **changes})


def integrity(*findings: Finding) -> Integrity:
    return Integrity(status="flagged" if findings else "passed", findings=list(findings))
