"""What a person says about an import beside its folder."""

from __future__ import annotations

import msgspec

from kgrade.exchange.fields import name_of
from kgrade.records.slugs import FOREIGN


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """`evaluator` is whose the foreign verdicts are; `rubric` is the sheet by which new tasks will be graded."""

    format: str | None = None
    evaluator: str | None = None
    rubric: str = "generation"

    def evaluator_of(self, source: str) -> str:
        """Whose the verdicts that come from `source` are: a name that is seen to be foreign everywhere."""
        return name_of(FOREIGN + (self.evaluator or source).removeprefix(FOREIGN))
