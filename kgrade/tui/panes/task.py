"""What was asked, the summary first: contract, cases, tolerance with its meaning, prompt, reference."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kgrade.records.evidence import Case
from kgrade.records.expressions import ExpressionError
from kgrade.records.task import Input, Output, Task
from kgrade.tui.highlight import file_rows
from kgrade.tui.lines import Lines, Row, Rows, Span
from kgrade.tui.pane import Glance, Pane
from kgrade.tui.panes import figures
from kgrade.tui.panes.controls import worth
from kgrade.tui.panes.layout import BLANK, Column, Entry, Joined, fact, fold, heading, sentence, table
from kgrade.tui.panes.markdown import markdown

if TYPE_CHECKING:
    from kgrade.desk.item import Item
    from kgrade.desk.sheet import Sheet

_MANTISSA = {"float64": 53, "float32": 24, "float16": 11, "bfloat16": 8, "float8_e4m3fn": 4, "float8_e5m2": 3,
             "float8_e4m3fnuz": 4, "float8_e5m2fnuz": 3}  # fmt: skip
_CASES_SHOWN = 40


def pane(item: Item, sheet: Sheet) -> Pane:
    """The task of `item`."""
    task = item.task
    parts: list[Lines] = [Rows([*_summary(item), BLANK, heading("prompt")])]
    parts.append(
        markdown(item.prompt) if item.prompt.strip() else Rows([Row(spans=(Span("— prompt.md is empty", "warn"),))])
    )
    parts.append(
        Rows(
            [
                BLANK,
                *_interface(task),
                BLANK,
                *_tolerance(task),
                *_worth(item),
                BLANK,
                *_cases(task),
                BLANK,
                *_files(item),
            ]
        )
    )
    return Pane(Joined(parts), glance(item))


def glance(item: Item) -> Glance:
    """Nothing unless the item has faults."""
    return Glance("!", "warn") if item.faults else Glance()


def _summary(item: Item) -> list[Row]:
    task = item.task
    rows = [Row(spans=(Span(task.title, "strong"),))]
    rows += fact("type", f"{task.type} in {task.language}{_source(task)}")
    rows += fact("targets", ", ".join(task.targets) + (f", {task.devices} devices" if task.devices != 1 else ""))
    rows += fact(
        "called as", f"{task.entry}({', '.join(task.inputs)}) -> {', '.join(task.outputs)}  [{task.interface}]"
    )
    cases, timed = task.check_cases(), task.benchmark_cases()
    extra = sum(not _required(task, case) for case in cases)
    checked = figures.count(len(cases), "case") + (f", {extra} outside the contract (extra)" if extra else "")
    rows += fact("checked at", f"{checked}; tolerance in {', '.join(map(figures.dtype, task.tolerance))}")
    rows += fact("timed at", _benchmark(task, len(timed)))
    rows += fact("contract", "; ".join(task.requires)) if task.requires else []
    rows += fact("forbidden", ", ".join(task.forbidden)) if task.forbidden else []
    limits = task.limits
    rows += fact("limits", f"build {limits.build_s:g} s, run {limits.run_s:g} s, memory {limits.memory_gb:g} GB")
    rows += _rules(task)
    if item.submission:
        rows += _submission(item)
    for fault in item.faults:
        rows += fact("! fault", str(fault), "warn")
    return rows


def _required(task: Task, case: Case) -> bool:
    """Whether `case` lies inside the contract; one at which the contract has no value does not."""
    try:
        return task.required(case)
    except ExpressionError:
        return False


def _source(task: Task) -> str:
    if task.source is None:
        return ""
    return f", from {task.source.framework or task.source.target}"


def _benchmark(task: Task, timed: int) -> str:
    if task.benchmark is None:
        return "nothing: the task has no benchmark, so performance can only be read from the code"
    against = ", ".join(task.benchmark.baselines) or "no baseline"
    return f"{figures.count(timed, 'case')} against {against}, cache {task.benchmark.cache}"


def _rules(task: Task) -> list[Row]:
    """The optional rules of judging, each in a sentence."""
    rows = fact("checker", f"{task.checker} judges, because the right output is not unique") if task.checker else []
    if task.matched_ratio is not None:
        cap = "" if task.error_cap is None else f", the rest within {task.error_cap:g}"
        rows += fact("matched", f"{task.matched_ratio:.4g} of the elements must be within tolerance{cap}")
    rows += (
        fact("backward", f"gradients of {', '.join(task.backward)} against float64 autograd") if task.backward else []
    )
    rows += (
        fact("in place", f"may write {', '.join(task.inplace)}; other inputs must stay untouched")
        if task.inplace
        else []
    )
    rows += (
        fact("prepare", f"{task.prepare} runs before each call, outside the clock; its cost is shown apart")
        if task.prepare
        else []
    )
    if task.stochastic:
        rows += fact("random", "outputs are judged by their distribution, not element by element")
    flops = task.work.flops
    split = ", ".join(f"{pipe}: {text}" for pipe, text in flops.items()) if isinstance(flops, dict) else str(flops)
    rows += fact("work", f"flops {split}; bytes {task.work.bytes}")
    return rows


def _submission(item: Item) -> list[Row]:
    submission = item.submission
    assert submission is not None
    origin = f", from {submission.origin.kind} {submission.origin.ref}" if submission.origin else ""
    later = f", replaces {submission.supersedes}" if submission.supersedes else ""
    rows = fact("submission", f"{item.id}, {submission.created}{origin}{later}")
    rows += fact("tags", ", ".join(submission.tags)) if submission.tags else []
    return rows + (fact("notes", submission.notes) if submission.notes.strip() else [])


def _interface(task: Task) -> list[Row]:
    columns = [
        Column("inputs and outputs", most=24),
        Column("shape", most=30),
        Column("dtype"),
        Column("rules", most=80),
    ]
    entries = [
        Entry([Span(f"in   {name}"), _shape(spec), spec.dtype, _input_rules(spec)])
        for name, spec in task.inputs.items()
    ]
    entries += [
        Entry([f"out  {name}", _shape(spec), spec.dtype, _output_rules(spec)]) for name, spec in task.outputs.items()
    ]
    return table(columns, entries)


def _shape(spec: Input | Output) -> str:
    if isinstance(spec, Input) and spec.scalar:
        return "scalar"
    return f"[{', '.join(map(str, spec.shape))}]"


def _input_rules(spec: Input) -> str:
    rules = [f"in [{spec.range[0]}, {spec.range[1]})"] if spec.range else []
    rules += [word for word in ("sorted", "unique") if getattr(spec, word)]
    rules += [f"also {', '.join(name for name in spec.layouts if name != 'contiguous')}"] if spec.layouts else []
    return "; ".join([*rules, *([f"made by {spec.generator}"] if spec.generator else [])])


def _output_rules(spec: Output) -> str:
    return {
        "match": "NaN, Inf as in the reference",
        "any": "where the reference is not finite, anything passes",
        "forbid": "NaN, Inf are wrong anywhere",
    }[spec.nonfinite]


def _tolerance(task: Task) -> list[Row]:
    """Each row beside what it means: units of one rounding, and the magnitude below which zeros would pass."""
    columns = [
        Column("tolerance"),
        Column("passes when", most=60),
        Column("rounding", right=True),
        Column("rtol is", right=True),
    ]
    entries = []
    for name, row in task.tolerance.items():
        rounding = 2.0 ** -_MANTISSA[name] if name in _MANTISSA else None
        entries.append(
            Entry(
                [
                    figures.dtype(name),
                    figures.tolerance(row),
                    figures.error(rounding) if rounding else "exact",
                    f"{figures.significant(row.rtol / rounding, 2)}x that" if rounding else figures.NOTHING,
                ]
            )
        )
    rows = table(columns, entries)
    loosest = max((row.atol for row in task.tolerance.values()), default=0.0)
    if loosest:
        zeros = f"zeros pass where |ref| <= atol, up to {figures.error(loosest)}; t (tests) shows how large ref is"
        rows += sentence(zeros, "dim", indent="  ")
    return rows


def _worth(item: Item) -> list[Row]:
    rows = worth(item) if item.submission is None else []
    return [BLANK, *rows] if rows else []


def _cases(task: Task) -> list[Row]:
    cases = task.check_cases()
    names = [f"{'' if _required(task, case) else 'extra  '}{figures.case_name(case)}" for case in cases]
    rows = [heading("cases", f"{len(cases)} checked, {len(task.benchmark_cases())} timed")]
    rows += [Row(spans=(Span(f"  {name}"),)) for name in names[:_CASES_SHOWN]]
    if len(names) > _CASES_SHOWN:
        rest = [Row(spans=(Span(f"  {name}"),)) for name in names[_CASES_SHOWN:]]
        rows.append(fold(f"… {len(rest)} more", rest, indent="  "))
    rows += [Row(spans=(Span("  timed  ", "dim"), Span(figures.case_name(case)))) for case in task.benchmark_cases()]
    return rows


def _files(item: Item) -> list[Row]:
    """The task's own files, each behind a fold; the one that defines the reference is named as such."""
    reference = item.task.reference.partition(":")[0]
    rows = [heading("files", f"reference is {item.task.reference}")]
    for path in sorted(item.files, key=lambda name: (name != reference, name)):
        if path in ("prompt.md", "task.yaml"):
            continue
        lines = file_rows(item.files[path], path)
        rows.append(fold(f"{path}  {figures.count(len(lines), 'line')}", lines, "", indent="  "))
    return rows
