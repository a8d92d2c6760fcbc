"""A Ray cluster of two nodes on loopback collects the sample queue, whatever happens to one of them."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from kgrade.cli import run
from kgrade.sample import make_demo
from tests.harness.engines.evidence import comparable

pytestmark = [pytest.mark.long, pytest.mark.xdist_group("cluster")]
ROOT = Path(__file__).resolve().parents[1]
ITEMS = ("softmax-rows", "topk-rows/s03")
COUNT = 5  # a task, its three submissions, and one of another task
STAGES = ("build", "check", "integrity")
WAIT_S = 240.0
ITEM = re.compile(r"ray::([a-z0-9-]+(?:/[a-z0-9-]+)? (?:cpu|sm_\d+))")
# What is drawn from secret seeds differs from run to run on one machine too; with these every run draws the same.
# Nonces and the ids of users behind the wall are left as they are.
DRAWN_ALIKE = """
import secrets, sys
below = secrets.randbelow
secrets.randbits = lambda bits: 2**bits // 3
secrets.randbelow = lambda n: below(n) if sys._getframe(1).f_globals["__name__"].endswith("sandbox") else n // 3
secrets.choice = lambda values: values[len(values) // 3]
secrets.token_bytes = lambda count: bytes(count)
"""


class Node:
    """One node: its raylet and what that has started."""

    def __init__(self, node: Any) -> None:
        self.raylet = node.all_processes["raylet"][0].process.pid

    def children(self) -> dict[int, str]:
        """The titles of the raylet's processes by id; Ray names a worker after the task that it runs."""
        found = {}
        for folder in Path("/proc").iterdir():
            if folder.name.isdigit():
                try:
                    parent = int(folder.joinpath("stat").read_text().rpartition(")")[2].split()[1])
                    title = folder.joinpath("cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
                except OSError:
                    continue
                if parent == self.raylet:
                    found[int(folder.name)] = title.strip()
        return found

    def at_work(self) -> list[str]:
        """The items and targets that are collected here now, such as `histogram-u8/s01 cpu`."""
        return [found[1] for title in self.children().values() if (found := ITEM.fullmatch(title))]

    def kill(self) -> None:
        """End all of the node at once, as a power cut would."""
        for process in (self.raylet, *self.children()):
            os.kill(process, signal.SIGKILL)


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Node]]:
    """Two nodes of one processor each, which see the package but stand outside of any checkout of a queue.

    The second says that it has one H100, and two processors for it.
    """
    pytest.importorskip("ray", reason="ray is not installed")
    from ray.cluster_utils import Cluster

    place = tempfile.mkdtemp(prefix="kr-", dir="/tmp")  # paths of sockets must be short
    monkeypatch.chdir(place)
    # The name says Windows and macOS; what it does is to leave the loopback address as it is.
    monkeypatch.setenv("RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER", "0")
    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "0")
    Path(place, "alike").mkdir()
    Path(place, "alike", "sitecustomize.py").write_text(DRAWN_ALIKE)
    monkeypatch.setenv("PYTHONPATH", f"{place}/alike:{ROOT}")
    monkeypatch.setattr("ray._private.ray_constants.ENABLE_RAY_CLUSTER", False)
    own = {"num_cpus": 1, "node_ip_address": "127.0.0.1", "object_store_memory": 80 << 20}
    made = Cluster()
    try:
        head = made.add_node(**own, include_dashboard=False, temp_dir=place)
        other = made.add_node(**{**own, "num_cpus": 2}, num_gpus=1, resources={"accelerator_type:H100": 1})
        monkeypatch.setenv("RAY_ADDRESS", made.address)
        yield [Node(head), Node(other)]
    finally:
        made.shutdown()
        shutil.rmtree(place, ignore_errors=True)


@pytest.fixture
def sample(tmp_path: Path) -> Callable[[str], Path]:
    """A maker of copies of the sample queue."""

    def make(name: str) -> Path:
        make_demo(tmp_path / name)
        return tmp_path / name

    return make


def git(queue: Path, *arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=queue, check=True, capture_output=True, text=True).stdout


def commits(queue: Path) -> list[str]:
    """What was collected, by the subjects of the commits, oldest first."""
    subjects = git(queue, "log", "--reverse", "--format=%s").splitlines()
    return [subject for subject in subjects if subject.startswith("evidence: ")]


def evidence(queue: Path) -> dict[str, Any]:
    """All evidence by path: records without what varies, logs as they are."""
    paths = git(queue, "ls-tree", "-r", "--name-only", "HEAD", "queue").splitlines()
    files = {path: git(queue, "show", f"HEAD:{path}") for path in paths if "/evidence/" in path}
    return {path: comparable(text.encode()) if path.endswith(".json") else text for path, text in files.items()}


def until(what: Callable[[], Any]) -> Any:
    deadline = time.monotonic() + WAIT_S
    while not (found := what()):
        assert time.monotonic() < deadline, "nothing happened"
        time.sleep(0.02)
    return found


def started(queue: Path, engine: str, *options: str) -> subprocess.Popen[str]:
    """The collection of a queue, as a person starts it."""
    stages = [f"--stage={stage}" for stage in STAGES]
    command = [
        sys.executable,
        "-m",
        "kgrade",
        "collect",
        *ITEMS,
        "--target=cpu",
        *stages,
        "--again",
        f"--engine={engine}",
    ]
    return subprocess.Popen(
        [*command, *options],
        cwd=queue,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_a_node_that_dies_costs_what_it_was_at_and_the_evidence_is_the_local_runs(
    cluster: list[Node], sample: Callable[[str], Path]
) -> None:
    here, there = sample("here"), sample("there")
    running = started(there, "ray", "--json")
    try:
        until(lambda: commits(there))
        [struck, *_] = until(cluster[1].at_work)
        cluster[1].kill()
        out, err = running.communicate(timeout=3 * WAIT_S)
    finally:
        running.kill()
    assert running.returncode == 0, err
    told = json.loads(out)
    local = json.loads(started(here, "local", "--json").communicate(timeout=3 * WAIT_S)[0])
    assert told["summary"] == local["summary"]
    finished = [f"{event['item']} {event['target']}" for event in told["events"] if "stages" in event]
    assert len(finished) == len(set(finished)) == COUNT
    # What the node was at when it was lost was collected elsewhere, once.
    assert struck in finished
    notes = [event["noted"] for event in told["events"] if "noted" in event]
    assert any(note.startswith(struck.replace(" ", " on ")) for note in notes)
    assert all(note.endswith("it is tried again elsewhere") for note in notes)
    assert len(notes) <= 2, "no more than the node was at"
    assert sorted(commits(there)) == sorted(commits(here))
    assert evidence(there) == evidence(here)


def test_ctrl_c_ends_the_tasks_and_keeps_what_is_done(cluster: list[Node], sample: Callable[[str], Path]) -> None:
    queue = sample("queue")
    running = started(queue, "ray")
    try:
        until(lambda: commits(queue) and any(node.at_work() for node in cluster))
        running.send_signal(signal.SIGINT)
        out, err = running.communicate(timeout=60)
    finally:
        running.kill()
    assert running.returncode == 130, err
    assert "cancelled; what was collected is kept" in err
    kept = commits(queue)
    assert 1 <= len(kept) == out.count(": build ") < COUNT
    until(lambda: not any(node.at_work() for node in cluster))
    assert git(queue, "status", "--porcelain") == ""


def test_what_needs_a_gpu_has_one_for_itself(cluster: list[Node], sample: Callable[[str], Path]) -> None:
    command = ["collect", "transpose-tiled", "--target=sm_90", "--stage=integrity", "--again", "--engine=ray"]
    running = subprocess.Popen(
        [sys.executable, "-m", "kgrade", *command], cwd=sample("queue"), stdout=subprocess.PIPE, text=True
    )
    seen: set[str] = set()
    try:
        while running.poll() is None:
            assert not cluster[0].at_work()
            now = cluster[1].at_work()
            assert len(now) <= 1
            seen.update(now)
            time.sleep(0.02)
    finally:
        running.kill()
    assert running.returncode == 0
    assert seen
    assert seen <= {"transpose-tiled/s01 sm_90", "transpose-tiled/s02 sm_90"}


def test_where_no_cluster_answers_one_sentence_says_how_to_start_one(
    sample: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("ray", reason="ray is not installed")
    monkeypatch.setenv("RAY_ADDRESS", "127.0.0.1:9")
    assert run(["collect", "--engine", "ray", "--queue", str(sample("queue"))]) == 2
    said = capsys.readouterr().err
    assert said.startswith("kgrade: no Ray cluster answers at 127.0.0.1:9, which RAY_ADDRESS names; on one machine run")
    assert said.count("\n") == 1


def test_the_page_starts_nodes_with_options_that_ray_has() -> None:
    scripts = pytest.importorskip("ray.scripts.scripts", reason="ray is not installed")
    page = (ROOT / "README.md").read_text().partition("## From one machine to ten")[2].partition("\n## ")[0]
    for command, text in re.findall(r"ray (start|symmetric-run|stop)([^`\n]*?)(?: -- |`|\n)", page):
        known = {option for parameter in scripts.cli.commands[command].params for option in parameter.opts}
        assert set(re.findall(r"--[a-z][a-z-]*", text)) <= known, text
