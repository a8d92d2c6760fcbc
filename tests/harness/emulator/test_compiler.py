"""What was compiled before is not compiled again; anything that could change the object makes another one."""

from __future__ import annotations

import os
import secrets
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kgrade.harness.emulator import objects
from kgrade.harness.emulator.compiler import Compiler
from tests.harness.emulator.running import Finished, run

pytestmark = pytest.mark.xdist_group("emulator")

SOURCE = 'extern "C" int answer() { return VALUE; }\n'
NEW = f"// {secrets.token_hex(8)}\n"  # never compiled before, whatever the cache holds


@pytest.fixture
def started() -> list[Sequence[str]]:
    return []


@pytest.fixture
def counted(compiler: Compiler, started: list[Sequence[str]]) -> Compiler:
    """The session's compiler; what it starts is noted."""

    def noted(command: Sequence[str], **where: Any) -> Finished:
        started.append(command)
        return run(command, **where)

    return replace(compiler, run=noted)


def _folder(path: Path, value: int, stamp: str = "") -> Path:
    path.mkdir()
    (path / "kernel.cu").write_text(f'#include "value.h"\n{SOURCE}{NEW}// {stamp}\n')
    (path / "value.h").write_text(f"#define VALUE {value}\n")
    return path


def test_the_second_time_no_compiler_is_started(
    counted: Compiler, started: list[Sequence[str]], tmp_path: Path
) -> None:
    first = counted.compile(_folder(tmp_path / "source", 3), tmp_path, checks=False)
    assert first.shared is not None, first.log
    commands, content = len(started), first.shared.read_bytes()
    assert commands == 2
    again = tmp_path / "again"
    again.mkdir()
    second = counted.compile(_folder(again / "source", 3), again, checks=False)
    assert (second.shared, len(started)) == (again / "emulated.so", commands)
    assert second.shared.read_bytes() == content
    assert second.log == f"[compiled before]\n{first.log}"
    assert str(tmp_path) not in first.log


@pytest.mark.parametrize("what", ["a header", "the architecture", "an include folder"])
def test_whatever_could_matter_makes_another(
    counted: Compiler, started: list[Sequence[str]], tmp_path: Path, what: str
) -> None:
    counted.compile(_folder(tmp_path / "a", 3, what), tmp_path, checks=False)
    commands = len(started)
    folder = _folder(tmp_path / "b", 4 if what == "a header" else 3, what)
    more = [_folder(tmp_path / "c", 5)] if what == "an include folder" else []
    counted.compile(folder, tmp_path, False, arch=80 if what == "the architecture" else 90, includes=more)
    assert len(started) == commands + 2


def test_those_go_that_nobody_has_wanted_for_longest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(objects, "MOST", 2)
    kept = objects.Objects(tmp_path / "objects")
    made = tmp_path / "made.so"
    made.write_bytes(b"object")
    for number, key in enumerate(("a", "b", "c")):
        kept.add(key, made, f"log of {key}")
        os.utime(kept.folder / f"{key}.so", (number, number))
        kept.fetch("a", tmp_path / "to.so")
    assert kept.fetch("b", tmp_path / "to.so") is None
    assert kept.fetch("a", tmp_path / "to.so") == "log of a"
    assert kept.fetch("c", tmp_path / "to.so") == "log of c"
    assert len(list(kept.folder.glob("*.log"))) == 2


def test_several_at_once_may_keep_the_same_object(tmp_path: Path) -> None:
    kept = objects.Objects(tmp_path / "objects")
    made = tmp_path / "made.so"
    made.write_bytes(b"object" * 100_000)
    with ThreadPoolExecutor(8) as pool:
        for done in [pool.submit(kept.add, "a", made, "log") for _ in range(64)]:
            done.result()
    assert kept.fetch("a", tmp_path / "to.so") == "log"
    assert (tmp_path / "to.so").read_bytes() == made.read_bytes()
    assert sorted(path.name for path in kept.folder.iterdir()) == ["a.log", "a.so"]


def test_a_link_is_not_followed_into_the_cache(tmp_path: Path) -> None:
    """What lies where the object should be was written behind the wall: it could point anywhere."""
    (tmp_path / "secret").write_text("a key")
    (tmp_path / "made.so").symlink_to(tmp_path / "secret")
    kept = objects.Objects(tmp_path / "objects")
    with pytest.raises(OSError, match=r"made\.so"):
        kept.add("key", tmp_path / "made.so", "")
    assert kept.fetch("key", tmp_path / "to.so") is None
