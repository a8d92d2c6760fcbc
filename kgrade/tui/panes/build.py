"""Does it compile, and what does it cost: where it fits, failures with advice, resources by kernel, the log."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from kgrade.records.evidence import Build, BuildTarget, KernelResources, Occupancy
from kgrade.tui.lines import Lines, Row, Rows, Span
from kgrade.tui.pane import Glance, Pane
from kgrade.tui.panes import figures
from kgrade.tui.panes.build_matrix import differences, matrix, matrix_instructions, spilled
from kgrade.tui.panes.glances import worst_state
from kgrade.tui.panes.layout import BLANK, Column, Entry, Joined, fact, fold, heading, sentence, table
from kgrade.tui.panes.logs import log_section
from kgrade.tui.panes.sections import (
    collected,
    failure,
    missing_targets,
    not_run,
    provenance,
    spaced,
    state,
    target_heading,
)

if TYPE_CHECKING:
    from kgrade.desk.item import EvidenceFile, Item
    from kgrade.desk.sheet import Sheet


def pane(item: Item, sheet: Sheet) -> Pane:
    """The build on every target of `item`."""
    over_all = _over_all(item)
    parts: list[Lines] = [Rows(over_all)] if over_all else []
    for target, file in collected(item):
        parts += [Rows([BLANK])] if parts else []
        parts += _target(target, file, item)
    rest = missing_targets(item)
    parts += [Rows([BLANK, *rest] if parts else rest)]
    return Pane(Joined(parts), glance(item))


def glance(item: Item) -> Glance:
    """The gravest state over the targets."""
    return worst_state(item, "build")


def _over_all(item: Item) -> list[Row]:
    """The targets side by side, and what differs from one to the next and from the start."""
    built = {target: kernels for target, file in collected(item) if (kernels := file.evidence.stages.build.kernels)}
    names = list(built)
    pairs = [differences(built[a], built[b], a, b) for a, b in pairwise(names)]
    by_start: dict[str, list[KernelResources]] = {}
    for one in item.start.kernels if item.start else ():
        by_start.setdefault(one.target, []).append(one)
    pairs += [
        differences(by_start[target], kernels, f"start on {target}", "this solution")
        for target, kernels in built.items()
        if target in by_start
    ]
    return spaced([matrix(built), *pairs])


def _target(target: str, file: EvidenceFile, item: Item) -> list[Lines]:
    build = file.evidence.stages.build
    head = target_heading(target, file)
    if build.status in ("not-run", "error") and not build.targets:
        return [Rows([*head, *not_run(build, item, "The build")]), *log_section(file, build.log)]
    rows = [*head, Row(spans=(state(build.status), Span(f"  {build.reason or ''}".rstrip())))]
    sections = [rows, _compilations(build), *(_compilation(one) for one in build.targets), _kernels(build)]
    facts = [row for text in build.facts for row in sentence(text, lead="- ")]
    sections += [facts, provenance(file.evidence.environment, build.method)]
    return [Rows(spaced(sections)), *([Rows([BLANK])] if build.log else []), *log_section(file, build.log)]


def _compilations(build: Build) -> list[Row]:
    if not build.targets:
        return []
    columns = [
        Column("architecture"),
        Column("state"),
        Column("time", right=True),
        Column("warnings", right=True),
        Column("why", most=60),
    ]
    entries = [
        Entry(
            [
                one.target,
                state(one.status),
                figures.seconds(one.seconds),
                str(len(one.warnings) or ""),
                one.reason or "",
            ],
            mark="error" if one.status in ("failed", "error") else "",
        )
        for one in build.targets
    ]
    return table(columns, entries)


def _compilation(one: BuildTarget) -> list[Row]:
    """What one compilation said: the failure, then warnings and the command behind folds."""
    rows = failure(one.failure, indent="") if one.failure else []
    warnings = [row for text in one.warnings for row in sentence(text, "warn", indent="  ", lead="! ")]
    few = len(warnings) <= 4
    rows += warnings if few else [fold(f"! {figures.count(len(one.warnings), 'warning')}", warnings, "warn")]
    if one.command:
        rows.append(fold("… the command", sentence(" ".join(one.command), indent="  ")))
    return [heading(one.target, style="dim"), *rows] if rows else []


def _kernels(build: Build) -> list[Row]:
    if not build.kernels:
        return []
    columns = [
        Column("kernel", most=26), Column("on", most=8), Column("regs", right=True),
        Column("spill st/ld", right=True), Column("shared", right=True), Column("occupancy", most=34),
        Column("stack", right=True), Column("constant", right=True), Column("matrix units", most=40),
    ]  # fmt: skip
    entries = [
        Entry(
            [
                one.kernel,
                one.target,
                _registers(one),
                _spills(one),
                figures.size(one.shared_bytes),
                _occupancy(one.occupancy),
                figures.size(one.stack_bytes),
                figures.size(one.constant_bytes),
                matrix_instructions(one) if one.instructions else figures.NOTHING,
            ],
            mark="error" if one.failure and not one.tried else "",
            fold=Rows(_kernel(one)),
        )
        for one in build.kernels
    ]
    rows = table(columns, entries)
    if any(one.spills for one in build.kernels):
        rows += sentence(
            "registers spill to local memory: every spilled byte is a trip to cache or beyond", "warn", lead="! "
        )
    cut = [one.kernel for one in build.kernels if len(one.kernel) > columns[0].most]
    for name in dict.fromkeys(cut):
        rows += fact("full name", name, "dim")
    return rows


def _registers(one: KernelResources) -> Span:
    return Span("✗", "bad") if one.failure else Span(str(one.registers))


def _kernel(one: KernelResources) -> list[Row]:
    """All of one kernel: why it fails, its config and grid, its code and what it is made of."""
    from kgrade.harness.build.sass import operands  # brings all that builds, which a first picture need not wait for

    rows = failure(one.failure, indent="  ") if one.failure else []
    config = " ".join(f"{name}={value}" for name, value in one.config.items())
    facts = [
        ("name", one.kernel),
        ("config", config + (", which only the autotuner tries" if one.tried else "")),
        ("grid", " x ".join(map(str, one.grid))),
        ("registers", _more_registers(one)),
        ("code", figures.size(one.code_bytes) if one.code_bytes else ""),
        ("made of", ", ".join(f"{kind} {count}" for kind, count in one.instructions.items())),
        ("matrix units", ", ".join(f"{name} x{count} ({operands(name)})" for name, count in one.tensor.items())),
    ]
    return [*rows, *(row for label, text in facts if text for row in fact(label, text))]


def _more_registers(one: KernelResources) -> str:
    """AMD's kinds of registers; CUDA has one kind, which the table shows."""
    if not one.scalar_registers:
        return ""
    return f"{one.registers} vector, {one.accumulators} of them accumulators; {one.scalar_registers} scalar"


def _spills(one: KernelResources) -> Span:
    return Span(f"! {spilled(one)}", "warn") if one.spills else Span("none")


def _occupancy(occupancy: Occupancy | None) -> str:
    if occupancy is None:
        return figures.NOTHING
    percent = 100 * occupancy.active_warps / occupancy.max_warps if occupancy.max_warps else 0
    return f"{percent:.0f} % ({occupancy.active_warps}/{occupancy.max_warps}), by {occupancy.limiter}"
