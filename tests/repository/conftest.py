"""A small queue in a real repository."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.conftest import Repo

GRADE = "queue/softmax/submissions/s01/grades/ada.yaml"
QUEUE = {
    "README": "a queue\n",
    "queue/softmax/task.yaml": "title: softmax\n",
    "queue/softmax/prompt.md": "Write a softmax.\n",
    "queue/softmax/start/kernel.py": "pass\n",
    "queue/softmax/evidence/cpu.json": "{}\n",
    "queue/softmax/submissions/s01/submission.yaml": "author: x\n",
    "queue/softmax/submissions/s01/solution/kernel.py": "def softmax(x): ...\n",
    "queue/softmax/submissions/s02/solution/kernel.py": "def softmax(x): return x\n",
    "rubrics/generation.yaml": "title: g\n",
}


@pytest.fixture
def queue(make_repo: Callable[..., Repo]) -> Repo:
    """A repository with one task and two submissions on main."""
    repo = make_repo("queue")
    repo.commit(QUEUE, "a queue")
    return repo
