"""The desk of one evaluator at one queue: what is next, what is open, saving, taking back, sending."""

from __future__ import annotations

import contextlib
import threading
from collections import Counter
from pathlib import Path
from typing import Final

import msgspec

from kgrade.desk.bringing import bring_items, bring_next
from kgrade.desk.carrying import carry
from kgrade.desk.claiming import Claiming
from kgrade.desk.item import HistoryEntry, Item, load_item
from kgrade.desk.listing import Listing, Progress, without_a_slot
from kgrade.desk.people import DeskError, Moved, Slow, evaluator_of, read_config
from kgrade.desk.saving import Saved, Saving, grade_in
from kgrade.desk.seats import Seats, read_only
from kgrade.desk.sending import Keep, Sending
from kgrade.desk.sitting import Sitting, Status
from kgrade.desk.skips import Skips
from kgrade.desk.sources import Sources
from kgrade.desk.versions import Choosing, Versions
from kgrade.records.grade import Grade
from kgrade.records.slugs import ItemId
from kgrade.repository import order
from kgrade.repository.bundles import write_bundle
from kgrade.repository.claims import Claims, TakenError
from kgrade.repository.commits import Identity
from kgrade.repository.drafts import DraftError, Drafts, state_folder
from kgrade.repository.history import newest_first, touched_last, touches
from kgrade.repository.index_rows import GradeRow, ItemRow
from kgrade.repository.opening import git_identity, open_queue, signature
from kgrade.repository.order import EmptyQueue, Place, Places
from kgrade.repository.remote import SlowError
from kgrade.repository.remote_claims import claim_refs
from kgrade.repository.runner import Git, GitError
from kgrade.repository.sync import EVIDENCE, Standing
from kgrade.repository.tree import Snapshot, TreeReader

_MOST_SOUGHT: Final = 1000
"""Grades whose order is sought in history: more would not fit one command."""

_WINS_PER_LOSS: Final = 8
"""Claims to be won in a row before one that was lost is forgotten: with many at work, losing costs more than order."""


class Desk:
    """The work of one evaluator. Made by `Desk.open`; methods raise DeskError, BadRecord or DraftError.

    Every method may be called from any thread. Sittings belong to the thread that opened them.
    """

    def __init__(self, git: Git, evaluator: str | None = None) -> None:
        self.git = git
        self.config = read_config()
        self._reader = TreeReader(git)
        queue, self.settings = open_queue(self._reader)
        name, email = git_identity(git)
        self.evaluator = evaluator_of(name, email, self.settings, self.config, evaluator)
        identity = Identity(name or self.evaluator, email or f"{self.evaluator}@localhost")
        by = signature(git, identity, self.settings, self.evaluator)
        self._sources = Sources(self._reader, queue, self.settings, self.evaluator)
        self._listing = Listing(self._sources, self.evaluator)
        self._drafts = Drafts(state_folder(git.common_dir, self.evaluator))
        self._skips = Skips(self._drafts)
        self._refs = claim_refs(git, queue.remote)
        self._claiming = self._own_claims(identity)
        self._saving = Saving(self._sources, self._claiming, by, self.evaluator)
        # Who grades blind has not even fetched what the others think.
        self._sending = Sending(self._sources.grades, by, self._sources.followed(others=self._sources.named))
        self._carries = carry(self._refs, self._claiming, self._sending)
        self._choosing = Choosing(self._sources, self._saving, self._sending, self._drafts, self.evaluator)
        self._seats = Seats(self._sources, self._claiming, self._sending, self._drafts, self.evaluator)
        self._turn = threading.RLock()
        self._losses = 0
        """Claims lost to others lately, by which candidates are spread."""
        self._wins = 0
        """Claims won in a row."""
        self.notes: list[str] = []
        """Sentences for the person about the last `sync`."""

    @classmethod
    def open(cls, path: Path, *, evaluator: str | None = None) -> Desk:
        """Sit down at the queue that holds `path`."""
        try:
            return cls(Git.open(path), evaluator)
        except (GitError, DraftError) as why:
            raise DeskError(str(why)) from None

    @property
    def root(self) -> Path:
        """The folder of the repository."""
        return self.git.work_tree or self.git.git_dir

    @property
    def read_only(self) -> str | None:
        """Why nothing can be written here, in one sentence; None when it can."""
        return read_only(self._drafts, self.evaluator)

    @property
    def alarms(self) -> list[str]:
        """What a person must be told as long as it is so: branches that were rewritten at the remote."""
        return self._sending.alarms

    @property
    def last_standing(self) -> Standing | None:
        """What came of the last step towards the remote; None before the first and without a remote."""
        return self._sending.last

    # The queue

    def snapshot(self) -> Snapshot:
        """The queue as it stands: the branch, and what waits in its outbox."""
        return self._sources.snapshot()

    def rows(self) -> Places:
        """Every item in this evaluator's order, with its state; what others hold says by whom and until when."""
        return self._places({})

    def progress(self) -> Progress:
        """How far this evaluator is, as of the last look at the queue (`rows`, `next`, `refresh`, a save, a sync)."""
        return self._listing.progress()

    def next(self, after: ItemId | None = None) -> ItemId | EmptyQueue:
        """The item to grade now, claimed for me where others could have it too, or why there is none.

        Raises Slow where the remote is there but has not yet said whose an item is: none is given out on a guess.
        """
        with self._turn:
            lost: dict[ItemId, str] = {}
            while True:
                skip = order.spread(self.evaluator, self._losses)
                first = self._first(lost, skip) if after is None else None
                places = Places.of([]) if first else self._places(lost)
                part = self._part()
                found = first or order.next_item(places, self._drafts.keys(), after, skip=skip, part=part)
                if skip and isinstance(found, ItemId):
                    found = self._offered(found, lost)
                if isinstance(found, EmptyQueue):
                    held = {place.row.id for place in places if place.state == "claimed"}
                    told = (self._claiming.next_free(held), self._sources.unread(), self._listing.plan().fault)
                    return msgspec.structs.replace(found, reasons=[*found.reasons, *(why for why in told if why)])
                if self.read_only or self._drafts.holds(str(found)):
                    if self._seats.end_saved_draft(found):
                        continue
                    return found
                try:
                    self._claiming.offer(found)
                except TakenError as taken:  # someone was faster between the look and the claim
                    lost[found] = ", ".join(map(self._claiming.told, taken.holders)) or str(taken)
                    self._losses += 1
                    self._wins = 0
                except SlowError as why:
                    raise Slow(str(why)) from None
                else:
                    self._wins += 1
                    if self._losses and self._wins % _WINS_PER_LOSS == 0:
                        self._losses -= 1
                    return found

    def waits(self) -> bool:
        """Whether a slow remote still owes an answer about claims; known at once, whatever else goes on."""
        return self._claiming.waits()

    def my_grades(self) -> list[tuple[ItemRow, GradeRow]]:
        """My grades that can be read, the one saved last first; times are whole seconds, so history parts equals."""
        mine = [
            (row, grade)
            for row in self._listing.rows()
            for grade in row.grades
            if grade.evaluator == self.evaluator and grade.fault is None
        ]
        often = Counter(grade.saved for _, grade in mine)
        equals = [row.id.grade_path(self.evaluator) for row, grade in mine if often[grade.saved] > 1]
        head = self._sources.grades.head()
        later = newest_first(self.git, head, equals[:_MOST_SOUGHT]) if head and equals else []
        rank = {path: -number for number, path in enumerate(later, 1)}
        unranked = -len(later) - 1
        return sorted(
            mine,
            key=lambda one: (one[1].saved, rank.get(one[0].id.grade_path(self.evaluator), unranked)),
            reverse=True,
        )

    def neighbour(self, item: ItemId, step: int) -> ItemId | None:
        """The item `step` places away in order, whatever its state but faulty; None past the ends."""
        places = self.rows()
        at = places.where(item)
        while at is not None:
            at += step
            if not 0 <= at < len(places):
                return None
            if places[at].state != "faulty":
                return places[at].row.id
        return None

    def refresh(self) -> bool:
        """Read the queue again if it moved; whether it did."""
        return self._listing.refresh()

    def skip(self, item: ItemId, reason: str) -> None:
        """Leave `item` for later, saying why; it is not offered again until it is opened from the queue."""
        self._skips.set(item, reason)

    # One item

    def item(self, item: ItemId, *, whole: bool = False) -> Item:
        """All there is to show of `item`; raise DeskError when there is no such item, BadRecord when it is broken.

        In a blind queue others' grades are part of it once mine is in; with `whole`, for its leads, before that too.
        """
        snapshot = self.snapshot()
        try:
            if snapshot.entry(item.folder) is None:
                sentence = f"there is no item {item} in this queue; kgrade list shows what there is"
                raise DeskError("; ".join(filter(None, [sentence, self._sources.unread()])))
            grades_in = self._sources.grade_snapshots()
            bring_items(self._reader.objects, snapshot, [item], grades_in)
            blind = self.settings.blind and not (whole and self._sources.named)
            return load_item(snapshot, item, self.evaluator, blind=blind, grades_in=grades_in)
        except GitError as why:
            raise DeskError(str(why)) from None

    def hides(self, item: ItemId) -> bool:
        """Whether what others think of `item` is kept from this evaluator: the queue is blind, my grade is not in."""
        return self.settings.blind and self._sources.grade_of(item, self.evaluator)[0] is None

    def history(self, item: ItemId) -> list[HistoryEntry]:
        """The commits that touched `item`, newest first."""
        commits = dict.fromkeys([self.snapshot().commit, *(each.commit for each in self._sources.grade_snapshots())])
        found = {touch.commit: touch for commit in commits for touch in touches(self.git, commit, item.folder)}
        newest_first = sorted(found.values(), key=lambda touch: touch.when, reverse=True)
        own = [touch for touch in newest_first if item.submission or not _only_below(touch.paths, "submissions/")]
        if self.hides(item):
            mine = f"grades/{self.evaluator}.yaml"
            own = [touch for touch in own if mine in touch.paths or not _only_below(touch.paths, "grades/")]
        return [
            HistoryEntry(commit=each.commit, when=each.when, who=each.who, what=each.what, changed=list(each.paths))
            for each in own
        ]

    def sit(self, item: ItemId, *, take_over: bool = False) -> Sitting:
        """Open `item` for grading; a draft is taken up where it was left.

        It is claimed for me, but for one that I graded before. Where others hold it, the sitting only reads and says
        why, unless I have a draft of it. `take_over`: the person confirms that a claim which ended is theirs to take.
        """
        return self._seats.sit(self.item(item), take_over=take_over)

    def standing(self, item: ItemId) -> tuple[Status, str]:
        """How my grade of `item` stands in git at this moment, and why it has come no further."""
        return self._sending.standing(item.grade_path(self.evaluator))

    def versions(self, item: ItemId) -> Versions | None:
        """Both versions of my grade of `item` where it was graded in two places; None where there is one."""
        return self._choosing.versions(self._seats.opened(item) or self.sit(item))

    def choose(self, item: ItemId, keep: Keep) -> Sitting:
        """End a collision; both versions stay in history. Sittings of `item` from before are closed; go on in this."""
        self._writable()
        before = self._seats.opened(item) or self.sit(item)
        self._choosing.choose(before, keep)
        before.close()
        return self.sit(item)

    # Saving

    def save(self, sitting: Sitting, *, anyway: bool = False, still_valid: bool = False, follow: bool = True) -> Saved:
        """Commit the sitting's grade.

        Without `follow`, what need not be waited for is left to the next `sync`: checkouts and the mark on the claim.

        Raise Incomplete while something is missing (unless `anyway`), Moved when what was judged has changed since
        (unless `still_valid`: the grade is then about the bytes that stand there now).
        """
        item = sitting.item.id
        moved = self._saving.moved(sitting)
        if moved and not still_valid:
            raise Moved(moved)
        if moved:
            shown = self.item(item)
            sitting.item = shown
            sitting.start = msgspec.structs.replace(sitting.start, about=shown.about, rubric=shown.rubric_ref)
        grade = sitting.grade(self.evaluator, anyway=anyway)
        offering = threading.Thread(target=self._offer_next, args=(item,), name="claim-ahead", daemon=True)
        if not follow and not self._carries:
            offering.start()
        saved = self.write(item, grade, base=sitting.start.base, follow=follow)
        if not follow and self._carries:
            offering.start()  # its push takes the grade along
        sitting.settle()
        self._skips.set(item, None)
        return saved

    def write(self, item: ItemId, grade: Grade, *, base: str | None, follow: bool = True) -> Saved:
        """Commit `grade` over the saved version `base` (a blob id; None: there was none); `follow` as for `save`."""
        self._writable()
        saved = self._saving.write(item, grade, base=base, follow=follow)
        self._listing.refresh()
        return saved

    def grade_file(self, item: ItemId, data: bytes, name: str) -> Saved:
        """Save the grade in `data` (a grade file, or its scores alone); points and total are computed anew."""
        grade = grade_in(data, name, self.item(item), self.evaluator)
        return self.write(item, grade, base=self._sources.grade_of(item, self.evaluator)[0])

    def take_back(self) -> Sitting | None:
        """Undo the last save by a new commit and reopen what it held as a draft; None when nothing was saved."""
        mine = [
            (grade.saved, row.id)
            for row in self._listing.rows()
            for grade in row.grades
            if grade.evaluator == self.evaluator and grade.fault is None
        ]
        if not mine:
            return None
        self._writable()
        item = self._saved_last(mine)
        undone = self._sources.grade_of(item, self.evaluator)[1]
        self._saving.take_back(item)
        self._listing.refresh()
        sitting = self._seats.sit(self.item(item), mine=True)
        sitting.reach(undone)
        return sitting

    def _saved_last(self, mine: list[tuple[str, ItemId]]) -> ItemId:
        """The item saved last, as the history tells it: a clock may have been put back between two saves."""
        newest = sorted(mine, key=lambda one: one[0], reverse=True)[:_MOST_SOUGHT]
        by_path = {item.grade_path(self.evaluator): item for _, item in newest}
        head = self._sources.grades.head()
        last = touched_last(self.git, head, list(by_path)) if head and len(by_path) > 1 else None
        return by_path[last or next(iter(by_path))]

    # Sending

    def sync(self, cancel: threading.Event | None = None) -> Standing | None:
        """One step towards the remote; None without one. May run in a background thread.

        It also does what saves left for later; `notes` are what that has to say.
        """
        marks = self._claiming.marks() if self._sources.queue.remote is not None else []
        standing = self._sending.step(cancel, marks)
        self._claiming.went_along(standing.carried if standing else ())
        left = self._claiming.settle()
        self.notes = [*left, *self._sending.notes]
        self._listing.refresh()
        self._listing.note_outlook()
        if not self.read_only:
            self._sources.grades.get_ready()
        if self._reader.objects.partial.remote is not None:
            bring_next(self._reader.objects, self.snapshot(), self.rows(), self._sources.grade_snapshots(), cancel)
        return standing

    def catch_up(self, cancel: threading.Event | None = None) -> None:
        """Read what a very large queue left for later; for a background thread, or for who needs all of it."""
        self._listing.catch_up(cancel or threading.Event())

    def bundle(self, file: Path) -> int:
        """Write what waits for the remote to `file`, for someone who may push; how many commits that are."""
        try:
            return write_bundle(self._sources.grades, file)
        except GitError as why:
            raise DeskError(str(why)) from None

    def unsent(self) -> int:
        """How many commits wait to be sent, or to reach the branch."""
        return self._sending.unsent()

    def accept_rewrite(self, cancel: threading.Event | None = None) -> list[str]:
        """Go on from the branch that was rewritten at the remote. Answers a sentence for each grade that left it."""
        before = self._graded()
        tip = self._sending.accept_rewrite(cancel)
        self._listing.refresh()
        branch = self._sources.grades
        kept = f"{EVIDENCE}{branch.remote}/{branch.short}/{(tip or '')[:12]}"
        return [
            f"your grade of {item} is not in the rewritten branch; {kept}:{item.grade_path(self.evaluator)} holds it"
            for item in before
            if item not in self._graded()
        ]

    def close(self) -> None:
        """Leave the desk: claims are given back, drafts stay."""
        self._claiming.close()
        self._sending.close()
        self._drafts.close()
        self._listing.note_outlook()
        self._listing.close()
        self._reader.objects.close()
        self.git.let_go()

    def _own_claims(self, identity: Identity) -> Claiming:
        lease_s = self.settings.lease_minutes * 60
        graded = self._sources.graders_of
        claims = Claims(
            self._reader, self._refs, self.evaluator, identity, slots=self._slots, graded=graded, lease_s=lease_s
        )
        return Claiming(claims, self.evaluator, lease_s, named=self._sources.named)

    def _slots(self, item: ItemId) -> int:
        return self._listing.plan().graders(item)

    def _places(self, lost: dict[ItemId, str]) -> Places:
        """The rows with their states; `lost` are items whose claims others turned out to have."""
        with self._turn:
            return self._at_this_moment(self._listing.standing(), lost)

    def _at_this_moment(self, standing: Places, lost: dict[ItemId, str]) -> Places:
        held = without_a_slot(standing, self._claiming.others(), self._listing.plan(), self.evaluator)
        return order.overlaid(
            standing, drafts=self._drafts.keys(), holders={**held, **lost}, skipped=self._skips.left()
        )

    def _first(self, lost: dict[ItemId, str], skip: int) -> ItemId | None:
        """The item to begin with, where that is known without reading the whole queue: a draft may be anywhere."""
        outlook = None if self._drafts.keys() else self._listing.outlook()
        if outlook is None:
            return None
        standing = Places.of([Place(row=row, state="open") for row in outlook.first])
        found = order.next_item(self._at_this_moment(standing, lost), (), skip=skip)
        return found if isinstance(found, ItemId) else None

    def _part(self) -> tuple[int, int]:
        """The part of the queue that is mine while several are at it, once some claim was lost; else all of it."""
        return order.share(self.evaluator, self._claiming.at_work()) if self._losses else (0, 1)

    def _offered(self, found: ItemId, lost: dict[ItemId, str]) -> ItemId:
        """What is claimed for me already, where any open item is as good as `found`; `found` where it is not."""
        mine = self._claiming.offered
        if mine is None or mine == found or self._drafts.holds(str(found)):
            return found
        place = self._places(lost).place(mine)
        return mine if place is not None and place.state == "open" else found

    def _graded(self) -> list[ItemId]:
        rows = self._listing.rows()
        return [row.id for row in rows if any(grade.evaluator == self.evaluator for grade in row.grades)]

    def _offer_next(self, saved: ItemId) -> None:
        """Claim what comes after `saved` while that is being committed; `next` then finds it claimed.

        It is an offer like any other: given back when something else turns out to be next.
        """
        with self._turn:
            drafts = self._drafts.keys()
            places = self._places({})
            before = places.place(saved)
            others = places.with_these({saved: Place(row=before.row, state="graded")}) if before else places
            skip = order.spread(self.evaluator, self._losses)
            drafted = [key for key in drafts if key != str(saved)]
            found = order.next_item(others, drafted, skip=skip, part=self._part())
            if isinstance(found, ItemId) and not self._drafts.holds(str(found)):
                with contextlib.suppress(SlowError):  # `next` hears of it
                    try:
                        self._claiming.offer(found)
                    except TakenError:  # and finds another
                        self._losses += 1
                        self._wins = 0

    def _writable(self) -> None:
        if self.read_only:
            raise DeskError(self.read_only)


def _only_below(paths: tuple[str, ...], folder: str) -> bool:
    return bool(paths) and all(path.startswith(folder) for path in paths)
