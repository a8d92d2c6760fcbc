"""Notes on lines of the submission, copying, and looking at a place in the editor."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from kgrade.desk.anchors import lines_sha256, text_lines
from kgrade.records.grade import LineNote
from kgrade.tui.editor import EditorError, looked_at
from kgrade.tui.lines import Place
from kgrade.tui.screens.scoring import Scoring
from kgrade.tui.screens.stage import Stage
from kgrade.tui.text_entry import TextEntry

_PREVIOUS: Final = "solution/"
"""Where the old side of a note lies when it is the solution that this one replaces; else it is the task's."""


class Notes:
    """The deeds on the line or range under the cursor."""

    def __init__(self, stage: Stage, scoring: Scoring) -> None:
        self._stage = stage
        self._scoring = scoring

    def why_no_note(self) -> str | None:
        """Why the line under the cursor can hold no note."""
        places = self._places()
        if not places:
            return "a note needs a line of the submission's code: the source and diff panes have them"
        if len({(place.path, place.side) for place in places}) > 1:
            return "a note stays within one side of one file: mark a smaller range"
        if self._data(places[0]) is None:
            return f"{places[0].path} is not part of what was handed in"
        return None

    def note(self) -> None:
        """Type a note on the line or range, or change the one that stands there; nothing typed removes it."""
        places = self._places()
        path, side = places[0].path, places[0].side
        lines = (min(place.line for place in places), max(place.line for place in places))
        text = text_lines(self._data(places[0]) or b"")[lines[0] - 1 : lines[1]]
        notes = self._scoring.sitting.sheet.comments
        key = next((k for k, n in notes.items() if (n.path, n.lines, n.side) == (path, lines, side)), None)

        def done(said: str) -> bool:
            self._stage.view.forget_range()
            if said.strip():
                value = LineNote(
                    path=path,
                    lines=lines,
                    side=side,
                    text_sha256=lines_sha256(text),
                    criterion=self._scoring.criterion.id,
                    text=said.strip(),
                )
                return self._scoring.edit("comments", key or self._scoring.sitting.new_key("comments"), value)
            return key is None or self._scoring.edit("comments", key, None)

        where = f"{path}:{lines[0]}" if lines[0] == lines[1] else f"{path}:{lines[0]}-{lines[1]}"
        self._scoring.texts.ask(TextEntry(where, notes[key].text if key else ""), done)

    def copy_lines(self) -> None:
        """Copy the line or range."""
        self._copy("\n".join(row.text for row in self._stage.view.selected))

    def copy_place(self) -> None:
        """Copy path:line."""
        places = self._places()
        if places:
            self._copy(f"{places[0].path}:{places[0].line}")
        else:
            self._stage.say("this line belongs to no file", "warn")

    def why_no_place(self) -> str | None:
        """Why there is nothing to open in the editor here."""
        places = self._places()
        return None if places and self._data(places[0]) is not None else "this line belongs to no file of the item"

    def look(self) -> None:
        """Open a copy of the file at this line in $EDITOR."""
        place = self._places()[0]
        try:
            looked_at(self._stage.application, self._data(place) or b"", place.path, place.line)
        except EditorError as why:
            self._stage.say(str(why), "bad")

    def _places(self) -> list[Place]:
        return [row.place for row in self._stage.view.selected if row.place is not None]

    def _data(self, place: Place) -> bytes | None:
        item = self._scoring.sitting.item
        if place.side == "new":
            return item.note_files.get(place.path)
        if place.path.startswith(_PREVIOUS):
            return item.bases.get("previous", {}).get(place.path.removeprefix(_PREVIOUS))
        return item.files.get(place.path)

    def _copy(self, text: str) -> None:
        """Terminals and tmux may drop the clipboard sequence, so the text also goes to a file."""
        data = text.encode("utf-8", "surrogateescape")
        self._stage.application.copy_to_clipboard(data.decode("utf-8", "replace"))
        base = os.environ.get("XDG_STATE_HOME") or str(Path.home() / ".local" / "state")
        path = Path(base) / "kgrade" / "copied.txt"
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
        except OSError as why:
            self._stage.say(f"copied, if your terminal allows it; {path} could not be written: {why.strerror}", "warn")
            return
        self._stage.say(f"copied {len(text)} characters, also to {path}")
