"""Twelve attacks from inside a submission: each is contained, each is named, and the next item runs as if nothing was.

Behind the weaker wall, which has no namespaces, an attack that gets through is one that the wall says it lacks.
"""

from __future__ import annotations

import json
import os
import secrets
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from kgrade.harness import sandbox
from kgrade.harness.arguments import Argument
from kgrade.harness.losses import failure
from kgrade.harness.run import Machine
from kgrade.harness.sandbox import Wall
from kgrade.harness.standby import Standby
from kgrade.harness.timing.sides import Side
from kgrade.harness.watchdog import Limits
from kgrade.harness.workers import Lost, Worker

ROOT = Path(__file__).resolve().parents[2]
HOSTILE = Path(__file__).parent / "hostile.py"
MIB = 1 << 20
X = np.arange(12, dtype=np.float32).reshape(3, 4)
LIMITS = Limits(memory_bytes=160 * MIB, processes=48, scratch_bytes=24 * MIB, file_bytes=64 * MIB)

# attack: how the call is lost, the words that name it, and what the weaker wall says where the attack gets through
ATTACKS: dict[str, tuple[str, str, str | None]] = {
    "write_outside": ("exception", "FileNotFoundError", "files:"),
    "read_oracle": ("exception", "FileNotFoundError", "files:"),
    "network": ("exception", "ConnectionRefusedError", "network:"),
    "fork_bomb": ("exception", "BlockingIOError", None),
    "memory": ("memory", "memory limit: ", None),
    "memory_unmapped": ("exception", "Function not implemented", None),
    "memory_dropped": ("memory", "memory limit: ", None),
    "memory_system_v": ("exception", "Function not implemented", "memory: System V"),
    "fill_disk": ("exception", "No space left on device", "disk:"),
    "kill_parent": ("exception", "PermissionError", "processes: it may signal"),
    "forge_result": ("protocol", "forged answer to `call`", None),
    "exit_early": ("exited", "ended before it answered `call`: exit status 0", None),
    "read_environment": ("exception", "KeyError", None),
}


@pytest.fixture(scope="module")
def prey() -> Iterator[dict[str, object]]:
    """What the attacks are after: a folder, the oracle's file, a listening port, a name for their processes."""
    with tempfile.TemporaryDirectory(prefix="kgrade-prey-") as name, socket.create_server(("127.0.0.1", 0)) as server:
        folder = Path(name)
        folder.chmod(0o755)
        oracle = folder / "reference.py"
        oracle.write_text("expected = 42\n")
        server.settimeout(0)
        yield {
            "outside": name,
            "oracle": str(oracle),
            "port": server.getsockname()[1],
            "token": f"kg{secrets.token_hex(5)}",
            "server": server,
        }


@pytest.fixture(scope="module")
def folder(prey: dict[str, object], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The attacking submission."""
    made = tmp_path_factory.mktemp("item")
    made.chmod(0o755)
    shutil.copy(HOSTILE, made / "kernel.py")
    (made / "aims.json").write_text(json.dumps({name: value for name, value in prey.items() if name != "server"}))
    return made


@pytest.fixture(params=["bubblewrap", "kernel"])
def wall(request: pytest.FixtureRequest, machine: Machine) -> Wall:
    if request.param == "kernel":
        return sandbox.without_bubblewrap("not wanted here")
    if machine.wall.bubblewrap is None:
        pytest.skip(f"needs bubblewrap: {machine.wall.lacks}")
    return machine.wall


def worker_of(machine: Machine, wall: Wall, folder: Path) -> Worker:
    return Worker(wall, machine.interpreter, folder, "numpy", None, LIMITS)


def doubled(worker: Worker, function: str) -> bool:
    worker.load({function: ("kernel.py", function)}, 60)
    returned = worker.call(function, [Argument("x", X)], {"y": X.nbytes}, 60)
    return np.array_equal(returned.arrays["y"], 2 * X)


def assert_nothing_happened(prey: dict[str, object]) -> None:
    assert [path.name for path in Path(str(prey["outside"])).iterdir()] == ["reference.py"]
    server = prey["server"]
    assert isinstance(server, socket.socket)
    with pytest.raises(BlockingIOError):
        server.accept()


def assert_nothing_is_left(token: object) -> None:
    """Wait until no process of that name runs; one that is killed takes a moment to be gone."""
    deadline = time.monotonic() + 60
    while named := [path for path in Path("/proc").glob("[0-9]*/stat") if runs_as(path, str(token))]:
        assert time.monotonic() < deadline, named
        time.sleep(0.05)


def runs_as(stat: Path, token: str) -> bool:
    try:
        name, _, rest = stat.read_text(errors="replace").partition("(")[2].rpartition(")")
    except OSError:
        return False
    return name == token and rest.split()[0] not in "ZX"


@pytest.mark.parametrize("attack", ATTACKS)
def test_an_attack_is_contained_and_named_and_the_next_item_runs(
    machine: Machine,
    wall: Wall,
    folder: Path,
    prey: dict[str, object],
    attack: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("KGRADE_TEST_TOKEN", "hunter2")
    kind, words, gap = ATTACKS[attack]
    weak = wall.bubblewrap is None
    if attack == "kill_parent" and any(lack.startswith("processes: it may signal") for lack in wall.lacks):
        pytest.skip("this wall says that it lets its own user's processes be signalled, and that would end the tests")
    attacked = worker_of(machine, wall, folder)
    attacked.start()
    try:
        with pytest.raises(Lost) as lost:
            doubled(attacked, attack)
    finally:
        attacked.finish()
    if "the call returned None" in lost.value.reason:  # the attack got what it wanted
        assert weak, lost.value.reason
        assert any(lack.startswith(gap or "nothing") for lack in wall.lacks), (attack, wall.lacks)
    elif not weak:
        assert (lost.value.kind, words in lost.value.reason) == (kind, True), lost.value.reason
        assert_nothing_happened(prey)
    assert failure(lost.value).advice
    assert_nothing_is_left(prey["token"])
    after = worker_of(machine, wall, folder)
    after.start()
    assert doubled(after, "honest")
    assert after.finish() == b""
    forget(prey)


def forget(prey: dict[str, object]) -> None:
    """Undo what the weaker wall let through."""
    Path(str(prey["outside"]), "planted").unlink(missing_ok=True)
    server = prey["server"]
    assert isinstance(server, socket.socket)
    try:
        server.accept()[0].close()
    except BlockingIOError:
        return


def test_patched_timers_are_caught_by_the_clock_outside(machine: Machine, folder: Path) -> None:
    standby = Standby(worker_of(machine, machine.wall, folder), {"candidate": ("kernel.py", "patch_timers")}, 60)
    side = Side("candidate", standby)
    for first in (True, False, False):
        side.attempt([Argument("x", X)], first=first)
    assert side.missing is None
    assert min(side.samples_us) + side.empty_us >= 20_000, "the 20 ms of a call cannot be hidden"
    assert max(side.claimed_us) < 20_000, "the attack did change what the worker claims"
    assert "the clocks disagree" in (side.disagreement() or "")
    standby.close()


def test_a_thread_that_is_left_is_seen_and_dies_with_its_worker(machine: Machine, folder: Path) -> None:
    worker = worker_of(machine, machine.wall, folder)
    worker.start()
    assert doubled(worker, "honest")
    assert worker.works_unasked(0.3) is None
    assert doubled(worker, "leave_thread")
    assert "a thread was left" in (worker.works_unasked(0.6) or "")
    worker.finish()
    after = worker_of(machine, machine.wall, folder)
    after.start()
    assert doubled(after, "honest")
    assert after.works_unasked(0.3) is None
    after.finish()


# Three need a worker's line to tell anything; what the last one holds, only root can see.
NOT_AS_USER = ("forge_result", "exit_early", "patch_timers", "memory_dropped")
AS_USER = """
import json, sys
sys.path.insert(0, {root!r})
from pathlib import Path
from kgrade.harness import sandbox
from kgrade.harness.watchdog import Limits
wall = sandbox.find_wall()
if wall.bubblewrap is None:
    print(json.dumps(["no namespaces", *wall.lacks]))
    raise SystemExit
limits = Limits(wall_s=30, memory_bytes=160 << 20, processes=int(sys.argv[1]), scratch_bytes=24 << 20)
folder = Path({folder!r})
found = {{"lacks": list(wall.lacks)}}
for attack in {attacks!r}:
    code = "import sys; sys.path.insert(0, '/kgrade/queue'); import kernel; print(getattr(kernel, %r)(None))" % attack
    command = ["/usr/bin/python3", "-I", "-B", "-c", code]
    ended = sandbox.run(wall, command, binds=[sandbox.Bind(folder, Path("/kgrade/queue"))], limits=limits)
    found[attack] = [ended.returncode, ended.stopped_by, ended.stderr.decode()[-300:]]
print(json.dumps(found))
"""


def test_an_ordinary_user_is_as_well_walled(machine: Machine, folder: Path, prey: dict[str, object]) -> None:
    system = "/usr/bin/python3"
    if os.getuid() != 0 or machine.wall.bubblewrap is None or not Path(system).exists():
        pytest.skip("needs root to become another user, bubblewrap, and /usr/bin/python3")
    with tempfile.TemporaryDirectory(prefix="kgrade-user-", dir="/tmp") as place:
        reachable = Path(place)
        reachable.chmod(0o755)
        shutil.copytree(folder, reachable / "item")
        shutil.copytree(ROOT / "kgrade" / "harness", reachable / "kgrade" / "harness")
        (reachable / "kgrade" / "__init__.py").write_text("")
        attacks = [name for name in ATTACKS if name not in NOT_AS_USER]
        code = AS_USER.format(root=place, folder=str(reachable / "item"), attacks=attacks)
        user = ["setpriv", "--reuid=61001", "--regid=61001", "--clear-groups", "--", system, "-B", "-c", code, "64"]
        environment = {"PATH": "/usr/bin:/bin", "TMPDIR": "/tmp", "KGRADE_TEST_TOKEN": "hunter2"}
        said = subprocess.run(user, env=environment, cwd="/", capture_output=True, text=True, check=False, timeout=240)
    assert said.returncode == 0, said.stderr
    found = json.loads(said.stdout)
    if isinstance(found, list):
        pytest.skip(f"this kernel gives ordinary users no namespaces: {found}")
    assert any(lack.startswith("memory: shared pages") for lack in found.pop("lacks")), "said, where it cannot be seen"
    for attack, (code, stopped_by, errors) in found.items():
        kind, words, _ = ATTACKS[attack]
        assert words in (stopped_by or "" if kind == "memory" else errors), (attack, code, stopped_by, errors)
    assert_nothing_happened(prey)
    assert_nothing_is_left(prey["token"])
