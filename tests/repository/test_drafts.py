"""Drafts: what was appended is read back, whatever the disk and the other terminal do."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kgrade.repository.drafts import DraftError, Drafts, state_folder

S01 = "softmax/s01"
BEGIN = {"begin": "ä"}


@pytest.fixture
def drafts(tmp_path: Path) -> Iterator[Drafts]:
    opened = Drafts(tmp_path / "ada")
    yield opened
    opened.close()


def test_events_are_read_back_in_order(drafts: Drafts) -> None:
    journal = drafts.journal(S01)
    assert journal.begin(BEGIN) == [BEGIN]
    events = [{"score": n, "text": "ä\r\n\u2028"} for n in range(3)]
    for event in events:
        journal.append(event)
    assert drafts.events(S01) == [BEGIN, *events]
    journal.close()
    assert drafts.journal(S01).begin({"begin": "another"}) == [BEGIN, *events]


def test_the_draft_touched_last_comes_first(drafts: Drafts) -> None:
    for at, key in enumerate(("softmax/s01", "softmax", "scan/s02")):
        journal = drafts.journal(key)
        journal.begin(BEGIN)
        os.utime(journal.path, (at, at))
    drafts.beside("skips").begin({})
    assert drafts.keys() == ["scan/s02", "softmax", "softmax/s01"]


def test_a_draft_that_ends_while_the_drafts_are_listed_is_none(drafts: Drafts, monkeypatch: pytest.MonkeyPatch) -> None:
    ending, staying = (drafts.journal(key) for key in (S01, "scan/s02"))
    ending.begin(BEGIN)
    staying.begin(BEGIN)
    listed = Path.glob

    def slowly(folder: Path, pattern: str) -> list[Path]:
        found = list(listed(folder, pattern))
        ending.drop()
        return found

    monkeypatch.setattr(Path, "glob", slowly)
    assert drafts.keys() == ["scan/s02"]


def test_nothing_exists_before_the_first_event(drafts: Drafts) -> None:
    assert drafts.events(S01) == []
    assert drafts.keys() == []
    assert not (drafts.folder / "softmax").exists()


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    events=st.lists(st.dictionaries(st.text(max_size=4), st.one_of(st.text(), st.integers(), st.none())), max_size=4),
    cut=st.integers(min_value=0, max_value=400),
)
def test_a_torn_tail_costs_only_the_event_it_tore(tmp_path: Path, events: list[dict[str, object]], cut: int) -> None:
    first = Drafts(tmp_path / "torn")
    journal = first.journal(S01)
    journal.drop()
    journal.begin(BEGIN)
    ends = [journal.path.stat().st_size]
    for event in events:
        journal.append(event)
        ends.append(journal.path.stat().st_size)
    first.close()
    cut = min(cut, ends[-1])
    os.truncate(journal.path, cut)
    kept = [BEGIN, *events][: sum(end <= cut for end in ends)]
    second = Drafts(tmp_path / "torn")
    torn = second.journal(S01)
    assert torn.read() == kept
    assert torn.begin({"again": 1}) == (kept or [{"again": 1}])
    torn.append({"after": 1})
    assert torn.read() == [*(kept or [{"again": 1}]), {"after": 1}]
    assert not torn.path.with_suffix(".damaged").exists()
    second.close()


def test_a_flipped_byte_costs_one_event_and_the_file_is_kept(drafts: Drafts) -> None:
    journal = drafts.journal(S01)
    journal.begin(BEGIN)
    for n in range(3):
        journal.append({"n": n})
    journal.close()
    content = journal.path.read_bytes().replace(b'{"n":1}', b'{"n":7}')
    journal.path.write_bytes(content)
    damaged = drafts.journal(S01)
    assert damaged.begin({}) == [BEGIN, {"n": 0}, {"n": 2}]
    damaged.append({"n": 3})
    assert damaged.read() == [BEGIN, {"n": 0}, {"n": 2}, {"n": 3}]
    assert damaged.path.with_suffix(".damaged").read_bytes() == content
    assert drafts.keys() == [S01]


def test_compaction_keeps_what_it_was_given_and_appending_goes_on(drafts: Drafts) -> None:
    journal = drafts.journal(S01)
    journal.begin(BEGIN)
    for n in range(50):
        journal.append({"n": n})
    before = journal.path.stat().st_size
    journal.compact([BEGIN, {"n": 49}])
    journal.append({"n": 50})
    assert journal.path.stat().st_size < before
    assert drafts.events(S01) == [BEGIN, {"n": 49}, {"n": 50}]


def test_a_compaction_that_fails_leaves_the_draft(drafts: Drafts, monkeypatch: pytest.MonkeyPatch) -> None:
    journal = drafts.journal(S01)
    journal.begin(BEGIN)

    def full(handle: int, data: bytes) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patched:
        patched.setattr(os, "write", full)
        with pytest.raises(DraftError, match="No space left"):
            journal.compact([BEGIN])
    journal.append({"n": 1})
    assert drafts.events(S01) == [BEGIN, {"n": 1}]


def test_a_full_disk_is_loud_and_leaves_what_was_there(drafts: Drafts, monkeypatch: pytest.MonkeyPatch) -> None:
    journal = drafts.journal(S01)
    journal.begin(BEGIN)
    real = os.pwrite

    def half(handle: int, data: bytes, at: int) -> int:
        return real(handle, data[: len(data) // 2], at)

    def none(handle: int, data: bytes, at: int) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    for broken in (half, none):
        with monkeypatch.context() as patched:
            patched.setattr(os, "pwrite", broken)
            with pytest.raises(DraftError, match="No space left"):
                journal.append({"lost": "text that is long enough to leave a tail behind"})
        assert drafts.events(S01) == [BEGIN]
    journal.append({"n": 1})
    assert drafts.events(S01) == [BEGIN, {"n": 1}]


def test_a_dropped_draft_is_gone(drafts: Drafts) -> None:
    journal = drafts.journal(S01)
    journal.begin(BEGIN)
    journal.drop()
    assert drafts.keys() == []
    journal.drop()
    assert journal.begin({"again": 1}) == [{"again": 1}]


def test_what_was_appended_survives_kill_9(tmp_path: Path) -> None:
    program = (
        "import os, sys, signal; from pathlib import Path\n"
        "from kgrade.repository.drafts import Drafts\n"
        "journal = Drafts(Path(sys.argv[1])).journal('softmax/s01'); journal.begin({'begin': 1})\n"
        "for n in range(20): journal.append({'n': n})\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    died = subprocess.run([sys.executable, "-c", program, str(tmp_path / "ada")], check=False, timeout=60)
    assert died.returncode == -signal.SIGKILL
    again = Drafts(tmp_path / "ada")
    assert again.held_by is None
    assert again.events(S01) == [{"begin": 1}, *({"n": n} for n in range(20))]
    again.close()


def test_a_second_terminal_reads_says_who_writes_and_takes_over_when_that_ends(tmp_path: Path) -> None:
    first = Drafts(tmp_path / "ada")
    first.journal(S01).begin(BEGIN)
    second = Drafts(tmp_path / "ada")
    assert second.held_by is not None
    assert str(os.getpid()) in second.held_by
    assert second.events(S01) == [BEGIN]
    assert not second.take()
    first.close()
    assert second.take()
    assert second.held_by is None
    second.close()


def test_a_folder_that_takes_no_files_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(DraftError, match=r"cannot be kept .*XDG_STATE_HOME"):
        Drafts(tmp_path / "file" / "ada")


def test_the_folder_follows_the_state_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", "/state")
    here = state_folder(tmp_path / "a", "ada")
    assert here.parent.parent == Path("/state/kgrade")
    assert here.name == "ada"
    assert state_folder(tmp_path / "b", "ada") != here
