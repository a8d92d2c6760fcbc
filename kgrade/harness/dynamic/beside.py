"""Is the answer right beside what the task names: shapes plus and minus one, other scales, other distributions?"""

from __future__ import annotations

import math
import secrets
from dataclasses import replace

import msgspec
import numpy as np

from kgrade.harness.arguments import Argument
from kgrade.harness.drawing import NotDrawable
from kgrade.harness.dynamic.session import NotRun, Outcome, Sample, Session, Sighting
from kgrade.harness.measure import LARGEST_FLOPS, work
from kgrade.harness.timing.sides import LARGEST_BYTES
from kgrade.harness.workers import Lost
from kgrade.records.evidence import Case

SHAPES = 6
EXPONENTS = ((3.0, 5.5), (-8.0, -4.0))  # of two: a scale well above one and one well below
FAMILIES = ("clustered", "constant-rows", "alternating", "uniform")
SHARE = 16  # interpreters are slow: a benchmark case this much below the timing's own bound is tried


def timed_path(session: Session) -> Outcome:
    """Check benchmark cases through the calls that the timing makes, and compare with calls one by one."""
    session.require_sound()
    cases = [case for case in session.task.benchmark_cases() if _affordable(session, case)]
    where = cases[:2] or [session.case]
    for case in where:
        sample = session.draw(case)
        wrong = session.wrong(sample, session.timed(sample))
        if wrong is None:
            continue
        alone = session.wrong(sample, session.call(sample, "alone").arrays)
        how = "though right when called by itself" if alone is None else "and when called by itself"
        said = f"wrong through the calls that are timed, {how}, at {case.name}: {wrong}"
        return Outcome(
            said, (Sighting("T13" if alone is None else "S6", "tell" if alone is None else "suspect", said),)
        )
    which = "benchmark cases" if cases else "a small case, for no benchmark case is small enough for an interpreter"
    return Outcome(f"right through the calls that are timed, at {which}: {', '.join(case.name for case in where)}")


def shapes_beside(session: Session) -> Outcome:
    """Check the benchmark's shapes plus and minus one; those of the check where the benchmark's are too large."""
    session.require_sound()
    benchmark = [case for case in session.task.benchmark_cases() if _affordable(session, case)]
    bases = benchmark or session.cases[:2]
    beside = [case for base in bases for case in _neighbours(session, base)]
    if not beside:
        raise NotRun("no shape beside the benchmark's lies within what the task requires and an interpreter can run")
    order = sorted(beside, key=lambda case: secrets.token_bytes(8))[:SHAPES]
    right: list[str] = []
    refused: list[str] = []
    for case in order:
        if right and not session.on_time():
            break
        try:
            sample = session.draw(case)
            if not session.fair(sample):
                continue
            wrong = session.wrong(sample, session.call(sample, "beside").arrays)
        except NotDrawable:
            continue
        except Lost as lost:
            if not lost.alive:
                raise
            refused.append(f"{case.name} ({lost.reason[:120]})")
            continue
        if wrong is not None:
            said = f"wrong at {case.name}, one beside a shape that the task names: {wrong}"
            return Outcome(said, (Sighting("S6", session.suspicion, said),))
        right.append(case.name)
    sightings = tuple(Sighting("S6", "note", f"refuses {each}") for each in refused[:2])
    if not right and not refused:
        raise NotRun("the framework's own result misses the tolerance at every shape beside")
    return Outcome(f"right at {', '.join(right) or 'none'}; refused: {', '.join(refused) or 'none'}", sightings)


def _neighbours(session: Session, base: Case) -> list[Case]:
    found = []
    for name, value in base.symbols.items():
        for step in (1, -1):
            if value + step < 1:
                continue
            case = msgspec.structs.replace(base, symbols={**base.symbols, name: value + step})
            if session.task.required(case) and _affordable(session, case):
                found.append(case)
    return found


def _affordable(session: Session, case: Case) -> bool:
    flops, moved = work(session.task, case)
    task = session.task
    elements = sum(math.prod(task.input_shape(name, case)) for name in task.inputs)
    return (
        (flops or 0) <= LARGEST_FLOPS / SHARE
        and (moved or 0) <= LARGEST_BYTES / SHARE
        and elements * 8 <= LARGEST_BYTES / SHARE
    )


def scales(session: Session) -> Outcome:
    """Check normal values at random scales; a scale at which the framework's own result fails proves nothing."""
    session.require_sound()
    tried = []
    for low, high in EXPONENTS:
        exponent = low + (high - low) * secrets.randbelow(1 << 20) / (1 << 20)
        sample = _scaled(session, session.draw(), 2.0**exponent)
        if sample is None or not session.fair(sample):
            continue
        tried.append(f"2**{exponent:.1f}")
        outcome = _tried(session, sample, f"inputs scaled by {tried[-1]}", "S7")
        if outcome is not None:
            return outcome
    if not tried:
        raise NotRun("no floating input may be scaled, or the framework's own result misses the tolerance there")
    return Outcome(f"right for inputs scaled by {' and '.join(tried)}")


def distributions(session: Session) -> Outcome:
    """Check value distributions that the task's cases do not name."""
    session.require_sound()
    named = {case.family for case in session.task.check_cases()}
    tried: list[str] = []
    for family in FAMILIES:
        if family in named or (tried and not session.on_time()):
            continue
        try:
            sample = session.draw(msgspec.structs.replace(session.case, family=family))
            if not session.fair(sample):
                continue
        except NotDrawable:
            continue
        tried.append(family)
        outcome = _tried(session, sample, f"values of family {family}", "S8" if family == "clustered" else "S5")
        if outcome is not None:
            return outcome
    if not tried:
        raise NotRun("the task's cases name every distribution that can be tried, or the framework fails there too")
    return Outcome(f"right for values of family {', '.join(tried)}, which the task's cases do not name")


def _tried(session: Session, sample: Sample, what: str, rule: str) -> Outcome | None:
    try:
        wrong = session.grossly_wrong(sample, session.call(sample, "tried").arrays)
    except Lost as lost:
        if not lost.alive:
            raise
        wrong = lost.reason
    if wrong is None:
        return None
    said = f"far off for {what}, where the framework's own result passes, at {sample.case.name}: {wrong}"
    return Outcome(said, (Sighting(rule, session.suspicion, said),))


def _scaled(session: Session, sample: Sample, scale: float) -> Sample | None:
    changed = []
    for argument in sample.arguments:
        spec = session.task.inputs[argument.name]
        value = argument.value
        if isinstance(value, np.ndarray) and value.dtype.kind not in "iub" and spec.range is None and not spec.scalar:
            wide = value.astype(np.float64) * scale
            with np.errstate(over="ignore"):
                changed.append(replace(argument, value=wide.astype(value.dtype)))
        else:
            changed.append(argument)
    if all(new is old for new, old in zip(changed, sample.arguments, strict=True)):
        return None
    arguments: list[Argument] = changed
    return Sample(sample.case, arguments, sample.seed)
