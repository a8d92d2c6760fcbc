"""The seven scoring sheets hold what the design of the rubrics demands."""

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import yaml

RUBRICS = Path(__file__).parents[2] / "rubrics"

LINE = 110

SHARED = ["numerics", "benchmarking", "scoping", "robustness", "quality", "completeness"]

TYPE_CRITERIA = {
    "generation": (["spec-fidelity", "performance"], [25, 10, 10, 15, 10, 10, 12, 8]),
    "translation": (["equivalence", "idiom"], [25, 8, 8, 12, 10, 10, 17, 10]),
    "migration": (["adaptation", "portability"], [20, 12, 8, 17, 8, 8, 17, 10]),
    "debugging": (["root-cause", "fix"], [20, 5, 10, 12, 8, 10, 20, 15]),
    "optimization": (["performance", "diagnosis"], [18, 17, 7, 10, 7, 6, 20, 15]),
    "fusion": (["fusion", "traffic"], [20, 12, 8, 12, 8, 8, 18, 14]),
}
TYPES = sorted(TYPE_CRITERIA)

WEIGHTS = {
    name: list(zip(SHARED + own, weights, strict=True)) for name, (own, weights) in TYPE_CRITERIA.items()
}
WEIGHTS["task-review"] = [
    ("specification", 20),
    ("scope", 15),
    ("reference", 15),
    ("tolerance", 15),
    ("coverage", 10),
    ("benchmark", 15),
    ("hardness-to-game", 10),
]
ALL = sorted(WEIGHTS)

FAIL, HOLD = {"fail": True}, {"hold": True}

# The effects that differ with the criteria of the sheet are in UNEQUAL below.
COMMON_GATES = {
    "build": [FAIL],
    "wrong-result": [FAIL],
    "integrity": [FAIL, HOLD],
    "substitution": [FAIL],
    "race": [{"cap": 40}],
    "tampering": [FAIL, HOLD],
    "invalid-benchmark": [{"set": {"benchmarking": 0}}, {"cap": 50}],
    "ungradable": [HOLD],
    "not-measured": [HOLD],
}
SPOILED = [{"set": {"benchmarking": 0, "performance": 0}}, {"cap": 50}]
UNEQUAL = {
    "generation": {"invalid-benchmark": SPOILED, "not-measured": [{"na": ["performance"]}, HOLD]},
    "optimization": {
        "invalid-benchmark": SPOILED,
        "not-measured": [{"na": ["performance", "diagnosis"]}, HOLD],
    },
    "fusion": {"not-measured": [{"na": ["traffic"]}, HOLD]},
}
OWN_GATES = {
    "generation": {"interface-differs": [FAIL]},
    "translation": {"source-framework-kept": [FAIL]},
    "migration": {"not-run-on-target": [HOLD], "old-target-binary": [FAIL]},
    "debugging": {"bug-reproduces": [FAIL], "test-weakened": [FAIL]},
    "optimization": {"gain-in-noise": [{"limit": {"performance": 1}}], "precision-lowered": [FAIL]},
    "fusion": {"op-missing": [FAIL], "slow-baseline": [{"also": "invalid-benchmark"}]},
}
GATES = {name: COMMON_GATES | UNEQUAL.get(name, {}) | OWN_GATES[name] for name in TYPES}
GATES["task-review"] = {
    "reference-wrong": [FAIL],
    "passes-zeros": [{"cap": 40}],
    "unfair-benchmark": [{"cap": 60}],
    "unlicensed-or-private": [HOLD],
    "ungradable": [HOLD],
}

SUGGESTED_BY = {
    "build": "build.failed",
    "wrong-result": "check.failed",
    "integrity": "integrity.tell",
    "substitution": "integrity.substitution",
    "race": "check.race",
    "tampering": "integrity.tampering",
    "invalid-benchmark": "time.flagged",
    "ungradable": "artifacts.missing",
    "not-measured": "time.not-run",
    "reference-wrong": "task.reference-wrong",
    "passes-zeros": "task.passes-zeros",
}

Sheet = dict[str, Any]


class UniqueKeyLoader(yaml.CSafeLoader):
    """The safe loader, refusing a key that is given twice, where the plain one keeps the last."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        keys = [self.construct_object(key, deep=deep) for key, _ in node.value]
        twice = [key for key, count in Counter(keys).items() if count > 1]
        assert not twice, f"{node.start_mark}: {twice} given twice"
        return super().construct_mapping(node, deep=deep)


def load(name: str) -> Sheet:
    with (RUBRICS / f"{name}.yaml").open(encoding="utf-8") as file:
        sheet = yaml.load(file, Loader=UniqueKeyLoader)  # a subclass of CSafeLoader
    assert isinstance(sheet, dict)
    return sheet


@pytest.fixture(params=ALL)
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def sheet(name: str) -> Sheet:
    return load(name)


def assert_sentence(text: object) -> None:
    """One full sentence that fits on one line of the terminal."""
    assert isinstance(text, str)
    assert 15 <= len(text) <= LINE, f"{len(text)} characters: {text}"
    assert text[0].isupper(), text
    assert text.endswith("."), text
    assert ". " not in text, text
    assert text.isprintable(), text


def test_there_are_seven_sheets() -> None:
    assert sorted(path.name for path in RUBRICS.iterdir()) == [f"{name}.yaml" for name in ALL]


def test_sheet_has_the_keys_of_its_format(sheet: Sheet) -> None:
    assert list(sheet) == ["schema", "title", "scale", "criteria", "gates", "snippets", "verdicts"]
    assert sheet["schema"] == "kgrade/rubric@1"
    assert sheet["scale"] == 4
    assert sheet["verdicts"] == ["accept", "revise", "reject", "hold"]


def test_titles_tell_the_sheets_apart() -> None:
    titles = [load(name)["title"] for name in ALL]
    assert all(isinstance(title, str) and title for title in titles)
    assert len(set(titles)) == len(titles)


def test_criteria_and_weights_stand_in_order(name: str, sheet: Sheet) -> None:
    found = [(criterion["id"], criterion["weight"]) for criterion in sheet["criteria"]]
    assert found == WEIGHTS[name]
    assert sum(weight for _, weight in found) == 100


def test_every_level_is_a_sentence_of_its_own(sheet: Sheet) -> None:
    for criterion in sheet["criteria"]:
        assert list(criterion) == ["id", "title", "weight", "levels", "comment_required_at"]
        assert isinstance(criterion["title"], str)
        assert criterion["title"]
        assert criterion["comment_required_at"] == [0, 1]
        assert list(criterion["levels"]) == [0, 1, 2, 3, 4]
        for text in criterion["levels"].values():
            assert_sentence(text)
    texts = Counter(text for criterion in sheet["criteria"] for text in criterion["levels"].values())
    assert [text for text, count in texts.items() if count > 1] == []


@pytest.mark.parametrize("criterion_id", SHARED)
def test_shared_criteria_carry_one_title(criterion_id: str) -> None:
    titles = {
        criterion["title"]
        for name in TYPES
        for criterion in load(name)["criteria"]
        if criterion["id"] == criterion_id
    }
    assert len(titles) == 1


def test_gates_have_the_effects_of_the_design(name: str, sheet: Sheet) -> None:
    found = [(gate["id"], gate["effects"]) for gate in sheet["gates"]]
    assert found == list(GATES[name].items())


def test_gates_say_when_they_hold(sheet: Sheet) -> None:
    for gate in sheet["gates"]:
        assert set(gate) - {"suggests"} == {"id", "title", "effects"}
        assert_sentence(gate["title"])
    titles = [gate["title"] for gate in sheet["gates"]]
    assert len(set(titles)) == len(titles)


def test_common_gates_read_alike_on_every_sheet() -> None:
    for gate_id in COMMON_GATES:
        titles = {gate["title"] for name in TYPES for gate in load(name)["gates"] if gate["id"] == gate_id}
        assert len(titles) == 1, gate_id


def test_evidence_suggests_the_gates_it_can_show(sheet: Sheet) -> None:
    for gate in sheet["gates"]:
        assert gate.get("suggests") == SUGGESTED_BY.get(gate["id"]), gate["id"]


def test_effects_name_what_the_sheet_has(sheet: Sheet) -> None:
    criteria = {criterion["id"] for criterion in sheet["criteria"]}
    gates = {gate["id"] for gate in sheet["gates"]}
    for gate in sheet["gates"]:
        for effect in gate["effects"]:
            [(kind, value)] = effect.items()
            if kind in {"set", "limit"}:
                assert set(value) <= criteria, gate["id"]
                assert all(0 <= level <= sheet["scale"] for level in value.values()), gate["id"]
            elif kind == "na":
                assert set(value) <= criteria, gate["id"]
            elif kind == "also":
                assert value in gates - {gate["id"]}, gate["id"]
            elif kind == "cap":
                assert 0 < value < 100, gate["id"]
            else:
                assert (kind, value) in [("fail", True), ("hold", True)], gate["id"]


def test_every_criterion_has_three_snippets(sheet: Sheet) -> None:
    criteria = [criterion["id"] for criterion in sheet["criteria"]]
    counts = Counter(snippet["criterion"] for snippet in sheet["snippets"])
    assert list(counts) == criteria, "snippets follow the order of the criteria"
    assert {criterion: count for criterion, count in counts.items() if count < 3} == {}


def test_snippets_are_distinct_feedback(sheet: Sheet) -> None:
    for snippet in sheet["snippets"]:
        assert list(snippet) == ["criterion", "text"]
        assert isinstance(snippet["text"], str)
        assert len(snippet["text"].split()) >= 5, snippet["text"]
        assert snippet["text"].endswith("."), snippet["text"]
        assert snippet["text"].isprintable(), snippet["text"]
    texts = [snippet["text"] for snippet in sheet["snippets"]]
    assert len(set(texts)) == len(texts)


def test_snippets_are_written_for_their_type() -> None:
    texts = Counter(snippet["text"] for name in ALL for snippet in load(name)["snippets"])
    assert [text for text, count in texts.items() if count > 1] == []
