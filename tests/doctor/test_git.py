"""What the doctor says about git."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from kgrade.doctor import git
from kgrade.doctor.line import Line
from tests.doctor.conftest import Program


def lines(folder: Path) -> dict[str, Line]:
    return {line.subject: line for line in git.examine(folder)}


def settings(text: str) -> None:
    Path(os.environ["GIT_CONFIG_GLOBAL"]).write_text(text)


def test_no_git_is_missing_and_needed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    (only,) = git.examine(tmp_path)
    assert (only.status, only.needed) == ("missing", True)
    assert "2.34" in only.advice


@pytest.mark.parametrize(
    ("version", "status"),
    [("2.33.9", "problem"), ("2.34.0", "ok"), ("2.39.5 (Apple Git-154)", "ok"), ("3.0", "ok"), ("1.99", "problem")],
)
def test_git_must_be_new_enough(version: str, status: str, program: Program, tmp_path: Path) -> None:
    program("git", f"echo git version '{version}'")
    assert lines(tmp_path)["git"].status == status


def test_who_commits_is_found_in_settings_and_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = lines(tmp_path)["git identity"]
    assert (found.status, found.needed) == ("missing", True)
    assert "user.name and user.email" in found.found
    settings("[user]\n\tname = Ada\n")
    assert lines(tmp_path)["git identity"].found == "no user.email"
    monkeypatch.setenv("GIT_AUTHOR_EMAIL", "ada@example.org")
    assert lines(tmp_path)["git identity"].found == "Ada <ada@example.org>"


def test_a_signing_key_must_be_there(tmp_path: Path) -> None:
    assert lines(tmp_path)["git signing"].status == "missing"
    settings("[commit]\n\tgpgSign = true\n")
    assert lines(tmp_path)["git signing"].status == "problem"
    key = tmp_path / "id.pub"
    settings(f"[gpg]\n\tformat = ssh\n[user]\n\tsigningKey = {key}\n")
    assert "does not exist" in lines(tmp_path)["git signing"].found
    key.write_text("ssh-ed25519 AAAA ada\n")
    (tmp_path / "id").write_text("private")
    assert lines(tmp_path)["git signing"].status == "ok"


def test_a_key_may_stand_in_the_agent_alone(tmp_path: Path, program: Program) -> None:
    settings('[gpg]\n\tformat = ssh\n[user]\n\tsigningKey = "ssh-ed25519 AAAA ada"\n')
    program("ssh-add", "echo 'Could not open a connection to your authentication agent.' >&2; exit 2")
    found = lines(tmp_path)["git signing"]
    assert found.status == "problem"
    assert "Could not open a connection" in found.found
    program("ssh-add", "echo ssh-ed25519 BBBB bob")
    assert "holds others" in lines(tmp_path)["git signing"].found
    program("ssh-add", "echo ssh-ed25519 AAAA ada")
    assert lines(tmp_path)["git signing"].status == "ok"


def test_an_openpgp_key_is_asked_for(tmp_path: Path, program: Program) -> None:
    settings("[user]\n\tsigningKey = ABCD\n")
    program("gpg", "echo 'gpg: error reading key: No secret key' >&2; exit 2")
    assert "No secret key" in lines(tmp_path)["git signing"].found
    program("gpg", 'test "$3" = ABCD')
    assert lines(tmp_path)["git signing"].status == "ok"
