"""A filter on system calls for the wall: those that would keep memory where no watchdog can count it.

System V shared memory and message queues outlive the process that filled them and appear in no process's mappings;
a memfd can be under way in a socket, held by no process at all. A call that is refused fails with ENOSYS, as on a
kernel that lacks it. The program is classic BPF (linux/filter.h, linux/seccomp.h).
"""

from __future__ import annotations

import errno
import platform
import struct

_ALLOW = 0x7FFF0000
_REFUSE = 0x00050000 | errno.ENOSYS
_LOAD, _EQUAL, _AT_LEAST, _RETURN = 0x20, 0x15, 0x35, 0x06
_NUMBER_OFFSET, _MACHINE_OFFSET = 0, 4
_X32 = 0x40000000  # numbers from here on are a second way to make the same calls on x86-64

# AUDIT_ARCH_* and the numbers of the calls, per machine.
_MACHINES = {
    "x86_64": (0xC000003E, {"shmget": 29, "msgget": 68, "memfd_create": 319, "memfd_secret": 447}),
    "aarch64": (0xC00000B7, {"shmget": 194, "msgget": 186, "memfd_create": 279, "memfd_secret": 447}),
}
IPC = ("shmget", "msgget", "memfd_secret")


def known() -> bool:
    """Whether there is a filter for this machine."""
    return platform.machine() in _MACHINES


def refusing(names: tuple[str, ...]) -> bytes:
    """Return the program that refuses the calls in `names`, and every call made as another machine's.

    Raises KeyError on a machine whose numbers are not known: see `known`.
    """
    machine, numbers = _MACHINES[platform.machine()]
    refused = [numbers[name] for name in names]
    tests = [(_AT_LEAST, _X32), *((_EQUAL, number) for number in refused)]
    program = [(_LOAD, 0, 0, _MACHINE_OFFSET), (_EQUAL, 0, len(tests) + 2, machine), (_LOAD, 0, 0, _NUMBER_OFFSET)]
    program += [(code, len(tests) - place, 0, value) for place, (code, value) in enumerate(tests)]
    program += [(_RETURN, 0, 0, _ALLOW), (_RETURN, 0, 0, _REFUSE)]
    return b"".join(struct.pack("=HBBI", *step) for step in program)
