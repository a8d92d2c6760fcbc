"""Problems that are Python modules with a class `Model`: what can be read of them without running them."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable

from kgrade.exchange.fields import Misfit
from kgrade.records.task import Benchmark, CaseRow, Language, Task, Tolerance

TOLERANCE = {
    "float32": 1e-4,
    "float16": 1e-2,
    "bfloat16": 1e-2,
}  # what KernelBench's own check uses, absolute and relative


def module_task(
    place: str,
    source: bytes,
    *,
    file: str,
    title: str,
    entry: str,
    language: Language,
    rubric: str,
    shapes: bytes | None = None,
) -> Task:
    """The task of a problem module `file` with `Model`, `get_inputs` and `get_init_inputs`; raise Misfit for others.

    `shapes` is a module that lists further cases. Sizes are the whole numbers that the module's top level sets.
    """
    tree = _parsed(place, source)
    names = {node.name for node in tree.body if isinstance(node, ast.ClassDef | ast.FunctionDef)}
    for wanted in ("Model", "get_inputs", "get_init_inputs"):
        if wanted not in names:
            kind = "the class" if wanted == "Model" else "the function"
            raise Misfit(place, f"{kind} {wanted} is missing, expected a problem module with it")
    sizes = dict(_sizes(tree))
    rows: list[CaseRow] = [{**row, "dtype": "float32"} for row in _listed(shapes, set(sizes))] or [
        {**sizes, "dtype": "float32"}
    ]
    return Task(
        title=title,
        type="generation",
        language=language,
        interface="kernelbench",
        entry=entry,
        reference=f"{file}:Model",
        targets=["cpu"],
        inputs={},
        outputs={},
        cases=rows,
        benchmark=Benchmark(cases=rows, baselines={"reference": f"{file}:Model"}),
        tolerance={"float32": Tolerance(atol=TOLERANCE["float32"], rtol=TOLERANCE["float32"])},
        rubric=rubric,
    )


def language_of(sources: Iterable[bytes]) -> Language:
    """The kernel language that answers are written in: the first that one of them shows, Python where none does."""
    for source in sources:
        if re.search(rb"@triton\.jit|import triton", source):
            return "triton"
        if re.search(rb"__global__|load_inline|cpp_extension", source):
            return "cuda"
        if b"pallas" in source:
            return "pallas"
    return "python"


def _parsed(place: str, source: bytes) -> ast.Module:
    try:
        return ast.parse(source)
    except (SyntaxError, ValueError, RecursionError) as why:
        line = f":{why.lineno}" if isinstance(why, SyntaxError) and why.lineno else ""
        raise Misfit(f"{place}{line}", f"it is no Python: {getattr(why, 'msg', why)}") from None


def _sizes(tree: ast.Module) -> Iterable[tuple[str, int]]:
    for node in tree.body:
        if isinstance(node, ast.Assign) and len(node.targets) == 1:
            names, value = node.targets[0], node.value
            pairs = (
                zip(names.elts, value.elts, strict=False)
                if isinstance(names, ast.Tuple) and isinstance(value, ast.Tuple)
                else [(names, value)]
            )
            for name, each in pairs:
                whole = isinstance(each, ast.Constant) and type(each.value) is int
                if isinstance(name, ast.Name) and whole:
                    yield name.id, each.value  # type: ignore[attr-defined]


def _listed(shapes: bytes | None, known: set[str]) -> list[dict[str, int]]:
    """The shapes that a module lists as literals, each a mapping of sizes that the problem has."""
    if shapes is None:
        return []
    for node in _parsed("shapes.py", shapes).body:
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.List):
            try:
                found = ast.literal_eval(node.value)
            except ValueError:
                continue
            rows = [each for each in found if isinstance(each, dict) and set(each) <= known]
            if rows and all(type(size) is int for row in rows for size in row.values()):
                return rows
    return []
