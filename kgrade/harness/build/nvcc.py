"""Building CUDA sources: every `.cu` of a solution for every target, and what each kernel costs there."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from kgrade.harness.build.cubin import Image, KernelImage, NotCubinError, load_cubin
from kgrade.harness.build.launches import disassembled
from kgrade.harness.build.occupancy import largest_block, occupancy
from kgrade.harness.build.ptxas import Usage, read_usage, read_warnings
from kgrade.harness.build.runner import Finished, Runner, output_of
from kgrade.harness.build.sass import Mix
from kgrade.harness.build.targets import Architecture, architecture
from kgrade.harness.build.toolkit import NOT_FOUND, Toolkit, find_disassembler, find_toolkit
from kgrade.harness.failures import classify
from kgrade.records.evidence import Build, BuildTarget, Failure, KernelResources, StageStatus
from kgrade.records.task import Task

METHOD = (
    "nvcc to cubin for each target; resources from ptxas, instructions from nvdisasm; theoretical occupancy, dynamic"
    " shared memory not counted"
)
LOG = "build.log"
COMPILED = "compiled"
_MANGLED = re.compile(r"[A-Za-z_$.][\w$.]*\Z")


@dataclass(frozen=True)
class Unit:
    """One source for nvcc: the name of its cubin, and its options; those of `otherwise` are tried where they fail."""

    name: str
    source: Path
    options: Sequence[str]
    otherwise: Sequence[str] | None = None


@dataclass
class _Work:
    """One build in progress: the log grows with every command."""

    units: Sequence[Unit]
    limit_s: float
    compiled: Path
    run: Runner
    toolkit: Toolkit
    readable: Sequence[Path]
    log: list[str] = field(default_factory=list)
    facts: dict[str, None] = field(default_factory=dict)


def build_cuda(
    folder: Path, task: Task, targets: Sequence[str], out: Path, run: Runner, *, task_folder: Path | None = None
) -> Build:
    """Compile every `.cu` under `folder` to a cubin for each CUDA target, into `out/compiled`, and log to `out`.

    Only `out/compiled` is writable behind the wall, so that nothing made there can stand in for the log,
    `out/build.log`. The task's include folders are relative to `task_folder`. A target that is no CUDA architecture
    is `not-run`.
    """
    toolkit = find_toolkit()
    if toolkit is None:
        return Build(status="not-run", reason=NOT_FOUND)
    sources = sorted(path for path in folder.rglob("*.cu") if path.is_file() and not path.is_symlink())
    if not sources:
        return Build(status="failed", reason="the solution holds no .cu file", method=METHOD)
    includes = [folder, *((task_folder / name) for name in task.build.include if task_folder)]
    readable = [folder, *([task_folder] if task_folder else [])]
    options = [*(f"-I{path}" for path in (*includes, *toolkit.includes)), *task.build.flags]
    units = [Unit(".".join(source.relative_to(folder).with_suffix("").parts), source, options) for source in sources]
    return compile_units(units, targets, out, run, toolkit, readable, task.limits.build_s)


def compile_units(
    units: Sequence[Unit],
    targets: Sequence[str],
    out: Path,
    run: Runner,
    toolkit: Toolkit,
    readable: Sequence[Path],
    limit_s: float,
    method: str = METHOD,
) -> Build:
    """Compile `units` for each CUDA target into `out/compiled`, and log to `out/build.log`.

    `readable` are the folders of the sources and of what they include; each command may take `limit_s` seconds.
    """
    compiled = out / COMPILED
    compiled.mkdir(exist_ok=True)
    compiled.chmod(0o777)  # the compiler runs as a user of its own
    work = _Work(units, limit_s, compiled, run, toolkit, [*readable, toolkit.root, *toolkit.includes])
    built: list[BuildTarget] = []
    kernels: list[KernelResources] = []
    for target in targets:
        result, resources = _build_target(work, target)
        built.append(result)
        kernels += resources
    (out / LOG).write_text("".join(work.log), encoding="utf-8")
    status, reason = _overall(built)
    return Build(
        status=status,
        reason=reason,
        method=method,
        log=LOG if work.log else None,
        targets=built,
        kernels=kernels,
        facts=list(work.facts),
    )


def _overall(built: Sequence[BuildTarget]) -> tuple[StageStatus, str | None]:
    """Return the stage's status: failed where any target failed, not-run where none was built."""
    for status in ("failed", "error"):
        of_status = [target for target in built if target.status == status]
        if of_status:
            names = ", ".join(target.target for target in of_status)
            return of_status[0].status, f"{names}: {of_status[0].reason}"
    if not any(target.status == "passed" for target in built):
        return "not-run", "; ".join(str(target.reason) for target in built) or "no target was asked for"
    return "passed", None


def _build_target(work: _Work, target: str) -> tuple[BuildTarget, list[KernelResources]]:
    arch = architecture(target)
    if arch is None or arch.vendor != "cuda":
        return BuildTarget(target=target, status="not-run", reason=f"nvcc does not build for {target}"), []
    command: list[str] = []
    seconds = 0.0
    warnings: list[str] = []
    kernels: list[KernelResources] = []
    for unit in work.units:
        cubin = work.compiled / f"{unit.name}.{target}.cubin"
        command, finished = _compiled(work, arch, unit, cubin)
        said = output_of(finished)
        seconds += finished.seconds
        warnings += read_warnings(said)
        if finished.returncode != 0:
            return _failed(target, command, seconds, warnings, said, finished), []
        kernels += _resources(work, arch, said, cubin)
    done = BuildTarget(target=target, status="passed", command=command, seconds=seconds, warnings=_distinct(warnings))
    return done, kernels


def _compiled(work: _Work, arch: Architecture, unit: Unit, cubin: Path) -> tuple[list[str], Finished]:
    """Run nvcc, and once more with the other options where these fail; return the command whose end counts."""
    nvcc = [str(work.toolkit.nvcc), "-cubin", f"-arch={arch.compile_as}", "-lineinfo", "-Xptxas", "-v"]
    for options in (unit.options, unit.otherwise):
        if options is None:
            break
        command = [*nvcc, *options, "-o", str(cubin), str(unit.source)]
        finished = work.run(command, readable=work.readable, writable=[work.compiled], limit_s=work.limit_s)
        said = output_of(finished)
        ended = f"[exit status {finished.returncode}, {finished.seconds:.2f} s]"
        work.log.append(f"$ {' '.join(command)}\n{said}{ended}\n\n")
        if finished.returncode == 0:
            break
    return command, finished


def _failed(
    target: str, command: list[str], seconds: float, warnings: list[str], said: str, finished: Finished
) -> BuildTarget:
    failure = _failure(said, finished)
    status: StageStatus = "failed" if failure.fault == "submission" else "error"
    return BuildTarget(
        target=target,
        status=status,
        reason=failure.line,
        command=command,
        seconds=seconds,
        warnings=_distinct(warnings),
        failure=failure,
    )


def _failure(said: str, finished: Finished) -> Failure:
    if finished.stopped_by:
        advice = "Make it compile within the task's limits; deep templates and full unrolling are common causes."
        return Failure(kind="timeout", line=finished.stopped_by, fault="submission", advice=advice)
    last = next((line.strip() for line in reversed(said.splitlines()) if line.strip()), "")
    line = last[:400] or f"nvcc ended with exit status {finished.returncode} and no message"
    advice = "Read the build log: the compiler failed without a message that is known."
    return classify(said) or Failure(kind="compile", line=line, fault="submission", advice=advice)


def _resources(work: _Work, arch: Architecture, said: str, cubin: Path) -> list[KernelResources]:
    try:
        image = load_cubin(cubin)
    except NotCubinError as why:
        work.facts[f"{cubin.name}: {why}, so launch bounds and constant memory are not known"] = None
        image = Image({}, 0)
    if image.constant_bytes:
        work.facts[f"{cubin.name}: {image.constant_bytes} bytes of __constant__ data, shared by its kernels"] = None
    used = read_usage(said)
    mixes = disassembled(find_disassembler(sys.path), cubin, work.run)
    names = _demangled(work, [usage.kernel for usage in used])
    return [
        _of_kernel(work, arch, usage, names[usage.kernel], image.kernels.get(usage.kernel), mixes.get(usage.kernel))
        for usage in used
    ]


def _of_kernel(
    work: _Work, arch: Architecture, usage: Usage, name: str, image: KernelImage | None, mix: Mix | None
) -> KernelResources:
    assert arch.limits is not None
    bound = image.bound if image else None
    threads = largest_block(arch.limits, usage.registers, bound)
    said = "its launch bound" if bound else "no launch bound is stated, so the largest block that its registers allow"
    work.facts[f"{name} on {arch.name}: occupancy for blocks of {threads} threads ({said})"] = None
    return KernelResources(
        kernel=name,
        target=arch.name,
        registers=usage.registers,
        spill_store_bytes=usage.spill_stores,
        spill_load_bytes=usage.spill_loads,
        stack_bytes=usage.stack,
        shared_bytes=usage.shared,
        constant_bytes=image.constant_bytes if image else 0,
        code_bytes=image.code_bytes if image else 0,
        instructions=dict(mix.instructions.most_common()) if mix else {},
        tensor=dict(mix.tensor.most_common()) if mix else {},
        occupancy=occupancy(arch.limits, registers=usage.registers, shared_bytes=usage.shared, block_threads=threads),
    )


def _demangled(work: _Work, names: Sequence[str]) -> dict[str, str]:
    """Return the readable name of each mangled one; without a demangler, or where it fails, the name itself."""
    demangler = work.toolkit.demangler
    plain = [name for name in names if _MANGLED.match(name)]
    if demangler is None or not plain:
        return {name: name for name in names}
    finished = work.run([demangler, *plain], readable=[work.toolkit.root], writable=[], limit_s=30)
    lines = finished.stdout.decode(errors="replace").splitlines()
    readable = dict(zip(plain, lines, strict=True)) if finished.returncode == 0 and len(lines) == len(plain) else {}
    return {name: readable.get(name, name).removeprefix("void ") for name in names}


def _distinct(lines: Sequence[str]) -> list[str]:
    return list(dict.fromkeys(lines))
