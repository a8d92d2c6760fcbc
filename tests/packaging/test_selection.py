"""Which tests a plain run takes, and that a skip for a tool which must be there is a failure."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

SAMPLE = """
import pytest
def test_plain(): pass
@pytest.mark.long
def test_long(): pass
@pytest.mark.gpu
def test_gpu(): pass
@pytest.mark.alone
def test_alone(): pass
@pytest.mark.alone
@pytest.mark.long
def test_alone_long(): pass
"""
SETTINGS = "[pytest]\nmarkers =\n  long\n  gpu\n  alone\n"


def run(folder: Path, files: dict[str, str], *arguments: str, tools: str = "") -> str:
    """The short report of a run of `files` with this project's plugin and no other."""
    (folder / "pytest.ini").write_text(SETTINGS)
    for name, content in files.items():
        (folder / name).write_text(content)
    command = [sys.executable, "-m", "pytest", "-p", "tests.selection", "-rA", *arguments]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "KGRADE_REQUIRE_TOOLS": tools, "PYTEST_ADDOPTS": ""}
    environment["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False, timeout=60)
    return done.stdout


@pytest.mark.parametrize(
    ("arguments", "taken"),
    [
        ([], {"test_plain"}),
        (["-m", "alone and not long"], {"test_alone"}),
        (["-m", "alone"], {"test_alone"}),
        (["-m", "long and alone"], {"test_alone_long"}),
        (["-m", "long and not alone"], {"test_long"}),
        (["-m", "gpu"], {"test_gpu"}),
        (["test_it.py::test_long"], {"test_long"}),
        (["-k", "long"], set()),
    ],
)
def test_what_runs_on_request_runs_on_request_only(arguments: list[str], taken: set[str], tmp_path: Path) -> None:
    said = run(tmp_path, {"test_it.py": SAMPLE}, *arguments)
    passed = {line.partition("::")[2] for line in said.splitlines() if line.startswith("PASSED")}
    assert passed == taken


def skips(reason: str) -> dict[str, str]:
    """Three ways in which a test skips, one file each."""
    name = reason.replace(" ", "_").replace("-", "_")
    return {
        f"test_inside_{name}.py": f"import pytest\ndef test_it(): pytest.skip('{reason}')\n",
        f"test_file_{name}.py": f"import pytest\npytest.skip('{reason}', allow_module_level=True)\n",
        f"test_mark_{name}.py": f"import pytest\n@pytest.mark.skipif(True, reason='{reason}')\ndef test_it(): pass\n",
    }


def test_a_skip_for_a_required_tool_fails(tmp_path: Path) -> None:
    broken, poor = skips("nvcc is not on PATH") | skips("needs bwrap"), skips("no nvcc-like compiler") | skips("no gpu")
    expected = "import pytest\n@pytest.mark.xfail(reason='nvcc')\ndef test_it(): assert 0\n"
    files = {**broken, **poor, "test_expected.py": expected}
    said = run(tmp_path, files, "--continue-on-collection-errors", tools="git,bwrap,nvcc")
    refused = {line.split()[1].partition("::")[0] for line in said.splitlines() if line.startswith(("FAILED", "ERROR"))}
    assert refused == set(broken)
    assert "must be here (KGRADE_REQUIRE_TOOLS), yet: " in said


def test_without_required_tools_a_skip_is_a_skip(tmp_path: Path) -> None:
    said = run(tmp_path, skips("nvcc is not on PATH"))
    assert "3 skipped" in said
    assert "failed" not in said
