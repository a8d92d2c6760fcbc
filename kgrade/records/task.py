"""`task.yaml`: what was asked. Prompt, reference, inputs, cases, tolerances, baselines, targets."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Annotated, Literal

import msgspec

from kgrade.records.base import Part, Record
from kgrade.records.evidence import Case
from kgrade.records.expressions import Expression, ExpressionError, Requirement
from kgrade.records.faults import Problem
from kgrade.records.slugs import Slug

TaskType = Literal["generation", "translation", "migration", "debugging", "optimization", "fusion"]
Language = Literal["cuda", "hip", "triton", "pallas", "nki", "python"]
Interface = Literal["function", "cuda", "kernelbench", "gpumode", "flashinfer"]
Dtype = Literal[
    "float64", "float32", "float16", "bfloat16",
    "float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz",
    "int64", "int32", "int16", "int8", "uint8", "bool",
]  # fmt: skip
Family = Literal[
    "normal", "uniform", "large", "tiny", "constant-rows", "zeros", "alternating", "denormal",
    "nan", "inf", "neg-inf", "clustered", "ints",
]  # fmt: skip
Layout = Literal["contiguous", "transposed", "strided", "offset", "broadcast"]
DTYPES: tuple[str, ...] = Dtype.__args__  # type: ignore[attr-defined]
FAMILIES: tuple[str, ...] = Family.__args__  # type: ignore[attr-defined]
FLOATS = tuple(name for name in DTYPES if "float" in name)

Text = Annotated[str, msgspec.Meta(min_length=1)]
Place = Annotated[str, msgspec.Meta(pattern=r"^[A-Za-z0-9_./-]+:[A-Za-z_][A-Za-z0-9_]*\Z")]
DtypeOrSymbol = Dtype | Literal["$dtype"]


class Build(Part, frozen=True, kw_only=True):
    """Extra include folders and flags for the compiler, relative to the task's folder."""

    include: list[str] = []
    flags: list[str] = []


class Source(Part, frozen=True, kw_only=True):
    """Where a translation (`framework`) or a migration (`target`) comes from."""

    framework: str | None = None
    target: str | None = None


class Input(Part, frozen=True, kw_only=True):
    """One input. `shape` holds expressions over the case's symbols; `range` is half open, [lo, hi).

    `layouts` are checked beside the contiguous one.
    """

    shape: list[int | str] = []
    dtype: DtypeOrSymbol
    range: tuple[float | str, float | str] | None = None
    sorted: bool = False
    unique: bool = False
    scalar: bool = False
    layouts: list[Layout] = []
    generator: Place | None = None


class Output(Part, frozen=True, kw_only=True):
    """One output, and how NaN and Inf in it are judged."""

    shape: list[int | str]
    dtype: DtypeOrSymbol
    nonfinite: Literal["match", "any", "forbid"] = "match"


class Tolerance(Part, frozen=True, kw_only=True):
    """Pass: |got - ref| <= atol + rtol * |ref|, or within `ulp` units in the last place of the output's dtype."""

    atol: Annotated[float, msgspec.Meta(ge=0)]
    rtol: Annotated[float, msgspec.Meta(ge=0)]
    ulp: Annotated[float, msgspec.Meta(ge=0)] | None = None


CaseRow = dict[str, int | str | list[int | str]]


class Benchmark(Part, frozen=True, kw_only=True):
    """What is timed, and against what (`file.py:function` by name)."""

    cases: Annotated[list[CaseRow], msgspec.Meta(min_length=1)]
    baselines: dict[str, Place] = {}
    cache: Literal["cold", "warm"] = "cold"


class Work(Part, frozen=True, kw_only=True):
    """Arithmetic of one call: operations (in all, or by pipe) and bytes moved at least."""

    flops: int | str | dict[str, int | str] = 0
    bytes: int | str = 0


class Stochastic(Part, frozen=True, kw_only=True):
    """Random outputs, judged by distribution: expected mean, and share of inputs kept."""

    mean: float | None = None
    keep: float | None = None


class Limits(Part, frozen=True, kw_only=True):
    """Bounds on a build and on a run."""

    build_s: Annotated[float, msgspec.Meta(gt=0)] = 300
    run_s: Annotated[float, msgspec.Meta(gt=0)] = 120
    memory_gb: Annotated[float, msgspec.Meta(gt=0)] = 16


class Task(Record, frozen=True, kw_only=True, tag_field="schema", tag="kgrade/task@1"):
    """What was asked."""

    title: Text
    type: TaskType
    language: Language
    interface: Interface = "function"
    entry: Text
    reference: Place
    targets: Annotated[
        list[Slug | Annotated[str, msgspec.Meta(pattern=r"^[a-z0-9_]{1,32}\Z")]], msgspec.Meta(min_length=1)
    ]
    inputs: dict[str, Input]
    outputs: dict[str, Output]
    cases: Annotated[list[CaseRow], msgspec.Meta(min_length=1)]
    tolerance: dict[Dtype, Tolerance]
    rubric: Slug
    build: Build = Build()
    devices: int = 1
    source: Source | None = None
    requires: list[str] = []
    benchmark: Benchmark | None = None
    work: Work = Work()
    checker: Place | None = None
    matched_ratio: Annotated[float, msgspec.Meta(gt=0, le=1)] | None = None
    error_cap: Annotated[float, msgspec.Meta(ge=0)] | None = None
    backward: list[str] = []
    inplace: list[str] = []
    prepare: str | None = None
    stochastic: Stochastic | None = None
    forbidden: list[str] = []
    limits: Limits = Limits()

    def check_cases(self) -> list[Case]:
        """Every case of the check, lists multiplied out; layouts beside the contiguous one go with the first family."""
        layouts = [name for spec in self.inputs.values() for name in spec.layouts]
        return _expand(self.cases, [name for name in dict.fromkeys(layouts) if name != "contiguous"])

    def benchmark_cases(self) -> list[Case]:
        """Every case that is timed."""
        return _expand(self.benchmark.cases, []) if self.benchmark else []

    def required(self, case: Case) -> bool:
        """Whether `case` lies inside the contract (`requires`); others inform and cannot fail a submission."""
        return all(Requirement(text)(case.symbols) for text in self.requires)

    def input_shape(self, name: str, case: Case) -> tuple[int, ...]:
        """The shape of an input at `case`; () for a scalar."""
        return _shape(self.inputs[name].shape, case)

    def output_shape(self, name: str, case: Case) -> tuple[int, ...]:
        """The shape of an output at `case`."""
        return _shape(self.outputs[name].shape, case)

    def dtype(self, spec: Input | Output, case: Case) -> str:
        """The dtype of an input or output at `case`, `$dtype` resolved."""
        return case.dtype if spec.dtype == "$dtype" else spec.dtype

    def problems(self) -> Iterator[Problem]:
        """What types cannot see: expressions, symbols, tolerance rows, names that stand for nothing."""
        yield from _case_problems("cases", self.cases)
        if self.benchmark:
            yield from _case_problems("benchmark.cases", self.benchmark.cases)
        yield from self._expression_problems()
        yield from self._name_problems()
        yield from self._tolerance_problems()

    def _symbol_names(self) -> set[str]:
        return {key for row in self.cases for key in row if key not in ("dtype", "families")}

    def _expression_problems(self) -> Iterator[Problem]:
        known = self._symbol_names()
        shapes = [(f"inputs.{n}.shape", s.shape) for n, s in self.inputs.items()]
        shapes += [(f"outputs.{n}.shape", s.shape) for n, s in self.outputs.items()]
        shapes += [(f"inputs.{n}.range", list(s.range)) for n, s in self.inputs.items() if s.range]  # type: ignore[arg-type]
        for where, parts in shapes:
            for index, part in enumerate(parts):
                yield from _bad_expression(f"{where}[{index}]", part, known)
        flops = self.work.flops
        pipes = {f".{pipe}": text for pipe, text in flops.items()} if isinstance(flops, dict) else {"": flops}
        for pipe, work in pipes.items():
            yield from _bad_expression(f"work.flops{pipe}", work, known | {"itemsize"})
        yield from _bad_expression("work.bytes", self.work.bytes, known | {"itemsize"})
        for index, text in enumerate(self.requires):
            try:
                unknown = Requirement(text).symbols - known
            except ExpressionError as why:
                yield Problem(where=f"requires[{index}]", found=str(why), expected="a comparison such as M >= 1")
            else:
                yield from _unknown(f"requires[{index}]", unknown, known)

    def _name_problems(self) -> Iterator[Problem]:
        names = sorted(self.inputs)
        for key in ("backward", "inplace"):
            for index, name in enumerate(getattr(self, key)):
                if name not in self.inputs:
                    yield Problem(
                        where=f"{key}[{index}]",
                        found=repr(name),
                        expected=f"an input, one of {', '.join(names)}",
                    )
        for name, spec in self.inputs.items():
            if spec.scalar and spec.shape:
                yield Problem(where=f"inputs.{name}", found="a scalar with a shape", expected="one or the other")

    def _tolerance_problems(self) -> Iterator[Problem]:
        for case in self.check_cases() if not list(_case_problems("cases", self.cases)) else []:
            for name, spec in self.outputs.items():
                dtype = self.dtype(spec, case)
                if "float" in dtype and dtype not in self.tolerance:
                    yield Problem(
                        where="tolerance",
                        found=f"no row for {dtype}, the dtype of output {name} at {case.name}",
                        expected="a row for every case dtype",
                        advice=f"add tolerance.{dtype}",
                    )
                    return


def _shape(parts: list[int | str], case: Case) -> tuple[int, ...]:
    return tuple(int(Expression(part)(case.symbols)) for part in parts)


def _expand(rows: list[CaseRow], layouts: list[str]) -> list[Case]:
    cases = []
    for row in rows:
        families = _as_list(row.get("families", "normal"))
        keys = [key for key in row if key != "families"]
        for values in itertools.product(*(_as_list(row[key]) for key in keys)):
            fields = dict(zip(keys, values, strict=True))
            dtype = str(fields.pop("dtype"))
            symbols = {key: value for key, value in fields.items() if isinstance(value, int)}
            cases += [Case(symbols=symbols, dtype=dtype, family=str(family)) for family in families]
            cases += [Case(symbols=symbols, dtype=dtype, family=str(families[0]), layout=layout) for layout in layouts]
    return list({case.name: case for case in cases}.values())


def _as_list(value: int | str | list[int | str]) -> list[int | str]:
    return value if isinstance(value, list) else [value]


def _case_problems(where: str, rows: list[CaseRow]) -> Iterator[Problem]:
    for index, row in enumerate(rows):
        place = f"{where}[{index}]"
        if "dtype" not in row:
            yield Problem(where=place, found="no dtype", expected="dtype: a name or a list of names")
        for value in _as_list(row.get("dtype", [])):
            if value not in DTYPES:
                yield Problem(where=f"{place}.dtype", found=repr(value), expected=f"one of {', '.join(DTYPES)}")
        for value in _as_list(row.get("families", [])):
            if value not in FAMILIES:
                yield Problem(where=f"{place}.families", found=repr(value), expected=f"one of {', '.join(FAMILIES)}")
        for key, size in row.items():
            if key not in ("dtype", "families") and not all(isinstance(v, int) for v in _as_list(size)):
                yield Problem(where=f"{place}.{key}", found=repr(size), expected="a whole number or a list of them")


def _bad_expression(where: str, text: int | float | str, known: set[str]) -> Iterator[Problem]:
    try:
        unknown = Expression(text).symbols - known
    except ExpressionError as why:
        yield Problem(where=where, found=str(why), expected="arithmetic over the case's symbols")
    else:
        yield from _unknown(where, unknown, known)


def _unknown(where: str, unknown: frozenset[str] | set[str], known: set[str]) -> Iterator[Problem]:
    if unknown:
        yield Problem(
            where=where,
            found=f"the symbol {', '.join(sorted(unknown))}",
            expected=f"symbols of the cases: {', '.join(sorted(known)) or 'there are none'}",
        )
