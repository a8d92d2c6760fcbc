"""The sandbox: which wall stands between this machine and the code of a queue."""

from __future__ import annotations

import shutil
from collections.abc import Iterator

from kgrade.doctor.ask import ask
from kgrade.doctor.line import Line


def examine() -> Iterator[Line]:
    """Yield the wall that evidence is collected behind, tried rather than looked up."""
    from kgrade.harness.sandbox import find_wall

    wall = find_wall()
    if wall.bubblewrap is not None:
        missing = "; ".join(wall.lacks)
        yield Line(subject="sandbox", status="ok", found=wall.name + (f" (lacks: {missing})" if missing else ""))
        return
    yield Line(
        subject="sandbox",
        status="missing" if shutil.which("bwrap") is None else "problem",
        found=f"{wall.name}; {'; '.join(wall.lacks)}",
        advice=_advice(),
    )


def _advice() -> str:
    if shutil.which("bwrap") is None:
        return "install bubblewrap: without it, code from a queue can read your files and reach the network"
    if not ask(["unshare", "--user", "true"], seconds=5).ok:
        return "allow user namespaces (sysctl kernel.unprivileged_userns_clone=1, or an AppArmor profile for bwrap)"
    return "bubblewrap is here and does not start: see what it says above"
