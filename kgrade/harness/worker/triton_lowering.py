"""A recorded launch to the text that an assembler reads: PTX for CUDA, AMD assembly for ROCm.

Triton would assemble PTX itself. The assembler is left to the other side of the wall, with the options that Triton
gives it: what it prints is worth more when this process cannot write it.
"""

from __future__ import annotations

import contextlib
import time
import types
from typing import Any, Dict, Iterator, List, Tuple

import triton

from .triton_launches import Launch, Recorder

FIGURES = ("shared", "num_warps", "num_ctas", "tmem_size", "global_scratch_size")


def lower(recorder: Recorder, launch: Launch) -> Tuple[bytes, Dict[str, Any]]:
    """Compile one launch; return its text, and what Triton says about it. Raises what the compiler raises."""
    triton.knobs.compilation.always_compile = True
    begin = time.perf_counter()
    with _assembler_kept_out() as options:
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
