"""Whether each standing grade is what it says it is: its place, its sheet, its sums, and the bytes it judged."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime

from kgrade.audit import walk
from kgrade.audit.findings import Finding, finding
from kgrade.records import codec, scoring
from kgrade.records.faults import BadRecord
from kgrade.records.grade import Grade
from kgrade.records.rubric import Rubric, sheet_sha256
from kgrade.records.slugs import ItemId, is_foreign
from kgrade.repository.branches import Branch
from kgrade.repository.grades import grade_files
from kgrade.repository.runner import LOCAL_TIMEOUT_S, GitError
from kgrade.repository.tree import NOT_JUDGED, Snapshot, TreeReader

SAVED_APART_S = 15 * 60


def standing_faults(
    reader: TreeReader, queue: Branch, stand: Mapping[str, str], written: Mapping[str, Sequence[walk.Step]]
) -> Iterator[Finding]:
    """Yield what is wrong with each standing grade; `written` holds the commits that wrote it, newest first."""
    sheets = _sheets(reader, stand.get(queue.ref))
    grades = list(_grades(reader, stand))
    trees = _judged(reader, stand.get(queue.ref), [grade for _, _, grade in grades if isinstance(grade, Grade)])
    for path, blob, grade in grades:
        show = f"git show {blob[:12]}"
        if isinstance(grade, str):
            yield finding("unreadable", path, grade, show)
            continue
        yield from _place(path, grade, show)
        yield from _sums(path, grade, sheets, show)
        yield from _bytes(path, grade, trees, show)
        if not is_foreign(grade.evaluator):  # those were given elsewhere, before they came
            yield from _time(path, blob, grade, written.get(path, ()))


def _grades(reader: TreeReader, stand: Mapping[str, str]) -> Iterator[tuple[str, str, Grade | str]]:
    seen: set[tuple[str, str]] = set()
    for commit in stand.values():
        for path, blob in grade_files(reader, commit):
            if (path, blob) in seen:
                continue
            seen.add((path, blob))
            try:
                yield path, blob, codec.decode(Grade, reader.objects.object(blob)[1], path)
            except (BadRecord, GitError) as why:
                yield path, blob, str(why)


def _place(path: str, grade: Grade, show: str) -> Iterator[Finding]:
    expected = ItemId.parse(grade.item).grade_path(grade.evaluator)
    if path != expected:
        yield finding("misplaced", path, f"{path} holds {grade.evaluator}'s grade of {grade.item}", show)


def _sums(path: str, grade: Grade, sheets: Mapping[str, Rubric], show: str) -> Iterator[Finding]:
    rubric = sheets.get(grade.rubric.sha256)
    if rubric is None:
        sentence = (
            f"{path} was scored under a sheet {grade.rubric.id}@{grade.rubric.sha256[:12]} that this queue never held"
        )
        yield finding("unknown-rubric", path, sentence, f"git log --oneline -- rubrics/{grade.rubric.id}.yaml")
        return
    result = scoring.score(rubric, grade.scores, grade.gates, grade.verdict)
    if (result.points, result.total) != (grade.points, grade.total):
        sentence = (
            f"{path} says points {grade.points} and total {grade.total};"
            f" its scores come to {result.points} and {result.total}"
        )
        yield finding("wrong-total", path, sentence, show)


def _bytes(path: str, grade: Grade, trees: set[str], show: str) -> Iterator[Finding]:
    about = grade.about
    named = {"the task": about.task_tree, "the submission": about.solution_tree or "", **about.evidence}
    for what, oid in named.items():
        if oid and oid not in trees:
            yield finding(
                "bytes-missing", path, f"{path} judged {what} at {oid[:12]}, which this repository never held", show
            )


def _time(path: str, blob: str, grade: Grade, written: Sequence[walk.Step]) -> Iterator[Finding]:
    """A grade says when it was saved, and its commit was made in that moment; one that was taken back is older."""
    last = next((step for step in written if any(m.path == path and m.new == blob for m in step.moves)), None)
    if last is None:
        return
    older = written[list(written).index(last) + 1 :]
    if any(move.path == path and blob in (move.old, move.new) for step in older for move in step.moves):
        return
    saved = datetime.fromisoformat(grade.times.saved).timestamp()
    if abs(saved - last.authored) > SAVED_APART_S:
        sentence = f"{path} says that it was saved {grade.times.saved}, but its commit {last.commit[:12]} was made "
        sentence += datetime.fromtimestamp(last.authored).astimezone().isoformat(timespec="seconds")
        yield finding("back-dated", path, sentence, f"git log --format=fuller -1 {last.commit[:12]}")


def _sheets(reader: TreeReader, head: str | None) -> dict[str, Rubric]:
    """Every version of every sheet that the queue's history holds, by the hash that grades name."""
    found: dict[str, Rubric] = {}
    for path, blob in _versions(reader, head, "rubrics"):
        try:
            content = reader.objects.object(blob)[1]
            found[sheet_sha256(content)] = codec.decode(Rubric, content, path)
        except (BadRecord, GitError):
            continue  # a version that no one could have scored under
    return found


def _versions(reader: TreeReader, head: str | None, folder: str) -> set[tuple[str, str]]:
    if head is None:
        return set()
    command = [
        "log",
        "--full-history",
        "-m",
        "-z",
        "--raw",
        "--no-abbrev",
        "--no-renames",
        "--format=",
        head,
        "--",
        folder,
    ]
    fields = reader.git.run(command, timeout=10 * LOCAL_TIMEOUT_S).stdout.strip(b"\0").split(b"\0")
    pairs = zip(fields[0::2], fields[1::2])
    found = {(path.decode("utf-8", "surrogateescape"), raw.decode("ascii").split(" ")[3]) for raw, path in pairs if raw}
    return {(path, blob) for path, blob in found if blob != reader.git.null_oid}


def _judged(reader: TreeReader, head: str | None, grades: Sequence[Grade]) -> set[str]:
    """Which of the ids that `grades` name are real: objects that are here, and task trees that the history had.

    A task's tree leaves submissions, evidence and grades out, so that git does not store it: it is computed, at the
    tip, and where a grade names another one, at each commit that changed the task.
    """
    named = {oid for g in grades for oid in (g.about.solution_tree or "", *g.about.evidence.values()) if oid}
    found = walk.present(reader.git, named)
    if head is None:
        return found
    wanted: dict[str, set[str]] = {}
    for grade in grades:
        wanted.setdefault(ItemId.parse(grade.item).task, set()).add(grade.about.task_tree)
    for task, trees in wanted.items():
        found |= _task_trees(reader, head, task, trees)
    return found


def _task_trees(reader: TreeReader, head: str, task: str, wanted: set[str]) -> set[str]:
    found: set[str] = set()
    for commit in [head, *_task_commits(reader, head, task, wanted)]:
        try:
            found.add(Snapshot(reader, commit).task_tree(task))
        except GitError:
            continue  # the task was not there yet, or is gone
        if wanted <= found:
            break
    return found


def _task_commits(reader: TreeReader, head: str, task: str, wanted: set[str]) -> Iterator[str]:
    """The commits that changed the task itself; asked for only when the tip does not answer."""
    folder = f"queue/{task}"
    left_out = [f":(exclude){folder}/{name}" for name in NOT_JUDGED]
    command = ["log", "--full-history", "--format=%H", head, "--", folder, *left_out]
    yield from reader.git.run(command, env={"GIT_LITERAL_PATHSPECS": "0"}).text.split()
