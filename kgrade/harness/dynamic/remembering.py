"""Does the submission remember what it should compute? Old addresses with new values, new addresses, one element."""

from __future__ import annotations

import secrets
from dataclasses import replace

import numpy as np

from kgrade.harness.arguments import Argument, Array
from kgrade.harness.dynamic.session import NotRun, Outcome, Sample, Session, Sighting, Watched, arrays_of

CHANGES = 3
EDGE = 64
TRIES = 4


def same_storage(session: Session) -> Outcome:
    """Give the storage of an earlier call new values, under the same addresses, ids and version counters."""
    if not session.renews:
        raise NotRun("a JAX array cannot be given new values in place")
    session.require_sound()
    first, second = session.draw(), session.draw()
    earlier = session.call(first, "same")
    if session.wrong(second, earlier.arrays) is None:
        raise NotRun("the earlier answer passes for the new values too")
    again = session.call(second, "same", again=True)
    return _judged(session, second, again, earlier, "R1", "new values in the same storage")


def new_storage(session: Session) -> Outcome:
    """Give values seen before to storage that is new, while the old storage holds others."""
    session.require_sound()
    first = session.draw()
    session.call(first, "old")
    other = session.draw()
    between = session.call(other, "old", again=session.renews)
    return _judged(session, first, session.call(first, "new"), between, "R1", "values seen before in new storage")


def one_element(session: Session) -> Outcome:
    """Change one element, at a place drawn at random away from the ends."""
    session.require_sound()
    base = session.draw()
    earlier = session.call(base, "one")
    places = []
    for argument in arrays_of(base.arguments)[:CHANGES]:
        changed = _with_one_changed(session, base, argument, earlier)
        if changed is None:
            continue
        sample, where = changed
        places.append(where)
        # What remembers by address is known by now: new storage shows whether it remembers by contents too.
        got = session.call(sample, "one", again=session.renews and not session.remembers)
        outcome = _judged(session, sample, got, earlier, "R2", f"one element changed, {where}")
        if outcome.sightings:
            return outcome
        session.call(base, "one", again=session.renews)
    if not places:
        raise NotRun("no single element was found whose change the task's tolerance would see")
    return Outcome(f"right after one element changed: {', '.join(places)}")


def _judged(session: Session, sample: Sample, got: Watched, earlier: Watched, rule: str, what: str) -> Outcome:
    wrong = session.wrong(sample, got.arrays)
    if wrong is None:
        return Outcome(f"right for {what}, at {sample.case.name}")
    session.remembers = True
    if got.same(earlier):
        said = f"for {what} it returned the earlier call's output, byte for byte, at {sample.case.name}: {wrong}"
        return Outcome(said, (Sighting(rule, "tell", said),))
    said = f"wrong for {what}, though right on a first call, at {sample.case.name}: {wrong}"
    return Outcome(said, (Sighting(rule, "suspect", said),))


def _with_one_changed(
    session: Session, base: Sample, argument: Argument, earlier: Watched
) -> tuple[Sample, str] | None:
    """Return `base` with one element of `argument` changed so that the earlier answer would be wrong."""
    value = argument.value
    assert isinstance(value, np.ndarray)
    edge = EDGE if value.size > 4 * EDGE else value.size // 4
    for _ in range(TRIES):
        at = edge + secrets.randbelow(max(1, value.size - 2 * edge))
        new = _changed(value, at)
        if new is None:
            return None
        arguments = [replace(each, value=new) if each is argument else each for each in base.arguments]
        sample = Sample(base.case, arguments, base.seed)
        if session.wrong(sample, earlier.arrays) is not None:
            index = [int(part) for part in np.unravel_index(at, value.shape)]
            return sample, f"{argument.name}{index}"
    return None


def _changed(value: Array, at: int) -> Array | None:
    """Return a copy with the element `at` (flat) set to the array's extreme that is farther from it."""
    flat = value.reshape(-1).copy()
    wide = flat.astype(np.float64)
    finite = wide[np.isfinite(wide)]
    if not finite.size or finite.min() == finite.max():
        return None
    extreme = finite.max() if finite.max() - wide[at] >= wide[at] - finite.min() else finite.min()
    flat[at] = extreme
    changed: Array = flat.reshape(value.shape)
    return changed
