"""The fixtures, the tasks that they answer, and how one is read."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
import yaml

from kgrade.harness.integrity import analyse
from kgrade.harness.integrity.similarity import contained, of_files
from kgrade.records.evidence import Finding
from kgrade.records.task import Task

FIXTURES = Path(__file__).parent / "fixtures"
_HEAD = re.compile(r"^(?:#|//) rules:(.*)\n(?:#|//) task:(.*)\n(?:# others:(.*)\n)?")

_SOFTMAX = """import torch


def softmax(x: torch.Tensor) -> torch.Tensor:
    top = x.max(dim=-1, keepdim=True).values
    shifted = x - top
    weights = torch.exp(shifted)
    total = weights.sum(dim=-1, keepdim=True)
    return weights / total
"""
_GEMM = "import torch\n\n\ndef gemm(a, b):\n    return torch.matmul(a, b)\n"
_SCAN = "import torch\n\n\ndef scan_inclusive(x):\n    return torch.cumsum(x, dim=0)\n"
_SORT = "import torch\n\n\ndef sort_rows(x):\n    return torch.sort(x, dim=-1).values\n"
_PALLAS = "import jax\n\n\ndef softmax(x):\n    return jax.nn.softmax(x, axis=-1)\n"
_TWO_D = {"x": {"shape": ["M", "N"], "dtype": "$dtype"}}
_PRODUCT = {"a": {"shape": ["M", "K"], "dtype": "$dtype"}, "b": {"shape": ["K", "N"], "dtype": "$dtype"}}


@dataclass(frozen=True)
class Case:
    """One fixture: what it is called, which rules it is about, its task, its text, which fixtures came before it."""

    name: str
    rules: frozenset[str]
    task: str
    path: str
    text: str
    others: tuple[str, ...] = ()

    def files(self) -> dict[str, bytes]:
        """The fixture as a submission."""
        return {self.path: self.text.encode()}


def cases(kind: str) -> list[Case]:
    """The fixtures of `cheats` or `honest`, by name."""
    return [_case(path) for path in sorted((FIXTURES / kind).iterdir())]


@cache
def found(case: Case, *, with_task: bool = True) -> tuple[Finding, ...]:
    """What is found in a fixture, read once for all tests that ask."""
    return tuple(analysed(case, case.files()) if with_task else analyse(case.files()))


def analysed(case: Case, files: dict[str, bytes]) -> list[Finding]:
    """What is found in `files`, which are `case` in its own or another form."""
    asked, own = task(case.task)
    mine = of_files(files) - of_files(own)
    before = [_case(FIXTURES / f"honest/{name}.py") for name in case.others]
    alike = {other.name: contained(mine, of_files(other.files())) for other in before}
    return analyse(files, asked, own, alike)


def _case(path: Path) -> Case:
    text = path.read_text()
    head = _HEAD.match(text)
    assert head, f"{path} does not say its rules and task"
    body = text[head.end() :]
    name = "solution/kernel" + path.suffix
    others = tuple((head.group(3) or "").split())
    return Case(path.stem, frozenset(head.group(1).split()), head.group(2).strip(), name, body, others)


@cache
def task(name: str) -> tuple[Task, dict[str, bytes]]:
    """A task by its short name, and its own files."""
    spec, reference = _TASKS[name] if name in _TASKS else _of_kinds()[name]
    spec = {
        "schema": "kgrade/task@1",
        "title": name,
        "type": "generation",
        "reference": f"reference.py:{spec['entry']}",
        "rubric": "generation",
        "targets": ["sm_90"],
        "tolerance": {"float32": {"atol": 1e-6, "rtol": 1e-6}, "float16": {"atol": 1e-3, "rtol": 1e-3}},
        **spec,
    }
    return msgspec.convert(spec, Task), {spec["reference"].partition(":")[0]: reference.encode()}


@cache
def _of_kinds() -> dict[str, tuple[dict[str, Any], str]]:
    """The tasks of many kinds that the fourth batch answers."""
    listed = yaml.safe_load((FIXTURES / "fourth/tasks.yaml").read_text())
    tolerance = {dtype: {"atol": 1e-3, "rtol": 1e-3} for dtype in ("float32", "float16", "bfloat16")}
    sources = {name: spec.pop("source") for name, spec in listed.items()}
    return {name: ({"tolerance": tolerance, **spec}, sources[name]) for name, spec in listed.items()}


def _softmax(**more: Any) -> dict[str, Any]:
    return {
        "language": "triton",
        "entry": "softmax",
        "inputs": _TWO_D,
        "outputs": {"y": {"shape": ["M", "N"], "dtype": "$dtype"}},
        "cases": [{"M": 128, "N": 781, "dtype": ["float32", "float16"]}],
        "benchmark": {"cases": [{"M": 4096, "N": 4096, "dtype": "float16"}]},
        "forbidden": ["torch.softmax", "torch.nn.functional.softmax", "torch.compile"],
        **more,
    }


def _gemm(**more: Any) -> dict[str, Any]:
    return {
        "language": "triton",
        "entry": "gemm",
        "inputs": _PRODUCT,
        "outputs": {"c": {"shape": ["M", "N"], "dtype": "$dtype"}},
        "cases": [{"M": 256, "N": 320, "K": 96, "dtype": ["float32", "float16"]}],
        **more,
    }


_LONG = """import torch


def entry(x):
    moved = x - x.amax(dim=-1, keepdim=True)
    e = torch.exp(moved)
    s = e.sum(dim=-1, keepdim=True)
    safe = torch.where(s > 0, s, torch.ones_like(s))
    y = e / safe
    bounded = torch.clamp(y, min=0.0, max=1.0)
    return bounded.to(x.dtype)
"""


def _rows(**more: Any) -> dict[str, Any]:
    return _softmax(entry="entry", cases=[{"M": 4, "N": 64, "dtype": "float32"}], benchmark=None, **more)


def _product(dtype: str, **more: Any) -> dict[str, Any]:
    inputs = {name: {"shape": ["K", "K"], "dtype": dtype} for name in ("x", "w")}
    cases = [{"K": 256, "dtype": "float16" if "8" in dtype else dtype}]
    return _gemm(entry="entry", inputs=inputs, cases=cases, forbidden=["torch.matmul", "cublas"], **more)


def _norm(**more: Any) -> dict[str, Any]:
    inputs = {"x": {"shape": ["M", "N"], "dtype": "$dtype"}, "weight": {"shape": ["N"], "dtype": "$dtype"}}
    cases = [{"M": 64, "N": 512, "dtype": ["float32", "float16"]}, {"M": 33, "N": 1000, "dtype": "float16"}]
    return _softmax(entry="rmsnorm", inputs=inputs, cases=cases, forbidden=["torch.nn.functional.rms_norm"], **more)


def _mlp(inner: str = "$dtype", dtypes: tuple[str, ...] = ("float16",), **more: Any) -> dict[str, Any]:
    inputs = {
        "x": {"shape": ["M", "K"], "dtype": inner},
        "w": {"shape": ["K", "N"], "dtype": inner},
        "b": {"shape": ["N"], "dtype": "$dtype"},
    }
    cases = [{"M": 64, "N": 96, "K": 128, "dtype": list(dtypes)}]
    benchmark = {"cases": [{"M": 4096, "N": 4096, "K": 4096, "dtype": dtypes[0]}]}
    forbidden = ["torch.matmul", "torch.addmm", "torch.nn.functional.linear", "torch.compile"]
    return _gemm(entry="mlp", inputs=inputs, cases=cases, benchmark=benchmark, forbidden=forbidden, **more)


_NORM = """import torch


def rmsnorm(x, weight):
    return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * weight
"""
_MLP = "import torch\n\n\ndef mlp(x, w, b):\n    return torch.nn.functional.gelu(x @ w + b)\n"
_ATTENTION = """import torch


def attention(q, k, v):
    scores = torch.einsum("htd,hsd->hts", q, k) * q.shape[-1] ** -0.5
    return torch.softmax(scores, dim=-1) @ v
"""
_COLUMNS = "import torch\n\n\ndef column_sum(x):\n    return x.sum(0)\n"
_ZERO = """import torch


def entry(x):
    top = x.max(dim=1, keepdim=True).values
    return torch.nn.functional.gelu(top - top.mean(dim=1, keepdim=True)).expand_as(x)
"""
_ZERO_WEIGHT = """import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.gate = nn.Linear(64, 64, bias=False)
        nn.init.zeros_(self.gate.weight)

    def forward(self, x):
        return torch.sigmoid(self.gate(x))
"""
_HEADS = {name: {"shape": ["H", "T", "D"], "dtype": "$dtype"} for name in "qkv"}
_NATIVE = {"language": "cuda", "interface": "cuda"}
_ROW = {"x": {"shape": ["N"], "dtype": "$dtype"}}
_TASKS: dict[str, tuple[dict[str, Any], str]] = {
    "softmax": (_softmax(), _SOFTMAX),
    "inplace": (_softmax(entry="softmax_", inplace=["x"]), _SOFTMAX.replace("def softmax", "def softmax_")),
    "pallas": (_softmax(language="pallas", forbidden=["jax.nn.softmax"]), _PALLAS),
    "gemm": (_gemm(), _GEMM),
    "gemm32": (_gemm(cases=[{"M": 256, "N": 320, "K": 96, "dtype": "float32"}]), _GEMM),
    "gemm_cuda": (_gemm(language="cuda", interface="cuda", forbidden=["cublas"]), _GEMM),
    "fp8": (
        _gemm(
            inputs={name: {**spec, "dtype": "float8_e4m3fn"} for name, spec in _PRODUCT.items()},
            cases=[{"M": 256, "N": 320, "K": 96, "dtype": "float16"}],
        ),
        _GEMM,
    ),
    "sort": (_softmax(entry="sort_rows", forbidden=["torch.sort", "triton.language.sort"]), _SORT),
    "scan": (
        {
            "language": "cuda",
            "interface": "cuda",
            "entry": "scan_inclusive",
            "inputs": _ROW,
            "outputs": {"y": {"shape": ["N"], "dtype": "$dtype"}},
            "cases": [{"N": 1024, "dtype": "float32"}],
            "forbidden": ["cub", "thrust"],
        },
        _SCAN,
    ),
    "rows": (_rows(), _SOFTMAX),
    "rows_long": (_rows(), _LONG),
    "rows_inplace": (_rows(inplace=["x"]), _SOFTMAX),
    "rows_pallas": (_rows(language="pallas"), _PALLAS),
    "rows_zero": (_rows(), _ZERO),
    "rows_gated": (
        _rows() | {"interface": "kernelbench", "entry": "ModelNew", "reference": "m.py:Model"},
        _ZERO_WEIGHT,
    ),
    "rows_nki": (_rows(language="nki"), _SOFTMAX),
    "rows_sorted": (_rows(), _SORT),
    "rows_inline": (_rows(language="cuda"), _SOFTMAX),
    "rows_native": (_rows(**_NATIVE), _SOFTMAX),
    "sums_native": (_rows(**_NATIVE), _SCAN),
    "product": (_product("float16"), _GEMM),
    "product32": (_product("float32"), _GEMM),
    "product8": (_product("float8_e4m3fn"), _GEMM),
    "product_inline": (_product("float32", language="cuda"), _GEMM),
    "rmsnorm": (_norm(), _NORM),
    "gpumode_rms": (_norm() | {"interface": "gpumode", "entry": "custom_kernel"}, _NORM),
    "mlp": (_mlp(), _MLP),
    "mlp32": (_mlp(dtypes=("float32",)), _MLP),
    "fp8mm": (_mlp("float8_e4m3fn"), _MLP),
    "kb_mlp": (_mlp() | {"interface": "kernelbench", "entry": "ModelNew"}, _MLP),
    "attention": (
        _softmax(
            entry="attention",
            inputs=_HEADS,
            outputs={"o": {"shape": ["H", "T", "D"], "dtype": "$dtype"}},
            cases=[{"H": 8, "T": 256, "D": 64, "dtype": "float16"}],
            forbidden=["torch.nn.functional.scaled_dot_product_attention", "torch.softmax"],
        ),
        _ATTENTION,
    ),
    "colsum": (_rows() | {"entry": "column_sum", "outputs": {"y": {"shape": ["N"], "dtype": "$dtype"}}}, _COLUMNS),
    "sort_native": (_rows(**_NATIVE), _SORT),
    "inline_rows": (_rows(language="cuda"), _SOFTMAX),
    "inline_product": (_product("float32", language="cuda"), _GEMM),
    "product_half_native": (_product("float16", **_NATIVE), _GEMM),
    "product_native": (_product("float32", **_NATIVE), _GEMM),
}
