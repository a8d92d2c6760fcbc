"""Findings in the app: walked in source and diff, judged by one key, explained, and settled by a run."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
import pytest

from kgrade.desk.sheet import Sheet
from kgrade.harness.integrity.explanations import EXPLANATIONS, KINDS
from kgrade.harness.integrity.findings import BY_ID
from kgrade.harness.integrity.runs import RUNS, runs_for
from kgrade.records.evidence import Finding
from kgrade.records.grade import FindingAnswer
from kgrade.records.slugs import ItemId
from kgrade.tui.panes import diff
from kgrade.tui.panes.rule import rule_rows
from tests.conftest import Repo
from tests.harness.test_probe import QUEUE
from tests.tui.panes import builders
from tests.tui.paper_desk import PaperDesk, PaperSitting
from tests.tui.snapshot_desk import MAKERS, SnapshotDesk
from tests.tui.stages import Play, play

MEMO = """\
SEEN = {}


def rows(x):
    key = x.data_ptr()
    if key not in SEEN:
        SEEN[key] = x.sum(-1)
    return SEEN[key]
"""
REMEMBERED = builders.finding(
    rule="R1",
    name="memo-by-identity",
    path="solution/k.py",
    line=8,
    snippet="return SEEN[key]",
    why="The output is kept under x.data_ptr().",
    settles="The same pointer with new values.",
)
KEY = "truncated-maths@solution/kernel.py:10"


def test_marks_lead_through_source_and_diff_and_on_into_the_next_pane() -> None:
    async def scene(on: Play) -> None:
        for pane in "sd":
            await on.press(f"{pane}g")
            for _ in range(20):
                row = on.app.stage.view.row
                if row is not None and row.sign == "!":
                    break
                await on.press("]")
            row = on.app.stage.view.row
            assert row is not None
            assert row.place is not None
            assert (row.place.path, row.place.line) == ("solution/kernel.py", 10), pane
        await on.press("fG}")
        seen = set()
        for _ in range(40):
            row = on.app.stage.view.row
            assert row is not None
            seen.add((row.mark, row.place.path if row.place else ""))
            await on.press("}")
        assert ("finding", "solution/kernel.py") in seen
        assert any(mark == "hunk" for mark, _ in seen)

    play(scene, desk=SnapshotDesk(("s01",)), makers=MAKERS, size=(100, 30))


def test_a_finding_in_unchanged_lines_is_not_lost_behind_its_fold() -> None:
    start = builders.KERNEL + b"\n".join(b"# line %d" % number for number in range(80)) + b"\n"
    kernel = start.replace(b"# line 79", b"# changed")
    found = builders.finding(line=40, snippet="# line 28")
    item = builders.item(
        {"cpu": builders.evidence(integrity=builders.integrity(found))},
        solution={"kernel.py": kernel},
        bases={"start": {"kernel.py": start}},
    )
    for lines in (diff.pane(item, Sheet()).lines, diff.pane(item, Sheet()).split):
        assert lines is not None
        marked = [lines[index] for index in lines.marks]
        (folded,) = [row for row in marked if row.mark == "finding"]
        assert "1 remark there" in folded.text
        assert folded.fold is not None
        (inside,) = folded.fold.marks
        place = folded.fold[inside].place
        assert place is not None
        assert place.line == 40


def test_one_key_judges_and_each_press_can_be_taken_back() -> None:
    async def scene(on: Play) -> None:
        sitting = on.desk.sittings[0]

        def said() -> str | None:
            answer = sitting.sheet.findings.get(KEY)
            return answer.disposition if answer else None

        await on.press("f]")
        for expected in ("confirmed", "false-alarm", "allowed-here", None, "confirmed"):
            await on.press("D")
            assert said() == expected
        assert "confirmed" in on.text
        await on.press("u")
        assert said() is None

    play(scene, desk=SnapshotDesk(("s01",)), makers=MAKERS, size=(100, 30))


def test_the_rule_page_opens_from_the_line_in_the_source_and_closes_to_it() -> None:
    async def scene(on: Play) -> None:
        await on.press("sg]")
        before = on.lines
        await on.press("I")
        for wanted in ("S5 truncated-maths", "why it matters", "honest code looks alike", "distributions:"):
            assert wanted in on.text, wanted
        assert EXPLANATIONS["S5"].matters in on.text
        await on.press("q")
        assert on.lines[:10] == before[:10]
        await on.press("gI")
        assert "no finding stands here" in on.message

    play(scene, desk=SnapshotDesk(("s01",)), makers=MAKERS, size=(100, 48))


@pytest.mark.parametrize("rule", list(BY_ID))
def test_every_rule_has_a_whole_page(rule: str) -> None:
    finding = builders.finding(rule=rule, name=BY_ID[rule].name)
    rows = rule_rows(finding, {"cpu": None}, FindingAnswer(disposition="confirmed"), [], "O")
    text = "\n".join(rows[index].text for index in range(len(rows)))
    words = " ".join(text.split())
    for part in (BY_ID[rule].what, EXPLANATIONS[rule].matters, BY_ID[rule].honest, BY_ID[rule].settles):
        assert " ".join(part.split()) in words
    assert all(line in text for line in EXPLANATIONS[rule].sample.split("\n"))
    assert rule[0] in KINDS
    assert all(f"{run.name}: " in text for run in runs_for(rule))
    assert ("keeps the result" in text) == bool(runs_for(rule))


def test_what_settles_is_told_for_rules_that_there_are() -> None:
    assert set(EXPLANATIONS) == set(BY_ID)
    assert {rule for run in RUNS for rule in run.settles} <= set(BY_ID)
    assert not [rule for rule in BY_ID if runs_for(rule) and EXPLANATIONS[rule].stage]


class RowsDesk(PaperDesk):
    """A paper desk whose item lies in a real queue and answers from memory."""

    def __init__(self, repo: Repo, finding: Finding) -> None:
        super().__init__(("s01",))
        self.root = repo.path
        self.finding = finding

    def sit(self, id: ItemId, *, take_over: bool = False) -> PaperSitting:
        sitting = super().sit(id, take_over=take_over)
        files = builders.item({"cpu": builders.evidence(integrity=builders.integrity(self.finding))}).evidence
        sitting.item = msgspec.structs.replace(sitting.item, id=ItemId("rows", "s01"), evidence=files)
        return sitting


@pytest.fixture
def repo(make_repo: Callable[..., Repo]) -> Repo:
    repo = make_repo("queue")
    repo.commit({**QUEUE, "queue/rows/submissions/s01/solution/k.py": MEMO})
    return repo


def test_what_settles_a_finding_runs_live_and_is_kept_as_a_probe(repo: Repo) -> None:
    pytest.importorskip("torch", reason="torch is not installed")

    async def scene(on: Play) -> None:
        await on.press("f]O")
        assert "what settles R1 memo-by-identity at solution/k.py:8" in on.text
        assert "same-storage: ! seen:" in on.text
        assert "kept as a probe" in on.message
        (probe,) = on.desk.sittings[0].sheet.probes.values()
        assert (probe.finding, probe.result) == (REMEMBERED.key, "failed")
        assert probe.summary.startswith("R1 memo-by-identity on cpu: same-storage: seen: ")
        await on.press("q")
        assert "you ran" in on.text
        await on.press("I")
        assert "you ran" in on.text
        await on.press("q")
        await on.press("u")
        assert not on.desk.sittings[0].sheet.probes

    play(scene, desk=RowsDesk(repo, REMEMBERED), makers=MAKERS, size=(120, 60))


def test_what_no_run_settles_says_so_and_what_cannot_run_says_why(repo: Repo) -> None:
    repo.commit({"queue/rows/task.yaml": QUEUE["queue/rows/task.yaml"].replace("python", "hip")}, "make it hip")
    copied = msgspec.structs.replace(REMEMBERED, rule="E4", name="copied-answer")

    async def nothing(on: Play) -> None:
        await on.press("f]O")
        assert "no run settles E4 copied-answer" in on.message

    async def cannot(on: Play) -> None:
        await on.press("f]O")
        assert "same-storage: — not run, because hip kernels run on a GPU only" in on.text
        (probe,) = on.desk.sittings[0].sheet.probes.values()
        assert probe.result == "not-run"

    play(nothing, desk=RowsDesk(repo, copied), makers=MAKERS, size=(120, 60))
    play(cannot, desk=RowsDesk(repo, REMEMBERED), makers=MAKERS, size=(120, 60))


def test_a_judged_finding_suggests_its_gate_or_none() -> None:
    desk = PaperDesk(("s01",))
    sitting = desk.sit(ItemId("softmax-rows", "s01"))
    found = builders.finding(rule="B6", name="dead-kernel", severity="note")
    files = builders.item({"cpu": builders.evidence(integrity=builders.integrity(found))}).evidence
    sitting.item = msgspec.structs.replace(sitting.item, evidence=files, suggestions={})
    assert not sitting.suggestions
    sitting.edit("findings", found.key, FindingAnswer(disposition="confirmed"))
    (gate,) = sitting.suggestions
    assert sitting.suggestions[gate].startswith("B6 dead-kernel at solution/kernel.py:10")
    assert gate in [place for place, _ in sitting.result().missing]
    sitting.edit("findings", found.key, FindingAnswer(disposition="allowed-here"))
    assert not sitting.suggestions
