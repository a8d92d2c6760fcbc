"""Edits: one value in one place, written down before they count, undone and redone, replayed after a crash."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgrade.desk.sheet import Edits, Sheet, told
from kgrade.records.grade import FindingAnswer, GateAnswer, LineNote, Score

NOTE = LineNote(path="solution/k.py", lines=(1, 2), text_sha256="ab", text="why")


def test_edits_say_what_they_did():
    edits = Edits(Sheet(), [].append)
    assert told(edits.do("scores", "numerics", Score(score=2))) == "numerics . -> 2"
    assert told(edits.do("scores", "numerics", Score(score=3))) == "numerics 2 -> 3"
    assert told(edits.do("scores", "numerics", Score(score=3, comment="x"))) == "numerics: comment changed"
    assert told(edits.do("scores", "numerics", Score(na=True, comment="x"))) == "numerics 3 -> n/a"
    assert told(edits.do("gates", "build", GateAnswer(confirmed=True))) == "build . -> yes"
    assert told(edits.do("findings", "k", FindingAnswer(disposition="false-alarm"))) == "k . -> false-alarm"
    assert told(edits.do("verdict", "", "revise")) == "verdict . -> revise"
    assert told(edits.do("comments", edits.new_key("comments"), NOTE)) == "line note added"
    assert told(edits.do("feedback", "", "Two words")) == "feedback . -> 2 words"


def test_undo_and_redo_walk_the_same_way():
    edits = Edits(Sheet(), [].append)
    edits.do("scores", "numerics", Score(score=2))
    edits.do("comments", "1", NOTE)
    whole = edits.sheet
    assert told(edits.undo()) == "line note removed"
    assert told(edits.undo()) == "numerics 2 -> ."
    assert edits.sheet == Sheet()
    assert edits.undo() is None
    edits.redo()
    edits.redo()
    assert edits.sheet == whole
    assert edits.redo() is None
    edits.undo()
    edits.do("verdict", "", "accept")
    assert edits.redo() is None


def test_the_same_value_again_is_not_written_down():
    written = []
    edits = Edits(Sheet(), written.append)
    edits.do("scores", "numerics", Score(score=2))
    edits.do("scores", "numerics", Score(score=2))
    assert len(written) == 1


def test_nothing_counts_that_could_not_be_written_down():
    def full(event):
        raise OSError(28, "No space left on device")

    edits = Edits(Sheet(), full)
    with pytest.raises(OSError, match="No space"):
        edits.do("verdict", "", "accept")
    assert edits.sheet == Sheet()
    assert not edits.can_undo


def test_a_wrong_kind_of_value_changes_nothing():
    written = []
    edits = Edits(Sheet(), written.append)
    with pytest.raises(msgspec.ValidationError):
        edits.do("verdict", "", "perhaps")
    assert written == []
    assert edits.sheet == Sheet()


def test_keys_of_removed_notes_are_not_given_again():
    edits = Edits(Sheet(), [].append)
    edits.do("comments", edits.new_key("comments"), NOTE)
    edits.do("comments", "1", None)
    assert edits.new_key("comments") == "2"


steps = st.lists(
    st.one_of(
        st.tuples(st.just("scores"), st.sampled_from(["a", "b"]), st.integers(0, 4).map(lambda n: Score(score=n))),
        st.tuples(st.just("verdict"), st.just(""), st.sampled_from(["accept", "reject", None])),
        st.tuples(st.just("comments"), st.sampled_from(["1", "2"]), st.sampled_from([NOTE, None])),
        st.sampled_from(["undo", "redo"]),
    ),
    max_size=25,
)


@given(steps)
def test_replaying_what_was_written_gives_the_same_sheet_and_the_same_undo(sequence):
    written = []
    edits = Edits(Sheet(), written.append)
    for step in sequence:
        if step == "undo":
            edits.undo()
        elif step == "redo":
            edits.redo()
        else:
            edits.do(*step)
    again = Edits(Sheet(), written.append)
    again.replay(msgspec.json.decode(msgspec.json.encode(written)))
    assert again.sheet == edits.sheet
    while edits.can_undo:
        assert edits.undo() == again.undo()
    assert not again.can_undo
    assert again.sheet == edits.sheet == Sheet()
