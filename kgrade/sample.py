"""The sample queue: where its bytes are, the demo that is made of them, and a queue begun in a repository of one's own.

In a checkout (an editable install too) the sample is the project's own `queue/` and `rubrics/`; in a wheel it is
`kgrade/sample.zip`, which the build hook writes from the same files by `write_archive`.
"""

from __future__ import annotations

import io
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, BinaryIO

if TYPE_CHECKING:
    from kgrade.repository.runner import Git

FOLDERS = ("queue", "rubrics")
ARCHIVE = Path(__file__).with_name("sample.zip")
# The earliest time a zip can hold: the archive's bytes depend on the sample's bytes alone.
_TIME = (1980, 1, 1, 0, 0, 0)
_MODE = 0o100644 << 16

BRANCH = "main"
MESSAGE = "Begin with kgrade's sample queue"
IDENTITY = ("Demo Evaluator", "demo@kgrade.invalid")
SETTINGS = """\
# How this queue is worked. Every key is optional; what is commented out shows the default or an example.
schema: kgrade/settings@1

# Where grades go. Default: the branch that is checked out; for blind or large teams a branch for each evaluator.
#grades_ref: refs/heads/grades/{evaluator}
# The remote that claims and grades are pushed to. Default: origin, when there is one.
#remote: origin

# Whether authors and the grades of others stay hidden until one's own is saved.
#blind: false
# How many evaluators grade each item, and the share of items that one more grades.
#graders_per_item: 1
#double_grade_percent: 0
# The order in which items come: fifo, or shuffled for each evaluator.
#order: fifo
# How long an item stays reserved for who opened it.
#lease_minutes: 120
# Whether grades are signed: auto signs when git is set up for it.
#sign: auto

# Who grades. People are found by their git e-mail; leads are named by the same short names.
#evaluators:
#  ada: {name: Ada Example, emails: [ada@example.org]}
#leads: [ada]

# Where evidence comes from: another Python with the machine's own torch, JAX or Neuron, and what to build for.
#targets:
#  sm_90: {python: /path/to/env/bin/python, arch: sm_90a}
"""


def files_of(checkout: Path) -> Iterator[tuple[str, bytes]]:
    """Yield the sample's files in `checkout`, by path, sorted: no bytecode, no hidden file, no symlink."""
    found = [path for folder in FOLDERS for path in (checkout / folder).rglob("*")]
    for path in sorted(found, key=lambda path: path.relative_to(checkout).as_posix()):
        name = path.relative_to(checkout)
        hidden = any(part.startswith(".") or part == "__pycache__" for part in name.parts)
        if not hidden and name.suffix != ".pyc" and path.is_file() and not path.is_symlink():
            yield name.as_posix(), path.read_bytes()


def write_archive(checkout: Path, to: BinaryIO) -> None:
    """Write the sample of `checkout` as a zip whose bytes depend on nothing else."""
    with zipfile.ZipFile(to, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name, data in files_of(checkout):
            entry = zipfile.ZipInfo(name, _TIME)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.create_system = 3
            entry.external_attr = _MODE
            archive.writestr(entry, data)


def files() -> dict[str, bytes]:
    """Return the sample's files by path; raise SampleError where this installation holds none."""
    checkout = Path(__file__).parents[1]
    if all((checkout / name).exists() for name in (*FOLDERS, "pyproject.toml")):
        return dict(files_of(checkout))
    try:
        data = ARCHIVE.read_bytes()
    except FileNotFoundError:
        raise SampleError(f"{ARCHIVE} is missing from this installation; install kgrade again") from None
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


class SampleError(Exception):
    """The sample cannot be had, or cannot be put where it was asked for; one sentence, with what to do."""


def make_demo(folder: Path) -> bool:
    """Make `folder` a repository that holds the sample queue in one commit; return False when it is one already.

    Without a git identity on this machine the repository gets one of its own. Raises SampleError where something
    else stands in `folder`, GitError where git fails.
    """
    from kgrade.repository.runner import Git

    if (folder / ".git").exists() and all((folder / name).is_dir() for name in FOLDERS):
        return False
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise SampleError(f"{folder} holds something else; name a folder that is empty or not there yet, with --dir")
    contents = files()
    folder = folder.absolute()
    folder.parent.mkdir(parents=True, exist_ok=True)
    # Made beside and moved in one step: a demo that was stopped half-way is never taken for a whole one.
    with tempfile.TemporaryDirectory(prefix=".kgrade-demo-", dir=folder.parent) as beside:
        whole = Path(beside, "demo")
        _write(whole, contents)
        _commit_all(Git.create(whole, BRANCH), contents)
        whole.rename(folder)
    return True


def begin_queue(folder: Path) -> list[str]:
    """Write the rubrics, an empty `queue/` and a `kgrade.yaml` at the root of a repository; return their paths.

    Nothing is committed: that is the person's to do. Raises SampleError where `folder` is no repository's root or
    something would be overwritten.
    """
    from kgrade.repository.runner import Git

    git = Git.open(folder)
    if git.work_tree is None or git.work_tree.resolve() != folder.resolve():
        root = git.work_tree or git.git_dir
        raise SampleError(f"{folder} is not the root of its repository; run: kgrade init {root}")
    taken = [name for name in (*FOLDERS, "kgrade.yaml") if (folder / name).exists()]
    if taken:
        raise SampleError(f"{folder} has {' and '.join(taken)} already, and nothing is overwritten; see: kgrade check")
    contents = {name: data for name, data in files().items() if name.startswith("rubrics/")}
    contents |= {"queue/.gitkeep": b"", "kgrade.yaml": SETTINGS.encode()}
    _write(folder, contents)
    return sorted(contents)


def _write(folder: Path, contents: dict[str, bytes]) -> None:
    for name, data in contents.items():
        place = folder / PurePosixPath(name)
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(data)
        place.chmod(0o644)


def _commit_all(git: Git, contents: dict[str, bytes]) -> None:
    from kgrade.repository.commits import Change, Committer, Identity
    from kgrade.repository.tree import TreeReader

    # The bytes of the sample are what the stored evidence is about: no person's settings may rewrite them.
    git.run(["config", "core.autocrlf", "false"])
    for key, value in zip(("user.name", "user.email"), IDENTITY, strict=True):
        if not git.run(["config", key], check=False).text:
            git.run(["config", key, value])
    name, email = (git.run(["config", key]).text for key in ("user.name", "user.email"))
    reader = TreeReader(git)
    with reader.objects:
        changes = [Change(path, data) for path, data in contents.items()]
        commit = Committer(reader, Identity(name, email)).commit(None, changes, MESSAGE)
    git.run(["update-ref", f"refs/heads/{BRANCH}", commit])
    git.run(["read-tree", commit])
    git.run(["update-index", "-q", "--refresh"])
