"""What a terminal shows through the driver is what it shows without: every cell and attribute, and the cursor.

Recorded sessions go to two emulated terminals and to two panes of tmux; whole programs, one with Textual's own driver,
get the same keys on a pseudo-terminal and in tmux. All are compared at every rest. A fourth of the sessions is for
terminals that cannot move some of their rows.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from kgrade.sample import make_demo
from tests.tui.golden import JOINED, TEXTS, Session, TmuxPair, record, session
from tests.tui.test_driver import Pair
from tests.tui.watching import InPty, InTmux

needs_tmux = pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux is not installed")
SHORT = [5, 10, 16, 19, 25]
CHUNK = 10
COLOURS = ({}, {"TEXTUAL_COLOR_SYSTEM": "256"}, {"TEXTUAL_COLOR_SYSTEM": "standard"}, {"NO_COLOR": "1"})


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Path], Path]:
    """Makes a copy of the sample queue in a folder."""
    demo = tmp_path_factory.mktemp("sample") / "demo"

    def copy(folder: Path) -> Path:
        if not demo.exists():
            make_demo(demo)
        return Path(shutil.copytree(demo, folder / "queue", symlinks=True))

    return copy


def compare(session: Session, folder: Path, sample: Callable[[Path], Path]) -> int:
    """Draw one session on all terminals; return at how many rests they were compared."""
    folder.mkdir()
    pieces = record(session, folder, sample)
    scrolls = session.number % 4 > 0
    pairs: list[Pair | TmuxPair] = [Pair(*session.size, scrolls=scrolls)]
    if shutil.which("tmux"):
        pairs.append(TmuxPair(folder / "socket", session.size, scrolls=scrolls))
    rests = -1
    try:
        for piece in pieces:
            for pair in pairs:
                if piece is None:
                    pair.assert_equal()
                    pair.assert_equal_cursor()
                elif isinstance(piece, str):
                    pair.feed(piece)
                else:
                    pair.resize(*piece)
            rests += piece is None
    except AssertionError as why:
        done = session.steps[rests] if rests >= 0 else "its start"
        raise AssertionError(f"{type(pair).__name__}, session {session.number}, after {done!r}: {why}") from None
    finally:
        for pair in pairs:
            if isinstance(pair, TmuxPair):
                pair.close()
    return rests


@pytest.mark.parametrize("number", SHORT)
def test_a_session(number: int, tmp_path: Path, sample: Callable[[Path], Path]) -> None:
    one = session(number)
    assert compare(one, tmp_path / "session", sample) == len(one.steps)


@needs_tmux
def test_a_session_with_emoji_of_several_characters(tmp_path: Path, sample: Callable[[Path], Path]) -> None:
    compare(session(302, texts=JOINED), tmp_path / "session", sample)


@pytest.mark.long
@needs_tmux
@pytest.mark.parametrize("first", range(0, 300, CHUNK))
def test_sessions(first: int, tmp_path: Path, sample: Callable[[Path], Path]) -> None:
    rests = sum(compare(session(n), tmp_path / f"session-{n}", sample) for n in range(first, first + CHUNK))
    print(f"sessions {first} to {first + CHUNK - 1}: the same at {rests} rests")


@pytest.mark.long
@needs_tmux
@pytest.mark.parametrize("number", range(300, 330))
def test_sessions_with_emoji_of_several_characters(number: int, tmp_path: Path, sample: Callable[[Path], Path]) -> None:
    compare(session(number, texts=(*TEXTS, *JOINED)), tmp_path / "session", sample)


# Whole programs


def pictures(where: type[InPty] | type[InTmux], session: Session, folder: Path, driver: str) -> list[list[object]]:
    """What the terminal shows at every rest of the session with that driver."""
    environment = {"KGRADE_DRIVER": driver, "KGRADE_THEME": session.theme, **COLOURS[session.number % len(COLOURS)]}
    watch = where(session.kind, folder, size=session.size, **environment)
    taken = [watch.picture()]
    try:
        for step in session.steps:
            if isinstance(step, str):
                watch.write(step)
                watch.idle()
            else:
                watch.resize(*step)
            taken.append(watch.picture())
    finally:
        watch.close()
    return taken


def compare_programs(where: type[InPty] | type[InTmux], number: int, folder: Path) -> int:
    """The same keys to two programs; return at how many rests they were compared."""
    # On a real line an escape in a text is the key of that name, and begins other keys.
    one = session(number, kinds=("screens", "wide", "scored"), texts=[text.replace("\x1b", "") for text in TEXTS])
    # Not compared beside each other, but in one place: the folder is on the screen.
    (folder / "reports").mkdir()
    ours = pictures(where, one, folder / "reports", "")
    plain = pictures(where, one, folder / "reports", "plain")
    for rest, (found, expected) in enumerate(zip(ours, plain, strict=True)):
        for y, (row, wanted) in enumerate(zip(found, expected, strict=True)):
            after = one.steps[rest - 1] if rest else "its start"
            assert row == wanted, f"session {number}, after {after!r}, row {y}: {row} is not {wanted}"
    return len(ours)


@pytest.mark.parametrize("where", [InPty, pytest.param(InTmux, marks=needs_tmux)])
def test_a_program(where: type[InPty] | type[InTmux], tmp_path: Path) -> None:
    assert compare_programs(where, 7, tmp_path) > 10


@pytest.mark.long
@pytest.mark.parametrize("where", [InPty, pytest.param(InTmux, marks=needs_tmux)])
@pytest.mark.parametrize("number", range(30))
def test_programs(where: type[InPty] | type[InTmux], number: int, tmp_path: Path) -> None:
    rests = compare_programs(where, number, tmp_path)
    print(f"{where.__name__}, session {number}: the same at {rests} rests")
