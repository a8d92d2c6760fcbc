"""Which tests run: the long, gpu and alone ones only when `-m` asks; a skip for a tool that must be there is a failure.

`KGRADE_REQUIRE_TOOLS="git,bwrap,nvcc"` names the tools that this run was given. Where one of them is set, a test that
skips because it did not find that tool has found a broken set-up, not a poor machine.
"""

from __future__ import annotations

import os
import re
from collections.abc import Generator
from typing import TypeVar

import pytest

Report = TypeVar("Report", pytest.TestReport, pytest.CollectReport)

ON_REQUEST = ("long", "gpu", "alone")


def required_tools() -> list[str]:
    """The tools whose absence is a failure in this run."""
    return [tool for tool in os.environ.get("KGRADE_REQUIRE_TOOLS", "").replace(",", " ").split() if tool]


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what runs on request only, unless the marker expression or the test's own id asks for it."""
    asked = str(config.option.markexpr)
    left_out = [marker for marker in ON_REQUEST if not re.search(rf"\b{marker}\b", asked)]
    by_id = any("::" in argument for argument in config.args)
    if by_id or not left_out:
        return
    kept = [item for item in items if not any(item.get_closest_marker(marker) for marker in left_out)]
    if len(kept) < len(items):
        config.hook.pytest_deselected(items=[item for item in items if item not in kept])
        items[:] = kept


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Turn a test's skip for a required tool into a failure."""
    report = yield
    return refuse_skip(report)


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """Turn a whole file's skip for a required tool into a failure."""
    report = yield
    return refuse_skip(report)


def refuse_skip(report: Report) -> Report:
    """Return `report`, failed when it is a skip whose reason names a required tool."""
    if report.outcome == "skipped" and not hasattr(report, "wasxfail"):
        reason = str(report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr)
        missing = [tool for tool in required_tools() if re.search(rf"(?<![\w-]){re.escape(tool)}(?![\w-])", reason)]
        if missing:
            report.outcome = "failed"
            report.longrepr = f"{', '.join(missing)} must be here (KGRADE_REQUIRE_TOOLS), yet: {reason}"
    return report
