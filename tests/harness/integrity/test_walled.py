"""The analysis behind a wall: what it finds is the same, and what would not end is ended, with a finding."""

from __future__ import annotations

import os
import signal
import threading
from pathlib import Path

import pytest
from cases import cases, task

from kgrade.harness.integrity import analyse, findings, walled

CASE = next(case for case in cases("cheats") if case.name == "r1_memo_by_pointer")


def test_what_it_finds_is_what_the_analysis_finds() -> None:
    asked, own = task(CASE.task)
    assert findings(CASE.files(), asked, own) == analyse(CASE.files(), asked, own)


def test_one_process_serves_one_submission_after_another() -> None:
    asked, own = task(CASE.task)
    findings(CASE.files(), asked, own)
    before = walled._reader().process.pid
    findings(CASE.files(), asked, own)
    assert walled._reader().process.pid == before


def test_a_process_that_dies_leaves_the_next_submission_alone() -> None:
    asked, own = task(CASE.task)
    findings(CASE.files(), asked, own)
    process = walled._reader().process
    os.kill(process.pid, signal.SIGKILL)
    process.wait(timeout=60)
    assert findings(CASE.files(), asked, own) == analyse(CASE.files(), asked, own)


def test_what_takes_too_long_is_stopped_with_a_finding() -> None:
    long = b"\n".join(b"x%d = f(x%d, 1)" % (number, number - 1) for number in range(1, 40_000))
    found = findings({"solution/kernel.py": long}, wall_s=0.01)
    assert [(one.rule, one.severity) for one in found] == [("E1", "suspect")]
    assert "took longer than 0.01 s" in found[0].why
    assert findings({"solution/kernel.py": b"x = 1\n"}) == []


@pytest.mark.parametrize(("limit", "small", "said"), [("CPU_S", 1, "processor"), ("MEMORY_BYTES", 192 << 20, "Memory")])
def test_the_limits_are_the_processs_own(limit: str, small: int, said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    code = f"from kgrade.harness.integrity import walled; walled.{limit} = {small}; walled.main()"
    monkeypatch.setattr(walled, "PROGRAM", code)
    monkeypatch.setattr(walled, limit, small)
    monkeypatch.setattr(walled, "_KEPT", threading.local())
    long = b"\n".join(b"x%d = f(x%d, [%d])" % (number, number - 1, number) for number in range(1, 100_000))
    found = findings({"solution/kernel.py": long})
    assert [one.rule for one in found] == ["E1"]
    assert said in found[0].why.replace("192 MB", "Memory")  # while it is parsed, or later


def test_nothing_beside_the_caller_is_imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "msgspec.py").write_text("raise SystemExit('imported')\n")
    monkeypatch.chdir(tmp_path)
    reader = walled._Reader()
    request = walled.msgspec.msgpack.encode(walled.Request({"solution/kernel.py": b"x = 1\n"}, None, {}, {}))
    assert walled.msgspec.msgpack.decode(reader.ask(request, 300.0), type=walled.Answer).findings == []
    reader.close()
