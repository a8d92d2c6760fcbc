"""The sample queue's CUDA submissions behave under emulation as the notes on their planted faults say."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kgrade.harness.emulator import CannotRun, translate
from kgrade.harness.emulator.compiler import Compiler

pytestmark = pytest.mark.xdist_group("emulator")

QUEUE = Path(__file__).parents[3] / "queue"


def _source(item: str) -> dict[str, str]:
    task, submission = item.split("/")
    folder = QUEUE / task / "submissions" / submission / "solution"
    return {path.name: path.read_text() for path in folder.glob("*.cu")}


def _transpose(loaded: Any, m: int, n: int) -> bool:
    x, y = np.random.default_rng(0).random((m, n), np.float32), np.full((n, m), np.nan, np.float32)
    assert loaded.call("transpose", x, y, m, n, None, outputs=(1,)) == 0
    return bool(np.array_equal(y, x.T))


def _histogram(loaded: Any, n: int, seed: int = 0) -> bool:
    x, y = np.random.default_rng(0).integers(0, 256, n).astype(np.uint8), np.full(256, -1, np.int32)
    assert loaded.call("histogram_u8", x, y, n, None, seed=seed, outputs=(1,)) == 0
    return bool(np.array_equal(y, np.bincount(x, minlength=256)))


def _scan(loaded: Any, n: int, seed: int = 0) -> bool:
    x, y = np.random.default_rng(0).random(n, np.float32), np.full(n, np.nan, np.float32)
    assert loaded.call("scan_inclusive", x, y, n, None, seed=seed, outputs=(1,)) == 0
    return bool(np.allclose(y, np.cumsum(x, dtype=np.float64), rtol=2e-5, atol=0))


def _gemm(loaded: Any, m: int, n: int, k: int) -> bool:
    rng = np.random.default_rng(0)
    a, b, bias = (rng.standard_normal(shape).astype(np.float16) for shape in ((m, k), (k, n), (n,)))
    y = np.full((m, n), np.nan, np.float16)
    assert loaded.call("gemm_bias_relu", a, b, bias, y, m, n, k, None, outputs=(3,)) == 0
    exact = np.maximum(a.astype(np.float64) @ b.astype(np.float64) + bias, 0)
    return bool((np.abs(y - exact) <= np.maximum(5e-3 + 1e-3 * exact, np.spacing(exact.astype(np.float16)))).all())


@pytest.mark.parametrize(
    "item",
    ["transpose-tiled/s01", "histogram-u8/s01", "scan-inclusive/s01", "scan-inclusive/s02", "gemm-epilogue-port/s01"],
)
@pytest.mark.parametrize("checks", [False, True], ids=["plain", "checked"])
def test_what_has_no_planted_fault_is_right_and_clean(load: Any, item: str, checks: bool) -> None:
    loaded = load(_source(item), checks)
    run = {"transpose": _transpose, "histogram": _histogram, "scan": _scan, "gemm": _gemm}[item.split("-")[0]]
    shapes: dict[str, list[tuple[int, ...]]] = {
        "transpose": [(31, 33), (1000, 217), (131101, 5)][: 2 if checks else 3],
        "histogram": [(1,), (4097,), (0,), (60000,)],
        "scan": [(1,), (31,), (4097,), (100003,)], "gemm": [(1, 8, 8), (127, 264, 72)],
    }  # fmt: skip
    for shape in shapes[item.split("-")[0]]:
        assert run(loaded, *shape), shape
        assert [finding.sentence() for finding in loaded.findings] == []


def test_the_tail_that_is_never_written(load: Any) -> None:
    loaded = load(_source("transpose-tiled/s02"))
    assert _transpose(loaded, 1024, 1024)
    assert not _transpose(loaded, 31, 33)


def test_the_race_in_the_histogram_is_found_and_gives_wrong_counts(load: Any) -> None:
    assert not _histogram(load(_source("histogram-u8/s02")), 4097)
    loaded = load(_source("histogram-u8/s02"), True)
    _histogram(loaded, 4097)
    assert {"race"} <= {finding.kind for finding in loaded.findings}
    line = next(
        n
        for n, text in enumerate(_source("histogram-u8/s02")["histogram.cu"].split("\n"), 1)
        if "bins[threadIdx.x] = 0" in text
    )
    assert any(
        finding.kind == "race" and line in (finding.line, finding.other.line)
        for finding in loaded.findings
        if finding.other
    )


def test_half_accumulation_leaves_the_tolerance(load: Any) -> None:
    right, wrong = load(_source("gemm-epilogue-port/s01")), load(_source("gemm-epilogue-port/s03"))
    assert _gemm(right, 128, 256, 4096)
    assert not _gemm(wrong, 128, 256, 4096)


def test_cub_is_named() -> None:
    sources = {path: text.encode() for path, text in _source("scan-inclusive/s03").items()}
    with pytest.raises(CannotRun, match=r"CUB \(scan\.cu:5\)"):
        translate(sources)


@pytest.mark.parametrize(
    ("item", "said"), [("histogram-u8/s03", "atomicAdd"), ("gemm-epilogue-port/s02", "too much shared data")]
)
def test_what_nvcc_refuses_does_not_compile_here_either(
    compiler: Compiler, tmp_path: Path, item: str, said: str
) -> None:
    for path, text in translate({path: text.encode() for path, text in _source(item).items()}).items():
        (tmp_path / path).write_bytes(text)
    compiled = compiler.compile(tmp_path, tmp_path, checks=False)
    assert compiled.shared is None
    assert said in compiled.log
