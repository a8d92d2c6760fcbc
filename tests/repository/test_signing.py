"""Signing with a key that an agent offers, and telling whose signature a commit carries."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from kgrade.records.settings import Evaluator, Settings
from kgrade.repository.branches import Branch
from kgrade.repository.commits import Change, Identity
from kgrade.repository.opening import signature
from kgrade.repository.runner import Git
from kgrade.repository.signing import fingerprint, key_of, signatures
from kgrade.repository.tree import TreeReader
from tests.conftest import Repo
from tests.repository.conftest import GRADE

for tool in ("ssh-keygen", "ssh-agent", "ssh-add"):
    if shutil.which(tool) is None:
        pytest.skip(f"{tool} is not here", allow_module_level=True)


@pytest.fixture
def key(tmp_path: Path) -> Path:
    made = tmp_path / "key"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(made)], check=True, timeout=60)
    return made


@pytest.fixture
def agent(key: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """An agent that holds the key; the file itself is gone, as it is with a forwarded agent."""
    said = subprocess.run(["ssh-agent", "-s"], check=True, capture_output=True, timeout=60).stdout.decode()
    pid = int(re.search(r"SSH_AGENT_PID=(\d+)", said)[1])
    monkeypatch.setenv("SSH_AUTH_SOCK", re.search(r"SSH_AUTH_SOCK=([^;]+)", said)[1])
    try:
        subprocess.run(["ssh-add", "-q", str(key)], check=True, capture_output=True, timeout=60)
        key.unlink()
        yield
    finally:
        os.kill(pid, signal.SIGTERM)


def settings_of(public: str, sign: str = "auto") -> Settings:
    return Settings(evaluators={"ada": Evaluator(name="Ada", emails=["ada@example.org"], keys=[public])}, sign=sign)


@pytest.mark.usefixtures("agent")
def test_a_key_of_ones_own_in_an_agent_signs_by_itself(queue: Repo, key: Path) -> None:
    public = key.with_suffix(".pub").read_text()
    git = Git.open(queue.path)
    by = signature(git, Identity("Ada", "ada@example.org"), settings_of(public), "ada")
    assert (by.sign, by.identity.key) == (True, key_of(public))
    branch = Branch(TreeReader(git), "refs/heads/main")
    made = branch.commit([Change(GRADE, b"verdict: accept\n")], "grade", by.identity, sign=by.sign).commit
    [signed] = signatures(git, [made], {"ada": [public]}).values()
    assert (signed.state, signed.signer, signed.key) == ("good", "ada", fingerprint(public))
    assert signatures(git, [made], {})[made].state == "unknown-key"
    assert signatures(git, [made], {"bob": [public]})[made].signer == "bob"


@pytest.mark.usefixtures("agent")
def test_a_key_that_the_queue_does_not_name_or_want_is_left_alone(queue: Repo, key: Path) -> None:
    git = Git.open(queue.path)
    public = key.with_suffix(".pub").read_text()
    me = Identity("Ada", "ada@example.org")
    assert not signature(git, me, Settings(), "ada").sign
    assert not signature(git, me, settings_of(public), "bob").sign
    assert not signature(git, me, settings_of(public, "never"), "ada").sign


def test_without_an_agent_nothing_is_signed_and_that_is_seen(
    queue: Repo, key: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SSH_AUTH_SOCK", raising=False)
    git = Git.open(queue.path)
    assert not signature(
        git, Identity("Ada", "a@example.org"), settings_of(key.with_suffix(".pub").read_text()), "ada"
    ).sign
    head = queue.git("rev-parse", "HEAD")
    assert signatures(git, [head], {})[head].state == "unsigned"
    assert signatures(git, [], {}) == {}
