"""The desk of one evaluator at one queue: what is next, what is open, saving, taking back, sending."""

from __future__ import annotations

import contextlib
import threading
from datetime import datetime
from pathlib import Path

import msgspec

from kgrade.desk.item import HistoryEntry, Item, about_now, load_item
from kgrade.desk.people import DeskError, Moved, evaluator_of, read_config
from kgrade.desk.sheet import Sheet
from kgrade.desk.sitting import Sitting, Start, Status, now
from kgrade.records import codec, scoring
from kgrade.records.grade import Grade
from kgrade.records.rubric import sheet_sha256
from kgrade.records.settings import Config, Settings
from kgrade.records.slugs import ItemId
from kgrade.repository import order
from kgrade.repository.branches import Branch
from kgrade.repository.commits import Change, CollisionError, Identity
from kgrade.repository.drafts import DraftError, Drafts, state_folder
from kgrade.repository.history import touches
from kgrade.repository.index import Index, ItemRow
from kgrade.repository.order import EmptyQueue, Place
from kgrade.repository.refs import read_refs
from kgrade.repository.remote import Remote
from kgrade.repository.runner import Git, GitError
from kgrade.repository.sync import Standing, Sync
from kgrade.repository.tree import Snapshot, TreeReader

_SKIPS = "skips"


class Progress(msgspec.Struct, frozen=True, kw_only=True):
    """How far this evaluator is: items graded, all items that can be graded, graded today."""

    graded: int
    total: int
    today: int


class Saved(msgspec.Struct, frozen=True, kw_only=True):
    """A grade that is safe in a commit. `notes` are sentences for the person."""

    item: ItemId
    path: str
    commit: str
    notes: list[str]


class Desk:
    """The work of one evaluator. Made by `Desk.open`; methods raise DeskError, BadRecord or DraftError."""

    def __init__(self, git: Git, evaluator: str | None = None) -> None:
        self.git = git
        self.config: Config = read_config()
        self._reader = TreeReader(git)
        self._turn = threading.RLock()
        self.queue_branch = Branch(self._reader, _queue_ref(git), remote=_remote(git, None))
        if self.snapshot().entry("queue") is None:
            raise DeskError(f"{self.root} holds no queue/ folder in its commits; make one with: kgrade init")
        self.settings = self._read_settings()
        if self.settings.remote is not None:
            self.queue_branch = Branch(self._reader, self.queue_branch.ref, remote=_remote(git, self.settings.remote))
        name, email = _git_identity(git)
        self.evaluator = evaluator_of(name, email, self.settings, self.config, evaluator)
        self.identity = Identity(name or self.evaluator, email or f"{self.evaluator}@localhost")
        self._grades_branch = self._own_branch()
        self._index = Index(self._reader)
        self._drafts = self._take_drafts()
        self._skips = self._read_skips()
        self.last_standing: Standing | None = None

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
        if self._drafts.held_by is None:
            return None
        return f"{self._drafts.held_by} has this queue open as {self.evaluator}; this window only reads"

    def snapshot(self) -> Snapshot:
        """The queue as it stands: the branch, and what waits in its outbox."""
        head = self.queue_branch.head()
        if head is None:
            raise DeskError(f"{self.root} has no commit yet; make one with: git add queue rubrics && git commit")
        return Snapshot(self._reader, head)

    def rows(self) -> list[Place]:
        """Every item in this evaluator's order, with its state."""
        with self._turn:
            rows = order.in_order(self._item_rows(), order=self.settings.order, evaluator=self.evaluator)
            return order.places(
                rows,
                evaluator=self.evaluator,
                graders=self.settings.graders_per_item,
                drafts=self._drafts.keys(),
                holders={},
                skipped=self._skips,
            )

    def progress(self) -> Progress:
        """How far this evaluator is."""
        places = self.rows()
        mine = [grade for place in places for grade in place.row.grades if grade.evaluator == self.evaluator]
        today = datetime.now().astimezone().date()
        return Progress(
            graded=sum(place.state == "graded" for place in places),
            total=sum(place.state not in ("faulty", "finished") for place in places),
            today=sum(_local_day(grade.saved) == today for grade in mine),
        )

    def next(self, after: ItemId | None = None) -> ItemId | EmptyQueue:
        """The item to grade now, or why there is none."""
        with self._turn:
            return order.next_item(self.rows(), self._drafts.keys(), after)

    def neighbour(self, item: ItemId, step: int) -> ItemId | None:
        """The item `step` places away in order, whatever its state but faulty; None past the ends."""
        ids = [place.row.id for place in self.rows() if place.state != "faulty" or place.row.id == item]
        at = ids.index(item) + step if item in ids else 0
        return ids[at] if 0 <= at < len(ids) else None

    def item(self, item: ItemId) -> Item:
        """All there is to show of `item`; raise DeskError when there is no such item, BadRecord when it is broken."""
        snapshot = self.snapshot()
        try:
            if snapshot.entry(item.folder) is None:
                raise DeskError(f"there is no item {item} in this queue; kgrade list shows what there is")
            return load_item(
                snapshot, item, self.evaluator, blind=self.settings.blind, grades_in=self._grade_snapshots(snapshot)
            )
        except GitError as why:
            raise DeskError(str(why)) from None

    def history(self, item: ItemId) -> list[HistoryEntry]:
        """The commits that touched `item`, newest first."""
        refs = dict.fromkeys([self.snapshot().commit, *(each.commit for each in self._grade_snapshots(None))])
        found = {touch.commit: touch for commit in refs for touch in touches(self.git, commit, item.folder)}
        newest_first = sorted(found.values(), key=lambda touch: touch.when, reverse=True)
        own = [touch for touch in newest_first if item.submission or not _only_below(touch.paths, "submissions/")]
        return [
            HistoryEntry(commit=each.commit, when=each.when, who=each.who, what=each.what, changed=list(each.paths))
            for each in own
        ]

    def sit(self, item: ItemId) -> Sitting:
        """Open `item` for grading; a draft is taken up where it was left."""
        shown = self.item(item)
        base, sheet = self._standing_grade(item)
        start = Start(opened=now(), about=shown.about, rubric=shown.rubric_ref, base=base, sheet=sheet)
        journal = None if self.read_only else self._drafts.journal(str(item))
        sitting = Sitting(shown, start, journal, lambda: self.standing(item))
        try:
            sitting.resume(self._drafts.events(str(item)))
        except (msgspec.ValidationError, KeyError) as why:
            raise DeskError(f"the draft of {item} is of another version of kgrade ({why}); move it away") from None
        return sitting

    def standing(self, item: ItemId) -> tuple[Status, str]:
        """How my grade of `item` stands in git, and why it has come no further."""
        path = item.grade_path(self.evaluator)
        branch = self._grades_branch
        head = branch.head()
        held = Snapshot(self._reader, head).entry(path) if head else None
        if held is None:
            return "Untouched", ""
        if branch.remote is None:
            waiting = "waits for the branch: the index is locked or in use" if branch.outbox() else ""
            return "Committed", waiting
        tip = branch.remote_tip()
        there = Snapshot(self._reader, tip).entry(path) if tip else None
        if there is not None and there.oid == held.oid:
            return "Pushed", ""
        return "Committed", self.last_standing.reason if self.last_standing else ""

    def save(self, sitting: Sitting, *, anyway: bool = False, still_valid: bool = False) -> Saved:
        """Commit the sitting's grade.

        Raise Incomplete while something is missing (unless `anyway`), Moved when what was judged has changed since
        (unless `still_valid`: the grade is then about the bytes that stand there now).
        """
        item = sitting.item.id
        moved = self._moved(sitting)
        if moved and not still_valid:
            raise Moved(moved)
        if moved:
            shown = self.item(item)
            sitting.start = msgspec.structs.replace(sitting.start, about=shown.about, rubric=shown.rubric_ref)
        saved = self.write(item, sitting.grade(self.evaluator, anyway=anyway), base=sitting.start.base)
        sitting.settle()
        self._skip(item, None)
        return saved

    def write(self, item: ItemId, grade: Grade, *, base: str | None) -> Saved:
        """Commit `grade` over the saved version `base` (a blob id; None: there was none)."""
        path = item.grade_path(self.evaluator)
        data = codec.encode_yaml(grade)
        codec.decode(Grade, data, path)
        total = "-" if grade.total is None else f"{grade.total:g}"
        subject = f"grade: {item} {grade.verdict or '-'} {total} ({self.evaluator})"
        evidence = " ".join(f"{target}={blob}" for target, blob in grade.about.evidence.items())
        trailers = {"Item": str(item), "Rubric": f"{grade.rubric.id}@{grade.rubric.sha256[:12]}", "Evidence": evidence}
        return self._commit(item, Change(path, data, base), subject, trailers)

    def grade_file(self, item: ItemId, data: bytes, name: str) -> Saved:
        """Save the grade in `data` (a grade file, or its scores alone); points and total are computed anew."""
        given = codec.decode(Grade, data, name)
        if given.item != str(item):
            raise DeskError(f"{name} grades {given.item}, not {item}; name the item it grades")
        if given.evaluator != self.evaluator:
            raise DeskError(f"{name} is {given.evaluator}'s grade and you are {self.evaluator}; use --evaluator")
        shown = self.item(item)
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
        grade = msgspec.structs.replace(given, points=result.points, total=result.total)
        return self.write(item, grade, base=self._standing_grade(item)[0])

    def take_back(self) -> Sitting | None:
        """Undo the last save by a new commit and reopen what it held as a draft; None when nothing was saved."""
        mine = [
            (grade.saved, place.row.id)
            for place in self.rows()
            for grade in place.row.grades
            if grade.evaluator == self.evaluator and grade.fault is None
        ]
        if not mine:
            return None
        item = max(mine, key=lambda pair: pair[0])[1]
        path = item.grade_path(self.evaluator)
        base, undone = self._standing_grade(item)
        commit = touches(self.git, self._grades_branch.head() or "HEAD", path, limit=1)[0].commit
        before = self._before(commit, path)
        self._commit(item, Change(path, before, base), f"undo: {item} ({self.evaluator})", {"Undoes": commit})
        sitting = self.sit(item)
        sitting.reach(undone)
        return sitting

    def skip(self, item: ItemId, reason: str) -> None:
        """Leave `item` for later, saying why; it is not offered again until it is opened from the queue."""
        self._skip(item, reason)

    def refresh(self) -> bool:
        """Read the queue again if it moved; whether it did."""
        with self._turn:
            return self._update_index()

    def sync(self, cancel: threading.Event | None = None) -> Standing | None:
        """One step towards the remote; None without one. May run in a background thread."""
        branch = self._grades_branch
        try:
            if branch.remote is None:
                branch.settle(self.identity, sign=self._sign)
                return None
            step = Sync(branch, Remote(self.git, branch.remote), self.identity, sign=self._sign)
            self.last_standing = step.step(cancel)
        except GitError as why:
            raise DeskError(str(why)) from None
        return self.last_standing

    def unsent(self) -> int:
        """How many commits wait to be sent, or to reach the branch."""
        branch = self._grades_branch
        if branch.outbox() is None:
            return 0
        if branch.remote is None:
            return 1
        return len(Sync(branch, Remote(self.git, branch.remote), self.identity).waiting())

    def close(self) -> None:
        """Leave the desk; drafts stay."""
        self._drafts.close()
        self._index.close()
        self._reader.objects.close()

    @property
    def _sign(self) -> bool:
        if self.settings.sign == "auto":
            return self.git.run(["config", "--type=bool", "--get", "commit.gpgSign"], check=False).text == "true"
        return self.settings.sign == "always"

    def _read_settings(self) -> Settings:
        snapshot = self.snapshot()
        if snapshot.entry("kgrade.yaml") is None:
            return Settings()
        data = snapshot.read("kgrade.yaml")
        return codec.decode(Settings, data, "kgrade.yaml") if data.strip() else Settings()

    def _own_branch(self) -> Branch:
        template = self.settings.grades_ref
        if template is None:
            return self.queue_branch
        ref = template.replace("{evaluator}", self.evaluator)
        return (
            self.queue_branch
            if ref == self.queue_branch.ref
            else Branch(self._reader, ref, remote=self.queue_branch.remote)
        )

    def _grade_refs(self) -> dict[str, str]:
        """Every other ref that holds grades, with its commit: all that the template matches, mine with its outbox."""
        if self._grades_branch is self.queue_branch:
            return {}
        template = self.settings.grades_ref or ""
        prefix = template.partition("{evaluator}")[0]
        found = {ref: oid for ref, oid in read_refs(self.git, prefix.rstrip("/")).items() if ref.startswith(prefix)}
        if self.queue_branch.remote is not None:
            seen = f"refs/kgrade/remotes/{self.queue_branch.remote}/{prefix.removeprefix('refs/heads/')}"
            found |= {ref: oid for ref, oid in read_refs(self.git, seen.rstrip("/")).items() if ref.startswith(seen)}
        head = self._grades_branch.head()
        return {**found, self._grades_branch.ref: head} if head else found

    def _grade_snapshots(self, queue: Snapshot | None) -> list[Snapshot]:
        own = [queue] if queue is not None else []
        return own + [Snapshot(self._reader, commit) for commit in dict.fromkeys(self._grade_refs().values())]

    def _update_index(self) -> bool:
        return self._index.update((self.queue_branch.ref, self.snapshot().commit), self._grade_refs())

    def _item_rows(self) -> list[ItemRow]:
        self._update_index()
        return self._index.rows()

    def _take_drafts(self) -> Drafts:
        return Drafts(state_folder(self.git.common_dir, self.evaluator))

    def _standing_grade(self, item: ItemId) -> tuple[str | None, Sheet]:
        path = item.grade_path(self.evaluator)
        head = self._grades_branch.head()
        snapshot = Snapshot(self._reader, head) if head else None
        entry = snapshot.entry(path) if snapshot else None
        if snapshot is None or entry is None:
            return None, Sheet()
        return entry.oid, Sheet.of(codec.decode(Grade, snapshot.read(path), path))

    def _before(self, commit: str, path: str) -> bytes | None:
        parent = self.git.run(["rev-parse", "--verify", "--quiet", f"{commit}^"], check=False)
        if parent.code:
            return None
        snapshot = Snapshot(self._reader, parent.text)
        return snapshot.read(path) if snapshot.entry(path) else None

    def _moved(self, sitting: Sitting) -> list[str]:
        snapshot = self.snapshot()
        item, judged = sitting.item.id, sitting.start
        path = f"rubrics/{judged.rubric.id}.yaml"
        try:
            now_ = about_now(snapshot, item)
            sheet = sheet_sha256(snapshot.read(path))
        except GitError as why:
            raise DeskError(f"{item} cannot be saved: {why}") from None
        changed = {
            "the task": now_.task_tree != judged.about.task_tree,
            "the submission": now_.solution_tree != judged.about.solution_tree,
            "the rubric": sheet != judged.rubric.sha256,
        }
        return [name for name, is_so in changed.items() if is_so]

    def _commit(self, item: ItemId, change: Change, subject: str, trailers: dict[str, str]) -> Saved:
        if self.read_only:
            raise DeskError(self.read_only)
        body = "\n".join(f"{key}: {value}" for key, value in trailers.items() if value)
        try:
            saved = self._grades_branch.commit([change], f"{subject}\n\n{body}\n", self.identity, sign=self._sign)
        except CollisionError as clash:
            raise DeskError(
                f"{clash.path} was saved elsewhere since this draft was begun; open the item again to see both"
            ) from None
        except GitError as why:
            raise DeskError(f"{item} could not be committed and stays a draft: {why}") from None
        return Saved(item=item, path=change.path, commit=saved.commit, notes=list(saved.notes))

    def _skip(self, item: ItemId, reason: str | None) -> None:
        if reason is None and item not in self._skips:
            return
        journal = self._drafts.beside(_SKIPS)
        journal.begin({})
        journal.append({"item": str(item), "reason": reason})
        journal.close()
        self._skips = self._read_skips()

    def _read_skips(self) -> dict[ItemId, str]:
        left: dict[ItemId, str] = {}
        for event in self._drafts.beside(_SKIPS).read():
            with contextlib.suppress(KeyError, ValueError):
                item = ItemId.parse(event["item"])
                left.pop(item, None)
                if event["reason"] is not None:
                    left[item] = event["reason"]
        return left


def _queue_ref(git: Git) -> str:
    """The branch checked out; where none is, the only branch there is."""
    head = git.run(["symbolic-ref", "--quiet", "HEAD"], check=False)
    if not head.code:
        return head.text
    branches = [
        ref
        for ref in read_refs(git, "refs/heads")
        if not ref.startswith(("refs/heads/grades/", "refs/heads/evidence/"))
    ]
    usual = [ref for ref in ("refs/heads/main", "refs/heads/master") if ref in branches]
    if len(branches) == 1 or usual:
        return branches[0] if len(branches) == 1 else usual[0]
    raise DeskError(
        "no branch is checked out here and several could be the queue's; check one out, such as: git switch main"
    )


def _remote(git: Git, wanted: str | None) -> str | None:
    names = git.run(["remote"]).text.split()
    if wanted is not None and wanted not in names:
        raise DeskError(
            f"kgrade.yaml names the remote {wanted}, which this clone does not have; add it with git remote add"
        )
    return wanted or ("origin" if "origin" in names else None)


def _git_identity(git: Git) -> tuple[str, str]:
    values = [git.run(["config", "--get", f"user.{key}"], check=False).text for key in ("name", "email")]
    return values[0], values[1]


def _local_day(saved: str) -> object:
    try:
        return datetime.fromisoformat(saved).astimezone().date()
    except ValueError:
        return None


def _only_below(paths: tuple[str, ...], folder: str) -> bool:
    return bool(paths) and all(path.startswith(folder) for path in paths)
