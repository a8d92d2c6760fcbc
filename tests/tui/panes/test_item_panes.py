from kgrade.desk.anchors import OldNote
from kgrade.desk.item import GradeEntry, HistoryEntry
from kgrade.desk.sheet import Sheet
from kgrade.records.faults import Fault
from kgrade.records.grade import About, GateAnswer, Grade, LineNote, Score, SheetRef, Times
from kgrade.records.submission import Submission
from kgrade.repository.runner import GitError
from kgrade.tui.highlight import colour, leave_plain
from kgrade.tui.lines import Span
from kgrade.tui.pane import TABS
from kgrade.tui.panes import history, panes, source, tab_state, task
from kgrade.tui.panes.markdown import markdown
from tests.tui.panes.builders import evidence, finding, integrity, item
from tests.tui.panes.builders import task as softmax
from tests.tui.panes.shown import shown, text

EMPTY = Sheet()
TIMES = Times(opened="2026-11-03T09:00:00Z", active_s=412, saved="2026-11-03T09:30:00Z")


def no_commits(_):
    return []


def grade(**changes):
    fields = {
        "item": "softmax-rows/s01",
        "evaluator": "ada",
        "rubric": SheetRef(id="generation", sha256="4f0c" * 16),
        "about": About(task_tree="9c1e" * 10, solution_tree="77ab" * 10),
        "scores": {"numerics": Score(score=1, comment="NaN in bf16")},
        "gates": {"wrong-result": GateAnswer(confirmed=True, comment="case 3")},
        "verdict": "revise",
        "points": 61.5,
        "total": 0.0,
        "feedback": "Subtract the maximum.",
        "private_note": "between us",
        "times": TIMES,
    }
    return Grade(**{**fields, **changes})


def test_the_nine_panes_are_those_of_the_tabs():
    names = [tab.id for tab in TABS]
    assert list(panes(no_commits)) == names
    assert list(tab_state(item())) == names


def test_a_pane_and_the_tab_state_say_the_same():
    judged = item({"cpu": evidence(integrity=integrity(finding()))})
    made = {name: make(judged, EMPTY).glance for name, make in panes(no_commits).items()}
    assert made == tab_state(judged)


def test_the_task_opens_with_its_summary_at_80_columns():
    lines = shown(task.pane(item(), EMPTY).lines)
    assert lines[:9] == [
        " Row-wise softmax, online, any width",
        " type         generation in triton",
        " targets      sm_90, cpu",
        " called as    softmax(x) -> y [function]",
        " checked at   8 cases, 2 outside the contract (extra); tolerance in f32, bf16",
        " timed at     1 case against eager, three-pass, cache cold",
        " contract     M >= 1; N >= 1",
        " forbidden    torch.softmax, torch.compile",
        " limits       build 300 s, run 120 s, memory 16 GB",
    ]
    assert " bf16       |got-ref| <= 4e-6 + 0.012*|ref|, or 2 ulp    3.9e-3  3.1x that" in lines
    assert "   extra  M=0 N=64 f32" in lines
    assert all(len(line) <= 80 for line in lines)


def test_the_tasks_files_open_and_the_reference_comes_first():
    lines = shown(task.pane(item(), EMPTY).lines, folds=True)
    start = next(number for number, line in enumerate(lines) if "reference.py  5 lines" in line)
    assert lines[start + 1].endswith("import torch")


def test_faults_and_an_empty_prompt_are_told():
    faulty = item(prompt=" ", faults=[Fault(path="queue/x/task.yaml", found="a", expected="b")])
    said = text(task.pane(faulty, EMPTY).lines)
    assert "— prompt.md is empty" in said
    assert "queue/x/task.yaml: found a, expected b" in said
    assert task.glance(faulty).text == "!"


def test_a_contract_without_a_value_at_a_case_does_not_stop_the_pane():
    odd = softmax(requires=["N % M == 0"])
    assert "extra  M=0 N=64 f32" in text(task.pane(item(task=odd), EMPTY).lines)


def test_markdown_reads_as_the_text_it_is():
    prompt = (
        "# Title\n\nOne *two* [three](http://x/y) `four`.  \nNext.\n\n"
        "1. first\n2. second\n   - inner\n\n> quoted\n\n```cuda\nint x;\n```\n\n<b>raw</b>\n\n---\n\n"
        "| a | b |\n|---|---|\n| 1 | 2 |\n"
    )
    assert shown(markdown(prompt)) == [
        " Title",
        "",
        " One two three (http://x/y) `four`.",
        " Next.",
        "",
        " 1. first",
        " 2. second",
        "    - inner",
        "",
        " > quoted",
        "",
        "     int x;",
        "",
        " <b>raw</b>",
        "",
        " ----------------------------------------",
        "",
        " a  b",
        " 1  2",
    ]


def test_code_in_a_prompt_that_was_looked_at_plain_is_coloured_later():
    lines = markdown("- as in\n\n  ```python\n  def f(x): return x\n  ```\n")
    leave_plain()
    try:
        plain = lines[1].spans
    finally:
        colour()
    coloured = lines[1].spans
    assert [span.text for span in plain] == ["  ", "    ", "def f(x): return x"]
    assert Span("def", "code.keyword") in coloured
    assert "".join(span.text for span in coloured) == lines[1].text == "      def f(x): return x"


def test_markdown_wraps_words_and_an_enormous_prompt_stays_as_it_is():
    lines = shown(markdown("word " * 60), 100)
    assert max(map(len, lines)) <= 79
    assert len(markdown("# x\n" * 100_000)) == 100_000


def test_source_shows_every_file_and_the_tasks_own_behind_folds():
    two = item(solution={"a.py": b"x = 1\n", "b.bin": b"\0\1"})
    lines = shown(source.pane(two, EMPTY).lines)
    assert lines[1].split() == ["solution/a.py", "1", "line"]
    assert " 1 x = 1" in lines
    assert " solution/b.bin  binary, 2 B, not shown" in lines
    assert "   reference.py  the reference, 5 lines, o opens" in lines
    assert "   start/kernel.py  handed out, 10 lines, o opens" in lines
    assert source.glance(two).text == "2"


def test_the_list_of_files_leads_to_each_file():
    two = item(solution={"kernel.py": b"a\nb\n", "more/launch.py": b"c\n", "w.bin": b"\0"})
    lines = source.pane(two, EMPTY).lines
    rows = [lines[index] for index in range(len(lines))]
    listed = [row for row in rows if row.to is not None]
    assert [rows[row.to].text.split("  ")[0] for row in listed] == [row.place.path for row in listed]
    assert [row.place.path for row in listed] == ["solution/kernel.py", "solution/more/launch.py", "solution/w.bin"]


def test_of_a_task_under_review_the_own_files_are_the_source():
    lines = source.pane(item(submission=None, solution={}), EMPTY).lines
    assert "def softmax(x):" in text(lines)


def test_source_marks_findings_and_notes_for_a_jump():
    note = LineNote(path="solution/kernel.py", lines=(2, 2), text_sha256="0", text="why?")
    judged = item({"cpu": evidence(integrity=integrity(finding()))})
    lines = source.pane(judged, Sheet(comments={"1": note})).lines
    assert [lines[mark].place.line for mark in lines.marks] == [2, 10]
    assert [lines[mark].sign for mark in lines.marks] == ["m", "!"]


def test_a_finding_past_the_end_of_its_file_is_no_mark_there():
    judged = item({"cpu": evidence(integrity=integrity(finding(line=999)))})
    assert list(source.pane(judged, EMPTY).lines.marks) == []


def test_history_shows_grades_what_they_are_about_and_never_a_private_note():
    graded = item(grades=[GradeEntry(evaluator="ada", grade=grade())])
    lines = history.pane(graded, EMPTY, no_commits).lines
    assert "✓ these bytes, this sheet" in text(lines, 160)
    opened = text(lines, folds=True)
    assert "numerics           1  NaN in bf16" in opened
    assert "x gate wrong-result: confirmed case 3" in opened
    assert "> Subtract the maximum." in opened
    assert "between us" not in opened


def test_a_grade_about_other_bytes_or_another_sheet_says_so():
    about = About(task_tree="0" * 40, solution_tree="77ab" * 10, evidence={"cpu": "1"})
    old = grade(about=about, rubric=SheetRef(id="generation", sha256="beef" * 16))
    said = text(history.pane(item(grades=[GradeEntry(evaluator="ada", grade=old)]), EMPTY, no_commits).lines, 200)
    assert "! other bytes, other evidence, another sheet (generation beefbeef)" in said


def test_commits_are_asked_for_only_when_the_pane_is_looked_at():
    asked = []

    def commits(name):
        asked.append(name)
        when, paths = "2026-11-03T10:00:00Z", ["a", "b", "c", "d"]
        return [HistoryEntry(commit="a1b2c3d4e5" * 4, when=when, who="ada", what="grade: it", changed=paths)]

    lines = history.pane(item(), EMPTY, commits).lines
    assert asked == []
    assert " 2026-11-03 10:00  a1b2c3d4e  ada  grade: it" in shown(lines)
    assert "     a, b, c and 1 more" in shown(lines)
    assert len(asked) == 1


def test_commits_that_cannot_be_read_are_a_sentence():
    def commits(_):
        raise GitError("the object is missing")

    assert "! The commits cannot be read: the object is missing" in text(history.pane(item(), EMPTY, commits).lines)


def test_earlier_scores_and_notes_stand_beside():
    note = LineNote(path="solution/kernel.py", lines=(3, 3), text_sha256="0", text="mask the tail")
    later = Submission(author="x", created="2026-11-03T09:30:00Z", supersedes="s00")
    again = item(submission=later, previous=grade(), notes_before=[OldNote(note=note, status="open", lines=(5, 5))])
    said = text(history.pane(again, EMPTY, no_commits).lines)
    assert "your grade of s00  revise, total 0.0" in said
    assert "! still open  solution/kernel.py:3 (now line 5)" in said
    assert "m" in [row[0] for row in shown(source.pane(again, EMPTY).lines) if row]
