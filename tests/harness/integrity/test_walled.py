"""The analysis behind a wall: what it finds is the same, and what would not end is ended, with a finding."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import msgspec
import pytest
from cases import cases, task

from kgrade.harness.integrity import analyse, findings, findings_of_each, reading

CASE = next(case for case in cases("cheats") if case.name == "r1_memo_by_pointer")


def test_what_it_finds_is_what_the_analysis_finds() -> None:
    asked, own = task(CASE.task)
    assert findings(CASE.files(), asked, own) == analyse(CASE.files(), asked, own)


def test_one_process_serves_one_submission_after_another() -> None:
    asked, own = task(CASE.task)
    findings(CASE.files(), asked, own)
    before = [reader.process.pid for reader in reading.READERS._idle]
    findings(CASE.files(), asked, own)
    assert [reader.process.pid for reader in reading.READERS._idle] == before


def test_a_process_that_dies_leaves_the_next_submission_alone() -> None:
    asked, own = task(CASE.task)
    findings(CASE.files(), asked, own)
    for reader in reading.READERS._idle:
        os.kill(reader.process.pid, signal.SIGKILL)
        reader.process.wait(timeout=60)
    assert findings(CASE.files(), asked, own) == analyse(CASE.files(), asked, own)


def test_what_takes_too_long_is_stopped_with_a_finding() -> None:
    long = b"\n".join(b"x%d = f(x%d, 1)" % (number, number - 1) for number in range(1, 40_000))
    found = findings({"solution/kernel.py": long}, wall_s=0.01)
    assert [(one.rule, one.severity) for one in found] == [("E1", "suspect")]
    assert "took longer than 0.01 s" in found[0].why
    assert findings({"solution/kernel.py": b"x = 1\n"}) == []


@pytest.mark.parametrize(("limit", "small", "said"), [("CPU_S", 1, "processor"), ("MEMORY_BYTES", 192 << 20, "Memory")])
def test_the_limits_are_the_processs_own(limit: str, small: int, said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    code = f"from kgrade.harness.integrity import reading; reading.{limit} = {small}; reading.main()"
    monkeypatch.setattr(reading, "PROGRAM", code)
    monkeypatch.setattr(reading, limit, small)
    monkeypatch.setattr(reading, "READERS", reading._Readers())
    long = b"\n".join(b"x%d = f(x%d, [%d])" % (number, number - 1, number) for number in range(1, 100_000))
    found = findings({"solution/kernel.py": long})
    assert [one.rule for one in found] == ["E1"]
    assert said in found[0].why.replace("192 MB", "Memory")  # while it is parsed, or later


def test_nothing_beside_the_caller_is_imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "msgspec.py").write_text("raise SystemExit('imported')\n")
    monkeypatch.chdir(tmp_path)
    reader = reading._Reader()
    request = msgspec.msgpack.encode(reading.Request({"solution/kernel.py": b"x = 1\n"}))
    assert msgspec.msgpack.decode(reader.ask(request, 300.0), type=reading.Answer) == reading.Answer()
    reader.close()


def test_several_processes_read_at_once_and_answers_keep_their_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "READERS", reading._Readers())
    asked, own = task(CASE.task)
    hostile = {"solution/kernel.py": b"x = " + b"(" * 200_000}
    given = [CASE.files(), {"solution/kernel.py": b"x = 1\n"}, hostile, CASE.files()]
    alone = [findings(files, asked, own) for files in given]
    assert list(findings_of_each(given, asked, own, workers=3)) == alone
    assert 1 <= len(reading.READERS._idle) <= 3
