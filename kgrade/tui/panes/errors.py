"""The details of one case: every output's errors beside the framework's own, worst elements, the ULP histogram."""

from __future__ import annotations

from collections.abc import Sequence

from kgrade.records.evidence import CaseCheck, Element, Figures, OutputCheck
from kgrade.tui.lines import Row, Span
from kgrade.tui.panes import figures, plots
from kgrade.tui.panes.layout import Column, Entry, fact, sentence, table
from kgrade.tui.panes.sections import failure, state

_INDENT = "    "
_BAR = 30
_ELEMENTS = 8


def case_details(case: CaseCheck) -> list[Row]:
    """Rows for the fold under a case."""
    rows = sentence(case.reason, indent=_INDENT, lead="> ") if case.reason else []
    rows += failure(case.failure, indent=_INDENT) if case.failure else []
    if case.touched:
        rows += sentence(
            f"inputs written that must stay untouched: {', '.join(case.touched)}", "bad", indent=_INDENT, lead="✗ "
        )
    for output in case.outputs:
        rows += _output(output)
    seed = [f"seed {case.seed}"] if case.seed is not None else []
    took = [f"took {figures.seconds(case.seconds)}"] if case.seconds else []  # an emulated case has no time
    return [*rows, Row(spans=(Span(_INDENT + ", ".join([*seed, *took]), "dim"),))]


def _output(output: OutputCheck) -> list[Row]:
    shape = f"[{', '.join(map(str, output.shape))}]"
    name = Span(f"{_INDENT}{output.name} {shape} {figures.dtype(output.dtype)}  ", "strong")
    rows = [Row(spans=(name, state(output.status)))]
    rows += sentence(output.reason, indent=_INDENT, lead="> ") if output.reason else []
    if output.tolerance:
        rows += _labelled("passes when", figures.tolerance(output.tolerance))
    if output.magnitude:
        largest, mean = figures.error(output.magnitude.max_abs), figures.error(output.magnitude.mean_abs)
        rows += _labelled("size of ref", f"max |ref| {largest}, mean |ref| {mean}")
    if _zeros_pass(output):
        rows += sentence("an output of zeros would pass, so a pass proves nothing", "warn", indent=_INDENT, lead="! ")
    if output.figures:
        rows += _spreads(output.figures, output.framework)
        rows += _counts(output.figures)
    rows += _elements("first wrong", output.first)
    rows += _elements("worst", output.worst)
    return rows + (_histogram(output.figures.histogram) if output.figures else [])


def _zeros_pass(output: OutputCheck) -> bool:
    """Whether zeros lie within the tolerance everywhere: the largest |ref| does."""
    if output.tolerance is None or output.magnitude is None or isinstance(output.magnitude.max_abs, str):
        return False
    largest = output.magnitude.max_abs
    return 0 < largest <= output.tolerance.atol + output.tolerance.rtol * largest


def _labelled(label: str, text: str) -> list[Row]:
    return [Row(spans=(Span(_INDENT), *row.spans)) for row in fact(label, text)]


def _spreads(found: Figures, framework: Figures | None) -> list[Row]:
    columns = [Column("error against float64")] + [
        Column(name, right=True) for name in ("p50", "p99", "p99.9", "max", "framework max")
    ]
    kinds = [
        ("absolute", found.absolute, framework and framework.absolute, figures.error),
        ("relative", found.relative, framework and framework.relative, figures.error),
        ("ulp", found.ulp, framework and framework.ulp, figures.ulp),
    ]
    entries = []
    for name, spread, beside, show in kinds:
        values = [show(spread.p50), show(spread.p99), show(spread.p999), show(spread.max)]
        entries.append(Entry([name, *values, show(beside.max) if beside else figures.NOTHING]))
    return table(columns, entries, _INDENT)


def _counts(found: Figures) -> list[Row]:
    text = f"{figures.share(found.mismatched, found.elements)} outside the tolerance"
    rows = _labelled("wrong", text)
    if found.nan_got or found.nan_expected or found.inf_got or found.inf_expected or found.nonfinite_wrong:
        nans = f"NaN {found.nan_got:,} got, {found.nan_expected:,} expected"
        infs = f"Inf {found.inf_got:,} got, {found.inf_expected:,} expected"
        rows += _labelled("not finite", f"{nans}; {infs}; {found.nonfinite_wrong:,} in the wrong place")
    return rows


def _elements(title: str, elements: Sequence[Element]) -> list[Row]:
    if not elements:
        return []
    columns = [Column(title), *(Column(name, right=True) for name in ("got", "expected", "abs", "rel", "ulp"))]
    entries = [
        Entry(
            [
                f"[{', '.join(map(str, one.index))}]",
                figures.exact(one.got),
                figures.exact(one.expected),
                figures.error(one.absolute),
                figures.error(one.relative),
                figures.ulp(one.ulp),
            ]
        )
        for one in elements[:_ELEMENTS]
    ]
    return table(columns, entries, _INDENT)


def _histogram(counts: Sequence[int]) -> list[Row]:
    """Elements by ULP error, a row for each doubling; bars grow with the logarithm, so that few wrong ones are seen."""
    if not any(counts):
        return []
    last = max(index for index, count in enumerate(counts) if count)
    whole = max(counts).bit_length()
    rows = [Row(spans=(Span(f"{_INDENT}elements by ulp error (bars: each step doubles)", "dim"),))]
    for index, count in enumerate(counts[: last + 1]):
        label = "< 1" if index == 0 else f"{2 ** (index - 1):,} to {2**index:,}"
        marks = plots.bar(count.bit_length(), whole, _BAR)
        rows.append(Row(spans=(Span(f"{_INDENT}{label:>22} "), Span(f"{marks:<{_BAR}}", "note"), Span(f" {count:,}"))))
    return rows
