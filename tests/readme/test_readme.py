"""The README is true: its commands run, its table of keys is the app's, what it points at is there."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from kgrade.cli import COMMANDS, commands
from kgrade.desk import Desk
from kgrade.records import codec
from kgrade.records.grade import Grade, Score, Times
from kgrade.records.slugs import ItemId
from tests.exchange.test_import import ANSWER, PROBLEM, written

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()
BLOCKS = re.findall(r"^```sh\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)
INSTALL = re.compile(r"pip install -e '\.\[(\w+)\]' && (\w+)( demo)?$")
# What stands for the person at the keys: one grade, saved where `kgrade` alone opens the app.
SITTING = "kgrade\n"
# What stands for the collection that a lead has at hand.
COLLECTION = {
    "KernelBench/level1/3_Scale_Rows.py": PROBLEM,
    "KernelBench/level2/10_Scale_More.py": PROBLEM,
    "runs/mine/level_1_problem_3_sample_0_kernel.py": ANSWER,
}


@pytest.fixture
def shell(tmp_path: Path) -> Iterator[pytest.MonkeyPatch]:
    """A place where `kgrade` is a command, as after an installation, and where git knows the person."""
    folder = tmp_path / "bin"
    folder.mkdir()
    command = folder / "kgrade"
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m kgrade "$@"\n')
    command.chmod(0o755)
    settings = Path(os.environ["GIT_CONFIG_GLOBAL"])
    settings.write_text("[user]\n\tname = Ada\n\temail = ada@example.org\n[init]\n\tdefaultBranch = main\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
        patch.setenv("PYTHONPATH", str(ROOT))
        yield patch


def test_every_command_runs_in_the_order_of_the_page(tmp_path: Path, shell: pytest.MonkeyPatch) -> None:
    here = tmp_path
    ran = 0
    for block in BLOCKS:
        if INSTALL.match(block.strip()):
            continue
        if block == SITTING:
            sit_down(here)
            continue
        if "git init my-queue" in block:
            here = tmp_path
        if "../KernelBench" in block:
            written(here.parent / "KernelBench", COLLECTION)
        script = f"set -e\n{block}pwd >&3\n"
        read, write = os.pipe()
        done = subprocess.run(
            ["bash", "-c", f"exec 3>&{write}\n{script}"],
            cwd=here,
            pass_fds=[write],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=300,
        )
        os.close(write)
        with open(read) as stream:
            ended = stream.read().strip()
        assert done.returncode == 0, f"{block}{done.stdout}{done.stderr}"
        here = Path(ended)
        ran += 1
    assert ran >= 4


def sit_down(folder: Path) -> None:
    """Grade the item that comes next, as the person does whom the page tells to."""
    desk = Desk.open(folder)
    item = desk.next()
    assert item == ItemId("histogram-u8")
    shown = desk.item(item)
    grade = Grade(
        item=str(item),
        evaluator=desk.evaluator,
        rubric=shown.rubric_ref,
        about=shown.about,
        scores={criterion.id: Score(score=3) for criterion in shown.rubric.criteria},
        verdict="accept",
        feedback="Say which alignment the buffer has.",
        times=Times(opened="2026-11-03T09:30:00Z", active_s=60, saved="2026-11-03T09:31:00Z"),
    )
    desk.grade_file(item, codec.encode_yaml(grade), "by hand")
    desk.close()


def test_the_two_commands_name_what_the_package_declares() -> None:
    package = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    found = [match.groups() for block in BLOCKS if (match := INSTALL.match(block.strip()))]
    assert found == [("run", "kgrade", " demo"), ("dev", "pytest", None)]
    assert {extra for extra, *_ in found} <= set(package["optional-dependencies"])
    assert package["scripts"] == {"kgrade": "kgrade.__main__:main"}


def test_the_check_runs_the_test_command_word_for_word() -> None:
    (command,) = [block.strip() for block in BLOCKS if block.strip().endswith("&& pytest")]
    assert command in (ROOT / ".ci" / "run").read_text()


def test_the_check_names_no_registry_and_no_machine() -> None:
    script = (ROOT / ".ci" / "run").read_text()
    assert not re.search(r"https?://|--index|--find-links", script)
    absolute = set(re.findall(r"(?<![\w$}*.-])/\w[\w/.-]*", script))
    assert absolute == {"/usr/bin/env", "/dev/null", "/tmp"}


def test_every_command_is_on_the_page_and_nothing_else() -> None:
    fenced = "".join(re.findall(r"^```.*?^```", README, re.MULTILINE | re.DOTALL))
    named = set(re.findall(r"`kgrade ([a-z-]+)", README)) | set(re.findall(r"^kgrade ([a-z-]+)", fenced, re.MULTILINE))
    assert named == set(COMMANDS)


def test_every_option_on_the_page_is_one() -> None:
    context = click.Context(commands)
    known = {option for name in COMMANDS for option in options(commands.get_command(context, name))}
    own = README.partition("## Commands")[2].partition("## Keys")[0]
    assert set(re.findall(r"--[a-z][a-z-]*", own)) <= known | {"--long"}


def options(command: click.Command | None) -> set[str]:
    assert command is not None
    return {option for parameter in command.params for option in parameter.opts if option.startswith("--")}


def test_what_the_page_points_at_is_there() -> None:
    for target in re.findall(r"\]\(([^)#]+)\)", README):
        assert (ROOT / target).is_file(), target


def test_the_keys_are_those_of_the_app() -> None:
    from tests.readme import keys

    assert keys.replaced(README) == README, "write it anew with: python -m tests.readme.keys"
