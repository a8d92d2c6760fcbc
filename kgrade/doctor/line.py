"""One line of the doctor's answer."""

from __future__ import annotations

from typing import Literal

import msgspec

Status = Literal["ok", "missing", "problem"]


class Line(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that was looked at. `advice` is one sentence, given where there is something to do.

    `needed` is True for what grading itself cannot do without; the rest only limits which evidence can be collected.
    """

    subject: str
    status: Status
    found: str
    advice: str = ""
    needed: bool = False
