"""Compiling a translated solution: the system's C++ compiler, the runtime's headers precompiled, one shared object."""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from kgrade.harness.build.runner import Finished, Runner, output_of
from kgrade.harness.emulator.objects import Objects, key_of
from kgrade.harness.emulator.torch_headers import TorchHeaders

RUNTIME = Path(__file__).parent / "runtime"
NO_COMPILER = "no C++ compiler was found on PATH (g++ or clang++)"
PREPARE_S = 300
_COMMON = [
    "-fPIC", "-w", "-fno-strict-aliasing", "-fwrapv", "-fno-gnu-unique", "-march=native", "-pthread",
]  # fmt: skip
_FAST = ["-O2", "-g1", "-ftree-vectorize", "-fvect-cost-model=dynamic"]
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

    shared: Path | None
    log: str
    seconds: float


def find_compiler() -> Path | None:
    """Return the C++ compiler of this machine, or None."""
    found = shutil.which("g++") or shutil.which("clang++")
    return Path(found) if found else None


def runtime_cache() -> Path:
    """Return where this user's prepared runtimes lie: `$XDG_CACHE_HOME/kgrade/emulator`."""
    base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(base) / "kgrade" / "emulator"


@dataclass
class Compiler:
    """A C++ compiler with the runtime prepared for it in `cache`, which must be a folder of this user's own.

    Sources of a solution are compiled by `run`, behind the wall, to which the cache is readable and never writable:
    what one submission does there cannot reach the next. The runtime is kgrade's own and is compiled without a wall.
    With `torch`, sources are extensions of it. Objects are kept in `keeps`, or else in the cache.
    """

    executable: Path
    cache: Path
    run: Runner
    limit_s: float = 300
    torch: TorchHeaders | None = None
    keeps: Path | None = None
    _prepared: dict[bool, Path] = field(default_factory=dict)

    def compile(
        self,
        folder: Path,
        out: Path,
        checks: bool,
        *,
        arch: int = 90,
        includes: Sequence[Path] = (),
        defines: Sequence[str] = (),
    ) -> Compiled:
        """Compile every `.cu` (and `.cpp`) under `folder`, translated, to `out/emulated[.checks].so`.

        `arch` is the compute capability that `__CUDA_ARCH__` states (90 for sm_90), `defines` are macros. `out` must
        be writable by the user behind the wall. What was compiled before is taken from the cache.
        """
        prepared = self.prepare(checks)
        library = out / f"emulated{'.checks' * checks}.so"
        kept = Objects(self.keeps or self.cache / "objects")
        macros = [f"-D{each}" for each in (f"__CUDA_ARCH__={arch * 10}", *defines)]
        key = key_of([prepared.name, *macros], [folder, *includes])
        log = kept.fetch(key, library)
        if log is not None:
            return Compiled(library, f"[compiled before]\n{log}", 0.0)
        made = self._compiled(prepared, folder, library, [*self.command(checks), *macros], includes)
        if made.shared is not None:
            kept.add(key, made.shared, made.log)
        return made

    def _compiled(
        self, prepared: Path, folder: Path, library: Path, compiler: Sequence[str], includes: Sequence[Path]
    ) -> Compiled:
        sources = sorted(path for path in folder.rglob("*") if path.suffix in (".cu", ".cpp", ".cc") and path.is_file())
        log: list[str] = []
        commands, objects = [], []
        for number, source in enumerate(sources):
            made = library.with_suffix(f".{number}.o")
            commands.append([
                *compiler, "-include", str(prepared / self._header),
                *(f"-I{path}" for path in (folder, source.parent, *includes)),
                "-x", "c++", "-c", str(source), "-o", str(made),
            ])  # fmt: skip
            objects.append(str(made))
        # Bound inside itself, so that two solutions in one process never see each other's functions.
        link = [str(self.executable), "-shared", "-Wl,-Bsymbolic", "-pthread", "-ldl", "-o", str(library)]
        commands.append([*link, *objects, str(prepared / "runtime.o"), *self._libraries()])
        seconds, worked = 0.0, True
        for command in commands:
            finished = self._finished(command, [folder, prepared, *includes], [library.parent], log)
            seconds += finished.seconds
            worked = finished.returncode == 0
            if not worked:
                break
        said = "".join(log)
        for path, name in ((folder, folder.name), (library.parent, library.parent.name), (prepared, "runtime")):
            said = said.replace(str(path), name)
        return Compiled(library if worked else None, said, seconds)

    def prepare(self, checks: bool) -> Path:
        """Compile the runtime and its precompiled header once for this compiler; return their folder."""
        if checks not in self._prepared:
            place = self.cache / f"{self._key(checks)}{'-checks' if checks else ''}"
            if not (place / "complete").exists():
                with _alone(self.cache):
                    if not (place / "complete").exists():
                        self._prepare(place, checks)
            self._prepared[checks] = place
        return self._prepared[checks]

    def _prepare(self, place: Path, checks: bool) -> None:
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir()
        for path in RUNTIME.iterdir():
            if path.is_file():
                shutil.copyfile(path, place / path.name)
        header = place / self._header
        self._own(
            [*self.command(checks), "-D__CUDA_ARCH__=900", "-x", "c++-header", str(header), "-o", f"{header}.gch"]
        )
        # The runtime itself is never instrumented: it must see what the checks must not. Its parts are compiled as one,
        # so that what they all include is read once.
        runtime = place / "runtime.cc"
        runtime.write_text("".join(f'#include "{path.name}"\n' for path in sorted(place.glob("*.cpp"))), "utf-8")
        made = ["-c", str(runtime), "-o", str(runtime.with_suffix(".o"))]
        seen = ["-DEMU_CHECKS"] * checks
        self._own([str(self.executable), "-std=c++17", *_COMMON, "-O2", "-g1", "-fvisibility=hidden", *seen, *made])
        for path in (place, *place.iterdir()):
            path.chmod(0o755 if path.is_dir() else 0o644)  # read by the user behind the wall
        (place / "complete").touch()

    def _own(self, command: Sequence[str]) -> None:
        done = subprocess.run(command, capture_output=True, text=True, timeout=PREPARE_S, check=False)
        if done.returncode != 0:
            raise RuntimeError(f"the emulator's runtime does not compile here: {done.stderr[-2000:]}")

    def command(self, checks: bool) -> list[str]:
        """Return the compiler with the flags that every source and the precompiled header get."""
        includes = [f"-I{path}" for path in self.torch.includes] if self.torch else []
        standard = "-std=c++20" if self.torch else "-std=c++17"
        return [str(self.executable), standard, *_COMMON, *(_CHECKED if checks else _FAST), *includes]

    @property
    def _header(self) -> str:
        return "cuda_emulator_torch.h" if self.torch else "cuda_emulator.h"

    def _libraries(self) -> list[str]:
        if self.torch is None:
            return []
        return [f"-L{self.torch.libraries}", "-ltorch_python", "-ltorch_cpu", "-ltorch", "-lc10"]

    def _key(self, checks: bool) -> str:
        """A name for everything that the prepared runtime depends on."""
        digest = hashlib.sha256(
            repr((str(self.executable), self.executable.stat().st_mtime, self.command(checks), self.torch)).encode()
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


@contextmanager
def _alone(cache: Path) -> Iterator[None]:
    """Keep other processes that want the same runtime waiting until it is there."""
    cache.mkdir(parents=True, exist_ok=True)
    cache.chmod(0o755)
    with (cache / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
