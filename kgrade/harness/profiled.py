"""The profile stage: the submission's calls under torch.profiler and, on a GPU, under ncu and nsys where they are.

Each profiler gets a process of its own behind the wall. What torch.profiler writes is written by the process that runs
the submission: like its own clock, that is a claim.
"""

from __future__ import annotations

import hashlib
import json
import secrets
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing, nullcontext
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import msgspec

from kgrade.harness import sandbox
from kgrade.harness.arguments import packed
from kgrade.harness.check import CANDIDATE, SEED_BITS
from kgrade.harness.device.turn import NoTurn, turn
from kgrade.harness.drawing import NotDrawable
from kgrade.harness.measure import LARGEST_FLOPS, work
from kgrade.harness.methods import Method
from kgrade.harness.oracle import Oracle
from kgrade.harness.profiles.authorship import linked
from kgrade.harness.profiles.grouping import with_notes
from kgrade.harness.profiles.reading import read_profile
from kgrade.harness.profiles.tools import TRACE, TRACE_OPTIONS, Tool, find_ncu, find_nsys, refusal
from kgrade.harness.profiles.units import BadProfile
from kgrade.harness.run import Run
from kgrade.harness.sandbox import Bind
from kgrade.harness.standby import Standby
from kgrade.harness.timing.sides import LARGEST_BYTES
from kgrade.harness.watchdog import Limits
from kgrade.harness.workers import INSIDE, PACKAGE, Lost
from kgrade.records.evidence import Case, Profiling
from kgrade.records.profile import Origin, Profile

WARM_UP: Final = 2
CALLS: Final = 5
TOOL_S: Final = 120.0
LARGEST_FILE: Final = 256 << 20
NOT_INDICATIVE: Final = "what ran is an interpreter or the CPU: where the time goes on a device, this does not tell"
A_CLAIM: Final = "recorded in the process that runs the submission: a claim, as its own clock is"
_BOOT: Final = "import sys; sys.path.insert(0, sys.argv.pop(2)); from worker.profiling import main; main()"


class Unprofiled(Exception):
    """A profiler gave nothing; the sentence says why."""


@dataclass(frozen=True)
class Calling:
    """What is called for the profilers: the functions that `workers` serve, on the arguments of one case.

    `said` is what each profiler's process has printed.
    """

    run: Run
    workers: Standby
    method: Method
    case: Case
    data: bytes
    inputs: Sequence[Mapping[str, Any]]
    launch: Mapping[str, Any] | None = None
    said: dict[str, bytes] = field(default_factory=dict)

    def under(self, tool: Tool | None) -> Profile:
        """Return what `tool`, or torch.profiler where it is None, sees of the calls; raise `Unprofiled`."""
        name = tool.name if tool is not None else "torch.profiler"
        out = self.run.folder / f"profile-{name}"
        out.mkdir()
        out.chmod(0o777)  # who runs behind the wall is a user of its own
        (out / "data").write_bytes(self.data or b"\0")
        wall = self.run.machine.wall
        inside = INSIDE / "out" if wall.moves_paths else out
        where = INSIDE if wall.moves_paths else PACKAGE.parent
        (out / "job.json").write_text(json.dumps(self._job(inside, traced=tool is None)))
        interpreter = self.run.machine.interpreter
        program = [interpreter.executable, "-I", "-B", "-c", _BOOT, str(inside / "job.json"), str(where)]
        binds, environment = self.workers.recipe.shown()
        if tool is not None:
            program = tool.command(inside, program)
            binds = [*binds, *[Bind(each, each) for each in {tool.folder, tool.executable} if not _in_system(each)]]
        ended = sandbox.run(
            wall,
            program,
            binds=[*binds, Bind(out, inside, writable=True)],
            limits=self._limits(),
            environment=environment,
        )
        self.said[name] = ended.stdout + ended.stderr
        return self._read(name, out / (tool.file if tool else TRACE), ended, tool)

    def _job(self, inside: Path, *, traced: bool) -> dict[str, Any]:
        recipe, interpreter = self.workers.recipe, self.run.machine.interpreter
        return {
            "path": [entry for entry in interpreter.path if Path(entry).exists()],
            "framework": self.method.framework,
            "interpreter": self.method.stand_in,
            "on_gpu": recipe.gpu is not None,
            "functions": {name: [recipe.place(file), *how] for name, (file, *how) in self.workers.functions.items()},
            "function": CANDIDATE,
            "inputs": list(self.inputs),
            "data": str(inside / "data"),
            "launch": self.launch,
            "warm_up": WARM_UP,
            "calls": CALLS,
            "trace": str(inside / TRACE) if traced else None,
            "options": TRACE_OPTIONS,
        }

    def _limits(self) -> Limits:
        """A profiler repeats kernels to count what they do: more time than the calls alone, the same memory."""
        limits = self.run.source.task.limits
        seconds = TOOL_S + limits.build_s + (WARM_UP + CALLS) * limits.run_s
        return Limits(wall_s=seconds, cpu_s=int(4 * seconds), memory_bytes=int(limits.memory_gb * 2**30))

    def _read(self, name: str, file: Path, ended: sandbox.Ended, tool: Tool | None) -> Profile:
        """Read what was written; a file that hostile code may have put there is a plain file of bounded size."""
        said = (ended.stdout + ended.stderr).decode(errors="replace")
        if file.is_symlink() or not file.is_file():
            raise Unprofiled(refusal(said) or _last_words(ended, said))
        if file.stat().st_size > LARGEST_FILE:
            raise Unprofiled(f"it wrote {file.stat().st_size >> 20} MB, more than {LARGEST_FILE >> 20} MB")
        data = file.read_bytes()
        try:
            found = read_profile(file)
        except BadProfile as why:
            known = refusal(said + data[:65536].decode(errors="replace"))
            raise Unprofiled(known or str(why)) from None
        options = list(tool.options) if tool else [f"{key}={value}" for key, value in TRACE_OPTIONS.items()]
        origin = Origin(
            file=file.name,
            sha256=hashlib.sha256(data).hexdigest(),
            bytes=len(data),
            when=datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z"),
            options=[name, *options],
        )
        version = tool.version if tool else self.workers.versions.get("torch", "")
        assert self.run.source.solution is not None
        found = linked(found, self.run.source.solution)
        gpu = self.workers.recipe.gpu
        found = msgspec.structs.replace(
            found, origin=origin, version=version, device=gpu.name if gpu is not None else found.device
        )
        return with_notes(found, "" if gpu is not None else NOT_INDICATIVE, A_CLAIM if tool is None else "")


def profiled(
    run: Run,
    workers: Standby,
    oracle: Oracle,
    method: Method,
    launch: Callable[[Case], Mapping[str, Any]] | None = None,
) -> Profiling:
    """Profile the calls of the submission that `workers` serve, at one case of the task.

    `launch` is what a native launcher is told at a case.
    """
    case = _case(run)
    run.watch.step("profile", 0, 1, case.name)
    try:
        arguments = oracle.draw(case, secrets.randbits(SEED_BITS))
        workers.get()
    except (NotDrawable, Lost) as why:
        return Profiling(status="not-run", reason=f"{case.name}: {why}")
    memory, inputs = packed(arguments)
    with closing(memory):
        data = bytes(memory.read(0, memory.size))
    calling = Calling(run, workers, method, case, data, inputs, launch(case) if launch is not None else None)
    gpu = run.gpu if workers.recipe.gpu is not None else None

    def waiting(holder: int, place: int) -> None:
        run.watch.step("profile", 0, 1, f"waits for the device: process {holder} has it, place {place} in the line")

    workers.restart()  # nothing else of the submission runs beside
    try:
        with turn(gpu.uuid, waiting) if gpu is not None else nullcontext():
            found, facts, said = _seen(calling)
    except NoTurn as why:
        return Profiling(status="error", reason=f"the device cannot be had alone: {why}")
    how = (
        f"{case.name}: {CALLS} calls on fresh inputs after {WARM_UP} to warm up, {method.text}, in a process of its own"
    )
    log = run.keep_log("profile", said)
    if not found:
        return Profiling(status="not-run", reason="; ".join(facts), method=how, log=log)
    return Profiling(status="passed", method=how, facts=facts, profiles=found, log=log)


def _seen(calling: Calling) -> tuple[list[Profile], list[str], bytes]:
    """Run every profiler that there is; return what they saw, why the others saw nothing, and what those printed."""
    run = calling.run
    found: list[Profile] = []
    facts: list[str] = []
    said = b""
    tools: dict[str, Tool | None] = {}
    if calling.method.framework == "torch":
        tools["torch.profiler"] = None
    else:
        facts.append(f"torch.profiler does not see {calling.method.framework}")
    if calling.workers.recipe.gpu is None:
        facts.append("ncu and nsys were not run: nothing of this runs on a GPU")
    else:
        for name, tool in (("nsys", find_nsys()), ("ncu", find_ncu())):
            if tool is None:
                facts.append(f"{name} was not run: it is not on PATH")
            else:
                tools[name] = tool
    for number, (name, tool) in enumerate(tools.items()):
        run.watch.step("profile", number, len(tools), name)
        try:
            found.append(calling.under(tool))
        except Unprofiled as why:
            facts.append(f"{name} saw nothing: {why}")
            said += calling.said.get(name, b"")
    return found, facts, said


def _case(run: Run) -> Case:
    """The first case that is timed; on the CPU the first that is small enough, else the first that is checked."""
    task = run.source.task
    timed = task.benchmark_cases()
    if run.gpu is None:
        sizes = [(case, *work(task, case)) for case in timed]
        timed = [
            case for case, flops, moved in sizes if (flops or 0) <= LARGEST_FLOPS and (moved or 0) <= LARGEST_BYTES
        ]
    return (timed or task.check_cases())[0]


def _in_system(path: Path) -> bool:
    """Whether every process behind the wall sees it anyway."""
    return Path("/usr") in path.parents


def _last_words(ended: sandbox.Ended, said: str) -> str:
    if ended.stopped_by is not None:
        return f"it was stopped: {ended.stopped_by}"
    lines = [line for line in said.splitlines() if line.strip()]
    last = lines[-1] if lines else "no message"
    return f"it wrote no file that can be read, and ended with status {ended.returncode}: {last}"[:500]
