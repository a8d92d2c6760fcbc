"""A clone made with `--filter=blob:none`: what it left at its remote comes here when it is needed, many files at once.

Git itself would fetch such files one by one, each with a connection of its own, so it is never left to. What is here is
seen through an empty repository beside this one, which has the same objects and knows of no remote to ask.
"""

from __future__ import annotations

import functools
import re
import threading
from collections.abc import Iterable, Mapping
from typing import Final

from kgrade.repository.runner import Git, GitError, GitTimeoutError, reason

FETCH_TIMEOUT_S: Final = 600.0
_PROMISES: Final = re.compile(r"remote\.(.+)\.promisor")
_FETCH: Final = (
    "-c",
    "fetch.negotiationAlgorithm=noop",
    "fetch",
    "--quiet",
    "--no-tags",
    "--no-write-fetch-head",
    "--recurse-submodules=no",
    "--no-auto-maintenance",
    "--filter=blob:none",
    "--stdin",
)


class NotHereError(GitError):
    """Files that a partial clone has left at its remote, which did not give them now."""


class PartialClone:
    """What one clone has left at its remote; nothing, for most. Every method may be called from any thread."""

    def __init__(self, git: Git) -> None:
        self._git = git
        self._turn = threading.Lock()

    @functools.cached_property
    def remote(self) -> str | None:
        """The name of the remote that keeps what is not here; None for a whole clone."""
        named = ((_PROMISES.fullmatch(name), value) for name, value in self._git.settings.items())
        return next((found[1] for found, value in named if found and value.lower() in ("true", "yes", "on", "1")), None)

    @functools.cached_property
    def view(self) -> Mapping[str, str]:
        """The environment in which git sees the objects that are here and fetches none; empty for a whole clone."""
        if self.remote is None:
            return {}
        folder = self._git.common_dir / "kgrade" / "objects-here"
        if not (folder / "HEAD").exists():
            kind = f"--object-format={self._git.object_format}"
            self._git.run(["init", "--quiet", "--bare", "--template=", kind, str(folder)])
        return {"GIT_DIR": str(folder), "GIT_OBJECT_DIRECTORY": str(self._git.common_dir / "objects")}

    def missing(self, oids: Iterable[str]) -> list[str]:
        """Those of `oids` that are not here."""
        wanted = list(dict.fromkeys(oids))
        if self.remote is None or not wanted:
            return []
        asked = "".join(f"{oid}\n" for oid in wanted).encode()
        told = self._git.run(["cat-file", "--batch-check=%(objectname)"], input=asked, env=self.view).text.split("\n")
        return [line.removesuffix(" missing") for line in told if line.endswith(" missing")]

    def bring(self, oids: Iterable[str], cancel: threading.Event | None = None) -> int:
        """Fetch those of `oids` that are not here, all in one go; how many they were.

        Raises NotHereError, in one sentence, when the remote does not give them.
        """
        if self.remote is None:
            return 0
        wanted = list(oids)
        with self._turn:  # what another thread is fetching need not be fetched twice
            lacking = self.missing(wanted)
            if not lacking:
                return 0
            asked = "".join(f"{oid}\n" for oid in lacking).encode()
            try:
                result = self._git.run(
                    [*_FETCH, self.remote], input=asked, timeout=FETCH_TIMEOUT_S, cancel=cancel, check=False
                )
                why = reason(result) if result.code else ""
            except GitTimeoutError:
                why = f"no answer for {FETCH_TIMEOUT_S:g} s"
        if why:
            files = "a file is" if len(lacking) == 1 else f"{len(lacking)} files are"
            raise NotHereError(
                f"{files} not in this partial clone and {self.remote} does not give them now ({why});"
                f" try again with a connection, or bring all of it with: git fetch --refetch --no-filter {self.remote}"
            )
        return len(lacking)
