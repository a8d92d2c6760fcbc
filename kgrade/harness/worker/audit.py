"""What a submission has the interpreter do, by Python's audit hooks: code made at run time, processes, files, frames.

Only events with a frame of the submission close above them are kept, so that the frameworks' own doings stay out.
"""

from __future__ import annotations

import os
import sys
from typing import Any, Dict, List, Set, Tuple

FRAMES = 8
MOST = 40
# What counts only where the submission's own line raises it, and what counts through library code too.
DIRECT = {
    "exec": "E1",
    "gc.get_objects": "R5",
    "gc.get_referrers": "R5",
    "gc.get_referents": "R5",
    "sys._getframe": "T6",
    "sys._current_frames": "T6",
    "sys.settrace": "T6",
    "sys.setprofile": "T6",
    "object.__setattr__": "T6",
    "ctypes.dlopen": "T10",
    "ctypes.string_at": "T10",
    "os.kill": "T9",
    "os.putenv": "S13",
}
THROUGH = {
    "subprocess.Popen": "E2",
    "os.system": "E2",
    "os.exec": "E2",
    "os.posix_spawn": "E2",
    "os.fork": "T2",
    "socket.connect": "E2",
    "socket.getaddrinfo": "E2",
    "urllib.Request": "E2",
    "open": "E3",
    "os.remove": "E3",
    "os.rename": "E3",
}
WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND


class Audit:
    """Keeps the events that a submission causes, from `begin` on."""

    def __init__(self) -> None:
        self.folder = ""
        self.scratch = (os.environ.get("TMPDIR", "/tmp").rstrip("/") + "/", "/dev/null", "/dev/shm/")
        self.events: List[Dict[str, Any]] = []
        self._seen: Set[Tuple[str, str, int]] = set()
        self._inside = False

    def begin(self, folder: str) -> None:
        """Listen for what code below `folder` does, and forget what was heard before."""
        if not self.folder:
            sys.addaudithook(self._heard)  # which stays for as long as the process lives
        self.folder = folder.rstrip("/") + "/"
        self.events = []
        self._seen.clear()

    def _heard(self, event: str, arguments: Tuple[Any, ...]) -> None:
        direct = event in DIRECT
        if self._inside or (not direct and event not in THROUGH) or len(self.events) >= MOST:
            return
        self._inside = True
        try:
            if self._matters(event, arguments):
                self._keep(event, arguments, direct)
        finally:
            self._inside = False

    def _matters(self, event: str, arguments: Tuple[Any, ...]) -> bool:
        if event == "open":
            path, mode, flags = (*arguments, None, None, None)[:3]
            writes = any(sign in mode for sign in "wax+") if isinstance(mode, str) else bool((flags or 0) & WRITES)
            return (
                writes
                and isinstance(path, (str, bytes))
                and not os.path.abspath(os.fsdecode(path)).startswith(self.scratch)
            )
        if event in ("os.remove", "os.rename"):
            return not str(arguments[0]).startswith(self.scratch)
        if event == "object.__setattr__":
            return bool(arguments[1] == "__code__")
        if event == "exec":
            return getattr(arguments[0], "co_name", "") != "<lambda>"
        return True

    def _keep(self, event: str, arguments: Tuple[Any, ...], direct: bool) -> None:
        place = self._place(sys._getframe(2), 1 if direct else FRAMES)
        if place is None:
            return
        key = (event, *place)
        if key not in self._seen:
            self._seen.add(key)
            rule = DIRECT[event] if direct else THROUGH[event]
            self.events.append(
                {"event": event, "rule": rule, "file": place[0], "line": place[1], "detail": _detail(event, arguments)}
            )

    def _place(self, frame: Any, most: int) -> "Tuple[str, int] | None":
        """Return the nearest frame of the submission among the `most` nearest; code without a file counts as one."""
        for _ in range(most):
            if frame is None:
                return None
            file = frame.f_code.co_filename
            if file.startswith(self.folder):
                return file, frame.f_lineno
            if file in ("<string>", "<stdin>") or (file.startswith("<") and "frozen" not in file and most == 1):
                name = frame.f_globals.get("__file__", "")
                if isinstance(name, str) and name.startswith(self.folder):
                    return name, 1
            frame = frame.f_back
        return None


def _detail(event: str, arguments: Tuple[Any, ...]) -> str:
    if event == "exec":
        code = arguments[0]
        return "code object {} of {} bytes".format(getattr(code, "co_name", "?"), len(getattr(code, "co_code", b"")))
    return " ".join(str(each)[:120] for each in arguments[:2])[:160]
