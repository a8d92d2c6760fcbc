"""How much memory a group of processes holds: what is resident, and shared memory that no process has mapped in.

Resident memory alone can be fooled: a memfd that is written and never mapped, or shared pages that are dropped from
the page table, stay in memory and in nobody's resident set. Both belong to a file of the kernel's own shared-memory
mount, so each such file is looked for among descriptors and mappings and counted once with what it really occupies.
"""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
_BLOCK_BYTES = 512  # the unit of st_blocks


def descendants(pid: int) -> list[int]:
    """Return `pid` and every process below it, as far as the kernel still shows them."""
    found = [pid]
    for parent in found:
        try:
            threads = os.listdir(f"/proc/{parent}/task")
        except OSError:
            continue
        for thread in threads:
            with contextlib.suppress(OSError), open(f"/proc/{parent}/task/{thread}/children") as listing:
                found += [int(child) for child in listing.read().split()]
    return found


def resident_bytes(pids: list[int]) -> int:
    """Return the resident memory of `pids` together; pages that they may share are counted once."""
    own = shared = 0
    for pid in pids:
        with contextlib.suppress(OSError), open(f"/proc/{pid}/statm") as figures:
            _, resident, common, *_ = (int(figure) for figure in figures.read().split())
            own += resident - common
            shared = max(shared, common)
    return (own + shared) * PAGE_BYTES


def proportional_bytes(pids: list[int], held: int = 0) -> int:
    """Return the memory of `pids` together, each shared page divided among its sharers: exact, and slow to ask for.

    `held` bytes of shared memory (see `held_bytes`) stand in for what is mapped of it, where they are more. A process
    that may not be read so counts with its whole resident memory.
    """
    total = mapped = 0
    for pid in pids:
        try:
            rollup = Path(f"/proc/{pid}/smaps_rollup").read_text()
        except ProcessLookupError:
            continue
        except OSError:
            total += resident_bytes([pid])
            continue
        rows = (line.partition(":") for line in rollup.splitlines()[1:])
        figures = {name: int(size.split()[0]) << 10 for name, _, size in rows}
        mapped += figures.get("Pss_Shmem", 0)
        total += figures.get("Pss", 0) - figures.get("Pss_Shmem", 0)
    return total + max(mapped, held)


def held_bytes(pids: list[int]) -> int:
    """Return the shared memory that `pids` hold by a descriptor or a mapping, each file once, mapped in or not."""
    files: dict[int, int] = {}
    for pid in pids:
        for place in _places(pid):
            with contextlib.suppress(OSError):
                status = os.stat(place)
                if status.st_dev == _SHARED_MEMORY:
                    files[status.st_ino] = status.st_blocks * _BLOCK_BYTES
    return sum(files.values())


def cpu_seconds(pids: list[int]) -> float:
    """Return the processor time that `pids` have used so far, in user and in system mode."""
    ticks = 0
    for pid in pids:
        with contextlib.suppress(OSError), open(f"/proc/{pid}/stat", errors="replace") as figures:
            after_name = figures.read().rpartition(")")[2].split()
            ticks += int(after_name[11]) + int(after_name[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def sees_mappings() -> bool:
    """Whether this user may ask the kernel for the file behind a mapping; that takes root, or its capability."""
    try:
        first = os.listdir("/proc/self/map_files")[0]
        os.stat(f"/proc/self/map_files/{first}")
    except (OSError, IndexError):
        return False
    return True


def _places(pid: int) -> list[str]:
    places: list[str] = []
    with contextlib.suppress(OSError):
        places += [f"/proc/{pid}/fd/{number}" for number in os.listdir(f"/proc/{pid}/fd")]
    with contextlib.suppress(OSError), open(f"/proc/{pid}/maps", errors="replace") as mappings:
        for mapping in mappings:
            span, _, _, device, *_ = mapping.split(maxsplit=5)
            if device == _SHARED_MEMORY_TEXT:
                first, last = (int(end, 16) for end in span.split("-"))
                places.append(f"/proc/{pid}/map_files/{first:x}-{last:x}")
    return places


def _shared_memory_device() -> int:
    """Return the device number of the kernel's own mount for shared memory."""
    descriptor = os.memfd_create("kgrade")
    try:
        return os.fstat(descriptor).st_dev
    finally:
        os.close(descriptor)


_SHARED_MEMORY = _shared_memory_device()
_SHARED_MEMORY_TEXT = f"{os.major(_SHARED_MEMORY):02x}:{os.minor(_SHARED_MEMORY):02x}"
