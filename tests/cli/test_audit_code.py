"""`kgrade audit-code`: files in, one word and an exit code out."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kgrade.cli import run

ROOT = Path(__file__).parents[2]
TASK = ROOT / "queue/softmax-rows"
CHEAT = TASK / "submissions/s03/solution/kernel.py"
HONEST = TASK / "submissions/s02/solution/kernel.py"


def test_a_cheat_is_told_with_place_reason_and_what_settles_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["audit-code", str(CHEAT), "--task", str(TASK)]) == 1
    said = capsys.readouterr().out.splitlines()
    assert said[-1] == "tell"
    assert f"{CHEAT}:28: tell B1 library-wrapper" in said
    assert any(line.startswith("  settles  ") for line in said)


def test_honest_files_end_with_0(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["audit-code", str(HONEST.parent), "--task", str(TASK)]) == 0
    assert capsys.readouterr().out == "clean\n"


def test_json_is_for_programs(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["audit-code", "--json", str(CHEAT)]) == 1
    said = json.loads(capsys.readouterr().out)
    assert said["overall"] in ("suspect", "tell")
    assert {"rule", "name", "severity", "path", "line", "why", "settles"} <= said["findings"][0].keys()


@pytest.mark.parametrize("flags", [[], ["--each"]])
def test_a_file_that_is_not_there_is_one_sentence(flags: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["audit-code", *flags, str(HONEST), "no/such.py"]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err == "kgrade: no/such.py cannot be read: No such file or directory; name source files or folders\n"


def test_hostile_text_does_not_reach_the_terminal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "k.py"
    file.write_bytes(b"import os\nos._exit(0)  # \x1b[2J\x1b]0;owned\x07\n")
    assert run(["audit-code", str(file)]) == 1
    assert "\x1b" not in capsys.readouterr().out


def test_each_file_may_be_a_submission_of_its_own(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["audit-code", "--each", str(HONEST.parent), str(CHEAT), "--task", str(TASK)]) == 1
    said = capsys.readouterr().out.splitlines()
    assert f"{HONEST.parent.as_posix()}: clean" in said
    assert f"{CHEAT.as_posix()}: tell" in said
    assert said[-1] == "1 clean, 1 tell"
    assert run(["audit-code", "--each", "--json", str(HONEST), str(CHEAT), "--task", str(TASK)]) == 1
    told = json.loads(capsys.readouterr().out)
    assert told["overall"] == "tell"
    assert [(each["submission"], each["overall"]) for each in told["submissions"]] == [
        (HONEST.as_posix(), "clean"),
        (CHEAT.as_posix(), "tell"),
    ]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [([str(CHEAT), "--task", "nowhere"], "holds no task.yaml"), (["no-such-file.py"], "No such file"), ([], "Missing")],
)
def test_bad_input_is_one_sentence(arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["audit-code", *arguments]) == 2
    said = capsys.readouterr().err
    assert words in said
    assert said.count("\n") == 1
