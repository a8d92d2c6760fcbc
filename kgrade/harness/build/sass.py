"""What a kernel is made of: instructions counted by kind, and the matrix instructions by name.

CUDA listings come from `nvdisasm -c`; opcodes are those of the "Instruction Set Reference" of NVIDIA's CUDA Binary
Utilities. Counts are static: an instruction in a loop counts once.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field

MATRIX = "tensor cores"
_SECTION = re.compile(r"^\s*\.section\s+\.text\.([^,\s]+)")
_INSTRUCTION = re.compile(r"^\s+/\*[0-9a-f]{4,}\*/\s+(?:\{\s*)?(?:@!?U?P\w+\s+)?([A-Z][A-Z0-9_.]*x?[\w.]*)")
_KINDS = {
    MATRIX: ("HMMA IMMA DMMA BMMA QMMA OMMA HGMMA IGMMA QGMMA BGMMA UTCHMMA UTCQMMA UTCIMMA UTCOMMA UTCMXQMMA"),
    "float32": "FADD FADD2 FMUL FMUL2 FFMA FFMA2 FSETP FSET FSEL FMNMX FMNMX3 FCHK FSWZADD",
    "float16, bfloat16": "HADD2 HMUL2 HFMA2 HSETP2 HSET2 HMNMX2 HADD2_32I HFMA2_32I HMUL2_32I",
    "float64": "DADD DMUL DFMA DSETP DMNMX",
    "special functions": "MUFU",
    "conversions": "F2F F2I I2F I2FP F2FP F2IP FRND I2I I2IP",
    "global memory": "LDG STG LDGSTS LD ST LDGMC STGMC",
    "bulk copies": "UTMALDG UTMASTG UTMAREDG UTMAPF UBLKCP UBLKRED UBLKPF UTMACCTL UTMACMDFLUSH",
    "shared memory": "LDS STS LDSM STSM STAS",
    "tensor memory": "LDT LDTM STT STTM UTCCP UTCATOMSWS UTCBAR UTCSHIFT",
    "local memory": "LDL STL",
    "constant memory": "LDC ULDC LDCU",
    "atomics": "ATOM ATOMG ATOMS RED REDG REDUX UREDGR CREDUX",
    "barriers": "BAR WARPSYNC SYNCS DEPBAR LDGDEPBAR ARRIVES MEMBAR FENCE ERRBAR BSYNC BSSY WARPGROUP UCGABAR_ARV",
    "shuffles, votes": "SHFL VOTE VOTEU MATCH",
    "branches": "BRA BRX JMP JMX CALL RET EXIT BREAK BRXU KILL BPT",
}
_KIND = {name: kind for kind, names in _KINDS.items() for name in names.split()}
_OTHER = "integers, moves"
_OPERANDS = (
    ("BF16", "bfloat16"), ("TF32", "tf32"), ("E4M3", "float8_e4m3"), ("E5M2", "float8_e5m2"), ("E2M1", "float4_e2m1"),
    ("S8", "int8"), ("U8", "uint8"), ("S4", "int4"), ("U4", "uint4"),
)  # fmt: skip


@dataclass
class Mix:
    """Instructions of one kernel by kind, and its matrix instructions by full name."""

    instructions: Counter[str] = field(default_factory=Counter)
    tensor: Counter[str] = field(default_factory=Counter)

    def add(self, name: str, kind: str) -> None:
        """Count one instruction."""
        self.instructions[kind] += 1
        if kind == MATRIX:
            self.tensor[name] += 1


def read_sass(listing: str) -> dict[str, Mix]:
    """Return the mix of each kernel in an nvdisasm listing, by mangled name. Padding is not counted."""
    kernels: dict[str, Mix] = {}
    mix: Mix | None = None
    for line in listing.splitlines():
        if section := _SECTION.match(line):
            mix = kernels.setdefault(section[1].strip('"'), Mix())
        elif mix is not None and (found := _INSTRUCTION.match(line)):
            root = found[1].split(".", 1)[0]
            if root != "NOP":
                mix.add(found[1], _KIND.get(root, _OTHER))
    return kernels


def operands(instruction: str) -> str:
    """Return the dtype of a matrix instruction's operands, as far as its name tells.

    Blackwell's UTC instructions carry the dtype in a descriptor that only exists at run time.
    """
    name = instruction.upper()
    if name.startswith(("V_MFMA", "V_SMFMAC", "V_WMMA")):
        return _amd_operands(instruction.lower())
    if name.startswith("UTCH"):
        return "float16, bfloat16 or tf32"
    if name.startswith(("UTCQ", "UTCO", "UTCMX")):
        return "float8, float6 or float4"
    if name.startswith("DMMA"):
        return "float64"
    marks = name.split(".")
    found = [dtype for mark, dtype in _OPERANDS if mark in marks]
    if found:
        return " x ".join(found)
    return {"H": "float16", "I": "int8", "U": "int8", "B": "1 bit"}.get(name[0], "float8")


def _amd_operands(name: str) -> str:
    tail = re.sub(r"^v_s?w?mf?m?a?c?_\w+?_\d+x\d+x\d+_?", "", name)
    tail = re.sub(r"^(?:\d+b_)", "", tail)
    known = {
        "f16": "float16", "bf16": "bfloat16", "bf16_1k": "bfloat16", "f32": "float32", "xf32": "tf32",
        "f64": "float64", "i8": "int8", "fp8_fp8": "float8_e4m3", "bf8_bf8": "float8_e5m2",
        "fp8_bf8": "float8_e4m3 x float8_e5m2", "bf8_fp8": "float8_e5m2 x float8_e4m3",
        "f8f6f4": "float8, float6 or float4",
    }  # fmt: skip
    return known.get(tail, tail)
