"""What only a person can settle: an item that others hold, two versions of a grade, a branch that was rewritten.

And what settles itself: what could not be sent is sent again when it is time.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

from textual.timer import Timer

from kgrade.desk.desk import Desk
from kgrade.desk.people import Moved
from kgrade.desk.sitting import Sitting
from kgrade.records.grade import Grade
from kgrade.tui.contexts import Option, PickContext
from kgrade.tui.screens.stage import Stage
from kgrade.tui.screens.trouble import TROUBLE, sentence
from kgrade.tui.timers import after


class Settling:
    """The list of what is to be settled. `reopened` gets the sitting to go on in, `send` sends what waits."""

    def __init__(self, stage: Stage, desk: Desk, reopened: Callable[[Sitting], None], send: Callable[[], None]) -> None:
        self._stage = stage
        self._desk = desk
        self._reopened = reopened
        self._send = send
        self._again: Timer | None = None
        self._again_at = ""
        self._told = ""

    def alarm(self, sitting: Sitting | None) -> str:
        """What the status line says there is to settle, and the key for it; cheap enough for every edit."""
        standing = self._desk.last_standing
        if self._desk.alarms:
            said = "branch rewritten"
        elif standing is not None and standing.trouble == "collision":
            said = "two versions"
        elif self._again_at:
            return f"not sent, again at {self._again_at}"
        else:
            said = "only reading" if sitting is not None and sitting.read_only else ""
        keys = self._stage.dispatcher.table.of("settle").keys
        return f"{said} ({keys[0]})" if said and keys else said

    def why_not(self, sitting: Sitting | None) -> str | None:
        """Why there is nothing to settle."""
        return None if any(self._options(sitting)) else "nothing is to be settled"

    def settle(self, sitting: Sitting | None) -> None:
        """List it, and do what is chosen."""
        options = list(self._options(sitting))

        def chosen(what: str) -> None:
            try:
                self._do(what, sitting)
            except TROUBLE as why:
                self._stage.say(sentence(why), "bad")

        PickContext(self._stage, "to be settled: Enter does it, q leaves it", lambda: options, chosen)

    def moved(self, sitting: Sitting, what: Moved, still_valid: Callable[[], None]) -> None:
        """What was judged changed while it was open: save all the same, look at what stands there now, or give up."""

        def chosen(answer: str) -> None:
            if answer == "valid":
                still_valid()
                return
            try:
                if answer == "discard":
                    sitting.discard()
                self._reopened(self._desk.sit(sitting.item.id))
            except TROUBLE as why:
                self._stage.say(sentence(why), "bad")

        options = [
            Option("valid", "still valid: save it, as about what stands there now"),
            Option("again", "look again: show what stands there now, and keep the draft"),
            Option("discard", "discard the draft, and show what stands there now"),
        ]
        title = f"not saved yet: {', '.join(what.what)} changed while this was open; q leaves it so"
        PickContext(self._stage, title, lambda: options, chosen)

    def after_step(self) -> None:
        """A step towards the remote is done: say its alarms, and try again later where that can help."""
        alarms, standing = self._desk.alarms, self._desk.last_standing
        if alarms:
            self._stage.mention("; ".join(alarms), "bad")
        if self._again is not None:
            self._again.stop()
            self._again, self._again_at = None, ""
        if standing is None or standing.state != "committed" or standing.retry_in is None:
            self._told = ""
            return
        self._again = after(standing.retry_in, self._stage, self._send)
        self._again_at = time.strftime("%H:%M:%S", time.localtime(time.time() + standing.retry_in))
        if standing.reason != self._told:
            # Each reason once: whoever works on must not lose what else is said to it.
            self._told = standing.reason
            self._stage.mention(f"tried again at {self._again_at}: {standing.reason}", "warn")

    def _options(self, sitting: Sitting | None) -> Iterator[Option]:
        for number, alarm in enumerate(self._desk.alarms):
            if number == 0:
                yield Option("rewrite", "go on from the branch as it is at the remote now", alarm)
        if sitting is None:
            return
        if sitting.read_only is not None and self._desk.read_only is None:
            yield Option("take-over", f"take {sitting.item.id} over, if its claim has ended", sitting.read_only)
        versions = self._desk.versions(sitting.item.id)
        if versions is not None:
            yield Option("mine", f"keep the version from here: {_told(versions.mine)}", "; ".join(versions.faults))
            yield Option("theirs", f"keep the one saved elsewhere: {_told(versions.theirs)}")

    def _do(self, what: str, sitting: Sitting | None) -> None:
        if what == "rewrite":
            self._stage.say("following the rewritten branch…")
            self._stage.run_worker(self._follow, thread=True, exclusive=True, group="sync")
        elif sitting is None:
            return
        elif what == "take-over":
            self._reopened(self._desk.sit(sitting.item.id, take_over=True))
        elif what in ("mine", "theirs"):
            self._reopened(self._desk.choose(sitting.item.id, "mine" if what == "mine" else "theirs"))
            self._send()

    def _follow(self) -> None:
        """In a thread: it asks the remote."""
        application = self._stage.application
        try:
            lost = self._desk.accept_rewrite()
        except TROUBLE as why:
            application.call_from_thread(self._stage.say, sentence(why), "bad")
            return
        application.call_from_thread(self.after_step)
        told = "; ".join(lost) if lost else "the rewritten branch is followed; none of your grades left it"
        application.call_from_thread(self._stage.say, told, "warn" if lost else "good")


def _told(grade: Grade | None) -> str:
    if grade is None:
        return "it cannot be read, or holds no score yet"
    scores = " ".join(f"{name} {'n/a' if score.na else score.score}" for name, score in grade.scores.items())
    total = "no total" if grade.total is None else f"total {grade.total:g}"
    return f"{grade.verdict or 'no verdict'}, {total}, saved {grade.times.saved}; {scores}"
