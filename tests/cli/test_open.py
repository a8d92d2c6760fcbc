"""`kgrade` and `kgrade demo` open the app on a real terminal."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pexpect
import pytest

from tests.cli.conftest import ROOT


@pytest.fixture(autouse=True)
def terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """A plain terminal, whatever runs the tests."""
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    for name in ("TMUX", "NO_COLOR", "COLORTERM", "TEXTUAL_COLOR_SYSTEM"):
        monkeypatch.delenv(name, raising=False)


def start(arguments: list[str], at: Path) -> pexpect.spawn[str]:
    return pexpect.spawn(
        sys.executable, ["-m", "kgrade", *arguments], cwd=str(at), dimensions=(24, 80), encoding="utf-8", timeout=30
    )


@pytest.mark.parametrize(
    "arguments", [["demo", "--dir", "fresh"], ["./demo"], ["./demo", "--color", "none"], ["--color", "16", "./demo"]]
)
def test_the_app_opens_on_the_next_item_and_leaves(arguments: list[str], demo: Path) -> None:
    screen = start(arguments, demo.parent)
    try:
        screen.expect("histogram-u8")
        screen.expect("scored")
        screen.send("q")
        screen.expect(pexpect.EOF)
    finally:
        screen.close()
    assert screen.exitstatus == 0, screen.before


def test_keys_that_clash_are_refused_before_the_screen_is_taken(demo: Path) -> None:
    config = Path(os.environ["XDG_CONFIG_HOME"], "kgrade", "config.yaml")
    config.parent.mkdir(parents=True)
    config.write_text("schema: kgrade/config@1\nkeys: {score.na: [c]}\n")
    screen = start([str(demo)], demo.parent)
    try:
        screen.expect(pexpect.EOF)
    finally:
        screen.close()
    assert screen.exitstatus == 2
    assert "config.yaml" in screen.before
    assert "comment" in screen.before
    assert "\x1b" not in screen.before
