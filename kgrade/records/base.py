"""The shape every record shares: strict, immutable, written without its defaults."""

from __future__ import annotations

import msgspec


class Part(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """A piece of a record. Unknown keys are refused; optional keys at their default are not written."""


class Record(Part, frozen=True, kw_only=True):
    """A whole file. Its concrete kinds carry `schema: kgrade/<kind>@1` as their tag."""
