"""SSH signatures on commits: which key is at hand, and whose signature a commit carries.

Keys belong to evaluators by their entries in kgrade.yaml; git itself checks, through ssh-keygen.
"""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal

import msgspec

from kgrade.records.settings import Settings
from kgrade.repository.runner import LOCAL_TIMEOUT_S, Git

State = Literal["good", "unknown-key", "bad", "unsigned", "unchecked"]

_KEY = re.compile(r"(?:ssh-[a-z0-9-]+|ecdsa-[a-z0-9-]+|sk-[a-z0-9@.-]+) [A-Za-z0-9+/=]+")
_STATES: dict[str, State] = {"G": "good", "U": "unknown-key", "B": "bad", "N": "unsigned", "E": "unchecked"}
_COMMITS_AT_ONCE = 500


class Signed(msgspec.Struct, frozen=True):
    """Who signed one commit: `signer` is an evaluator's slug where the key is one that is known."""

    state: State
    signer: str = ""
    key: str = ""


def key_of(text: str) -> str:
    """Return type and body of a public key without its comment; empty for what is not one."""
    found = _KEY.match(text.strip())
    return found[0] if found else ""


def key_at_hand(git: Git, settings: Settings, evaluator: str) -> str:
    """Return a public key to sign with as `evaluator`: one that an agent offers and kgrade.yaml names; else "".

    A forwarded agent counts. Where the person set `user.signingKey`, git takes that one and there is no need of this.
    """
    person = settings.evaluators.get(evaluator)
    wanted = {key_of(key) for key in person.keys} - {""} if person else set()
    if not wanted or own_key(git):
        return ""
    return next((key for key in _agent_keys() if key in wanted), "")


def own_key(git: Git) -> bool:
    """Whether the person set a key to sign with."""
    return bool(git.settings.get("user.signingkey"))


def signing_environment(key: str) -> dict[str, str]:
    """Return the environment in which git signs with `key`, a public key whose other half an agent holds."""
    return settings_environment({"gpg.format": "ssh", "user.signingKey": f"key::{key}"}) if key else {}


def settings_environment(settings: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that set git's `settings` for one command, after those that are set that way already."""
    count = int(os.environ.get("GIT_CONFIG_COUNT") or 0)
    found = {"GIT_CONFIG_COUNT": str(count + len(settings))}
    for at, (name, value) in enumerate(settings.items(), start=count):
        found |= {f"GIT_CONFIG_KEY_{at}": name, f"GIT_CONFIG_VALUE_{at}": value}
    return found


def signatures(git: Git, commits: Sequence[str], keys: Mapping[str, Sequence[str]]) -> dict[str, Signed]:
    """Check each of `commits` against `keys` (public keys by evaluator)."""
    lines = [f'{slug} namespaces="git" {key}' for slug, own in keys.items() for key in map(key_of, own) if key]
    found: dict[str, Signed] = {}
    with tempfile.TemporaryDirectory() as folder:
        allowed = Path(folder) / "allowed_signers"
        allowed.write_text("".join(f"{line}\n" for line in sorted(lines)))
        variables = settings_environment({"gpg.ssh.allowedSignersFile": str(allowed)})
        form = "--format=%H%x00%G?%x00%GS%x00%GF"
        for at in range(0, len(commits), _COMMITS_AT_ONCE):
            asked = "".join(f"{commit}\n" for commit in commits[at : at + _COMMITS_AT_ONCE]).encode()
            command = ["log", "--no-walk=unsorted", "--stdin", form]
            shown = git.run(command, input=asked, env=variables, timeout=10 * LOCAL_TIMEOUT_S)
            for line in shown.text.splitlines():
                commit, state, signer, key = line.split("\0")
                found[commit] = Signed(_STATES.get(state, "unchecked"), signer if state == "G" else "", key)
    return found


def fingerprint(key: str) -> str:
    """Return the SHA256 fingerprint that ssh-keygen gives a public key; empty when it cannot."""
    command = ["ssh-keygen", "-lf", "-"]
    try:
        done = subprocess.run(command, input=key.encode(), capture_output=True, check=False, timeout=LOCAL_TIMEOUT_S)
    except FileNotFoundError:
        return ""
    words = done.stdout.decode("utf-8", "replace").split()
    return words[1] if len(words) > 1 else ""


def _agent_keys() -> list[str]:
    """The public keys that the agent at SSH_AUTH_SOCK holds; none where there is no agent."""
    try:
        done = subprocess.run(["ssh-add", "-L"], capture_output=True, check=False, timeout=LOCAL_TIMEOUT_S)
    except (FileNotFoundError, subprocess.TimeoutExpired):
        return []
    return [key for key in map(key_of, done.stdout.decode("utf-8", "replace").splitlines()) if key]
