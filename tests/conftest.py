"""Real git repositories for every room's tests."""

from __future__ import annotations

import gc
import os
import subprocess
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

pytest_plugins = ("tests.selection", "tests.shared_workers")


class Repo:
    """A git repository in a temporary folder, driven by the system's git as a person would."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def git(self, *arguments: str, input: bytes | None = None, check: bool = True) -> str:
        """Run git here; standard output without its final newline."""
        done = subprocess.run(
            ["git", *arguments], cwd=self.path, input=input, capture_output=True, check=False, timeout=60
        )
        if check and done.returncode:
            raise AssertionError(f"git {' '.join(arguments)}: {done.stderr.decode()}")
        return done.stdout.decode().rstrip("\n")

    def write(self, files: Mapping[str, str | bytes]) -> None:
        """Write files into the working tree."""
        for name, content in files.items():
            target = self.path / name
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content.encode() if isinstance(content, str) else content)

    def commit(self, files: Mapping[str, str | bytes], message: str = "change") -> str:
        """Write files, commit them the way people do, and answer the commit's id."""
        self.write(files)
        self.git("add", "--", *files)
        self.git("commit", "-q", "-m", message)
        return self.git("rev-parse", "HEAD")

    def show(self, path: str, at: str = "HEAD") -> str:
        """A file of a commit."""
        return self.git("show", f"{at}:{path}")


@pytest.fixture(scope="module", autouse=True)
def nothing_left_open() -> Iterator[None]:
    """What a file's tests dropped (readers with a git process, locks) is closed before descriptors run short."""
    yield
    gc.collect()


@pytest.fixture(autouse=True)
def own_git_settings(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """No settings of this machine or its user reach a test, and no draft of a test reaches the user."""
    home = tmp_path_factory.mktemp("home")
    settings = home / "gitconfig"
    settings.touch()
    for name in [n for n in os.environ if n.startswith("GIT_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(home / "config"))
    monkeypatch.setenv("XDG_STATE_HOME", str(home / "state"))
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(settings))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")


@pytest.fixture
def make_repo(tmp_path: Path) -> Iterator[Callable[..., Repo]]:
    """A maker: `make_repo("ada")`, `make_repo("hub", bare=True)`, `make_repo("bob", clone=hub)`.

    Every repository must pass `git fsck` when the test ends, but those made with `sound=False` to be malformed.
    """
    made: list[Repo] = []

    def make(name: str = "queue", *, bare: bool = False, clone: Repo | None = None, sound: bool = True) -> Repo:
        path = tmp_path / name
        path.mkdir()
        repo = Repo(path)
        if clone is not None:
            repo.git("clone", "-q", str(clone.path), ".")
        else:
            repo.git("init", "-q", "-b", "main", *(["--bare"] if bare else []))
        repo.git("config", "user.name", name.title())
        repo.git("config", "user.email", f"{name}@example.org")
        if sound:
            made.append(repo)
        return repo

    yield make
    for repo in made:
        if repo.path.exists():
            repo.git("fsck", "--strict", "--no-dangling")
