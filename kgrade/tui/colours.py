"""How many colours the terminal is sent."""

from __future__ import annotations

import os
from typing import Literal

Colours = Literal["truecolor", "256", "16", "none"]


def choose_colours(colours: Colours) -> None:
    """Limit the colours that are sent; call it before Textual is imported, which reads this once."""
    if colours == "none":
        os.environ["NO_COLOR"] = "1"
    else:
        os.environ["TEXTUAL_COLOR_SYSTEM"] = {"truecolor": "truecolor", "256": "256", "16": "standard"}[colours]
