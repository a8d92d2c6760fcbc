"""Ceilings of a device: measured by its own clock with the site's torch, kept per device, put into evidence from it."""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from kgrade.harness.collect import with_ceilings
from kgrade.harness.machine import processor
from kgrade.harness.timing.ceilings import Unmeasured, keep, kept, measure
from kgrade.harness.worker import ceilings as script
from kgrade.records.evidence import Case, CaseTiming, Ceilings, Stages, Timing

FOUND = Ceilings(device="H200", measured="2026-12-01T10:00:00Z", method="events", copy_bytes_per_s=4e12)


def torch_with_a_gpu(milliseconds: float) -> SimpleNamespace:
    """A torch whose device's events say that every call took `milliseconds`, and that has no bfloat16."""

    class Tensor:
        def __init__(self, count: int) -> None:
            self.count = count

        def numel(self) -> int:
            return self.count

        def copy_(self, other: Tensor) -> None:
            self.count = other.count

    class Event:
        def __init__(self, *, enable_timing: bool) -> None:
            self.recorded = False
            self.synchronised = False
            assert enable_timing

        def record(self) -> None:
            self.recorded = True

        def synchronize(self) -> None:
            self.synchronised = True

        def elapsed_time(self, end: Event) -> float:
            assert self.recorded
            assert end.synchronised, "an event was read before the device had reached it"
            return milliseconds

    def ones(shape: Any, dtype: str, device: str) -> Tensor:
        assert device == "cuda"
        if dtype == "bfloat16":
            raise RuntimeError("no bfloat16 here\nand more words")
        return Tensor(shape if isinstance(shape, int) else math.prod(shape))

    dtypes = {name: name for name in ("float64", "float32", "float16", "bfloat16")}
    cuda = SimpleNamespace(
        is_available=lambda: True, get_device_name=lambda: "H200", mem_get_info=lambda: (1 << 33, 1 << 34), Event=Event
    )
    return SimpleNamespace(
        cuda=cuda,
        backends=SimpleNamespace(cuda=SimpleNamespace(matmul=SimpleNamespace(allow_tf32=False))),
        set_grad_enabled=lambda on: None,
        ones=ones,
        empty=ones,
        empty_like=lambda like: Tensor(like.count),
        mm=lambda a, b, out: out,
        __version__="9.9",
        **dtypes,
    )


def site_python(folder: Path, script_text: str) -> str:
    path = folder / "python"
    path.write_text(f"#!/bin/sh\n{script_text}\n")
    path.chmod(0o755)
    return str(path)


def test_on_a_gpu_the_events_of_the_device_are_the_clock(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setitem(sys.modules, "torch", torch_with_a_gpu(milliseconds=20.0))
    script.main()
    printed = capsys.readouterr().out
    assert json.loads(printed)["refused"] == {"bfloat16": "no bfloat16 here"}
    (tmp_path / "said").write_text(printed)
    found = measure(site_python(tmp_path, f"echo a warning; cat {tmp_path}/said"))
    assert found.device == "H200"
    assert found.copy_bytes_per_s == pytest.approx(2 * (1 << 30) / 0.020)
    assert set(found.flops_per_s) == {"float64", "float32", "tfloat32", "float16"}
    assert found.flops_per_s["float16"] == pytest.approx(2 * 256**3 / 0.020)
    assert found.refused == {"bfloat16": "no bfloat16 here"}
    assert "torch 9.9, device events, fastest of 15" in found.method


def test_products_grow_until_one_is_worth_measuring(monkeypatch: pytest.MonkeyPatch) -> None:
    torch = torch_with_a_gpu(milliseconds=0.001)
    found = script._matmul(torch, "cuda", "float16", script._device_seconds)
    assert found["size"] == script.LARGEST


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ('echo \'{"lacks": "no torch in this Python"}\'', "no torch in this Python; name one that has torch"),
        ("echo 'driver too old' >&2; exit 1", "did not measure: driver too old"),
        ('echo \'{"copy": {"seconds": [0.0], "bytes": 8}}\'', "took no time at all"),
        ("exec sleep 60", "longer than 0.5 s"),
    ],
)
def test_what_cannot_be_measured_is_said(tmp_path: Path, said: str, words: str) -> None:
    with pytest.raises(Unmeasured, match=words):
        measure(site_python(tmp_path, said), within_s=0.5 if "sleep" in said else 60)


def test_a_python_that_is_not_there_is_said(tmp_path: Path) -> None:
    with pytest.raises(Unmeasured, match=r"cannot be started.*targets\.<name>\.python"):
        measure(str(tmp_path / "nowhere"))


def test_each_device_keeps_its_own_and_a_damaged_file_is_none() -> None:
    path = keep(FOUND)
    assert kept("H200") == FOUND
    assert kept("H100") is None
    path.write_text("{")
    assert kept("H200") is None


def test_times_of_the_same_device_get_the_roof_and_an_interpreters_none() -> None:
    keep(FOUND)
    case = CaseTiming(case=Case(symbols={"N": 1}, dtype="float32", family="normal"))
    measured = Stages(time=Timing(status="passed", cases=[case]))
    assert with_ceilings(measured, "H200").time.ceilings == FOUND
    assert with_ceilings(measured, "H100").time.ceilings is None
    interpreted = Stages(time=Timing(status="passed", cases=[case], indicative=False))
    assert with_ceilings(interpreted, "H200") == interpreted


@pytest.mark.long
def test_this_machine_is_measured_with_its_own_torch() -> None:
    pytest.importorskip("torch", reason="torch is not installed")
    found = measure()
    assert found.copy_bytes_per_s > 1e8
    assert found.flops_per_s["float32"] > 1e8
    assert found.device == processor() or "events" in found.method


@pytest.mark.gpu
@pytest.mark.xdist_group("gpu")
def test_a_gpu_is_measured_by_its_events() -> None:
    torch = pytest.importorskip("torch", reason="torch is not installed")
    if not torch.cuda.is_available():
        pytest.skip("no GPU that torch can use")
    found = measure()
    assert "device events" in found.method
    assert found.device == torch.cuda.get_device_name()
    assert found.flops_per_s["float16"] > found.flops_per_s["float32"] > found.copy_bytes_per_s / 8
