"""All grades of a queue as rows, from every branch that holds some."""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping

import msgspec

from kgrade.audit.cache import GradeCache
from kgrade.audit.ratings import Graded
from kgrade.records import codec
from kgrade.records.faults import BadRecord
from kgrade.records.grade import Grade
from kgrade.records.rubric import Rubric
from kgrade.repository.grades import standing
from kgrade.repository.runner import GitError
from kgrade.repository.tree import READ_LIMIT, Snapshot, TreeReader

_AT_ONCE = 512
LEAST_WORDS = 40  # characters of comments below which equal words mean nothing


class Standing(msgspec.Struct, frozen=True, kw_only=True):
    """Grades that can be read, and a sentence for each that cannot."""

    grades: list[Graded]
    faults: list[str]


def standing_grades(
    reader: TreeReader, stand: Mapping[str, str], told: Callable[[str], None] = lambda text: None
) -> Standing:
    """Read the grades that stand on the branches `stand`; an evaluator's own branch has the last word on theirs.

    `told` hears how far it is; what it raises ends the reading.
    """
    blobs = standing(reader, stand)
    with contextlib.closing(GradeCache(reader.git.common_dir / "kgrade" / "grades.sqlite")) as cache:
        found = cache.known(blobs.values())
        fresh = dict(_read(reader, {path: blob for path, blob in sorted(blobs.items()) if blob not in found}, told))
        cache.keep(fresh)
    found |= fresh
    said = [found[blob] for _, blob in sorted(blobs.items())]
    return Standing(
        grades=[each for each in said if isinstance(each, Graded)],
        faults=[each for each in said if isinstance(each, str)],
    )


def _read(
    reader: TreeReader, blobs: Mapping[str, str], told: Callable[[str], None]
) -> Iterator[tuple[str, Graded | str]]:
    some = list(blobs.items())
    for start in range(0, len(some), _AT_ONCE):
        told(f"reading grades, {start:,} of {len(some):,}")
        reader.objects.ahead([blob for _, blob in some[start : start + _AT_ONCE]], READ_LIMIT)
        for path, blob in some[start : start + _AT_ONCE]:
            try:
                yield blob, graded(codec.decode(Grade, reader.objects.object(blob, READ_LIMIT)[1], path))
            except (BadRecord, GitError) as why:
                yield blob, str(why)
    reader.objects.ahead([], READ_LIMIT)


def graded(grade: Grade) -> Graded:
    """Return what statistics need of `grade`."""
    return Graded(
        item=grade.item,
        evaluator=grade.evaluator,
        rubric=grade.rubric.id,
        sheet=grade.rubric.sha256,
        scores={name: score.score for name, score in grade.scores.items()},
        gates={name: answer.confirmed for name, answer in grade.gates.items()},
        verdict=grade.verdict,
        points=grade.points,
        total=grade.total,
        saved=grade.times.saved,
        active_s=grade.times.active_s,
        words=_words(grade),
    )


def scales(snapshot: Snapshot) -> dict[str, int]:
    """Return the highest level of each rubric that can be read."""
    found = {}
    for entry in snapshot.list("rubrics"):
        name, _, kind = entry.name.rpartition(".")
        if kind == "yaml":
            path = f"rubrics/{entry.name}"
            try:
                found[name] = codec.decode(Rubric, snapshot.read(path), path).scale
            except (BadRecord, GitError):
                continue  # kgrade check names it; grades under it count with the usual scale
    return found


def _words(grade: Grade) -> str:
    said: Iterable[str] = (
        *(score.comment for score in grade.scores.values()),
        *(answer.comment for answer in grade.gates.values()),
        *(note.text for note in grade.comments),
        grade.feedback,
    )
    text = " ".join(" ".join(each.split()).casefold() for each in said if each.strip())
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest() if len(text) >= LEAST_WORDS else ""
