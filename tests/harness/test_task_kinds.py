"""Ten kinds of task: at a sound tolerance a right kernel passes in every dtype and every known-wrong one fails."""

from __future__ import annotations

from typing import Any

import pytest

from kgrade.harness.controls import CONTROLS
from kgrade.harness.run import Machine
from tests.harness.items import gather, need

pytestmark = [pytest.mark.xdist_group("collect"), pytest.mark.usefixtures("shared_workers")]

DTYPES = ["float32", "float16", "bfloat16"]
ROWS = {"x": {"shape": ["M", "N"], "dtype": "$dtype"}}
MATRIX = {"y": {"shape": ["M", "N"], "dtype": "$dtype"}}
CASES = [{"M": 6, "N": 93, "dtype": DTYPES}]
# float32: some dozen roundings of 2^-24; float16 and bfloat16: one rounding of the result, doubled.
TOLERANCE = {
    "float32": {"atol": 2e-6, "rtol": 2e-6},
    "float16": {"atol": 1e-3, "rtol": 1e-3},
    "bfloat16": {"atol": 8e-3, "rtol": 8e-3},
}
SMALL = {
    "float32": {"atol": 1e-8, "rtol": 2e-6},
    "float16": {"atol": 1e-5, "rtol": 2e-3},
    "bfloat16": {"atol": 1e-4, "rtol": 1.2e-2},
}
EXACT = {name: {"atol": 0, "rtol": 0} for name in DTYPES}
PRODUCT = {"a": {"shape": ["M", "K"], "dtype": "$dtype"}, "b": {"shape": ["K", "N"], "dtype": "$dtype"}}
QUERY = {name: {"shape": ["M", "K"], "dtype": "$dtype"} for name in ("q", "k", "v")}

KINDS: dict[str, dict[str, Any]] = {
    "elementwise": {"body": "return torch.nn.functional.gelu(x)", "inputs": ROWS},
    "softmax": {"body": "return torch.softmax(x, -1)", "inputs": ROWS, "tolerance": SMALL},
    "normalisation": {
        "body": "return torch.nn.functional.layer_norm(x, x.shape[-1:])",
        "inputs": ROWS,
        "tolerance": {**TOLERANCE, "bfloat16": {"atol": 1.6e-2, "rtol": 1.6e-2}},
    },
    "reduction": {
        "body": "return x.sum(-1)",
        "inputs": ROWS,
        "cases": [{"M": 40, "N": 93, "dtype": DTYPES}],
        "outputs": {"y": {"shape": ["M"], "dtype": "$dtype"}},
        "tolerance": {**TOLERANCE, "float32": {"atol": 2e-5, "rtol": 2e-6}},
    },
    "matrix product": {
        "arguments": "a, b",
        "body": "return a @ b",
        "inputs": PRODUCT,
        "cases": [{"M": 9, "N": 35, "K": 40, "dtype": DTYPES}],
        "tolerance": {**TOLERANCE, "float32": {"atol": 1e-5, "rtol": 2e-6}, "float16": {"atol": 4e-3, "rtol": 1e-3}},
    },
    "attention": {
        "arguments": "q, k, v",
        "body": "return torch.nn.functional.scaled_dot_product_attention(q[None], k[None], v[None])[0]",
        "inputs": QUERY,
        "outputs": {"y": {"shape": ["M", "K"], "dtype": "$dtype"}},
        "cases": [{"M": 37, "K": 16, "dtype": DTYPES}],
        "tolerance": {**TOLERANCE, "bfloat16": {"atol": 8e-3, "rtol": 1.6e-2}},
    },
    "scan": {
        "body": "return torch.cumsum(x.to(torch.promote_types(x.dtype, torch.float32)), -1).to(x.dtype)",
        "inputs": {"x": {**ROWS["x"], "range": [-1, 3]}},
        "tolerance": {**TOLERANCE, "float32": {"atol": 2e-5, "rtol": 2e-6}},
    },
    "transpose": {
        "body": "return x.T.contiguous()",
        "inputs": ROWS,
        "outputs": {"y": {"shape": ["N", "M"], "dtype": "$dtype"}},
        "tolerance": EXACT,
    },
    "histogram": {
        "body": "return torch.bincount(x.long(), minlength=B).to(torch.int32)",
        "arguments": "x, B=64",
        "inputs": {"x": {"shape": ["N"], "dtype": "int32", "range": [0, 64]}},
        "outputs": {"y": {"shape": [64], "dtype": "int32"}},
        "cases": [{"N": 4099, "dtype": "int32"}],
        "tolerance": {},
    },
    "selection": {
        "body": "values, places = torch.topk(x, 5)\n    return {'values': values, 'places': places.to(torch.int32)}",
        "inputs": ROWS,
        "outputs": {
            "values": {"shape": ["M", 5], "dtype": "$dtype"},
            "places": {"shape": ["M", 5], "dtype": "int32"},
        },
        "tolerance": EXACT,
        "checker": "check.py:check",
    },
}  # fmt: skip
CHECKER = """
import numpy as np

def check(inputs, outputs, reference):
    x, places = inputs["x"], outputs["places"].astype(np.int64)
    if (places < 0).any() or (places >= x.shape[1]).any() or any(len(set(row)) < 5 for row in places.tolist()):
        return False, "places are not five different columns"
    if not (np.take_along_axis(x, places, -1) == outputs["values"]).all():
        return False, "a value does not stand at its place"
    return bool((outputs["values"] == reference["values"]).all()), "the values are compared"
"""


def review(machine: Machine, kind: dict[str, Any], **changes: Any) -> Any:
    spec = {"outputs": MATRIX, "cases": CASES, "tolerance": TOLERANCE, **kind, **changes}
    body, arguments = spec.pop("body"), spec.pop("arguments", "x")
    files = {"reference.py": f"import torch\n\ndef scale({arguments}):\n    {body}\n", "check.py": CHECKER}
    return gather(machine, None, spec, files)[0].stages.check


@pytest.mark.parametrize("name", KINDS)
def test_the_known_wrong_kernels_fail_and_a_right_one_passes_in_every_dtype(machine: Machine, name: str) -> None:
    need("torch")
    check = review(machine, KINDS[name])
    assert check.status == "passed", (check.reason, [case.reason for case in check.cases])
    assert {case.case.dtype for case in check.cases} == ({"int32"} if name == "histogram" else set(DTYPES))
    assert {control.name: control.undetected for control in check.controls if control.undetected} == {}
    tried = {control.name for control in check.controls if control.tried}
    assert {"zeros", "mean", "one element off", "last block missing", "last block not read"} <= tried
    assert tried <= set(CONTROLS)
    for proposal in check.proposals:
        assert proposal.passes == [], proposal
        assert "the reference's median relative error is" in proposal.derivation


@pytest.mark.parametrize(
    ("name", "tolerance", "undetected"),
    [
        ("softmax", {"atol": 1.0, "rtol": 0.0}, set(CONTROLS) - {"input copy"}),
        ("softmax", {"atol": 1e-2, "rtol": 1e-2}, {"lower precision inside"}),
        ("matrix product", {"atol": 0.0, "rtol": 1.1}, {"zeros"}),
    ],
)
def test_a_weak_tolerance_is_told_by_what_it_lets_pass(
    machine: Machine, name: str, tolerance: dict[str, float], undetected: set[str]
) -> None:
    need("torch")
    check = review(machine, KINDS[name], tolerance=dict.fromkeys(DTYPES, tolerance))
    assert check.status == "flagged"
    assert {control.name for control in check.controls if control.undetected} >= undetected
    proposed = {proposal.dtype: proposal for proposal in check.proposals}
    assert set(proposed) == set(DTYPES)
    assert [proposal.passes for proposal in proposed.values()] == [[], [], []]


def test_a_proposed_tolerance_lets_the_reference_pass_and_the_controls_fail(machine: Machine) -> None:
    need("torch")
    kind = KINDS["matrix product"]
    proposals = review(machine, kind).proposals
    found = {each.dtype: {"atol": each.atol, "rtol": each.rtol} for each in proposals}
    check = review(machine, kind, tolerance=found)
    assert check.status == "passed", check.reason
    assert not any(control.undetected for control in check.controls)


def test_only_required_cases_examine_a_task(machine: Machine) -> None:
    need("torch")
    check = review(machine, KINDS["softmax"], requires=["N >= 100"])
    assert (check.controls, check.proposals) == ([], [])
