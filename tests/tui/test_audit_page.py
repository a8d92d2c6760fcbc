"""The audit and the adjudication on a real queue and a headless screen, by keys alone."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

import pytest

from kgrade.audit.agreement import agreement
from kgrade.audit.lead import Office
from kgrade.audit.ratings import Graded
from kgrade.desk import Desk
from kgrade.records import codec
from kgrade.records.adjudication import Adjudication
from kgrade.records.comparison import Comparison
from kgrade.records.slugs import ItemId
from kgrade.tui.audit_view import agreement_listing
from kgrade.tui.panes import panes
from kgrade.tui.screens.office import OfficeWork, Told
from tests.audit.sealed import HOUR, START, Queue
from tests.conftest import Repo
from tests.tui.lead_queue import lead_queue
from tests.tui.stages import Play, play

Scene = Callable[[Play], Awaitable[None]]
DECISION = "queue/softmax/submissions/s02/adjudication.yaml"


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    repo = Repo(tmp_path_factory.mktemp("led"))
    repo.git("init", "-q", "-b", "main")
    lead_queue(repo)
    return repo.path


@pytest.fixture
def repo(original: Path, tmp_path: Path) -> Repo:
    shutil.copytree(original, tmp_path / "queue")
    return Repo(tmp_path / "queue")


@pytest.fixture
def seen(repo: Repo) -> Iterator[Callable[..., None]]:
    """Plays a scene at the queue, as Lea unless said otherwise."""
    desks: list[Desk] = []

    def at(scene: Scene, *, who: str = "lea", size: tuple[int, int] = (80, 24)) -> None:
        desk = Desk.open(repo.path, evaluator=who)
        desks.append(desk)
        play(scene, desk=desk, makers=panes(desk.history), size=size)  # type: ignore[arg-type]

    yield at
    for desk in desks:
        desk.close()


def make_blind(repo: Repo) -> None:
    text = (repo.path / "kgrade.yaml").read_text()
    repo.commit({"kgrade.yaml": f"{text}blind: true\n"}, "grade blind")


def test_every_pane_of_the_audit_is_a_key_away(seen: Callable[..., None]) -> None:
    async def scene(on: Play) -> None:
        await on.press("A")
        assert "28 grades by 3 evaluators" in on.lines[0]
        assert "AGREEMENT" in on.lines[1]
        assert "✓  numerics          12   83 %   92 %  0.917 [0.60, 1.00]  0.898 [0.75, 1.00]" in on.text
        await on.press("e")
        assert "ada            12      12  -0.03    -0.03" in on.text
        assert "ada        —  0.98/12  n/a/4" in on.text
        assert "n/a for ada & eve, bob & eve: 4 items rated twice; a coefficient needs 10" in on.text
        await on.press("t")
        assert "rushed  eve on softmax/s09" in on.text
        assert "graded in 48 s; the median for generation is 390 s" in on.text
        await on.press("c")
        assert "finished     12 of 13" in on.text
        assert "n/a: no grade in the last 7 days" in on.text
        await on.press("d")
        assert "3 to decide, 0 decided" in on.text
        await on.press("\t")
        assert "LOG" in on.lines[1]
        await on.press("v")
        assert "VERIFY ✗" not in on.lines[1]
        assert "28 grades, 4 commits, 0 seals" in on.text
        await on.press("q")
        assert on.lines[0].startswith("softmax")

    seen(scene)


def test_enter_and_the_history_key_tell_what_a_line_is_about(seen: Callable[..., None]) -> None:
    async def scene(on: Play) -> None:
        await on.press("A")
        await on.press("\r")
        assert "history of criterion numerics" in on.text
        await on.press("ejL")
        assert "history of evaluator bob" in on.text
        assert "12 saves" in on.text
        await on.press("djL")
        assert "history of item softmax/s07" in on.text
        assert "2 saves" in on.text
        await on.press("o")
        assert "commit" in on.text
        await on.press("L")
        assert "history of all grades" in on.text
        assert "28 saves" in on.text

    seen(scene, size=(160, 48))


def test_an_item_is_adjudicated_and_the_decision_is_a_commit_that_says_what_it_changed(
    seen: Callable[..., None], repo: Repo
) -> None:
    async def scene(on: Play) -> None:
        await on.press("A")
        await on.press("d\r")
        assert on.lines[0].startswith("softmax/s02  adjudication 1 of 3")
        assert "numerics: ada 2, bob 4" in on.text
        assert "2 levels apart" in on.text
        await on.press("S")
        assert "gate wrong-result: ada yes, bob no; whether it holds is not settled" in on.text
        await on.press("q")
        await on.press("32")  # numerics, then scoping, each where the focus goes by itself
        await on.press("x1q")
        await on.press("v2C3")
        await on.press("cRows of -inf were overlooked.\r")
        assert "wrong-result" in on.lines[-3]
        await on.press("S")
        await on.settled()  # the next item is read once the decision is saved
        assert on.lines[0].startswith("softmax/s07  adjudication 2 of 3")
        assert "softmax/s02: revise 0" in on.message
        assert "accept > revise" in on.text
        await on.press("q")
        assert "2 to decide, 1 decided" in on.text

    seen(scene, size=(160, 48))
    made = codec.decode(Adjudication, repo.show(DECISION).encode(), DECISION)
    assert (made.lead, made.verdict, made.total, made.cause) == ("lea", "revise", 0.0, "slip")
    assert made.reason == "Rows of -inf were overlooked."
    assert made.scores == {"numerics": 3, "scoping": 2}
    assert set(made.grades) == {"ada", "bob"}
    assert repo.git("log", "-1", "--format=%s") == "adjudicate: softmax/s02 revise 0 (lea)"


def test_the_evidence_is_a_key_away_and_an_unsaved_decision_is_not_lost_unasked(seen: Callable[..., None]) -> None:
    async def scene(on: Play) -> None:
        await on.press("A")
        await on.press("d\r")
        await on.press("s")
        assert "SRC" in on.lines[1] or "SOURCE" in on.lines[1]
        assert "return torch.exp(x)" in on.text
        await on.press("3a")
        assert "Draft" in on.lines[0]
        await on.press("q")
        assert "is not saved and would be lost (y/n)" in on.message
        await on.press("n")
        await on.press(">")
        assert on.lines[0].startswith("softmax/s07")
        await on.press("<")
        assert "numerics         3" in on.text
        await on.press("qy")
        assert "DIFFER" in on.lines[1]

    seen(scene)


def test_who_does_not_lead_looks_and_cannot_decide(seen: Callable[..., None]) -> None:
    async def scene(on: Play) -> None:
        await on.press("A")
        await on.press("d\r")
        assert "ada" in on.text
        await on.press("S")
        assert on.message == "only a lead decides; leads of this queue: lea"

    seen(scene, who="ada")


def test_a_blind_queue_hides_who_said_what_from_leads_and_the_rest_from_all_others(
    seen: Callable[..., None], repo: Repo
) -> None:
    make_blind(repo)

    async def as_lea(on: Play) -> None:
        await on.press("A")
        await on.press("d")
        assert "ada" not in on.text
        await on.press("\r")
        assert "numerics: A 2, B 4" in on.text
        await on.press("L")
        assert "who did what to this item is not shown" in on.text
        await on.press("q")
        await on.press("L")
        assert "history of item softmax/s02" in on.text
        assert "ada" not in on.text
        await on.press("e")
        assert "ada" in on.text  # how strict somebody is can only be said of somebody

    async def as_eve(on: Play) -> None:
        await on.press("A")
        assert "numerics" in on.text
        for key in "detLv":
            await on.press(key)
            assert on.message == "this queue is blind: only its leads see this"
        await on.press("\r")
        assert on.message == "this queue is blind: only its leads see this"
        await on.press("c")
        assert "finished" in on.text
        assert "ada" not in on.text

    seen(as_lea)
    seen(as_eve, who="eve")


def test_two_submissions_stand_side_by_side_and_a_preference_is_a_commit(seen: Callable[..., None], repo: Repo) -> None:
    async def scene(on: Play) -> None:
        await on.press("A")
        await on.press("d\r")
        await on.press("=")
        assert "compare softmax/s02 with" in on.message
        await on.press("1")
        assert on.lines[0].startswith("softmax/s01 | s02  comparison")
        assert "bob's grade  revise 0  accept 65" in on.text
        await on.press("d")
        assert "solution against softmax/s01" in on.text
        assert "VARIANT = 's01'" in on.text
        await on.press("s")
        both = next(line for line in on.lines if "VARIANT = 's01'" in line)
        assert "│" in both
        assert "VARIANT = 's02'" in both
        for key, said in (("b", "build"), ("t", "tests"), ("p", "perf"), ("r", "profile"), ("f", "find")):
            await on.press(key)
            assert said.upper() in on.lines[1]
            assert sum("No evidence has been collected" in half for half in on.text.split("│")) == 2
        await on.press("2\r")
        assert on.message == "a preference needs its reason; nothing was changed"
        await on.press("2It keeps -inf.\r")
        await on.settled()  # both are read again once the preference is saved
        assert on.message.startswith("you prefer s02 to s01, ")
        assert "s02 preferred" in on.lines[0]
        await on.press("a")
        assert "✓ you prefer s02 to s01: It keeps -inf." in on.text
        await on.press("q")
        assert on.lines[0].startswith("softmax/s02  adjudication 1 of 3")

    seen(scene, size=(160, 48))
    path = "queue/softmax/comparisons/lea/s01--s02.yaml"
    made = codec.decode(Comparison, repo.show(path).encode(), path)
    assert (made.preferred, made.reason, made.evaluator) == ("second", "It keeps -inf.", "lea")


def test_a_blind_comparison_names_no_grader_and_shows_no_grade_before_ones_own(
    seen: Callable[..., None], repo: Repo
) -> None:
    make_blind(repo)

    async def as_ada(on: Play) -> None:
        await on.press("A")
        on.app.page.leading.compare(ItemId.parse("softmax/s01"), ItemId.parse("softmax/s02"))
        await on.settled()
        assert "ada's grade" in on.text
        assert "grader A's grade" in on.text
        assert "bob" not in on.text

    async def as_eve(on: Play) -> None:
        on.app.page.leading.compare(ItemId.parse("softmax/s01"), ItemId.parse("softmax/s02"))
        await on.settled()
        assert "Neither has evidence or a grade." in on.text
        on.app.page.leading.adjudicate(ItemId.parse("softmax/s02"))
        await on.settled()
        assert on.message == "only a lead can do this, and eve is none; leads of this queue: lea"

    seen(as_ada, who="ada")
    seen(as_eve, who="eve")


def test_the_report_and_an_export_are_written_where_one_says(seen: Callable[..., None], tmp_path: Path) -> None:
    async def scene(on: Play) -> None:
        await on.press("A")
        await on.press(f"W\x15{tmp_path}/audit.html\r")
        assert "wrote" in on.message
        await on.press(f"x1\x15{tmp_path}/grades.jsonl\r")
        assert "wrote" in on.message
        await on.press(f"x1\x15{tmp_path}/grades.jsonl\r")
        assert "is there already; replace it? (y/n)" in on.message
        await on.press("n")

    seen(scene, size=(160, 48))
    assert "<svg" in (tmp_path / "audit.html").read_text()
    assert len((tmp_path / "grades.jsonl").read_text().splitlines()) == 28


def test_what_is_asked_can_be_given_up_and_says_how_far_it_is(seen: Callable[..., None], repo: Repo) -> None:
    begun, ended = threading.Event(), threading.Event()

    def endless(office: Office, told: Told) -> None:
        try:
            while True:
                told("counting")
                begun.set()
        finally:
            ended.set()

    async def scene(on: Play) -> None:
        office = OfficeWork(on.app.stage, repo.path)
        office.ask("counting", endless, lambda answer: None)
        while not begun.is_set():
            await on.pilot.pause()
        assert on.message == "counting… q cancels"
        assert office.give_up()
        assert not office.give_up()
        await on.settled()
        assert ended.wait(60)
        said: list[str] = []
        office.ask("asking", lambda at, told: at.queue.short, said.append)
        await on.settled()
        assert said == ["main"]
        office.close()
        await on.settled()

    seen(scene)


def test_tampering_is_named_on_the_screen_with_the_command_that_shows_it(seen: Callable[..., None], repo: Repo) -> None:
    made = Queue(repo, {})
    made.now = START + 100 * HOUR
    made.forge("ada", "softmax/s01", "bob", key=None)

    async def scene(on: Play) -> None:
        await on.press("A")
        await on.press("v")
        assert "v VERIFY 1✗" in on.lines[1] or "v VERIFY1✗" in on.lines[1]
        assert "✗ 1 alarm" in on.text
        assert "✗ edited-by-another: " in on.text
        assert "see: git " in on.text
        assert any(line.startswith("> ✗ edited-by-another") for line in on.lines)

    seen(scene, size=(100, 30))


def test_a_degenerate_table_says_why_it_has_no_coefficient() -> None:
    same = [
        Graded(item=f"t/s{at:02}", evaluator=who, rubric="generation", scores={"numerics": 3, "scoping": at % 5})
        for at in range(12)
        for who in ("ada", "bob")
    ]
    few = [each for each in same if each.item < "t/s04"]
    lines = agreement_listing(agreement(same, {"generation": 4}), wide=False).lines
    text = [lines[at].text for at in range(len(lines))]
    assert any(line.startswith("—  numerics") and "n/a" in line for line in text)
    assert any(line.startswith("✓  scoping") and "1.000" in line for line in text)
    assert any(line.startswith("— n/a for numerics: ") and len(line) > 30 for line in text)
    lines = agreement_listing(agreement(few, {"generation": 4}), wide=False).lines
    text = [lines[at].text for at in range(len(lines))]
    assert "— n/a for all of them: 4 items rated twice; a coefficient needs 10" in text
    assert not any(word in line for line in text for word in ("nan", "None"))
    assert agreement_listing(agreement([], {}), wide=False).lines[0].text.startswith("There is no grade yet")
