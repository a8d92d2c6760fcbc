"""Print a report of Nsight Compute as a CSV page, one metric a row: `python report_pages.py FILE.ncu-rep`.

It runs in a process of its own, because NVIDIA's library that reads the file may end it. It needs the package
`ncu-report` and nothing else.
"""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterator, Mapping
from typing import Any

TITLES = (
    "ID", "Kernel Name", "Grid Size", "Block Size", "Device", "CC", "Metric Name", "Metric Unit", "Metric Value",
    "Rule Name", "Rule Description",
)  # fmt: skip


def main() -> None:
    """Write the page to the standard output; exit with 4 where the file holds no result."""
    import ncu_report  # type: ignore[import-not-found,unused-ignore]

    report = ncu_report.load_report(sys.argv[1])
    rows = csv.writer(sys.stdout)
    rows.writerow(TITLES)
    number = 0
    for at in range(report.num_ranges()):
        part = report.range_by_idx(at)
        for place in range(part.num_actions()):
            action = part.action_by_idx(place)
            for row in page(action):
                rows.writerow([number, *row])
            number += 1
    sys.exit(0 if number else 4)


def page(action: Any) -> Iterator[list[Any]]:
    """Yield the rows of one kernel, without their ID."""
    numbers: dict[str, tuple[str, str]] = {}
    texts: dict[str, str] = {}
    for name in action.metric_names():
        metric = action.metric_by_name(name)
        if metric is None or not metric.has_value():
            continue
        if metric.kind() == metric.ValueKind_STRING:
            texts[name] = metric.as_string()
        else:
            numbers[name] = (repr(metric.as_double()), metric.unit() or "")
    head = [action.name(action.NameBase_DEMANGLED)]
    head += [size(numbers, "launch__grid_dim"), size(numbers, "launch__block_dim")]
    head += [texts.get("device__attribute_display_name", ""), capability(numbers)]
    for name, (value, unit) in numbers.items():
        yield [*head, name, unit, value, "", ""]
    for rule in action.rule_results_as_dicts():
        yield [*head, "", "", "", rule["name"], rule["rule_message"]["message"]]


def size(numbers: Mapping[str, tuple[str, str]], name: str) -> str:
    """Return `(x, y, z)` of the grid or the block; empty where the report does not say it."""
    found = [numbers.get(f"{name}_{axis}") for axis in "xyz"]
    return "" if None in found else "({})".format(", ".join(str(int(float(each[0]))) for each in found if each))


def capability(numbers: Mapping[str, tuple[str, str]]) -> str:
    """Return the compute capability, such as 9.0."""
    found = [numbers.get(f"device__attribute_compute_capability_{part}", ("", ""))[0] for part in ("major", "minor")]
    return ".".join(str(int(float(part))) for part in found) if all(found) else ""


if __name__ == "__main__":
    main()
