"""The README's picture of the screen, made by the app itself. `python -m tests.readme.screen` draws it anew."""

from __future__ import annotations

import asyncio
import os
import re
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from unittest.mock import patch

from kgrade.collection import collect_queue
from kgrade.desk import Desk
from kgrade.desk.anchors import lines_sha256, text_lines
from kgrade.records import codec
from kgrade.records.evidence import STAGES
from kgrade.records.grade import Grade, LineNote, Score, Times
from kgrade.records.slugs import ItemId
from kgrade.sample import make_demo
from kgrade.tui.app import KgradeApp
from kgrade.tui.keys import notation
from kgrade.tui.panes import panes

PICTURE = Path(__file__).with_name("screen.svg")
SIZE = (104, 33)
BEFORE = ItemId("layernorm-bwd", "s02")
SHOWN = ItemId("layernorm-bwd", "s03")
NAMES = {"\r": "enter", " ": "space", "\x1b": "escape"}
KEYS = (
    f"Q/{SHOWN}\r\rd",
    "32cone width and one dtype are stated\r2",
    "cM = 0 and N = 1 run; no check of strides\r3",
    "]jjjjjj",
    "mfloat32 here too: right\r",
)


def settings(folder: Path) -> Mapping[str, str]:
    """An environment in which git knows the person and nothing of the machine's own is read or written."""
    config = folder / "gitconfig"
    config.write_text("[user]\n\tname = Ada\n\temail = ada@example.org\n")
    return {
        "GIT_CONFIG_GLOBAL": str(config),
        "GIT_CONFIG_NOSYSTEM": "1",
        "XDG_STATE_HOME": str(folder / "state"),
        "XDG_CONFIG_HOME": str(folder / "config"),
    }


def grade_before(desk: Desk) -> None:
    """Grade the submission that the shown one replaces, with a note on the line that was at fault."""
    item = desk.item(BEFORE)
    path, data = next(iter(sorted(item.note_files.items())))
    lines = text_lines(data)
    number = next(n for n, line in enumerate(lines, 1) if line.lstrip().startswith("dw += "))
    note = LineNote(
        path=path,
        lines=(number, number),
        text_sha256=lines_sha256(lines[number - 1 : number]),
        criterion=item.rubric.criteria[0].id,
        text="accumulates in bf16",
    )
    grade = Grade(
        item=str(BEFORE),
        evaluator=desk.evaluator,
        rubric=item.rubric_ref,
        about=item.about,
        scores={criterion.id: Score(score=2) for criterion in item.rubric.criteria},
        comments=[note],
        verdict="revise",
        times=Times(opened="2026-11-03T09:30:00Z", active_s=700, saved="2026-11-03T09:42:00Z"),
    )
    desk.grade_file(BEFORE, codec.encode_yaml(grade), "the grade before")


async def draw(app: KgradeApp) -> str:
    """The screen after `KEYS`, as SVG."""
    async with app.run_test(size=SIZE) as pilot:
        await pilot.pause()
        for keys in KEYS:
            for key in keys:
                app.stage.dispatcher.key(notation(NAMES.get(key, key), key), key)
            await app.workers.wait_for_complete()
            await pilot.pause()
        return without_remote_fonts(app.export_screenshot(title="kgrade"))


def without_remote_fonts(svg: str) -> str:
    """`svg` in whatever monospaced font the reader has: a picture on a page may load nothing from elsewhere."""
    svg = re.sub(r"@font-face \{.*?\}\s*", "", svg, flags=re.DOTALL)
    return svg.replace("font-family: Fira Code, monospace", "font-family: ui-monospace, Menlo, Consolas, monospace")


def main() -> int:
    """Draw the picture."""
    with tempfile.TemporaryDirectory() as name, patch.dict(os.environ, settings(Path(name))):
        queue = Path(name) / "queue"
        make_demo(queue)
        collect_queue(queue, [SHOWN], (), STAGES)
        desk = Desk.open(queue)
        grade_before(desk)
        picture = asyncio.run(draw(KgradeApp(desk, panes(desk.history))))
        desk.close()
    PICTURE.write_text(picture)
    return 0


if __name__ == "__main__":
    sys.exit(main())
