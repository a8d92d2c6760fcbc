"""Which GPUs are here, which of them a target is run on, and what is seen of one while it is used."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from kgrade.harness.device.gpus import driver_folders, find_gpus, gpu_for, nodes
from kgrade.harness.device.nvml import Gpu, Nvml
from kgrade.harness.device.observer import Observer
from kgrade.harness.sandbox import Bind, find_wall, run
from tests.harness.device.conftest import Driver

OLD = Gpu("GPU-0", "NVIDIA H200", (8, 0), "575.57.08", 0, 0)
NEW = Gpu("GPU-1", "NVIDIA H200", (9, 0), "575.57.08", 1, 1)


def test_every_gpu_is_told_with_its_architecture(driver: Driver) -> None:
    assert find_gpus(driver.opened(), {}) == (OLD, NEW)
    assert gpu_for("sm_90", (OLD, NEW)) == NEW
    assert gpu_for("sm_80", (OLD, NEW)) == OLD
    assert gpu_for("sm_100", (OLD, NEW)) is None
    assert gpu_for("cpu", (OLD, NEW)) is None
    assert gpu_for("gfx90a", (OLD, NEW)) is None, "a capability of 9.0 that is another maker's"
    assert gpu_for("of-the-site", (OLD, NEW)) is None


def test_only_what_the_person_left_visible_is_used(driver: Driver) -> None:
    nvml = driver.opened()
    for visible, expected in (("1", (NEW,)), ("1,0", (NEW, OLD)), ("GPU-0", (OLD,)), ("", ()), ("7,0", ())):
        assert find_gpus(nvml, {"CUDA_VISIBLE_DEVICES": visible}) == expected, visible


def test_a_divided_gpu_is_told_by_its_instances(driver: Driver) -> None:
    driver.tell("divided", 2)
    found = find_gpus(driver.opened(), {})
    assert [(gpu.uuid, gpu.index) for gpu in found] == [("GPU-0", 0), ("MIG-0", 1), ("MIG-1", 1)]
    assert {gpu.capability for gpu in found[1:]} == {(9, 0)}


def test_without_a_driver_there_is_no_gpu(driver: Driver, tmp_path: Path) -> None:
    assert Nvml.opened(str(tmp_path / "none.so")) is None
    assert find_gpus(None, {}) == ()
    driver.tell("boards", -1)
    assert Nvml.opened(str(driver.file)) is None, "the library is there, and the driver does not answer"


def test_what_is_seen_of_a_device_while_it_is_used(driver: Driver) -> None:
    driver.tell("process", os.getpid(), 1 << 30)
    observer = Observer(driver.opened(), NEW, family=list)
    observer.begin()
    driver.tell("clock", 1200)
    before, deadline = driver.asked, time.monotonic() + 60
    while driver.asked < before + 3 and time.monotonic() < deadline:
        time.sleep(0.01)
    driver.tell("clock", 1980)
    seen = observer.end()
    assert seen.looks == driver.asked >= 5
    assert seen.doubts == []
    assert seen.sm_mhz == (1200, 1980)
    assert seen.clocks == (
        f"SM 1200 to 1980 of 1980 MHz, memory 3201 MHz, 41 °C, 120 W, not throttled, {seen.looks} looks"
    )


@pytest.mark.parametrize(
    ("bits", "words"),
    [
        (0x01, None),  # idle
        (0x02, None),  # clocks that someone chose
        (0x04, "power cap"),
        (0x48, "hardware slowdown, hardware thermal slowdown"),
        (0x20, "software thermal slowdown"),
        (0x80, "power brake"),
    ],
)
def test_what_holds_the_clocks_down_is_named(driver: Driver, bits: int, words: str | None) -> None:
    driver.tell("throttle", bits)
    observer = Observer(driver.opened(), NEW, family=list)
    observer.begin()
    seen = observer.end()
    assert seen.doubts == ([f"the clocks were held down by {words}"] if words else [])


def test_other_processes_are_named_where_they_can_be_told_apart(driver: Driver) -> None:
    observer = Observer(driver.opened(), NEW, family=lambda: [4242])
    driver.tell("process", 77, 1 << 30)
    observer.begin()
    assert observer.end().doubts == [], "none of its numbers is ours: they may be those of the host"
    driver.tell("process", 4242, 1 << 30)
    observer.begin()
    assert observer.end().doubts == ["other processes used the device: 77"]


def test_a_board_keeps_the_number_of_its_node_where_others_are_hidden(driver: Driver, tmp_path: Path) -> None:
    driver.tell("minors", 5)
    first, second = find_gpus(driver.opened(), {})
    assert [(gpu.index, gpu.minor) for gpu in (first, second)] == [(0, 5), (1, 6)]
    (tmp_path / "nvidia5").touch()
    assert nodes(first, tmp_path) == [tmp_path / "nvidia5"]
    assert nodes(second, tmp_path) == []


def test_the_drivers_library_is_found_where_the_person_leads_to_it(tmp_path: Path) -> None:
    (tmp_path / "driver").mkdir()
    (tmp_path / "driver" / "libcuda.so.1").touch()
    (tmp_path / "other").mkdir()
    led = {"LD_LIBRARY_PATH": f"{tmp_path}/other:{tmp_path}/driver::relative:{tmp_path}/driver:{tmp_path}/gone"}
    assert driver_folders(led) == [tmp_path / "driver"]
    assert driver_folders({}) == []


def test_the_nodes_of_one_device_reach_behind_the_wall(tmp_path: Path) -> None:
    for name in ("nvidia0", "nvidia1", "nvidiactl", "nvidia-uvm"):
        (tmp_path / name).touch()
    found = nodes(NEW, tmp_path)
    assert [node.name for node in found] == ["nvidia1", "nvidiactl", "nvidia-uvm"]
    wall = find_wall()
    if not wall.moves_paths:
        pytest.skip("needs bwrap: without it every node is visible")
    inside = Path("/kgrade-node")  # a real device node crosses as one: what is written to it goes nowhere
    ended = run(
        wall, ["sh", "-c", f"echo x > {inside} && cat {inside}"], binds=[Bind(Path("/dev/null"), inside, node=True)]
    )
    assert (ended.returncode, ended.stdout) == (0, b""), ended.stderr
    plain = run(wall, ["sh", "-c", f"echo x > {inside}"], binds=[Bind(Path("/dev/null"), inside)])
    assert plain.returncode != 0, "bound without its node a device cannot be opened for writing"
