"""A sitting by keys: every key reaches what the key before it opened, and edits what it says."""

from __future__ import annotations

import asyncio
import os
import stat
from pathlib import Path
from types import SimpleNamespace

import msgspec
import pytest

from kgrade.records.grade import GateAnswer, Score
from kgrade.repository.sync import Standing
from kgrade.tui.keys import KeyTable
from kgrade.tui.panes import source
from tests.tui.paper_desk import MAKERS, PaperDesk, item
from tests.tui.snapshot_desk import MAKERS as OF_ALL_KINDS
from tests.tui.snapshot_desk import SnapshotDesk
from tests.tui.stages import Play, play

SCORED = "33333333"


@pytest.mark.parametrize("size", [(80, 24), (100, 30), (160, 48), (60, 18)])
def test_the_stage_fits_every_size(size: tuple[int, int]) -> None:
    async def scene(on: Play) -> None:
        lines = on.lines
        assert len(lines) == size[1]
        assert lines[0].startswith("softmax-rows/s01")
        assert "Untouched" in lines[0]
        assert "DIFF" in lines[1]
        assert ("> left" if size[0] >= 150 else "> row 0 of the diff") in on.text
        assert any(line.startswith("> numerics") for line in lines)
        assert "verdict: -" in on.text
        assert "help" in lines[-1]

    play(scene, size=size)


def test_all_levels_of_the_focused_criterion_stand_beside_it_on_a_wide_screen() -> None:
    async def scene(on: Play) -> None:
        assert all(f"│ {level} " in on.text for level in range(5))

    play(scene, size=(160, 48))


def test_a_score_goes_to_the_focused_criterion_and_on_to_the_next() -> None:
    async def scene(on: Play) -> None:
        await on.press("3")
        assert on.message == "numerics . -> 3   (u undoes)"
        assert "> benchmarking" in on.text
        await on.press("K2")
        assert on.message == "numerics 3 -> 2   (u undoes)"
        assert "Draft" in on.lines[0]
        await on.press("u")
        assert on.desk.sittings[0].sheet.scores["numerics"].score == 3

    play(scene)


def test_text_that_arrives_with_the_key_that_opens_it_loses_nothing() -> None:
    async def scene(on: Play) -> None:
        on.at_once("c3 of 4 pass: S q\r2")
        sheet = on.desk.sittings[0].sheet
        assert sheet.scores["numerics"] == Score(score=2, comment="3 of 4 pass: S q")

    play(scene)


@pytest.mark.parametrize(
    ("keys", "field", "expected"),
    [
        ("afirst\r", "scores", {"numerics": Score(na=True, comment="first")}),
        ("x1it does not build\r", "gates", {"build": GateAnswer(confirmed=True, comment="it does not build")}),
        ("v2", "verdict", "revise"),
        ("!why\r", "flagged", "why"),
        (":verdict\r1", "verdict", "accept"),
        ("c1\x1b", "scores", {}),
        ("J4", "scores", {"benchmarking": Score(score=4)}),
    ],
)
def test_two_key_paths_in_one_packet(keys: str, field: str, expected: object) -> None:
    async def scene(on: Play) -> None:
        on.at_once(keys)
        assert getattr(on.desk.sittings[0].sheet, field) == expected

    play(scene)


def test_a_line_note_is_anchored_to_its_lines() -> None:
    async def scene(on: Play) -> None:
        on.at_once("sjjjVjmmask is missing\r")
        note = on.desk.sittings[0].sheet.comments["1"]
        assert (note.path, note.lines, note.side, note.text) == ("solution/kernel.py", (4, 5), "new", "mask is missing")
        assert note.criterion == "numerics"
        await on.settled()
        assert " m  4 " in on.text
        await on.press("dm")
        assert "a note needs a line" in on.message

    play(scene)


def test_enter_in_the_list_of_files_goes_to_the_file() -> None:
    files = {"kernel.py": b"a\n" * 40, "more/launch.py": b"c\n"}
    two = msgspec.structs.replace(item("s01"), solution=files)

    async def scene(on: Play) -> None:
        await on.press("sjj\r")
        assert "> solution/more/launch.py  1 line" in on.text

    play(scene, makers={**MAKERS, "source": lambda item, sheet: source.pane(two, sheet)})


def test_a_gate_that_the_evidence_suggests_is_confirmed_then_denied_then_left_open() -> None:
    async def scene(on: Play) -> None:
        assert "wrong-result?" in on.text
        await on.press("x2")
        gates = on.desk.sittings[0].sheet.gates
        assert gates["wrong-result"] == GateAnswer(confirmed=True, comment="3 required cases fail on cpu")
        await on.press("2")
        assert on.desk.sittings[0].sheet.gates["wrong-result"].confirmed is False
        await on.press("2q")
        assert on.desk.sittings[0].sheet.gates == {}
        assert "> row 0 of the diff" in on.text

    play(scene)


def test_a_snippet_is_put_in_the_comment_and_typed_on() -> None:
    async def scene(on: Play) -> None:
        on.at_once(";1\r And more.\r")
        snippet = next(each.text for each in on.desk.sittings[0].item.rubric.snippets if each.criterion == "numerics")
        assert on.desk.sittings[0].sheet.scores["numerics"].comment == f"{snippet} And more."

    play(scene)


def test_saving_waits_for_the_next_item_and_keys_after_it_belong_there() -> None:
    async def scene(on: Play) -> None:
        on.at_once(SCORED + "v1" + "x2q" + "SSSJcshort\r")
        await on.settled()
        assert len(on.desk.saved) == 1
        assert on.lines[0].startswith("softmax-rows/s02")
        assert on.desk.sittings[1].sheet.scores == {"benchmarking": Score(comment="short")}


def test_no_level_is_given_to_an_item_before_it_was_on_the_screen() -> None:
    async def scene(on: Play) -> None:
        on.at_once(SCORED + "v1" + "x2q" + "S4")
        await on.settled()
        assert on.message == "softmax-rows/s01: Committed; 4 refused: softmax-rows/s02 was not seen yet"
        assert not on.desk.sittings[1].sheet.scores
        await on.press("4")
        assert on.desk.sittings[1].sheet.scores == {"numerics": Score(score=4)}

    play(scene)


def test_saving_an_unfinished_sheet_lists_what_is_missing_and_enter_goes_there() -> None:
    async def scene(on: Play) -> None:
        await on.press("33S")
        assert "scoping has no score" in on.text
        assert not on.desk.saved
        await on.press("\r1")
        assert on.desk.sittings[0].sheet.scores["scoping"].score == 1
        await on.press("Sy")
        assert len(on.desk.saved) == 1

    play(scene)


def test_a_save_that_is_refused_says_why_and_keeps_the_item() -> None:
    desk = PaperDesk()
    desk.refuses = "push refused: the hook says no"

    async def scene(on: Play) -> None:
        await on.press(SCORED + "v1x2qS")
        assert on.message == "push refused: the hook says no"
        assert on.lines[0].startswith("softmax-rows/s01")

    play(scene, desk=desk)


def test_what_moved_meanwhile_is_asked_about_before_saving() -> None:
    desk = PaperDesk()
    desk.moved = ["task"]

    async def scene(on: Play) -> None:
        await on.press(SCORED + "v1x2qS")
        assert "not saved yet: task changed while this was open" in on.text
        await on.press("q")
        assert not desk.saved
        await on.press("S")
        await on.press("1")
        assert len(desk.saved) == 1

    play(scene, desk=desk)


def test_undo_on_an_untouched_item_asks_and_reopens_the_save_before() -> None:
    async def scene(on: Play) -> None:
        await on.press(SCORED + "v1x2qS")
        assert on.lines[0].startswith("softmax-rows/s02")
        await on.press("uy")
        assert on.lines[0].startswith("softmax-rows/s01")
        assert not on.desk.saved

    play(scene)


def test_the_neighbours_of_an_item_are_reached_and_the_ends_said() -> None:
    async def scene(on: Play) -> None:
        await on.press(">")
        assert on.lines[0].startswith("softmax-rows/s02")
        await on.press(">")
        assert on.message == "this is the last item"
        await on.press("<")
        assert on.lines[0].startswith("softmax-rows/s01")
        assert on.desk.sittings[0].closed

    play(scene)


def test_the_queue_ends_with_its_reasons() -> None:
    async def scene(on: Play) -> None:
        await on.press(SCORED + "v1x2qS")
        await on.press(SCORED + "v1x2qS")
        assert "Nothing is left to grade." in on.text
        # Nobody sits at what was graded: its claim is given back.
        assert all(sitting.closed for sitting in on.desk.sittings)
        assert "2 graded by you" in on.text
        await on.press("3")
        assert on.message == "no item is open"

    play(scene)


def test_skipping_asks_why_and_opens_the_next() -> None:
    async def scene(on: Play) -> None:
        await on.press("Xnot mine\r")
        assert list(on.desk.skipped.values()) == ["not mine"]
        assert on.lines[0].startswith("softmax-rows/s02")

    play(scene)


def test_panes_are_found_again_as_they_were_left() -> None:
    async def scene(on: Play) -> None:
        await on.press("jjjsGd")
        assert "> row 3 of the diff" in on.text
        await on.press("s")
        assert "> 203" in on.text
        await on.press("\t")
        assert "BUILD" in on.lines[1]

    play(scene)


def test_marks_and_search_move_the_cursor_and_count() -> None:
    async def scene(on: Play) -> None:
        await on.press("]]")
        assert "> row 60 of the diff" in on.text
        await on.press("/row 7\r")
        assert "> row 70 of the diff" in on.text
        assert on.message.startswith("2/11 row 7")
        await on.press("N")
        assert on.message.startswith("1/11")

    play(scene)


def test_help_filters_and_says_what_is_not_possible() -> None:
    async def scene(on: Play) -> None:
        await on.press("?/line note\r")
        assert "copy" not in on.text.split("numerics")[0]
        await on.press("/note on\r")
        assert "not now: a note needs a line" in on.text
        await on.press("q")
        assert "> left" in on.text

    play(scene, size=(160, 48))


def test_a_rebound_key_is_named_in_the_key_line_and_works() -> None:
    async def scene(on: Play) -> None:
        assert "Z comment" in on.lines[-1]
        await on.press("Zhello\r")
        assert on.desk.sittings[0].sheet.scores["numerics"].comment == "hello"

    play(scene, table=KeyTable({"comment": ["Z"]}))


def test_pasted_text_goes_into_a_text_and_nowhere_else() -> None:
    async def scene(on: Play) -> None:
        on.app.stage.dispatcher.paste("S33")
        await on.settled()
        assert on.message.startswith("pasted text is ignored here")
        on.at_once("c")
        on.app.stage.dispatcher.paste("two\r\nlines")
        on.at_once("\r")
        assert on.desk.sittings[0].sheet.scores["numerics"].comment == "two\nlines"

    play(scene)


def test_hostile_text_is_shown_as_symbols() -> None:
    async def scene(on: Play) -> None:
        await on.press("i")
        assert "Write a softmax.␛[2J" in on.text

    play(scene)


def test_leaving_with_a_draft_asks_and_without_one_does_not() -> None:
    async def scene(on: Play) -> None:
        await on.press("3q")
        assert "leave?" in on.message
        await on.press("n")
        assert on.app.return_value is None
        await on.press("qy")

    assert play(scene).return_value == 0


def test_feedback_is_not_possible_where_the_terminal_cannot_be_handed_over() -> None:
    async def scene(on: Play) -> None:
        await on.press("F")
        assert on.message == "this terminal cannot be handed to an editor"

    play(scene)


def test_a_copy_also_goes_to_a_file_that_is_named() -> None:
    async def scene(on: Play) -> None:
        await on.press("sjjjY")
        path = Path(os.environ["XDG_STATE_HOME"]) / "kgrade" / "copied.txt"
        assert path.read_text() == "solution/kernel.py:4"
        assert stat.S_ISREG(path.stat().st_mode)

    play(scene)


def test_snippets_are_found_by_some_of_their_letters_and_by_number() -> None:
    texts = [each.text for each in item("s01").rubric.snippets if each.criterion == "numerics"]
    assert len(texts) > 1
    word = next(word for word in texts[1].split() if len(word) > 4 and all(word not in text for text in texts[:1]))

    async def scene(on: Play) -> None:
        await on.press(f";{word[0]}{word[2:]}")
        assert on.text.count(texts[1][:30]) == 1
        await on.press("\r\r2K;2\r\rK")
        sheet = on.desk.sittings[0].sheet
        assert sheet.scores["numerics"].comment == f"{texts[1]} {texts[1]}"
        await on.press(";zzzz\r")
        assert on.message.startswith("nothing fits 'zzzz'")
        await on.press("\x1b")
        assert "> row 0 of the diff" in on.text

    play(scene)


def test_the_first_gate_that_waits_for_an_answer_is_confirmed_by_one_key() -> None:
    async def scene(on: Play) -> None:
        await on.press("x\r")
        gates = on.desk.sittings[0].sheet.gates
        assert gates == {"wrong-result": GateAnswer(confirmed=True, comment="3 required cases fail on cpu")}

    play(scene)


def test_a_note_to_oneself_and_a_flag_are_shown_as_part_of_the_sheet() -> None:
    async def scene(on: Play) -> None:
        await on.press("Cask about the mask\r!unsure\r")
        sheet = on.desk.sittings[0].sheet
        assert (sheet.private_note, sheet.flagged) == ("ask about the mask", "unsure")
        assert "flagged, own note" in on.text
        await on.press("C\x15\r")
        assert on.desk.sittings[0].sheet.private_note == ""

    play(scene)


def test_time_counts_while_keys_come_and_pauses_when_none_do(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [1000.0]
    # The page's own clock only: the event loop goes by the real one.
    own = SimpleNamespace(monotonic=lambda: clock[0], strftime=lambda form: "09:41")
    monkeypatch.setattr("kgrade.tui.screens.grading.time", own)

    async def scene(on: Play) -> None:
        for _ in range(3):
            clock[0] += 50
            await on.press("j")
        assert on.desk.sittings[0].active_s == 150
        clock[0] += 3600
        on.app.page.draw()
        await on.settled()
        assert "2 min, paused" in on.lines[0]
        await on.press("3")
        assert on.desk.sittings[0].active_s == 210
        assert "3 min  Draft" in on.lines[0]

    play(scene, size=(100, 30))


def test_what_only_a_person_can_settle_is_said_and_listed() -> None:
    desk = PaperDesk()

    async def scene(on: Play) -> None:
        await on.press("T")
        assert on.message == "nothing is to be settled"
        desk.alarms = ["origin/main was rewritten: 2 of your commits left it"]
        await on.press("3")
        assert "! branch rewritten (T)  Draft" in on.lines[0]
        await on.press("T")
        assert "go on from the branch as it is at the remote now" in on.text
        await on.press("\r")
        assert on.message == "your grade of scan/s01 is not in the rewritten branch"
        await on.press("2")
        assert "rewritten" not in on.lines[0]

    play(scene, desk=desk)


def test_what_could_not_be_sent_is_sent_again_when_it_is_time() -> None:
    desk = PaperDesk()
    desk.last_standing = Standing("committed", "offline", "the remote cannot be reached", 1, 0.01)

    async def scene(on: Play) -> None:
        for _ in range(6000):
            if desk.synced >= 3:
                break
            await asyncio.sleep(0.01)
        assert desk.synced >= 3
        desk.last_standing = Standing("pushed")
        await on.pilot.pause()

    play(scene, desk=desk)


def test_where_a_slow_remote_decides_what_is_next_it_is_opened_when_it_has() -> None:
    desk = PaperDesk()

    async def scene(on: Play) -> None:
        desk.slow = True
        await on.press(SCORED + "v1x2qS")
        assert on.message.startswith("softmax-rows/s01: Committed; origin is slow: no answer yet")
        assert on.lines[0].startswith("softmax-rows/s01")
        desk.slow = False
        for _ in range(600):
            await on.pilot.pause(0.01)
            if on.lines[0].startswith("softmax-rows/s02"):
                break
        assert on.lines[0].startswith("softmax-rows/s02")

    play(scene, desk=desk)


def test_a_fold_stays_open_while_one_scores_and_notes() -> None:

    async def scene(on: Play) -> None:
        view = on.app.stage.view
        while "unchanged lines" not in (view.row.text if view.row else ""):
            await on.press("j")
        closed = len(view.position.opened)
        await on.press("oj")
        opened, place = len(view.position.opened), view.position.cursor
        assert opened > closed
        for keys in ("3", "J", "c3 of 4\r"):
            await on.press(keys)
            assert (len(view.position.opened), view.position.cursor) == (opened, place), keys
        await on.press("gmnoted above\r")
        assert len(view.position.opened) >= opened

    play(scene, desk=SnapshotDesk(("s01", "s02")), makers=OF_ALL_KINDS)
