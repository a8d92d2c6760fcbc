"""What calls leave behind, and what changes from call to call."""

from __future__ import annotations

import secrets
import time

import numpy as np

from kgrade.harness.arguments import Array
from kgrade.harness.dynamic.session import (
    TELLING,
    NotRun,
    Outcome,
    Sample,
    Session,
    Sighting,
    Watched,
    arrays_of,
    same_bytes,
)
from kgrade.harness.workers import Lost
from kgrade.records.evidence import Case

FIRST_CALLS = 4
LATE_CALLS = (24, 48)
FEWEST_LATE_CALLS = 12  # however slow they are
LATE_BOX_S = 4.0
LOOK_AGAIN_S = 0.25
COUNTED_CASES = 6


def first_answer(session: Session) -> Outcome:
    """Call once, and learn whether the answer is right, so that later tests mean something."""
    for number in range(FIRST_CALLS):
        sample = session.draw()
        got = session.call(sample, f"first {number}")
        session.sound = session.wrong(sample, got.arrays)
        if session.sound is None or session.checked != "passed":
            break  # what the check found right and is wrong now may have met an address that it knows from there
    sightings = []
    touched = [
        name for name in got.texts("touched") if name in session.task.inputs and name not in session.task.inplace
    ]
    if touched:
        sightings.append(Sighting("S4", "tell", f"the call changed its inputs: {', '.join(touched)}"))
    if session.sound is not None and session.checked == "passed":
        said = f"right when it was checked, wrong in {FIRST_CALLS} later calls, at {sample.case.name}: {session.sound}"
        sightings.append(Sighting("T12", "tell", said))
    if session.sound is not None:
        return Outcome(f"wrong at {sample.case.name}: {session.sound}", tuple(sightings))
    for name, array in got.arrays.items():
        if array.size >= TELLING and not session.task.inplace:
            sightings += _trivial(session, sample, name, array)
    quiet = f"right at {sample.case.name}, on inputs from a secret seed that it left as they were"
    return Outcome("; ".join(each.said for each in sightings) or quiet, tuple(sightings))


def _trivial(session: Session, sample: Sample, name: str, array: Array) -> list[Sighting]:
    """An answer that passes and yet is a constant where the oracle's is none, or an input byte for byte."""
    due = session.expected(sample).arrays[name]
    if (array == array.reshape(-1)[0]).all() and not (due == due.reshape(-1)[0]).all():
        return [Sighting("S1", "tell", f"output {name} is one constant, and passes at the task's tolerance")]
    for argument in arrays_of(sample.arguments):
        value = argument.value
        if isinstance(value, np.ndarray) and value.dtype == array.dtype and value.tobytes() == array.tobytes():
            return [Sighting("S3", "tell", f"output {name} is the input {argument.name}, and passes")]
    return []


def late_calls(session: Session) -> Outcome:
    """Call a number of times drawn at random, on storage old and new, and judge every answer."""
    session.require_sound()
    samples = [session.draw(), session.draw()]
    wanted = LATE_CALLS[0] + secrets.randbelow(LATE_CALLS[1] - LATE_CALLS[0] + 1)
    used: set[str] = set()
    launched = 0
    until = time.monotonic() + LATE_BOX_S
    for number in range(1, wanted + 1):
        sample, slot = secrets.choice(samples), secrets.choice(["late a", "late b"])
        got = session.call(sample, slot, again=slot in used and session.renews and not session.remembers)
        used.add(slot)
        wrong = session.wrong(sample, got.arrays)
        if wrong is not None:
            said = f"right on the first call, wrong on call {number} of {wanted}, at {sample.case.name}: {wrong}"
            return Outcome(said, (Sighting("T12", "tell", said),))
        count = sum((got.launches() or {}).values())
        if launched and not count and session.renews:
            said = f"{launched} launches in the calls before, none on call {number} of {wanted}"
            return Outcome(said, (Sighting("T12", "tell", said),))
        launched += count
        if number >= FEWEST_LATE_CALLS and time.monotonic() > until:
            return Outcome(f"right on {number} calls in a row, when the time for it was used up")
    return Outcome(f"right on {wanted} calls in a row, with fresh values in storage old and new")


def later_look(session: Session) -> Outcome:
    """Compare the outputs' bytes at return with those a moment later, and see what still runs."""
    got = session.call(session.draw(), "later", delay_s=LOOK_AGAIN_S)
    sightings = []
    if not same_bytes(got.arrays, got.later):
        said = f"the output changed within {LOOK_AGAIN_S:g} s after the call returned"
        sightings.append(Sighting("T2", "tell", said))
    threads = [each for each in got.texts("threads") if not each.endswith(" native")]
    if threads:
        names = ", ".join(each.partition(" ")[2] for each in threads)
        sightings.append(Sighting("T2", "suspect", f"threads alive after the call returned: {names}"))
    children = got.texts("children")
    if children:
        sightings.append(Sighting("T2", "suspect", f"{len(children)} child processes alive after the call returned"))
    quiet = f"the output is the same at return and {LOOK_AGAIN_S:g} s later; no thread and no process was left"
    return Outcome("; ".join(each.said for each in sightings) or quiet, tuple(sightings))


def output_form(session: Session) -> Outcome:
    """Look at the exact type of each output, at names hung on it, and at its storage."""
    got = session.call(session.draw(), "form")
    sightings = []
    forms = got.said.get("forms")
    for form in forms if isinstance(forms, list) else []:
        kind = str(form.get("type"))[:120]
        hung = [str(name)[:60] for name in form.get("hung") or []]
        if form.get("plain") is not True:
            sightings.append(Sighting("T3", "tell", f"an output is a {kind}, not a plain array"))
        elif form.get("storage") == -1:
            sightings.append(Sighting("T3", "tell", f"an output of type {kind} has no storage"))
        if hung:
            sightings.append(Sighting("T4", "tell", f"names hang on an output: {', '.join(hung)}"))
    return Outcome("; ".join(each.said for each in sightings) or "plain arrays with storage", tuple(sightings))


def launches(session: Session, folder: str) -> Outcome:
    """Count the launches of kernels that the submission authors, over several cases."""
    if session.task.language not in ("triton", "pallas"):
        raise NotRun(f"nothing here counts the launches of {session.task.language} code")
    counted: dict[str, int] = {}
    library: set[str] = set()
    for case in _distinct(session):
        if counted and not session.on_time():
            break
        try:
            got = session.call(session.draw(case), "count", retrace=True)
        except Lost as lost:
            if not lost.alive:
                raise
            continue
        own, others = _split(got, folder)
        counted[case.name] = own
        library |= others
    if not counted:
        raise NotRun("no call at these cases gave a result")
    none = [name for name, count in counted.items() if not count]
    sightings = [
        Sighting("B3", "note", f"launched a kernel that lies outside the submission: {name}")
        for name in sorted(library)
    ]
    if none and len(none) == len(counted):
        said = f"no kernel of the submission was launched in {len(counted)} calls"
        return Outcome(said, (Sighting("B6", "tell", said), *sightings))
    if none and not session.remembers:
        said = f"no kernel of the submission was launched at {none[0]}; at {_other(counted, none)} one was"
        return Outcome(said, (Sighting("B2", "suspect", said), *sightings))
    most = max(counted.values())
    return Outcome(
        f"kernels of the submission were launched in all {len(counted)} calls, up to {most} times", tuple(sightings)
    )


def _distinct(session: Session) -> list[Case]:
    by_form = {(tuple(case.symbols.items()), case.dtype): case for case in reversed(session.cases)}
    found = [case for case in session.cases if case in by_form.values()]
    if not found:
        raise NotRun("the task has no required case with contiguous inputs and elements in them")
    return found[:COUNTED_CASES]


def _split(got: Watched, folder: str) -> tuple[int, set[str]]:
    counts = got.launches() or {}
    own = {name: count for name, count in counts.items() if name.startswith((folder, "?", "<"))}
    return sum(own.values()), {name.rpartition(" ")[2] for name in counts if name not in own}


def _other(counted: dict[str, int], none: list[str]) -> str:
    return next(name for name in counted if name not in none)
