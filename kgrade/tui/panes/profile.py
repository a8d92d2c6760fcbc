"""What profilers and sanitizers saw, or why they saw nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kgrade.records.evidence import Profiling, Stage
from kgrade.records.profile import Profile
from kgrade.tui.lines import Lines, Row, Rows, Span
from kgrade.tui.pane import Glance, Pane
from kgrade.tui.panes import figures, profile_kernels, profile_launches, profile_limits, profile_roofline
from kgrade.tui.panes.glances import aged, worst_state
from kgrade.tui.panes.layout import BLANK, Joined, Late, fact, fold, heading, sentence
from kgrade.tui.panes.logs import log_section
from kgrade.tui.panes.sections import collected, missing_targets, not_run, spaced, state, target_heading

if TYPE_CHECKING:
    from kgrade.desk.item import EvidenceFile, Item
    from kgrade.desk.sheet import Sheet


def pane(item: Item, sheet: Sheet) -> Pane:
    """Profile and sanitizers on every target of `item`."""
    return Pane(Late(lambda: _targets(item)), glance(item))


def glance(item: Item) -> Glance:
    """A sanitizer's word if it is a bad one, else the share of authored kernels, else the profile's state."""
    sanitizers = worst_state(item, "sanitize")
    if sanitizers.text[:1] in ("✗", "!"):
        return sanitizers
    newest = [_newest(file.evidence.stages.profile) for _, file in collected(item)]
    shares = [profile.authored_us / profile.total_us for profile in newest if profile and profile.total_us > 0]
    return aged(item, "profile", Glance(f"{min(shares):.0%}")) if shares else worst_state(item, "profile")


def _targets(item: Item) -> Lines:
    parts: list[Lines] = []
    compared = profile_kernels.against(_named(item))
    parts += [Rows(compared)] if compared else []
    for target, file in collected(item):
        parts.append(Rows([*([BLANK] if parts else []), *target_heading(target, file)]))
        parts += _profiles(file, item)
        parts += _stage(file, file.evidence.stages.sanitize, "sanitizers", "The sanitizers", item)
    rest = missing_targets(item)
    parts.append(Rows([BLANK, *rest] if parts and rest else rest))
    return Joined(parts)


def _named(item: Item) -> dict[str, Profile]:
    """The newest profile of the start and of each target, of kernels where there are such, by what it is called."""
    starts = {f"start on {target}": stage for target, stage in item.start_profiles.items()}
    here = {target: file.evidence.stages.profile for target, file in collected(item)}
    return {name: profile for name, stage in (starts | here).items() if (profile := _newest(stage)) is not None}


def _newest(stage: Profiling) -> Profile | None:
    """The newest profile of kernels."""
    return next((profile for profile in reversed(stage.profiles) if profile.unit == "kernel"), None)


def _profiles(file: EvidenceFile, item: Item) -> list[Lines]:
    """The profiles of one target, the newest first, under the state of the stage."""
    stage = file.evidence.stages.profile
    if not stage.profiles:
        return _stage(file, stage, "profile", "A profile", item)
    parts: list[Lines] = []
    for number, profile in enumerate(reversed(stage.profiles)):
        sections = [
            _heading(profile),
            profile_kernels.by_time(profile),
            profile_kernels.shares(profile),
            profile_roofline.roofline(profile, file.evidence.stages.time.ceilings),
            profile_limits.memory(profile),
            profile_limits.stalls(profile),
            profile_launches.timeline(profile),
        ]
        parts.append(Rows([*([BLANK] if number else []), *spaced(sections), BLANK]))
    facts = [row for text in stage.facts for row in sentence(text, lead="- ")]
    facts += fact("method", stage.method) if stage.method else []
    return [*parts, *([Rows(facts)] if facts else []), *log_section(file, stage.log)]


def _heading(profile: Profile) -> list[Row]:
    where = ", ".join(filter(None, [profile.source, profile.version, profile.device]))
    capability = f", compute capability {profile.capability}" if profile.capability else ""
    rows = [heading("profile", f"{where}{capability}: {figures.duration(profile.total_us)} in all")]
    origin = profile.origin
    if origin is not None:
        how = "added" if origin.by else "collected"  # by whom is told by the history, which knows who may see it
        rows += sentence(f"{origin.file}, {figures.size(origin.bytes)}, {how} {origin.when}", "dim", indent="  ")
        if origin.options:
            options = sentence(" ".join(origin.options), "dim", indent="    ", lead="$ ")
            rows.append(fold(f"the options of {origin.options[0]}", options, indent="  "))
    return rows + [row for text in profile.notes for row in sentence(text, "warn", indent="  ", lead="! ")]


def _stage(file: EvidenceFile, stage: Stage | Profiling, title: str, what: str, item: Item) -> list[Lines]:
    if stage.status in ("not-run", "error"):
        rows = not_run(stage, item, what)
    else:
        rows = [Row(spans=(state(stage.status), Span(f"  {stage.reason or ''}".rstrip())))]
    rows += [row for text in stage.facts for row in sentence(text, lead="- ")]
    return [Rows([heading(title), *rows]), *log_section(file, stage.log)]
