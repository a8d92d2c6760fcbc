"""A runner without a wall, and tasks: what the builders are tried with."""

import subprocess
import sys
import time
from dataclasses import dataclass

import pytest

from kgrade.harness.build.toolkit import find_disassembler
from kgrade.records.task import Build, Limits, Task


@dataclass(frozen=True)
class Ran:
    returncode: int
    stdout: bytes
    stderr: bytes
    seconds: float
    stopped_by: str | None = None


class PlainRunner:
    """Runs commands as they are and remembers them with the folders that they were promised."""

    def __init__(self):
        self.commands = []
        self.readable = []
        self.writable = []

    def __call__(self, command, *, readable, writable, limit_s):
        self.commands.append(list(command))
        self.readable.append(list(readable))
        self.writable.append(list(writable))
        start = time.monotonic()
        try:
            ended = subprocess.run(list(command), capture_output=True, timeout=limit_s, check=False)
        except subprocess.TimeoutExpired:
            return Ran(-9, b"", b"", time.monotonic() - start, f"time: {limit_s:g} s are over")
        return Ran(ended.returncode, ended.stdout, ended.stderr, time.monotonic() - start)


@pytest.fixture(autouse=True)
def disassembler(request, monkeypatch):
    """Listing instructions takes half a second a cubin: only tests about them do it, by the fixture."""
    if "lists_instructions" not in request.fixturenames:
        monkeypatch.setattr("kgrade.harness.build.nvcc.find_disassembler", lambda path: None)


@pytest.fixture
def lists_instructions():
    if find_disassembler(sys.path) is None:
        pytest.skip("nvdisasm is neither in a CUDA toolkit nor beside Triton")


@pytest.fixture
def run():
    return PlainRunner()


@pytest.fixture
def task_of():
    def make(language="cuda", *, entry="launch", flags=(), include=(), build_s=200.0):
        return Task(
            title="t",
            type="generation",
            language=language,
            entry=entry,
            reference="reference.py:f",
            targets=["sm_90"],
            inputs={},
            outputs={},
            cases=[{"N": 1, "dtype": "float32"}],
            tolerance={},
            rubric="generation",
            build=Build(flags=list(flags), include=list(include)),
            limits=Limits(build_s=build_s),
        )

    return make
