"""The cache of a queue: brought up to date by the change alone, rebuilt at will, never in the way."""

import os
import sqlite3

import pytest

from kgrade.records.slugs import ItemId
from kgrade.repository import index as index_module
from kgrade.repository.history import touches
from kgrade.repository.index import Index
from kgrade.repository.runner import Git
from kgrade.repository.tree import Snapshot, TreeReader
from tests.desk.conftest import SMALL_QUEUE

GRADE = """\
schema: kgrade/grade@1
item: softmax/s01
evaluator: ada
rubric: {id: generation, sha256: 4f}
about: {task_tree: 9c}
verdict: revise
total: 40.5
times: {opened: 2026-11-03T09:30:00Z, saved: 2026-11-03T09:37:00Z}
"""
GRADE_PATH = "queue/softmax/submissions/s01/grades/ada.yaml"
MAIN = "refs/heads/main"


@pytest.fixture
def repo(make_repo):
    made = make_repo("queue")
    made.commit(SMALL_QUEUE, "a queue")
    return made


def open_index(repo):
    return Index(TreeReader(Git.open(repo.path)))


def follow(index, repo):
    return index.update((MAIN, repo.git("rev-parse", "main")))


def row(index, name):
    return next(each for each in index.rows() if str(each.id) == name)


def test_a_new_cache_holds_the_whole_queue(repo):
    index = open_index(repo)
    assert follow(index, repo)
    assert [str(each.id) for each in index.rows()] == ["scan", "scan/s01", "softmax", "softmax/s01", "softmax/s02"]
    task = row(index, "softmax")
    assert (task.title, task.type, task.targets) == ("Row-wise softmax", "generation", ["sm_90", "cpu"])
    assert row(index, "softmax/s02").supersedes == "s01"
    assert not follow(index, repo)


def test_only_what_changed_is_read_again(repo, monkeypatch):
    index = open_index(repo)
    follow(index, repo)
    read = []
    real = index_module.codec.decode
    monkeypatch.setattr(
        index_module.codec, "decode", lambda kind, data, path: (read.append(path), real(kind, data, path))[1]
    )
    repo.commit({GRADE_PATH: GRADE})
    assert follow(index, repo)
    assert read == [GRADE_PATH]
    (grade,) = row(index, "softmax/s01").grades
    assert (grade.evaluator, grade.verdict, grade.total, grade.sheet) == ("ada", "revise", 40.5, "4f")


def test_what_goes_from_the_queue_goes_from_the_cache(repo):
    repo.commit({GRADE_PATH: GRADE})
    index = open_index(repo)
    follow(index, repo)
    repo.git("rm", "-rq", GRADE_PATH, "queue/scan/submissions/s01")
    repo.git("commit", "-qm", "less")
    follow(index, repo)
    assert row(index, "softmax/s01").grades == []
    assert "scan/s01" not in [str(each.id) for each in index.rows()]


def test_evidence_goes_stale_with_the_bytes_it_is_about(repo):
    snapshot = Snapshot(TreeReader(Git.open(repo.path)), repo.git("rev-parse", "main"))
    solution = snapshot.solution_tree(ItemId("softmax", "s01"))
    trees = f'{{"task_tree": "{snapshot.task_tree("softmax")}", "solution_tree": "{solution}"}}'
    evidence = (
        '{"schema": "kgrade/evidence@1", "item": "softmax/s01", "target": "cpu", "collected": "2026-11-03T09:30:00Z",'
        f' "inputs": {trees}, "tool": {{"version": "0"}}, "stages": {{}},'
        ' "environment": {"hardware": "a CPU", "interpreter": true, "sandbox": "none"}}'
    )
    repo.commit({"queue/softmax/submissions/s01/evidence/cpu.json": evidence})
    index = open_index(repo)
    follow(index, repo)
    (fresh,) = row(index, "softmax/s01").evidence
    assert (fresh.target, fresh.stale, fresh.stages["build"]) == ("cpu", False, "not-run")
    repo.commit({"queue/softmax/prompt.md": "# Another\n"})
    follow(index, repo)
    assert row(index, "softmax/s01").evidence[0].stale


def test_faults_are_kept_and_the_rest_goes_on(repo):
    repo.commit(
        {
            "queue/softmax/submissions/s01/submission.yaml": "author: 3\n",
            GRADE_PATH: b"\xff",
            "queue/softmax/submissions/Bad Name/submission.yaml": "author: x\n",
            "queue/Not A Slug/task.yaml": "x\n",
        }
    )
    index = open_index(repo)
    follow(index, repo)
    broken = row(index, "softmax/s01")
    assert any("author: found 3, expected text" in fault for fault in broken.faults)
    assert "not UTF-8" in broken.grades[0].fault
    assert any("no name for a submission" in fault for fault in row(index, "softmax/Bad Name").faults)
    assert row(index, "softmax/s02").faults == []


def test_a_damaged_or_old_cache_is_rebuilt(repo):
    index = open_index(repo)
    follow(index, repo)
    index.close()
    path = Git.open(repo.path).common_dir / "kgrade" / "index.sqlite"
    for name in os.listdir(path.parent):
        (path.parent / name).write_bytes(b"SQLite format 3\0" + b"not at all" * 500)
    again = open_index(repo)
    follow(again, repo)
    assert len(again.rows()) == 5
    again.close()
    with sqlite3.connect(path) as base:
        base.execute("PRAGMA user_version = 999")
    assert follow(open_index(repo), repo)


def test_a_cache_that_cannot_be_written_is_kept_in_memory(repo):
    folder = Git.open(repo.path).common_dir / "kgrade"
    folder.write_text("a file where the folder should be")
    index = open_index(repo)
    follow(index, repo)
    assert len(index.rows()) == 5


def test_a_rewritten_history_is_followed(repo):
    index = open_index(repo)
    repo.commit({GRADE_PATH: GRADE})
    follow(index, repo)
    repo.git("reset", "-q", "--hard", "HEAD~1")
    repo.git("reflog", "expire", "--expire=now", "--all")
    repo.git("gc", "-q", "--prune=now")
    follow(index, repo)
    assert row(index, "softmax/s01").grades == []


def test_items_of_a_history_that_is_gone_go_with_it(repo):
    index = open_index(repo)
    repo.commit({"queue/later/task.yaml": "x\n"})
    follow(index, repo)
    repo.git("reset", "-q", "--hard", "HEAD~1")
    repo.git("reflog", "expire", "--expire=now", "--all")
    repo.git("gc", "-q", "--prune=now")
    follow(index, repo)
    assert "later" not in {each.id.task for each in index.rows()}
    assert row(index, "softmax/s01").faults == []


def test_a_damaged_object_is_named_and_the_rest_goes_on(repo):
    commit = repo.commit({GRADE_PATH: GRADE})
    blob = repo.git("rev-parse", f"{commit}:{GRADE_PATH}")
    path = repo.path / ".git/objects" / blob[:2] / blob[2:]
    good = path.read_bytes()
    path.chmod(0o644)
    path.write_bytes(b"garbage")
    index = open_index(repo)
    follow(index, repo)
    assert blob in row(index, "softmax/s01").grades[0].fault
    assert row(index, "softmax/s02").faults == []
    path.write_bytes(good)


def test_grades_of_several_refs_are_joined_and_forgotten_with_their_ref(repo):
    repo.git("switch", "-q", "--orphan", "grades/bob")
    repo.commit({GRADE_PATH.replace("ada", "bob"): GRADE.replace("ada", "bob")})
    repo.git("switch", "-q", "main")
    index = open_index(repo)
    main = (MAIN, repo.git("rev-parse", "main"))
    index.update(main, {"refs/heads/grades/bob": repo.git("rev-parse", "grades/bob")})
    assert [grade.evaluator for grade in row(index, "softmax/s01").grades] == ["bob"]
    index.update(main, {})
    assert row(index, "softmax/s01").grades == []


def test_history_names_the_commits_that_touched_an_item(repo):
    repo.commit({GRADE_PATH: GRADE}, "grade: softmax/s01")
    repo.commit({"queue/scan/prompt.md": "x\n"}, "elsewhere")
    found = touches(Git.open(repo.path), "main", ItemId("softmax", "s01").folder)
    assert [(touch.what, touch.paths) for touch in found] == [
        ("grade: softmax/s01", ("grades/ada.yaml",)),
        ("a queue", ("solution/kernel.py", "submission.yaml")),
    ]
    assert found[0].who == "Queue"
