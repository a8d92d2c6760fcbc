"""Nsight Compute's reports (.ncu-rep): read by ncu where it is installed, else by NVIDIA's package ncu-report."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from kgrade.harness.profiles.ncu import read_ncu
from kgrade.harness.profiles.units import BadProfile
from kgrade.records.profile import Profile

LIMIT_S = 600.0
_SCRIPT = Path(__file__).with_name("report_pages.py")


def read_report(path: Path) -> Profile:
    """Read a report; raise BadProfile where nothing here can, or where it holds no kernel."""
    command = _reader(path)
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace", newline="") as page:
        try:
            done = subprocess.run(
                command, stdin=subprocess.DEVNULL, stdout=page, stderr=subprocess.PIPE, timeout=LIMIT_S, check=False
            )
        except (OSError, subprocess.TimeoutExpired) as why:
            raise BadProfile(f"{path.name} could not be read by {command[0]}: {why}") from None
        page.seek(0)
        if done.returncode:
            words = (done.stderr.decode(errors="replace") or page.read(4000)).strip().splitlines()
            said = words[-1] if words else f"exit status {done.returncode}"
            raise BadProfile(f"{path.name} could not be read as a report of ncu: {said[:300]}")
        return read_ncu(page, path.name)


def _reader(path: Path) -> list[str]:
    ncu = shutil.which("ncu")
    if ncu is not None:
        return [ncu, "--import", str(path), "--csv", "--page", "raw"]
    if importlib.util.find_spec("ncu_report") is not None:
        return [sys.executable, str(_SCRIPT), str(path)]
    raise BadProfile(
        f"{path.name} is a report of ncu, and neither ncu nor the package ncu-report is here to read it;"
        f" pip install ncu-report, or where ncu is: ncu --import {path.name} --csv --page raw > profile.csv"
    )
