"""Problem folders of other benchmarks, unchanged: what of them is opened here, and what the workers import.

Only JSON is read on this side. A flashinfer definition names its own inputs, outputs and reference, and its solution
carries its sources; both become what the other interfaces have as files.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Literal

import msgspec

from kgrade.harness.run import ItemSource, Workload
from kgrade.harness.workers import Entry
from kgrade.records.expressions import Expression, ExpressionError
from kgrade.records.task import DTYPES, Benchmark, Input, Output, Task

AS_RETURNED = Output(shape=[1 << 27], dtype="$dtype")
"""The one output of a problem that does not say what it returns: room for it, and the reference says its shape."""

REFERENCE_FILE = "definition_reference.py"
PYTHON = ("python", "triton", "pytorch")
MAKERS = {
    "kernelbench": ("get_inputs", "kernelbench inputs"),
    "gpumode": ("generate_input", "gpumode inputs"),
}


class Malformed(Exception):
    """A foreign file that cannot be read; `fault` says whose it is."""

    def __init__(self, fault: Literal["task", "submission"], reason: str) -> None:
        super().__init__(reason)
        self.fault = fault


class _Axis(msgspec.Struct, frozen=True):
    type: Literal["const", "var", "expr"]
    value: int | None = None
    expression: str | None = None


class _Array(msgspec.Struct, frozen=True):
    dtype: str
    shape: list[str] | None = None


class _Definition(msgspec.Struct, frozen=True):
    axes: dict[str, _Axis]
    inputs: dict[str, _Array]
    outputs: dict[str, _Array]
    reference: str
    custom_inputs_entrypoint: str | None = None


class _Spec(msgspec.Struct, frozen=True):
    entry_point: str
    language: str = ""
    languages: list[str] = []  # SOL-ExecBench's, in place of the one
    destination_passing_style: bool = True


class _File(msgspec.Struct, frozen=True):
    path: str
    content: str


class _Solution(msgspec.Struct, frozen=True):
    spec: _Spec
    sources: list[_File]


def place(text: str) -> tuple[str, str]:
    """Split `file.py:function`."""
    file, _, attribute = text.partition(":")
    return file, attribute


def opened(source: ItemSource) -> ItemSource:
    """Return `source` with what its interface keeps inside other files or beside the submission; raise `Malformed`."""
    task = source.task
    if task.interface in MAKERS and not task.outputs:
        task = msgspec.structs.replace(task, outputs={"output": AS_RETURNED})
        source = replace(source, task=task)
    if task.interface == "gpumode":
        hidden = {place(text)[0] for text in (task.reference, task.checker or "", *_baselines(task))}
        beside = {path: data for path, data in source.task_files.items() if path.endswith(".py") and path not in hidden}
        return replace(source, beside=beside, calling="gpumode kernel")
    if task.interface == "kernelbench":
        return replace(source, calling="kernelbench model")
    return _with_solution(_with_definition(source)) if task.interface == "flashinfer" else source


def _baselines(task: Task) -> list[str]:
    return list(task.benchmark.baselines.values()) if task.benchmark else []


def called(task: Task, where: str) -> Entry:
    """Return how the oracle's worker calls the reference or a baseline at `where` (`file.py:function`)."""
    kind = {"kernelbench": "kernelbench model", "gpumode": "gpumode kernel", "flashinfer": "flashinfer reference"}
    return (*place(where), kind.get(task.interface, "function"))


def oracle_functions(task: Task) -> dict[str, Entry]:
    """Return what the oracle's worker imports: the reference, what makes inputs, and the checker where there is one."""
    functions: dict[str, Entry] = {"reference": called(task, task.reference)}
    if task.interface in MAKERS:
        functions["inputs"] = (place(task.reference)[0], *MAKERS[task.interface])
    for name, spec in task.inputs.items():
        if spec.generator is not None:
            functions[f"input {name}"] = (*place(spec.generator), "generator")
    if task.checker is not None:
        checker = place(task.checker)
        functions["checker"] = (*checker, "gpumode checker") if task.interface == "gpumode" else checker
    return functions


def _with_definition(source: ItemSource) -> ItemSource:
    file = place(source.task.reference)[0]
    definition = _read(source.task_files, file, _Definition, "task")
    sizes = _sizes(definition)
    made = _makers(definition)
    generators = {name: f"{REFERENCE_FILE}:{function}" for name, (function, _) in made.items()}
    inputs = {
        name: Input(
            shape=_shape(each, sizes),
            dtype=_known(each.dtype, name),
            scalar=each.shape is None,
            generator=generators.get(name),
        )
        for name, each in definition.inputs.items()
    }
    outputs = {
        name: Output(shape=_shape(each, sizes), dtype=_known(each.dtype, name))
        for name, each in definition.outputs.items()
    }
    task = msgspec.structs.replace(
        source.task,
        inputs={name: source.task.inputs.get(name, spec) for name, spec in inputs.items()},
        outputs={name: source.task.outputs.get(name, spec) for name, spec in outputs.items()},
        reference=f"{REFERENCE_FILE}:run",
        benchmark=_timed(source.task),
    )
    code = "\n\n".join([definition.reference, *(text for _, text in made.values())])
    files = {**source.task_files, REFERENCE_FILE: code.encode()}
    workloads = [
        _decoded(line, name, Workload, "task")
        for name, data in source.task_files.items()
        if name.endswith(".jsonl")
        for line in data.splitlines()
        if line.strip()
    ]
    return replace(source, task=task, task_files=files, workloads=workloads)


def _with_solution(source: ItemSource) -> ItemSource:
    """Unpack the sources of the one JSON file that a flashinfer solution is."""
    if source.solution is None:
        return source
    files = [path for path in source.solution if path.endswith(".json")]
    if len(files) != 1:
        raise Malformed("submission", f"a flashinfer solution is one JSON file; solution/ holds {len(files)}")
    solution = _read(source.solution, files[0], _Solution, "submission")
    languages = solution.spec.languages or [solution.spec.language]
    if not set(languages) <= set(PYTHON):
        told = " and ".join(languages)
        raise Malformed("submission", f"a solution in {told} is not run yet; python and triton are")
    file, _, function = solution.spec.entry_point.partition("::")
    return replace(
        source,
        task=msgspec.structs.replace(source.task, entry=f"{file}:{function}"),
        solution={each.path: each.content.encode() for each in solution.sources},
        calling="flashinfer" if solution.spec.destination_passing_style else "flashinfer returning",
    )


def _timed(task: Task) -> Benchmark | None:
    """The benchmark with the definition's own code where it names that as a baseline."""
    if task.benchmark is None:
        return None
    code = f"{REFERENCE_FILE}:run"
    baselines = {name: code if at == task.reference else at for name, at in task.benchmark.baselines.items()}
    return msgspec.structs.replace(task.benchmark, baselines=baselines)


def _sizes(definition: _Definition) -> dict[str, int | str]:
    """What stands for each axis that a workload does not name: a number, or an expression over those that it names."""
    sizes: dict[str, int | str] = {
        name: axis.value for name, axis in definition.axes.items() if axis.type == "const" and axis.value is not None
    }
    waiting = {name: axis.expression or "" for name, axis in definition.axes.items() if axis.type == "expr"}
    while waiting:
        ready = [name for name, text in waiting.items() if not _symbols(name, text) & waiting.keys()]
        if not ready:
            raise Malformed("task", f"the axes {', '.join(waiting)} are defined by each other")
        for name in ready:
            text = _NAME.sub(lambda found: f"({sizes.get(found[0], found[0])})", waiting.pop(name))
            _symbols(name, text)
            sizes[name] = text
    return sizes


def _symbols(axis: str, text: str) -> frozenset[str]:
    try:
        return Expression(text).symbols
    except ExpressionError as why:
        raise Malformed("task", f"the axis {axis}: {why}") from None


def _makers(definition: _Definition) -> dict[str, tuple[str, str]]:
    """The function that makes each input, and its source, where the definition makes its inputs itself.

    Every function asks for all inputs with the same seed and returns its own, so that they belong together.
    """
    entry = definition.custom_inputs_entrypoint
    if entry is None:
        return {}
    if not entry.isidentifier():
        raise Malformed("task", f"custom_inputs_entrypoint is {entry!r:.40}, expected the name of a function")
    constants = {name: axis.value for name, axis in definition.axes.items() if axis.type == "const"}
    expressions = {name: axis.expression for name, axis in definition.axes.items() if axis.type == "expr"}
    made = {}
    for number, name in enumerate(definition.inputs):
        function = f"kgrade_input_{number}"
        made[name] = (function, _MAKER.format(function, constants, expressions, entry, name))
    return made


_NAME = re.compile(r"(?<![\w.])[A-Za-z_]\w*(?!\s*\()")
_MAKER = """\
def {0}(shape, symbols, rng):
    import torch
    sizes = dict({1!r}, **symbols)
    for name, expression in {2!r}.items():
        sizes[name] = int(eval(expression, {{}}, sizes))
    torch.manual_seed(int(rng.integers(2**31)))
    value = {3}(sizes, torch.device("cpu"))[{4!r}].detach().cpu()
    return (value.double() if value.is_floating_point() else value).numpy()
"""


def _shape(array: _Array, sizes: Mapping[str, int | str]) -> list[int | str]:
    return [sizes.get(name, name) for name in array.shape or []]


def _known(dtype: str, name: str) -> Any:
    if dtype not in DTYPES:
        raise Malformed("task", f"the definition gives {name} the dtype {dtype!r}; expected one of {', '.join(DTYPES)}")
    return dtype


def _read(files: Mapping[str, bytes], file: str, kind: type[Any], fault: Literal["task", "submission"]) -> Any:
    if file not in files:
        raise Malformed(fault, f"{file} is missing")
    return _decoded(files[file], file, kind, fault)


def _decoded(data: bytes, file: str, kind: type[Any], fault: Literal["task", "submission"]) -> Any:
    try:
        return msgspec.json.decode(data, type=kind)
    except (msgspec.DecodeError, RecursionError) as why:
        raise Malformed(fault, f"{file} cannot be read: {why}") from None
