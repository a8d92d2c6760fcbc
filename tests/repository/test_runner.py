"""Running git: whatever its size and however slow the reader, all of the input arrives."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from kgrade.repository.runner import Git, GitCancelledError, GitTimeoutError, Result
from tests.conftest import Repo


@pytest.fixture
def slow_git(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A git whose `hash-object` begins to read only after a while, and reads in pieces."""
    real = subprocess.run(["which", "git"], capture_output=True, check=True).stdout.decode().strip()
    script = tmp_path / "bin" / "git"
    script.parent.mkdir()
    script.write_text(
        f"#!{sys.executable}\nimport os, sys, time, hashlib\n"
        "if 'hash-object' not in sys.argv:\n"
        f"    os.execv({real!r}, [{real!r}, *sys.argv[1:]])\n"
        "time.sleep(0.5)\nfound = hashlib.sha256()\n"
        "while piece := os.read(0, 65536):\n    found.update(piece)\n"
        "print(found.hexdigest())\n"
    )
    script.chmod(0o755)
    monkeypatch.setenv("PATH", f"{script.parent}{os.pathsep}{os.environ['PATH']}")
    return script


def test_a_slow_reader_gets_all_of_a_large_input(make_repo: Callable[..., Repo], slow_git: Path) -> None:
    git = Git.open(make_repo().path)
    data = os.urandom(1 << 20)
    assert git.run(["hash-object", "--stdin"], input=data).text == hashlib.sha256(data).hexdigest()


def test_one_that_never_reads_is_stopped_and_so_is_what_feeds_it(
    make_repo: Callable[..., Repo], slow_git: Path
) -> None:
    slow_git.write_text(slow_git.read_text().replace("time.sleep(0.5)", "time.sleep(600)"))
    git = Git.open(make_repo().path)
    with pytest.raises(GitTimeoutError, match=r"gave no answer for 0\.3 s"):
        git.run(["hash-object", "--stdin"], input=bytes(1 << 20), timeout=0.3)
    cancel = threading.Event()
    cancel.set()
    with pytest.raises(GitCancelledError):
        git.run(["hash-object", "--stdin"], input=bytes(1 << 20), cancel=cancel)
    deadline = time.monotonic() + 60
    while any(thread.name == "git-input" for thread in threading.enumerate()):
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_a_command_that_reads_nothing_is_not_disturbed_by_its_input(make_repo: Callable[..., Repo]) -> None:
    assert Git.open(make_repo().path).run(["version"], input=bytes(1 << 20)).text.startswith("git version")


def test_what_was_made_ready_answers_again_and_again_and_one_that_died_is_started_again(
    make_repo: Callable[..., Repo],
) -> None:
    git = Git.open(make_repo().path)
    blob = git.run(["hash-object", "-w", "--stdin"], input=b"a grade").text
    answer = f"{blob} blob 7\na grade\n".encode()
    command = ["cat-file", "--batch"]
    question = f"{blob}\n".encode()
    assert git.ask(command, question, answer) is None
    git.get_ready(command)
    (ready,) = git._ready.values()
    for _ in range(3):
        assert git.ask(command, question, answer) == Result(answer, b"", 0)
        git.get_ready(command)
    assert list(git._ready.values()) == [ready]
    ready.kill()
    ready.wait()
    assert git.ask(command, question, answer) is None
    git.get_ready(command)
    (left,) = git._ready.values()
    git.let_go()
    assert left.returncode is not None
    assert not git._ready


def test_what_was_made_ready_and_answers_otherwise_ends_with_its_words(make_repo: Callable[..., Repo]) -> None:
    git = Git.open(make_repo().path)
    command = ["update-ref", "-z", "--stdin"]
    git.get_ready(command)
    result = git.ask(command, b"start\0nonsense\0", b"start: ok\ncommit: ok\n")
    assert result is not None
    assert (result.stdout, result.code) == (b"start: ok\n", 128)
    assert "nonsense" in result.words
    assert git.ask(command, b"start\0", b"start: ok\n") is None
    git.get_ready(command)
    with pytest.raises(GitTimeoutError):
        git.ask(command, b"start\0", b"start: ok\nand more", timeout=0.2)
