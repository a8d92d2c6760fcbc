"""Every fault of a queue gives one clear sentence, and the other items go on."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from kgrade.records import codec
from kgrade.records.faults import Fault
from kgrade.records.task import Task
from kgrade.repository.check import check
from kgrade.repository.folder import Folder
from kgrade.repository.runner import Git
from kgrade.repository.tree import Snapshot, TreeReader
from tests.conftest import Repo

ROOT = Path(__file__).parents[2]
TASK = "queue/histogram-u8"
OTHER = "queue/scan-inclusive"
FIRST = f"{TASK}/submissions/s01"
GRADE = """\
schema: kgrade/grade@1
item: histogram-u8/s01
evaluator: ada
rubric: {id: generation, sha256: "0000"}
about: {task_tree: "1111", solution_tree: "2222"}
times: {opened: 2026-01-01T10:00:00Z, active_s: 60, saved: 2026-01-01T10:05:00Z}
"""


@pytest.fixture
def sample(make_repo: Callable[..., Repo]) -> Repo:
    """Two sound tasks of the sample queue, committed."""
    repo = make_repo("sample")
    for folder in ("rubrics", TASK, OTHER):
        shutil.copytree(ROOT / folder, repo.path / folder)
    repo.git("add", ".")
    repo.git("commit", "-q", "-m", "queue")
    return repo


def faults_of(repo: Repo) -> list[Fault]:
    """The faults in the working folder, which must be those of the same files in a commit."""
    on_disk = check(Folder(repo.path))
    repo.git("add", "--all")
    repo.git("commit", "-q", "--allow-empty", "-m", "as it is")
    committed = check(Snapshot(TreeReader(Git.open(repo.path)), repo.git("rev-parse", "HEAD")))
    where = [(fault.path, fault.line, fault.where) for fault in on_disk]
    assert where == [(fault.path, fault.line, fault.where) for fault in committed]
    return on_disk


def edit(repo: Repo, path: str, old: str, new: str) -> None:
    text = (repo.path / path).read_text()
    assert old in text
    (repo.path / path).write_text(text.replace(old, new, 1))


def test_a_sound_queue_has_no_fault(sample: Repo) -> None:
    assert faults_of(sample) == []


def test_the_sample_queue_of_the_project_is_sound() -> None:
    assert check(Folder(ROOT)) == []


BOMB = "schema: kgrade/task@1\na: &a [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{b}: &{b} [*{a}, *{a}, *{a}, *{a}, *{a}, *{a}, *{a}, *{a}, *{a}, *{a}]\n" for a, b in zip("abcdefg", "bcdefgh")
)

CASES: dict[str, tuple[dict[str, str | bytes | None], str, tuple[str, ...]]] = {
    "no task.yaml": ({f"{TASK}/task.yaml": None}, f"{TASK}/task.yaml", ("missing", "write")),
    "no prompt": ({f"{TASK}/prompt.md": None}, f"{TASK}/prompt.md", ("nothing", "Markdown")),
    "no submission.yaml": ({f"{FIRST}/submission.yaml": None}, f"{FIRST}/submission.yaml", ("missing", "write")),
    "no rubric": ({"rubrics/task-review.yaml": b"\xff"}, "rubrics/task-review.yaml", ("UTF-8",)),
    "bad YAML": ({f"{TASK}/task.yaml": "a: [1\nb: 2\n"}, f"{TASK}/task.yaml", ("expected",)),
    "alias bomb": ({f"{TASK}/task.yaml": BOMB}, f"{TASK}/task.yaml", ("alias",)),
    "invalid UTF-8": (
        {f"{FIRST}/solution/kernel.cu": b"int a;\n\xff\xfe\n"},
        f"{FIRST}/solution/kernel.cu",
        ("0xff", "UTF-8"),
    ),
    "binary": ({f"{FIRST}/solution/kernel.so": b"\x7fELF\0\0"}, f"{FIRST}/solution/kernel.so", ("binary",)),
    "over the limit": (
        {f"{FIRST}/solution/big.txt": b"x" * ((8 << 20) + 1)},
        f"{FIRST}/solution/big.txt",
        ("8388609 bytes",),
    ),
    "a name that is no slug": ({"queue/Bad_Name/task.yaml": "x"}, "queue/Bad_Name", ("a-z, 0-9 and -",)),
    "a file among the tasks": ({"queue/notes.txt": "x"}, "queue/notes.txt", ("only folders",)),
    "an unreadable grade": (
        {f"{FIRST}/grades/ada.yaml": "schema: kgrade/grade@1\n"},
        f"{FIRST}/grades/ada.yaml",
        ("expected",),
    ),
    "a grade of another item": (
        {f"{FIRST}/grades/ada.yaml": GRADE.replace("s01", "s02")},
        f"{FIRST}/grades/ada.yaml",
        ("item", "from where the file stands"),
    ),
    "a grade of another evaluator": (
        {f"{FIRST}/grades/bob.yaml": GRADE},
        f"{FIRST}/grades/bob.yaml",
        ("evaluator", "'ada'", "'bob'"),
    ),
    "unreadable evidence": ({f"{FIRST}/evidence/cpu.json": "{"}, f"{FIRST}/evidence/cpu.json", ("JSON",)),
    "unreadable settings": ({"kgrade.yaml": "graders: 2\n"}, "kgrade.yaml", ("graders",)),
}


@pytest.mark.parametrize("name", CASES)
def test_each_fault_is_one_sentence_at_its_place(sample: Repo, name: str) -> None:
    files, place, words = CASES[name]
    for path, content in files.items():
        if content is None:
            (sample.path / path).unlink()
        else:
            sample.write({path: content})
    faults = faults_of(sample)
    told = [fault for fault in faults if fault.path == place]
    assert told, faults
    assert not [fault for fault in faults if fault.path.startswith(OTHER)] or "rubric" in name
    for word in words:
        assert any(word in str(fault) for fault in told), told
    for fault in faults:
        assert "\n" not in str(fault)
        assert "Traceback" not in str(fault)


def test_an_unknown_key_and_a_wrong_type_name_file_and_line(sample: Repo) -> None:
    edit(sample, f"{TASK}/task.yaml", "title:", "titel: x\ntitle:")
    edit(sample, f"{TASK}/task.yaml", "language: cuda", "language: 7")
    faults = faults_of(sample)
    assert {fault.where for fault in faults} == {"titel", "language"}
    assert all(fault.path == f"{TASK}/task.yaml" and fault.line for fault in faults)


def test_an_id_given_twice_is_a_fault(sample: Repo) -> None:
    rubric = sample.path / "rubrics/fusion.yaml"
    text = rubric.read_text()
    first, second = [line.split("id: ")[1] for line in text.splitlines() if line.strip().startswith("- id: ")][:2]
    edit(sample, "rubrics/fusion.yaml", f"id: {second}", f"id: {first}")
    assert any("twice" in str(f) or first in str(f) for f in faults_of(sample) if f.path == "rubrics/fusion.yaml")


@pytest.mark.parametrize("reference", ["../scan-inclusive/reference.py:f", "/etc/passwd:f", "gone.py:f", "start:f"])
def test_a_reference_stays_in_its_task(sample: Repo, reference: str) -> None:
    text = (sample.path / f"{TASK}/task.yaml").read_text()
    line = next(line for line in text.splitlines() if line.startswith("reference:"))
    sample.write({f"{TASK}/start/kernel.cu": "x\n"})
    edit(sample, f"{TASK}/task.yaml", line, f"reference: {reference}")
    told = [fault for fault in faults_of(sample) if fault.where == "reference"]
    assert [fault.path for fault in told] == [f"{TASK}/task.yaml"]


@pytest.mark.parametrize(
    ("target", "word"), [("/etc/passwd", "out of"), ("../../../../rubrics", "out of"), ("a.cu", "inside")]
)
def test_a_symlink_is_a_fault_and_never_followed(sample: Repo, target: str, word: str) -> None:
    (sample.path / f"{FIRST}/solution/link").symlink_to(target)
    told = faults_of(sample)
    assert [fault.path for fault in told] == [f"{FIRST}/solution/link"]
    assert word in told[0].found
    assert target in told[0].found


def test_a_submission_supersedes_one_that_is_there(sample: Repo) -> None:
    text = (sample.path / f"{FIRST}/submission.yaml").read_text()
    sample.write({f"{FIRST}/submission.yaml": text + "supersedes: s99\n"})
    assert [(fault.path, fault.where) for fault in faults_of(sample)] == [(f"{FIRST}/submission.yaml", "supersedes")]


def test_points_that_do_not_follow_from_the_scores_are_a_fault(sample: Repo) -> None:
    task = codec.decode(Task, (sample.path / f"{TASK}/task.yaml").read_bytes(), "task.yaml")
    sheet = hashlib.sha256((sample.path / f"rubrics/{task.rubric}.yaml").read_bytes()).hexdigest()
    grade = GRADE.replace('{id: generation, sha256: "0000"}', f'{{id: {task.rubric}, sha256: "{sheet}"}}')
    sample.write({f"{FIRST}/grades/ada.yaml": grade + "points: 99.0\n"})
    assert "points" in {fault.where for fault in faults_of(sample)}


def test_every_fault_is_listed_not_the_first(sample: Repo) -> None:
    sample.write({f"{FIRST}/solution/kernel.so": b"\0", f"{OTHER}/task.yaml": "a: [", "queue/X/y": "z"})
    paths = {fault.path for fault in faults_of(sample)}
    assert {f"{FIRST}/solution/kernel.so", f"{OTHER}/task.yaml", "queue/X"} <= paths


def test_a_folder_without_a_queue_says_so(tmp_path: Path) -> None:
    assert [fault.path for fault in check(Folder(tmp_path))] == ["queue"]
