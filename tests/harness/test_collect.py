"""One item from its bytes to its evidence, in processes of its own: the whole way, and what is hostile."""

from __future__ import annotations

import threading

import pytest
import yaml

from kgrade.harness import measure
from kgrade.harness.channel import Cancelled
from kgrade.harness.collect import collect
from kgrade.harness.entries import Unfound, find_entry
from kgrade.harness.progress import Step
from kgrade.harness.run import ItemSource, Machine
from kgrade.records import codec
from kgrade.records.task import Task
from tests.harness.items import REFERENCE, TASK, TIMED, gather, need, reasons

pytestmark = pytest.mark.xdist_group("collect")


def test_a_good_submission_passes_with_its_figures_and_never_sees_the_reference(machine: Machine) -> None:
    need("torch")
    spy = (
        "import os\nfound = [os.path.join(d, f) for d, _, fs in os.walk('/kgrade') for f in fs]\n"
        "def scale(x):\n    assert not any('reference' in f for f in found), found\n"
        "    return x / x.sum(-1, keepdims=True)\n"
    )
    evidence, logs = gather(machine, spy)
    check = evidence.stages.check
    assert (evidence.stages.build.status, check.status) == ("passed", "passed"), reasons(evidence)
    assert evidence.environment.interpreter
    assert evidence.environment.sandbox == machine.wall.name
    assert [case.case.dtype for case in check.cases] == ["float32", "bfloat16"]
    assert len({case.seed for case in check.cases}) == 2
    output = check.cases[0].outputs[0]
    assert output.figures is not None
    assert output.figures.elements == 3 * 37
    assert output.framework is not None
    assert logs == {}


def test_a_clock_set_back_from_inside_is_flagged(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    need("torch")
    monkeypatch.setattr(measure, "PROCESSES", 1)  # starting torch is what takes long; one process shows it
    solution = (
        "import time\nreal = time.perf_counter_ns\ntime.perf_counter_ns = lambda: real() // 1000\n"
        "def scale(x):\n    time.sleep(0.02)\n    return x / x.sum(-1, keepdims=True)\n"
    )
    timing = gather(machine, solution, TIMED, stages=["time"])[0].stages.time
    assert timing.status == "flagged"
    assert "the clocks disagree: " in (timing.reason or "")


def test_what_cannot_run_here_says_why(machine: Machine) -> None:
    evidence, _ = gather(machine, "def scale(x): ...", {"language": "nki"}, stages=["check", "time", "profile"])
    assert evidence.stages.check.status == evidence.stages.time.status == "not-run"
    assert "Neuron" in (evidence.stages.check.reason or "")
    assert evidence.stages.profile.reason == evidence.stages.time.reason
    assert evidence.stages.build.reason == "not collected yet"


def test_cancelling_stops_a_call_that_never_ends(machine: Machine) -> None:
    need("torch")
    task = codec.decode(Task, yaml.safe_dump(TASK).encode(), "task.yaml")
    source = ItemSource(
        item="scale/s01",
        task=task,
        task_tree="1" * 40,
        task_files={"reference.py": REFERENCE.encode()},
        solution_tree="2" * 40,
        solution={"kernel.py": b"def scale(x):\n    while True: pass\n"},
    )
    cancel = threading.Event()
    stop = threading.Timer(0.5, cancel.set)

    def on_progress(step: Step) -> None:
        if step.stage == "check" and not stop.is_alive():
            stop.start()

    with pytest.raises(Cancelled):
        collect(source, "cpu", ["check"], on_progress, cancel, machine)
    stop.cancel()


def test_paths_that_leave_the_folder_are_refused(machine: Machine) -> None:
    with pytest.raises(ValueError, match="leaves the item's folder"):
        gather(machine, REFERENCE, files={"../reference.py": "x"})


def test_the_entry_is_found_by_name_and_doubts_are_said() -> None:
    assert find_entry("f", {"k.py": b"def f(x): pass", "other.py": b"x = 1"}) == ("solution/k.py", "f")
    assert find_entry("f", {"k.py": b"from impl import g, f\n", "impl.txt": b""}) == ("solution/k.py", "f")
    assert find_entry("b.py:f", {"a.py": b"def f(): pass", "b.py": b"def f(): pass"}) == ("solution/b.py", "f")
    with pytest.raises(Unfound, match=r"is defined in solution/a.py and in solution/b.py"):
        find_entry("f", {"a.py": b"def f(): pass", "b.py": b"f = 1"})
    with pytest.raises(Unfound, match="no function 'f' in solution/, which holds no Python file"):
        find_entry("f", {"notes.md": b"def f(): pass"})
