"""From a call that gave no result to a classified failure."""

from __future__ import annotations

from kgrade.harness import failures
from kgrade.harness.workers import Lost
from kgrade.records.evidence import Failure, Fault

ADVICE = {
    "environment": "kgrade doctor shows which frameworks this Python has; targets.<name>.python names another.",
    "unable": "Compile it with nvcc to see whose fault this is; checking it takes a GPU.",
    "timeout": "Look for a loop that does not end, or whose trip count grows with the data; interpreters are slow too.",
    "memory": "Look for a buffer larger than the outputs need; the task's limits.memory_gb is the bound.",
    "processes": "Look for code that starts processes without end; a kernel needs none.",
    "exited": "The process ended inside the call: look for exit calls, and for native code that crashes.",
    "given up": "Mend the cases that end the process first.",
    "protocol": "The process wrote to the line that carries results: read the submission for code that does so.",
    "form": "Compare shape and dtype of what is returned with the task's outputs.",
    "exception": "Read the log from the last frame that lies in the submission.",
}


def failure(lost: Lost, fault: Fault = "submission") -> Failure:
    """Return what `lost` shows, by the classifier's signatures where one matches, else by how the call was lost."""
    if lost.kind == "exception":
        known = failures.classify(lost.text)
        if known is not None:
            return known
    if lost.kind in ("environment", "unable"):
        fault = "environment"
    return Failure(kind=lost.kind, line=lost.reason, fault=fault, advice=ADVICE[lost.kind])
