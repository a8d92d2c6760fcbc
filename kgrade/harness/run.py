"""One item on one target while it is collected: its bytes, the machine, its temporary folder, its logs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

import msgspec

from kgrade.harness.device.gpus import find_gpus, gpu_for
from kgrade.harness.device.nvml import Gpu, Nvml
from kgrade.harness.methods import Method
from kgrade.harness.progress import Watch
from kgrade.harness.sandbox import Interpreter, Wall, find_interpreter, find_wall
from kgrade.harness.standby import Standby
from kgrade.harness.watchdog import Limits
from kgrade.harness.workers import Entry, Worker
from kgrade.records.task import Task

if TYPE_CHECKING:
    from kgrade.harness.extensions import Emulation


class Workload(msgspec.Struct, frozen=True):
    """One case of a flashinfer task: the sizes of its axes, and where each input comes from."""

    axes: dict[str, int]
    inputs: dict[str, dict[str, Any]]


@dataclass(frozen=True)
class HandedIn:
    """What another submission handed in: `tree` says which bytes, `read` gives them by path below its `solution/`."""

    tree: str
    read: Callable[[], Mapping[str, bytes]]


@dataclass(frozen=True)
class ItemSource:
    """The bytes of one item as a git snapshot holds them.

    `task_files` are the task's own files by path below its folder, `solution` those of the submission below
    `solution/` (None: the task itself is the item). The tree ids say which bytes these are. `others` are the task's
    submissions that were handed in before, by item id: what is handed in twice can be seen from them. `beside` are
    files of the task that a submission imports, `calling` is how the worker calls it, `workloads` are a foreign task's
    own cases.
    """

    item: str
    task: Task
    task_tree: str
    task_files: Mapping[str, bytes]
    solution_tree: str | None = None
    solution: Mapping[str, bytes] | None = None
    others: Mapping[str, HandedIn] = field(default_factory=dict)
    beside: Mapping[str, bytes] = field(default_factory=dict)
    calling: str = "function"
    workloads: Sequence[Workload] = ()


@dataclass(frozen=True)
class Machine:
    """What every item is collected on: the wall, the Python that runs the workers, the GPUs and who watches them."""

    wall: Wall
    interpreter: Interpreter
    gpus: tuple[Gpu, ...] = ()
    nvml: Nvml | None = None

    @classmethod
    def here(cls, python: str | None = None) -> Machine:
        """Look at this machine, which takes a second; `python` runs the workers instead of this one."""
        nvml = Nvml.opened()
        interpreter = find_interpreter(python) if python else find_interpreter()
        return cls(find_wall(), interpreter, find_gpus(nvml), nvml)

    def gpu(self, target: str) -> Gpu | None:
        """Return the GPU that `target` is run on, None where there is none of its architecture."""
        return gpu_for(target, self.gpus)


@dataclass
class Run:
    """One item on one target, while it is collected in `folder`."""

    source: ItemSource
    target: str
    machine: Machine
    folder: Path
    watch: Watch
    logs: dict[str, bytes] = field(default_factory=dict)
    versions: dict[str, str] = field(default_factory=dict)
    clocks: str | None = None

    @property
    def gpu(self) -> Gpu | None:
        """The GPU that this run's target is run on."""
        return self.machine.gpu(self.target)

    def write_files(self) -> None:
        """Write the item's bytes: the task below `task/`, the submission below `item/solution/`."""
        self.folder.chmod(0o711)
        write(self.folder / "task", self.source.task_files)
        solution = {**self.source.beside, **(self.source.solution or {})}
        write(self.folder / "item", {f"solution/{path}": data for path, data in solution.items()})

    def keep_log(self, name: str, content: bytes) -> str | None:
        """Keep a log; return the file name that the evidence refers to, or None for an empty one.

        Where this machine keeps its Python means nothing to a reader elsewhere and is shortened.
        """
        if not content.strip():
            return None
        file = f"{self.target}.{name}.log"
        for folder in sorted(self.machine.interpreter.path, key=len, reverse=True):
            content = content.replace(f"{folder}/".encode(), f"{Path(folder).name}/".encode())
        self.logs[file] = content
        return file

    def workers(
        self,
        folder: str,
        method: Method,
        functions: dict[str, Entry],
        *,
        precise: bool = False,
        device: dict[str, Any] | None = None,
        emulation: Emulation | None = None,
        gpu: Gpu | None = None,
    ) -> Standby:
        """Return a worker on standby that serves `functions` of `folder`, which is `task` or `item`.

        With `device` it records kernels and compiles them for what these facts describe; with `emulation` it makes
        CUDA extensions for the CPU; with `gpu` its arrays lie there and its kernels run there.
        """
        task = self.source.task
        calls = 2 + len(task.check_cases()) + len(task.benchmark_cases())
        recipe = Worker(
            self.machine.wall,
            self.machine.interpreter,
            self.folder / folder,
            method.framework,
            method.stand_in,
            Limits(
                cpu_s=int(task.limits.build_s + 2 * calls * task.limits.run_s),
                memory_bytes=int(task.limits.memory_gb * 2**30),
            ),
            precise,
            watched=folder == "item" and device is None,
            device=device,
            extensions=emulation.told if emulation else None,
            binds=emulation.binds if emulation else (),
            gpu=gpu,
            cancelled=self.watch.cancel.is_set,
        )
        return Standby(recipe, functions, task.limits.build_s)

    def close(self, name: str, workers: Standby) -> None:
        """End the workers, keep their versions and their log."""
        workers.close()
        self.versions |= workers.versions
        self.keep_log(name, bytes(workers.log))


def write(folder: Path, files: Mapping[str, bytes]) -> None:
    """Write files below `folder`, readable by the user behind the wall. Paths come from a queue: none may leave."""
    folder.mkdir()
    for name, content in files.items():
        parts = PurePosixPath(name).parts
        if not parts or name.startswith("/") or ".." in parts:
            raise ValueError(f"the path {name!r} leaves the item's folder")
        path = folder.joinpath(*parts)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        path.chmod(0o644)
    for made in (folder, *(path for path in folder.rglob("*") if path.is_dir())):
        made.chmod(0o755)
