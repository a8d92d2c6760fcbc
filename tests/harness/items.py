"""Tiny tasks and submissions, good, wrong and hostile, and how a test collects one of them."""

from __future__ import annotations

import importlib.util
import threading
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
import yaml

from kgrade.harness.collect import collect
from kgrade.harness.run import ItemSource, Machine
from kgrade.records import codec
from kgrade.records.evidence import Evidence
from kgrade.records.task import Task

TASK: dict[str, Any] = {
    "schema": "kgrade/task@1",
    "title": "Rows scaled to sum to one",
    "type": "generation",
    "language": "python",
    "targets": ["cpu"],
    "entry": "scale",
    "reference": "reference.py:scale",
    "inputs": {"x": {"shape": ["M", "N"], "dtype": "$dtype", "range": [1, 2]}},
    "outputs": {"y": {"shape": ["M", "N"], "dtype": "$dtype"}},
    "cases": [{"M": 3, "N": 37, "dtype": ["float32", "bfloat16"]}],
    "tolerance": {"float32": {"atol": 1e-7, "rtol": 1e-5}, "bfloat16": {"atol": 1e-5, "rtol": 0.02}},
    "limits": {"run_s": 20, "build_s": 60},
    "rubric": "generation",
}
REFERENCE = "def scale(x):\n    return x / x.sum(-1, keepdims=True)\n"
IN_TRITON = """
import torch, triton
import triton.language as tl

@triton.jit
def kernel(x, y, N, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    v = tl.load(x + row * N + i, mask=i < N, other=0.0).to(tl.float32)
    tl.store(y + row * N + i, (v / tl.sum(v, 0)).to(y.dtype.element_ty), mask=i < N)

def scale(x):
    assert x.is_cuda
    y = torch.empty(x.shape, dtype=x.dtype, device="cuda")
    kernel[(x.shape[0],)](x, y, x.shape[1], BLOCK=triton.next_power_of_2(x.shape[1]))
    return y
"""
IN_PALLAS = """
import jax, jax.numpy as jnp
from jax.experimental import pallas as pl

def kernel(x, y):
    v = x[...].astype(jnp.float32)
    y[...] = (v / v.sum(-1, keepdims=True)).astype(y.dtype)

def scale(x):
    return pl.pallas_call(kernel, out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype))(x)
"""
TIMED = {
    "benchmark": {
        "cases": [{"M": 256, "N": 1024, "dtype": "float32"}, {"M": 100000, "N": 4096, "dtype": "float32"}],
        "baselines": {"eager": "reference.py:scale", "broken": "reference.py:missing"},
    },
    "work": {"flops": "2*M*N", "bytes": "2*M*N*itemsize"},
}


def need(*packages: str) -> None:
    for package in packages:
        if importlib.util.find_spec(package) is None:
            pytest.skip(f"needs {package}")


def gather(
    machine: Machine,
    solution: str | Mapping[str, str] | None,
    changes: Mapping[str, Any] | None = None,
    files: Mapping[str, str] | None = None,
    stages: Sequence[str] = ("build", "check"),
    more: Mapping[str, bytes] | None = None,
    target: str = "cpu",
) -> tuple[Evidence, dict[str, bytes]]:
    """Collect one item on `target`; what comes out must be a record that can be read back."""
    task = codec.decode(Task, yaml.safe_dump({**TASK, **(changes or {})}).encode(), "task.yaml")
    handed_in = {"kernel.py": solution} if isinstance(solution, str) else solution or {}
    own = {"reference.py": REFERENCE, **(files or {})}
    source = ItemSource(
        item="scale/s01",
        task=task,
        task_tree="1" * 40,
        task_files={**{name: text.encode() for name, text in own.items()}, **(more or {})},
        solution_tree="2" * 40 if solution is not None else None,
        solution={name: text.encode() for name, text in handed_in.items()} if solution is not None else None,
    )
    evidence, logs = collect(source, target, stages, lambda step: None, threading.Event(), machine)
    assert codec.decode(Evidence, codec.encode_json(evidence), "evidence.json") == evidence
    return evidence, logs


def reasons(evidence: Evidence) -> str:
    return " | ".join(case.reason or "" for case in evidence.stages.check.cases)
