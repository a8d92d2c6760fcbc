"""What is known of a queue before all of it is read."""

import sqlite3
from datetime import date

import pytest

from kgrade.desk import Desk, listing
from kgrade.records.slugs import ItemId
from kgrade.repository.index import Index
from tests.desk.test_desk import S01, grade_next


def forbid_reading_all(monkeypatch):
    def refused(index):
        raise AssertionError("the whole queue was read")

    monkeypatch.setattr(Index, "rows", refused)


def visit(repo, *deeds):
    """Sit down, do `deeds`, and leave."""
    desk = Desk.open(repo.path)
    try:
        return [deed(desk) for deed in deeds]
    finally:
        desk.close()


def test_the_second_time_the_first_item_is_found_without_reading_the_queue(ada, monkeypatch):
    first = visit(ada, grade_next, lambda desk: desk.next(), lambda desk: desk.progress())[1:]
    forbid_reading_all(monkeypatch)
    again = visit(ada, lambda desk: desk.next(), lambda desk: desk.progress())
    assert again == first
    assert again[0] == S01
    assert (again[1].graded, again[1].total, again[1].today) == (1, 5, 1)


def test_what_was_graded_today_is_not_of_today_tomorrow(ada, monkeypatch):
    visit(ada, grade_next)
    forbid_reading_all(monkeypatch)
    monkeypatch.setattr(listing, "_today", lambda: date(2999, 1, 1))
    progress = visit(ada, lambda desk: desk.progress())[0]
    assert (progress.graded, progress.total, progress.today) == (1, 5, 0)


def test_what_i_left_is_passed_over(ada, monkeypatch):
    visit(ada, lambda desk: desk.next(), lambda desk: desk.skip(ItemId("softmax"), "later"))
    forbid_reading_all(monkeypatch)
    assert visit(ada, lambda desk: desk.next()) == [S01]


@pytest.mark.parametrize("change", ["commit", "draft", "settings", "cache"])
def test_the_whole_queue_is_read_where_something_is_different(ada, monkeypatch, change):
    visit(ada, lambda desk: desk.next())
    if change == "commit":
        ada.commit({"queue/softmax/prompt.md": "# Softmax\n"}, "say less")
    elif change == "draft":
        visit(ada, lambda desk: desk.sit(S01).edit("verdict", "", "accept"))
    elif change == "settings":
        ada.commit({"kgrade.yaml": "schema: kgrade/settings@1\norder: shuffled\n"}, "shuffle")
    else:
        with sqlite3.connect(ada.path / ".git" / "kgrade" / "index.sqlite") as base:
            base.execute("UPDATE notes SET data = x'7b'")
    forbid_reading_all(monkeypatch)
    with pytest.raises(AssertionError, match="the whole queue was read"):
        visit(ada, lambda desk: desk.next())


def test_where_all_that_is_known_is_left_the_rest_is_read(ada, monkeypatch):
    monkeypatch.setattr(listing, "_FIRST", 1)
    visit(ada, lambda desk: desk.skip(ItemId("softmax"), "later"), lambda desk: desk.next())
    assert visit(ada, lambda desk: desk.next()) == [S01]
