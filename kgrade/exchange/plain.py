"""Plain folders: each folder of files is an answer to one task, which is called as the folder that holds them."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import msgspec

from kgrade.exchange.brought import Arrivals, BroughtSubmission, BroughtTask, Noted, Refused
from kgrade.exchange.fields import Misfit, name_of, place_of, read_text, time_of
from kgrade.exchange.hollow import unchecked_task
from kgrade.exchange.modules import language_of
from kgrade.exchange.options import Options
from kgrade.records.submission import Origin, Submission

SOURCES = (".py", ".cu", ".cuh", ".cpp", ".h", ".hpp", ".hip")
PROMPTS = ("prompt.md", "PROMPT.md", "PROMPT.txt", "README.md")
SKIPPED = ("__pycache__", ".git")


def seen(path: Path) -> bool:
    """Whether there is source code in the folder or one level down."""
    return path.is_dir() and any(each.suffix in SOURCES for each in (*path.glob("*"), *path.glob("*/*")))


def read(root: Path, options: Options) -> Arrivals:
    """The task, and an answer for each folder; files beside the folders, or alone, are one answer more."""
    name = name_of(root.resolve().name)
    prompt = next((root / each for each in PROMPTS if (root / each).is_file()), None)
    folders = [each for each in sorted(root.iterdir()) if each.is_dir() and each.name not in SKIPPED]
    loose = [each for each in sorted(root.iterdir()) if each.is_file() and each != prompt]
    yield _task(root, name, prompt, options)
    for folder in folders:
        yield from _answer(root, name, folder.name, list(_below(folder)), folder)
    if any(each.suffix in SOURCES for each in loose):
        yield from _answer(root, name, root.resolve().name, loose, root)
    elif loose:
        yield Noted(place=root.name, what=f"{len(loose)} loose files without source code stay behind")


def _task(root: Path, name: str, prompt: Path | None, options: Options) -> BroughtTask:
    title = root.resolve().name
    said = f"{title} is a plain folder: nothing says what its answers are checked against"
    task = unchecked_task(root.name, name, title, options.rubric, said)
    sources = [path.read_bytes() for path in _below(root) if path.suffix in SOURCES and not path.is_symlink()]
    record = msgspec.structs.replace(task.record, language=language_of(sources), entry=_entry(sources))
    asked = read_text(prompt, root).decode() if prompt is not None else task.prompt
    return msgspec.structs.replace(task, record=record, prompt=asked, hollow=True)


def _entry(sources: list[bytes]) -> str:
    """The one public function that every answer in Python defines; `solution` where there is none or a choice."""
    defined = [names for source in sources if (names := _functions(source)) is not None]
    common = set.intersection(*defined) if defined else set()
    return common.pop() if len(common) == 1 else "solution"


def _functions(source: bytes) -> set[str] | None:
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError):
        return None
    plain = [node for node in tree.body if isinstance(node, ast.FunctionDef) and not node.decorator_list]
    return {node.name for node in plain if not node.name.startswith("_")}


def _answer(root: Path, task: str, name: str, paths: list[Path], folder: Path) -> Arrivals:
    files = {}
    for path in paths:
        try:
            files[path.relative_to(folder).as_posix()] = read_text(path, root)
        except Misfit as why:
            yield Refused(place=why.place, why=why.why)
    if not files:
        yield Refused(place=place_of(folder, root), why="it holds no file that can come, expected source code")
        return
    origin = Origin(kind="folder", ref=place_of(folder, root))
    record = Submission(author="not told", created=time_of(paths[0]), origin=origin)
    yield BroughtSubmission(place=place_of(folder, root), task=task, name=name_of(name), record=record, files=files)


def _below(folder: Path) -> Iterator[Path]:
    for path in sorted(folder.rglob("*")):
        if (path.is_file() or path.is_symlink()) and not set(SKIPPED) & set(path.relative_to(folder).parts):
            yield path
