"""git: new enough, an identity for commits, a key that can sign where signing is asked for."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

from kgrade.doctor.ask import ask
from kgrade.doctor.line import Line

OLDEST = (2, 34)


def examine(folder: Path) -> Iterator[Line]:
    """Yield what git is and who it takes the person at `folder` for."""
    if shutil.which("git") is None:
        wanted = ".".join(map(str, OLDEST))
        yield Line(
            subject="git",
            status="missing",
            found="not on PATH",
            advice=f"install git {wanted} or newer",
            needed=True,
        )
        return
    yield _version()
    yield _identity(folder)
    yield _signing(folder)


def _version() -> Line:
    said = ask(["git", "--version"])
    match = re.search(r"(\d+)\.(\d+)(\.\d+)*", said.out)
    if match is None:
        return Line(
            subject="git",
            status="problem",
            found=said.why,
            advice="reinstall git: it does not tell its version",
            needed=True,
        )
    if (int(match[1]), int(match[2])) < OLDEST:
        wanted = ".".join(map(str, OLDEST))
        return Line(
            subject="git",
            status="problem",
            found=match[0],
            advice=f"install git {wanted} or newer",
            needed=True,
        )
    return Line(subject="git", status="ok", found=match[0], needed=True)


def _identity(folder: Path) -> Line:
    name, email = (_setting(folder, key) for key in ("user.name", "user.email"))
    name, email = os.environ.get("GIT_AUTHOR_NAME", name), os.environ.get("GIT_AUTHOR_EMAIL", email)
    if name and email:
        return Line(subject="git identity", status="ok", found=f"{name} <{email}>", needed=True)
    lacking = " and ".join(key for key, value in (("user.name", name), ("user.email", email)) if not value)
    return Line(
        subject="git identity",
        status="missing",
        found=f"no {lacking}",
        advice='run: git config --global user.name "Your Name" && git config --global user.email you@example.org',
        needed=True,
    )


def _signing(folder: Path) -> Line:
    form = _setting(folder, "gpg.format") or "openpgp"
    key = _setting(folder, "user.signingKey")
    wanted = _setting(folder, "commit.gpgSign").lower() in ("true", "yes", "on", "1")
    if not key:
        if wanted:
            return Line(
                subject="git signing",
                status="problem",
                found="commit.gpgSign is on and there is no user.signingKey",
                advice="set user.signingKey, or turn commit.gpgSign off",
            )
        return Line(
            subject="git signing",
            status="missing",
            found="no user.signingKey; grades are committed unsigned",
            advice="to sign grades: git config --global gpg.format ssh && git config --global user.signingKey KEY.pub",
        )
    return _ssh_key(key) if form == "ssh" else _openpgp_key(form, key)


def _ssh_key(key: str) -> Line:
    if key.startswith(("ssh-", "ecdsa-", "sk-", "key::")):
        return _in_agent(key.removeprefix("key::"))
    path = Path(key).expanduser()
    if not path.exists():
        return Line(
            subject="git signing",
            status="problem",
            found=f"the SSH key {path} does not exist",
            advice="point user.signingKey at a key that exists",
        )
    private = path.with_suffix("") if path.suffix == ".pub" else path
    if private.exists():
        return Line(subject="git signing", status="ok", found=f"ssh key {private}")
    return _in_agent(path.read_text(errors="replace"))


def _in_agent(public: str) -> Line:
    listed = ask(["ssh-add", "-L"])
    words = public.split()
    if listed.ok and len(words) > 1 and words[1] in listed.out:
        return Line(subject="git signing", status="ok", found="ssh key in the agent")
    return Line(
        subject="git signing",
        status="problem",
        found=f"the SSH key is in no agent that answers ({listed.why if not listed.ok else 'the agent holds others'})",
        advice="start ssh-agent and ssh-add the key, or forward the agent with ssh -A",
    )


def _openpgp_key(form: str, key: str) -> Line:
    program = "gpgsm" if form == "x509" else "gpg"
    found = ask([program, "--list-secret-keys", "--", key])
    if found.ok:
        return Line(subject="git signing", status="ok", found=f"{form} key {key}")
    return Line(
        subject="git signing",
        status="problem",
        found=f"no secret {form} key {key}: {found.why}",
        advice="import the key, or point user.signingKey at one that is here",
    )


def _setting(folder: Path, key: str) -> str:
    return ask(["git", "-C", str(folder), "config", "--get", key]).out.strip()
