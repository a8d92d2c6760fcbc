"""What the driver says of this machine's GPUs, through NVIDIA's management library; nothing is ever set by it.

Names, numbers and structures: the NVML API reference, driver release 535 and later.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

LIBRARY = "libnvidia-ml.so.1"
NAME_BYTES = 96
MOST_PROCESSES = 256
NOT_AVAILABLE = 2**64 - 1
_SM, _MEMORY = 1, 2
_CORE = 0

# nvmlClocksThrottleReasons that lower a clock under load; idleness and chosen application clocks do not count.
THROTTLES = {
    0x04: "power cap",
    0x08: "hardware slowdown",
    0x20: "software thermal slowdown",
    0x40: "hardware thermal slowdown",
    0x80: "power brake",
}


@dataclass(frozen=True)
class Gpu:
    """One GPU, or one MIG instance of it. `uuid` is what CUDA_VISIBLE_DEVICES takes, `index` is the board's.

    `minor` is the number of the board's node below /dev. In a container that was lent one board of several, its index
    is 0 and its node keeps the number that it has on the host.
    """

    uuid: str
    name: str
    capability: tuple[int, int]
    driver: str
    index: int = 0
    minor: int = 0


@dataclass(frozen=True)
class State:
    """One look at a GPU: clocks in MHz, degrees Celsius, watts, throttle reasons as bits, memory by process in bytes.

    What the driver does not tell is None; a process whose memory it does not tell holds 0 bytes.
    """

    sm_mhz: int | None
    sm_most_mhz: int | None
    memory_mhz: int | None
    celsius: int | None
    watts: float | None
    throttle: int | None
    processes: dict[int, int] = field(default_factory=dict)

    @property
    def throttled_by(self) -> tuple[str, ...]:
        """Name what holds the clocks down."""
        return tuple(name for bit, name in THROTTLES.items() if (self.throttle or 0) & bit)


class _Process(ctypes.Structure):
    _fields_ = (
        ("pid", ctypes.c_uint),
        ("used", ctypes.c_ulonglong),
        ("gpu_instance", ctypes.c_uint),
        ("compute_instance", ctypes.c_uint),
    )


class Nvml:
    """The library, open. `None` from `opened` means that no driver is here or that it does not work."""

    def __init__(self, library: ctypes.CDLL) -> None:
        self._library = library

    @classmethod
    def opened(cls, library: str = LIBRARY) -> Nvml | None:
        """Load and start `library`."""
        try:
            found = ctypes.CDLL(library)
            started = found.nvmlInit_v2()
        except (OSError, AttributeError):
            return None
        return cls(found) if started == 0 else None

    def gpus(self) -> list[Gpu]:
        """Return every GPU; one that is divided (MIG) by its instances."""
        driver = self._text("nvmlSystemGetDriverVersion") or "of unknown version"
        return [
            gpu for index in range(self._number("nvmlDeviceGetCount_v2") or 0) for gpu in self._board(index, driver)
        ]

    def state(self, gpu: Gpu) -> State:
        """Look at `gpu` now."""
        board = self._handle("nvmlDeviceGetHandleByIndex_v2", ctypes.c_uint(gpu.index))
        own = self._handle("nvmlDeviceGetHandleByUUID", gpu.uuid.encode()) or board
        milliwatts = self._number("nvmlDeviceGetPowerUsage", board)
        return State(
            sm_mhz=self._number("nvmlDeviceGetClockInfo", board, _SM),
            sm_most_mhz=self._number("nvmlDeviceGetMaxClockInfo", board, _SM),
            memory_mhz=self._number("nvmlDeviceGetClockInfo", board, _MEMORY),
            celsius=self._number("nvmlDeviceGetTemperature", board, _CORE),
            watts=None if milliwatts is None else milliwatts / 1000,
            throttle=self._number("nvmlDeviceGetCurrentClocksThrottleReasons", board, kind=ctypes.c_ulonglong),
            processes=self._processes(own),
        )

    def _board(self, index: int, driver: str) -> Iterator[Gpu]:
        board = self._handle("nvmlDeviceGetHandleByIndex_v2", ctypes.c_uint(index))
        major, minor = ctypes.c_int(), ctypes.c_int()
        if not self._ask("nvmlDeviceGetCudaComputeCapability", board, ctypes.byref(major), ctypes.byref(minor)):
            return
        name = self._text("nvmlDeviceGetName", board) or "GPU of unknown name"
        node = self._number("nvmlDeviceGetMinorNumber", board)
        instances: list[ctypes.c_void_p | None] = [*self._instances(board)]
        for handle in instances or [board]:
            uuid = self._text("nvmlDeviceGetUUID", handle)
            if uuid:
                yield Gpu(uuid, name, (major.value, minor.value), driver, index, index if node is None else node)

    def _instances(self, board: ctypes.c_void_p | None) -> list[ctypes.c_void_p]:
        now, pending = ctypes.c_uint(), ctypes.c_uint()
        if not self._ask("nvmlDeviceGetMigMode", board, ctypes.byref(now), ctypes.byref(pending)) or not now.value:
            return []
        most = self._number("nvmlDeviceGetMaxMigDeviceCount", board) or 0
        every = (self._handle("nvmlDeviceGetMigDeviceHandleByIndex", board, ctypes.c_uint(at)) for at in range(most))
        return [each for each in every if each is not None]

    def _processes(self, handle: ctypes.c_void_p | None) -> dict[int, int]:
        count, room = ctypes.c_uint(MOST_PROCESSES), (_Process * MOST_PROCESSES)()
        if not self._ask("nvmlDeviceGetComputeRunningProcesses_v3", handle, ctypes.byref(count), room):
            return {}
        return {each.pid: 0 if each.used == NOT_AVAILABLE else each.used for each in room[: count.value]}

    def _handle(self, function: str, *arguments: Any) -> ctypes.c_void_p | None:
        handle = ctypes.c_void_p()
        return handle if self._ask(function, *arguments, ctypes.byref(handle)) else None

    def _number(self, function: str, *arguments: Any, kind: Any = ctypes.c_uint) -> int | None:
        value = kind()
        return int(value.value) if self._ask(function, *arguments, ctypes.byref(value)) else None

    def _text(self, function: str, *arguments: Any) -> str | None:
        room = ctypes.create_string_buffer(NAME_BYTES)
        if not self._ask(function, *arguments, room, ctypes.c_uint(NAME_BYTES)):
            return None
        return room.value.decode(errors="replace")

    def _ask(self, function: str, *arguments: Any) -> bool:
        """Call; a driver too old to have the function, or a device that lacks what it asks for, answers False."""
        try:
            called = getattr(self._library, function)
        except AttributeError:
            return False
        return int(called(*arguments)) == 0
