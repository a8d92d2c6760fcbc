"""From a sheet to a commit, and back: saving, saving from a file, taking the last save back."""

from __future__ import annotations

import msgspec

from kgrade.desk.claiming import Claiming
from kgrade.desk.item import Item, about_now, evidence_now
from kgrade.desk.people import DeskError
from kgrade.desk.sitting import Sitting
from kgrade.desk.sources import Sources
from kgrade.records import codec, scoring
from kgrade.records.grade import Grade
from kgrade.records.rubric import sheet_sha256
from kgrade.records.slugs import ItemId
from kgrade.repository.commits import Change, CollisionError
from kgrade.repository.history import touches
from kgrade.repository.opening import Signature
from kgrade.repository.runner import GitError
from kgrade.repository.tree import Snapshot


class Saved(msgspec.Struct, frozen=True, kw_only=True):
    """A grade that is safe in a commit. `notes` are sentences for the person."""

    item: ItemId
    path: str
    commit: str
    notes: list[str]


class Saving:
    """Makes the commits of one evaluator's desk. May be called from any thread: refs move by compare-and-swap."""

    def __init__(self, sources: Sources, claiming: Claiming, by: Signature, evaluator: str) -> None:
        self._sources = sources
        self._claiming = claiming
        self._by = by
        self._evaluator = evaluator

    def write(self, item: ItemId, grade: Grade, *, base: str | None, follow: bool = True) -> Saved:
        """Commit `grade` over the saved version `base` (a blob id; None: there was none).

        Without `follow`, checkouts and the claim are brought along by whoever settles them next.
        """
        path = item.grade_path(self._evaluator)
        data = codec.encode_yaml(grade)
        codec.decode(Grade, data, path)
        total = "-" if grade.total is None else f"{grade.total:g}"
        subject = f"grade: {item} {grade.verdict or '-'} {total} ({self._evaluator})"
        trailers = {
            "Item": str(item),
            "Rubric": f"{grade.rubric.id}@{grade.rubric.sha256[:12]}",
            "Evidence": " ".join(f"{target}={blob}" for target, blob in grade.about.evidence.items()),
            "Claim": self._claiming.trailer(item),
        }
        saved = self._commit(item, Change(path, data, base), subject, trailers, follow=follow)
        self._claiming.done(item)
        note = "; ".join(self._claiming.settle()) if follow else ""
        return msgspec.structs.replace(saved, notes=[*saved.notes, note]) if note else saved

    def moved(self, sitting: Sitting) -> list[str]:
        """What of the judged bytes stands otherwise now than when the sitting began."""
        snapshot = self._sources.snapshot()
        item, judged, shown = sitting.item.id, sitting.start, sitting.item.about.evidence
        path = f"rubrics/{judged.rubric.id}.yaml"
        try:
            stands = about_now(snapshot, item)
            sheet = sheet_sha256(snapshot.read(path))
        except GitError as why:
            raise DeskError(f"{item} cannot be saved: {why}") from None
        changed = {
            "the task": stands.task_tree != judged.about.task_tree,
            "the submission": stands.solution_tree != judged.about.solution_tree,
            "the evidence": stands.evidence != shown and evidence_now(snapshot, item) != shown,
            "the rubric": sheet != judged.rubric.sha256,
        }
        return [name for name, is_so in changed.items() if is_so]

    def take_back(self, item: ItemId) -> None:
        """Bring the version before the standing grade of `item` back, by a new commit."""
        path = item.grade_path(self._evaluator)
        branch = self._sources.grades
        base, _ = self._sources.grade_of(item, self._evaluator)
        commit = touches(branch.git, branch.head() or "HEAD", path, limit=1)[0].commit
        change = Change(path, self._before(commit, path), base)
        self._commit(item, change, f"undo: {item} ({self._evaluator})", {"Undoes": commit})

    def put(self, item: ItemId, blob: str, base: str | None, why: str) -> Saved:
        """Commit a version of my grade that git holds as `blob` over the standing one, `base`."""
        path = item.grade_path(self._evaluator)
        data = self._sources.reader.objects.object(blob)[1]
        return self._commit(item, Change(path, data, base), f"{why}: {item} ({self._evaluator})", {"Item": str(item)})

    def _before(self, commit: str, path: str) -> bytes | None:
        parent = self._sources.reader.git.run(["rev-parse", "--verify", "--quiet", f"{commit}^"], check=False)
        if parent.code:
            return None
        snapshot = Snapshot(self._sources.reader, parent.text)
        return snapshot.read(path) if snapshot.entry(path) else None

    def _commit(
        self, item: ItemId, change: Change, subject: str, trailers: dict[str, str], *, follow: bool = True
    ) -> Saved:
        body = "\n".join(f"{key}: {value}" for key, value in trailers.items() if value)
        by = self._by
        try:
            saved = self._sources.grades.commit(
                [change], f"{subject}\n\n{body}\n", by.identity, sign=by.sign, follow=follow
            )
        except CollisionError as clash:
            raise DeskError(
                f"{clash.path} was saved elsewhere since this draft was begun; choose one of the two"
            ) from None
        except GitError as why:
            raise DeskError(f"{item} could not be committed and stays a draft: {why}") from None
        return Saved(item=item, path=change.path, commit=saved.commit, notes=list(saved.notes))


def grade_in(data: bytes, name: str, shown: Item, evaluator: str) -> Grade:
    """The grade of `shown` in `data` (a grade file, or its scores alone); points and total are computed anew.

    Raises BadRecord, or DeskError where it is another's, another item's, or scored under another sheet.
    """
    given = codec.decode(Grade, data, name)
    if given.item != str(shown.id):
        raise DeskError(f"{name} grades {given.item}, not {shown.id}; name the item it grades")
    if given.evaluator != evaluator:
        raise DeskError(f"{name} is {given.evaluator}'s grade and you are {evaluator}; use --evaluator")
    if given.rubric.sha256 != shown.rubric_ref.sha256:
        raise DeskError(
            f"{name} was scored under sheet {given.rubric.sha256[:12]} and the queue's {shown.rubric_ref.id} is"
            f" {shown.rubric_ref.sha256[:12]}; score it under the sheet that stands there"
        )
    unknown = [key for key in given.scores if shown.rubric.criterion(key) is None]
    unknown += [key for key in given.gates if shown.rubric.gate(key) is None]
    if unknown:
        raise DeskError(f"{name} names {', '.join(unknown)}, which {shown.rubric_ref.id} does not have")
    result = scoring.score(shown.rubric, given.scores, given.gates, given.verdict)
    return msgspec.structs.replace(given, points=result.points, total=result.total)
