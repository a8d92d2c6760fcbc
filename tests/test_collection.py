"""From a queue to committed evidence: what lacks it, what is fresh, cancelled and gone on, what the sample shows."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import msgspec
import pytest
import yaml

from kgrade.cli import run
from kgrade.collection import CollectionError, Finished, Skipped, Started, collect_queue, queue
from kgrade.collection.events import Job
from kgrade.collection.queue import Queue
from kgrade.harness.build.toolkit import find_toolkit
from kgrade.harness.device.nvml import Gpu
from kgrade.harness.dynamic import examination
from kgrade.harness.engines import Undone
from kgrade.harness.engines.local import Local
from kgrade.records import codec
from kgrade.records.evidence import Evidence
from kgrade.records.slugs import ItemId

pytest.importorskip("torch", reason="torch is not installed")

pytestmark = pytest.mark.xdist_group("collection")
PROJECT = Path(__file__).resolve().parents[1]
TASK = """\
schema: kgrade/task@1
title: Row sums
type: generation
language: python
targets: [cpu]
entry: rows
reference: reference.py:rows
inputs: {x: {shape: [M, N], dtype: $dtype}}
outputs: {y: {shape: [M], dtype: $dtype}}
cases: [{M: 3, N: 5, dtype: float32}]
tolerance: {float32: {atol: 1e-6, rtol: 1e-6}}
rubric: generation
"""
SUBMISSION = "schema: kgrade/submission@1\nauthor: kit\ncreated: 2026-11-03T09:30:00Z\n"
GOOD = "def rows(x):\n    return x.sum(-1)\n"
QUEUE = {
    "queue/rows/task.yaml": TASK,
    "queue/rows/prompt.md": "Sum each row.\n",
    "queue/rows/reference.py": GOOD,
    "queue/rows/submissions/s01/submission.yaml": SUBMISSION,
    "queue/rows/submissions/s01/solution/k.py": GOOD,
    "queue/rows/submissions/s02/submission.yaml": SUBMISSION,
    "queue/rows/submissions/s02/solution/k.py": GOOD.replace("sum(-1)", "mean(-1)"),
}


@pytest.fixture
def repo(make_repo):
    made = make_repo("queue")
    made.commit(QUEUE, "a queue")
    return made


def gather(repo, *items, **options):
    events = []
    summary = collect_queue(repo.path, [ItemId.parse(item) for item in items], on_event=events.append, **options)
    return summary, events


def evidence_in(repo, item, target="cpu"):
    path = ItemId.parse(item).evidence_path(target)
    return codec.decode(Evidence, repo.show(path).encode(), path)


@pytest.mark.usefixtures("shared_workers")
def test_evidence_is_committed_beside_its_item_and_is_not_collected_twice(repo):
    summary, _ = gather(repo, stages=("build", "check"))
    assert (summary.finished, summary.skipped, summary.faults, summary.cancelled) == (3, 0, 0, False)
    assert evidence_in(repo, "rows/s01").state("check") == "passed"
    wrong = evidence_in(repo, "rows/s02")
    assert wrong.state("check") == "failed"
    assert wrong.stages.check.cases[0].outputs[0].worst
    assert evidence_in(repo, "rows").state("check") == "passed"
    assert repo.git("log", "-1", "--format=%s") == "evidence: rows/s02 cpu: build passed check failed time not-run"
    assert repo.git("status", "--porcelain") == ""
    tip = repo.git("rev-parse", "HEAD")
    again, events = gather(repo, stages=("build", "check"))
    assert (again.finished, again.skipped) == (0, 3)
    assert {event.why for event in events} == {"its evidence is fresh"}
    assert repo.git("rev-parse", "HEAD") == tip


def test_what_an_earlier_version_could_not_collect_is_collected_and_what_this_one_cannot_is_not(repo):
    gather(repo, "rows/s01", stages=("build",))
    [job] = Queue(repo.path).jobs([ItemId.parse("rows/s01")], ["cpu"], ())[0]
    old = msgspec.json.decode(repo.show(path := job.item.evidence_path("cpu")))
    for stage in ("profile", "sanitize"):
        old["stages"][stage] = {"status": "not-run", "reason": "this version of kgrade does not collect it"}
    repo.commit({path: msgspec.json.encode(old).decode()})
    found = Queue(repo.path)
    assert found.wants(job, ("build", "profile"))
    assert not found.wants(job, ("build", "sanitize"))


def test_changed_bytes_are_collected_anew_and_old_logs_go(repo):
    loud = "print('hello from the kernel')\n" + GOOD
    repo.commit({"queue/rows/submissions/s01/solution/k.py": loud})
    gather(repo, "rows/s01", stages=("build",))
    log = "queue/rows/submissions/s01/evidence/cpu.kernel.log"
    assert "hello from the kernel" in repo.show(log)
    repo.commit({"queue/rows/submissions/s01/solution/k.py": GOOD})
    summary, _ = gather(repo, "rows/s01", stages=("build",))
    assert summary.finished == 1
    assert log not in repo.git("ls-tree", "-r", "--name-only", "HEAD").splitlines()


@pytest.mark.usefixtures("shared_workers")
def test_one_stage_anew_leaves_the_others_as_they_stand(repo):
    gather(repo, "rows/s02", stages=("build", "check"))
    gather(repo, "rows/s02", stages=("build",), again=True)
    assert evidence_in(repo, "rows/s02").state("check") == "failed"
    summary, _ = gather(repo, "rows/s02", stages=("build", "time"))
    assert summary.finished == 1, "the time stage was not collected yet"
    summary, _ = gather(repo, "rows/s02", stages=("build", "time"))
    assert summary.finished == 0
    assert evidence_in(repo, "rows/s02").state("check") == "failed"


@pytest.mark.usefixtures("shared_workers")
def test_what_was_not_run_for_want_of_a_device_is_collected_again_where_there_is_one(repo, monkeypatch):
    repo.commit({"queue/rows/task.yaml": TASK.replace("[cpu]", "[sm_90]")})
    monkeypatch.setattr(queue, "find_gpus", lambda nvml: ())
    gather(repo, "rows/s01", stages=("check",))
    standing = evidence_in(repo, "rows/s01", "sm_90")
    assert standing.state("check") == "not-run"
    assert standing.stages.check.reason.startswith("no GPU of compute capability 9.0 is here")
    job = Job(item=ItemId.parse("rows/s01"), target="sm_90")
    assert not Queue(repo.path).wants(job, ("check",)), "fresh, while there is no device"
    monkeypatch.setattr(queue, "find_gpus", lambda nvml: (Gpu("GPU-0", "another", (8, 0), "575"),))
    assert not Queue(repo.path).wants(job, ("check",)), "fresh, while the device is of another architecture"
    monkeypatch.setattr(queue, "find_gpus", lambda nvml: (Gpu("GPU-0", "NVIDIA H200", (9, 0), "575"),))
    assert Queue(repo.path).wants(job, ("check",))


def test_without_the_extra_a_cluster_is_refused_in_one_sentence(repo, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "ray", None)
    assert run(["collect", "--engine", "ray", "--queue", str(repo.path)]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err == (
        "kgrade: --engine ray needs Ray, which is not installed beside kgrade; install kgrade with its extra, as"
        " `pip install -e '.[cluster]'` does in a checkout, here and on every node\n"
    )


@pytest.mark.usefixtures("shared_workers")
def test_what_no_machine_could_collect_is_told_and_the_others_go_on(repo, monkeypatch):
    def collect(self, source, *given):
        if source.item == "rows/s01":
            raise Undone("not collected after 3 tries: node 0a1b died")
        return there(self, source, *given)

    there = Local.collect
    monkeypatch.setattr(Local, "collect", collect)
    summary, events = gather(repo, stages=("build",))
    assert (summary.finished, summary.faults, summary.cancelled) == (2, 1, False)
    (left,) = [event for event in events if isinstance(event, Skipped)]
    assert (str(left.item), left.why) == ("rows/s01", "not collected after 3 tries: node 0a1b died")
    monkeypatch.setattr(Local, "collect", there)
    summary, _ = gather(repo, stages=("build",))
    assert (summary.finished, summary.skipped) == (1, 2)


@pytest.mark.usefixtures("shared_workers")
def test_a_broken_item_is_named_and_the_others_go_on(repo):
    repo.commit({"queue/other/task.yaml": "title: [\n", "queue/other/prompt.md": "x\n"})
    summary, events = gather(repo, stages=("build",))
    assert (summary.finished, summary.faults) == (3, 1)
    (broken,) = [event for event in events if isinstance(event, Skipped)]
    assert str(broken.item) == "other"
    assert "queue/other/task.yaml" in broken.why


@pytest.mark.usefixtures("shared_workers")
def test_cancelling_keeps_what_is_done_and_the_next_run_goes_on(repo):
    cancel = threading.Event()

    def stop_after_the_first(event):
        if isinstance(event, Finished):
            cancel.set()

    summary = collect_queue(repo.path, stages=("build",), on_event=stop_after_the_first, cancel=cancel)
    assert summary.cancelled
    assert summary.finished == 1
    rest, events = gather(repo, stages=("build",))
    assert (rest.finished, rest.skipped) == (2, 1)
    assert [event.total for event in events if isinstance(event, Started)] == [2, 2]


@pytest.mark.usefixtures("shared_workers")
def test_without_commits_files_are_written_and_nothing_else_changes(repo):
    tip = repo.git("rev-parse", "HEAD")
    gather(repo, "rows/s01", stages=("build",), commit=False)
    assert repo.git("rev-parse", "HEAD") == tip
    assert repo.git("status", "--porcelain", "-uall").split() == [
        "??",
        "queue/rows/submissions/s01/evidence/cpu.json",
    ]


def test_what_is_not_there_is_said(repo, tmp_path):
    with pytest.raises(CollectionError, match="there is no item rows/s09"):
        gather(repo, "rows/s09")
    with pytest.raises(CollectionError, match="not inside a git repository"):
        collect_queue(tmp_path)


KNOWN = yaml.safe_load((PROJECT / "tests/queue/known_faults.yaml").read_text())
SHOWN = [
    "softmax-rows/s01",
    pytest.param("softmax-rows/s02", marks=pytest.mark.long),
    "softmax-rows/s03",
    "matmul-bias-gelu/s03",
    "matmul-bias-gelu/s05",
    pytest.param("layernorm-bwd/s02", marks=pytest.mark.long),
    "topk-rows/s03",
    "attention-causal/s02",
    "softmax-xent-pallas/s02",
    "softmax-xent-pallas/s03",
    "gemm-w8-dequant/s02",
    "gemm-epilogue-port/s01",
    "gemm-epilogue-port/s02",
    "histogram-u8/s03",
    "scan-inclusive/s02",
    "scan-inclusive/s03",
    "rmsnorm-nki/s02",
    "rmsnorm-silu-kernelbench/s02",
    "grayscale-gpumode/s02",
    "add-rmsnorm-flashinfer/s02",
    "rmsnorm-silu-kernelbench/s01",
    "grayscale-gpumode/s01",
    "add-rmsnorm-flashinfer/s01",
    pytest.param("absmax-scale-kernelbench/s01", marks=pytest.mark.long),
    pytest.param("absmax-scale-kernelbench/s02", marks=pytest.mark.long),
]


@pytest.fixture(scope="module")
def sample(tmp_path_factory):
    """The sample's tasks without their stored evidence, as a repository of their own."""
    folder = tmp_path_factory.mktemp("sample")
    keep_out = shutil.ignore_patterns("evidence", "grades", "__pycache__")
    shutil.copytree(PROJECT / "queue", folder / "queue", ignore=keep_out)
    for command in (["init", "-q", "-b", "main"], ["add", "-A"], ["commit", "-qm", "sample"]):
        who = ["-c", "user.name=Sample", "-c", "user.email=sample@example.org"]
        subprocess.run(["git", *who, *command], cwd=folder, check=True)
    return folder


STAGES_SHOWN = ("build", "check", "integrity")
TOOLS = {"triton": "triton", "pallas": "jax", "cuda": "nvcc", "extension": "g++"}


@pytest.mark.usefixtures("shared_workers")
@pytest.mark.parametrize("item", SHOWN)
def test_the_evidence_says_the_known_fault_or_its_absence(sample, item, monkeypatch):
    monkeypatch.setattr(examination, "BOX_S", 0.0)  # the costly tests have tests, and tiny submissions, of their own
    task = yaml.safe_load((PROJECT / "queue" / item.split("/")[0] / "task.yaml").read_text())
    language = "extension" if (task["language"], task["interface"]) == ("cuda", "kernelbench") else task["language"]
    tool = TOOLS.get(language)
    if tool and not (find_toolkit() if tool == "nvcc" else shutil.which(tool) or importlib.util.find_spec(tool)):
        pytest.skip(f"{tool} is not installed")
    target = {"cuda": "sm_90", "nki": "trn2"}.get(language, "cpu")
    found = []
    collect_queue(sample, [ItemId.parse(item)], [target], STAGES_SHOWN, again=True, commit=False, on_event=found.append)
    (evidence,) = [event.evidence for event in found if isinstance(event, Finished)]
    known = KNOWN[item]
    assert (evidence.state("build"), evidence.state("check")) == (known["build"], known["check"]), evidence.stages.build
    signs = {each.rule for each in evidence.stages.integrity.findings if each.severity != "note"}
    assert signs >= set(known.get("integrity", []))
    assert "integrity" in known or not signs
    cases = evidence.stages.check.cases
    failed = [check for check in cases if check.status == "failed"]
    assert all(check.reason for check in failed)
    if "cases" in known:
        assert any(holds(check.case, known["cases"]) for check in failed)
    if "passing" in known:
        spared = [check for check in cases if holds(check.case, known["passing"])]
        assert spared
        assert {check.status for check in spared} == {"passed"}


def holds(case, values):
    """Whether the case has all of `values`: dtype, family, layout or symbols by name."""
    has = {**case.symbols, "dtype": case.dtype, "family": case.family, "layout": case.layout}
    return all(has[key] == value for key, value in values.items())
