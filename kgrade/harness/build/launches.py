"""Kernels that a submission launches, lowered to assembly in a worker: what each costs, and whether it fits."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from kgrade.harness.build.amdgcn import NotAssemblyError, amd_occupancy, read_amdgcn
from kgrade.harness.build.cubin import NotCubinError, load_cubin
from kgrade.harness.build.occupancy import MOST_THREADS, WARP, occupancy
from kgrade.harness.build.ptxas import Usage, read_usage, read_warnings
from kgrade.harness.build.runner import Runner, output_of
from kgrade.harness.build.sass import Mix, read_sass
from kgrade.harness.build.targets import Architecture
from kgrade.harness.failures import classify
from kgrade.records.evidence import Failure, KernelResources

_OPTION = re.compile(r"-{1,2}[\w-]+(?:=[\w.,-]+)?\Z")
_TENSOR_MEMORY_COLUMNS = 512
_LIMIT_S = 60.0


@dataclass(frozen=True)
class Launched:
    """One kind of launch as the worker describes it: nothing in it is believed but for showing it."""

    number: int
    kernel: str
    config: dict[str, str] = field(default_factory=dict)
    grid: tuple[int, ...] = ()
    times: int = 0
    tried: bool = False
    place: str = ""


@dataclass(frozen=True)
class Lowered:
    """A launch and its assembly: `text` in PTX or AMD assembly, or why there is none.

    `figures` are Triton's own: bytes of `shared` memory, `num_warps`, columns of tensor memory in `tmem_size`.
    """

    launched: Launched
    text: bytes = b""
    figures: Mapping[str, int] = field(default_factory=dict)
    options: Sequence[str] = ()
    failure: Failure | None = None


@dataclass
class Assembling:
    """Turns assembly into figures for `arch` with files in `out`, by tools that run behind the wall through `run`."""

    arch: Architecture
    out: Path
    run: Runner
    assembler: Path | None
    disassembler: Path | None
    log: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    def resources(self, lowered: Lowered) -> KernelResources:
        """Return what the kernel costs, with a failure where it cannot be built or does not fit."""
        launched = lowered.launched
        found = KernelResources(
            kernel=launched.kernel,
            target=self.arch.name,
            config=launched.config,
            grid=list(launched.grid),
            tried=launched.tried,
            failure=lowered.failure,
            shared_bytes=lowered.figures.get("shared", 0),
        )
        if lowered.failure is not None:
            return found
        with_figures = self._amd if self.arch.vendor == "rocm" else self._cuda
        found = with_figures(lowered, found)
        return found if found.failure else msgspec.structs.replace(found, failure=_misfit(self.arch, lowered))

    def _amd(self, lowered: Lowered, found: KernelResources) -> KernelResources:
        try:
            code = read_amdgcn(lowered.text.decode(errors="replace"))
        except NotAssemblyError as why:
            return msgspec.structs.replace(found, failure=_broken(str(why)))
        waves = max(1, lowered.figures.get("num_warps", 1))
        shared = max(code.shared, found.shared_bytes)
        return msgspec.structs.replace(
            found,
            registers=code.registers,
            accumulators=code.accumulators,
            scalar_registers=code.scalar_registers,
            spilled_registers=code.spilled,
            stack_bytes=code.scratch,
            shared_bytes=shared,
            code_bytes=code.code,
            occupancy=amd_occupancy(
                registers=code.registers, shared_bytes=shared, shared_limit=self.arch.shared_per_block, waves=waves
            ),
            **_mix(code.mix),
        )

    def _cuda(self, lowered: Lowered, found: KernelResources) -> KernelResources:
        if self.assembler is None:
            return msgspec.structs.replace(
                found, failure=_broken("no ptxas was found beside Triton or in a CUDA toolkit")
            )
        source = self.out / f"kernel-{lowered.launched.number}.ptx"
        cubin = self.out / "compiled" / f"kernel-{lowered.launched.number}.cubin"
        source.write_bytes(lowered.text)
        source.chmod(0o644)
        options = [option for option in lowered.options if _OPTION.match(option) and not option.startswith("--gpu")]
        command = [str(self.assembler), *dict.fromkeys(["-v", *options]), f"--gpu-name={self.arch.compile_as}"]
        command += [str(source), "-o", str(cubin)]
        finished = self.run(
            command, readable=[self.assembler.parent, self.out], writable=[cubin.parent], limit_s=_LIMIT_S
        )
        said = output_of(finished)
        self.log.append(f"$ {' '.join(command)}\n{said}[exit status {finished.returncode}]\n\n")
        self.warnings += read_warnings(said)
        if finished.returncode != 0:
            last = next((line.strip() for line in reversed(said.splitlines()) if line.strip()), "ptxas said nothing")
            why = finished.stopped_by or last
            return msgspec.structs.replace(found, failure=classify(said) or _broken(f"ptxas: {why}"[:400]))
        used = read_usage(said)
        if len(used) != 1:
            return msgspec.structs.replace(
                found, failure=_broken(f"the PTX holds {len(used)} kernels, one was expected")
            )
        return self._of_cubin(used[0], cubin, lowered, found)

    def _of_cubin(self, used: Usage, cubin: Path, lowered: Lowered, found: KernelResources) -> KernelResources:
        try:
            image = load_cubin(cubin).kernels.get(used.kernel)
        except NotCubinError as why:
            return msgspec.structs.replace(found, failure=_broken(str(why)))
        threads = (image.bound if image else None) or lowered.figures.get("num_warps", 1) * WARP
        shared = max(used.shared, found.shared_bytes)
        limits = self.arch.limits
        assert limits is not None
        fits = 1 <= threads <= MOST_THREADS
        return msgspec.structs.replace(
            found,
            registers=used.registers,
            spill_store_bytes=used.spill_stores,
            spill_load_bytes=used.spill_loads,
            stack_bytes=used.stack,
            shared_bytes=shared,
            constant_bytes=image.constant_bytes if image else 0,
            code_bytes=image.code_bytes if image else 0,
            occupancy=occupancy(limits, registers=used.registers, shared_bytes=shared, block_threads=threads)
            if fits
            else None,
            **_mix(disassembled(self.disassembler, cubin, self.run).get(used.kernel, Mix())),
        )


def disassembled(disassembler: Path | None, cubin: Path, run: Runner) -> dict[str, Mix]:
    """Return the instructions of each kernel of a cubin, by mangled name; nothing where no nvdisasm can be had."""
    if disassembler is None:
        return {}
    command = [str(disassembler), "-c", str(cubin)]
    finished = run(command, readable=[disassembler.parent, cubin.parent], writable=[], limit_s=_LIMIT_S)
    return read_sass(finished.stdout.decode(errors="replace")) if finished.returncode == 0 else {}


def _misfit(arch: Architecture, lowered: Lowered) -> Failure | None:
    """Return why a kernel that builds cannot be launched on `arch`."""
    asked = (
        ("shared memory", lowered.figures.get("shared", 0), arch.shared_per_block, "bytes a block"),
        ("tensor memory", lowered.figures.get("tmem_size", 0), _TENSOR_MEMORY_COLUMNS, "columns"),
        ("threads", lowered.figures.get("num_warps", 0) * (64 if arch.vendor == "rocm" else 32), 1024, "a block"),
    )
    for what, wanted, there, unit in asked:
        if wanted > there:
            return Failure(
                kind="launch",
                line=f"does not fit on {arch.name}: {wanted:,} {unit} of {what}, {there:,} there",
                fault="submission",
                advice="Take smaller tiles, fewer stages or fewer warps on this architecture.",
            )
    return None


def _broken(line: str) -> Failure:
    return Failure(
        kind="compile",
        line=line,
        fault="submission",
        advice="Read the build log: the assembler or its reader names what it does not accept.",
    )


def _mix(mix: Mix) -> dict[str, dict[str, int]]:
    return {"instructions": dict(mix.instructions.most_common()), "tensor": dict(mix.tensor.most_common(24))}
