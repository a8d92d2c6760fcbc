"""Compiling a translated solution: the system's C++ compiler, the runtime's headers precompiled, one shared object."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from kgrade.harness.build.runner import Finished, Runner, output_of

RUNTIME = Path(__file__).parent / "runtime"
NO_COMPILER = "no C++ compiler was found on PATH (g++ or clang++)"
_COMMON = [
    "-std=c++17", "-fPIC", "-w", "-fno-strict-aliasing", "-fwrapv", "-fno-gnu-unique", "-march=native", "-pthread",
]  # fmt: skip
_FAST = ["-O2", "-g1"]
# What the checks say must be true of the source, so nothing is loaded before its time or twice.
_CHECKED = [
    "-O1",
    "-g",
    "-fsanitize=thread",
    "--param=tsan-distinguish-volatile=1",
    "-fno-if-conversion",
    "-fno-tree-pre",
    "-fno-tree-sra",
    "-DEMU_CHECKS",
]


@dataclass(frozen=True)
class Compiled:
    """What a compilation gave: the shared object, or None and the log that says why."""

    library: Path | None
    log: str
    seconds: float


def find_compiler() -> Path | None:
    """Return the C++ compiler of this machine, or None."""
    found = shutil.which("g++") or shutil.which("clang++")
    return Path(found) if found else None


@dataclass
class Compiler:
    """A C++ compiler with the runtime prepared for it in `cache`, which must be a folder of this machine's own."""

    executable: Path
    cache: Path
    run: Runner
    limit_s: float = 300
    _prepared: dict[bool, Path] = field(default_factory=dict)

    def compile(self, folder: Path, checks: bool, *, arch: int = 90, includes: Sequence[Path] = ()) -> Compiled:
        """Compile every `.cu` (and `.cpp`) under `folder`, translated, to `folder/emulated[.checks].so`.

        `arch` is the compute capability that `__CUDA_ARCH__` states (90 for sm_90).
        """
        prepared = self.prepare(checks)
        sources = sorted(path for path in folder.rglob("*") if path.suffix in (".cu", ".cpp", ".cc") and path.is_file())
        library = folder / ("emulated.checks.so" if checks else "emulated.so")
        log: list[str] = []
        seconds = 0.0
        objects = []
        for source in sources:
            made = source.with_suffix(source.suffix + (".checks.o" if checks else ".o"))
            command = [
                *self._command(checks), f"-D__CUDA_ARCH__={arch * 10}", "-include", str(prepared / "cuda_emulator.h"),
                *(f"-I{path}" for path in (folder, source.parent, *includes)),
                "-x", "c++", "-c", str(source), "-o", str(made),
            ]  # fmt: skip
            finished = self._finished(command, [folder, prepared, *includes], [folder], log)
            seconds += finished.seconds
            if finished.returncode != 0:
                return Compiled(None, "".join(log), seconds)
            objects.append(str(made))
        # Bound inside itself, so that two solutions in one process never see each other's functions.
        runtime = [str(path) for path in sorted(prepared.glob("*.o"))]
        command = [
            str(self.executable),
            "-shared",
            "-Wl,-Bsymbolic",
            "-pthread",
            "-ldl",
            "-o",
            str(library),
            *objects,
            *runtime,
        ]
        finished = self._finished(command, [folder, prepared], [folder], log)
        seconds += finished.seconds
        return Compiled(library if finished.returncode == 0 else None, "".join(log), seconds)

    def prepare(self, checks: bool) -> Path:
        """Compile the runtime and its precompiled header once for this compiler; return their folder."""
        if checks in self._prepared:
            return self._prepared[checks]
        place = self.cache / f"{self._key(checks)}{'-checks' if checks else ''}"
        if not (place / "complete").exists():
            self._prepare(place, checks)
        self._prepared[checks] = place
        return place

    def _prepare(self, place: Path, checks: bool) -> None:
        place.mkdir(parents=True, exist_ok=True)
        for path in RUNTIME.iterdir():
            if path.is_file():
                shutil.copyfile(path, place / path.name)
        header = place / "cuda_emulator.h"
        steps = [
            [*self._command(checks), "-D__CUDA_ARCH__=900", "-x", "c++-header", str(header), "-o", f"{header}.gch"]
        ]
        for source in sorted(place.glob("*.cpp")):
            # The runtime itself is never instrumented: it must see what the checks must not.
            plain = [
                str(self.executable),
                *_COMMON,
                "-O2",
                "-g1",
                "-fvisibility=hidden",
                *(["-DEMU_CHECKS"] if checks else []),
            ]
            steps.append([*plain, "-c", str(source), "-o", str(source.with_suffix(".o"))])
        log: list[str] = []
        for command in steps:
            if self._finished(command, [place], [place], log).returncode != 0:
                raise RuntimeError(f"the emulator's runtime does not compile here: {''.join(log)[-2000:]}")
        (place / "complete").touch()

    def _command(self, checks: bool) -> list[str]:
        return [str(self.executable), *_COMMON, *(_CHECKED if checks else _FAST)]

    def _key(self, checks: bool) -> str:
        """A name for everything that the prepared runtime depends on."""
        digest = hashlib.sha256(
            repr((str(self.executable), self.executable.stat().st_mtime, self._command(checks))).encode()
        )
        for path in sorted(path for path in RUNTIME.iterdir() if path.is_file()):
            digest.update(path.name.encode() + path.read_bytes())
        return digest.hexdigest()[:20]

    def _finished(
        self, command: Sequence[str], readable: Sequence[Path], writable: Sequence[Path], log: list[str]
    ) -> Finished:
        finished = self.run(command, readable=readable, writable=writable, limit_s=self.limit_s)
        log.append(f"$ {' '.join(command)}\n{output_of(finished)}[exit status {finished.returncode}]\n\n")
        return finished
