"""Does the history of grades hold? Signatures, authors, dates, seals, and whether each grade is what it says it is.

Everything found is named with the git command that shows it. An alarm is what an honest history does not hold; a note
is what a lead should know.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import msgspec

from kgrade.audit import walk
from kgrade.audit.findings import SHALLOW, Finding, finding, is_shallow
from kgrade.audit.seals import Link, Memory, Trust, is_ancestor_here, read_chain, remember, remembered, settings_at
from kgrade.audit.standing import standing_faults
from kgrade.records.settings import Settings
from kgrade.repository.branches import Branch
from kgrade.repository.grades import SEALS, branches, grade_branches
from kgrade.repository.plan import ASSIGNMENTS
from kgrade.repository.refs import commits_between
from kgrade.repository.runner import Git
from kgrade.repository.signing import Signed, fingerprint, signatures
from kgrade.repository.tree import TreeReader

SKEW_S = 15 * 60
_COMPARISON = re.compile(r"queue/[^/]+/comparisons/[^/]+/[^/]+\.yaml")


class _Said(NamedTuple):
    """One file that is an evaluator's own word."""

    path: str
    evaluator: str
    kind: str


class GradeProof(msgspec.Struct, frozen=True, kw_only=True):
    """One standing grade: by whom its last commit is signed, and the seal that covers it."""

    path: str
    ref: str
    commit: str
    signature: str
    signer: str
    seal: str | None


class Verification(msgspec.Struct, frozen=True, kw_only=True):
    """All that was found, and what was looked at."""

    findings: list[Finding]
    grades: list[GradeProof]
    commits: int
    seals: int

    @property
    def alarms(self) -> list[Finding]:
        """What an honest history does not hold."""
        return [found for found in self.findings if found.alarm]


@dataclass
class _Case:
    """What the checks share."""

    reader: TreeReader
    queue: Branch
    stand: dict[str, str]
    links: list[Link]
    trust: Trust
    memory: Memory
    steps: list[walk.Step] = field(default_factory=list)
    signed: dict[str, Signed] = field(default_factory=dict)
    sealed_in: dict[str, str] = field(default_factory=dict)

    @property
    def git(self) -> Git:
        return self.reader.git

    @property
    def good(self) -> list[Link]:
        return [link for link in self.links if link.seal is not None and not link.fault]


def verify(
    reader: TreeReader, queue: Branch, settings: Settings, told: Callable[[str], None] = lambda text: None
) -> Verification:
    """Check the whole history of grades as this clone has it, and remember what was seen.

    `told` hears how far it is; what it raises ends the check, and nothing is remembered.
    """
    told("reading the seals")
    memory = remembered(reader.git)
    links, trust = read_chain(reader, queue.remote, memory)
    stand = grade_branches(queue, settings)
    case = _Case(reader, queue, stand, links, trust, memory)
    case.steps = walk.steps(reader.git, list(dict.fromkeys(stand.values())))
    told(f"checking the signatures of {len(case.steps):,} commits")
    findings = [*_of_settings(case)]  # first: it completes whom to trust
    case.signed = signatures(reader.git, [step.commit for step in case.steps], trust.keys)
    case.sealed_in = _sealed_in(case)
    findings += [*_of_seals(case), *_of_branches(case), *_of_steps(case)]
    last = _last_steps(case.steps)
    told("checking each grade's place, sheet, sums and bytes")
    findings += standing_faults(reader, queue, stand, last)
    findings += _unsealed(case)
    if is_shallow(reader.git):
        findings.append(finding("shallow", "this clone", SHALLOW, "git log --oneline --boundary"))
    remember(reader.git, memory, links, stand)
    proofs = [_proof(case, path, ref, step) for path, (ref, step) in sorted(_by_path(case, last).items())]
    return Verification(
        findings=list(dict.fromkeys(findings)), grades=proofs, commits=len(case.steps), seals=len(links)
    )


# Seals and branches


def _of_seals(case: _Case) -> Iterator[Finding]:
    for link in case.links:
        if link.fault:
            yield finding(
                "seal", link.commit[:12], f"the seal {link.commit[:12]} does not count: {link.fault}",
                f"git show --show-signature {link.commit[:12]}",
            )  # fmt: skip
    now = branches(case.git, case.queue.remote).get(SEALS)
    seen = case.memory.seal
    if seen and (now is None or not is_ancestor_here(case.git, seen, now)):
        what = "is gone" if now is None else "was rewritten"
        sentence = f"the branch of seals {what}: this clone saw the seal {seen[:12]}, which is no longer in it"
        yield finding("seal", SEALS, sentence, f"git show {seen[:12]}")


def _of_branches(case: _Case) -> Iterator[Finding]:
    sealed = [(link.seal.refs, f"the seal {link.commit[:12]}") for link in case.good if link.seal is not None]
    told: set[str] = set()
    for refs, who in [*reversed(sealed), (case.memory.tips, "this clone")]:
        for ref, commit in refs.items():
            if ref not in told and (found := _lost(case, ref, commit, who)) is not None:
                told.add(ref)
                yield found


def _lost(case: _Case, ref: str, commit: str, who: str) -> Finding | None:
    now = case.stand.get(ref) or branches(case.git, case.queue.remote).get(ref)
    short = ref.removeprefix("refs/heads/")
    if now is None:
        return finding("removed", ref, f"{short} is gone; {who} saw it at {commit[:12]}", f"git log {commit[:12]}")
    if is_ancestor_here(case.git, commit, now):
        return None
    if is_ancestor_here(case.git, now, commit):
        sentence = f"{short} was set back to {now[:12]}; {who} saw it at {commit[:12]}"
        return finding("rolled-back", ref, sentence, f"git log {now[:12]}..{commit[:12]}")
    sentence = f"{short} was rewritten: it no longer holds {commit[:12]}, which {who} saw"
    return finding("rewritten", ref, sentence, f"git log --left-right --oneline {commit[:12]}...{now[:12]}")


def _sealed_in(case: _Case) -> dict[str, str]:
    """The first seal that covers each commit."""
    found: dict[str, str] = {}
    before: dict[str, str] = {}
    for link in case.good:
        refs = link.seal.refs if link.seal is not None else {}
        for ref, commit in refs.items():
            if ref in case.stand and is_ancestor_here(case.git, commit, case.stand[ref]):
                for covered in commits_between(case.git, before.get(ref), commit):
                    found.setdefault(covered, link.commit)
                before[ref] = commit
    return found


def _unsealed(case: _Case) -> list[Finding]:
    if not case.good:
        sentence = (
            "no seal covers these grades: a rewritten branch would show in this clone only; make one: kgrade seal"
        )
        return [finding("unsealed", SEALS, sentence, "kgrade seal")]
    open_ones = [step for step in case.steps if step.commit not in case.sealed_in and _grades_of(step)]
    if not open_ones:
        return []
    count = len({path for step in open_ones for path, _ in _grades_of(step)})
    sentence = f"{count} grades were written since the last seal {case.good[-1].commit[:12]}"
    excluded = " ".join(
        f"^{commit[:12]}" for commit in (case.good[-1].seal.refs.values() if case.good[-1].seal else ())
    )
    tips = " ".join(commit[:12] for commit in case.stand.values())
    return [finding("unsealed", SEALS, sentence, f"git log --oneline {tips} {excluded}")]


# The settings: who leads, and whose keys count


def _of_settings(case: _Case) -> Iterator[Finding]:
    head = case.stand.get(case.queue.ref)
    versions = [step for step in reversed(case.steps) if any(move.path == "kgrade.yaml" for move in step.moves)]
    if not case.good:
        for step in versions:
            _accept(case, step.commit)
        if head is not None:
            _accept(case, head)
        return
    sealed = [link.seal.refs[link.seal.queue] for link in case.good if link.seal is not None]
    between = Trust()
    for step in versions:
        if any(is_ancestor_here(case.git, step.commit, commit) for commit in sealed):
            _know_between(case, between, step)
            continue  # a later seal vouches for it
        signed = signatures(case.git, [step.commit], case.trust.lead_keys())[step.commit]
        if signed.state == "good":
            _accept(case, step.commit)
            continue
        yield finding(
            "settings", "kgrade.yaml",
            f"{step.email} changed kgrade.yaml in {step.commit[:12]} without a lead's signature; it does not count",
            f"git show --show-signature {step.commit[:12]} -- kgrade.yaml",
        )  # fmt: skip


def _know_between(case: _Case, between: Trust, step: walk.Step) -> None:
    """Remember whom a version between two seals named, where a lead signed it: what they did then was in order."""
    settings = settings_at(case.reader, step.commit)
    if settings is None:
        return
    keys = {**case.trust.lead_keys(), **between.lead_keys()}
    if signatures(case.git, [step.commit], keys)[step.commit].state == "good":
        between.accept(settings)
        case.trust.know(settings)


def _accept(case: _Case, commit: str) -> None:
    settings = settings_at(case.reader, commit)
    if settings is not None:
        case.trust.accept(settings)


# Each commit that wrote a grade, a comparison or a lead's decision


def _of_steps(case: _Case) -> Iterator[Finding]:
    when = walk.dates(case.git, (parent for step in case.steps for parent in step.parents))
    sealed_at = walk.dates(case.git, [case.good[-1].commit]) if case.good else {}
    authors = _first_authors(case.steps)
    for step in case.steps:
        show = f"git show --show-signature {step.commit[:12]}"
        for said in _said_in(step):
            yield from _of_edit(case, step, said, authors.get(said.path, ""), show)
        for move in step.moves:
            if move.path == ASSIGNMENTS or move.path.endswith("/adjudication.yaml"):
                yield from _of_decision(case, step, move.path, show)
        before = max((when[parent] for parent in step.parents if parent in when), default=0)
        if step.committed < before - SKEW_S:
            sentence = f"{step.commit[:12]} is dated {_apart(before - step.committed)} before its own parent"
            yield finding("back-dated", _where(step), sentence, f"git log --format=fuller -2 {step.commit[:12]}")
        elif sealed_at and step.commit not in case.sealed_in and _grades_of(step):
            last = next(iter(sealed_at.values()))
            if step.committed < last - SKEW_S:
                sentence = f"{step.commit[:12]} is dated before the last seal, which lacks it: sent late, or back-dated"
                yield finding("late", _where(step), sentence, f"git log --format=fuller -1 {step.commit[:12]}")


def _of_edit(case: _Case, step: walk.Step, said: _Said, first: str, show: str) -> Iterator[Finding]:
    signed = case.signed.get(step.commit, Signed("unchecked"))
    path, evaluator = said.path, said.evaluator
    gone = any(move.path == path and move.new is None for move in step.moves)
    what = f"{evaluator}'s {said.kind} was {'removed' if gone else 'written'} in {step.commit[:12]}"
    if signed.state in ("bad", "unknown-key"):
        yield _badly_signed(step, signed, path, show)
    elif signed.state == "good":
        if signed.signer != evaluator:
            yield finding(
                "removed" if gone else "edited-by-another", path, f"{what}, which {signed.signer} signed", show
            )
        elif _revoked(case, step, signed):
            sentence = (
                f"{step.commit[:12]} is signed with {signed.key}, which {evaluator} had given up before the last seal"
            )
            yield finding("revoked-key", path, sentence, show)
    else:
        if _demands_signature(case.trust.settings, evaluator):
            yield _not_signed(step, evaluator, path, show)
        known = case.trust.emails.get(evaluator) or ({first} if first else set())
        if known and step.email not in known:
            yield finding("removed" if gone else "edited-by-another", path, f"{what} by {step.email}", show)


def _of_decision(case: _Case, step: walk.Step, path: str, show: str) -> Iterator[Finding]:
    """An adjudication or the assignments: to be written by who led the queue then, and signed where they have a key."""
    signed = case.signed.get(step.commit, Signed("unchecked"))
    then = settings_at(case.reader, step.commit)
    leads = [lead for lead in (then.leads if then else []) if lead in case.trust.led]
    if signed.state in ("bad", "unknown-key"):
        yield _badly_signed(step, signed, path, show)
        return
    if not case.trust.led:
        return
    by_mail = next((lead for lead in leads if step.email in case.trust.emails.get(lead, ())), "")
    mails_known = any(case.trust.emails.get(lead) for lead in case.trust.led)
    is_lead = signed.signer in leads if signed.state == "good" else bool(by_mail) or not mails_known
    if not is_lead:
        what = "the adjudication" if path.endswith("/adjudication.yaml") else "the change of assignments"
        sentence = f"{what} in {step.commit[:12]} is {signed.signer or step.email}'s, who is no lead"
        yield finding("not-a-lead", path, sentence, show)
    elif signed.state != "good" and by_mail and _demands_signature(case.trust.settings, by_mail):
        yield _not_signed(step, by_mail, path, show)


def _badly_signed(step: walk.Step, signed: Signed, path: str, show: str) -> Finding:
    if signed.state == "bad":
        return finding("bad-signature", path, f"the signature of {step.commit[:12]} does not fit what it holds", show)
    sentence = f"{step.commit[:12]} is signed with {signed.key}, which kgrade.yaml gives to nobody"
    return finding("mis-signed", path, sentence, show)


def _not_signed(step: walk.Step, who: str, path: str, show: str) -> Finding:
    return finding("unsigned", path, f"{step.commit[:12]} is not signed, which this queue asks of {who}", show)


def _demands_signature(settings: Settings, evaluator: str) -> bool:
    person = settings.evaluators.get(evaluator)
    return settings.sign == "always" or (settings.sign == "auto" and bool(person and person.keys))


def _revoked(case: _Case, step: walk.Step, signed: Signed) -> bool:
    """Whether the key was given up before the last seal, which does not cover this commit."""
    person = case.trust.settings.evaluators.get(signed.signer)
    if not case.good or step.commit in case.sealed_in or person is None:
        return False
    sealed = case.good[-1].seal
    then = settings_at(case.reader, sealed.refs[sealed.queue]) if sealed is not None else None
    was = then.evaluators.get(signed.signer) if then is not None else None
    keys = [*person.keys, *(was.keys if was is not None else ())]
    return signed.key not in {fingerprint(key) for key in keys}


def _first_authors(steps: Sequence[walk.Step]) -> dict[str, str]:
    """Who first wrote each grade and comparison: steps come newest first."""
    return {said.path: step.email for step in steps for said in _said_in(step)}


def _last_steps(steps: Iterable[walk.Step]) -> dict[str, list[walk.Step]]:
    """The commits that wrote each grade, newest first."""
    found: dict[str, list[walk.Step]] = {}
    for step in steps:
        for path, _ in _grades_of(step):
            found.setdefault(path, []).append(step)
    return found


def _said_in(step: walk.Step) -> list[_Said]:
    """What a commit wrote that is one evaluator's own: grades and comparisons."""
    return [
        *(_Said(path, evaluator, "grade") for path, evaluator in _grades_of(step)),
        *(
            _Said(move.path, move.path.split("/")[3], "comparison")
            for move in step.moves
            if _COMPARISON.fullmatch(move.path)
        ),
    ]


def _grades_of(step: walk.Step) -> list[tuple[str, str]]:
    """The grades that a commit wrote: path and evaluator."""
    return [
        (move.path, move.path.rpartition("/")[2].removesuffix(".yaml"))
        for move in step.moves
        if "/grades/" in move.path
    ]


def _where(step: walk.Step) -> str:
    return next((path for path, _ in _grades_of(step)), step.moves[0].path if step.moves else step.commit[:12])


def _apart(seconds: int) -> str:
    return f"{seconds // 3600} h {seconds % 3600 // 60} min" if seconds >= 3600 else f"{seconds // 60} min"


def _by_path(case: _Case, last: Mapping[str, list[walk.Step]]) -> dict[str, tuple[str, walk.Step]]:
    """The branch and the last commit of each grade that still stands."""
    found = {}
    for ref in case.stand:
        own = set(commits_between(case.git, None, case.stand[ref]))
        for path, written in last.items():
            here = next((step for step in written if step.commit in own), None)
            if here is not None and not any(move.path == path and move.new is None for move in here.moves):
                found[path] = (ref, here)
    return found


def _proof(case: _Case, path: str, ref: str, step: walk.Step) -> GradeProof:
    signed = case.signed.get(step.commit, Signed("unchecked"))
    return GradeProof(
        path=path,
        ref=ref,
        commit=step.commit,
        signature=signed.state,
        signer=signed.signer,
        seal=case.sealed_in.get(step.commit),
    )
