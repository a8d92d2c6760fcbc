"""What a process behind the wall still holds: no root, no capability, scratch of its own; and a wall that is tried."""

from __future__ import annotations

import os
import shutil
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest

from kgrade.harness import sandbox
from kgrade.harness.sandbox import Bind, Ended
from kgrade.harness.watchdog import Limits

MIB = 1 << 20
Behind = Callable[..., Ended]


@pytest.fixture(scope="module")
def behind() -> Behind:
    """Run a piece of Python behind the wall."""
    wall, interpreter = sandbox.find_wall(), sandbox.find_interpreter()
    if wall.bubblewrap is None:
        pytest.skip(f"needs bubblewrap: {wall.lacks}")

    def run(code: str, limits: Limits, *binds: Bind) -> Ended:
        needed = [Bind(folder, folder) for folder in interpreter.folders]
        command = [interpreter.executable, "-I", "-c", textwrap.dedent(code)]
        return sandbox.run(wall, command, binds=[*needed, *binds], limits=limits)

    return run


def test_neither_root_nor_any_capability_is_left(behind: Behind) -> None:
    code = "import os; print(os.getuid()); print(open('/proc/self/status').read())"
    uid, status = behind(code, Limits(wall_s=20)).stdout.decode().split("\n", 1)
    fields = dict(line.split(":\t") for line in status.splitlines() if ":\t" in line)
    assert int(uid) != 0
    assert {int(fields[name], 16) for name in ("CapEff", "CapPrm", "CapBnd", "CapInh", "CapAmb")} == {0}
    assert fields["NoNewPrivs"] == "1"


def test_no_process_outside_can_be_killed(behind: Behind) -> None:
    code = f"""
    import os, signal
    for pid in {{int(name) for name in os.listdir("/proc") if name.isdigit()}} - {{os.getpid()}} | {{{os.getpid()}}}:
        try:
            os.kill(pid, signal.SIGKILL)
        except OSError:
            pass
    print("still here")
    """
    assert behind(code, Limits(wall_s=20)).stdout == b"still here\n"


def test_a_bind_is_read_only_unless_it_is_said_to_be_writable(behind: Behind, tmp_path: Path) -> None:
    kept, given = tmp_path / "kept", tmp_path / "given"
    for folder in (kept, given):
        folder.mkdir()
        folder.chmod(0o777)
    code = """
    for name in ("kept", "given"):
        try:
            open(f"/bound/{name}/file", "w").close()
        except OSError as error:
            print(name, error.strerror)
    """
    binds = Bind(kept, Path("/bound/kept")), Bind(given, Path("/bound/given"), writable=True)
    assert behind(code, Limits(wall_s=20), *binds).stdout == b"kept Read-only file system\n"
    assert not list(kept.iterdir())
    assert [path.name for path in given.iterdir()] == ["file"]


def test_scratch_memory_and_descriptors_are_bounded(behind: Behind) -> None:
    code = """
    import os
    for place in ("/tmp/mine", "/dev/shm/mine"):
        try:
            with open(place, "wb", buffering=0) as file:
                for _ in range(16):
                    file.write(bytes(1 << 20))
            print("not bounded")
        except OSError as error:
            print(error.strerror)
    held = []
    try:
        while len(held) < 200:
            held.append(os.open("/dev/null", 0))
        print("not bounded")
    except OSError as error:
        print(error.strerror)
    """
    ended = behind(code, Limits(wall_s=20, scratch_bytes=4 * MIB, open_files=32))
    full = b"No space left on device\n"
    assert ended.stdout == full + full + b"Too many open files\n"
    assert not Path("/tmp/mine").exists()


def test_the_memory_of_children_counts_too(behind: Behind) -> None:
    code = """
    import os, time
    for _ in range(4):
        if os.fork() == 0:
            kept = bytearray(os.urandom(1) * (80 << 20))
            time.sleep(60)
    time.sleep(60)
    """
    ended = behind(code, Limits(memory_bytes=200 * MIB, wall_s=60))
    assert str(ended.stopped_by).startswith("memory limit: ")


BROKEN = '#!/bin/sh\n[ "$1" = --version ] && echo bubblewrap 0.0 && exit\necho no namespaces here >&2; exit 1\n'


@pytest.mark.parametrize(
    ("program", "said"),
    [
        (None, "bubblewrap: not installed"),
        (BROKEN, "bubblewrap: does not work here: no namespaces here"),
        ("no program at all", "bubblewrap: does not start: "),
    ],
)
def test_bubblewrap_is_tried_before_it_is_believed(
    program: str | None, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "bwrap"
    if program is not None:
        path.write_text(program)
        path.chmod(0o755)
    monkeypatch.setattr(shutil, "which", lambda name: str(path) if program is not None else None)
    wall = sandbox.find_wall()
    assert wall.bubblewrap is None
    assert any(lack.startswith(said) for lack in wall.lacks)


def test_a_python_that_only_root_can_reach_is_said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    if os.getuid() != 0:
        pytest.skip("needs root")
    link = tmp_path / "python"
    link.symlink_to(sys.executable)
    tmp_path.chmod(0o700)
    monkeypatch.setattr(sys, "executable", str(link))
    assert sandbox.AS_ROOT in sandbox.without_bubblewrap("not installed").lacks
