"""Seals and branches: does every branch still hold what was seen of it, and what does no seal cover?"""

from __future__ import annotations

from collections.abc import Iterator

from kgrade.audit.case import Case, grades_of
from kgrade.audit.findings import Finding, finding
from kgrade.audit.seals import is_ancestor_here
from kgrade.repository.grades import SEALS, branches
from kgrade.repository.refs import commits_between


def of_seals(case: Case) -> Iterator[Finding]:
    """Seals that do not count, and a branch of seals that lost what this clone had seen of it."""
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


def of_branches(case: Case) -> Iterator[Finding]:
    """Branches that are gone, set back or rewritten, by what the seals and this clone saw of them."""
    sealed = [(link.seal.refs, f"the seal {link.commit[:12]}") for link in case.good if link.seal is not None]
    told: set[str] = set()
    for refs, who in [*reversed(sealed), (case.memory.tips, "this clone")]:
        for ref, commit in refs.items():
            if ref not in told and (found := _lost(case, ref, commit, who)) is not None:
                told.add(ref)
                yield found


def sealed_in(case: Case) -> dict[str, str]:
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


def unsealed(case: Case) -> list[Finding]:
    """The grades that no seal covers, in one sentence."""
    if not case.good:
        sentence = (
            "no seal covers these grades: a rewritten branch would show in this clone only; make one: kgrade seal"
        )
        return [finding("unsealed", SEALS, sentence, "kgrade seal")]
    open_ones = [step for step in case.steps if step.commit not in case.sealed_in and grades_of(step)]
    if not open_ones:
        return []
    count = len({path for step in open_ones for path, _ in grades_of(step)})
    sentence = f"{count} grades were written since the last seal {case.good[-1].commit[:12]}"
    excluded = " ".join(
        f"^{commit[:12]}" for commit in (case.good[-1].seal.refs.values() if case.good[-1].seal else ())
    )
    tips = " ".join(commit[:12] for commit in case.stand.values())
    return [finding("unsealed", SEALS, sentence, f"git log --oneline {tips} {excluded}")]


def _lost(case: Case, ref: str, commit: str, who: str) -> Finding | None:
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
