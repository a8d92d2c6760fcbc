"""Two versions of my grade of one item, made in two places: both can be read, one is chosen, both stay in history."""

from __future__ import annotations

import msgspec

from kgrade.desk.people import DeskError
from kgrade.desk.saving import Saving
from kgrade.desk.sending import Keep, Sending
from kgrade.desk.sitting import Sitting
from kgrade.desk.sources import Sources
from kgrade.records import codec
from kgrade.records.faults import BadRecord
from kgrade.records.grade import Grade
from kgrade.records.slugs import ItemId
from kgrade.repository.drafts import Drafts


class Versions(msgspec.Struct, frozen=True, kw_only=True):
    """`mine` is this machine's, `theirs` what I saved elsewhere; None where there is none, or `faults` say why not."""

    item: ItemId
    mine: Grade | None
    theirs: Grade | None
    faults: list[str]


class Choosing:
    """Finds and ends collisions: of saved grades with the remote's, and of a draft with a grade saved meanwhile."""

    def __init__(self, sources: Sources, saving: Saving, sending: Sending, drafts: Drafts, evaluator: str) -> None:
        self._sources = sources
        self._saving = saving
        self._sending = sending
        self._drafts = drafts
        self._evaluator = evaluator

    def versions(self, sitting: Sitting) -> Versions | None:
        """Both versions of the sitting's grade; None when there is but one."""
        item = sitting.item.id
        clash = self._sending.collision(item.grade_path(self._evaluator))
        faults: list[str] = []
        if clash is not None:
            mine, theirs = (self._decoded(item, blob, faults) for blob in (clash.mine, clash.theirs))
            return Versions(item=item, mine=mine, theirs=theirs, faults=faults)
        saved, _ = self._sources.grade_of(item, self._evaluator)
        if not sitting.is_draft or saved == sitting.start.base:
            return None
        theirs = self._decoded(item, saved, faults)
        return Versions(item=item, mine=self._draft(sitting, faults), theirs=theirs, faults=faults)

    def choose(self, sitting: Sitting, keep: Keep) -> None:
        """Let `keep` stand. What is left of the other is an earlier commit; DeskError where there is one version."""
        item = sitting.item.id
        clash = self._sending.collision(item.grade_path(self._evaluator))
        if clash is not None:
            self._sending.choose(clash, keep)
        elif self.versions(sitting) is None:
            raise DeskError(f"{item} has but one version; there is nothing to choose")
        elif keep == "mine":
            self._rebase(item)
        else:
            self._give_way(sitting)

    def _rebase(self, item: ItemId) -> None:
        """Let the draft start from the grade that was saved meanwhile, so that the next save goes on top of it."""
        saved, _ = self._sources.grade_of(item, self._evaluator)
        journal = self._drafts.journal(str(item))
        first, *edits = journal.read()
        journal.compact([{**first, "begin": {**first["begin"], "base": saved}}, *edits])
        journal.close()

    def _give_way(self, sitting: Sitting) -> None:
        """Drop the draft for the saved grade; a draft that can stand becomes a commit under it first."""
        item = sitting.item.id
        theirs, _ = self._sources.grade_of(item, self._evaluator)
        mine = self._draft(sitting, [])
        if mine is not None and theirs is not None:
            self._saving.write(item, mine, base=theirs)
            standing, _ = self._sources.grade_of(item, self._evaluator)
            self._saving.put(item, theirs, standing, "keep the other version")
        sitting.discard()

    def _draft(self, sitting: Sitting, faults: list[str]) -> Grade | None:
        try:
            return sitting.grade(self._evaluator, anyway=True)
        except DeskError as why:
            faults.append(str(why))
            return None

    def _decoded(self, item: ItemId, blob: str | None, faults: list[str]) -> Grade | None:
        if blob is None:
            return None
        try:
            data = self._sources.reader.objects.object(blob)[1]
            return codec.decode(Grade, data, item.grade_path(self._evaluator))
        except BadRecord as bad:
            faults += [str(fault) for fault in bad.faults]
            return None
