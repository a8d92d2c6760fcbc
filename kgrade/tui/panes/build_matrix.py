"""Where each kernel builds and fits, over all targets at a glance; and what differs between two builds of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from kgrade.records.evidence import KernelResources, Occupancy
from kgrade.tui.lines import Row, Span
from kgrade.tui.panes import figures
from kgrade.tui.panes.layout import Column, Entry, fold, heading, sentence, table

Kernels = Sequence[KernelResources]
NOWHERE = Span("·", "dim")
_FIGURES: tuple[tuple[str, Callable[[KernelResources], str]], ...] = (
    ("regs", lambda one: str(one.registers)),
    ("spills", lambda one: spilled(one)),
    ("shared", lambda one: figures.size(one.shared_bytes)),
    ("warps", lambda one: resident(one.occupancy)),
    ("code", lambda one: figures.size(one.code_bytes)),
    ("matrix instructions", lambda one: matrix_instructions(one)),
)


def matrix(builds: Mapping[str, Kernels]) -> list[Row]:
    """One row a kernel and config, one column a target: fits with its occupancy, spills, or does not fit.

    Nothing for fewer than two targets with kernels: the table of kernels says it all then.
    """
    built = {target: kernels for target, kernels in builds.items() if kernels}
    if len(built) < 2:
        return []
    variants = list(dict.fromkeys(one.variant for kernels in built.values() for one in kernels))
    cells = {target: {one.variant: one for one in kernels} for target, kernels in built.items()}
    columns = [Column("kernel", most=34), *(Column(target, most=12) for target in built)]
    entries = [Entry([variant, *(_cell(cells[target].get(variant)) for target in built)]) for variant in variants]
    legend = "✓ fits, with the share of warps that can be resident   ! spills registers   ✗ does not build or fit"
    return [heading("where it fits"), *table(columns, entries), *sentence(legend, "dim")]


def _cell(one: KernelResources | None) -> Span:
    if one is None:
        return NOWHERE
    if one.failure is not None:
        return Span(f"✗ {one.failure.kind}", "bad")
    share = _share(one.occupancy)
    return Span(f"! {share}".rstrip(), "warn") if one.spills else Span(f"✓ {share}".rstrip(), "good")


def differences(left: Kernels, right: Kernels, left_name: str, right_name: str) -> list[Row]:
    """What differs between two builds of the same kernels, behind a fold: `48 → 64` in each column that changed.

    Kernels are matched by name, types and config, else by name where each side has one of that name.
    """
    pairs = _pairs(left, right)
    if not pairs:
        return []
    changed = [(a, b) for a, b in pairs if any(show(a) != show(b) for _, show in _FIGURES) or _broke(a, b)]
    title = f"{left_name} → {right_name}: {len(changed)} of {figures.count(len(pairs), 'kernel')} differ"
    if not changed:
        return [Row(spans=(Span(title, "dim"),))]
    columns = [Column("kernel", most=26), *(Column(name, most=26) for name, _ in _FIGURES)]
    entries = [Entry([_name(b), *(_change(show(a), show(b)) for _, show in _FIGURES)]) for a, b in changed]
    rows = table(columns, entries, indent="  ")
    for a, b in changed:
        if _broke(a, b):
            side, one = (right_name, b) if b.failure else (left_name, a)
            rows += sentence(f"{_name(one)} on {side}: {one.failure.line if one.failure else ''}", "bad", indent="  ")
    return [fold(title, rows, "")]


def _pairs(left: Kernels, right: Kernels) -> list[tuple[KernelResources, KernelResources]]:
    exact = {one.variant: one for one in left}
    pairs = [(exact[one.variant], one) for one in right if one.variant in exact]
    if pairs:
        return pairs
    by_name = {name: [one for one in left if _name(one) == name] for name in dict.fromkeys(map(_name, left))}
    found = []
    for name in dict.fromkeys(map(_name, right)):
        mine = [one for one in right if _name(one) == name]
        found += list(zip(by_name.get(name, []), mine, strict=False))
    return found


def _name(one: KernelResources) -> str:
    return one.kernel.partition("(")[0]


def _broke(a: KernelResources, b: KernelResources) -> bool:
    return (a.failure is None) != (b.failure is None)


def _change(before: str, after: str) -> Span:
    return Span(after, "dim") if before == after else Span(f"{before} → {after}")


def spilled(one: KernelResources) -> str:
    """Spilled bytes, stores and loads; on AMD, spilled registers."""
    if one.spilled_registers:
        return figures.count(one.spilled_registers, "register")
    stored, loaded = one.spill_store_bytes, one.spill_load_bytes
    return f"{stored}/{loaded} B" if stored or loaded else "none"


def resident(occupancy: Occupancy | None) -> str:
    """Resident warps of the most that there can be."""
    return f"{occupancy.active_warps}/{occupancy.max_warps}" if occupancy else figures.NOTHING


def matrix_instructions(one: KernelResources) -> str:
    """The matrix instructions by name, the commonest first."""
    return ", ".join(one.tensor) or "none"


def _share(occupancy: Occupancy | None) -> str:
    if occupancy is None or not occupancy.max_warps:
        return ""
    return f"{100 * occupancy.active_warps / occupancy.max_warps:.0f} %"
