"""Static facts about NKI sources. No compiler for them can be had without a Neuron SDK, so nothing is compiled."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from kgrade.harness.failures import classify
from kgrade.records.evidence import Build, BuildTarget, StageStatus
from kgrade.records.task import Task

METHOD = "static: source only, not compiled"
NOT_COMPILED = "neuronx-cc is not installed: the source was read, not compiled"
PARTITIONS = 128
_TILES = ("zeros", "ones", "full", "ndarray", "empty", "zeros_like", "rand")
_LOOPS = ("affine_range", "sequential_range", "static_range", "range")
_MOST_NAMED = 12


@dataclass
class _Source:
    """One parsed file: what its names stand for, and what was found in it."""

    path: str
    tree: ast.Module
    imports: dict[str, str] = field(default_factory=dict)
    constants: dict[str, int] = field(default_factory=dict)


def read_nki(folder: Path, task: Task, targets: Sequence[str]) -> Build:
    """Read every Python file of `folder` as NKI source: entry, calls, loops, partition sizes.

    A file that does not parse, or a missing entry, fails; a partition dimension past 128 is flagged.
    """
    sources: list[_Source] = []
    for path in sorted(path for path in folder.rglob("*.py") if path.is_file() and not path.is_symlink()):
        name = path.relative_to(folder).as_posix()
        try:
            sources.append(_read(name, ast.parse(path.read_bytes(), filename=name)))
        except (SyntaxError, ValueError, RecursionError, MemoryError) as why:
            line = f"SyntaxError: {name}: {why}"
            return _build("failed", line, targets, [], line)
    functions = {node.name for source in sources for node in source.tree.body if isinstance(node, ast.FunctionDef)}
    if task.entry not in functions:
        return _build("failed", f"no function {task.entry} is defined in the solution", targets, [])
    wide = [finding for source in sources for finding in _wide_partitions(source)]
    facts = [*(fact for source in sources for fact in _facts(source)), *wide]
    if wide:
        return _build("flagged", wide[0], targets, facts)
    return _build("not-run", NOT_COMPILED, targets, facts)


def _build(status: StageStatus, reason: str, targets: Sequence[str], facts: list[str], error: str = "") -> Build:
    failure = classify(error) if error else None
    target_status: StageStatus = "failed" if status == "failed" else "not-run"
    target_reason = reason if status == "failed" else NOT_COMPILED
    return Build(
        status=status,
        reason=reason,
        method=METHOD,
        facts=facts,
        targets=[
            BuildTarget(target=target, status=target_status, reason=target_reason, failure=failure)
            for target in targets
        ],
    )


def _read(name: str, tree: ast.Module) -> _Source:
    source = _Source(name, tree)
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names):
                source.imports |= {alias.asname or alias.name: alias.name for alias in names}
            case ast.ImportFrom(module=module, names=names):
                source.imports |= {alias.asname or alias.name: f"{module}.{alias.name}" for alias in names}
            case ast.Assign(targets=[ast.Name(id=target)], value=ast.Constant(value=int() as value)):
                source.constants[target] = value
    return source


def _dotted(source: _Source, node: ast.expr) -> str | None:
    """Return the full name of what is called, imports resolved, such as `neuronxcc.nki.language.load`."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        return None
    return ".".join([source.imports.get(node.id, node.id), *reversed(parts)])


def _calls(source: _Source, within: ast.AST) -> Iterator[tuple[str, ast.Call]]:
    for node in ast.walk(within):
        if isinstance(node, ast.Call):
            name = _dotted(source, node.func)
            if name and ("nki" in name.split(".") or name == "range"):
                yield name, node


def _facts(source: _Source) -> Iterator[str]:
    for kernel in _kernels(source):
        names = Counter(name for name, _ in _calls(source, kernel))
        short = [f"{_short(name)} x{count}" for name, count in names.most_common() if _short(name) not in _LOOPS]
        rest = f" and {len(short) - _MOST_NAMED} more" if len(short) > _MOST_NAMED else ""
        loops = Counter(_short(name) for name in names.elements() if _short(name) in _LOOPS)
        where = f"{source.path}:{kernel.lineno}: kernel {kernel.name}"
        yield f"{where} calls {', '.join(short[:_MOST_NAMED]) or 'nothing of NKI'}{rest}"
        if loops:
            yield f"{where} loops by {', '.join(f'{name} x{count}' for name, count in loops.items())}"
        if not any(_short(name) in ("store", "dma_copy") for name in names):
            yield f"{where} stores nothing by nl.store or dma_copy"


def _kernels(source: _Source) -> Iterator[ast.FunctionDef]:
    for node in ast.walk(source.tree):
        if isinstance(node, ast.FunctionDef):
            marks = [_dotted(source, d.func if isinstance(d, ast.Call) else d) or "" for d in node.decorator_list]
            if any("nki" in mark.split(".") for mark in marks):
                yield node


def _short(name: str) -> str:
    return name.rsplit(".", 1)[-1]


def _wide_partitions(source: _Source) -> Iterator[str]:
    """Yield every tile whose partition dimension, the first, is a known number past 128."""
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Subscript) and _is_column(node) and isinstance(node.value, ast.Call):
            name = _dotted(source, node.value.func) or ""
            rows = _value(source, node.value.args[0]) if len(node.value.args) == 1 else None
            if _short(name) == "arange" and rows is not None and rows > PARTITIONS:
                yield _too_wide(source, node, f"arange({rows})[:, None] spans", rows)
    for name, call in _calls(source, source.tree):
        size: int | None = None
        if _short(name) == "par_dim" and call.args:
            size = _value(source, call.args[0])
        elif _short(name) in _TILES and not _in_hbm(source, call):
            shape = _argument(call, "shape")
            if isinstance(shape, ast.Tuple | ast.List) and shape.elts:
                size = _value(source, shape.elts[0])
        if size is not None and size > PARTITIONS:
            yield _too_wide(source, call, f"{_short(name)} asks for", size)


def _is_column(node: ast.Subscript) -> bool:
    """Whether the index is `[:, None]`, which puts an `arange` along the partitions."""
    match node.slice:
        case ast.Tuple(elts=[ast.Slice(lower=None, upper=None), ast.Constant(value=None)]):
            return True
    return False


def _too_wide(source: _Source, node: ast.expr, what: str, size: int) -> str:
    return f"{source.path}:{node.lineno}: {what} {size} partitions; a tile has at most {PARTITIONS}"


def _in_hbm(source: _Source, call: ast.Call) -> bool:
    """Whether the array is made in device memory, which has no partitions."""
    buffer = next((keyword.value for keyword in call.keywords if keyword.arg == "buffer"), None)
    return buffer is not None and (_dotted(source, buffer) or "").endswith("hbm")


def _argument(call: ast.Call, name: str) -> ast.expr | None:
    return call.args[0] if call.args else next((k.value for k in call.keywords if k.arg == name), None)


def _value(source: _Source, node: ast.expr) -> int | None:
    match node:
        case ast.Constant(value=int() as value):
            return value
        case ast.Name(id=name):
            return source.constants.get(name)
    return None
