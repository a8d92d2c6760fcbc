"""What is to be collected, what a collection tells while it runs, and what it came to."""

from __future__ import annotations

import msgspec

from kgrade.harness.progress import Step
from kgrade.records.evidence import Evidence
from kgrade.records.slugs import ItemId


class Job(msgspec.Struct, frozen=True, kw_only=True):
    """Evidence to collect: one item on one target."""

    item: ItemId
    target: str


class Started(msgspec.Struct, frozen=True, kw_only=True):
    """A job has begun, as number `number` of `total`."""

    job: Job
    number: int
    total: int


class Stepped(msgspec.Struct, frozen=True, kw_only=True):
    """A job is at a step of one of its stages."""

    job: Job
    step: Step


class Finished(msgspec.Struct, frozen=True, kw_only=True):
    """A job is done and its evidence is kept."""

    job: Job
    evidence: Evidence


class Skipped(msgspec.Struct, frozen=True, kw_only=True):
    """Nothing was collected, and why: the evidence is fresh, or the item cannot be read."""

    item: ItemId
    target: str
    why: str
    fault: bool = False


class Noted(msgspec.Struct, frozen=True, kw_only=True):
    """Something that a person who watches should know, in one sentence."""

    text: str


Event = Started | Stepped | Finished | Skipped | Noted


class Summary(msgspec.Struct, frozen=True, kw_only=True):
    """What a collection came to."""

    finished: int
    skipped: int
    faults: int
    cancelled: bool


class CollectionError(Exception):
    """What was asked for cannot be collected, in one sentence."""
