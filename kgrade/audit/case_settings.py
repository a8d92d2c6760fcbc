"""The settings in a history of grades: who leads, whose keys count, and changes of that which no lead signed."""

from __future__ import annotations

from collections.abc import Iterator

from kgrade.audit import walk
from kgrade.audit.case import Case
from kgrade.audit.findings import Finding, finding
from kgrade.audit.seals import Trust, is_ancestor_here, settings_at
from kgrade.repository.signing import signatures


def of_settings(case: Case) -> Iterator[Finding]:
    """Changes of the settings that do not count; completes whom the other checks are to trust."""
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


def _know_between(case: Case, between: Trust, step: walk.Step) -> None:
    """Remember whom a version between two seals named, where a lead signed it: what they did then was in order."""
    settings = settings_at(case.reader, step.commit)
    if settings is None:
        return
    keys = {**case.trust.lead_keys(), **between.lead_keys()}
    if signatures(case.git, [step.commit], keys)[step.commit].state == "good":
        between.accept(settings)
        case.trust.know(settings)


def _accept(case: Case, commit: str) -> None:
    settings = settings_at(case.reader, commit)
    if settings is not None:
        case.trust.accept(settings)
