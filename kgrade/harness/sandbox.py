"""The wall around code from a queue: what a process behind it sees, and the limits at which it dies.

With bubblewrap the process gets a read-only system, a private /tmp and HOME, no network, its own process ids and only
the folders that are named. Without it the kernel's own limits remain, and `Wall.lacks` says what they do not cover.
An address-space limit is never set (CUDA reserves far more than it uses): memory is watched instead.
"""

from __future__ import annotations

import json
import os
import secrets
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from kgrade.harness import syscalls
from kgrade.harness.footprint import sees_mappings
from kgrade.harness.watchdog import Limits, Watchdog

SYSTEM = ("/etc/alternatives", "/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/localtime")
SANDBOX_UIDS = (61184, 65519)  # the range that systemd keeps for short-lived users: no account lives there
INSIDE_UID = 65534
AS_ROOT = "user: runs as root without capabilities, because no other user can reach this Python"
BARE = {"PATH": "/usr/local/bin:/usr/bin:/bin"}
DROPPED = ("--bounding-set=-all", "--inh-caps=-all", "--no-new-privs")


@dataclass(frozen=True)
class Bind:
    """A file or folder that is visible behind the wall: `source` outside, `target` inside; `node`: a device's node."""

    source: Path
    target: Path
    writable: bool = False
    node: bool = False


@dataclass(frozen=True)
class Wall:
    """How a process is shut in. `name` and `lacks` are recorded in the evidence.

    Without `bubblewrap`, `spaces` is the command that puts it into namespaces of its own, where the kernel allows it.
    """

    name: str
    lacks: tuple[str, ...]
    bubblewrap: str | None
    spaces: tuple[str, ...] = ()

    @property
    def moves_paths(self) -> bool:
        """Whether a bind's target is what the process sees; without a mount namespace it sees the source."""
        return self.bubblewrap is not None


UNFILTERED = "memory: System V shared memory, and files under way in sockets, are not counted"
WITHOUT_BUBBLEWRAP = (
    "files: the whole file system can be read, and written where this user may",
    "disk: /tmp is that of the machine, each file up to its limit",
    UNFILTERED,
)
WITHOUT_NAMESPACES = (
    "network: not cut off",
    "processes: one that leaves its session can outlive the run",
    "processes: it may signal every process of its user",
)
NAMESPACES = ("unshare", "--pid", "--fork", "--kill-child", "--mount-proc", "--net", "--ipc", "--uts")


def find_wall() -> Wall:
    """Return the strongest wall that works on this machine (bubblewrap is tried, not just looked up)."""
    bubblewrap = shutil.which("bwrap")
    if bubblewrap is None:
        return without_bubblewrap("not installed")
    try:
        lacks = _unwatched() if syscalls.known() else (*_unwatched(), UNFILTERED)
        wall = Wall(f"bubblewrap {_version(bubblewrap)}", lacks, bubblewrap)
        ended = run(wall, ["/usr/bin/env", "true"], limits=Limits(wall_s=20))
    except (OSError, subprocess.TimeoutExpired) as error:
        return without_bubblewrap(f"does not start: {error}")
    if ended.returncode != 0:
        said = ended.stderr.decode(errors="replace").strip()
        return without_bubblewrap(f"does not work here: {said or f'exit status {ended.returncode}'}")
    return wall


def without_bubblewrap(why: str) -> Wall:
    """Return the wall that the kernel alone offers; `why` bubblewrap cannot be had is recorded with what is lacking."""
    lacks = [*WITHOUT_BUBBLEWRAP, f"bubblewrap: {why}", *_unwatched()]
    root = os.getuid() == 0
    spaces: tuple[str, ...] = NAMESPACES if root else (*NAMESPACES, "--user", "--map-current-user")
    if not _works([*spaces, "true"]):
        spaces = ()
        lacks += WITHOUT_NAMESPACES
    if root and not _works([*_as_uid(_fresh_uid()), *_limit_command(Limits()), sys.executable, "-I", "-c", ""]):
        lacks.append(AS_ROOT)
    name = "namespaces, rlimits, no-new-privileges" if spaces else "rlimits, no-new-privileges"
    return Wall(name, tuple(lacks), None, spaces)


def _works(command: Sequence[str]) -> bool:
    try:
        tried = subprocess.run(command, cwd="/", env=BARE, capture_output=True, check=False, timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return tried.returncode == 0


def _unwatched() -> tuple[str, ...]:
    """Say what the watchdog cannot see: children without CONFIG_PROC_CHILDREN, others' mappings as a plain user."""
    unseen = []
    if not Path("/proc/thread-self/children").exists():
        unseen.append("memory: only the first process is watched")
    if not sees_mappings():
        unseen.append("memory: shared pages that a process has dropped from its page table are not counted")
    return tuple(unseen)


def _version(bubblewrap: str) -> str:
    said = subprocess.run([bubblewrap, "--version"], capture_output=True, text=True, check=False, timeout=10)
    return said.stdout.removeprefix("bubblewrap").strip() or "of unknown version"


@dataclass(frozen=True)
class Ended:
    """How a process ended. `stopped_by` names the limit that killed it, in words, or is None."""

    returncode: int
    stdout: bytes
    stderr: bytes
    seconds: float
    stopped_by: str | None = None


@dataclass
class Shut:
    """A running process behind the wall, its watchdog, and what it has printed so far."""

    process: subprocess.Popen[bytes]
    watchdog: Watchdog
    home: Path
    started: float
    output: dict[str, bytearray] = field(default_factory=dict)
    readers: list[threading.Thread] = field(default_factory=list)

    def ends_within(self, seconds: float) -> bool:
        """Wait up to `seconds` for the process to end by itself; it is not yet cleaned up after."""
        deadline = time.monotonic() + seconds
        how = os.WEXITED | os.WNOWAIT | os.WNOHANG
        while os.waitid(os.P_PID, self.process.pid, how) is None:
            if time.monotonic() >= deadline:
                return False
            time.sleep(0.01)
        return True

    def kill(self) -> None:
        """End the process and everything it started."""
        self.watchdog.kill()

    def wait(self) -> Ended:
        """Wait until the process is gone (a limit ends it at the latest) and clean up after it."""
        os.waitid(os.P_PID, self.process.pid, os.WEXITED | os.WNOWAIT)  # its id stays taken until the group is gone
        seconds = time.monotonic() - self.started
        self.watchdog.finish()
        returncode = self.process.wait()
        for reader in self.readers:
            reader.join(timeout=5)
        shutil.rmtree(self.home, ignore_errors=True)
        return Ended(
            returncode,
            bytes(self.output["stdout"]),
            bytes(self.output["stderr"]),
            seconds,
            self.watchdog.stopped_by,
        )


def run(
    wall: Wall,
    command: Sequence[str],
    *,
    binds: Sequence[Bind] = (),
    limits: Limits | None = None,
    environment: dict[str, str] | None = None,
    directory: Path | None = None,
) -> Ended:
    """Run `command` behind the wall to its end. `directory` is a path as the command sees it."""
    return start(
        wall, command, binds=binds, limits=limits or Limits(), environment=environment, directory=directory
    ).wait()


def start(
    wall: Wall,
    command: Sequence[str],
    *,
    binds: Sequence[Bind] = (),
    limits: Limits,
    environment: dict[str, str] | None = None,
    directory: Path | None = None,
    keep_open: Sequence[int] = (),
) -> Shut:
    """Start `command` behind the wall; the file descriptors in `keep_open` cross it under their own numbers.

    Without bubblewrap a bind's target does not exist: the caller names sources in `command` instead.
    """
    home = Path(tempfile.mkdtemp(prefix="kgrade-home-"))
    inside = {**BARE, "LANG": "C.UTF-8", "PYTHONDONTWRITEBYTECODE": "1"}
    place = "/tmp" if wall.moves_paths else str(home)
    inside |= {"HOME": place, "TMPDIR": place, **(environment or {})}
    handed = list(keep_open)
    if wall.bubblewrap is not None:
        filtered = _filter()
        handed += filtered
        full = [*_bubblewrap(wall.bubblewrap, binds, limits, inside, directory, filtered), *command]
        outer = BARE
        where = None
    else:
        full = [*_drop_privileges(wall, limits, home), *command]
        outer = inside
        where = str(directory or home)
    try:
        process = subprocess.Popen(
            full,
            env=outer,
            cwd=where,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            pass_fds=tuple(handed),
            start_new_session=True,
        )
    finally:
        for descriptor in handed[len(keep_open) :]:
            os.close(descriptor)
    shut = Shut(process, Watchdog(process.pid, limits), home, time.monotonic())
    _collect_output(shut, limits)
    shut.watchdog.start()
    return shut


def _collect_output(shut: Shut, limits: Limits) -> None:
    for name, stream in (("stdout", shut.process.stdout), ("stderr", shut.process.stderr)):
        assert stream is not None
        kept = shut.output.setdefault(name, bytearray())
        reader = threading.Thread(target=_drain, args=(stream.fileno(), kept, limits.output_bytes), daemon=True)
        shut.readers.append(reader)
        reader.start()


def _drain(descriptor: int, kept: bytearray, cap: int) -> None:
    """Read everything, so that the writer never blocks, and keep the first `cap` bytes."""
    while True:
        try:
            data = os.read(descriptor, 65536)
        except OSError:
            return
        if not data:
            return
        room = cap - len(kept)
        kept += data[: max(room, 0)]
        if 0 <= room < len(data):
            kept += b"\n[output cut here: the limit is %d bytes]\n" % cap


def _limit_command(limits: Limits) -> list[str]:
    return [
        "prlimit",
        f"--nproc={limits.processes}",
        f"--nofile={limits.open_files}",
        f"--fsize={limits.file_bytes}",
        f"--cpu={limits.cpu_s}",
        "--core=0",
        "--",
    ]


def _drop_privileges(wall: Wall, limits: Limits, home: Path) -> list[str]:
    """Return the command prefix that limits a process without bubblewrap; as root it also gives up the uid."""
    if os.getuid() != 0:
        return [*wall.spaces, "setpriv", "--no-new-privs", "--", *_limit_command(limits)]
    if AS_ROOT in wall.lacks:
        return [*wall.spaces, "setpriv", *DROPPED, "--", *_limit_command(limits)]
    uid = _fresh_uid()
    os.chown(home, uid, uid)
    return [*wall.spaces, *_as_uid(uid), *_limit_command(limits)]


def _as_uid(uid: int) -> list[str]:
    """Root is exempt from the process limit, so the uid is given up for good before the limit is set."""
    return ["setpriv", f"--reuid={uid}", f"--regid={uid}", "--clear-groups", *DROPPED, "--"]


def _fresh_uid() -> int:
    """Draw a uid of its own for each run: the kernel counts processes per uid, over all runs together."""
    low, high = SANDBOX_UIDS
    return low + secrets.randbelow(high - low + 1)


def _bubblewrap(
    bubblewrap: str,
    binds: Sequence[Bind],
    limits: Limits,
    environment: dict[str, str],
    directory: Path | None,
    filtered: Sequence[int],
) -> list[str]:
    root = os.getuid() == 0
    spaces = ["--unshare-ipc", "--unshare-pid", "--unshare-net", "--unshare-uts"]
    if root:
        for capability in ("CAP_SETUID", "CAP_SETGID", "CAP_SETPCAP"):
            spaces += ["--cap-add", capability]
        inner = [*_as_uid(_fresh_uid()), *_limit_command(limits)]
    else:
        spaces = ["--unshare-all", "--cap-drop", "ALL", "--uid", str(INSIDE_UID), "--gid", str(INSIDE_UID)]
        inner = _limit_command(limits)
    size = str(limits.scratch_bytes)
    scratch = ["--perms", "1777", "--size", size, "--tmpfs"]
    command = [bubblewrap, *spaces, "--die-with-parent", "--new-session"]
    command += [*_system(), "--proc", "/proc", "--dev", "/dev", *scratch, "/dev/shm", *scratch, "/tmp"]
    made = {Path("/"), Path("/usr"), Path("/tmp"), Path("/etc"), Path("/dev"), Path("/proc")}
    for bind in sorted(binds, key=lambda bind: len(bind.target.parts)):
        command += _parents(bind.target, made)
        how = "--dev-bind" if bind.node else "--bind" if bind.writable else "--ro-bind"
        command += [how, str(bind.source), str(bind.target)]
    command += ["--chdir", str(directory or "/tmp")]
    command += [argument for descriptor in filtered for argument in ("--seccomp", str(descriptor))]
    for name, value in environment.items():
        command += ["--setenv", name, value]
    return [*command, "--", *inner]


def _filter() -> list[int]:
    """Return a descriptor with the filter on system calls, or nothing where there is none for this machine."""
    if not syscalls.known():
        return []
    descriptor = os.memfd_create("kgrade-filter")
    os.write(descriptor, syscalls.refusing((*syscalls.IPC, "memfd_create")))
    os.lseek(descriptor, 0, os.SEEK_SET)
    return [descriptor]


def _system() -> list[str]:
    """Return the arguments that show the read-only system: /usr, the links into it, the loader's cache."""
    arguments = ["--ro-bind", "/usr", "/usr"]
    for name in ("bin", "sbin", "lib", "lib32", "lib64", "libx32"):
        path = Path("/", name)
        if path.is_symlink():
            arguments += ["--symlink", os.readlink(path), str(path)]
        elif path.is_dir():
            arguments += ["--ro-bind", str(path), str(path)]
    arguments += ["--perms", "0755", "--dir", "/etc"]
    for file in SYSTEM:
        arguments += ["--ro-bind-try", file, file]
    return arguments


def _parents(target: Path, made: set[Path]) -> list[str]:
    """Return what makes the folders above `target`: left to itself, bubblewrap makes them readable by root only."""
    arguments = []
    for parent in reversed(target.parents):
        if parent not in made and Path("/usr") not in parent.parents:
            arguments += ["--perms", "0755", "--dir", str(parent)]
        made.add(parent)
    return arguments


@dataclass(frozen=True)
class Interpreter:
    """A Python that runs workers: its executable, the folders it needs, and its import path."""

    executable: str
    folders: tuple[Path, ...]
    path: tuple[str, ...]


_ASK = (
    "import json, sys, sysconfig; print(json.dumps({'executable': sys.executable, "
    "'folders': [sys.prefix, sys.base_prefix, sys.exec_prefix], 'path': [p for p in sys.path if p]}))"
)


def find_interpreter(executable: str = sys.executable) -> Interpreter:
    """Ask `executable` where it lives. It is named by the person's own settings, so it is trusted to answer."""
    clean = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
    said = subprocess.run(
        [executable, "-B", "-c", _ASK], env=clean, cwd="/", capture_output=True, text=True, check=True, timeout=60
    )
    facts = json.loads(said.stdout)
    roots = {Path(name) for name in facts["folders"]} | {Path(os.path.realpath(facts["executable"])).parents[1]}
    roots |= {Path(name) for name in facts["path"] if Path(name).is_dir()}
    outermost = {root for root in roots if not any(other in root.parents for other in roots)}
    return Interpreter(
        facts["executable"],
        tuple(sorted(root for root in outermost if root != Path("/usr") and Path("/usr") not in root.parents)),
        tuple(facts["path"]),
    )
