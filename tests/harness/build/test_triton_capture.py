"""Host programs of many shapes: what each launches is recorded with no device, or there is a reason with a name."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kgrade.harness.arguments import Argument
from kgrade.harness.build.launches import Assembling, Launched, Lowered
from kgrade.harness.build.sass import operands
from kgrade.harness.build.targets import architecture
from kgrade.harness.build.toolkit import find_assembler, find_disassembler
from kgrade.harness.run import Machine
from kgrade.harness.watchdog import Limits
from kgrade.harness.workers import Lost, Worker

pytestmark = pytest.mark.xdist_group("triton-capture")
PROGRAMS = Path(__file__).parent / "host_programs"
X = np.broadcast_to(np.zeros((), np.float32), (64, 96))

# Program: the kernels it launches, and how many distinct kinds of launches there are, configs to tune included.
RECORDED = {
    "plain": (["scale"], 1),
    "callable_grid": (["scale"], 1),
    "autotune": (["scale"], 4),
    "heuristics": (["row_sum"], 1),
    "pruned": (["add_up"], 3),
    "module": (["affine"], 1),
    "import_queries": (["stride_over"], 1),
    "warmup": (["scale"], 1),
    "host_descriptors": (["copy"], 1),
    "kernel_descriptors": (["copy"], 1),
    "inline_asm": (["fast_sine"], 1),
    "backward": (["square", "square_backward"], 2),
    "two_kernels": (["finish", "partial_sums"], 2),
    "streams": (["scale"], 1),
    "product": (["product"], 1),
    "functions": (["apply"], 2),
    "persistent": (["persistent"], 1),
    "run_directly": (["combine"], 1),
    "gluon_layouts": (["copy"], 1),
    "too_large": (["gram"], 2),
}
# Program: the kernels recorded before it stops, and what is said of where it stops.
STOPPED = {
    "data_dependent": ([], "DynamicOutputShapeException"),
    "reads_back": (["count_positive"], "DataDependentOutputException"),
    "cuda_graph": ([], "RuntimeError"),
}
# What AMD's compiler does not take.
NOT_FOR_AMD = {"inline_asm"}


@pytest.fixture(scope="module")
def machine() -> Machine:
    if importlib.util.find_spec("torch") is None or importlib.util.find_spec("triton") is None:
        pytest.skip("PyTorch or Triton is not installed")
    return Machine.here()


def serving(machine: Machine, target: str) -> Worker:
    arch = architecture(target)
    assert arch is not None
    worker = Worker(machine.wall, machine.interpreter, PROGRAMS, "torch", None, Limits(), device=arch.facts)
    worker.start()
    return worker


@pytest.fixture(scope="module")
def hopper(machine: Machine) -> Iterator[Worker]:
    worker = serving(machine, "sm_90")
    yield worker
    worker.finish()


def recorded(worker: Worker, program: str, *, fake: bool = True) -> tuple[list[dict[str, Any]], dict[str, str] | None]:
    """Run a program; return its launches and what stopped it."""
    worker.load({program: (f"{program}.py", "entry")}, 60)
    x = Argument("x", X if fake else np.linspace(-1, 1, X.size, dtype=np.float32).reshape(X.shape))
    answer = worker.capture(program, [x], 60, fake=fake, gradients=["x"] if program == "backward" else [])
    launches: list[dict[str, Any]] = []
    while True:
        more = worker.captured(len(launches), 60)["launches"]
        if not more:
            break
        launches += more
    return [each for each in launches if each["place"].split(":")[0] == f"{program}.py"], answer["stopped"]


@pytest.mark.parametrize("program", sorted(RECORDED))
def test_launches_are_recorded(hopper, program):
    launches, stopped = recorded(hopper, program)
    kernels, kinds = RECORDED[program]
    assert stopped is None
    assert sorted({each["kernel"] for each in launches}) == kernels
    assert len(launches) == kinds
    assert all(len(each["grid"]) == 3 and min(each["grid"]) >= 1 for each in launches)


def test_constants_grids_and_what_is_only_tried_are_told_apart(hopper):
    launches, _ = recorded(hopper, "autotune")
    assert [(each["constants"]["BLOCK"], each["constants"]["num_warps"], each["grid"][0]) for each in launches] == [
        ("128", "1", 48), ("256", "2", 24), ("512", "4", 12), ("1024", "8", 6),
    ]  # fmt: skip
    assert [each["tuned"] for each in launches] == [False, True, True, True]
    assert [each["types"] for each in launches] == [["*fp32", "*fp32"]] * 4


def test_configs_that_the_submission_drops_are_counted(hopper):
    worker_said = hopper.capture("pruned", [Argument("x", X)], 60, fake=True)
    assert "add_up: its own pruning keeps 3 of 5 configs" in worker_said["pruned"]


def test_import_sees_the_device_that_is_asked_for(hopper):
    (launch,), _ = recorded(hopper, "import_queries")
    assert launch["grid"] == [132, 1, 1]
    assert launch["constants"]["BLOCK"] == "1024"


@pytest.mark.parametrize("program", sorted(STOPPED))
def test_what_cannot_be_recorded_has_a_reason(hopper, program):
    launches, stopped = recorded(hopper, program)
    kernels, words = STOPPED[program]
    assert sorted({each["kernel"] for each in launches}) == kernels
    assert words in stopped["type"]
    assert stopped["place"]
    assert f"{program}.py" in stopped["traceback"]


def test_with_data_host_code_may_ask_for_the_values_of_inputs(hopper):
    launches, stopped = recorded(hopper, "data_dependent", fake=False)
    assert stopped is None
    assert [(each["kernel"], each["grid"]) for each in launches] == [("scale", [12, 1, 1])]


def test_with_data_a_kernels_own_results_are_still_not_there(hopper):
    launches, stopped = recorded(hopper, "reads_back", fake=False)
    assert [each["kernel"] for each in launches] == ["count_positive"]
    assert stopped["message"] == "more positive elements than elements"


def figures(machine: Machine, worker: Worker, target: str, launch: dict[str, Any], out: Path, run: Any) -> Any:
    """Lower and assemble one launch."""
    arch = architecture(target)
    assert arch is not None
    (out / "compiled").mkdir(exist_ok=True, parents=True)
    path = machine.interpreter.path
    blackwell = arch.vendor == "cuda" and arch.capability >= (10, 0)
    tools = find_assembler(path, blackwell=blackwell), find_disassembler(path)
    launched = Launched(launch["number"], launch["kernel"], launch["constants"], tuple(launch["grid"]))
    text, said = worker.lower(launch["number"], 120)
    return Assembling(arch, out, run, *tools).resources(Lowered(launched, text, said["figures"], said["options"]))


def test_a_product_is_done_by_the_matrix_units_in_its_own_dtype(hopper, machine, tmp_path, run):
    (launch,), _ = recorded(hopper, "product")
    found = figures(machine, hopper, "sm_90", launch, tmp_path, run)
    assert found.failure is None
    assert {operands(name) for name in found.tensor} == {"bfloat16"}
    assert all(name.startswith("HGMMA.") for name in found.tensor)
    assert sum(found.tensor.values()) == found.instructions["tensor cores"]
    assert found.occupancy.block_threads == 128
    assert 24 <= found.registers <= 255
    assert found.code_bytes >= 16 * sum(found.instructions.values())
    assert found.shared_bytes >= 2 * (64 * 32 + 32 * 64) * 2


def test_a_config_that_cannot_fit_is_named_with_what_it_needs(hopper, machine, tmp_path, run):
    launches, _ = recorded(hopper, "too_large")
    fits, misfit = (figures(machine, hopper, "sm_90", launch, tmp_path, run) for launch in launches)
    assert fits.failure is None
    assert misfit.failure.kind == "launch"
    assert "bytes a block of shared memory, 232,448 there" in misfit.failure.line


@pytest.mark.long
@pytest.mark.parametrize("target", ["sm_80", "sm_90", "sm_100", "sm_120", "gfx90a", "gfx942", "gfx950"])
def test_every_program_is_compiled_for_every_target(machine, tmp_path, run, target):
    worker = serving(machine, target)
    broken: dict[str, str] = {}
    for program in sorted(RECORDED):
        launches, stopped = recorded(worker, program)
        assert stopped is None, (program, stopped)
        for launch in launches:
            try:
                found = figures(machine, worker, target, launch, tmp_path / program, run)
            except Lost as lost:  # LLVM ends the process at a fatal error
                broken[program] = lost.text
                worker = worker if lost.alive else serving(machine, target)
                continue
            if program != "too_large":
                assert found.failure is None, (program, found.failure)
            assert found.registers > 0, program
            assert found.instructions.keys() & {"global memory", "bulk copies"}, program
            assert bool(found.tensor) == (program in ("product", "too_large")), program
    worker.finish()
    assert broken.keys() == (NOT_FOR_AMD if target.startswith("gfx") else set())
    assert all("error" in said.lower() for said in broken.values())
