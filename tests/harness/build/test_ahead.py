"""From a submission to the figures of its kernels, on targets whose device is not here."""

from __future__ import annotations

import importlib.util
import threading

import pytest
import yaml

from kgrade.harness.collect import collect
from kgrade.harness.run import ItemSource, Machine
from kgrade.records import codec
from kgrade.records.evidence import Build, Evidence
from kgrade.records.task import Task
from tests.harness.items import IN_PALLAS, IN_TRITON, REFERENCE, TASK

pytestmark = pytest.mark.xdist_group("triton-capture")
ROW_BY_ROW = "pl.BlockSpec((1, 37), lambda i: (i, 0))"
NOT_A_TILE = IN_PALLAS.replace(
    "jax.ShapeDtypeStruct(x.shape, x.dtype))(x)",
    f"jax.ShapeDtypeStruct(x.shape, x.dtype), grid=(3,), in_specs=[{ROW_BY_ROW}], out_specs={ROW_BY_ROW})(x)",
)


def needs(package: str) -> None:
    if importlib.util.find_spec(package) is None:
        pytest.skip(f"{package} is not installed")


def built(language: str, target: str, solution: str | None, start: str = "") -> Build:
    """Collect the build of a submission, or of the task itself, for a target."""
    task = codec.decode(
        Task, yaml.safe_dump({**TASK, "language": language, "targets": [target, "cpu"]}).encode(), "task.yaml"
    )
    files = {"reference.py": REFERENCE.encode(), **({"start/kernel.py": start.encode()} if start else {})}
    source = ItemSource(
        item="scale/s01",
        task=task,
        task_tree="1" * 40,
        task_files=files,
        solution_tree="2" * 40 if solution else None,
        solution={"kernel.py": solution.encode()} if solution else None,
    )
    of = target if solution else "cpu"
    evidence, logs = collect(source, of, ["build"], lambda step: None, threading.Event(), Machine.here())
    assert codec.decode(Evidence, codec.encode_json(evidence), "evidence.json") == evidence
    build = evidence.stages.build
    assert build.log is None or build.log in logs
    return build


def test_a_triton_submission_is_compiled_for_a_gpu_that_is_not_here():
    needs("triton")
    build = built("triton", "sm_90", IN_TRITON)
    assert build.status == "passed"
    assert {kernel.kernel for kernel in build.kernels} == {"kernel(*fp32, *fp32)", "kernel(*bf16, *bf16)"}
    for kernel in build.kernels:
        assert kernel.config["BLOCK"] == "64"
        assert kernel.grid == [3, 1, 1]
        assert 8 <= kernel.registers <= 64
        assert kernel.occupancy.block_threads == 128
        assert kernel.instructions["special functions"] >= 1
        assert not kernel.tensor


@pytest.mark.long
def test_an_entry_that_launches_nothing_is_flagged():
    needs("triton")
    build = built("triton", "gfx942", REFERENCE)
    assert (build.status, build.reason) == ("flagged", "the entry launches no Triton kernel")


@pytest.mark.long
def test_a_kernel_that_does_not_compile_fails_with_the_compilers_words():
    needs("triton")
    build = built("triton", "gfx942", IN_TRITON.replace("tl.sum(v, 0)", "tl.no_such_thing(v)"))
    assert build.status == "failed"
    assert "no_such_thing" in build.kernels[0].failure.line
    assert build.targets[0].failure.fault == "submission"


@pytest.mark.long
def test_the_start_of_a_task_is_built_with_the_task():
    needs("triton")
    build = built("triton", "gfx942", None, start=IN_TRITON)
    assert build.status == "passed"
    assert {kernel.target for kernel in build.kernels} == {"gfx942"}
    assert all(kernel.scalar_registers and kernel.code_bytes for kernel in build.kernels)


@pytest.mark.parametrize(
    ("target", "solution", "status"),
    [
        pytest.param("tpu", IN_PALLAS, "passed", id="fits"),
        pytest.param("tpu", NOT_A_TILE, "failed", id="blocks-of-one-row"),
        pytest.param("tpu", REFERENCE, "flagged", marks=pytest.mark.long, id="no-kernel"),
    ],
)
def test_a_pallas_submission_is_lowered_for_a_tpu_that_is_not_here(target, solution, status):
    needs("jax")
    build = built("pallas", target, solution)
    assert build.status == status
    if status == "passed":
        assert {kernel.kernel for kernel in build.kernels} == {"kernel"}
        assert {kernel.shared_bytes for kernel in build.kernels} == {2 * 2 * 3 * 37 * 4, 2 * 2 * 3 * 37 * 2}
    if status == "failed":
        assert "it does not lower" in build.reason
        assert build.targets[0].failure.fault == "submission"


TOO_MUCH = IN_PALLAS.replace("from jax.experimental import pallas as pl", "from jax.experimental import pallas as pl\n"
    "from jax.experimental.pallas import tpu as pltpu").replace("def kernel(x, y):", "def kernel(x, y, room):\n"
    "    room[...] = jnp.zeros_like(room)").replace("jax.ShapeDtypeStruct(x.shape, x.dtype))(x)",
    "jax.ShapeDtypeStruct(x.shape, x.dtype), scratch_shapes=[pltpu.VMEM((65536, 1024), jnp.float32)])(x)")  # fmt: skip


def test_a_pallas_submission_that_lowers_and_does_not_fit_fails_where_libtpu_is():
    needs("jax")
    needs("libtpu")
    build = built("pallas", "tpu", TOO_MUCH)
    assert build.status == "failed"
    assert "it does not compile" in build.reason
    failure = build.targets[0].failure
    assert (failure.kind, failure.fault) == ("memory", "submission"), failure


def test_a_pallas_submission_is_compiled_in_full_where_libtpu_is():
    needs("jax")
    needs("libtpu")
    build = built("pallas", "tpu", IN_PALLAS)
    assert build.status == "passed", build.reason
    assert "compiled in full for TPU" in (build.method or "")
    assert not [fact for fact in build.facts if fact.startswith("not compiled in full")]
