"""Clocks inside the wall. What they say is a claim: kgrade takes its own time around the same calls."""

from __future__ import annotations

import time
from typing import Any, Callable, Dict, List, Tuple


def repeat(
    function: Callable[..., Any], prepared: List[Dict[str, Any]], finish: Callable[[Any], None]
) -> Tuple[List[float], Any]:
    """Call `function` once on each set of inputs; return microseconds per call and the last result."""
    claimed = []
    result = None
    for inputs in prepared:
        begin = time.perf_counter_ns()
        result = function(**inputs)
        finish(result)
        claimed.append((time.perf_counter_ns() - begin) / 1000.0)
    return claimed, result
