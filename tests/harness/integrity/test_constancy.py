"""A reference whose output no input decides is told from one that depends on them, and doubt counts as dependence."""

from __future__ import annotations

import pytest

from kgrade.harness.integrity.constancy import constant_output

CONSTANT = {
    "return x * 0": "x * 0 is a product with zeros",
    "return (x - x).exp()": "x - x is a difference of equals",
    "y = x @ torch.zeros_like(x)\n    y += 1\n    return y": "x @ torch.zeros_like(x) is a product with zeros",
    "s = x.sum(1, keepdim=True)\n    return torch.softmax(s, dim=1)": (
        "torch.softmax(s, dim=1) is a softmax over one element"
    ),
    "t = x.max(dim=1, keepdim=True).values\n    return (t - t.mean(1, keepdim=True)).expand_as(x)": (
        "t - t.mean(1, keepdim=True) is a difference of equals"
    ),
    "return torch.clamp(x, 1.0, 1.0)": "torch.clamp(x, 1.0, 1.0) is held between equal bounds",
}
DEPENDS = (
    "return x - x.mean(1, keepdim=True)",
    "s = x.sum(0, keepdim=True)\n    return torch.softmax(s, dim=1)",
    "y = torch.zeros_like(x)\n    z = x * 0\n    y.copy_(x)\n    return y + z",
    "y = x * 0\n    torch.add(x, 1, out=y)\n    return y",
    "y = x * 0\n    for i in range(3):\n        y[i] = x[i]\n    return y",
    "y = x * 0\n    if x.shape[0] > 3:\n        y = x\n    return y",
    "y = x * 0\n    fill(y, x)\n    return y",
    "return unknown(x * 0, x)",
    "return torch.clamp(x, 0.0, 1.0)",
)


@pytest.mark.parametrize("body", CONSTANT)
def test_what_makes_an_output_constant_is_said(body: str) -> None:
    source = f"import torch\n\n\ndef f(x):\n    {body}\n"
    assert constant_output(source.encode(), "f") == CONSTANT[body]


@pytest.mark.parametrize("body", DEPENDS)
def test_what_inputs_decide_is_left_alone(body: str) -> None:
    assert constant_output(f"import torch\n\n\ndef f(x):\n    {body}\n".encode(), "f") == ""


@pytest.mark.parametrize(
    "source", [b"", b"def f(x:", b"x = " + b"(" * 5000, b"def f():\n    return 0 * 1\n", b"f = 3\n"]
)
def test_what_is_no_reference_says_nothing(source: bytes) -> None:
    assert constant_output(source, "f") == ""


def test_a_weight_that_the_constructor_sets_to_zero_counts() -> None:
    source = b"""
class Model(nn.Module):
    def __init__(self):
        self.a = nn.Linear(4, 4)
        self.b = nn.Linear(4, 4)
        nn.init.zeros_(self.a.weight)

    def forward(self, x):
        return self.%s(x)
"""
    assert constant_output(source % b"a", "Model") == "self.a(x) is a layer whose weight is zero"
    assert constant_output(source % b"b", "Model") == ""
