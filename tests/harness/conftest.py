"""This machine, looked at once."""

from __future__ import annotations

import pytest

from kgrade.harness.run import Machine


@pytest.fixture(scope="session")
def machine() -> Machine:
    return Machine.here()
