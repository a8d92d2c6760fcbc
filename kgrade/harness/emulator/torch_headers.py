"""Where the headers and libraries of a Python's own PyTorch lie, for emulating the extensions that it loads."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

NO_HEADERS = "this Python lacks the headers of PyTorch, or its own, against which extensions are compiled"
_ASK = """
import importlib.util, json, sysconfig
found = importlib.util.find_spec("torch")
print(json.dumps({"torch": found and found.origin, "python": sysconfig.get_paths()["include"]}))
"""


@dataclass(frozen=True)
class TorchHeaders:
    """The folders to search for headers, that of the libraries, and a text that differs when PyTorch does."""

    includes: tuple[str, ...]
    libraries: str
    version: str

    @classmethod
    def of(cls, executable: str) -> TorchHeaders | None:
        """Ask the Python `executable`, which is trusted to answer; None where headers of PyTorch or Python lack."""
        said = subprocess.run(
            [executable, "-B", "-c", _ASK], cwd="/", capture_output=True, text=True, check=True, timeout=60
        )
        facts = json.loads(said.stdout)
        if facts["torch"] is None:
            return None
        torch, python = Path(facts["torch"]).parent, Path(facts["python"])
        wanted = [torch / "include" / "ATen" / "ATen.h", python / "Python.h", version := torch / "version.py"]
        if not all(path.exists() for path in wanted):
            return None
        api = torch / "include" / "torch" / "csrc" / "api" / "include"
        includes = (str(torch / "include"), str(api), str(python))
        return cls(includes, str(torch / "lib"), version.read_text("utf-8"))

    @classmethod
    def told(cls, facts: Mapping[str, object]) -> TorchHeaders:
        """Return what `telling` gave."""
        includes = facts["includes"]
        assert isinstance(includes, list)
        return cls(tuple(map(str, includes)), str(facts["libraries"]), str(facts["version"]))

    def telling(self) -> dict[str, object]:
        """Return this as JSON can carry it."""
        return {**asdict(self), "includes": list(self.includes)}
