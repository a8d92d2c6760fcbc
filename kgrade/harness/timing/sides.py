"""One callable that is timed: its worker, its calls in each of several processes, its samples, why it is missing.

What is kept is this process's monotonic clock around a request, less the round trip of an empty one. What the worker
says of the same calls is a claim by the code under test, and only ever compared with it.
"""

from __future__ import annotations

import math
import secrets
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec
import numpy as np

from kgrade.harness.arguments import Argument
from kgrade.harness.standby import Standby
from kgrade.harness.timing.statistics import summarise
from kgrade.harness.workers import Lost
from kgrade.records.evidence import Samples

CASE_BOX_S = 6.0  # what one call may take on an interpreter, and about what a case's samples may take together
LARGEST_BYTES = 64e6
SAMPLE_US = 5000.0  # a sample should last so long, for a round trip takes some 100 us and varies
LARGEST_CALLS = 64
ALIKE = (2 / 3, 3 / 2)
SPIN_US = (20.0, 2000.0)
SPIN_SHARE = 4.0  # of the time that the host takes to launch a call, so that the device never waits for it
EMPTY_TRIPS = 15
STABLE = 0.05  # warm: a call takes no longer than this share more than the fastest before it
WARM_CALLS = (2, 10)  # at least and at most, before a random number more
RANDOM_CALLS = 4  # code that waits for the timed call by counting must not know which one it is


@dataclass(frozen=True)
class How:
    """What differs between clocks on an interpreter and on a device.

    The two clocks may differ by a share of the larger, or by microseconds a sample or a call, whichever is more;
    `largest_bytes` is what the inputs of a sample's calls may take together. A first call that takes longer than
    `slow_us` was not slow for want of warming up; on a device it compiles, however long that takes.
    """

    share: float
    sample_us: float = 0.0
    call_us: float = 0.0
    largest_bytes: float = LARGEST_BYTES
    slow_us: float = 1e6
    text: str = "an interpreter"


ON_INTERPRETER = How(share=1 / 3, sample_us=2000.0)  # waking a process on a busy machine takes milliseconds
ON_DEVICE = How(share=0.05, call_us=2.0, largest_bytes=2e9, slow_us=math.inf, text="timing")


@dataclass
class Side:
    """`first_us` is the first call of the first process; `processes` counts the samples that each process gave.

    A side whose calls take about as long as those of `like` puts as many into a sample, so that what a sample costs
    beside its calls weighs the same on both. A process's first call may take `first_s`. On a GPU `cache` says in which
    state a call meets its caches, and `launch` what a native launcher is told.
    """

    name: str
    workers: Standby
    function: str = ""
    how: How = ON_INTERPRETER
    cache: str | None = None
    launch: Mapping[str, Any] | None = None
    first_s: float = CASE_BOX_S
    like: Side | None = None
    samples_us: list[float] = field(default_factory=list)
    claimed_us: list[float] = field(default_factory=list)
    prepared_us: list[float] = field(default_factory=list)
    processes: list[int] = field(default_factory=list)
    calls: int = 1
    warmups: int = 0
    first_us: float | None = None
    missing: str | None = None
    empty_us: float = 0.0
    warm_us: float = 0.0
    spin_us: float = SPIN_US[0]
    launch_us: float = 0.0

    @property
    def sample_us(self) -> float:
        """About what one sample takes."""
        return max(self.warm_us * self.calls, SAMPLE_US)

    def prepare(self, arguments: Sequence[Argument]) -> None:
        """In a fresh process: learn what an empty round trip costs, pay for compilation, warm up until stable."""
        worker = self.workers.get()
        self.empty_us = _trips(worker.nothing)
        calls, self.calls = self.calls, 1
        first = self._once(arguments, self.first_s)
        self.warm_us = self._warm_up(arguments, first) if first < self.how.slow_us else first
        if self.first_us is None:
            self.first_us = first
            room = self.how.largest_bytes / max(1, sum(np.asarray(argument.value).nbytes for argument in arguments))
            calls = int(np.clip(SAMPLE_US / max(self.warm_us, 1.0), 1, min(LARGEST_CALLS, max(1.0, room))))
            if self.like is not None and ALIKE[0] <= calls / self.like.calls <= ALIKE[1]:
                calls = self.like.calls
        self.calls = calls
        self.claimed_us = self.claimed_us[: len(self.samples_us)]
        self.processes.append(0)
        # All that is arranged around as many calls, but the calls.
        self.prepared_us.append(worker.hold(arguments, self.calls, CASE_BOX_S, self.launch))
        self.empty_us = _trips(lambda: worker.repeat("", CASE_BOX_S, cache=self.cache, spin_us=self.spin_us))

    def _warm_up(self, arguments: Sequence[Argument], first_us: float) -> float:
        """Call until a call is no slower than the fastest so far, then a random number of times more.

        The device is kept busy for longer than the slowest launch took; a call that compiles or waits is no launch.
        From the first sample on that stays as it is: what is subtracted from a sample was measured with it.
        """
        fastest, least = first_us, WARM_CALLS[0] + secrets.randbelow(RANDOM_CALLS)
        for made in range(1, WARM_CALLS[1] + RANDOM_CALLS):
            taken = self._once(arguments)
            if self.launch_us * SPIN_SHARE <= SPIN_US[1]:
                self.spin_us = max(self.spin_us, self.launch_us * SPIN_SHARE)
            stable = taken <= fastest * (1 + STABLE)
            fastest = min(fastest, taken)
            if made >= least and (stable or made >= WARM_CALLS[1]):
                break
        self.warmups += made
        return fastest

    def sample(self, arguments: Sequence[Argument]) -> None:
        """Take one sample: the mean of as many calls, each on inputs of its own, as make it worth measuring."""
        self.samples_us.append(self._once(arguments))
        self.processes[-1] += 1

    def _once(self, arguments: Sequence[Argument], within_s: float = CASE_BOX_S) -> float:
        worker = self.workers.get()
        self.prepared_us.append(worker.hold(arguments, self.calls, CASE_BOX_S, self.launch))
        begin = time.perf_counter_ns()
        claimed, self.launch_us = worker.repeat(
            self.function or self.name, within_s, cache=self.cache, spin_us=self.spin_us
        )
        taken = (time.perf_counter_ns() - begin) / 1000
        self.claimed_us.append(statistics.fmean(claimed) if claimed else 0.0)
        return max(taken - self.empty_us, 0.0) / self.calls

    def attempt(self, arguments: Sequence[Argument], *, first: bool) -> None:
        """Sample, or prepare first; a call that is lost makes this side missing, never slow."""
        if self.missing is not None:
            return
        try:
            self.prepare(arguments) if first else self.sample(arguments)
        except Lost as lost:
            limit = self.first_s if first else CASE_BOX_S
            slow = f"not run: too slow for {self.how.text} (no answer within {limit:g} s)"
            self.missing = slow if lost.kind == "timeout" else lost.reason

    def forget(self) -> None:
        """Drop the samples of the process at hand."""
        if self.missing is None and self.processes:
            kept = len(self.samples_us) - self.processes.pop()
            del self.samples_us[kept:], self.claimed_us[kept:]

    def disagreement(self) -> str | None:
        """Say so when the worker's own clock tells another story: then one of the two is not to be trusted.

        The fastest of each is compared: a busy machine only ever adds to what is seen from outside.
        """
        taken = min(self.samples_us)
        claimed = min(self.claimed_us, default=0.0)
        allowed = max(self.how.share * max(taken, claimed), self.how.sample_us / self.calls, self.how.call_us)
        if abs(taken - claimed) <= allowed:
            return None
        return f"the clocks disagree: {taken:.0f} us a call from outside, {claimed:.0f} us from inside"

    def samples(self) -> Samples | None:
        """Return the statistics, or None for a side that is missing."""
        if self.missing is not None or not self.samples_us:
            return None
        found = summarise(self.samples_us, self.first_us, processes=self.processes, warmups=self.warmups)
        prepared = statistics.median(self.prepared_us)
        return msgspec.structs.replace(found, prepare_us=prepared) if prepared else found


def _trips(trip: Callable[[], object]) -> float:
    """Return the median time of a round trip, in microseconds."""
    taken = []
    for _ in range(EMPTY_TRIPS):
        begin = time.perf_counter_ns()
        trip()
        taken.append((time.perf_counter_ns() - begin) / 1000)
    return statistics.median(taken)
