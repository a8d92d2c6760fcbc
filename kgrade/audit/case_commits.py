"""Each commit that wrote a grade, a comparison or a lead's decision: by whom, signed by whom, and when."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kgrade.audit import walk
from kgrade.audit.case import Case, Said, grades_of, said_in
from kgrade.audit.findings import Finding, finding
from kgrade.audit.seals import settings_at
from kgrade.records.settings import Settings
from kgrade.repository.plan import ASSIGNMENTS
from kgrade.repository.signing import Signed, fingerprint

SKEW_S = 15 * 60


def of_steps(case: Case) -> Iterator[Finding]:
    """What is wrong with each commit; needs the signatures, and what is sealed."""
    when = walk.dates(case.git, (parent for step in case.steps for parent in step.parents))
    sealed_at = walk.dates(case.git, [case.good[-1].commit]) if case.good else {}
    authors = _first_authors(case.steps)
    for step in case.steps:
        show = f"git show --show-signature {step.commit[:12]}"
        for said in said_in(step):
            yield from _of_edit(case, step, said, authors.get(said.path, ""), show)
        for move in step.moves:
            if move.path == ASSIGNMENTS or move.path.endswith("/adjudication.yaml"):
                yield from _of_decision(case, step, move.path, show)
        before = max((when[parent] for parent in step.parents if parent in when), default=0)
        if step.committed < before - SKEW_S:
            sentence = f"{step.commit[:12]} is dated {_apart(before - step.committed)} before its own parent"
            yield finding("back-dated", _where(step), sentence, f"git log --format=fuller -2 {step.commit[:12]}")
        elif sealed_at and step.commit not in case.sealed_in and grades_of(step):
            last = next(iter(sealed_at.values()))
            if step.committed < last - SKEW_S:
                sentence = f"{step.commit[:12]} is dated before the last seal, which lacks it: sent late, or back-dated"
                yield finding("late", _where(step), sentence, f"git log --format=fuller -1 {step.commit[:12]}")


def _of_edit(case: Case, step: walk.Step, said: Said, first: str, show: str) -> Iterator[Finding]:
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


def _of_decision(case: Case, step: walk.Step, path: str, show: str) -> Iterator[Finding]:
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


def _revoked(case: Case, step: walk.Step, signed: Signed) -> bool:
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
    return {said.path: step.email for step in steps for said in said_in(step)}


def _where(step: walk.Step) -> str:
    return next((path for path, _ in grades_of(step)), step.moves[0].path if step.moves else step.commit[:12])


def _apart(seconds: int) -> str:
    return f"{seconds // 3600} h {seconds % 3600 // 60} min" if seconds >= 3600 else f"{seconds // 60} min"
