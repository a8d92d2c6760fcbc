"""Adjudication: the grades of an item side by side, its evidence a key away, and the lead's decision below."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final, cast

from kgrade.audit.adjudication import Case, agreed, decide, open_case
from kgrade.audit.effects import effects
from kgrade.audit.lead import Office
from kgrade.desk.desk import Desk
from kgrade.desk.item import Item
from kgrade.desk.sheet import Sheet
from kgrade.records.adjudication import Cause
from kgrade.records.rubric import Verdict
from kgrade.records.slugs import ItemId
from kgrade.repository.branches import Saved
from kgrade.tui.case_view import CAUSES, Decision, case_lines, decision_strip
from kgrade.tui.contexts import Option, PickContext, QuestionContext, TextContext
from kgrade.tui.keys import Context
from kgrade.tui.lines import message
from kgrade.tui.pane import TABS, Glance, Pane, Tab
from kgrade.tui.screens.help import HelpPage
from kgrade.tui.screens.looking import looking_deeds
from kgrade.tui.screens.office import OfficeWork, Told
from kgrade.tui.screens.panes import PaneMaker, PaneSet
from kgrade.tui.screens.reading import Deeds, reading_deeds
from kgrade.tui.screens.stage import Stage
from kgrade.tui.text_entry import TextEntry
from kgrade.tui.widgets.rubric import RubricView
from kgrade.tui.widgets.status import Status

_GRADES: Final = Tab("grades", "grades", "grades")
_HIDDEN: Final = Pane(message("This queue is blind: who did what to this item is not shown."))


class AdjudicationPage:
    """Items of `items` one after the other, beginning with `first`; `compare` opens one beside another.

    `closed` is called when one leaves.

    A decision that is not saved is kept as long as the page is open.
    """

    context: Context = "adjudicating"

    def __init__(
        self,
        stage: Stage,
        desk: Desk,
        makers: Mapping[str, PaneMaker],
        items: Sequence[ItemId],
        first: ItemId,
        compare: Callable[[ItemId, Callable[[], None]], None],
        closed: Callable[[], None],
    ) -> None:
        self._stage = stage
        self._desk = desk
        self._items = list(items) if first in items else [first]
        self._compare = compare
        self._closed = closed
        self._before = stage.view.position
        self._office = OfficeWork(stage, desk.root)
        self._case: Case | None = None
        self._here = first
        self._focus = 0
        self._decisions: dict[ItemId, Decision] = {}
        self._decided: set[ItemId] = set()
        own: dict[str, PaneMaker] = {"grades": self._grades_pane}
        if desk.settings.blind:
            own["history"] = lambda item, sheet: _HIDDEN
        self._panes = PaneSet(stage, {**makers, **own}, "grades", (_GRADES, *TABS))
        score_keys = stage.dispatcher.table.of("score").keys
        self._deeds: Deeds = {
            **reading_deeds(stage),
            **looking_deeds(stage, self._panes, self.draw),
            "score": lambda key: self._settle(score_keys.index(key)),
            "criterion.down": lambda key: self._move(1),
            "criterion.up": lambda key: self._move(-1),
            "gates": lambda key: self._pick_gates(),
            "verdict": lambda key: self._pick_verdict(),
            "decide.cause": lambda key: self._pick_cause(),
            "decide.reason": lambda key: self._ask_reason(),
            "save": lambda key: self._save(),
            "item.next": lambda key: self._neighbour(1),
            "item.previous": lambda key: self._neighbour(-1),
            "compare": lambda key: self._compare(self._here, self.resume),
            "mouse": lambda key: stage.toggle_mouse(),
            "redraw": lambda key: stage.draw_afresh(),
            "help": lambda key: HelpPage(stage, self),
            "close": lambda key: self._leave(),
        }
        stage.dispatcher.open(self)
        self.resume()
        self._read(first)

    # The dispatcher's side

    def why_not(self, action: str) -> str | None:
        """Why `action` cannot be done now."""
        if self._case is None and action not in ("close", "help", "redraw", "mouse"):
            return "the grades are not read yet"
        if action in ("save", "score", "gates", "verdict", "decide.cause", "decide.reason"):
            leads = self._desk.settings.leads
            if self._desk.evaluator not in leads:
                return f"only a lead decides; leads of this queue: {', '.join(leads) or 'nobody yet'}"
        if action == "gates" and self._case is not None and not self._case.gates:
            return "no grader answered a gate"
        return None

    def perform(self, action: str, key: str) -> None:
        """Do it."""
        self._deeds[action](key)

    def typed(self, text: str) -> None:
        """Nothing is typed here."""

    def resume(self) -> None:
        """Stand on the stage, at first or again."""
        self._stage.set_parts(rubric=True)
        self.draw()

    def draw(self) -> None:
        """Bring status, tabs and strip in line with the case and the decision."""
        stage, case = self._stage, self._case
        stage.tabs.show(self._panes.tabs(stage.dispatcher.table))
        if case is None:
            stage.status.show(Status(item=str(self._here), kind="adjudication"))
            stage.strip.show(RubricView(title="reading the grades"))
            return
        state = "Decided" if case.decided else "Undecided"
        place = f"{self._items.index(case.item) + 1} of {len(self._items)}"
        stage.status.show(
            Status(
                item=str(case.item),
                kind=f"adjudication {place}{', blind' if self._desk.settings.blind else ''}",
                state="Draft" if self._decision.begun else state,
            )
        )
        stage.strip.show(decision_strip(case, self._decision, self._focus))

    # Reading

    def _read(self, item: ItemId, said: str = "") -> None:
        def job(office: Office, told: Told) -> tuple[Case, Item]:
            if office.settings.blind:
                office.admit(self._desk.evaluator)
            return open_case(office, item), self._desk.item(item)

        def done(found: tuple[Case, Item]) -> None:
            self._opened(*found)
            self._stage.say(said, "good")

        self._office.ask(f"reading the grades of {item}", job, done)

    def _opened(self, case: Case, item: Item) -> None:
        self._case, self._here = case, case.item
        decision = self._decisions.setdefault(case.item, Decision())
        open_ones = [at for at, line in enumerate(case.criteria) if line.gap and line.id not in decision.levels]
        self._focus = open_ones[0] if open_ones else 0
        self._panes.open = "grades"
        self._panes.set_item(item, Sheet())
        self._stage.view.go_to(0)
        self.draw()

    def _grades_pane(self, item: Item, sheet: Sheet) -> Pane:
        case = self._case
        if case is None:
            return Pane(message("the grades are not read yet"))
        apart = sum(line.gap > 0 for line in case.criteria)
        return Pane(case_lines(case), Glance(f"{apart}!", "warn") if apart else Glance("✓", "good"))

    @property
    def _decision(self) -> Decision:
        return self._decisions.setdefault(self._here, Decision())

    # Deciding

    def _settle(self, level: int) -> None:
        case = self._case
        if case is None:
            return
        line = case.criteria[self._focus]
        if level > case.rubric.scale:
            self._stage.say(f"the levels of {line.id} go from 0 to {case.rubric.scale}", "warn")
            return
        before = self._decision.levels.get(line.id, agreed(case).get(line.id, "."))
        self._decision.levels[line.id] = level
        count = len(case.criteria)
        later = [(self._focus + step) % count for step in range(1, count)]
        left = [at for at in later if case.criteria[at].gap and case.criteria[at].id not in self._decision.levels]
        self._focus = left[0] if left else self._focus
        self.draw()
        self._stage.say(f"{line.id} {before} -> {level}")

    def _move(self, step: int) -> None:
        if self._case is not None:
            self._focus = (self._focus + step) % len(self._case.criteria)
            if self._panes.open == "grades":
                view = self._stage.view
                view.go_to(len(view.position.opened) - 1)  # from below, so that the criterion comes to the top
                view.go_to_mark(self._focus)
            self.draw()

    def _pick_verdict(self) -> None:
        if self._case is not None:
            options = [Option(each, each) for each in self._case.rubric.verdicts]
            PickContext(self._stage, "verdict", lambda: options, lambda each: self._set(verdict=cast(Verdict, each)))

    def _pick_cause(self) -> None:
        options = [Option(each, f"{each:<15} {text}") for each, text in CAUSES.items()]
        PickContext(
            self._stage, "why the grades differ", lambda: options, lambda each: self._set(cause=cast(Cause, each))
        )

    def _ask_reason(self) -> None:
        entry = TextEntry("reason, which evaluators read", self._decision.reason)
        TextContext(self._stage, entry, lambda text: self._set(reason=text.strip()))

    def _pick_gates(self) -> None:
        case = self._case
        if case is None:
            return
        lines = case.gates

        def options() -> list[Option]:
            return [
                Option(line.id, f"({self._gate_sign(line.id, line.levels)}) {line.id}", line.title) for line in lines
            ]

        def chosen(name: str) -> None:
            self._decision.gates[name] = not self._decision.gates.get(name, False)
            self.draw()

        PickContext(self._stage, "gates: which hold", options, chosen, stays=True)

    def _gate_sign(self, name: str, said: Sequence[int | None]) -> str:
        if name in self._decision.gates:
            return "x" if self._decision.gates[name] else " "
        return "x" if all(said) else "?" if any(said) else " "

    def _set(self, *, verdict: Verdict | None = None, cause: Cause | None = None, reason: str | None = None) -> None:
        decision = self._decision
        decision.verdict = verdict or decision.verdict
        decision.cause = cause or decision.cause
        decision.reason = decision.reason if reason is None else reason
        self.draw()

    # Saving

    def _save(self) -> None:
        case, decision = self._case, self._decision
        if case is None:
            return
        missing = list(decision.missing(case))
        if missing or decision.verdict is None or decision.cause is None:
            options = [Option(place, text) for place, text in missing]
            PickContext(self._stage, "not decided yet: Enter goes there", lambda: options, self._go_to)
            return
        lead, verdict, cause = self._desk.evaluator, decision.verdict, decision.cause
        levels, gates, reason = dict(decision.levels), dict(decision.gates), decision.reason

        def job(office: Office, told: Told) -> tuple[Saved, str]:
            by = office.signature_of(lead)
            saved, made = decide(
                office, case, by, lead, verdict=verdict, cause=cause, reason=reason, levels=levels, gates=gates
            )
            changed = "; ".join(effect.sentence for effect in effects(case, made))
            return saved, f"{case.item}: {made.verdict} {made.total:g}, {saved.commit[:9]}; {changed}"

        self._office.ask(
            f"saving the decision of {case.item}", job, lambda found: self._saved(case.item, *found), writes=True
        )

    def _saved(self, item: ItemId, saved: Saved, said: str) -> None:
        self._decided.add(item)
        self._decisions.pop(item, None)
        self._desk.refresh()
        at = self._items.index(item)
        later = [each for each in [*self._items[at + 1 :], *self._items[:at]] if each not in self._decided]
        self._read(later[0] if later else item, "; ".join([said, *saved.notes]))

    def _go_to(self, place: str) -> None:
        named = {
            "gates": self._pick_gates,
            "verdict": self._pick_verdict,
            "cause": self._pick_cause,
            "reason": self._ask_reason,
        }
        if place in named:
            named[place]()
        elif self._case is not None:
            self._focus = [line.id for line in self._case.criteria].index(place)
            self._move(0)

    def _neighbour(self, step: int) -> None:
        at = self._items.index(self._here) + step
        if 0 <= at < len(self._items):
            self._read(self._items[at])
        else:
            self._stage.say("this is the last of them" if step > 0 else "this is the first of them")

    def _leave(self) -> None:
        if self._stage.view.needle:
            self._stage.view.search("")
            self._stage.say("")
            return
        if self._office.writing:
            self._stage.say(f"still {self._office.writing}…")
            return
        if self._office.give_up():
            self._stage.say("given up", "warn")
            if self._case is not None:
                return
        unsaved = [str(item) for item, decision in self._decisions.items() if decision.begun]
        if unsaved:
            question = f"leave? the decision of {', '.join(unsaved)} is not saved and would be lost"
            QuestionContext(self._stage, question, self.close)
        else:
            self.close()

    def close(self) -> None:
        """Show again what was there before."""
        self._office.close()
        self._stage.dispatcher.close(self)
        self._stage.view.resume(self._before)
        self._stage.say("")
        self._closed()
