"""Sending from the desk: what a status says is so, nothing is lost, and two versions end in a choice."""

from __future__ import annotations

import shutil
import threading

import pytest

from kgrade.desk import Desk, DeskError, EmptyQueue
from kgrade.records import codec
from kgrade.records.grade import Grade
from kgrade.records.slugs import ItemId
from kgrade.repository.runner import Git, Result
from tests.desk.conftest import small_queue
from tests.desk.grading_process import next_item
from tests.desk.test_desk import fill

S01 = ItemId("softmax", "s01")
S02 = ItemId("softmax", "s02")
PATH = S01.grade_path("ada")


@pytest.fixture
def hub(make_repo):
    """The queue at a remote."""
    hub = make_repo("hub", bare=True)
    seed = make_repo("seed")
    small_queue(seed)
    seed.git("push", "-q", str(hub.path), "main")
    return hub


@pytest.fixture
def box(make_repo, hub, open_desk):
    """A maker of Ada's desks, each in a clone of its own, as on two machines."""

    def make(name: str) -> tuple[object, Desk]:
        repo = make_repo(name, clone=hub)
        repo.git("config", "user.email", "ada@example.org")
        return repo, open_desk(repo)

    return make


def grade(desk, item=S01, level=3):
    fill(sitting := desk.sit(item), level=level)
    desk.save(sitting)
    return sitting


def level_of(data):
    return codec.decode(Grade, data.encode(), "x.yaml").scores["numerics"].score


def test_the_back_off_grows_from_step_to_step_and_a_remote_that_returns_gets_all(hub, box):
    _, desk = box("one")
    grade(desk)
    away = hub.path.with_name("away")
    hub.path.rename(away)
    waits = [desk.sync().retry_in for _ in range(4)]
    assert waits[3] > waits[2] > waits[1] > waits[0]
    status, why = desk.standing(S01)
    assert status == "Committed"
    assert "cannot be reached" in why
    assert desk.unsent() == 1
    away.rename(hub.path)
    assert desk.sync().state == "pushed"
    assert desk.standing(S01) == ("Pushed", "")
    assert level_of(hub.show(PATH, "main")) == 3


def test_a_hook_that_refuses_is_quoted_and_nothing_is_lost(hub, box):
    _, desk = box("one")
    hook = hub.path / "hooks" / "pre-receive"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\necho 'sign your grades' >&2\nexit 1\n")
    hook.chmod(0o755)
    sitting = grade(desk)
    standing = desk.sync()
    assert (standing.trouble, standing.retry_in) == ("refused", None)
    assert (sitting.status, "sign your grades" in sitting.status_note) == ("Committed", True)
    hook.unlink()
    assert desk.sync().state == "pushed"
    assert sitting.status == "Pushed"


def test_a_status_never_says_pushed_before_the_remote_has_it(hub, box):
    _, desk = box("one")
    ended = threading.Event()
    seen: list[str] = []
    lies: list[str] = []

    def watch():
        while not ended.is_set():
            status = desk.standing(S01)[0]
            if status == "Pushed" and hub.git("ls-tree", "-r", "--name-only", "main", PATH) != PATH:
                lies.append(status)
            if not seen or seen[-1] != status:
                seen.append(status)

    watchers = [threading.Thread(target=watch) for _ in range(2)]
    watchers[0].start()
    grade(desk)
    watchers[1].start()
    sender = threading.Thread(target=desk.sync)
    sender.start()
    sender.join()
    final = desk.standing(S01)
    ended.set()
    for watcher in watchers:
        watcher.join()
    assert lies == []
    assert final == ("Pushed", "")
    assert set(seen) <= {"Untouched", "Committed", "Pushed"}


@pytest.mark.parametrize("keep", ["mine", "theirs"])
def test_one_item_graded_on_two_boxes_is_a_choice_and_both_stay_in_history(hub, box, keep):
    _, there = box("there")
    _, here = box("here")
    grade(here, level=2)
    grade(here, S02, level=3)
    grade(there, level=4)
    assert there.sync().state == "pushed"
    assert here.versions(S01) is None
    assert here.sync().trouble == "collision"
    assert here.standing(S01)[0] == here.standing(S02)[0] == "Committed"
    both = here.versions(S01)
    assert (both.mine.scores["numerics"].score, both.theirs.scores["numerics"].score) == (2, 4)
    assert here.versions(S02) is None
    sitting = here.choose(S01, keep)
    expected = 2 if keep == "mine" else 4
    assert sitting.sheet.scores["numerics"].score == expected
    assert here.sync().state == "pushed"
    assert here.standing(S01) == here.standing(S02) == ("Pushed", "")
    assert level_of(hub.show(PATH, "main")) == expected
    history = [level_of(hub.show(PATH, commit)) for commit in hub.git("rev-list", "main", "--", PATH).split()]
    assert {2, 4} <= set(history)


def test_several_items_with_two_versions_are_chosen_one_after_the_other(hub, box):
    _, there = box("there")
    _, here = box("here")
    for item in (S01, S02):
        grade(here, item, level=2)
        grade(there, item, level=4)
    there.sync()
    assert here.sync().trouble == "collision"
    first = next(item for item in (S01, S02) if here.versions(item))
    second = S02 if first == S01 else S01
    here.choose(first, "mine")
    assert here.versions(first) is None
    assert here.last_standing.trouble == "collision"
    here.choose(second, "theirs")
    assert here.sync().state == "pushed"
    assert level_of(hub.show(first.grade_path("ada"), "main")) == 2
    assert level_of(hub.show(second.grade_path("ada"), "main")) == 4


@pytest.mark.parametrize("keep", ["mine", "theirs"])
def test_a_draft_of_what_was_saved_elsewhere_meanwhile_is_a_choice_too(hub, box, keep):
    _, there = box("there")
    repo, here = box("here")
    fill(draft := here.sit(S01), level=2)
    grade(there, level=4)
    there.sync()
    here.sync()
    with pytest.raises(DeskError, match="choose one of the two"):
        here.save(draft)
    assert draft.status == "Draft"
    both = here.versions(S01)
    assert (both.mine.scores["numerics"].score, both.theirs.scores["numerics"].score) == (2, 4)
    sitting = here.choose(S01, keep)
    if keep == "mine":
        assert sitting.status == "Draft"
        here.save(sitting)
    # What goes to the remote with the claim, which is given back and taken anew, is not for this test to say.
    assert sitting.status == ("Committed" if here.unsent() else "Pushed")
    assert here.sync().state == "pushed"
    assert level_of(hub.show(PATH, "main")) == (2 if keep == "mine" else 4)
    history = [level_of(hub.show(PATH, commit)) for commit in hub.git("rev-list", "main", "--", PATH).split()]
    assert {2, 4} <= set(history)
    assert here.versions(S01) is None
    assert repo.git("status", "--porcelain") == ""


def test_one_version_leaves_nothing_to_choose(box):
    _, desk = box("one")
    grade(desk)
    with pytest.raises(DeskError, match="but one version"):
        desk.choose(S01, "mine")


def test_a_branch_rewritten_by_force_is_an_alarm_until_the_person_goes_on(hub, make_repo, open_desk):
    repo = make_repo("ada", clone=hub)
    desk = Desk.open(repo.path)
    before = hub.git("rev-parse", "main")
    sitting = grade(desk)
    assert desk.sync().state == "pushed"
    saved = hub.git("rev-parse", "main")
    hub.git("update-ref", "refs/heads/main", before)
    assert desk.sync().trouble == "rewritten"
    assert "main was rewritten on origin" in desk.alarms[0]
    assert sitting.status == "Committed"
    assert "was rewritten" in sitting.status_note
    desk.close()
    again = open_desk(repo)
    assert again.standing(S01)[0] == "Committed"
    told = again.accept_rewrite()
    assert len(told) == 1
    assert "your grade of softmax/s01 is not in the rewritten branch" in told[0]
    kept = told[0].split("; ")[1].removesuffix(" holds it")
    assert level_of(repo.git("show", kept)) == 3
    assert repo.git("rev-parse", kept.partition(":")[0]) == saved
    assert again.alarms == []
    assert again.standing(S01)[0] == "Untouched"


def test_with_a_branch_for_each_evaluator_the_queue_and_the_others_are_followed(hub, make_repo, open_desk):
    seed = make_repo("lead", clone=hub)
    settings = "grades_ref: refs/heads/grades/{evaluator}\ngraders_per_item: 2\n"
    seed.commit({"kgrade.yaml": settings})
    seed.git("push", "-q", "origin", "main")
    desks = {name: open_desk(make_repo(name, clone=hub)) for name in ("ada", "bob")}
    grade(desks["bob"])
    assert desks["bob"].sync().state == "pushed"
    seed.commit({"queue/scan/submissions/s02/submission.yaml": "schema: kgrade/submission@1\n"})
    seed.git("push", "-q", "origin", "main")
    assert desks["ada"].sync().state == "pushed"
    rows = {str(place.row.id): place for place in desks["ada"].rows()}
    assert [found.evaluator for found in rows["softmax/s01"].row.grades] == ["bob"]
    assert "scan/s02" in rows
    bob = make_repo("other", clone=hub)
    bob.git("checkout", "-q", "-b", "fresh", "origin/main")
    bob.git("push", "-q", "--force", "origin", "fresh:grades/bob")
    desks["ada"].sync()
    desks["ada"].sync()
    assert "grades/bob was rewritten" in desks["ada"].alarms[0]
    assert [found.evaluator for found in desks["ada"].item(S01).grades] == ["bob"]


def test_a_blind_evaluator_does_not_even_fetch_what_others_think(hub, make_repo, open_desk):
    seed = make_repo("lead", clone=hub)
    seed.commit({"kgrade.yaml": "grades_ref: refs/heads/grades/{evaluator}\nblind: true\ngraders_per_item: 2\n"})
    seed.git("push", "-q", "origin", "main")
    ada, bob = make_repo("ada", clone=hub), make_repo("bob", clone=hub)
    grade(desk := open_desk(bob))
    desk.sync()
    open_desk(ada).sync()
    assert "grades/bob" not in ada.git("for-each-ref")


def test_what_only_unpushed_commits_hold_is_not_read_and_that_is_said(hub, box):
    repo, desk = box("one")
    shutil.copytree(repo.path / "queue" / "scan", repo.path / "queue" / "mine")
    repo.git("add", "queue/mine")
    repo.git("commit", "-q", "-m", "a task of mine")
    with pytest.raises(DeskError, match="your main has 1 commit that is not at origin") as caught:
        desk.item(ItemId("mine"))
    assert "git push origin main" in str(caught.value)
    assert "mine" not in {str(place.row.id) for place in desk.rows()}
    while isinstance(item := desk.next(), ItemId):
        grade(desk, item)
    assert isinstance(item, EmptyQueue)
    assert "your main has 1 commit that is not at origin" in item.reasons[-1]
    repo.git("push", "-q", "origin", "main")
    desk.sync()
    assert desk.next() == ItemId("mine")


def test_a_remote_that_only_reads_is_said_at_start_and_a_bundle_is_the_way_out(hub, box, tmp_path):
    repo, desk = box("one")
    repo.git("remote", "set-url", "--push", "origin", str(hub.path.with_name("nowhere")))
    desk.sync()
    assert "origin can only be read from here" in desk.notes[0]
    assert "nowhere" in desk.notes[0]
    grade(desk)
    assert (desk.sync().state, desk.notes) == ("committed", [])
    assert desk.standing(S01)[0] == "Committed"
    assert desk.bundle(tmp_path / "for-a-lead") == 1


def test_a_remote_that_may_be_written_to_is_asked_once(box):
    _, desk = box("one")
    for _ in range(3):
        desk.sync()
    assert desk.notes == []
    assert sum("--dry-run" in entry.arguments for entry in desk.git.log) == 1


def pushed_refs(desk):
    """Of each push that was no trial: the refs that it was to move."""
    pushes = [entry.arguments for entry in desk.git.log if entry.arguments[0] == "push"]
    return [
        [each.partition(":")[2] for each in found if ":refs/" in each] for found in pushes if "--dry-run" not in found
    ]


def save_and_go_on(desk):
    """What the screen does with a finished sheet; the saved item and the next."""
    item = desk.next()
    fill(sitting := desk.sit(item))
    desk.save(sitting, follow=False)
    sitting.close()
    return item, desk.next()


def test_a_grade_the_mark_on_its_claim_and_the_next_claim_go_in_one_push(hub, box):
    _, desk = box("one")
    desk.sync()
    saved, then = save_and_go_on(desk)
    assert desk.standing(saved) == ("Pushed", "")  # as the server has said
    assert hub.show(saved.grade_path("ada"), "main") != ""
    assert desk.unsent() == 0
    assert desk.sync().state == "pushed"
    assert desk.standing(saved) == ("Pushed", "")
    claims = "refs/kgrade/claims/softmax/{}/1"
    assert (saved, then) == (ItemId("softmax"), S01)
    assert pushed_refs(desk) == [
        [claims.format("_task")],
        [claims.format("s01"), "refs/heads/main", claims.format("_task")],
    ]
    states = {place: hub.git("log", "-1", "--format=%s", claims.format(place)) for place in ("_task", "s01")}
    assert states == {"_task": "claim: softmax done (ada)", "s01": "claim: softmax/s01 held (ada)"}


def test_a_push_that_landed_and_whose_answer_is_lost_is_found_by_looking(hub, box, monkeypatch):
    run, lost = Git.run, []

    def losing(git, arguments, **options):
        result = run(git, arguments, **options)
        if not lost and any(each.endswith(":refs/heads/main") for each in arguments if "--dry-run" not in arguments):
            lost.append(result.text)
            return Result(b"", b"fatal: early EOF", 128)
        return result

    _, desk = box("one")
    desk.sync()
    item = desk.next()
    fill(sitting := desk.sit(item))
    monkeypatch.setattr(Git, "run", losing)
    desk.save(sitting, follow=False)
    sitting.close()
    then = next_item(desk)
    assert "refs/heads/main" in lost[0]
    assert desk.sync().state == "pushed"
    assert desk.standing(item) == ("Pushed", "")
    assert len(hub.git("rev-list", "main", "--", item.grade_path("ada")).split()) == 1
    assert desk.sit(then).read_only is None
    held = hub.git("for-each-ref", "--format=%(refname) %(contents:subject)", "refs/kgrade/claims").splitlines()
    assert [line.partition(" ")[2] for line in held] == [
        f"claim: {item} done (ada)",
        f"claim: {then} renewed (ada)",  # it was there already
    ]


def test_who_has_a_pre_push_hook_is_asked_by_it_for_every_grade(hub, box):
    repo, desk = box("one")
    heard = repo.path.with_name("heard")
    hook = repo.path / ".git/hooks/pre-push"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f"#!/bin/sh\ncat >> {heard}\n")
    hook.chmod(0o755)
    desk.sync()
    save_and_go_on(desk)
    assert desk.sync().state == "pushed"
    assert "refs/heads/main" in heard.read_text()
    assert [refs[0] for refs in pushed_refs(desk) if "refs/heads/main" in refs] == ["refs/heads/main"]


def test_a_server_that_refuses_a_grade_keeps_nobody_from_the_next_claim(hub, box):
    _, desk = box("one")
    desk.sync()
    hook = hub.path / "hooks" / "pre-receive"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\nif grep -q refs/heads; then echo 'sign your grades' >&2; exit 1; fi\n")
    hook.chmod(0o755)
    saved, then = save_and_go_on(desk)
    assert desk.sit(then).status_note == ""
    assert desk.sync().trouble == "refused"
    assert "sign your grades" in desk.standing(saved)[1]
    hook.unlink()
    assert desk.sync().state == "pushed"


def test_who_comes_second_with_all_three_sends_the_grade_again(hub, box, make_repo):
    _, desk = box("one")
    desk.sync()
    lead = make_repo("lead", clone=hub)
    lead.commit({"README": "lead\n"})
    lead.git("push", "-q", "origin", "main")
    saved, _ = save_and_go_on(desk)
    assert desk.sync().state == "pushed"
    assert desk.standing(saved) == ("Pushed", "")
    assert hub.show("README", "main") == "lead"
    assert hub.show(saved.grade_path("ada"), "main")
