"""Does the history of grades hold? Signatures, authors, dates, seals, and whether each grade is what it says it is.

Everything found is named with the git command that shows it. An alarm is what an honest history does not hold; a note
is what a lead should know.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

import msgspec

from kgrade.audit import walk
from kgrade.audit.case import Case, grades_of
from kgrade.audit.case_commits import of_steps
from kgrade.audit.case_seals import of_branches, of_seals, sealed_in, unsealed
from kgrade.audit.case_settings import of_settings
from kgrade.audit.findings import SHALLOW, Finding, finding, is_shallow
from kgrade.audit.seals import read_chain, remember, remembered
from kgrade.audit.standing import standing_faults
from kgrade.records.settings import Settings
from kgrade.repository.branches import Branch
from kgrade.repository.grades import grade_branches
from kgrade.repository.refs import commits_between
from kgrade.repository.signing import Signed, signatures
from kgrade.repository.tree import TreeReader


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
    case = Case(reader, queue, stand, links, trust, memory)
    case.steps = walk.steps(reader.git, list(dict.fromkeys(stand.values())))
    told(f"checking the signatures of {len(case.steps):,} commits")
    findings = [*of_settings(case)]  # first: it completes whom to trust
    case.signed = signatures(reader.git, [step.commit for step in case.steps], trust.keys)
    case.sealed_in = sealed_in(case)
    findings += [*of_seals(case), *of_branches(case), *of_steps(case)]
    last = _last_steps(case.steps)
    told("checking each grade's place, sheet, sums and bytes")
    findings += standing_faults(reader, queue, stand, last)
    findings += unsealed(case)
    if is_shallow(reader.git):
        findings.append(finding("shallow", "this clone", SHALLOW, "git log --oneline --boundary"))
    remember(reader.git, memory, links, stand)
    proofs = [_proof(case, path, ref, step) for path, (ref, step) in sorted(_by_path(case, last).items())]
    return Verification(
        findings=list(dict.fromkeys(findings)), grades=proofs, commits=len(case.steps), seals=len(links)
    )


def _last_steps(steps: Iterable[walk.Step]) -> dict[str, list[walk.Step]]:
    """The commits that wrote each grade, newest first."""
    found: dict[str, list[walk.Step]] = {}
    for step in steps:
        for path, _ in grades_of(step):
            found.setdefault(path, []).append(step)
    return found


def _by_path(case: Case, last: Mapping[str, list[walk.Step]]) -> dict[str, tuple[str, walk.Step]]:
    """The branch and the last commit of each grade that still stands."""
    found = {}
    for ref in case.stand:
        own = set(commits_between(case.git, None, case.stand[ref]))
        for path, written in last.items():
            here = next((step for step in written if step.commit in own), None)
            if here is not None and not any(move.path == path and move.new is None for move in here.moves):
                found[path] = (ref, here)
    return found


def _proof(case: Case, path: str, ref: str, step: walk.Step) -> GradeProof:
    signed = case.signed.get(step.commit, Signed("unchecked"))
    return GradeProof(
        path=path,
        ref=ref,
        commit=step.commit,
        signature=signed.state,
        signer=signed.signer,
        seal=case.sealed_in.get(step.commit),
    )
