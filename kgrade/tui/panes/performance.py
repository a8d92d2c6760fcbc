"""How fast it is, and first of all whether the number may be trusted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kgrade.records.evidence import CaseTiming, Environment, Samples, Speedup, Timing
from kgrade.tui.lines import Lines, Row, Rows, Span
from kgrade.tui.pane import Glance, Pane
from kgrade.tui.panes import curves, figures
from kgrade.tui.panes.glances import aged, worst_state
from kgrade.tui.panes.layout import BLANK, Column, Entry, Joined, Late, fact, heading, sentence, table
from kgrade.tui.panes.logs import log_section
from kgrade.tui.panes.sections import collected, missing_targets, not_run, provenance, spaced, state, target_heading

if TYPE_CHECKING:
    from kgrade.desk.item import EvidenceFile, Item
    from kgrade.desk.sheet import Sheet


def pane(item: Item, sheet: Sheet) -> Pane:
    """The timing on every target of `item`."""
    if item.task.benchmark is None:
        rows = sentence("The task has no benchmark: nothing is timed, and no baseline is named.", lead="— ")
        return Pane(
            Rows(rows + sentence("i shows the task; a cost can still be read from build (b).", "dim", indent="  "))
        )
    return Pane(Late(lambda: _targets(item)), glance(item))


def glance(item: Item) -> Glance:
    """The smallest speedup that was measured on hardware; on an interpreter none, because none is indicative."""
    ratios = []
    cases = 0
    interpreted = False
    for _, file in collected(item):
        timing = file.evidence.stages.time
        entries = [entry for case in timing.cases for entry in case.speedups]
        cases += len(timing.cases)
        interpreted = interpreted or (bool(timing.cases) and not _indicative(timing, file.evidence.environment))
        ratios += entries if _indicative(timing, file.evidence.environment) else []
    if not ratios:
        said = Glance("~", "dim") if interpreted else Glance("missing", "warn") if cases else None
        return aged(item, "time", said) if said else worst_state(item, "time")
    worst = min(ratios, key=lambda entry: entry.ratio)
    flagged = worst_state(item, "time").text.removesuffix("~") == "!"
    style = "warn" if flagged or not worst.difference else "good" if worst.ratio > 1 else "bad"
    sign = "!" if flagged else "" if worst.difference else "="
    return aged(item, "time", Glance(figures.ratio(worst.ratio) + sign, style))


def _targets(item: Item) -> Lines:
    parts: list[Lines] = []
    for target, file in collected(item):
        parts += [Rows([BLANK])] if parts else []
        parts += _target(target, file, item)
    rest = missing_targets(item)
    parts.append(Rows([BLANK, *rest] if parts and rest else rest))
    return Joined(parts)


def _indicative(timing: Timing, environment: Environment) -> bool:
    return timing.indicative and not environment.interpreter


def _target(target: str, file: EvidenceFile, item: Item) -> list[Lines]:
    timing, environment = file.evidence.stages.time, file.evidence.environment
    head = target_heading(target, file)
    if timing.status in ("not-run", "error") and not timing.cases:
        return [Rows([*head, *not_run(timing, item, "Timing")]), *log_section(file, timing.log)]
    indicative = _indicative(timing, environment)
    notes = [row for text in timing.notes for row in sentence(text, "warn", lead="! ")]
    sections = [
        [*head, *_trust(timing, environment), *notes],
        _overview(timing, indicative),
        *(_case(case, indicative) for case in timing.cases),
        curves.size_against_time(timing.cases),
        curves.roofline(timing.cases, indicative, timing.ceilings),
        provenance(environment, timing.method),
    ]
    return [Rows(spaced(sections)), *([Rows([BLANK])] if timing.log else []), *log_section(file, timing.log)]


def _trust(timing: Timing, environment: Environment) -> list[Row]:
    """Whether the numbers below may be used, before any of them."""
    if not _indicative(timing, environment):
        text = "not indicative: an interpreter ran the kernel. These times tell nothing of a device, are never scored."
        return sentence(text, "warn", lead="~ ")
    if timing.status == "flagged":
        return sentence(f"do not trust these times yet: {timing.reason or 'the run was flagged'}", "warn", lead="! ")
    rows = [Row(spans=(state(timing.status), Span("  measured on the device")))]
    return rows + (sentence(timing.reason, lead="> ") if timing.reason else [])


def _overview(timing: Timing, indicative: bool) -> list[Row]:
    """A row a case and baseline: the speedup, or why there is none, then the candidate's own time."""
    columns = [Column("case", most=30), Column("against", most=16), Column("speedup", most=34), Column("candidate")]
    entries = []
    for case in timing.cases:
        name = figures.case_name(case.case)
        mine = figures.median(case.candidate) if case.candidate else _absent_short(case)
        for against, said in _comparisons(case, indicative):
            entries.append(Entry([name, against, said, mine], mark="error" if said.text.startswith("✗") else ""))
            name, mine = "", ""
    return table(columns, entries) if entries else sentence("No case was timed.", lead="— ")


def _comparisons(case: CaseTiming, indicative: bool) -> list[tuple[str, Span]]:
    """What is said of each callable that the candidate is set against, and of itself when it is missing."""
    said = {entry.baseline: _speedup(entry, indicative) for entry in case.speedups}
    for name, why in case.missing.items():
        said.setdefault("this" if name == "candidate" else name, _absent(why))
    for name in case.baselines:
        said.setdefault(name, Span("— no speedup: nothing to divide", "dim"))
    return list(said.items()) or [(figures.NOTHING, Span("no baseline was timed"))]


def _absent(why: str) -> Span:
    """Why a callable has no time: what was not run is no failure, what was lost is one."""
    if why.startswith("not run"):
        return Span(f"— {why}", "dim")
    return Span(f"✗ missing: {why}", "bad")


def _absent_short(case: CaseTiming) -> Span:
    absent = _absent(case.missing.get("candidate", ""))
    return Span(absent.text.partition(":")[0], absent.style)


def _speedup(entry: Speedup, indicative: bool) -> Span:
    """A speedup with what may be said of it: on an interpreter, nothing."""
    if not indicative:
        return Span(f"{figures.ratio(entry.ratio)} not indicative", "dim")
    text = figures.speedup(entry)
    return Span(text, "good" if text.endswith("faster") else "bad" if text.endswith("slower") else "warn")


def _case(case: CaseTiming, indicative: bool) -> list[Row]:
    rows = [heading(figures.case_name(case.case))]
    for name, why in case.missing.items():
        lost = not why.startswith("not run")
        rows += sentence(
            f"{name} is missing: {why}" if lost else f"{name}: {why}",
            "bad" if lost else "dim",
            lead="✗ " if lost else "— ",
        )
    callables = {"candidate": case.candidate, **case.baselines}
    timed = {name: samples for name, samples in callables.items() if samples is not None}
    rows += _statistics(timed)
    rows += curves.samples(timed)
    return rows + (_work(case) if indicative else [])


def _statistics(timed: dict[str, Samples]) -> list[Row]:
    columns = [Column("", most=20), Column("median, 95 % interval", most=40)]
    columns += [Column(name, right=True) for name in ("n", "MAD", "IQR", "min", "first call")]
    entries = []
    for name, one in timed.items():
        cells = [
            name,
            figures.median_interval(one),
            f"{one.n:,}",
            *map(figures.duration, (one.mad_us, one.iqr_us, one.min_us)),
        ]
        entries.append(Entry([*cells, figures.duration(one.first_call_us) if one.first_call_us else figures.NOTHING]))
    if not entries:
        return sentence("nothing could be timed at this case", "bad", lead="✗ ")
    prepared = [
        f"{name} prepares each call for {figures.duration(one.prepare_us)}, by its own word and outside the clock"
        for name, one in timed.items()
        if one.prepare_us
    ]
    return table(columns, entries) + [row for text in prepared for row in sentence(text, "warn", lead="! ")]


def _work(case: CaseTiming) -> list[Row]:
    """What was moved and computed a second."""
    if case.candidate is None or case.candidate.median_us <= 0:
        return []
    us = case.candidate.median_us
    rates = [f"{figures.significant(case.flops / us / 1e6)} TFLOP/s"] if case.flops else []
    rates += [f"{figures.significant(case.bytes / us / 1e3)} GB/s"] if case.bytes else []
    if case.flops and case.bytes:
        rates.append(f"intensity {figures.significant(case.flops / case.bytes)} flop/B")
    return fact("achieved", ", ".join(rates)) if rates else []
