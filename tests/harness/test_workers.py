"""Workers that die, hang, lie and forge: each ends in a `Lost` of its own kind, and nothing else is harmed."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from kgrade.harness import sandbox
from kgrade.harness.arguments import Argument
from kgrade.harness.losses import failure
from kgrade.harness.run import Machine
from kgrade.harness.standby import REPLACEMENTS, Standby
from kgrade.harness.watchdog import Limits
from kgrade.harness.workers import Lost, Worker

X = np.arange(12, dtype=np.float32).reshape(3, 4)
SOLUTION = """
import os, sys, time
import numpy as np

def double(x):
    return 2 * x

def leave(x):
    os._exit(0)

def raise_exit(x):
    raise SystemExit(0)

def crash(x):
    import ctypes
    ctypes.string_at(0)

def sleep(x):
    time.sleep(60)

def hoard(x):
    kept = bytearray(600 << 20)
    time.sleep(20)

def write_inputs(x):
    x += 1
    return 2 * (x - 1)

def shape(x):
    return x[:2]

def nothing(x):
    return None

def larger(x):
    return np.zeros((1000, 1000))

def words(x):
    return np.array(["a"], dtype=object)

def fail(x):
    raise ValueError("bad \\ud800 block\\nsecond line")

def forge_packet(x):
    for descriptor in range(3, 4096):
        try:
            os.write(descriptor, b'{"nonce": "00000000000000000000000000000000", "number": 3, "outputs": []}')
        except OSError:
            pass
    time.sleep(60)

def answer_with(details):
    def kernel(x):
        from worker.wire import Line
        honest = Line.answer
        Line.answer = lambda self, request, **ignored: honest(self, request, **details)
        return 2 * x
    return kernel

OUT = {"name": "y", "dtype": "float32", "shape": [3, 4], "written": True}
lie_nothing = answer_with({})
lie_list = answer_with({"outputs": [1, 2]})
lie_shape = answer_with({"outputs": [dict(OUT, shape=[3, -4])]})
lie_infinite = answer_with({"outputs": [dict(OUT, shape=[float("inf")])]})
lie_huge = answer_with({"outputs": [dict(OUT, shape=[10**30])]})
lie_dtype = answer_with({"outputs": [dict(OUT, dtype="object")]})
lie_parsed = answer_with({"outputs": [dict(OUT, dtype="(1,f4")]})
lie_words = answer_with({"outputs": [dict(OUT, shape=["3", "4"])]})
lie_deep = answer_with({"outputs": [dict(OUT, shape=[1] * 5000)]})
lie_many = answer_with({"outputs": [OUT, OUT]})
lie_touched = answer_with({"outputs": [OUT], "touched": 7, "seconds": float("nan")})
lie_failed = answer_with({"failed": {"type": ["x"], "message": 5, "traceback": None}})
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("item")
    made.chmod(0o755)
    (made / "kernel.py").write_text(textwrap.dedent(SOLUTION))
    return made


@pytest.fixture
def recipe(machine: Machine, folder: Path) -> Worker:
    limits = Limits(memory_bytes=400 << 20)
    return Worker(machine.wall, machine.interpreter, folder, "numpy", None, limits)


@pytest.fixture
def started(recipe: Worker) -> Iterator[Worker]:
    recipe.start()
    yield recipe
    recipe.finish()


def call(worker: Worker, name: str, within_s: float = 20.0) -> np.ndarray:
    worker.load({name: ("kernel.py", name)}, 20)
    return worker.call(name, [Argument("x", X)], {"y": X.nbytes}, within_s).arrays["y"]


def test_arrays_cross_unchanged_and_inputs_that_were_written_are_named(started: Worker) -> None:
    assert np.array_equal(call(started, "double"), 2 * X)
    started.load({"w": ("kernel.py", "write_inputs")}, 20)
    returned = started.call("w", [Argument("x", X)], {"y": X.nbytes}, 20)
    assert returned.touched == ["x"]
    assert call(started, "shape").shape == (2, 4)


@pytest.mark.parametrize(
    ("name", "kind", "reason"),
    [
        ("leave", "exited", "ended before it answered `call`: exit status 0"),
        ("crash", "exited", "ended before it answered `call`: signal SIGSEGV"),
        ("sleep", "timeout", "time limit: no answer to `call` within 1 s"),
        ("hoard", "memory", "memory limit: "),
        ("forge_packet", "protocol", "forged answer to `call`: it does not carry this run's nonce"),
        ("raise_exit", "exception", "SystemExit: 0"),
        ("fail", "exception", "ValueError: bad ? block"),
        ("nothing", "exception", "the call returned None; expected y"),
        ("words", "exception", "an output must be an array"),
        ("larger", "form", "larger than expected"),
        ("lie_nothing", "form", "does not describe every output once"),
        ("lie_list", "form", "does not describe every output once"),
        ("lie_many", "form", "does not describe every output once"),
        ("lie_shape", "form", "no whole number"),
        ("lie_infinite", "form", "outputs cannot be read"),
        ("lie_huge", "form", "larger than expected"),
        ("lie_dtype", "form", "is not one of numbers"),
        ("lie_parsed", "form", "is not one of numbers"),
        ("lie_words", "form", "no whole number"),
        ("lie_deep", "form", "cannot be read"),
        ("lie_failed", "exception", "['x']: 5"),
    ],
)
def test_a_call_that_gives_no_result_is_lost_in_one_sentence(
    started: Worker, name: str, kind: str, reason: str
) -> None:
    with pytest.raises(Lost) as lost:
        call(started, name, within_s=1.0 if name == "sleep" else 20.0)
    assert lost.value.kind == kind
    assert reason in lost.value.reason
    assert len(lost.value.reason) < 300
    assert lost.value.alive == started.alive == (kind in ("exception", "form"))
    assert failure(lost.value).advice


def test_claims_that_are_no_claims_count_for_nothing(started: Worker) -> None:
    started.load({"lie": ("kernel.py", "lie_touched")}, 20)
    returned = started.call("lie", [Argument("x", X)], {"y": X.nbytes}, 20)
    assert (returned.touched, returned.seconds) == ([], 0.0)


def test_a_run_is_complete_only_with_its_closing_answer(recipe: Worker) -> None:
    early = recipe.another()
    early.start()
    with pytest.raises(Lost):
        call(early, "leave")
    assert b"without its closing answer" in early.finish()
    honest = recipe.another()
    honest.start()
    call(honest, "double")
    assert honest.finish() == b""


def test_a_dead_worker_is_replaced_until_it_has_died_too_often(recipe: Worker) -> None:
    standby = Standby(recipe, {"double": ("kernel.py", "double"), "leave": ("kernel.py", "leave")}, 20)
    for _ in range(REPLACEMENTS + 1):
        returned = standby.get().call("double", [Argument("x", X)], {"y": X.nbytes}, 20)
        assert np.array_equal(returned.arrays["y"], 2 * X)
        with pytest.raises(Lost, match="exit status 0"):
            standby.get().call("leave", [Argument("x", X)], {"y": X.nbytes}, 20)
    with pytest.raises(Lost, match=r"not run: the worker died 4 times before") as lost:
        standby.get()
    assert lost.value.kind == "given up"
    standby.close()


def test_what_cannot_be_imported_is_asked_for_once(recipe: Worker) -> None:
    standby = Standby(recipe, {"missing": ("kernel.py", "missing")}, 20)
    for _ in range(2):
        with pytest.raises(Lost, match="defines no function 'missing'"):
            standby.get()
    standby.close()


def test_a_python_without_the_framework_is_the_environments_fault(machine: Machine, folder: Path) -> None:
    system = Path("/usr/bin/python3")
    if not system.exists() or machine.wall.bubblewrap is None:
        pytest.skip("needs /usr/bin/python3 and bubblewrap")
    bare = sandbox.find_interpreter(str(system))
    worker = Worker(machine.wall, bare, folder, "jax", None, Limits())
    with pytest.raises(Lost, match="jax cannot be used in /usr/bin/python3") as lost:
        worker.start()
    worker.finish()
    assert failure(lost.value).fault == "environment"


def test_without_bubblewrap_a_worker_serves_all_the_same(machine: Machine, folder: Path) -> None:
    bare = sandbox.without_bubblewrap("not wanted here")
    worker = Worker(bare, machine.interpreter, folder, "numpy", None, Limits())
    worker.start()
    assert np.array_equal(call(worker, "double"), 2 * X)
    assert worker.finish() == b""
