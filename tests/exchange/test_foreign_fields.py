"""Foreign files with fields that are missing, more, renamed or of another type: one sentence each, never a crash."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from kgrade.exchange.brought import Brought, Noted, Refused
from kgrade.exchange.formats import Options, arrivals_of
from kgrade.records import yaml_text
from tests.exchange.test_import import ANSWER, FOLDERS, PROBLEM, WORKLOAD, written

KERNELBENCH = {
    "level1/3_Scale_Rows.py": PROBLEM,
    "runs/mine/level_1_problem_3_sample_0_kernel.py": ANSWER,
    "runs/mine/eval_results.json": json.dumps({"3": [{
        "compiled": True, "correctness": True, "sample_id": 0, "runtime": 0.5, "ref_runtime": 1.0,
        "runtime_stats": {"mean": 0.5, "std": 0.1, "min": 0.4, "max": 0.6, "num_trials": 100},
        "metadata": {"hardware": "NVIDIA L40S", "correctness_trials": "(5 / 5)"},
    }]}),
    "results/timing/L40S/baseline_time_torch.json": json.dumps({"level1": {"3_Scale_Rows.py": {"mean": 1.0}}}),
}  # fmt: skip
STRICT = {"max_atol": 1e-3, "max_rtol": 1e-2, "required_matched_ratio": 0.99, "max_error_cap": 2.0}
EVERY = {**FOLDERS, "kernelbench": KERNELBENCH}
EVERY["flashinfer"] = FOLDERS["flashinfer"] | {
    "workloads/scale/scale_n8.jsonl": json.dumps({**WORKLOAD, "tolerance": STRICT}) + "\n"
}
TYPES = (None, True, 3, -1.5, "text", "", [], [1], {}, {"a": 1})


def came(folder: Path, kind: str) -> list[Brought]:
    return list(arrivals_of(folder, Options(format=kind))[1])


def decoded(name: str, text: str) -> Any:
    if name.endswith((".yaml", ".yml")):
        return yaml_text.read(text.encode(), name)[0]
    return json.loads(text) if name.endswith((".json", ".jsonl")) else None


def encoded(name: str, value: Any) -> str:
    return json.dumps(value) if name.endswith((".json", ".jsonl")) else yaml_text.write(value).decode()


def places(value: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Every place inside a value, from the outside in."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, each in inner:
        yield (*at, key)
        yield from places(each, (*at, key))


def changed(value: Any, at: tuple[Any, ...], change: Callable[[Any, Any], None]) -> Any:
    found = copy.deepcopy(value)
    inside = found
    for key in at[:-1]:
        inside = inside[key]
    change(inside, at[-1])
    return found


def mutations(value: Any) -> Iterator[Any]:
    """`value` with each field dropped, renamed, joined by another one, and of every other type, one at a time."""

    def renamed(inside: Any, key: Any) -> None:
        if isinstance(inside, dict):
            inside[f"{key}s"] = inside.pop(key)

    yield from TYPES
    for at in places(value):
        yield changed(value, at, lambda inside, key: inside.pop(key))
        yield changed(value, at, renamed)
        for other in TYPES:
            yield changed(value, at, lambda inside, key, other=other: inside.__setitem__(key, other))  # type: ignore[misc]


@pytest.mark.parametrize("kind", sorted(set(EVERY) - {"plain"}))
def test_no_change_of_a_field_is_more_than_a_sentence(tmp_path: Path, kind: str) -> None:
    folder = written(tmp_path, EVERY[kind])
    tried = refused = 0
    for name, text in EVERY[kind].items():
        if decoded(name, text) is None:
            continue
        for value in mutations(decoded(name, text)):
            (folder / name).write_text(encoded(name, value))
            arrivals = came(folder, kind)
            said = [each.why if isinstance(each, Refused) else each.what for each in arrivals
                    if isinstance(each, Refused | Noted)]  # fmt: skip
            assert all(each and "\n" not in each and len(each) < 400 for each in said), (value, said)
            assert all(each.place for each in arrivals if isinstance(each, Refused))
            tried, refused = tried + 1, refused + any(isinstance(each, Refused) for each in arrivals)
        (folder / name).write_text(text)
    assert tried > 50
    assert refused > tried / 20


@pytest.mark.parametrize(
    ("kind", "file", "old", "new", "sentence"),
    [
        ("flashinfer", "definitions", '"axes"', '"axess"', "`axes` is missing, expected a mapping; `axess` is there"),
        ("flashinfer", "solutions", '"entry_point": "main.py::run"', '"entry_point": 3', "spec.entry_point is 3, exp"),
        ("flashinfer", "traces", '"status": "PASSED"', '"status": 1', "evaluation.status is 1, expected text"),
        ("runs", "result.json", '"correct": true', '"correct": "yes"', "correct is 'yes', expected true or false"),
        (
            "runs",
            "result.json",
            '"correct": true',
            '"corect": true',
            "`correct` is missing, expected true or false; `co",
        ),
        ("gpumode", "task.yml", "tests: [", "tests: 3 #", "tests is 3, expected a list"),
        ("computeval", "problems", '"prompt"', '"promt"', "`prompt` is missing, expected text; `promt` is there"),
        ("kernelbench", "eval_results", '"runtime": 0.5', '"runtime": "fast"', "runtime is 'fast', expected a number"),
        ("kernelbench", "3_Scale", "class Model(", "class Modl(", "the class Model is missing"),
    ],
)
def test_the_sentence_says_what_was_found_and_expected(
    tmp_path: Path, kind: str, file: str, old: str, new: str, sentence: str
) -> None:
    (name,) = [name for name in EVERY[kind] if file in name]
    assert old in EVERY[kind][name]
    folder = written(tmp_path, EVERY[kind] | {name: EVERY[kind][name].replace(old, new)})
    said = [each.why for each in came(folder, kind) if isinstance(each, Refused)]
    assert any(sentence in each for each in said), said
