"""What AMD assembly says about a kernel: its registers, memory, code size and instructions.

The figures are those of the code object metadata and of the comments that LLVM writes behind a kernel; the limits are
those of LLVM's "User Guide for AMDGPU Backend" for gfx90a and later (512 vector registers a SIMD lane in units of 8,
8 waves a SIMD, 4 SIMDs a compute unit).
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from kgrade.harness.build.sass import MATRIX, Mix
from kgrade.records.evidence import Occupancy

WAVE = 64
_SIMDS = 4
_WAVES = 8
_REGISTERS = 512
_REGISTER_UNIT = 8
_INSTRUCTION = re.compile(r"^\t([a-z]\w+)")
_CODE = re.compile(r"^;\s*codeLenInByte\s*=\s*(\d+)", re.MULTILINE)
_KINDS = (
    (("v_mfma", "v_smfmac", "v_wmma"), MATRIX),
    (("global_atomic", "flat_atomic", "buffer_atomic", "ds_add", "ds_cmpst", "ds_max", "ds_min"), "atomics"),
    (("global_", "flat_", "buffer_"), "global memory"),
    (("ds_bpermute", "ds_permute", "ds_swizzle", "v_readlane", "v_readfirstlane", "v_writelane"), "shuffles, votes"),
    (("ds_",), "shared memory"),
    (("scratch_",), "local memory"),
    (("s_load", "s_buffer_load"), "constant memory"),
    (("s_barrier", "s_waitcnt", "s_wait_"), "barriers"),
    (("s_cbranch", "s_branch", "s_endpgm", "s_setpc", "s_swappc"), "branches"),
    (("v_exp", "v_log", "v_rcp", "v_rsq", "v_sqrt", "v_sin", "v_cos"), "special functions"),
    (("v_cvt",), "conversions"),
)
_FLOATS = (("_f64", "float64"), ("_f32", "float32"), ("f16", "float16, bfloat16"))


@dataclass(frozen=True)
class CodeObject:
    """One AMD kernel: registers of a thread and of a wave, spilled registers, sizes in bytes, instructions."""

    registers: int
    accumulators: int
    scalar_registers: int
    spilled: int
    scratch: int
    shared: int
    code: int
    mix: Mix


class NotAssemblyError(ValueError):
    """The text lacks the metadata of a kernel."""


def read_amdgcn(text: str) -> CodeObject:
    """Read the assembly of one kernel; raise NotAssemblyError when it names no vector registers."""
    if _figure(text, "vgpr_count") is None:
        raise NotAssemblyError("the AMD assembly has no .vgpr_count")
    mix = Mix()
    for line in text.split("\n.Lfunc_end", 1)[0].splitlines():
        if (found := _INSTRUCTION.match(line)) and found[1] != "s_nop":
            mix.add(found[1].removesuffix("_e32").removesuffix("_e64"), _kind(found[1]))
    code = _CODE.search(text)
    return CodeObject(
        registers=_figure(text, "vgpr_count") or 0,
        accumulators=_figure(text, "agpr_count") or 0,
        scalar_registers=_figure(text, "sgpr_count") or 0,
        spilled=(_figure(text, "vgpr_spill_count") or 0) + (_figure(text, "sgpr_spill_count") or 0),
        scratch=_figure(text, "private_segment_fixed_size") or 0,
        shared=_figure(text, "group_segment_fixed_size") or 0,
        code=int(code[1]) if code else 0,
        mix=mix,
    )


def amd_occupancy(*, registers: int, shared_bytes: int, shared_limit: int, waves: int) -> Occupancy:
    """Return the resident waves of one compute unit for workgroups of `waves` waves, and what limits them."""
    of_a_simd = _REGISTERS // max(_up(registers, _REGISTER_UNIT), _REGISTER_UNIT)
    bounds = {
        "waves": _SIMDS * _WAVES // waves,
        "registers": _SIMDS * of_a_simd // waves,
        "shared memory": shared_limit // shared_bytes if shared_bytes else _SIMDS * _WAVES,
    }
    groups = min(bounds.values())
    return Occupancy(
        block_threads=waves * WAVE,
        active_warps=groups * waves,
        max_warps=_SIMDS * _WAVES,
        limiter=", ".join(name for name, bound in bounds.items() if bound == groups),
    )


def _kind(name: str) -> str:
    for starts, kind in _KINDS:
        if name.startswith(starts):
            return kind
    if name.startswith("v_"):
        for ending, kind in _FLOATS:
            if ending in name:
                return kind
    return "integers, moves"


def _figure(text: str, name: str) -> int | None:
    found = re.search(rf"^\s*\.{name}:\s*(\d{{1,9}})\s*$", text, re.MULTILINE)
    return int(found[1]) if found else None


def _up(value: int, unit: int) -> int:
    return -(-value // unit) * unit
