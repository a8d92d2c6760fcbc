"""A recorded launch to the text that an assembler reads: PTX for CUDA, AMD assembly for ROCm.

Triton would assemble PTX itself. The assembler is left to the other side of the wall, with the options that Triton
gives it: what it prints is worth more when this process cannot write it.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
import time
import types
from typing import Any, Dict, Iterator, List, Tuple

import triton

from .triton_launches import Launch, Recorder

SAID_CHARACTERS = 2000
FIGURES = ("shared", "num_warps", "num_ctas", "tmem_size", "global_scratch_size")


def lower(recorder: Recorder, launch: Launch) -> Tuple[bytes, Dict[str, Any]]:
    """Compile one launch; return its text, and what Triton says about it. Raises what the compiler raises."""
    triton.knobs.compilation.always_compile = True
    begin = time.perf_counter()
    with _assembler_kept_out() as options, _compiler_heard():
        compiled = recorder.compile(launch.kernel, *launch.arguments, grid=(1,), warmup=True, **launch.keywords)
    seconds = time.perf_counter() - begin
    if hasattr(compiled, "result"):
        compiled = compiled.result()
    kind = "ptx" if recorder.facts.target[0] == "cuda" else "amdgcn"
    metadata = compiled.metadata
    figures = {name: getattr(metadata, name, None) for name in FIGURES}
    details = {
        "name": str(metadata.name)[:400],
        "figures": {name: value for name, value in figures.items() if isinstance(value, int)},
        "options": options,
        "seconds": seconds,
        "kind": kind,
    }
    binary = compiled.asm.get("hsaco")
    details["code_bytes"] = len(binary) if isinstance(binary, bytes) else 0
    return compiled.asm[kind].encode(), details


@contextlib.contextmanager
def _assembler_kept_out() -> Iterator[List[str]]:
    """Keep the options that Triton would give to ptxas, and let it believe that an empty file was assembled."""
    from triton.backends.nvidia import compiler as nvidia

    upstream = nvidia.subprocess
    options: List[str] = []

    def noted(command: List[str], **keywords: Any) -> None:
        names = [part for part in command[1:] if part.startswith("-") and part != "-o"]
        options[:] = names
        open(command[-1], "wb").close()

    nvidia.subprocess = types.SimpleNamespace(**{**vars(upstream), "run": noted})
    try:
        yield options
    finally:
        nvidia.subprocess = upstream


@contextlib.contextmanager
def _compiler_heard() -> Iterator[None]:
    """Put what the compiler prints on file descriptor 2 into the exception it raises, which alone says little."""
    kept = os.dup(2)
    with tempfile.TemporaryFile() as said:
        os.dup2(said.fileno(), 2)
        try:
            yield
        except Exception as error:
            said.seek(0)
            text = said.read().decode(errors="replace").strip()
            if not text:
                raise
            raise CannotCompile("{}\n{}".format(_heard(text), error)) from error
        finally:
            os.dup2(kept, 2)
            os.close(kept)


def _heard(text: str) -> str:
    """Return the lines that name errors, or the end of what was said."""
    errors = [line for line in text.splitlines() if "error:" in line.lower()]
    return "\n".join(errors)[:SAID_CHARACTERS] or text[-SAID_CHARACTERS:]


class CannotCompile(Exception):
    """Triton's compiler gave up; the message starts with what it printed."""
