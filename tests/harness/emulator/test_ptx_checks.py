"""Faults planted through inline PTX: each is named with its line, block, thread and access; without it nothing is found."""

# ruff: noqa: E501 (lines of kernels)
from __future__ import annotations

from typing import Any

import pytest

from tests.harness.emulator.planted import FILL, INDEX, Planted, findings, named

pytestmark = pytest.mark.xdist_group("emulator")

TILE = (
    FILL
    + "__shared__ __align__(16) unsigned short s[64];\nunsigned r = 0, at = (unsigned)__cvta_generic_to_shared(s);\n"
)
ROW = "at + 16 * (t % 8)"
FLOATS = (
    FILL + "__shared__ __align__(16) float s[64];\nunsigned at = (unsigned)__cvta_generic_to_shared(s); float v = 0;\n"
)
COPIED = '"cp.async.cg.shared.global [%0], [%1], 16;" :: "r"'
ARRIVED = 'asm volatile("cp.async.commit_group;"); asm volatile("cp.async.wait_group 0;"); __syncthreads();\n'

PLANTED = [
    Planted("ld.global.v4 at one element off", "misaligned",
            INDEX + 'if (i < 8) { float a, b, c, d;\nasm volatile("ld.global.v4.f32 {%0, %1, %2, %3}, [%4];" : "=f"(a), "=f"(b), "=f"(c), "=f"(d) : "l"(x + 4 * i + @)); //!\n'
            "y[i] = a + b + c + d; } else if (i < n) y[i] = 0;", "1", "0", access="read of 16 bytes"),
    Planted("ld.global.v2 of doubles at a float", "misaligned",
            INDEX + 'if (i < n / 4 - 1) { double a, b;\nasm volatile("ld.global.nc.v2.f64 {%0, %1}, [%2];" : "=d"(a), "=d"(b) : "l"(x + 4 * i + @)); //!\n'
            "y[i] = a + b; } else if (i < n) y[i] = 0;", "2", "0", access="read of 16 bytes"),
    Planted("st.global.v2 at one element off", "misaligned",
            INDEX + 'if (2 * i + 2 < n) asm volatile("st.global.v2.f32 [%0], {%1, %2};" :: "l"(y + 2 * i + @), "f"(x[i]), "f"(x[i])); //!\n',
            "1", "0", access="write of 8 bytes"),
    Planted("ld.volatile.v2 at one element off", "misaligned",
            INDEX + 'float a, b = 0; if (2 * i + 2 < n) {\nasm volatile("ld.volatile.global.v2.f32 {%0, %1}, [%2];" : "=f"(a), "=f"(b) : "l"(x + 2 * i + @)); //!\n'
            "} if (i < n) y[i] = b;", "1", "0", access="read of 8 bytes"),
    Planted("st.release.v4 at two elements off", "misaligned",
            INDEX + 'if (4 * i + 4 < n) asm volatile("st.release.gpu.global.v4.f32 [%0], {%1, %1, %1, %1};" :: "l"(y + 4 * i + @), "f"(x[i])); //!',
            "2", "0", access="write of 16 bytes"),
    Planted("ld.shared.v4 at two elements off", "misaligned",
            FLOATS + 's[t] = t; __syncthreads(); float a, b, c;\nif (t < 15) asm volatile("ld.shared.v4.f32 {%0, %1, %2, %3}, [%4 + @];" : "=f"(v), "=f"(a), "=f"(b), "=f"(c) : "r"(at + 16 * t)); //!\n'
            "if (t < 15) y[i] = v + a + b + c;", "8", "0", access="read of 16 bytes"),
    Planted("cp.async from four bytes off", "misaligned",
            FLOATS + f'if (t < 16)\nasm volatile({COPIED}(at + 16 * t), "l"(x + 4 * t + @)); //!\n{ARRIVED}if (i < n) y[i] = s[t];',
            "1", "0", access="read of 16 bytes"),
    Planted("cp.async to four bytes off", "misaligned",
            FLOATS + f's[t] = 0; __syncthreads(); if (t < 15)\nasm volatile({COPIED}(at + 16 * t + @), "l"(x + 4 * t)); //!\n{ARRIVED}if (i < n) y[i] = s[t];',
            "4", "0", access="write of 16 bytes"),
    Planted("ldmatrix at a row two bytes off", "misaligned",
            TILE + f's[t] = t; __syncthreads();\nasm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {{%0}}, [%1];" : "=r"(r) : "r"({ROW} + (t == 3 ? @ : 0))); //!\n'
            "if (i < n) y[i] = r;", "2", "0", access="read of 16 bytes"),
    Planted("stmatrix at a row eight bytes off", "misaligned",
            TILE + f's[t] = t; __syncthreads(); if (t < 32)\nasm volatile("stmatrix.sync.aligned.m8n8.x1.shared.b16 [%0], {{%1}};" :: "r"({ROW} + (t == 5 ? @ : 0)), "r"(t)); //!\n'
            "__syncthreads(); if (i < n) y[i] = s[t];", "8", "0", access="write of 16 bytes"),
    Planted("ld.global without a guard", "global-out-of-bounds",
            INDEX + 'float v = 0;\nif (@) asm volatile("ld.global.f32 %0, [%1];" : "=f"(v) : "l"(x + i)); //!\nif (i < n) y[i] = v;',
            "i < 128", "i < n", n=100, access="read of 4 bytes"),
    Planted("a predicate that lets the tail through", "global-out-of-bounds",
            INDEX + 'float v = 0;\nasm volatile("{.reg .pred p; setp.@ ld.global.ca.f32 %0, [%1];}" : "+f"(v) : "l"(x + i), "r"(i), "r"(n)); //!\n'
            "if (i < n) y[i] = v;", "le.s32 p, %2, %3; @p", "lt.s32 p, %2, %3; @p", n=100, access="read of 4 bytes"),
    Planted("st.global one element too far", "global-out-of-bounds",
            INDEX + 'if (i < n) asm volatile("st.global.cs.f32 [%0], %1;" :: "l"(y + i + @), "f"(x[i])); //!\n', "1", "0", access="write of 4 bytes"),
    Planted("red.global past the end", "global-out-of-bounds",
            INDEX + 'if (i < n) y[i] = 0;\nif (i < n) asm volatile("red.global.add.f32 [%0], %1;" :: "l"(y + i + @), "f"(1.0f)); //!\n', "n", "0", access="atomic of 4 bytes"),
    Planted("cp.async past the input", "global-out-of-bounds",
            FLOATS + 'const int first = 64 * blockIdx.x + 4 * t; if (t < 16)\nasm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" :: "r"(at + 16 * t), "l"(first < n ? x + first : x), "r"(@)); //!\n'
            + ARRIVED + "if (i < n) y[i] = s[t];", "16", "first < n ? min(16, 4 * (n - first)) : 0", n=98, access="read of 16 bytes"),
    Planted("cp.async over the end of a tile", "shared-out-of-bounds",
            FLOATS + f'if (t < 16)\nasm volatile({COPIED}(at + 16 * t + @), "l"(x + 4 * t)); //!\n{ARRIVED}if (i < n) y[i] = s[t];', "16", "0", access="write of 16 bytes"),
    Planted("ld.shared past a tile", "shared-out-of-bounds",
            FLOATS + 's[t] = t; __syncthreads();\nasm volatile("ld.shared.f32 %0, [%1];" : "=f"(v) : "r"(at + 4 * t + @)); //!\nif (i < n) y[i] = v;', "4", "0", access="read of 4 bytes"),
    Planted("st.shared before a tile", "shared-out-of-bounds",
            FLOATS + 'asm volatile("st.shared.f32 [%0], %1;" :: "r"(at + 4 * t - @), "f"(1.0f)); //!\n__syncthreads(); if (i < n) y[i] = s[t];', "4", "0", access="write of 4 bytes"),
    Planted("ldmatrix one row too far", "shared-out-of-bounds",
            TILE + f's[t] = t; __syncthreads();\nasm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {{%0}}, [%1];" : "=r"(r) : "r"({ROW} + @)); //!\n'
            "if (i < n) y[i] = r;", "16", "0", access="read of 16 bytes"),
    Planted("ldmatrix.x4 of a tile for x1", "shared-out-of-bounds",
            TILE + 's[t] = t; __syncthreads(); unsigned q[3];\nasm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];" : "=r"(r), "=r"(q[0]), "=r"(q[1]), "=r"(q[2]) : "r"(at + 16 * (@))); //!\n'
            "if (i < n) y[i] = r + q[0] + q[1] + q[2];", "t % 32", "t % 8", access="read of 16 bytes"),
    Planted("ldmatrix of rows that nobody wrote", "shared-uninitialised",
            TILE + f'if (t < @) s[t] = t; __syncthreads();\nasm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {{%0}}, [%1];" : "=r"(r) : "r"({ROW})); //!\n'
            "if (i < n) y[i] = r;", "48", "64", access="read of 16 bytes"),
    Planted("ldmatrix before the barrier", "race",
            TILE + f's[t] = t; @\nasm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {{%0}}, [%1];" : "=r"(r) : "r"({ROW})); //!\n'
            "if (i < n) y[i] = r;", "", "__syncthreads();", access="read of s"),
    Planted("stmatrix read without a barrier", "race",
            TILE + f'if (t < 32)\nasm volatile("stmatrix.sync.aligned.m8n8.x1.shared.b16 [%0], {{%1}};" :: "r"({ROW}), "r"(t));\n@\n'
            "if (i < n) y[i] = s[63 - t]; //!", "", "__syncthreads();", access="read of s"),
    Planted("a stage too many in flight", "shared-uninitialised",
            FLOATS + f'if (t < 16) asm volatile({COPIED}(at + 16 * t), "l"(x + 4 * t));\n'
            'asm volatile("cp.async.commit_group;"); asm volatile("cp.async.wait_group @;"); __syncthreads();\nif (i < n) y[i] = s[t]; //!', "1", "0", access="read of 4 bytes"),
    Planted("bar.sync that half the threads reach", "divergent-barrier",
            FILL + 'if (t < @) asm volatile("bar.sync 0;"); //!', "32", "64"),
    Planted("shfl.sync from a lane that left", "inactive-lane",
            INDEX + 'unsigned v = i;\nif (t % 32 < @) asm volatile("shfl.sync.down.b32 %0, %0, 8, 31, 0x0000ffff;" : "+r"(v)); //!\nif (i < n) y[i] = v;', "16", "0"),
]  # fmt: skip


@pytest.mark.parametrize("planted", PLANTED, ids=lambda planted: planted.name)
def test_a_planted_fault_is_named_with_its_line(load: Any, planted: Planted) -> None:
    found, marked = findings(load, PLANTED, planted, wrong=True)
    assert named(planted, found, marked), (marked, [finding.sentence() for finding in found])


@pytest.mark.parametrize("planted", PLANTED, ids=lambda planted: planted.name)
def test_without_the_fault_nothing_is_found(load: Any, planted: Planted) -> None:
    assert [finding.sentence() for finding in findings(load, PLANTED, planted, wrong=False)[0]] == []
