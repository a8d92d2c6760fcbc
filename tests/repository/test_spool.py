"""A blob too large to hold: it comes bit by bit, and what has come is right."""

from __future__ import annotations

import gc
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from kgrade.repository import spool as spool_module
from kgrade.repository.runner import Git
from kgrade.repository.spool import Spool
from kgrade.tui.lines import SourceText
from tests.conftest import Repo

LINES = b"".join(b"%d warps in block %d\n" % (line % 7, line) for line in range(300_000))


@pytest.fixture
def spooled(make_repo: Callable[..., Repo]) -> Callable[[bytes], Spool]:
    repo = make_repo("queue", sound=False)

    def make(data: bytes) -> Spool:
        oid = repo.git("hash-object", "-w", "--stdin", input=data)
        return Spool(Git.open(repo.path), oid, len(data))

    return make


def test_every_line_is_where_it_was(spooled: Callable[[bytes], Spool]) -> None:
    spool = spooled(LINES)
    assert spool.wait(60)
    text = SourceText(spool)
    assert len(text) == 300_000
    assert [text[line] for line in (0, 1, 150_000, 299_999)] == [
        f"{line % 7} warps in block {line}" for line in (0, 1, 150_000, 299_999)
    ]
    assert spool.read(0, len(LINES) + 5) == LINES
    assert [line for line in text.find("block 29999") if line is not None] == [29_999, *range(299_990, 300_000)]
    assert spool.fault == ""


def test_what_has_come_can_be_read_before_the_rest(
    spooled: Callable[[bytes], Spool], monkeypatch: pytest.MonkeyPatch
) -> None:
    go_on = threading.Event()
    real = Spool._take

    def slowly(self: Spool, chunk: bytes) -> None:
        real(self, chunk)
        go_on.wait(60)

    monkeypatch.setattr(Spool, "_take", slowly)
    spool = spooled(LINES)
    text = SourceText(spool)
    assert 0 < len(text) < 300_000
    assert text[0] == "0 warps in block 0"
    assert text[len(text) - 2] == f"{(len(text) - 2) % 7} warps in block {len(text) - 2}"
    go_on.set()
    assert spool.wait(60)
    assert len(text) == 300_000


def test_the_beginning_comes_before_somebody_looks_and_the_rest_after(spooled: Callable[[bytes], Spool]) -> None:
    spool = spooled(LINES)
    spool.get_ready()
    end = time.monotonic() + 60
    while not spool._there:
        assert time.monotonic() < end
        time.sleep(0.01)
    assert spool._there == spool_module._BEGINNING < len(LINES)
    assert SourceText(spool)[0] == "0 warps in block 0"
    assert spool.wait(60)
    assert spool.read(0, len(LINES)) == LINES


def test_a_blob_that_does_not_come_says_so(make_repo: Callable[..., Repo], tmp_path: Path) -> None:
    repo = make_repo("queue", sound=False)
    spool = Spool(Git.open(repo.path), "1" * 40, 5_000_000)
    assert len(SourceText(spool)) == 0
    assert spool.wait(60)
    assert "only 0 of 5000000 bytes" in spool.fault


@pytest.mark.parametrize("looked_at", [True, False])
def test_a_spool_that_nobody_holds_ends_its_child(
    spooled: Callable[[bytes], Spool], monkeypatch: pytest.MonkeyPatch, looked_at: bool
) -> None:
    monkeypatch.setattr(spool_module, "_CHUNK", 1 << 14)
    spool = spooled(LINES)
    spool.get_ready()
    if looked_at:
        assert len(spool) > 0
    del spool
    gc.collect()
    end = time.monotonic() + 60
    while any(thread.name == "spool" for thread in threading.enumerate()):
        assert time.monotonic() < end
        time.sleep(0.01)
