"""Engines: what travels arrives whole, either end gives the same evidence, and only machines' failures are retried."""

from __future__ import annotations

import secrets
import sys
import threading
from collections.abc import Mapping

import msgspec
import pytest
import yaml

from kgrade.harness import engines
from kgrade.harness.channel import Cancelled
from kgrade.harness.engines import Undone, attempts, parcels, remote
from kgrade.harness.engines.demands import Demand, demand
from kgrade.harness.progress import Step
from kgrade.harness.run import HandedIn, ItemSource
from kgrade.records import codec
from kgrade.records.evidence import (
    Build,
    BuildTarget,
    Environment,
    Evidence,
    Failure,
    Inputs,
    Stages,
    Tool,
)
from kgrade.records.task import Task
from tests.harness.engines.evidence import comparable
from tests.harness.items import REFERENCE, TASK

FILES = {"task.yaml": yaml.safe_dump(TASK).encode(), "reference.py": REFERENCE.encode(), "start/k.py": b"\xff\x00"}
THEIRS = {"kernel.py": b"def scale(x):\n    return x\n"}


def item() -> ItemSource:
    return ItemSource(
        item="scale/s01",
        task=codec.decode(Task, FILES["task.yaml"], "task.yaml"),
        task_tree="1" * 40,
        task_files=FILES,
        solution_tree="2" * 40,
        solution={"kernel.py": REFERENCE.encode()},
        others={"scale/s00": HandedIn("3" * 40, lambda: THEIRS)},
    )


class Shelf(dict[str, bytes]):
    """Where parcels are kept in a test."""

    def send(self, tree: str | None, read: engines.Callable[[], Mapping[str, bytes]]) -> str:
        name, data = parcels.packed(read())
        self[name] = data
        return name


def test_an_item_arrives_as_it_was_sent() -> None:
    shelf, sent = Shelf(), item()
    wanted = parcels.order(sent, "cpu", ("check", "integrity"), "/usr/bin/python3", shelf.send)
    wanted = msgspec.msgpack.decode(msgspec.msgpack.encode(wanted), type=parcels.Order)
    assert wanted.parcels == set(shelf)
    found = parcels.source(wanted, shelf.__getitem__)
    assert (found.item, found.task, found.task_files, found.solution) == (
        sent.item, sent.task, sent.task_files, sent.solution
    )  # fmt: skip
    assert (found.task_tree, found.solution_tree) == (sent.task_tree, sent.solution_tree)
    assert {name: (each.tree, each.read()) for name, each in found.others.items()} == {"scale/s00": ("3" * 40, THEIRS)}


def test_what_no_stage_compares_does_not_travel_and_a_task_alone_has_no_solution() -> None:
    shelf = Shelf()
    alone = msgspec.structs.asdict(parcels.order(item(), "cpu", ("build",), None, shelf.send))
    assert alone["others"] == {}
    assert len(shelf) == 2
    review = ItemSource(item="scale", task=item().task, task_tree="1" * 40, task_files=FILES)
    found = parcels.source(parcels.order(review, "cpu", ("check",), None, shelf.send), shelf.__getitem__)
    assert found.solution is None
    assert found.solution_tree is None


def test_a_parcel_that_was_changed_on_its_way_is_refused() -> None:
    name, data = parcels.packed(FILES)
    assert parcels.packed(dict(reversed(FILES.items()))) == (name, data)
    with pytest.raises(parcels.Damaged, match=f"a parcel of {len(data)} bytes arrived that is not {name[:12]}"):
        parcels.unpacked(name, data[:-1] + b"!")


@pytest.mark.usefixtures("shared_workers")
@pytest.mark.xdist_group("collection")
def test_both_ends_give_the_same_evidence(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("torch", reason="torch is not installed")
    monkeypatch.setattr(secrets, "randbits", lambda bits: 2**bits // 3)
    shelf, stages = Shelf(), ("build", "check")
    steps: list[Step] = []
    with engines.opened("local", pytest.fail) as here:
        assert here.at_once == 1
        evidence, logs = here.collect(item(), "cpu", stages, steps.append, threading.Event(), None)
    order = msgspec.msgpack.encode(parcels.order(item(), "cpu", stages, None, shelf.send))
    *beats, done = remote.carry_out(order, shelf.__getitem__, on_gpu=True)
    assert all(isinstance(each, remote.Beat) for each in beats)
    assert {each.step.stage for each in beats if each.step} <= {step.stage for step in steps} == set(stages)
    assert done.logs == logs
    assert comparable(done.evidence) == comparable(codec.encode_json(evidence))
    assert evidence.state("check") == "passed"


def test_an_order_of_another_version_is_refused() -> None:
    order = msgspec.structs.replace(parcels.order(item(), "cpu", (), None, Shelf().send), version="0.0.7")
    with pytest.raises(remote.Unfit, match=r"the one that asks has 0\.0\.7; install the same on both"):
        next(remote.carry_out(msgspec.msgpack.encode(order), {}.__getitem__, on_gpu=True))


class Scripted:
    """An attempt that tells what it was given, one thing at each call; an exception is raised, None is silence."""

    def __init__(self, node: str, *told: object) -> None:
        self.node, self.told, self.ended = node, list(told), False

    def heard(self, within_s: float) -> remote.Beat | remote.Done | None:
        told = self.told.pop(0) if self.told else None
        if isinstance(told, Exception):
            raise told
        assert told is None or isinstance(told, remote.Beat | remote.Done)
        return told

    def end(self) -> None:
        self.ended = True


def done(failure: Failure | None = None) -> remote.Done:
    status = "error" if failure else "passed"
    target = BuildTarget(target="cpu", status=status, reason=failure and failure.line, failure=failure)
    build = Build(status=status, reason=failure and failure.line, targets=[target])
    evidence = Evidence(
        item="scale/s01",
        target="cpu",
        collected="2026-11-03T09:30:00Z",
        inputs=Inputs(task_tree="1" * 40),
        tool=Tool(version="1"),
        environment=Environment(hardware="a processor", interpreter=True, sandbox="none"),
        stages=Stages(build=build),
    )
    return remote.Done(codec.encode_json(evidence), {"cpu.kernel.log": b"said"})


def failing(fault: str, retry: bool) -> Failure:
    return msgspec.convert(
        {"kind": "environment", "line": "no space left", "fault": fault, "retry": retry, "advice": "Make room."},
        Failure,
    )


def tried(*runs: Scripted, **options: float) -> tuple[engines.Collected, list[list[str]], list[str]]:
    avoided: list[list[str]] = []
    notes: list[str] = []
    left = list(runs)

    def begin(nodes: object) -> Scripted:
        avoided.append(list(nodes))  # type: ignore[call-overload]
        return left.pop(0)

    try:
        found = attempts.persist(begin, lambda step: None, threading.Event(), notes.append, **options)  # type: ignore[arg-type]
    finally:
        assert all(run.ended for run in runs if run not in left)
    assert not left, "every scripted try was made"
    return found, avoided, notes


def test_a_lost_machine_costs_one_try_and_is_avoided() -> None:
    beat = remote.Beat()
    found, avoided, notes = tried(
        Scripted("n1", beat, attempts.Lost("node n1 died")), Scripted("n2", beat, beat, done())
    )
    assert found[1] == {"cpu.kernel.log": b"said"}
    assert avoided == [[], ["n1"]]
    assert notes == ["node n1 died; it is tried again elsewhere"]


def test_after_the_last_try_the_item_is_left_undone() -> None:
    lost = [Scripted(f"n{number}", attempts.Lost(f"node n{number} died")) for number in range(3)]
    with pytest.raises(Undone, match="not collected after 3 tries: node n2 died"):
        tried(*lost)


@pytest.mark.parametrize(("fault", "retry"), [("submission", True), ("task", True), ("environment", False)])
def test_what_the_item_did_and_what_will_not_pass_is_not_tried_again(fault: str, retry: bool) -> None:
    found, avoided, notes = tried(Scripted("n1", done(failing(fault, retry))))
    assert found[0].state("build") == "error"
    assert (avoided, notes) == ([[]], [])


def test_a_failure_of_the_harness_that_may_pass_is_tried_again_and_stands_if_it_stays() -> None:
    passing = failing("environment", retry=True)
    found, avoided, notes = tried(Scripted("n1", done(passing)), Scripted("n2", done()))
    assert found[0].state("build") == "passed"
    assert avoided == [[], ["n1"]]
    assert notes == ["environment: no space left; it is tried again elsewhere"]
    found, *_ = tried(*(Scripted(f"n{number}", done(passing)) for number in range(3)))
    assert found[0].state("build") == "error"


def test_a_machine_that_falls_silent_is_taken_for_dead_and_one_that_has_not_begun_is_not() -> None:
    begun = Scripted("n1", remote.Beat())
    waiting = Scripted("n2", None, None, None, done())
    _, avoided, notes = tried(begun, waiting, silence_s=-1)
    assert avoided == [[], ["n1"]]
    assert notes[0].startswith("nothing was heard of a machine")


def test_cancelling_ends_the_attempt() -> None:
    cancel, run = threading.Event(), Scripted("n1", remote.Beat(Step("build", 0, 1, "compiling")))
    with pytest.raises(Cancelled):
        attempts.persist(lambda nodes: run, lambda step: cancel.set(), cancel, pytest.fail)
    assert run.ended


HOPPER = {"CPU": 96.0, "GPU": 8.0, "accelerator_type:H100": 1.0}


@pytest.mark.parametrize(
    ("target", "nodes", "wanted"),
    [
        ("cpu", [HOPPER], Demand()),
        ("sm_90", [{"CPU": 4.0}], Demand()),
        ("sm_90", [{"CPU": 4.0}, HOPPER], Demand(gpus=1, accelerator="H100")),
        ("sm_90", [HOPPER, {**HOPPER, "GPU": 4.0}, {"GPU": 4.0, "accelerator_type:H200": 1.0}], Demand(1, "H100")),
        ("sm_80", [HOPPER], Demand()),
        ("sm_90", [HOPPER, {"CPU": 8.0, "GPU": 2.0, "sm_90": 2.0}], Demand(gpus=1, named="sm_90")),
        ("gfx942", [{"CPU": 8.0, "GPU": 2.0, "gfx942": 2.0}], Demand(named="gfx942")),
        ("cpu", [{"CPU": 8.0, "cpu": 2.0}, HOPPER], Demand(named="cpu")),
    ],
)
def test_a_target_asks_for_a_whole_gpu_of_its_architecture(
    target: str, nodes: list[dict[str, float]], wanted: Demand
) -> None:
    assert demand(target, nodes) == wanted
    assert any(wanted.fits({"CPU": 1.0, **node}) for node in nodes)


def test_without_ray_one_sentence_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with (
        pytest.raises(engines.EngineError, match="needs Ray, which is not installed beside kgrade"),
        engines.opened("ray", pytest.fail),
    ):
        pass
