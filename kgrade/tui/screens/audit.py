"""The audit: agreement, evaluators, time, coverage, disagreements, history, verification, each a pane by a key."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from kgrade.audit.changes import Change, changes
from kgrade.audit.lead import Office
from kgrade.audit.overview import Overview, blinded, overview
from kgrade.audit.verification import Verification, verify
from kgrade.desk.desk import Desk
from kgrade.records.slugs import ItemId
from kgrade.repository.grades import grade_branches
from kgrade.tui import audit_trail, audit_view
from kgrade.tui.audit_view import Listed, Subject
from kgrade.tui.keys import Context
from kgrade.tui.lines import message
from kgrade.tui.pane import NOTHING_TO_SAY, Glance
from kgrade.tui.screens.audit_files import write_export, write_report
from kgrade.tui.screens.help import HelpPage
from kgrade.tui.screens.office import OfficeWork, Told
from kgrade.tui.screens.reading import Deeds, reading_deeds
from kgrade.tui.screens.stage import Stage
from kgrade.tui.widgets.lines import Position
from kgrade.tui.widgets.status import Status
from kgrade.tui.widgets.tabs import TabState

_WIDE: Final = 120
"""Columns from which intervals stand beside their figures as plots."""

_LEADS_ONLY: Final = "this queue is blind: only its leads see this"
_WAITING: Final = Listed(message("reading the grades", "q gives up"), [None, None])


class _Tab(NamedTuple):
    """A pane of the audit; `blind` says whether a blind queue shows it to those who do not lead it."""

    id: str
    title: str
    short: str
    blind: bool


_TABS: Final = (
    _Tab("agreement", "agreement", "agree", True),
    _Tab("evaluators", "evaluators", "people", False),
    _Tab("time", "time", "time", False),
    _Tab("coverage", "coverage", "cover", True),
    _Tab("disagreements", "differ", "differ", False),
    _Tab("history", "log", "log", False),
    _Tab("verify", "verify", "verify", False),
)


@dataclass(frozen=True)
class Audited:
    """What the office found: the audit, and the items that a lead decided."""

    overview: Overview
    decided: set[str]


class AuditPage:
    """Over the page that opened it. `adjudicate` opens the second of what it gets, one of several items.

    `closed` draws what was there before.

    In a blind queue evaluators are named where a pane is about them, and only to leads.
    """

    context: Context = "audit"

    def __init__(
        self,
        stage: Stage,
        desk: Desk,
        adjudicate: Callable[[Sequence[ItemId], ItemId], None],
        closed: Callable[[], None],
    ) -> None:
        self._stage = stage
        self._desk = desk
        self._adjudicate = adjudicate
        self._closed = closed
        self._before = stage.view.position
        self._office = OfficeWork(stage, desk.root)
        self._leads = desk.evaluator in desk.settings.leads
        self._found: Audited | None = None
        self._changes: list[Change] = []
        self._about: Subject | None = None
        self._verified: Verification | None = None
        self._listings: dict[str, Listed] = {}
        self._positions: dict[str, Position] = {}
        self._open = "agreement"
        self._deeds: Deeds = {
            **reading_deeds(stage),
            **{f"audit.{tab.id}": self._showing(tab.id) for tab in _TABS},
            "audit.history": lambda key: self._history(self._subject),
            "audit.verify": lambda key: self._verify(),
            "audit.export": lambda key: write_export(stage, self._office, named=not desk.settings.blind),
            "audit.report": lambda key: self._report(),
            "audit.again": lambda key: self.read(),
            "pane.next": lambda key: self._go(self._after(1)),
            "pane.previous": lambda key: self._go(self._after(-1)),
            "mark.next": lambda key: self._mark(1),
            "mark.previous": lambda key: self._mark(-1),
            "wrap": lambda key: stage.view.toggle_wrap(),
            "fold": lambda key: self._fold(),
            "open": lambda key: self._enter(),
            "mouse": lambda key: stage.toggle_mouse(),
            "redraw": lambda key: stage.draw_afresh(),
            "help": lambda key: HelpPage(stage, self),
            "close": lambda key: self._leave(),
        }
        stage.dispatcher.open(self)
        self._set_up()
        self.read()

    # The dispatcher's side

    def why_not(self, action: str) -> str | None:
        """Why `action` cannot be done now."""
        name = action.removeprefix("audit.")
        shut = any(tab.id == name and not self._may_see(tab) for tab in _TABS)
        if shut or (action in ("audit.export", "audit.report") and not self._may_see(_TABS[1])):
            return _LEADS_ONLY
        if action == "audit.report" and self._found is None:
            return "the grades are not read yet"
        if action == "open" and self._subject is None:
            return "nothing stands here that could be opened"
        return None

    def perform(self, action: str, key: str) -> None:
        """Do it."""
        self._deeds[action](key)

    def typed(self, text: str) -> None:
        """Nothing is typed here."""

    def read(self) -> None:
        """Read the grades, again if they were read before."""
        self._office.ask("reading the grades", _audited, self._read)

    def resume(self) -> None:
        """Come back from an item that was adjudicated: what stands there may differ now."""
        self._set_up()
        self._show(self._open)
        self.read()

    def close(self) -> None:
        """Show again what was there before."""
        self._office.close()
        self._stage.set_parts(rubric=True)
        self._stage.dispatcher.close(self)
        self._stage.view.resume(self._before)
        self._stage.say("")
        self._closed()

    # What is shown

    def _set_up(self) -> None:
        self._stage.set_parts(rubric=False, tabs=True)
        self._draw()
        if not self._listings:
            self._stage.view.show(_WAITING.lines)

    def _read(self, found: Audited) -> None:
        self._found = found
        self._make()
        self._show(self._open)

    def _make(self) -> None:
        if self._found is None:
            return
        found, names = self._found.overview, not self._desk.settings.blind
        if not (names or self._leads):
            found = blinded(found)
        seen = {
            "agreement": audit_view.agreement_listing(found.agreement, wide=self._stage.size.width >= _WIDE),
            "evaluators": audit_view.evaluators_listing(found.standings, found.agreement.pairs),
            "time": audit_view.time_listing(found.standings, found.suspicions),
            "coverage": audit_view.coverage_listing(found.coverage, found.faults, named=names or self._leads),
            "disagreements": audit_view.disagreements_listing(found.disagreements, self._found.decided, named=names),
        }
        self._listings |= {tab.id: seen[tab.id] for tab in _TABS if tab.id in seen and self._may_see(tab)}

    def _show(self, name: str) -> None:
        if name != self._open:
            self._positions[self._open] = self._stage.view.position
        self._open = name
        listing = self._listings.get(name, _WAITING)
        before = self._positions.pop(name, None)
        self._stage.view.show(listing.lines)
        about = [at for at, subject in enumerate(listing.subjects) if subject is not None]
        first = min([*about[:1], *listing.lines.marks[:1]], default=0)
        self._stage.view.go_to(min(before.cursor, len(listing.lines) - 1) if before else first)
        self._draw()

    def _draw(self) -> None:
        table = self._stage.dispatcher.table
        tabs = [
            TabState((table.of(f"audit.{tab.id}").keys or ("",))[0], tab.title, self._glance(tab.id),
                     tab.id == self._open, tab.short)
            for tab in _TABS
        ]  # fmt: skip
        self._stage.tabs.show(tuple(tabs))
        found = self._found.overview if self._found else None
        grades = f"{found.agreement.grades} grades by {len(found.agreement.evaluators)} evaluators" if found else ""
        kind = f"{grades}{', blind' if self._desk.settings.blind else ''}"
        self._stage.status.show(Status(item="audit", kind=kind, state=self._desk.evaluator))

    def _glance(self, name: str) -> Glance:
        if self._found is None:
            return NOTHING_TO_SAY
        found = self._found.overview
        if name == "agreement":
            mend = sum(of.band == "mend the sheet" for of in found.agreement.criteria)
            return Glance(f"{mend}!", "bad") if mend else NOTHING_TO_SAY
        if name == "time":
            return Glance(f"{len(found.suspicions)}!", "warn") if found.suspicions else NOTHING_TO_SAY
        if name == "coverage":
            return Glance(f"{found.coverage.finished}/{found.coverage.items}")
        if name == "disagreements":
            left = sum(each.item not in self._found.decided for each in found.disagreements)
            return Glance(f"{left}!", "warn") if left else Glance("✓", "good")
        if name == "verify" and self._verified is not None:
            alarms = len(self._verified.alarms)
            return Glance(f"{alarms}✗", "bad") if alarms else Glance("✓", "good")
        return NOTHING_TO_SAY

    def _may_see(self, tab: _Tab) -> bool:
        return tab.blind or self._leads or not self._desk.settings.blind

    @property
    def _subject(self) -> Subject | None:
        """What the line under the cursor is about; a fold's rows belong to the row above them."""
        position = self._stage.view.position
        subjects = self._listings.get(self._open, _WAITING).subjects
        number = position.opened.origin(position.cursor) if len(position.opened) else 0
        return subjects[number] if number < len(subjects) else None

    # Deeds

    def _showing(self, name: str) -> Callable[[str], None]:
        return lambda key: self._show(name)

    def _after(self, step: int) -> str:
        names = [tab.id for tab in _TABS if self._may_see(tab)]
        return names[(names.index(self._open) + step) % len(names)]

    def _go(self, name: str) -> None:
        self.perform(f"audit.{name}", "")

    def _mark(self, step: int) -> None:
        if not self._stage.view.next_mark(step):
            self._stage.say("nothing further here wants a look" if step > 0 else "nothing before this wants a look")

    def _fold(self) -> None:
        if not self._stage.view.toggle_fold():
            self._stage.say("nothing is folded here")

    def _enter(self) -> None:
        subject = self._subject
        if subject is None:
            return
        if subject.kind == "item" and self._open == "disagreements":
            self._positions[self._open] = self._stage.view.position
            self._office.give_up()
            listed = [each.name for each in self._listings[self._open].subjects if each is not None]
            self._adjudicate([ItemId.parse(name) for name in listed], ItemId.parse(subject.name))
        elif self._open == "history" and subject.kind == "item" and subject == self._about:
            self._stage.view.toggle_fold()
        else:
            self._history(subject)

    def _history(self, subject: Subject | None) -> None:
        """The history of `subject`; from the history itself, and where nothing stands, of everything."""
        if not self._may_see(_TABS[5]):
            self._stage.say(_LEADS_ONLY)
            return
        about = None if self._open == "history" and subject == self._about else subject
        kinds = {about.kind: about.name} if about else {}

        def job(office: Office, told: Told) -> list[Change]:
            stand = grade_branches(office.queue, office.settings)
            return changes(office.reader, stand, told=told, **kinds)

        def done(found: list[Change]) -> None:
            named = not self._desk.settings.blind or (about is not None and about.kind == "evaluator")
            self._about = about
            self._listings["history"] = audit_trail.history_listing(found, about, named=named)
            self._positions.pop("history", None)
            self._show("history")

        self._office.ask("reading the history", job, done)

    def _verify(self) -> None:
        if self._verified is not None and self._open != "verify":
            self._show("verify")
            return

        def done(found: Verification) -> None:
            self._verified = found
            self._listings["verify"] = audit_trail.verification_listing(found, named=True)
            self._show("verify")

        self._office.ask(
            "verifying", lambda office, told: verify(office.reader, office.queue, office.settings, told), done
        )

    def _report(self) -> None:
        if self._found is not None:
            write_report(self._stage, self._office, self._found.overview)

    def _leave(self) -> None:
        if self._stage.view.needle:
            self._stage.view.search("")
            self._stage.say("")
        elif self._office.writing:
            self._stage.say(f"still {self._office.writing}…")
        elif self._office.give_up() and self._found is not None:
            self._stage.say("given up; R reads again")
        else:
            self.close()


def _audited(office: Office, told: Told) -> Audited:
    found = overview(office.reader, office.queue, office.settings, told)
    snapshot = office.snapshot()
    items = [ItemId.parse(each.item) for each in found.disagreements]
    decided = {str(item) for item in items if snapshot.entry(f"{item.folder}/adjudication.yaml") is not None}
    return Audited(found, decided)
