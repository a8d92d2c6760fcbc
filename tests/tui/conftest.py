"""A queue that the application is opened at."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.conftest import Repo
from tests.desk.conftest import small_queue


@pytest.fixture
def ada(make_repo: Callable[..., Repo]) -> Repo:
    """Two tasks and three submissions without a remote, Ada's identity."""
    repo = make_repo("ada")
    small_queue(repo)
    return repo
