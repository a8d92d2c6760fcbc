"""`kgrade doctor --ceilings`: what is measured with, what is printed and kept, and what is bad input."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

from kgrade.cli import doctor
from kgrade.cli.failures import DONE, BadInput, Lacking
from kgrade.harness.timing.ceilings import kept
from tests.conftest import Repo

SAID = {
    "device": "H200",
    "on_gpu": True,
    "torch": "2.13",
    "calls": 15,
    "copy": {"bytes": 2 << 30, "seconds": [0.5, 0.25]},
    "matmul": {"float16": {"size": 256, "operations": 2_000_000_000, "seconds": [0.01]}},
    "refused": {"float64": "no\u001b[2J such units"},
}


def run(*arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(doctor.command, arguments, standalone_mode=False, catch_exceptions=False)
    assert isinstance(result.return_value, int)
    return result.return_value, result.output


@pytest.fixture
def queue(make_repo: Callable[..., Repo], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Repo:
    python = tmp_path / "site-python"
    python.write_text(f"#!/bin/sh\ncat <<'E'\n{json.dumps(SAID)}\nE\n")
    python.chmod(0o755)
    made = make_repo("queue")
    settings = f"targets:\n  sm_90: {{python: {python}}}\n  sm_80: {{arch: sm_80}}\n"
    made.commit({"kgrade.yaml": settings, "queue/a/prompt.md": "x\n"})
    monkeypatch.chdir(made.path)
    return made


@pytest.mark.usefixtures("queue")
def test_the_python_of_the_target_measures_and_what_it_found_is_kept() -> None:
    code, said = run("--ceilings", "--target", "sm_90")
    assert code == DONE
    assert "H200: copies 8.6 GB/s" in said
    assert "float16   200.0 GFLOP/s" in said
    assert "not measured: no" in said
    assert "\x1b" not in said
    found = kept("H200")
    assert found is not None
    assert found.copy_bytes_per_s == (2 << 30) / 0.25
    _, printed = run("--ceilings", "--target", "sm_90", "--json")
    assert json.loads(printed)["flops_per_s"] == {"float16": 2e11}


@pytest.mark.usefixtures("queue")
@pytest.mark.parametrize("target", ["sm_80", "sm_100"])
def test_a_target_without_a_python_is_said(target: str) -> None:
    with pytest.raises(Lacking, match=rf"names no targets\.{target}\.python"):
        run("--ceilings", "--target", target)


def test_a_target_alone_is_bad_input() -> None:
    with pytest.raises(BadInput, match="give both"):
        run("--target", "sm_90")
