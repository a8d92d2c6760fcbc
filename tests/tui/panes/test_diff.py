from kgrade.desk.sheet import Sheet
from kgrade.records.grade import LineNote
from kgrade.tui.lines import Place
from kgrade.tui.panes import comparison, diff
from tests.tui.panes.builders import KERNEL, REFERENCE, START, evidence, finding, integrity, item
from tests.tui.panes.shown import shown, text

EMPTY = Sheet()
RESUBMITTED = item(
    bases={
        "previous": {"kernel.py": KERNEL.replace(b"cols < n", b"cols <= n")},
        "start": {"kernel.py": START},
        "reference": {"reference.py": REFERENCE},
    }
)


def all_rows(lines):
    return [lines[index] for index in range(len(lines))]


def test_unified_at_80_columns():
    assert shown(diff.pane(item(), EMPTY).lines) == [
        " solution against start (B: reference, nothing)",
        "",
        " solution/kernel.py  +2 -1",
        " @@ -1,3 +1,4 @@",
        "     1 + import triton",
        "  1  2   import triton.language as tl",
        "  2  3",
        "  3  4",
        " … 2 unchanged lines, o opens",
        " @@ -6,5 +7,5 @@",
        "  6  7       row = tl.program_id(0)",
        "  7  8       cols = tl.arange(0, BLOCK)",
        '  8  9       x = tl.load(x_ptr + row * n + cols, mask=cols < n, other=-float("i»',
        "  9    -     num = tl.exp(x - tl.max(x))",
        "    10 +     num = tl.exp(x)",
        " 10 11       tl.store(y_ptr + row * n + cols, num / tl.sum(num), mask=cols < n)",
    ]


def test_side_by_side_at_160_columns():
    split = diff.pane(item(), EMPTY).split
    changed = next(line for line in shown(split, 160) if "tl.max" in line)
    left, right = changed.split("│")
    assert left.rstrip() == "  9 -     num = tl.exp(x - tl.max(x))"
    assert right == " 10 +     num = tl.exp(x)"


def test_the_words_that_differ_are_marked_on_both_sides():
    rows = all_rows(diff.pane(item(), EMPTY).lines)
    marked = ["".join(span.text for span in row.spans if span.style == "changed") for row in rows if row.base]
    assert marked == ["", " - tl.max(x)", ""]


def test_rows_know_their_place_on_either_side_and_hunks_are_marks():
    lines = diff.pane(item(), EMPTY).lines
    places = {row.text.strip(): row.place for row in all_rows(lines) if row.place}
    assert places["num = tl.exp(x - tl.max(x))"] == Place("start/kernel.py", 9, "old")
    assert places["num = tl.exp(x)"] == Place("solution/kernel.py", 10, "new")
    assert [lines[index].text[:2] for index in lines.marks] == ["@@", "@@"]


def test_the_old_side_is_named_by_the_base_it_belongs_to():
    removed = {base: {row.place for row in all_rows(diff.pane(RESUBMITTED, EMPTY, base).lines) if row.place}
               for base in ("previous", "start", "reference")}  # fmt: skip
    assert Place("solution/kernel.py", 9, "old") in removed["previous"]
    assert Place("start/kernel.py", 9, "old") in removed["start"]
    assert Place("reference.py", 5, "old") in removed["reference"]


def test_a_note_on_one_base_does_not_turn_up_at_another():
    note = LineNote(path="start/kernel.py", lines=(9, 9), side="old", text_sha256="0", text="was right before")
    sheet = Sheet(comments={"1": note})
    assert "m was right before" in text(diff.pane(RESUBMITTED, sheet, "start").lines, 160)
    assert "was right before" not in text(diff.pane(RESUBMITTED, sheet, "previous").lines, 160)


def test_in_the_split_layout_a_line_stands_for_its_new_side_and_a_removed_one_for_its_old():
    rows = [row for row in all_rows(diff.pane(item(), EMPTY).split) if row.beside]
    assert {row.place.side for row in rows if row.place and row.beside.spans} == {"new"}
    gone = item(bases={"start": {"k.py": b"a\nb\n"}}, solution={"k.py": b"a\n"})
    assert [row.place for row in all_rows(diff.pane(gone, EMPTY).split) if row.beside][-1] == Place(
        "start/k.py", 2, "old"
    )


def test_unchanged_lines_open_below_their_fold():
    opened = text(diff.pane(item(), EMPTY).lines, folds=True)
    assert "  4  5   @triton.jit" in opened


def test_code_from_nothing_is_shown_whole_as_new():
    alone = item(bases={"reference": {"reference.py": b"x = 1\n"}})
    assert diff.bases(alone) == ["nothing", "reference"]
    pane = diff.pane(alone, EMPTY)
    lines = shown(pane.lines)
    assert lines[0] == " every line is new, there is no base (B: reference)"
    assert lines[2] == " solution/kernel.py  new file +11 -0"
    assert len(lines) == 3 + 11
    assert pane.split is None
    assert len(pane.lines.marks) == 1


def test_every_base_can_be_chosen_and_two_single_files_are_a_pair():
    assert " reference.py -> solution/kernel.py" in text(diff.pane(item(), EMPTY, "reference").lines)
    assert "every line is new" in text(diff.pane(item(), EMPTY, "nothing").lines)
    assert "against start" in text(diff.pane(item(), EMPTY, "no such base").lines)


def test_files_that_are_binary_the_same_renamed_added_or_removed_say_so():
    bases = {"start": {"a.py": b"a\n", "same.py": b"s\n", "old.py": b"r\n", "w.bin": b"\0\1", "gone.py": b"g\n"}}
    solution = {"a.py": b"b\n", "same.py": b"s\n", "new.py": b"r\n", "w.bin": b"\0\1\2", "more.py": b"m\n"}
    lines = text(diff.pane(item(bases=bases, solution=solution), EMPTY).lines)
    assert "solution/a.py  +1 -1" in lines
    assert "solution/same.py  the same on both sides, o opens" in lines
    assert "start/old.py -> solution/new.py  renamed, the same on both sides, o opens" in lines
    assert "solution/w.bin  binary, 2 B -> 3 B, not text, so not shown" in lines
    assert "solution/more.py  new file +1 -0" in lines
    assert "start/gone.py  removed +0 -1" in lines


def test_blanks_can_be_left_out_and_are_named_when_they_are_all_that_differs():
    indented = item(bases={"start": {"k.py": b"if a:\n  b\nc\n"}}, solution={"k.py": b"if a:\n    b\nc\n"})
    assert "~ blanks only" in text(diff.pane(indented, EMPTY).lines)
    assert "differs only in blanks" in text(diff.pane(indented, EMPTY, ignore_space=True).lines)
    pane = diff.pane(indented, EMPTY)
    assert pane.blanks is not None
    assert pane.blanks().blanks is not None
    assert text(pane.blanks().blanks().lines) == text(pane.lines)
    assert all("blanks left out" in text(make().lines) for make in pane.blanks().bases.values() if make().split)
    unended = item(bases={"start": {"k.py": b"a\n"}}, solution={"k.py": b"a"})
    assert "differs only in the newline at the end" in text(diff.pane(unended, EMPTY).lines)


def test_findings_and_notes_stand_at_their_lines():
    note = LineNote(
        path="solution/kernel.py", lines=(7, 8), text_sha256="0", criterion="numerics", text="fits one block"
    )
    sheet = Sheet(comments={"1": note})
    judged = item({"cpu": evidence(integrity=integrity(finding()))})
    lines = shown(diff.pane(judged, sheet).lines)
    assert next(line for line in lines if "tl.exp(x)" in line and "+" in line).endswith("! S5 truncated-maths")
    assert [line[0] for line in lines if "program_id" in line or "arange" in line] == ["m", "m"]
    opened = text(diff.pane(judged, sheet).lines, folds=True)
    assert "m note (numerics): fits one block" in opened
    assert "S5 truncated-maths (suspect): The maximum of the row is not subtracted" in opened


def test_fifty_thousand_lines_open_and_only_what_is_looked_at_is_made():
    big = b"".join(b"x%d = %d\n" % (n % 7_000, n) for n in range(50_000))
    edited = big.replace(b"x123 = ", b"y123 = ")
    lines = diff.pane(item(bases={"start": {"big.py": big}}, solution={"big.py": edited}), EMPTY).lines
    assert lines.marks
    assert lines[len(lines) - 1].text.endswith("o opens")


def long_pair(lines):
    """A long file, and the same with lines changed, taken away and put in all over."""
    old = [b"    row_%d = load(x_ptr + %d)\n" % (n, n % 13) for n in range(lines)]
    new = [line.replace(b"load", b"tl.load") if n % 17 == 0 else line for n, line in enumerate(old) if n % 29]
    return b"".join(old), b"".join([*new[:50], b"import x\n" * 3, *new[50:]])


def test_the_first_rows_of_a_long_diff_do_not_wait_for_the_others_and_stay_as_they_are():
    old, new = long_pair(12_000)
    pair = item(bases={"start": {"k.py": old}}, solution={"k.py": new})
    comparison._aligning.cache_clear()
    lines = diff.pane(pair, EMPTY).lines
    first = len(lines)
    assert 60 <= first < 500
    assert lines[2].text == "solution/k.py  comparing…"
    assert lines[first - 1].text == "… comparing the rest"
    above = [lines[index] for index in range(3, first - 1)]
    while lines.go_on() is not None:
        pass
    assert [lines[index].text for index in range(3, first - 1)] == [row.text for row in above]
    assert [lines[index].gutter for index in range(3, first - 1)] == [row.gutter for row in above]
    added, removed = lines[2].text.split()[1:]
    changed, gone = sum(n % 17 == 0 and n % 29 != 0 for n in range(12_000)), 12_000 // 29 + 1
    assert (added, removed) == (f"+{changed + 3:,}", f"-{changed + gone:,}")
    last = lines[len(lines) - 1]
    assert last.text == "… 11 unchanged lines, o opens"
    assert list(last.fold)[-1].place == Place("solution/k.py", new.count(b"\n"))


def test_whoever_asks_a_long_diff_for_marks_or_a_word_gets_those_of_the_whole():
    old, new = long_pair(12_000)
    pair = item(bases={"start": {"k.py": old}}, solution={"k.py": new})
    comparison._aligning.cache_clear()
    found = [index for index in diff.pane(pair, EMPTY).lines.find("row_11968 ") if index is not None]
    comparison._aligning.cache_clear()
    lines = diff.pane(pair, EMPTY).lines
    first = len(lines)
    assert lines.marks[-1] > first
    assert [lines[index].text.split()[2][:4] for index in found] == ["load", "tl.l"]
    assert found[0] > first
    beside = diff.pane(pair, EMPTY).split
    (one,) = (index for index in beside.find("row_11968 ") if index is not None)
    assert [index for index in beside.find("= tl.load(x_ptr + 8)") if index is not None][-1] > one - 17 * 13
    again = diff.pane(pair, EMPTY).lines
    assert len(again) == len(lines), "made again after an edit of the sheet, nothing is compared again"


def test_a_hunk_of_many_lines_is_cut_so_that_one_can_jump_in_it():
    old = b"".join(b"row_%d = 1\n" % n for n in range(3_000))
    new = b"".join(b"row_%d = %d\n" % (n, 1 + (n % 7 == 0)) for n in range(3_000))
    lines = diff.pane(item(bases={"start": {"k.py": old}}, solution={"k.py": new}), EMPTY).lines
    assert len(lines.marks) >= 7
    rows = all_rows(lines)
    places = [row.place for row in rows if row.place]
    assert [place.line for place in places if place.side == "new"] == list(range(1, 3_001))
    assert [place.line for place in places if place.side == "old"] == list(range(1, 3_001, 7))


def test_a_task_under_review_and_an_empty_solution_say_what_is_not_there():
    assert "nothing" in text(diff.pane(item(solution={}), EMPTY).lines)
    assert "no solution to compare" in text(diff.pane(item(submission=None, solution={}, bases={}), EMPTY).lines)
