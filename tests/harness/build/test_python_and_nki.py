"""Python kernels by what their import has shown, NKI by its source."""

import traceback

import pytest

from kgrade.harness.build import Imported, build


def traceback_of(source):
    try:
        exec(compile(source, "solution/kernel.py", "exec"), {})
    except Exception:  # noqa: BLE001 (whatever the source raises is wanted)
        return traceback.format_exc()
    raise AssertionError("the source raises nothing")


@pytest.fixture
def imported(tmp_path, run, task_of):
    def make(result, language="triton", targets=("sm_90", "cpu")):
        return build(tmp_path, task_of(language), list(targets), tmp_path, run, imported=result)

    return make


def test_an_import_that_works_passes_for_every_target(imported):
    log = (
        "x.py:3: UserWarning: slow path\n  warnings.warn('UserWarning: not this line')\nx.py:3: UserWarning: slow path"
    )
    result = imported(Imported(None, log=log, seconds=1.5))
    assert (result.status, [target.target for target in result.targets]) == ("passed", ["sm_90", "cpu"])
    assert result.targets[0].warnings == ["x.py:3: UserWarning: slow path"]
    assert result.targets[0].seconds == 1.5
    assert "import" in result.method


@pytest.mark.parametrize(
    ("source", "status", "kind", "words"),
    [
        ("def f(:\n  pass", "failed", "compile", "SyntaxError"),
        ("import no_such_module_at_all", "error", "environment", "No module named 'no_such_module_at_all'"),
        ("from os import nothing_like_it", "failed", "link", "cannot import name"),
        ("1 / 0", "failed", "compile", "ZeroDivisionError"),
    ],
)
def test_an_import_that_raises_is_classified(imported, source, status, kind, words):
    result = imported(Imported(traceback_of(source)))
    failure = result.targets[0].failure
    assert (result.status, failure.kind) == (status, kind)
    assert words in failure.line
    assert result.reason == failure.line


def test_a_worker_that_was_stopped_is_a_timeout(imported):
    result = imported(Imported("the worker ended", stopped_by="time: 120 s are over"))
    assert (result.status, result.targets[0].failure.kind) == ("failed", "timeout")


@pytest.mark.parametrize(("language", "words"), [("pallas", "not imported"), ("hip", "hipcc")])
def test_what_was_not_tried_is_not_run(imported, language, words):
    result = imported(None, language)
    assert result.status == "not-run"
    assert words in result.reason


NKI = """
import neuronxcc.nki as nki
import neuronxcc.nki.language as nl
from neuronxcc.nki import isa as nisa
P = 128

@nki.jit
def add(a, b):
    out = nl.ndarray(a.shape, dtype=a.dtype, buffer=nl.shared_hbm)
    for i in nl.affine_range(4):
        x = nl.load(a[i])
        y = nl.load(b[i])
        z = nisa.tensor_tensor(x, y, op=nl.add)
        nl.store(out[i], z)
    scratch = nl.zeros((P, 512), dtype=nl.float32, buffer=nl.sbuf)
    big = nl.ndarray((4096, 4), dtype=nl.float32, buffer=nl.hbm)
    return out
"""


@pytest.fixture
def read(tmp_path, run, task_of):
    def make(source, entry="add"):
        (tmp_path / "kernel.py").write_text(source)
        return build(tmp_path, task_of("nki", entry=entry), ["trn2"], tmp_path, run)

    return make


def test_nki_source_is_read_and_said_to_be_not_compiled(read):
    result = read(NKI)
    assert result.status == "not-run"
    assert "neuronx-cc is not installed" in result.reason
    assert result.method == "static: source only, not compiled"
    assert [(target.target, target.status) for target in result.targets] == [("trn2", "not-run")]
    assert any(
        "kernel add calls " in fact and "load x2" in fact and "tensor_tensor x1" in fact for fact in result.facts
    )
    assert any("loops by affine_range x1" in fact for fact in result.facts)
    assert not any("partitions" in fact or "stores nothing" in fact for fact in result.facts)


@pytest.mark.parametrize(
    "line",
    [
        "    t = nl.zeros((256, 4), dtype=nl.float32, buffer=nl.sbuf)",
        "    t = nl.ndarray(shape=(nl.par_dim(256), 4), dtype=nl.float32)",
        "    t = nl.ndarray((WIDE, 4), dtype=nl.float32)",
    ],
)
def test_a_partition_dimension_past_128_is_flagged(read, line):
    source = NKI.replace("P = 128", "P = 128\nWIDE = 256").replace("    return out", f"{line}\n    return out")
    result = read(source)
    assert result.status == "flagged"
    assert "256 partitions" in result.reason
    assert result.reason in result.facts
    assert "kernel.py:18" in result.reason


def test_a_kernel_that_stores_nothing_is_a_fact(read):
    result = read(NKI.replace("        nl.store(out[i], z)\n", ""))
    assert any("stores nothing" in fact for fact in result.facts)


def test_nki_source_that_does_not_parse_fails(read):
    result = read("def add(:\n")
    assert (result.status, result.targets[0].failure.kind) == ("failed", "compile")
    assert "kernel.py" in result.reason


def test_a_missing_entry_fails(read):
    result = read(NKI, entry="multiply")
    assert (result.status, result.reason) == ("failed", "no function multiply is defined in the solution")
    assert result.targets[0].status == "failed"


def test_source_with_a_null_byte_fails(read):
    assert read("x = 1\0\n").status == "failed"
