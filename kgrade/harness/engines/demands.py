"""What an item needs of a cluster's node: a GPU of the target's architecture where there is one, else a processor.

A node says what it has as Ray's resources: `GPU`, `accelerator_type:H100` (both found by Ray itself), and, where the
person who starts it says so, one that is called like a target: `--resources='{"sm_90": 8}'`. A node with a resource of
that name is preferred to one whose accelerator fits.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from kgrade.harness.build.targets import architecture

Resources = Mapping[str, float]
ACCELERATOR = "accelerator_type:"
# Compute capabilities: NVIDIA's table of CUDA GPUs. Names as Ray makes them from those of the devices.
ACCELERATORS = {
    "sm_75": ("T4",),
    "sm_80": ("A100", "A30"),
    "sm_86": ("A10", "A10G", "A40"),
    "sm_89": ("L4", "L40", "L40S"),
    "sm_90": ("H100", "H200", "H20", "GH200"),
    "sm_100": ("B200", "GB200"),
    "sm_103": ("B300", "GB300"),
}


@dataclass(frozen=True)
class Demand:
    """What one item takes of a node while it runs: a whole GPU or none, and amounts of named resources."""

    gpus: int = 0
    accelerator: str | None = None
    named: str | None = None

    @property
    def resources(self) -> dict[str, float]:
        """The amounts by name, as a node would have to have them."""
        wanted: dict[str, float] = {"CPU": 1}
        if self.gpus:
            wanted["GPU"] = self.gpus
        if self.accelerator:
            wanted[ACCELERATOR + self.accelerator] = 0.001
        if self.named:
            wanted[self.named] = 1
        return wanted

    def fits(self, node: Resources) -> bool:
        """Whether a node with these resources could ever run it."""
        return all(node.get(name, 0) >= amount for name, amount in self.resources.items())


def demand(target: str, nodes: Sequence[Resources]) -> Demand:
    """Return what an item on `target` needs, given what the nodes have.

    Where no node has a GPU for it, the stages that need one are not run, as on one machine without. Where nodes have
    several models of one architecture, all items get the model that is there most often: their times are compared.
    """
    known = architecture(target)
    runs_on_gpu = known is not None and known.vendor == "cuda"
    named = [node for node in nodes if node.get(target, 0) >= 1]
    if named:
        return Demand(gpus=int(runs_on_gpu and any(node.get("GPU", 0) >= 1 for node in named)), named=target)
    models: Counter[str] = Counter()
    for node in nodes if runs_on_gpu else ():
        for model in ACCELERATORS.get(target, ()):
            if node.get(ACCELERATOR + model, 0) > 0 and node.get("GPU", 0) >= 1:
                models[model] += int(node["GPU"])
    return Demand(gpus=1, accelerator=models.most_common(1)[0][0]) if models else Demand()
