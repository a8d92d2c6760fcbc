"""`kgrade seal` and `kgrade audit --verify`, as a lead uses them."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from kgrade.cli import run
from tests.audit.sealed import Queue, make_keys, sealed_queue
from tests.conftest import Repo

if shutil.which("ssh-keygen") is None:
    pytest.skip("ssh-keygen is not here", allow_module_level=True)


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Queue:
    folder = tmp_path_factory.mktemp("sealed")
    (folder / "keys").mkdir()
    repo = Repo(folder / "queue")
    repo.path.mkdir()
    repo.git("init", "-q", "-b", "main")
    repo.git("config", "user.name", "Lea")
    repo.git("config", "user.email", "lea@example.org")
    return sealed_queue(repo, make_keys(folder / "keys"))


@pytest.fixture
def queue(original: Queue, tmp_path: Path) -> Queue:
    return original.copied(tmp_path / "queue")


def test_a_lead_seals_and_verifies(queue: Queue, capsys: pytest.CaptureFixture[str]) -> None:
    at = ["--queue", str(queue.repo.path)]
    queue.grade("ada", "scan/s01", 2)
    assert run(["audit", "--verify", *at]) == 0
    assert "1 grades were written since the last seal" in capsys.readouterr().out
    assert run(["seal", *at]) == 0
    assert "sealed 3 branches in" in capsys.readouterr().out
    assert run(["audit", "--verify", "--json", *at]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["findings"], told["seals"], len(told["grades"])) == ([], 2, 5)


def test_tampering_is_told_with_the_command_that_shows_it_and_is_not_sealed(
    queue: Queue, capsys: pytest.CaptureFixture[str]
) -> None:
    at = ["--queue", str(queue.repo.path)]
    forged = queue.forge("ada", "softmax/s01", "eve")
    assert run(["audit", "--verify", *at]) == 1
    out = capsys.readouterr().out
    assert f"ALARM edited-by-another: ada's grade was written in {forged[:12]}, which eve signed" in out
    assert f"see: git show --show-signature {forged[:12]}" in out
    seals = queue.repo.git("rev-parse", "seals")
    assert run(["seal", *at]) == 1
    assert queue.repo.git("rev-parse", "seals") == seals
    assert run(["seal", "--anyway", *at]) == 0
    assert queue.repo.git("rev-parse", "seals") != seals


def test_a_seal_reaches_the_remote(queue: Queue, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    hub, clone = tmp_path / "hub.git", Repo(tmp_path / "lead")
    queue.repo.git("clone", "-q", "--bare", str(queue.repo.path), str(hub))
    queue.repo.git("clone", "-q", str(hub), str(clone.path))
    for name, value in (("user.name", "Lea"), ("user.email", "lea@example.org"), ("gpg.format", "ssh")):
        clone.git("config", name, value)
    clone.git("config", "user.signingKey", str(queue.keys["lea"]))
    assert run(["seal", "--queue", str(clone.path)]) == 0
    assert "sent to origin" in capsys.readouterr().out
    assert Repo(hub).git("rev-list", "--count", "seals") == "2"
    assert run(["audit", "--verify", "--queue", str(clone.path)]) == 0


def test_who_cannot_seal_is_told_why(queue: Queue, capsys: pytest.CaptureFixture[str]) -> None:
    at = ["--queue", str(queue.repo.path)]
    queue.repo.git("config", "user.email", "eve@example.org")
    assert run(["seal", *at]) == 2
    assert "only a lead can do this, and eve is none; leads of this queue: lea" in capsys.readouterr().err
