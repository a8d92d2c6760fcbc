"""The wall, attacked: what a program behind it tries to reach, and the limits at which it dies."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

from kgrade.harness import sandbox
from kgrade.harness.sandbox import Bind, Ended, Interpreter, Wall
from kgrade.harness.watchdog import Limits

ROOT = Path(__file__).resolve().parents[2]
SMALL = Limits(wall_s=20, memory_bytes=512 << 20)


@pytest.fixture(scope="module")
def wall() -> Wall:
    found = sandbox.find_wall()
    if found.bubblewrap is None:
        pytest.skip(f"needs bubblewrap: {found.lacks}")
    return found


@pytest.fixture(scope="module")
def interpreter() -> Interpreter:
    return sandbox.find_interpreter()


def python(
    wall: Wall, interpreter: Interpreter, code: str, limits: Limits = SMALL, binds: tuple[Bind, ...] = ()
) -> Ended:
    needed = [Bind(folder, folder) for folder in interpreter.folders]
    command = [interpreter.executable, "-I", "-c", textwrap.dedent(code)]
    return sandbox.run(wall, command, binds=[*needed, *binds], limits=limits)


def test_nothing_outside_the_named_folders_can_be_written_or_seen(
    wall: Wall, interpreter: Interpreter, tmp_path: Path
) -> None:
    secret, named, room = tmp_path / "secret", tmp_path / "named", tmp_path / "room"
    secret.write_text("not for the queue")
    named.mkdir()
    (named / "given.txt").write_text("given")
    named.chmod(0o755)
    room.mkdir()
    room.chmod(0o777)
    ended = python(
        wall,
        interpreter,
        f"""
        import os
        for path in ("/etc/x", "/usr/x", "/x", "/kgrade/named/x", "/proc/sys/kernel/core_pattern"):
            try:
                open(path, "w")
            except OSError:
                pass
            else:
                raise SystemExit(f"wrote {{path}}")
        assert not os.path.exists({str(secret)!r}), "a file that nobody named is visible"
        assert open("/kgrade/named/given.txt").read() == "given"
        open("/kgrade/room/result", "w").write("inside")
        open(os.environ["HOME"] + "/scratch", "w").write("private")
        assert os.getuid() != 0
        """,
        binds=(Bind(named, Path("/kgrade/named")), Bind(room, Path("/kgrade/room"), writable=True)),
    )
    assert (ended.returncode, ended.stderr) == (0, b"")
    assert (room / "result").read_text() == "inside"
    assert sorted(path.name for path in named.iterdir()) == ["given.txt"]


def test_the_network_is_cut_off_even_on_the_loopback(wall: Wall, interpreter: Interpreter) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        code = f"""
        import socket
        try:
            socket.create_connection(("127.0.0.1", {port}), timeout=5)
        except OSError:
            print("cut off")
        """
        ended = python(wall, interpreter, code)
    assert (ended.returncode, ended.stdout) == (0, b"cut off\n"), ended.stderr


def test_the_callers_environment_and_processes_stay_outside(
    wall: Wall, interpreter: Interpreter, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KGRADE_TEST_TOKEN", "hunter2")
    ended = python(
        wall,
        interpreter,
        """
        import glob, os
        seen = [str(dict(os.environ))]
        for path in glob.glob("/proc/[0-9]*/environ"):
            try:
                seen.append(open(path).read())
            except OSError:
                pass
        assert not any("hunter2" in text for text in seen)
        print(len(glob.glob("/proc/[0-9]*")))
        """,
    )
    assert ended.returncode == 0, ended.stderr
    assert int(ended.stdout) <= 4


def test_a_fork_bomb_meets_its_limit_and_leaves_nothing_behind(
    wall: Wall, interpreter: Interpreter, tmp_path: Path
) -> None:
    room = tmp_path / "room"
    room.mkdir()
    room.chmod(0o777)
    ended = python(
        wall,
        interpreter,
        """
        import os, time
        count = 0
        try:
            while count < 200:
                if os.fork() == 0:
                    os.setsid()
                    while True:
                        with open(f"/kgrade/room/{os.getpid()}", "a") as beat:
                            beat.write("x")
                        time.sleep(0.2)
                count += 1
        except OSError:
            print(count, flush=True)
        time.sleep(0.5)
        os._exit(0)
        """,
        Limits(wall_s=20, processes=30),
        (Bind(room, Path("/kgrade/room"), writable=True),),
    )
    assert ended.returncode == 0, ended.stderr
    assert 0 < int(ended.stdout) < 30
    before = {path.name: path.stat().st_size for path in room.iterdir()}
    assert before
    time.sleep(0.5)
    assert {path.name: path.stat().st_size for path in room.iterdir()} == before


@pytest.mark.parametrize("kind", ["bubblewrap", "kernel"])
def test_a_memory_hog_dies_and_says_why(kind: str, interpreter: Interpreter, request: pytest.FixtureRequest) -> None:
    wall = request.getfixturevalue("wall") if kind == "bubblewrap" else sandbox.without_bubblewrap("not wanted here")
    code = "hog = bytearray(400 << 20); import time; time.sleep(15)"
    ended = python(wall, interpreter, code, Limits(wall_s=20, memory_bytes=150 << 20))
    assert ended.stopped_by is not None
    assert ended.stopped_by.startswith("memory limit: ")
    assert "150 MiB allowed" in ended.stopped_by
    assert ended.seconds < 10


def test_memory_shared_after_a_fork_counts_once(wall: Wall, interpreter: Interpreter) -> None:
    code = """
    import os, time
    block = b"x" * (80 << 20)
    children = []
    for _ in range(6):
        child = os.fork()
        if child == 0:
            time.sleep(0.6)
            os._exit(0)
        children.append(child)
    for child in children:
        os.waitpid(child, 0)
    """
    ended = python(wall, interpreter, code, Limits(wall_s=20, memory_bytes=300 << 20))
    assert (ended.returncode, ended.stopped_by) == (0, None)


@pytest.mark.parametrize("kind", ["bubblewrap", "kernel"])
def test_what_never_ends_is_ended(kind: str, interpreter: Interpreter, request: pytest.FixtureRequest) -> None:
    wall = request.getfixturevalue("wall") if kind == "bubblewrap" else sandbox.without_bubblewrap("not wanted here")
    code = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(60)"
    ended = python(wall, interpreter, code, Limits(wall_s=0.5))
    assert ended.stopped_by == "time limit: 0.5 s of wall time"
    assert ended.seconds < 10


def test_output_is_kept_to_its_cap_and_files_to_their_size(wall: Wall, interpreter: Interpreter) -> None:
    code = """
    import os, sys
    sys.stdout.write("y" * 300000)
    try:
        with open(os.environ["HOME"] + "/big", "wb", buffering=0) as big:
            for _ in range(100):
                big.write(b"x" * (1 << 20))
    except OSError as error:
        sys.stderr.write(error.strerror)
    """
    ended = python(wall, interpreter, code, Limits(wall_s=20, output_bytes=1000, file_bytes=5 << 20))
    assert ended.returncode == 0, ended.stderr
    assert len(ended.stdout) < 1100
    assert b"the limit is 1000 bytes" in ended.stdout
    assert b"File too large" in ended.stderr


def test_without_bubblewrap_the_wall_says_what_it_lacks() -> None:
    bare = sandbox.without_bubblewrap("not installed")
    assert not bare.moves_paths
    assert "bubblewrap: not installed" in bare.lacks
    assert any(lack.startswith("disk:") for lack in bare.lacks)
    assert any(lack.startswith("files:") for lack in bare.lacks)
    ended = sandbox.run(
        bare, ["/bin/sh", "-c", "ulimit -n; ulimit -c; grep NoNewPrivs /proc/self/status"], limits=SMALL
    )
    assert ended.stdout.split() == [b"1024", b"0", b"NoNewPrivs:", b"1"], ended.stderr


def test_an_ordinary_user_gets_the_same_wall() -> None:
    system = "/usr/bin/python3"
    if os.getuid() != 0 or shutil.which("bwrap") is None or not Path(system).exists():
        pytest.skip("needs root to become another user, bubblewrap, and /usr/bin/python3")
    code = f"""
import sys; sys.path.insert(0, {str(ROOT)!r})
try:
    from kgrade.harness import sandbox
except ImportError as error:
    print("unusable", error); raise SystemExit
wall = sandbox.find_wall()
attack = "id -u; ls /root; touch /usr/x; cat /proc/1/environ | tr '\\\\0' ' '"
ended = sandbox.run(wall, ["/bin/sh", "-c", attack])
print(wall.name, ended.stdout, ended.stderr)
"""
    user = ["setpriv", "--reuid=61000", "--regid=61000", "--clear-groups", "--"]
    environment = {"PATH": "/usr/bin:/bin", "TMPDIR": "/tmp", "KGRADE_TEST_TOKEN": "hunter2"}
    said = subprocess.run(
        [*user, system, "-B", "-c", code], env=environment, cwd="/", capture_output=True, text=True, check=False
    )
    if said.stdout.startswith("unusable") or sys.version_info < (3, 11):
        pytest.skip(f"/usr/bin/python3 cannot import the sandbox: {said.stdout}")
    if "bubblewrap" not in said.stdout:
        pytest.skip(f"this kernel gives ordinary users no namespaces: {said.stdout}")
    assert "65534" in said.stdout, said.stderr
    assert "cannot open directory" in said.stdout or "No such file" in said.stdout
    assert "Read-only file system" in said.stdout
    assert "hunter2" not in said.stdout
