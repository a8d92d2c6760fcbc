"""The shape every record shares: strict, immutable, written without its defaults."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from kgrade.records.faults import Problem


class Part(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """A piece of a record. Unknown keys are refused; optional keys at their default are not written."""


class Record(Part, frozen=True, kw_only=True):
    """A whole file. Each kind carries its `schema: kgrade/<kind>@1` as its tag."""

    def problems(self) -> Iterator[Problem]:
        """Yield what types alone cannot see. Run by the codec after decoding."""
        yield from ()
