"""Makes the logs: each recipe is run with its tool, and what the tool prints is kept without this machine's paths.

`python -m tests.harness.failure_logs.making` records the logs anew, those of the tools that are here.
"""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

RECORDED = Path(__file__).parent / "recorded"
HEADER = "# "
_SEPARATOR = "=====next====="
_RUN_ALL = f"""
import runpy, sys, traceback
for file in sys.argv[1:]:
    try:
        runpy.run_path(file)
    except Exception:
        sys.stdout.flush()
        traceback.print_exc()
    print({_SEPARATOR!r}, file=sys.stderr, flush=True)
"""


@dataclass(frozen=True)
class Recipe:
    """One failure: `code` is what fails, in a file named `file`; the log is of `kind` and its line holds `words`.

    `tools` are the programs and Python modules that it takes. With `command` that is run in the folder of the file;
    without, the file is a Python program, run in one process with the others that have the same `environment`.
    """

    name: str
    kind: str
    words: str
    tools: tuple[str, ...]
    code: str
    file: str = "k.py"
    command: tuple[str, ...] = ()
    environment: tuple[tuple[str, str], ...] = ()

    @property
    def lacking(self) -> str | None:
        """The first tool that is not here."""
        return next((tool for tool in self.tools if not _is_here(tool)), None)

    @property
    def recorded(self) -> Path:
        """Where its log is kept."""
        return RECORDED / f"{self.name}.log"


def _is_here(tool: str) -> bool:
    return shutil.which(tool) is not None or importlib.util.find_spec(tool) is not None


def make(recipes: Iterable[Recipe], folder: Path) -> dict[str, str]:
    """Return the log of each recipe by its name; raise ValueError when a tool did not fail, or not on every file."""
    made, together = {}, {}
    for recipe in recipes:
        place = folder / recipe.name
        place.mkdir()
        (place / recipe.file).write_text(recipe.code)
        if recipe.command:
            made[recipe.name] = _cleaned(_printed(recipe.command, place, dict(recipe.environment)), place)
        else:
            together.setdefault((recipe.tools, recipe.environment), []).append(recipe)
    for (_, environment), group in together.items():
        files = [str(folder / recipe.name / recipe.file) for recipe in group]
        said = _printed((sys.executable, "-c", _RUN_ALL, *files), folder, dict(environment)).split(_SEPARATOR + "\n")
        if len(said) != len(group) + 1:
            raise ValueError(f"{len(group)} programs were run, {len(said) - 1} ended: {said[-1]}")
        for recipe, log in zip(group, said, strict=False):
            made[recipe.name] = _cleaned(log, folder / recipe.name)
    return made


def _printed(command: tuple[str, ...], folder: Path, environment: Mapping[str, str]) -> str:
    inherited = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1", "TRITON_CACHE_DIR": str(folder / "cache")}
    ended = subprocess.run(
        command,
        cwd=folder,
        env={**inherited, **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=300,
        check=False,
    )
    return ended.stdout


def _cleaned(log: str, place: Path) -> str:
    """Write paths as they would be on any machine."""
    for path, name in (
        (str(place), "/solution"),
        (str(place.parent), "/solution"),
        (sys.prefix, "/python"),
        (sys.base_prefix, "/python"),
        (str(Path(__file__).parents[3]), "/kgrade"),
    ):
        log = log.replace(path, name)
    log = re.sub(r"/usr/local/cuda[\w.-]*", "/cuda", log)
    log = re.sub(r"/tmp/tmpxft_\w+", "/tmp/tmpxft_0", log)
    log = re.sub(r"/tmp/tmp\w{8}", "/tmp/tmp0", log)
    log = re.sub(r"(at|object at) 0x[0-9a-f]{8,}", r"\1 0x0", log)
    return "\n".join(line.rstrip() for line in log.strip("\n").splitlines()) + "\n"


def read(recipe: Recipe) -> str:
    """Return a recorded log, without the lines that say how it was made."""
    lines = recipe.recorded.read_text(encoding="utf-8").splitlines(keepends=True)
    first = next(place for place, line in enumerate(lines) if not line.startswith("#"))
    return "".join(lines[first:])


def _record(recipes: Iterable[Recipe]) -> None:
    for recipe in recipes:
        if recipe.lacking is not None:
            print(f"{recipe.name}: {recipe.lacking} is not here")
            continue
        with tempfile.TemporaryDirectory() as folder:
            log = make([recipe], Path(folder))[recipe.name]
        how = " ".join(recipe.command) if recipe.command else f"python {recipe.file}"
        variables = "".join(f"{name}={value} " for name, value in recipe.environment)
        head = [
            f"{variables}{_cleaned(how, Path(folder)).strip()}",
            *(f"  {line}" for line in recipe.code.splitlines()),
        ]
        text = "".join((HEADER + line).rstrip() + "\n" for line in head)
        recipe.recorded.write_text(text + log, encoding="utf-8")


if __name__ == "__main__":
    from tests.harness.failure_logs.recipes import RECIPES

    _record(each for each in RECIPES if not sys.argv[1:] or each.name.startswith(tuple(sys.argv[1:])))
