"""CUDA sources of PyTorch extensions, compiled by nvcc for a device that need not be here: log, cubins, figures.

What PyTorch would give to nvcc is recorded from the submission's own calls and compiled against the headers of the
PyTorch that is here. One that was built without CUDA lacks a few headers, and toolkits often lack the libraries': they
are declared in `build/torch_headers/missing`, which is searched last. No kernel's code comes from there.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import msgspec

from kgrade.harness.build.nvcc import Unit, compile_units
from kgrade.harness.build.targets import Architecture, architecture
from kgrade.harness.build.toolkit import NOT_FOUND, Toolkit, find_toolkit
from kgrade.harness.compiled import behind_wall, compile_solution, kept
from kgrade.harness.emulator.torch_headers import NO_HEADERS, TorchHeaders
from kgrade.harness.extension_sources import Extension, Piece, Recorded, here, makes_extensions, record
from kgrade.harness.run import Run
from kgrade.records.evidence import Build, BuildTarget, Failure, StageStatus

METHOD = (
    "the CUDA sources of its extensions, recorded from its own calls of load_inline and load, by nvcc against the"
    " headers of PyTorch to cubin; their C++ sources are not compiled; resources from ptxas, instructions from"
    " nvdisasm; theoretical occupancy, dynamic shared memory not counted"
)
HEADERS = Path(__file__).parent / "build" / "torch_headers"
FOLDER = "extensions"
MOST_UNITS = 32
MOST_LINES = 1 << 24
_WHOLE = re.compile(r"PYBIND11_MODULE|\bpy::|\bpybind11\b|torch::(nn|optim|jit|data|autograd)\b")
_OF_ANOTHER_ARCHITECTURE = re.compile(r"--?(gencode|arch|code|gpu-architecture|gpu-code|generate-code)\b(=.*)?")
_LACKING = re.compile(r"\b(cublas|cusparse|cusolver|cudnn|curand|cufft|nccl)\w*")


def compile_submission(run: Run) -> Build:
    """Build a submission that nothing here can call: its extensions where it makes any, else its sources."""
    if makes_extensions(run.source.solution) and run.source.task.interface != "cuda":
        return compile_extensions(run)
    return compile_solution(run)


def compile_extensions(run: Run) -> Build:
    """Record the extensions of `run` and compile them for its target; keep the logs."""
    arch = architecture(run.target)
    if arch is None or arch.vendor != "cuda":
        return Build(status="not-run", reason=f"nvcc does not build for {run.target}")
    out = run.folder / "out"
    recorded, found = built_extensions(run, arch, out)
    run.keep_log("extensions", recorded.log)
    return kept(run, out, found)


def built_extensions(run: Run, arch: Architecture, out: Path) -> tuple[Recorded, Build]:
    """Record the extensions of `run`; compile them for `arch` in the new folder `out`, which also gets the log."""
    toolkit = find_toolkit()
    if toolkit is None:
        return Recorded(), Build(status="not-run", reason=NOT_FOUND)
    torch = TorchHeaders.of(run.machine.interpreter.executable)
    if torch is None:
        return Recorded(), Build(status="not-run", reason=NO_HEADERS)
    recorded = record(run, arch)
    if recorded.failure is not None:
        return recorded, _unknown(arch.name, recorded.failure)
    if not any(each.pieces for each in recorded.extensions):
        return recorded, _nothing(run, recorded)
    out.mkdir()
    out.chmod(0o711)
    run.watch.step("build", 0, 1, f"extensions for {arch.name}")
    units, readable = units_of(run, recorded, torch, toolkit)
    limit_s = run.source.task.limits.build_s
    found = compile_units(units, [arch.name], out, behind_wall(run), toolkit, readable, limit_s, METHOD)
    found = msgspec.structs.replace(found, facts=[*recorded.facts, *found.facts])
    return recorded, _lacking(found) if found.status == "failed" else found


def _nothing(run: Run, recorded: Recorded) -> Build:
    """Return the build of a submission without CUDA sources, which is odd where the task asks for CUDA."""
    made = f"{len(recorded.extensions)} extensions without CUDA sources" if recorded.extensions else "no extension"
    if recorded.facts and not recorded.extensions:
        return Build(status="not-run", reason=recorded.facts[0], method=METHOD)
    status: StageStatus = "flagged" if run.source.task.language == "cuda" else "not-run"
    return Build(status=status, reason=f"it makes {made}", method=METHOD, facts=recorded.facts)


def units_of(run: Run, recorded: Recorded, torch: TorchHeaders, toolkit: Toolkit) -> tuple[list[Unit], list[Path]]:
    """Write the recorded sources; return what nvcc is to compile, and the folders that it must see for that."""
    folder = run.folder / FOLDER
    folder.mkdir(exist_ok=True)
    folder.chmod(0o755)
    units = []
    for number, extension in enumerate(recorded.extensions):
        name = _word(extension.name)
        for count, pieces in enumerate(extension.pieces):
            unit = f"{name}.{number}" if len(recorded.extensions) > 1 else name
            unit = f"{unit}.{count}" if len(extension.pieces) > 1 else unit
            source = _source(run, recorded, folder / f"{unit}.cu", pieces)
            text = "".join(piece.text for piece in pieces)
            options = _options(run, recorded, extension, torch, toolkit)
            whole, short = options, [f"-I{HEADERS / 'short'}", *options]
            units.append(Unit(unit, source, whole, None) if _WHOLE.search(text) else Unit(unit, source, short, whole))
    item = run.folder / "item"
    return units[:MOST_UNITS], [folder, item, HEADERS, *(Path(each) for each in torch.includes)]


def _source(run: Run, recorded: Recorded, made: Path, pieces: Sequence[Piece]) -> Path:
    """Return the submission's own file where it is that which was recorded, else the text written down with lines."""
    if len(pieces) == 1:
        own = here(run, pieces[0].path, recorded.root)
        if own is not None and own.is_file() and own.read_text("utf-8", "replace") == pieces[0].text:
            return own
    lines = []
    for piece in pieces:
        place = piece.place and _named(recorded, piece.place)
        file, line = place or (piece.path.rpartition("/")[2], 1)
        lines.append(f"#line {line} {_quoted(file)}\n{piece.text}\n")
    made.write_text("".join(lines), "utf-8", "replace")
    made.chmod(0o644)
    return made


def _named(recorded: Recorded, place: tuple[str, int]) -> tuple[str, int] | None:
    file = place[0].removeprefix(recorded.root.rstrip("/") + "/")
    return (file, place[1]) if file != place[0] and 0 < place[1] < MOST_LINES else None


def _word(name: str) -> str:
    return re.sub(r"\W", "_", name, flags=re.ASCII)[:60] or "extension"


def _quoted(text: str) -> str:
    return '"' + re.sub(r"[^\w./ +-]", "_", text)[:200] + '"'


def _options(run: Run, recorded: Recorded, extension: Extension, torch: TorchHeaders, toolkit: Toolkit) -> list[str]:
    """Return PyTorch's own options, the submission's, and where headers lie; the target says for which architecture."""
    own = _without_architecture(extension.flags)
    given = [flag for flag in recorded.flags if not (flag.startswith("-std=") and any("-std=" in each for each in own))]
    includes = [found for path in extension.includes if (found := here(run, path, recorded.root)) is not None]
    name = _word(extension.name)
    return [
        *given,
        f"-DTORCH_EXTENSION_NAME={name}",
        "-DTORCH_API_INCLUDE_EXTENSION_H",
        *own,
        *(f"-I{path}" for path in (*includes, run.folder / "item" / "solution", *toolkit.includes)),
        *(part for path in (*torch.includes, HEADERS / "missing") for part in ("-isystem", str(path))),
    ]


def _without_architecture(flags: Sequence[str]) -> list[str]:
    left: list[str] = []
    skip = False
    for flag in flags:
        stated = _OF_ANOTHER_ARCHITECTURE.match(flag)
        if not skip and stated is None:
            left.append(flag)
        skip = stated is not None and stated[2] is None
    return left


def _lacking(found: Build) -> Build:
    """Where an error names a library that is only declared here, nothing is known of the submission."""
    targets = []
    for target in found.targets:
        line = target.failure.line if target.failure else ""
        if target.status == "failed" and _LACKING.search(line):
            why = f"nvcc here has no headers of the library that it uses: {line}"[:500]
            target = msgspec.structs.replace(target, status="not-run", reason=why, failure=None)
        targets.append(target)
    if all(target.status == "not-run" for target in targets):
        return msgspec.structs.replace(found, status="not-run", reason=targets[0].reason, targets=targets)
    return found


def _unknown(target: str, why: Failure) -> Build:
    status: StageStatus = "failed" if why.fault == "submission" else "not-run"
    reason = f"its extensions could not be recorded: {why.line}"[:500]
    found = BuildTarget(target=target, status=status, reason=reason, failure=why)
    return Build(status=status, reason=reason, method=METHOD, targets=[found])
