"""One item that is too large in every way, in the real application: a safe picture, and an answer to every key.

A log of 1 GB, a diff of 50,000 lines, a line of 1 MB and 10,000 cases. How soon pictures come is measured against a
bound in the benchmarks; here everything must come at all, and be right, and what is typed meanwhile is answered.
"""

from __future__ import annotations

import random
import subprocess
from pathlib import Path

import msgspec
import pytest

from kgrade.records import codec
from tests.large_queue import large_queue
from tests.tui.panes.builders import built, case, check, checked, evidence

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
