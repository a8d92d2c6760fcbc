"""Which item is next, and an empty queue that accounts for every item."""

from hypothesis import given
from hypothesis import strategies as st

from kgrade.records.settings import Settings
from kgrade.records.slugs import ItemId
from kgrade.repository.index_rows import GradeRow, ItemRow
from kgrade.repository.order import EmptyQueue, in_order, next_item, places
from kgrade.repository.plan import Plan


def row(name, created="", by=(), faults=(), supersedes=None):
    grades = [GradeRow(evaluator=who, verdict="accept", total=1.0, points=1.0, saved="", sheet="") for who in by]
    return ItemRow(
        id=ItemId.parse(name),
        title="",
        type="",
        language="",
        targets=[],
        author="",
        created=created,
        supersedes=supersedes,
        faults=list(faults),
        grades=grades,
        evidence=[],
    )


ROWS = [
    row("new"),
    row("new/s01", "2026-11-09T00:00:00Z"),
    row("old"),
    row("old/s02", "2026-11-02T00:00:00Z"),
    row("old/s01", "2026-11-03T00:00:00Z"),
]


def placed(rows, **given):
    settings = {"evaluator": "ada", "plan": Plan(Settings()), "drafts": [], "holders": {}, "skipped": {}} | given
    return places(rows, **settings)


def names(rows):
    return [str(each.id) for each in rows]


def test_a_review_comes_before_its_submissions_and_older_tasks_first():
    assert names(in_order(ROWS, order="fifo", evaluator="ada")) == ["old", "old/s02", "old/s01", "new", "new/s01"]


def test_shuffled_orders_differ_by_evaluator_and_stay():
    many = [row(f"t{n}") for n in range(20)]
    ada = names(in_order(many, order="shuffled", evaluator="ada"))
    assert ada == names(in_order(list(reversed(many)), order="shuffled", evaluator="ada"))
    assert ada != names(in_order(many, order="shuffled", evaluator="bob"))


def test_drafts_come_first_then_what_follows():
    assert next_item(placed(ROWS, drafts=["new/s01"]), ["new/s01"]) == ItemId("new", "s01")
    assert next_item(placed(ROWS), [], after=ItemId("old")) == ItemId("old", "s02")
    assert next_item(placed(ROWS), [], after=ItemId("old", "s01")) == ItemId("new")


def test_the_only_item_left_is_offered_again():
    (only,) = [row("one")]
    assert next_item(placed([only]), [], after=ItemId("one")) == ItemId("one")


def test_an_empty_queue_accounts_for_every_item():
    rows = [
        row("a", by=["ada"]),
        row("b", by=["bob"]),
        row("c"),
        row("d"),
        row("e", faults=["queue/e/task.yaml: bad"]),
        row("e/s01"),
    ]
    found = placed(rows, holders={ItemId("c"): "by bob until 14:05"}, skipped={ItemId("d"): "no time"})
    empty = next_item(found, [])
    assert isinstance(empty, EmptyQueue)
    assert empty.reasons == [
        "6 items in the queue",
        "1 graded by you",
        "1 graded by others, as often as this queue asks",
        "c is held: by bob until 14:05",
        "d left by you: no time",
        "2 cannot be read (kgrade check names every fault)",
    ]
    assert "Q" in empty.hint


def test_an_item_that_wants_two_graders_is_open_to_the_second():
    found = placed([row("a", by=["bob"])], plan=Plan(Settings(graders_per_item=2)))
    assert next_item(found, []) == ItemId("a")


def test_a_queue_without_items_says_so():
    assert next_item([], []).reasons == ["the queue holds no items"]


@given(
    st.lists(st.sampled_from(["open", "graded", "claimed", "faulty", "skipped"]), max_size=8),
    st.integers(0, 8),
)
def test_an_open_item_is_always_found_and_nothing_else(states, after):
    rows = [
        row(f"t{n}", by=["ada"] if state == "graded" else [], faults=["x"] if state == "faulty" else [])
        for n, state in enumerate(states)
    ]
    found = placed(
        rows,
        holders={rows[n].id: "x" for n, state in enumerate(states) if state == "claimed"},
        skipped={rows[n].id: "x" for n, state in enumerate(states) if state == "skipped"},
    )
    chosen = next_item(found, [], after=ItemId(f"t{after}"))
    if "open" in states:
        assert states[int(chosen.task[1:])] == "open"
    else:
        assert isinstance(chosen, EmptyQueue)
