"""Whatever stands in the records, no pane puts a character on the screen that steers it or cannot be seen."""

import unicodedata

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgrade.desk.item import GradeEntry, HistoryEntry
from kgrade.desk.sheet import Sheet
from kgrade.records.grade import FindingAnswer, LineNote, Probe, ProbeCase
from kgrade.tui.panes import panes, tab_state
from tests.tui.panes.builders import broken, built, case, check, checked, evidence, finding, integrity, item, timed
from tests.tui.panes.shown import shown
from tests.tui.panes.test_item_panes import grade

STEERING = [
    "\x1b[2J", "\x1b]52;c;AA\x07", "\x9b31m", "\r", "\x00", "\u202e", "\u2066",
    "\u200b", "\ufeff", "\n", "\t", "\udcff", "[red]", "e\u0301\u0301\u0301", "\u2028",
]  # fmt: skip
UNSEEN = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}

WORDS_OF_THE_SCHEMA = {
    "status", "severity", "fault", "type", "language", "nonfinite", "disposition", "verdict", "side", "dtype", "rule",
    "interface", "requires", "cases", "result",
}  # fmt: skip


def poisoned(value, poison):
    """`value` with `poison` after every string that the schema does not fix."""
    if isinstance(value, str):
        return value + poison
    if isinstance(value, bytes):
        return value.replace(b"\n", poison.encode("utf-8", "surrogateescape") + b"\n", 3)
    if isinstance(value, msgspec.Struct):
        free = [name for name in value.__struct_fields__ if name not in WORDS_OF_THE_SCHEMA]
        return msgspec.structs.replace(value, **{name: poisoned(getattr(value, name), poison) for name in free})
    if isinstance(value, dict):
        return {key: poisoned(each, poison) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(poisoned(each, poison) for each in value)
    return value


def judged():
    worked = evidence(
        check=check(checked(case()), checked(case(family="neg-inf"), mismatched=3, reason="no")),
        time=timed(indicative=False, reason="slow", notes=["hot"]),
        integrity=integrity(finding(), finding(severity="tell", line=2, result="seen")),
    )
    compiled = evidence("sm_90", build=built(), time=timed(status="flagged", reason="shared"))
    failed = evidence("sm_80", build=broken())
    return item(
        {"cpu": worked, "sm_90": compiled, "sm_80": failed},
        logs={"build.log": b"a\nwarning: b\n"},
        grades=[GradeEntry(evaluator="ada", grade=grade())],
    )


SHEET = Sheet(
    comments={"1": LineNote(path="solution/kernel.py", lines=(7, 8), text_sha256="0", text="why")},
    findings={finding().key: FindingAnswer(disposition="confirmed", comment="yes")},
    probes={"1": Probe(case=ProbeCase(symbols={"M": 1}, dtype="float32"), result="failed", summary="bad")},
)
COMMIT = HistoryEntry(commit="c" * 40, when="2026-11-03T10:00:00Z", who="ada", what="grade", changed=["a"])


def assert_harmless(poison, width):
    hostile, sheet, commit = (poisoned(each, poison) for each in (judged(), SHEET, COMMIT))
    for make in panes(lambda _: [commit]).values():
        pane = make(hostile, sheet)
        for lines in (pane.lines, pane.split):
            for line in shown(lines, width, folds=True) if lines is not None else []:
                unseen = [hex(ord(one)) for one in line if unicodedata.category(one) in UNSEEN]
                assert not unseen, f"{unseen} in {line!r}"
    assert set(tab_state(hostile)) == set(tab_state(judged()))


@pytest.mark.parametrize("poison", STEERING)
def test_what_steers_a_terminal_never_reaches_it(poison):
    assert_harmless(poison, 80)


@settings(max_examples=12, deadline=None)
@given(st.text(max_size=6))
def test_no_text_reaches_the_screen_unseen(poison):
    assert_harmless(poison, 160)


def test_poison_reaches_what_is_shown():
    text = "\n".join(shown(panes(lambda _: [])["task"](poisoned(judged(), "\x1b"), SHEET).lines))
    assert "any width␛" in text
