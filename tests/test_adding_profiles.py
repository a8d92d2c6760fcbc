"""A profiler's file becomes evidence of an item: linked, committed, kept when the rest is collected anew."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner

from kgrade.cli import profile as command
from kgrade.cli.failures import BadInput
from kgrade.collection.profiles import add_profile
from kgrade.collection.running import _joined
from kgrade.records import codec
from kgrade.records.evidence import STAGES, Evidence, Profiling, Stages
from kgrade.records.slugs import ItemId
from tests.conftest import Repo
from tests.test_collection import QUEUE, SUBMISSION, TASK

ITEM = ItemId("rows", "s03")
KERNEL = b"__global__ void gemm(float* x) {}\n"
PAGE = Path(__file__).parent / "harness" / "profiles" / "data" / "ncu.details.csv"
WIDE = (
    '"ID","Kernel Name","Grid Size","Block Size","CC","gpu__time_duration.sum"\n'
    '"","","","","","us"\n"0","gemm(float *)","(8, 8, 1)","(128, 1, 1)","9.0","12.5"\n'
)


@pytest.fixture
def repo(make_repo: Callable[..., Repo]) -> Repo:
    made = make_repo("queue")
    task = TASK.replace("[cpu]", "[cpu, sm_90, sm_80]").replace("language: python", "language: cuda")
    made.commit(
        {
            **QUEUE,
            "queue/rows/task.yaml": task,
            "queue/rows/submissions/s03/submission.yaml": SUBMISSION,
            "queue/rows/submissions/s03/solution/k.cu": KERNEL.decode(),
        },
        "a queue",
    )
    return made


def evidence_of(repo: Repo, target: str) -> Evidence:
    path = ITEM.evidence_path(target)
    return codec.decode(Evidence, repo.show(path).encode(), path)


def test_a_file_is_committed_as_evidence_once(repo: Repo, tmp_path: Path) -> None:
    file = tmp_path / "gemm.csv"
    file.write_text(WIDE)
    added = add_profile(repo.path, ITEM, file)
    assert (added.target, added.known) == ("sm_90", False)
    evidence = evidence_of(repo, "sm_90")
    [profile] = evidence.stages.profile.profiles
    assert profile == added.profile
    assert profile.origin is not None
    assert (profile.origin.file, profile.origin.bytes, profile.origin.by) == ("gemm.csv", len(WIDE), "Queue")
    [kernel] = profile.kernels
    assert kernel.authored is not None
    assert (kernel.total_us, kernel.authored.path, kernel.authored.line) == (12.5, "solution/k.cu", 1)
    assert evidence.state("profile") == "passed"
    assert evidence.state("build") == "not-run"
    assert repo.git("log", "-1", "--format=%s") == "evidence: rows/s03 sm_90: profile of ncu added"
    assert add_profile(repo.path, ITEM, file).known
    assert repo.git("rev-list", "--count", "HEAD") == "2"
    add_profile(repo.path, ITEM, PAGE, "sm_90")
    assert len(evidence_of(repo, "sm_90").stages.profile.profiles) == 2


def test_what_cannot_be_added_is_told_in_one_sentence(repo: Repo, tmp_path: Path) -> None:
    wrong = tmp_path / "notes.txt"
    wrong.write_text("no profile")
    tried = [
        (["rows/s03", str(PAGE)], "compute capability 12.0, and the task names cpu, sm_90, sm_80; say which"),
        (["rows/s03", str(wrong)], "notes.txt is no profile that is known"),
        (["rows/s03", str(tmp_path / "gone.csv")], "cannot be read"),
        (["rows/s99", str(PAGE)], "no item rows/s99"),
    ]
    for arguments, sentence in tried:
        with pytest.raises(BadInput, match=sentence):
            CliRunner().invoke(
                command.add, [*arguments, "--queue", str(repo.path)], standalone_mode=False, catch_exceptions=False
            )
    assert repo.git("rev-list", "--count", "HEAD") == "1"


def test_added_profiles_outlive_a_collection(repo: Repo, tmp_path: Path) -> None:
    file = tmp_path / "gemm.csv"
    file.write_text(WIDE)
    add_profile(repo.path, ITEM, file)
    standing = evidence_of(repo, "sm_90")
    found = msgspec.structs.replace(
        standing, stages=Stages(profile=Profiling(status="not-run", reason="ncu is not on PATH"))
    )
    joined = _joined(standing, found, STAGES)
    assert joined.stages.profile.profiles == standing.stages.profile.profiles
    assert joined.stages.profile.facts == ["no profile was collected: ncu is not on PATH"]
    assert joined.state("profile") == "passed"


def test_show_names_kernels_by_time_and_keeps_the_terminal_safe(tmp_path: Path) -> None:
    file = tmp_path / "gemm.csv"
    file.write_text(WIDE.replace("gemm(", "gemm\x1b[2J("))
    shown = CliRunner().invoke(command.show, [str(file)], standalone_mode=False, catch_exceptions=False)
    assert "12.500 us  100.0 %  1" in shown.output
    assert "\x1b" not in shown.output
