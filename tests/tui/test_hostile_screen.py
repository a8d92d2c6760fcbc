"""A whole queue that means harm, opened in a real terminal: what reaches the terminal is the driver's own."""

from __future__ import annotations

import os
import re
import sys
import unicodedata
from collections.abc import Callable

import msgspec
import pytest

from kgrade.records import codec
from tests.conftest import Repo
from tests.desk.conftest import KERNEL, PROJECT, submission
from tests.records.test_codec import TASK
from tests.tui.panes.builders import broken, case, check, checked, evidence, finding, integrity, timed
from tests.tui.panes.test_hostile import poisoned
from tests.tui.panes.test_item_panes import grade
from tests.tui.terminal import Terminal

HOSTILE = (
    "\x1b]52;c;QUFB\x07\x1b[2J\x1b[31mred\x9b31m\u202egnp.exe\u2066\u200b\ufeff[bold red]markup[/]"
    "\t\x07\x08e\u0301\u0301\u0301\u2028"
)
"""Clipboard, erasing, colours in both forms, bidirectional and unseen characters, markup, marks that climb."""

IN_YAML = "".join(f"\\x{ord(c):02x}" if ord(c) < 256 else f"\\u{ord(c):04x}" for c in HOSTILE)
BYTES = b"\xff\xfe\x00\x1b[2J\xc3\x28 " + HOSTILE.encode() + b"\r\n"

ALLOWED = re.compile(
    rb"""
      \x1b\[[?>=<]?[\d;:]*\$?[ABCDGHJKLMXfhlmnprtu]   # cursor, pen, regions, lines, modes, queries
    | \x1b\]22;default\x07                               # the shape of the mouse's pointer
    | \x1b\[>[\d;]*q | \x1b\[<u | \x1b[78=>] | \x1b\(B
    """,
    re.VERBOSE,
)


def hostile_queue(repo: Repo) -> None:
    files: dict[str, str | bytes] = {
        f"rubrics/{path.name}": path.read_bytes() for path in sorted((PROJECT / "rubrics").glob("*.yaml"))
    }
    generation = (PROJECT / "rubrics/generation.yaml").read_text()
    first_title = re.search(r"^title: (.*)$", generation, re.MULTILINE)
    assert first_title
    files["rubrics/generation.yaml"] = generation.replace(first_title[0], f'title: "{IN_YAML}"', 1)
    files |= {
        "queue/softmax/task.yaml": TASK.replace("title: Row-wise softmax", f'title: "{IN_YAML}'),
        "queue/softmax/prompt.md": BYTES + b"# head " + BYTES + b"\n- item " + BYTES + b"\n```\n" + BYTES + b"```\n",
        "queue/softmax/reference.py": b"def softmax(x):\n    pass  # " + BYTES,
        "queue/softmax/submissions/s01/submission.yaml": submission("2026-11-03T09:30:00Z")
        + f'notes: "{IN_YAML}"\ntags: ["{IN_YAML}"]\n',
        "queue/softmax/submissions/s01/solution/kernel.py": KERNEL.encode() + b"# " + BYTES + b"x" * 1_000_000 + BYTES,
        "queue/softmax/submissions/s01/solution/a\u202eb [red]\u200b.py": KERNEL,
    }
    worked = evidence(
        check=check(checked(case()), checked(case(family="neg-inf"), mismatched=3, reason="no")),
        time=timed(indicative=False, reason="slow", notes=["hot"]),
        build=broken(),
        integrity=integrity(finding(), finding(severity="tell", line=2, result="seen")),
    )
    poisoned_stages = poisoned(worked.stages, HOSTILE)
    logged = msgspec.structs.replace(poisoned_stages.build, log="cpu.build.log")
    stages = msgspec.structs.replace(poisoned_stages, build=logged)
    folder = "queue/softmax/submissions/s01"
    files[f"{folder}/evidence/cpu.json"] = codec.encode_json(
        msgspec.structs.replace(worked, item="softmax/s01", stages=stages)
    )
    files[f"{folder}/evidence/cpu.build.log"] = (b"error: " + BYTES) * 500
    said = grade()
    files[f"{folder}/grades/bob.yaml"] = codec.encode_yaml(
        msgspec.structs.replace(said, item="softmax/s01", evaluator="bob", feedback=HOSTILE, verdict="revise")
    )
    title = f'title: "{IN_YAML}'
    task = files["queue/softmax/task.yaml"]
    assert isinstance(task, str)
    line = next(each for each in task.splitlines() if each.startswith(title))
    files["queue/softmax/task.yaml"] = task.replace(line, f'{title}"', 1)
    repo.commit(files, f"a queue {HOSTILE.replace(chr(0), '')}")


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """Everything that a program in a terminal sends while the test runs."""
    taken: list[bytes] = []
    real = os.read

    def read(descriptor: int, size: int) -> bytes:
        data = real(descriptor, size)
        taken.append(data)
        return data

    monkeypatch.setattr("tests.tui.terminal.os.read", read)
    return taken


def test_no_byte_of_a_hostile_queue_steers_the_terminal(
    make_repo: Callable[..., Repo], sent: list[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    repo = make_repo("ada", sound=False)
    hostile_queue(repo)
    env = {"PYTHONPATH": f"{PROJECT}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"}
    argv = [sys.executable, "-m", "kgrade", "--evaluator", "ada"]
    with Terminal(argv, width=100, height=30, env=env, cwd=repo.path) as terminal:
        terminal.wait_for("softmax  task review", limit=60)
        terminal.send(">")
        terminal.wait_for("softmax/s01", limit=60)
        for key in "idsbtprfL":
            terminal.send(key)
            terminal.settle(quiet=0.15)
            for move in ("G", "o", "jj", "w", "ll", "w", "gg", "|"):
                terminal.send(move)
            terminal.settle(quiet=0.15)
            assert not unseen(terminal), (key, unseen(terminal))
        terminal.send("?")
        terminal.wait_for("help")
        terminal.send("qQ")
        terminal.wait_for("softmax")
        terminal.settle()
        assert not unseen(terminal)
        terminal.send("/\x07q")
        terminal.settle()
    left = ALLOWED.sub(b"", b"".join(sent))
    stray = re.search(rb"[\x00-\x07\x0b\x0c\x0e-\x1f\x7f].{0,20}", left)
    assert stray is None, stray[0]
    shown = left.decode("utf-8")
    assert not {hex(ord(one)) for one in shown if unicodedata.category(one) in ("Cf", "Cs", "Zl", "Zp", "Co", "Cn")}
    assert "\x9b" not in shown
    assert "cpu.build.log" in shown  # the evidence was read and shown, not refused
    assert "␛" in shown
    assert "⟨RLO⟩" in shown


def unseen(terminal: Terminal) -> list[str]:
    """Characters on the screen that steer or cannot be seen."""
    return [hex(ord(one)) for one in terminal.text if one != "\n" and unicodedata.category(one) in ("Cc", "Cf", "Cs")]
