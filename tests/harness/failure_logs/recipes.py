"""Every recipe."""

from __future__ import annotations

from tests.harness.failure_logs.compilers import COMPILERS
from tests.harness.failure_logs.frameworks import FRAMEWORKS

RECIPES = [*COMPILERS, *FRAMEWORKS]
