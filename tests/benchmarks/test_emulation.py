"""CPU emulation without its checks beside what a plain C++ compiler makes of the same work, on one core."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kgrade.harness.emulator import translate
from kgrade.harness.emulator.compiler import NO_COMPILER, Compiler, find_compiler, runtime_cache
from tests.benchmarks.measuring import Measured, compared, interleaved
from tests.harness.emulator.running import Loaded, run

pytestmark = pytest.mark.alone

SOURCES = Path(__file__).parent / "emulation"
THREADS = 1 << 20
SIZE = 512


@pytest.fixture(scope="module")
def compiler() -> Compiler:
    executable = find_compiler()
    if executable is None:
        pytest.skip(NO_COMPILER)
    return Compiler(executable, runtime_cache(), run)


@pytest.fixture(scope="module")
def translated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("translated")
    _translate(folder)
    return folder


@pytest.fixture(scope="module")
def emulated(compiler: Compiler, translated: Path, tmp_path_factory: pytest.TempPathFactory) -> Loaded:
    made = compiler.compile(translated, tmp_path_factory.mktemp("emulated"), checks=False)
    assert made.shared is not None, made.log
    return Loaded(made.shared, ["kernels.cu"], run)


@pytest.fixture(scope="module")
def plain(compiler: Compiler, tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    library = tmp_path_factory.mktemp("plain") / "plain.so"
    command = [str(compiler.executable), "-O2", "-shared", "-fPIC", str(SOURCES / "plain.cpp"), "-o", str(library)]
    subprocess.run(command, check=True)
    return ctypes.CDLL(str(library))


def _translate(folder: Path) -> None:
    sources = {"kernels.cu": (SOURCES / "kernels.cu").read_bytes()}
    for path, text in translate(sources, split=True).items():
        (folder / path).write_bytes(text)


def _seconds(call: Callable[[], Any]) -> float:
    begin = time.perf_counter()
    call()
    return time.perf_counter() - begin


def test_a_million_threads_over_a_loop(emulated: Loaded, plain: ctypes.CDLL, keep: Callable[[Measured], None]) -> None:
    x = np.random.default_rng(0).random(THREADS, np.float32)
    mine, theirs = np.zeros_like(x), np.zeros_like(x)
    times = 10

    def ours() -> None:
        for _ in range(times):
            assert emulated.call("elementwise", x, mine, 1.5, THREADS, None) == 0

    def loop() -> None:
        for _ in range(times):
            plain.elementwise(*map(_pointer, (x, theirs)), ctypes.c_float(1.5), ctypes.c_int64(THREADS))

    pairs = interleaved(lambda: _seconds(ours), lambda: _seconds(loop))
    np.testing.assert_allclose(mine, theirs, rtol=1e-5)
    keep(compared("1 M CUDA threads, elementwise, over a loop by g++ -O2", pairs, 5.0))


def test_a_tiled_product_over_the_same_tiles(
    emulated: Loaded, plain: ctypes.CDLL, keep: Callable[[Measured], None]
) -> None:
    rng = np.random.default_rng(0)
    a, b = rng.random((SIZE, SIZE), np.float32), rng.random((SIZE, SIZE), np.float32)
    mine, theirs = np.zeros_like(a), np.zeros_like(a)

    def ours() -> None:
        assert emulated.call("gemm", a, b, mine, SIZE, None) == 0

    def loops() -> None:
        plain.gemm(*map(_pointer, (a, b, theirs)), ctypes.c_int64(SIZE))

    pairs = interleaved(lambda: _seconds(ours), lambda: _seconds(loops))
    for product in (mine, theirs):
        np.testing.assert_allclose(product, a.astype(float) @ b, rtol=1e-5)
    keep(compared("512 x 512 x 512 tiled float32 GEMM over the same tiles by g++ -O2", pairs, 8.0))


def test_translating_and_compiling(
    compiler: Compiler, translated: Path, tmp_path: Path, keep: Callable[[Measured], None]
) -> None:
    """Beside the bare command that makes an object file of the translation with the precompiled header."""
    header = compiler.prepare(checks=False) / "cuda_emulator.h"
    folder, out = tmp_path / "source", tmp_path / "out"
    folder.mkdir()
    out.mkdir()

    def ours() -> None:
        shutil.rmtree(compiler.cache / "objects", ignore_errors=True)
        _translate(folder)
        assert compiler.compile(folder, out, checks=False).shared is not None

    def theirs() -> None:
        flags = [*compiler.command(checks=False), "-D__CUDA_ARCH__=900", "-include", str(header)]
        subprocess.run([*flags, "-x", "c++", "-c", str(translated / "kernels.cu"), "-o", str(out / "a.o")], check=True)

    pairs = interleaved(lambda: _seconds(ours), lambda: _seconds(theirs))
    keep(compared("translating and compiling over compiling the translation", pairs, 2.0))


def _pointer(array: np.ndarray) -> ctypes.c_void_p:
    return ctypes.c_void_p(array.ctypes.data)
