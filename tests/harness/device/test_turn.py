"""One turn per GPU and machine: in order, between processes, and not held by the dead."""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path

import pytest

from kgrade.harness.device.turn import NoTurn, turn

HOLDER = """
import sys
from pathlib import Path
from kgrade.harness.device.turn import turn
with turn("GPU-1", lambda pid, place: None, Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.readline()
"""
WAIT_S = 60


class GivenUp(Exception):
    pass


def holder(folder: Path) -> subprocess.Popen[str]:
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(folder)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    return process


def never(pid: int, place: int) -> None:
    raise GivenUp(f"process {pid}, place {place}")


def test_a_second_process_waits_and_is_told_for_whom(tmp_path: Path) -> None:
    process = holder(tmp_path)
    try:
        with pytest.raises(GivenUp, match=f"process {process.pid}, place 1"), turn("GPU-1", never, tmp_path):
            pytest.fail("two had the device at once")
        with turn("GPU-2", never, tmp_path):
            pass  # another device is free
        process.communicate("\n", timeout=WAIT_S)
        with turn("GPU-1", never, tmp_path):
            pass
    finally:
        process.kill()
        process.wait()


def test_one_that_was_killed_does_not_keep_the_device(tmp_path: Path) -> None:
    process = holder(tmp_path)
    process.kill()
    process.communicate(timeout=WAIT_S)
    with turn("GPU-1", never, tmp_path):
        tickets = [each.name for each in (tmp_path / "kgrade-GPU-1").iterdir() if each.name != "order"]
        assert len(tickets) == 1, "what the dead left is cleared away"


def test_turns_are_taken_in_order_and_one_at_a_time(tmp_path: Path) -> None:
    log: list[str] = []
    places: dict[str, int] = {}
    begun = {name: threading.Event() for name in "abc"}

    def take(name: str) -> None:
        def waiting(pid: int, place: int) -> None:
            places.setdefault(name, place)
            begun[name].set()

        with turn("GPU-1", waiting, tmp_path):
            log.append(f"{name} has it")
            log.append(f"{name} leaves")

    threads = []
    with turn("GPU-1", never, tmp_path):
        for name in "abc":
            thread = threading.Thread(target=take, args=(name,))
            thread.start()
            threads.append(thread)
            assert begun[name].wait(WAIT_S)
    for thread in threads:
        thread.join(WAIT_S)
    assert log == [f"{name} {what}" for name in "abc" for what in ("has it", "leaves")]
    assert places == {"a": 1, "b": 2, "c": 3}


def test_a_folder_that_cannot_be_used_is_named(tmp_path: Path) -> None:
    (tmp_path / "kgrade-GPU-1").write_text("in the way")
    with pytest.raises(NoTurn, match="kgrade-GPU-1"), turn("GPU-1", never, tmp_path):
        pytest.fail("no turn can be had here")
