"""How many threads a block of each kernel may have: what registers leave room for, as ptxas allots them."""

from __future__ import annotations

import re

from kgrade.harness.build.nvcc import build_cuda
from kgrade.harness.build.targets import Architecture
from kgrade.harness.build.toolkit import find_toolkit
from kgrade.harness.compiled import Behind
from kgrade.harness.extension_build import built_extensions
from kgrade.harness.run import Run
from kgrade.records.evidence import Build

FOLDER = "registers"


def launch_bounds(run: Run, arch: Architecture) -> dict[str, int] | None:
    """Return the most threads of a block by the kernel's last name; None where nvcc is missing, or refuses the source.

    Instances of a template share their name: the least demanding one counts, so that nothing is refused that a device
    would run.
    """
    if find_toolkit() is None:
        return None
    run.watch.step("build", 0, 1, f"registers on {arch.name}")
    out = run.folder / FOLDER
    out.mkdir()
    out.chmod(0o711)
    built = build_cuda(
        run.folder / "item" / "solution",
        run.source.task,
        [arch.name],
        out,
        Behind(run),
        task_folder=run.folder / "task",
    )
    return _of_kernels(built)


def extension_bounds(run: Run, arch: Architecture) -> dict[str, int] | None:
    """Return the same for the kernels of the extensions that a submission makes."""
    if find_toolkit() is None:
        return None
    return _of_kernels(built_extensions(run, arch, run.folder / FOLDER)[1])


def _of_kernels(built: Build) -> dict[str, int] | None:
    if built.status != "passed":
        return None
    bounds: dict[str, int] = {}
    for kernel in built.kernels:
        if kernel.occupancy is not None:
            name = last_name(kernel.kernel)
            bounds[name] = max(bounds.get(name, 0), kernel.occupancy.block_threads)
    return bounds


def last_name(readable: str) -> str:
    """Return `k` of `void ns::k<float, (int)4>(float const*)`."""
    found = re.match(r"(?:[\w:<>, *&()]+? )?((?:\w+::|\(anonymous namespace\)::)*)(\w+)\s*[<(]", readable)
    return found.group(2) if found else readable
