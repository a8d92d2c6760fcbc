"""One item that is too large in every way, in the real application: a safe picture, and an answer to every key.

A log of 1 GB, a diff of 50,000 lines, a line of 1 MB and 10,000 cases. How soon pictures come is measured against a
bound in the benchmarks; here everything must come at all, and be right, and what is typed meanwhile is answered.
"""

from __future__ import annotations

import random
import re
import subprocess
import unicodedata
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from kgrade.records import codec
from tests.benchmarks.sitting import opened
from tests.large_queue import large_queue
from tests.tui.panes.builders import built, case, check, checked, evidence
from tests.tui.terminal import Terminal

pytestmark = pytest.mark.long

ITEM = "queue/task-00000/submissions/s0000"
LOG_BYTES = 1_000_000_000
CASES = 10_000
LINES = 50_000


def write_log(path: Path) -> int:
    """A compiler's log of a gigabyte with an error now and then and a word at its very end; return its lines."""
    line = b"ptxas info    : Compiling entry function 'softmax_%05d' for 'sm_90', used %d registers\n"
    block = b"".join(line % (number, number % 255) for number in range(100_000))
    block += b"\x1b[31mkernel.cu(7): error: \xff\x00 too many resources requested\n"
    times = LOG_BYTES // len(block) + 1
    with path.open("wb") as file:
        for _ in range(times):
            file.write(block)
        file.write(b"the needle at the end\n")
    return times * 100_001 + 1


def changed() -> tuple[bytes, bytes]:
    """A kernel that was unrolled, and what became of it: one line in five another, gone or new."""
    draw = random.Random(20261203)
    old = [b"    row_%d = tl.load(x_ptr + %d * cols, mask=cols < n)\n" % (line, line % 97) for line in range(LINES)]
    new = []
    for line in old:
        fate = draw.random()
        if fate < 0.05:
            new.append(b"    tl.debug_barrier()\n")
        if fate < 0.95:
            new.append(line.replace(b"< n", b"< m") if fate > 0.85 else line)
    return b"".join(old), b"".join([*new, b"    last_line = True\n"])


def with_log(queue: Path, path: str, log: Path) -> None:
    """Commit a file too large to be handed over in memory."""

    def git(*arguments: str) -> str:
        return subprocess.run(["git", *arguments], cwd=queue, check=True, capture_output=True, text=True).stdout.strip()

    blob = git("-c", "core.compression=1", "hash-object", "-w", "--no-filters", str(log))
    log.unlink()
    git("read-tree", "HEAD")
    git("update-index", "--add", "--cacheinfo", f"100644,{blob},{path}")
    git("commit", "--quiet", "-m", "a log")


@pytest.fixture(scope="module")
def huge(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, int]:
    """The queue, and how many lines its log has."""
    folder = tmp_path_factory.mktemp("huge")
    old, new = changed()
    cases = [checked(case(M=number + 1, N=781), ulp=0.5 + number / CASES) for number in range(CASES - 1)]
    worst = checked(case(family="neg-inf", M=48, N=782), mismatched=3)
    record = evidence("sm_90", build=built(log="sm_90.build.log"), check=check(*cases, worst))
    record = msgspec.structs.replace(record, item="task-00000/s0000")
    extra = {
        f"{ITEM}/evidence/sm_90.json": codec.encode_json(record),
        "queue/task-00000/start/kernel.py": old,
        f"{ITEM}/solution/kernel.py": new,
        f"{ITEM}/solution/long.py": b"# before\nx = '" + b"y" * 1_000_000 + b"\x1b[2J\xff end'\nafter = 1\n",
    }
    large_queue(folder / "queue", 4, per_task=4, extra=extra)
    lines = write_log(folder / "log")
    with_log(folder / "queue", f"{ITEM}/evidence/sm_90.build.log", folder / "log")
    return folder / "queue", lines


def resident_mb(terminal: Terminal) -> float:
    """The most memory that the application has held at a time, by the kernel's count."""
    return int(re.findall(r"VmHWM:\s+(\d+) kB", Path(f"/proc/{terminal.pid}/status").read_text())[0]) / 1024


def safe(terminal: Terminal) -> None:
    """Nothing on the screen steers a terminal or cannot be seen."""
    unseen = [hex(ord(one)) for one in terminal.text if one != "\n" and unicodedata.category(one) in ("Cc", "Cf", "Cs")]
    assert not unseen, (unseen, terminal.text)


def answers(terminal: Terminal) -> None:
    """What is typed is answered, whatever goes on: a comment is opened, written and left again."""
    terminal.send("canswered")
    terminal.wait_for("numerics: answered")
    terminal.send("\x07")
    terminal.wait_for("S save+next")
    safe(terminal)


@pytest.fixture
def opened_at(huge: tuple[Path, int]) -> Iterator[Terminal]:
    """The application with the huge item open, a hundred columns wide."""
    with opened(huge[0], 100, 30) as terminal:
        yield terminal


def test_a_log_of_a_gigabyte(huge: tuple[Path, int], opened_at: Terminal) -> None:
    lines = huge[1]
    before = resident_mb(opened_at)
    opened_at.send("bGkkkko")
    opened_at.wait_for("1 ptxas info")
    opened_at.send("G")
    answers(opened_at)  # while a gigabyte comes
    opened_at.send("kkkk")
    opened_at.wait_for(f"> {lines} the needle at the end")
    opened_at.wait_for("␛[31mkernel.cu(7): error: ⟨xFF⟩␀ too many")
    safe(opened_at)
    opened_at.send("g/resources requested\r")
    answers(opened_at)  # while it is searched
    opened_at.send("n")
    opened_at.wait_for(">✗")
    opened_at.send("\x04- ")
    safe(opened_at)
    opened_at.send("/needle at the end\r")
    opened_at.wait_for("1/1 needle at the end")
    opened_at.wait_for(f"> {lines} the needle")
    answers(opened_at)
    assert resident_mb(opened_at) - before < LOG_BYTES / 1e6 / 20


def test_a_search_waits_for_what_is_still_to_come(opened_at: Terminal) -> None:
    opened_at.send("bGkkkko/needle at the end\r")
    answers(opened_at)
    opened_at.wait_for("the needle at the end", limit=300)


def test_a_diff_of_fifty_thousand_lines(opened_at: Terminal) -> None:
    opened_at.send("d")
    opened_at.wait_for("@@ -1,")
    opened_at.send("G")
    answers(opened_at)
    opened_at.wait_for("last_line = True")
    opened_at.send("[[]\x15 -g")
    opened_at.wait_for("> solution against start")
    opened_at.send("/row_49999 \r")
    answers(opened_at)
    opened_at.wait_for("row_49999 ")
    opened_at.send("|")
    opened_at.wait_for("row_49999 ")
    answers(opened_at)


def test_a_line_of_a_megabyte(opened_at: Terminal) -> None:
    opened_at.send("s/yyyyyyyyyyyyyyyyyyyy\r")
    opened_at.wait_for("> ", 60)
    opened_at.wait_for("x = 'yyyyyyyyyyyyyyyyyy")
    opened_at.send("l" * 200)
    answers(opened_at)
    opened_at.send("wG")
    answers(opened_at)
    opened_at.wait_for("after = 1")
    opened_at.send("gwG")
    opened_at.wait_for("after = 1")


def test_ten_thousand_cases(opened_at: Terminal) -> None:
    before = resident_mb(opened_at)
    opened_at.send("t")
    opened_at.wait_for("9999 of 10,000 required cases passed")
    opened_at.send("]o")
    opened_at.wait_for("> M=48 N=782 bf16 neg-inf")
    answers(opened_at)
    opened_at.send("G")
    answers(opened_at)
    opened_at.send("g/M=1 N=781\r")
    opened_at.wait_for("1/1 M=1 N=781")
    opened_at.wait_for("> M=1 N=781 bf16")
    opened_at.send("o")
    answers(opened_at)
    opened_at.send("3")
    opened_at.wait_for("numerics . -> 3")
    opened_at.wait_for("> M=1 N=781 bf16")
    assert resident_mb(opened_at) < 1.5 * before
