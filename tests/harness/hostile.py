"""A submission that attacks: one function for each attack, with the standard library only.

An attack that gets what it wants returns; one that is refused raises what the system said. Nothing in here may do
lasting harm where it succeeds, for behind the weaker wall some do.
"""

import ctypes
import itertools
import json
import mmap
import os
import pathlib
import signal
import socket
import threading
import time

AIMS = json.loads((pathlib.Path(__file__).parent / "aims.json").read_text())
MIB = 1 << 20


def honest(x):
    return 2 * x


def write_outside(x):
    pathlib.Path(AIMS["outside"], "planted").write_text("was here")


def read_oracle(x):
    pathlib.Path(AIMS["oracle"]).read_text()


def network(x):
    socket.create_connection(("127.0.0.1", AIMS["port"]), timeout=5).sendall(b"out")


def fork_bomb(x):
    pathlib.Path("/proc/self/comm").write_text(AIMS["token"])
    for _ in range(2000):
        if os.fork() == 0:
            time.sleep(60)
            os._exit(0)


def memory(x):
    kept = bytearray(400 * MIB)
    time.sleep(60)
    return kept


def memory_unmapped(x):
    kept = os.memfd_create("hoard")
    for _ in range(400):
        os.write(kept, bytes(MIB))
    time.sleep(60)


def memory_dropped(x):
    kept = mmap.mmap(-1, 400 * MIB)
    for place in range(0, 400 * MIB, MIB):
        kept[place : place + MIB] = bytes(MIB)
        kept.madvise(mmap.MADV_DONTNEED)
    time.sleep(60)


def memory_system_v(x):
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.shmget(0, 64 * MIB, 0o1600) < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def fill_disk(x):
    for number in range(24):
        with open(os.path.join(os.environ["TMPDIR"], str(number)), "wb") as file:
            file.write(bytes(4 * MIB))


def kill_parent(x):
    parent = os.getppid()
    os.kill(parent, signal.SIGKILL)
    time.sleep(0.2)
    if os.getppid() == parent:
        raise PermissionError("the parent does not die")


def forge_result(x):
    packet = json.dumps({"nonce": "0" * 32, "number": 3, "outputs": [], "seconds": 0.0}).encode()
    for descriptor in range(3, 4096):
        try:
            os.write(descriptor, packet)
        except OSError:
            continue
    time.sleep(60)


def exit_early(x):
    os._exit(0)


def patch_timers(x):
    time.sleep(0.02)
    frozen = time.perf_counter_ns()
    for name in ("perf_counter", "monotonic", "time", "process_time"):
        setattr(time, name, lambda: frozen / 1e9)
        setattr(time, name + "_ns", lambda: frozen)
    return 2 * x


def leave_thread(x):
    if threading.active_count() == 1:
        threading.Thread(target=lambda: all(True for _ in itertools.count()), daemon=True).start()
    return 2 * x


def read_environment(x):
    for process in pathlib.Path("/proc").glob("[0-9]*/environ"):
        try:
            if b"hunter2" in process.read_bytes():
                return
        except OSError:
            continue
    os.environ["KGRADE_TEST_TOKEN"]
