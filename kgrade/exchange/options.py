"""What a person says about an import beside its folder."""

from __future__ import annotations

import msgspec


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """`evaluator` is whose the foreign verdicts are; `rubric` is the sheet by which new tasks will be graded."""

    format: str | None = None
    evaluator: str | None = None
    rubric: str = "generation"
