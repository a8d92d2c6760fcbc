"""The grading page: one item, its evidence, its sheet, until it is saved and the next one is there."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from typing import Final

from kgrade.desk.desk import Desk
from kgrade.desk.people import Slow
from kgrade.desk.sitting import Sitting
from kgrade.records.evidence import Finding
from kgrade.records.slugs import ItemId
from kgrade.repository.order import EmptyQueue
from kgrade.tui.contexts import Option, PickContext, QuestionContext, TextContext
from kgrade.tui.keys import Context
from kgrade.tui.queue_view import empty_rows
from kgrade.tui.screens.collecting import CollectingPage
from kgrade.tui.screens.findings import Findings
from kgrade.tui.screens.help import HelpPage
from kgrade.tui.screens.leading import Leading
from kgrade.tui.screens.looking import go_on, leads_on, looking_deeds
from kgrade.tui.screens.notes import Notes
from kgrade.tui.screens.panes import PaneMaker, PaneSet
from kgrade.tui.screens.probing import ask_for_case, settle
from kgrade.tui.screens.queue import Kind, QueuePage
from kgrade.tui.screens.reading import Deeds, reading_deeds
from kgrade.tui.screens.saving import Saving
from kgrade.tui.screens.scoring import Scoring
from kgrade.tui.screens.settling import Settling
from kgrade.tui.screens.stage import Stage
from kgrade.tui.screens.trouble import TROUBLE, sentence
from kgrade.tui.sheet_view import rubric_view, status_of
from kgrade.tui.text_entry import TextEntry
from kgrade.tui.timers import after as call_after
from kgrade.tui.widgets.rubric import RubricView
from kgrade.tui.widgets.status import Status

_PAUSE_S: Final = 60.0
"""Seconds without a key after which nobody is thought to work on the item."""

_LOOK_AGAIN_S: Final = 0.5
"""Seconds between two looks at whether a slow remote has answered."""

_STAGES: Final = {
    "build": "compile or import it: registers, memory, errors",
    "check": "every case against the reference in float64",
    "time": "every benchmark case against its baselines",
    "integrity": "read it for signs of cheating, run what settles them",
}
"""The stages that this version collects."""


class GradingPage:
    """Plays on the stage. What it cannot do now it says in `why_not`, for the message line and the help."""

    context: Context = "grading"

    def __init__(self, stage: Stage, desk: Desk, makers: Mapping[str, PaneMaker]) -> None:
        self._stage = stage
        self._desk = desk
        self._panes = PaneSet(stage, makers)
        self._scoring: Scoring | None = None
        self._notes: Notes | None = None
        self._last_key = time.monotonic()
        self.leading = Leading(stage, desk, makers, self._uncovered)
        self._settling = Settling(stage, desk, self._take, self.sync)
        self._leaving = threading.Event()
        self._saving = Saving(stage, desk, self._settling, self._leaving, go_on=self._go_on, draw=self.draw)
        self._only_reads = False
        self._is_empty = False
        self._slow = ""
        self._without_item: Deeds = {**reading_deeds(stage), **self._page_deeds()}
        self._deeds: Deeds = self._without_item
        stage.set_parts(rubric=True)
        stage.dispatcher.open(self)

    # Items

    def open_next(self, after: ItemId | None = None) -> None:
        """Open the next item, or say why the queue is empty; where a slow remote decides that, once it has."""
        self._slow = ""
        try:
            found = self._desk.next(after)
        except Slow as why:
            self._slow = f"{why}, and the next item is opened then"
            self._stage.say(self._slow, "warn")
            self._open_when_answered(after, self._scoring)
            return
        except TROUBLE as why:
            self._stage.say(sentence(why), "bad")
            return
        if isinstance(found, ItemId):
            self.open(found)
        else:
            self._show_empty(found)

    def _go_on(self) -> str:
        self.open_next()
        return self._slow

    def _open_when_answered(self, after: ItemId | None, before: Scoring | None) -> None:
        """Open the next item once a slow remote has answered, unless another one was opened since."""

        def look() -> None:
            if self._scoring is not before or self._leaving.is_set():
                return
            if self._desk.waits():
                call_after(_LOOK_AGAIN_S, self._stage, look)
            else:
                self.open_next(after)

        call_after(_LOOK_AGAIN_S, self._stage, look)

    def open(self, item: ItemId) -> bool:
        """Open `item` and return True; if it cannot be read its faults are shown and the page stays as it was."""
        try:
            sitting = self._desk.sit(item)
        except TROUBLE as why:
            self._stage.say(sentence(why), "bad")
            return False
        self._take(sitting)
        return True

    def _take(self, sitting: Sitting) -> None:
        after_review = self._scoring is not None and self._scoring.sitting.item.submission is None
        if self._scoring is not None:
            self._scoring.sitting.close()
        self._last_key = time.monotonic()
        self._only_reads = self._desk.read_only is not None
        self._scoring = Scoring(self._stage, sitting, self._edited)
        self._notes = Notes(self._stage, self._scoring)
        self._deeds = {**self._without_item, **self._item_deeds(self._scoring, self._notes)}
        self._panes.set_item(sitting.item, sitting.sheet)
        if sitting.item.submission is None:
            self._panes.show("task")
        elif after_review and self._panes.open == "task":
            self._panes.show("diff")
        self._stage.say(sitting.status_note)
        self.draw()

    def sync(self) -> None:
        """Send what waits."""
        self._saving.sync()

    def put_away(self) -> str:
        """Keep what is being typed and stop what runs; tell in a few words how the open item stands."""
        self._leaving.set()
        if self._scoring is None:
            return ""
        self._scoring.texts.keep()
        sitting = self._scoring.sitting
        states = {
            "Draft": f"the draft of {sitting.item.id} is kept on this machine",
            "Committed": f"the grade of {sitting.item.id} is committed here",
        }
        return states.get(sitting.status, "")

    def _show_empty(self, empty: EmptyQueue) -> None:
        if self._scoring is not None:
            self._scoring.sitting.close()
        self._scoring = self._notes = None
        self._deeds = self._without_item
        self._is_empty = True
        self._panes.clear()
        self._stage.view.show(empty_rows(empty))
        self.draw()

    # Drawing

    def draw(self) -> None:
        """Bring status, tabs and strip in line with the sitting; what did not change is not drawn."""
        stage = self._stage
        if stage.dispatcher.is_covered(self):
            return
        stage.tabs.show(self._panes.tabs(stage.dispatcher.table))
        if self._scoring is None:
            stage.status.show(Status(item="kgrade"))
            stage.strip.show(RubricView(title="no item is open"))
            return
        sitting, clock = self._scoring.sitting, time.strftime("%H:%M")
        idle = time.monotonic() - self._last_key > _PAUSE_S
        alarm = self._settling.alarm(sitting)
        stage.status.show(status_of(sitting, self._desk.progress(), clock, idle=idle, alarm=alarm))
        stage.strip.show(rubric_view(self._scoring.sitting, self._scoring.focus))

    def _uncovered(self) -> None:
        """A lead's page was left; what the app was opened for is done where there is no item below it."""
        if self._scoring is None and not self._is_empty:
            self._exit()
        self.draw()

    def _edited(self) -> None:
        scoring = self._scoring
        if scoring is not None:
            self._panes.update(scoring.sitting.item, scoring.sitting.sheet)
        self.draw()

    # The dispatcher's side

    def why_not(self, action: str) -> str | None:
        """Why `action` cannot be done now."""
        if action == "settle":
            return self._settling.why_not(self._scoring.sitting if self._scoring else None)
        if self._scoring is None or self._notes is None:
            return None if action in self._without_item else "no item is open"
        if action == "note":
            return self._notes.why_no_note()
        if action == "editor.place":
            return self._notes.why_no_place()
        if action.startswith("finding") and not (action == "finding" and leads_on(self._stage)):
            return self._findings(self._scoring).why_not(action)
        if action == "snippet":
            return self._scoring.why_no_snippet()
        return None

    def perform(self, action: str, key: str) -> None:
        """Do it."""
        if self._scoring is not None and self._only_reads and self._desk.read_only is None:
            # The window that had the queue was closed.
            self._reload(self._scoring.sitting.item.id)
        if self._scoring is not None:
            now = time.monotonic()
            self._scoring.sitting.add_active(min(now - self._last_key, _PAUSE_S))
            self._last_key = now
        if action == "score" and self._saving.before and self._scoring is not None:
            here = self._scoring.sitting.item.id
            self._stage.say(f"{self._saving.before}; {key} refused: {here} was not seen yet", "warn")
            return
        self._deeds[action](key)

    def typed(self, text: str) -> None:
        """Nothing is typed here; a text has a context of its own."""

    # Deeds

    def _page_deeds(self) -> Deeds:
        stage = self._stage
        return {
            "help": lambda key: HelpPage(stage, self),
            "command": lambda key: self._command(),
            "redraw": lambda key: stage.draw_afresh(),
            "mouse": lambda key: stage.toggle_mouse(),
            "close": lambda key: self._leave(),
            "queue": lambda key: self._show_list("queue"),
            "my-grades": lambda key: self._show_list("my grades"),
            "audit": lambda key: self.leading.audit(),
            "settle": lambda key: self._settling.settle(self._scoring.sitting if self._scoring else None),
            "item.next": lambda key: self._neighbour(1),
            "item.previous": lambda key: self._neighbour(-1),
        }

    def _item_deeds(self, scoring: Scoring, notes: Notes) -> Deeds:
        stage, panes, table = self._stage, self._panes, self._stage.dispatcher.table
        score_keys = table.of("score").keys
        return {
            **looking_deeds(stage, panes, self.draw),
            "copy.line": lambda key: notes.copy_lines(),
            "copy.place": lambda key: notes.copy_place(),
            "editor.place": lambda key: notes.look(),
            "score": lambda key: scoring.score(score_keys.index(key)),
            "score.na": lambda key: scoring.not_applicable(),
            "criterion.down": lambda key: scoring.move_focus(1),
            "criterion.up": lambda key: scoring.move_focus(-1),
            "comment": lambda key: scoring.comment(),
            "note": lambda key: notes.note(),
            "snippet": lambda key: scoring.snippet(),
            "gates": lambda key: scoring.gates(),
            "finding": lambda key: self._enter(scoring),
            "finding.judge": lambda key: self._findings(scoring).next_judgement(),
            "finding.rule": lambda key: self._findings(scoring).explain(),
            "finding.settle": lambda key: self._findings(scoring).settle(),
            "private": lambda key: scoring.private_note(),
            "verdict": lambda key: scoring.verdict(),
            "feedback": lambda key: scoring.feedback(),
            "editor.text": lambda key: scoring.comment_outside(),
            "flag": lambda key: scoring.flag(),
            "undo": lambda key: self._undo(scoring.sitting),
            "redo": lambda key: self._redo(scoring.sitting),
            "save": lambda key: self._saving.save(scoring),
            "skip": lambda key: self._skip(scoring.sitting),
            "run": lambda key: self._collect(scoring.sitting.item.id),
            "compare": lambda key: self.leading.choose(scoring.sitting.item.id, self.draw),
            "probe": lambda key: ask_for_case(stage, scoring.sitting, self._desk.root, self._probed),
        }

    def _show_pane(self, name: str) -> None:
        self._panes.show(name)
        self._stage.say("")
        self.draw()

    def _enter(self, scoring: Scoring) -> None:
        if leads_on(self._stage):
            go_on(self._stage)
        else:
            self._findings(scoring).judge()

    def _findings(self, scoring: Scoring) -> Findings:
        return Findings(self._stage, scoring, lambda: self._panes.open, self._settle)

    def _settle(self, finding: Finding, stage: str | None) -> None:
        """Run the tests that settle a finding, or collect `stage` where that settles it."""
        assert self._scoring is not None
        sitting = self._scoring.sitting
        if stage is None:
            settle(self._stage, sitting, self._desk.root, finding, self._edited)
        else:
            self._collect_stages(sitting.item.id, [stage])

    def _collect(self, item: ItemId) -> None:
        """Ask for a stage, collect its evidence, and open the item again to show it."""
        options = [Option("", "every stage"), *(Option(stage, f"{stage:<11}", what) for stage, what in _STAGES.items())]

        def chosen(stage: str) -> None:
            self._collect_stages(item, [stage] if stage else [])

        PickContext(self._stage, f"collect evidence for {item} on this machine", lambda: options, chosen)

    def _collect_stages(self, item: ItemId, stages: list[str]) -> None:
        CollectingPage(self._stage, item, self._desk.root, stages, lambda: self._reload(item))

    def _probed(self) -> None:
        """Show the sheet with the probe in it, where the probes are listed."""
        self._edited()
        self._show_pane("tests")

    def _reload(self, item: ItemId) -> None:
        pane = self._panes.open
        if self.open(item):
            self._show_pane(pane)

    def _show_list(self, kind: Kind) -> None:
        QueuePage(self._stage, self._desk, kind, self.open, self.draw)

    def _neighbour(self, step: int) -> None:
        here = self._scoring.sitting.item.id if self._scoring else None
        if here is None:
            self.open_next()
            return
        there = self._desk.neighbour(here, step)
        if there is None:
            self._stage.say("this is the last item" if step > 0 else "this is the first item")
        else:
            self.open(there)

    def _undo(self, sitting: Sitting) -> None:
        told = sitting.undo()
        if told is not None:
            self._stage.say(told)
            self._edited()
        elif sitting.status == "Draft":
            self._stage.say("nothing is left to undo")
        else:
            question = "take the save before this back, by a new commit, and reopen it as a draft?"
            QuestionContext(self._stage, question, self._take_back)

    def _take_back(self) -> None:
        try:
            reopened = self._desk.take_back()
        except TROUBLE as why:
            self._stage.say(sentence(why), "bad")
            return
        if reopened is None:
            self._stage.say("there is no save to take back")
        else:
            self._take(reopened)

    def _redo(self, sitting: Sitting) -> None:
        told = sitting.redo()
        self._stage.say(told or "nothing was undone")
        self._edited()

    def _skip(self, sitting: Sitting) -> None:
        def done(reason: str) -> None:
            if not reason.strip():
                self._stage.say("skipping needs a reason; nothing was changed", "warn")
                return
            try:
                self._desk.skip(sitting.item.id, reason.strip())
            except TROUBLE as why:
                self._stage.say(sentence(why), "bad")
                return
            self.open_next(sitting.item.id)

        TextContext(self._stage, TextEntry(f"why {sitting.item.id} is skipped"), done)

    def _command(self) -> None:
        actions = [binding.action for binding in self._stage.dispatcher.table.within(self.context)]

        def done(action: str) -> None:
            if action.strip() in actions:
                self._stage.dispatcher.act(action.strip(), "")
            elif action.strip():
                self._stage.say(f"there is no action {action.strip()!r}; Tab completes, ? lists them", "warn")

        TextContext(self._stage, TextEntry(":"), done, options=actions)

    def _leave(self) -> None:
        if self._stage.view.needle:
            self._stage.view.search("")
            self._stage.say("")
            return
        sitting = self._scoring.sitting if self._scoring else None
        if not self._saving.is_on_its_way and (sitting is None or sitting.status in ("Untouched", "Pushed")):
            self._exit()
            return
        is_draft = sitting is not None and sitting.status == "Draft"
        state = "the draft is kept on this machine" if is_draft else "not pushed yet"
        QuestionContext(self._stage, f"leave? {state}", self._exit)

    def _exit(self) -> None:
        self.put_away()
        self._stage.application.exit(0)
