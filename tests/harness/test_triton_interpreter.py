"""Triton's interpreter against ml_dtypes: each case is a kernel that runs in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

pytest.importorskip("triton", reason="needs triton")
pytest.importorskip("torch", reason="needs torch")

ROOT = Path(__file__).resolve().parents[2]
PRELUDE = """
import os
os.environ["TRITON_INTERPRET"] = "1"
import ml_dtypes, numpy as np, torch, triton, triton.language as tl
from kgrade.harness.worker import cuda_stand_in, triton_bounds, triton_interpreter
cuda_stand_in.install(); cuda_stand_in.install_driver()
triton_interpreter.install(); triton_bounds.install()
np.seterr(all="ignore")
PAIRS = {"bfloat16": (torch.bfloat16, ml_dtypes.bfloat16, torch.int16),
         "float8_e4m3fn": (torch.float8_e4m3fn, ml_dtypes.float8_e4m3fn, torch.uint8),
         "float8_e5m2": (torch.float8_e5m2, ml_dtypes.float8_e5m2, torch.uint8),
         "float8_e4m3fnuz": (torch.float8_e4m3fnuz, ml_dtypes.float8_e4m3fnuz, torch.uint8),
         "float8_e5m2fnuz": (torch.float8_e5m2fnuz, ml_dtypes.float8_e5m2fnuz, torch.uint8)}

def tensor(array, name):
    carrier = np.int16 if array.dtype.itemsize == 2 else np.uint8
    return torch.from_numpy(array.view(carrier).copy()).view(PAIRS[name][0])

def array(tensor, name):
    return tensor.view(PAIRS[name][2]).numpy().view(PAIRS[name][1])

def every(name):
    kind = np.dtype(PAIRS[name][1])
    return np.arange(2 ** (8 * kind.itemsize), dtype=np.uint16).astype("u%d" % kind.itemsize).view(kind)

def same(got, expected):
    got, expected = np.asarray(got), np.asarray(expected)
    assert got.dtype == expected.dtype, (got.dtype, expected.dtype)
    nan = np.isnan(expected.astype(np.float32))
    assert np.array_equal(np.isnan(got.astype(np.float32)), nan)
    size = got.dtype.itemsize
    differ = (got.view("u%d" % size) != expected.view("u%d" % size)) & ~nan
    assert not differ.any(), (got[differ][:5], expected[differ][:5])
"""


def run(tmp_path: Path, body: str) -> subprocess.CompletedProcess[str]:
    script = tmp_path / "kernel_case.py"  # Triton reads a kernel's source, so it must lie in a file
    script.write_text(PRELUDE + textwrap.dedent(body))
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "TRITON_CACHE_DIR": str(tmp_path)}
    return subprocess.run(
        [sys.executable, str(script)], env=environment, capture_output=True, text=True, timeout=120, check=False
    )


def check(tmp_path: Path, body: str) -> None:
    ended = run(tmp_path, body)
    assert ended.returncode == 0, ended.stderr[-3000:]


@pytest.mark.xdist_group("torch")
def test_every_bfloat16_pair_of_a_sample_adds_multiplies_and_divides_exactly(tmp_path: Path) -> None:
    check(
        tmp_path,
        """
        @triton.jit
        def arithmetic(x, y, out, N: tl.constexpr):
            i = tl.arange(0, N)
            a, b = tl.load(x + i), tl.load(y + i)
            tl.store(out + i, a + b)
            tl.store(out + N + i, a * b)
            tl.store(out + 2 * N + i, a - b)
            tl.store(out + 3 * N + i, tl.where(a > b, a, b))

        a = every("bfloat16")
        b = np.random.default_rng(7).permutation(a)
        out = torch.empty(4 * a.size, dtype=torch.bfloat16, device="cuda")
        arithmetic[(1,)](tensor(a, "bfloat16"), tensor(b, "bfloat16"), out, N=a.size)
        got = array(out, "bfloat16").reshape(4, -1)
        same(got[0], a + b); same(got[1], a * b); same(got[2], a - b); same(got[3], np.where(a > b, a, b))
        """,
    )


@pytest.mark.xdist_group("torch")
def test_every_value_widens_exactly_and_float32_narrows_to_nearest_even(tmp_path: Path) -> None:
    check(
        tmp_path,
        """
        @triton.jit
        def widen(x, out, N: tl.constexpr):
            i = tl.arange(0, N)
            tl.store(out + i, tl.load(x + i).to(tl.float32))

        @triton.jit
        def narrow(x, out, N: tl.constexpr):
            i = tl.arange(0, N)
            tl.store(out + i, tl.load(x + i).to(out.dtype.element_ty))

        for NAME in PAIRS:
            values = every(NAME)
            wide = torch.empty(values.size, dtype=torch.float32, device="cuda")
            widen[(1,)](tensor(values, NAME), wide, N=values.size)
            assert np.array_equal(wide.numpy(), values.astype(np.float32), equal_nan=True)

            largest = float(ml_dtypes.finfo(values.dtype).max)
            rng = np.random.default_rng(11)
            low, high = np.log2(float(ml_dtypes.finfo(values.dtype).smallest_subnormal)) - 2, np.log2(largest)
            source = (rng.choice([-1.0, 1.0], 4096) * 2 ** rng.uniform(low, high, 4096)).astype(np.float32)
            halves = (values.astype(np.float64)[:-1] + values.astype(np.float64)[1:]) / 2
            ties = halves[np.isfinite(halves) & (np.abs(halves) < largest)].astype(np.float32)[:4096]
            source[: ties.size] = ties
            out = torch.empty(4096, dtype=PAIRS[NAME][0], device="cuda")
            narrow[(1,)](torch.from_numpy(source), out, N=4096)
            same(array(out, NAME), source.astype(values.dtype))
        """,
    )


@pytest.mark.xdist_group("torch")
def test_float8_saturates_as_a_device_does(tmp_path: Path) -> None:
    check(
        tmp_path,
        """
        @triton.jit
        def narrow(x, out, N: tl.constexpr):
            i = tl.arange(0, N)
            tl.store(out + i, tl.load(x + i).to(out.dtype.element_ty))

        source = torch.tensor([1e9, -1e9, float("inf"), float("nan")])
        for name, largest in (("float8_e4m3fn", 448.0), ("float8_e5m2", 57344.0)):
            out = torch.empty(4, dtype=PAIRS[name][0], device="cuda")
            narrow[(1,)](source, out, N=4)
            got = array(out, name).astype(np.float32)
            assert got[:3].tolist() == [largest, -largest, largest] and np.isnan(got[3]), got
        """,
    )


@pytest.mark.xdist_group("torch")
def test_dots_of_narrow_types_are_exact_and_tf32_is_rounded(tmp_path: Path) -> None:
    check(
        tmp_path,
        """
        @triton.jit
        def dot(a, b, out, N: tl.constexpr, PRECISION: tl.constexpr):
            i, j = tl.arange(0, N)[:, None], tl.arange(0, N)[None, :]
            tl.store(out + i * N + j, tl.dot(tl.load(a + i * N + j), tl.load(b + i * N + j), input_precision=PRECISION))

        rng = np.random.default_rng(3)
        for name in PAIRS:
            a, b = (rng.integers(-8, 8, (32, 32)).astype(PAIRS[name][1]) for _ in range(2))
            out = torch.empty(32, 32, device="cuda")
            dot[(1,)](tensor(a, name), tensor(b, name), out, N=32, PRECISION="tf32")
            assert np.array_equal(out.numpy(), a.astype(np.float32) @ b.astype(np.float32)), name
        a = np.full((32, 32), 1 + 2.0**-12, np.float32)
        out = torch.empty(32, 32, device="cuda")
        dot[(1,)](torch.from_numpy(a), torch.eye(32), out, N=32, PRECISION="tf32")
        assert (out == 1).all()
        dot[(1,)](torch.from_numpy(a), torch.eye(32), out, N=32, PRECISION="ieee")
        assert (out == 1 + 2.0**-12).all()
        """,
    )


@pytest.mark.xdist_group("torch")
def test_reductions_and_atomics_in_bfloat16_round_in_bfloat16(tmp_path: Path) -> None:
    check(
        tmp_path,
        """
        @triton.jit
        def reduce(x, out, N: tl.constexpr):
            v = tl.load(x + tl.arange(0, N))
            tl.store(out, tl.sum(v))
            tl.store(out + 1, tl.max(v).to(tl.bfloat16))
            tl.store(out + 2, tl.full((), 1.5, tl.bfloat16))
            tl.atomic_add(out + 3 + tl.zeros((N,), tl.int32), v)

        x = torch.ones(1024, dtype=torch.bfloat16)
        x[5] = 3
        out = torch.zeros(4, dtype=torch.bfloat16)
        reduce[(1,)](x, out, N=1024)
        # In a tree 1026 rounds to 1024 (the spacing of bfloat16 there is 8); one by one the sum stops growing at 256.
        assert out.tolist() == [1024.0, 3.0, 1.5, 256.0], out.tolist()
        """,
    )


@pytest.mark.xdist_group("torch")
def test_float32_and_float16_values_stay_what_they_were_upstream(tmp_path: Path) -> None:
    check(
        tmp_path,
        """
        @triton.jit
        def touch(x, y, out, N: tl.constexpr):
            i = tl.arange(0, N)
            a, b = tl.load(x + i), tl.load(y + i)
            tl.store(out + i, a * b + tl.abs(b) - tl.minimum(a, b))
            tl.store(out + N + i, tl.exp(a.to(tl.float32)).to(a.dtype))

        rng = np.random.default_rng(5)
        for kind in (np.float32, np.float16):
            a, b = (rng.standard_normal(512).astype(kind) for _ in range(2))
            out = torch.empty(1024, dtype=torch.from_numpy(a).dtype, device="cuda")
            touch[(1,)](torch.from_numpy(a), torch.from_numpy(b), out, N=512)
            expected = a * b + np.abs(b) - np.minimum(a, b)
            assert expected.dtype == kind and np.array_equal(out[:512].numpy(), expected)
            assert np.array_equal(out[512:].numpy(), np.exp(a.astype(np.float32)).astype(kind))
        """,
    )


@pytest.mark.xdist_group("torch")
def test_an_unmasked_tail_is_an_out_of_bounds_load(tmp_path: Path) -> None:
    ended = run(
        tmp_path,
        """
        @triton.jit
        def copy(x, out, N, BLOCK: tl.constexpr):
            i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
            tl.store(out + i, tl.load(x + i), mask=i < N)

        x = torch.ones(100)
        copy[(2,)](x, torch.empty_like(x), 100, BLOCK=64)
        """,
    )
    assert ended.returncode == 1
    assert "out-of-bounds load: program (1, 0, 0), 28 of 64 lanes, the first 0 bytes past the end" in ended.stderr


@pytest.mark.xdist_group("torch")
def test_pointers_loaded_from_memory_are_not_accused(tmp_path: Path) -> None:
    check(
        tmp_path,
        """
        @triton.jit
        def indirect(table, out, BLOCK: tl.constexpr):
            i = tl.arange(0, BLOCK)
            source = tl.load(table).to(tl.pointer_type(tl.float32))
            tl.store(out + i, tl.load(source + i))

        x = torch.arange(16.0)
        out = torch.empty(16, device="cuda")
        assert x.device == out.device == torch.device("cuda", 0) and out.isnan().all()
        indirect[(1,)](torch.tensor([x.data_ptr()]), out, BLOCK=16)
        assert out.tolist() == x.tolist()
        """,
    )


@pytest.mark.xdist_group("torch")
def test_an_autotuned_kernel_runs_with_its_first_config(tmp_path: Path) -> None:
    check(
        tmp_path,
        """
        @triton.autotune([triton.Config({"BLOCK": 64}, num_warps=2), triton.Config({"BLOCK": 128})], key=["N"])
        @triton.jit
        def scale(x, out, N, BLOCK: tl.constexpr):
            i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
            tl.store(out + i, 2 * tl.load(x + i, mask=i < N), mask=i < N)

        x = torch.arange(100.0, device="cuda")
        assert torch.cuda.get_device_properties(x.device).multi_processor_count > 0 and x.is_cuda
        out = torch.empty_like(x)
        scale[lambda meta: (triton.cdiv(100, meta["BLOCK"]),)](x, out, 100)
        assert out.tolist() == (2 * x).tolist()
        """,
    )
