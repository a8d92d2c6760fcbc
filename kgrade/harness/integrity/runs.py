"""The tests that settle findings by running the submission: what each does and the rules it settles, one row each.

How they are run is told beside the code that runs them, which takes longer to import than a page may take to open.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class SettlingRun:
    """A test by name, the rules whose findings it `settles`, and what it `does` in one sentence."""

    name: str
    settles: tuple[str, ...]
    does: str


FIRST: Final = "first-answer"

RUNS: Final = (
    SettlingRun(
        FIRST, ("T8", "T9", "S1", "S3", "S4", "R4", "R7"),
        "One call on fresh inputs: right or wrong, trivial or not, inputs untouched, nothing forged.",
    ),
    SettlingRun(
        "output-form", ("T3", "T4"),
        "The exact type of what is returned, its storage, and whether anything hangs on it.",
    ),
    SettlingRun(
        "later-look", ("T1", "T2"),
        "The output at return and some time later, and the threads and children that are alive then.",
    ),
    SettlingRun(
        "same-storage", ("R1", "R2", "T15", "T12", "T14"),
        "New values in the storage of the last call: the answer must be the new one.",
    ),
    SettlingRun(
        "new-storage", ("R1", "R2", "T15", "T12", "T14"),
        "Values seen before in new storage, while the old holds others.",
    ),
    SettlingRun(
        "one-element", ("R2", "R1", "T15", "T12", "T14"),
        "One element changed far from any sampled window: the answer must change with it.",
    ),
    SettlingRun(
        "late-calls", ("T12", "T14", "R1", "R2", "T15"),
        "A random number of warm-up calls, then late ones on fresh values, each checked.",
    ),
    SettlingRun(
        "launches", ("B2", "B6", "B1"),
        "How often each authored kernel is launched over the checked cases.",
    ),
    SettlingRun("timed-path", ("T13", "S6"), "The call as the timing makes it, checked like any other."),
    SettlingRun("shapes-beside", ("S6",), "The benchmark's shapes, and each of their sizes plus and minus one."),
    SettlingRun("scales", ("S7",), "Values at random scales."),
    SettlingRun(
        "distributions", ("S5", "S7", "S8"),
        "Values of random distributions, clustered ones among them.",
    ),
    SettlingRun(
        "replaced-names", ("T5", "T6", "T7", "U1"),
        "Clocks, comparisons and library functions: the same objects after the import as before.",
    ),
    SettlingRun(
        "global-state", ("S13",),
        "Default dtype, random state and backend switches: as they were before the import.",
    ),
    SettlingRun(
        "what-ran", ("E1", "E2", "E3", "R5", "T6", "T9", "T10"),
        "What was executed, opened, loaded and connected to, by audit hooks.",
    ),
    SettlingRun("task-files", ("E3",), "Hashes of the task's files, before and after."),
)  # fmt: skip


def runs_for(rule: str) -> list[SettlingRun]:
    """Return the tests that settle findings of `rule`, in the order in which they are run."""
    return [run for run in RUNS if rule in run.settles]
