"""`evidence/<target>.json`: what a machine found out about an item on a target. Never edited by hand.

Durations named `*_s` are seconds, `*_us` microseconds, sizes `*_bytes` bytes. Indices are row-major tuples.
Non-finite figures cannot be written as JSON numbers; they are kept as the strings `nan`, `inf` and `-inf`.
"""

from __future__ import annotations

from collections.abc import Iterator

from kgrade.records.base import Part, Record
from kgrade.records.evidence_build import Build as Build
from kgrade.records.evidence_build import BuildTarget as BuildTarget
from kgrade.records.evidence_build import KernelResources as KernelResources
from kgrade.records.evidence_build import Occupancy as Occupancy
from kgrade.records.evidence_check import CaseCheck as CaseCheck
from kgrade.records.evidence_check import Check as Check
from kgrade.records.evidence_check import Control as Control
from kgrade.records.evidence_check import Element as Element
from kgrade.records.evidence_check import Figures as Figures
from kgrade.records.evidence_check import Magnitude as Magnitude
from kgrade.records.evidence_check import OutputCheck as OutputCheck
from kgrade.records.evidence_check import Proposal as Proposal
from kgrade.records.evidence_check import SeenFault as SeenFault
from kgrade.records.evidence_check import Spread as Spread
from kgrade.records.evidence_check import ToleranceUsed as ToleranceUsed
from kgrade.records.evidence_common import Case as Case
from kgrade.records.evidence_common import CaseStatus as CaseStatus
from kgrade.records.evidence_common import Failure as Failure
from kgrade.records.evidence_common import Fault as Fault
from kgrade.records.evidence_common import Number as Number
from kgrade.records.evidence_common import StageStatus as StageStatus
from kgrade.records.evidence_common import number as number
from kgrade.records.evidence_integrity import Finding as Finding
from kgrade.records.evidence_integrity import Integrity as Integrity
from kgrade.records.evidence_integrity import SettlingTest as SettlingTest
from kgrade.records.evidence_integrity import Severity as Severity
from kgrade.records.evidence_time import CaseTiming as CaseTiming
from kgrade.records.evidence_time import Ceilings as Ceilings
from kgrade.records.evidence_time import Samples as Samples
from kgrade.records.evidence_time import Speedup as Speedup
from kgrade.records.evidence_time import Timing as Timing
from kgrade.records.evidence_time import TimingVerdict as TimingVerdict
from kgrade.records.faults import Problem
from kgrade.records.profile import Profile

STAGES = ("build", "check", "time", "integrity", "sanitize", "profile")


class Inputs(Part, frozen=True, kw_only=True):
    """The git tree ids of the bytes that were examined; evidence whose ids no longer match is stale."""

    task_tree: str
    solution_tree: str | None = None


class Tool(Part, frozen=True, kw_only=True):
    """What collected the evidence."""

    name: str = "kgrade"
    version: str


class Environment(Part, frozen=True, kw_only=True):
    """Where the evidence came from. `sandbox` names the wall, `lacks` what that wall could not enforce."""

    hardware: str
    driver: str | None = None
    toolkit: str | None = None
    versions: dict[str, str] = {}
    clocks: str | None = None
    interpreter: bool
    sandbox: str
    lacks: list[str] = []


class Stage(Part, frozen=True, kw_only=True):
    """A stage of which only the state is known, such as sanitize where nothing can run it."""

    status: StageStatus
    reason: str | None = None
    log: str | None = None
    facts: list[str] = []


class Profiling(Part, frozen=True, kw_only=True):
    """The profile stage: what profilers saw, run here (`method` says how) or added by a person."""

    status: StageStatus
    reason: str | None = None
    method: str | None = None
    log: str | None = None
    facts: list[str] = []
    profiles: list[Profile] = []


NOT_COLLECTED = "not collected yet"
NOT_SUPPORTED = "this version of kgrade does not collect it"
"""What a version writes as the reason of a stage that it cannot collect; a later one may be able to."""


class Stages(Part, frozen=True, kw_only=True):
    """All stages; one that was not asked for says so."""

    build: Build = Build(status="not-run", reason=NOT_COLLECTED)
    check: Check = Check(status="not-run", reason=NOT_COLLECTED)
    time: Timing = Timing(status="not-run", reason=NOT_COLLECTED)
    integrity: Integrity = Integrity(status="not-run", reason=NOT_COLLECTED)
    sanitize: Stage = Stage(status="not-run", reason=NOT_COLLECTED)
    profile: Profiling = Profiling(status="not-run", reason=NOT_COLLECTED)


class Evidence(Record, frozen=True, kw_only=True, tag_field="schema", tag="kgrade/evidence@1"):
    """Everything one machine found out about one item on one target."""

    item: str
    target: str
    collected: str
    inputs: Inputs
    tool: Tool
    environment: Environment
    stages: Stages

    def problems(self) -> Iterator[Problem]:
        """A stage that did not run or broke must carry a reason."""
        for stage in STAGES:
            if self.state(stage) in ("not-run", "error") and not getattr(self.stages, stage).reason:
                yield Problem(
                    where=f"stages.{stage}",
                    found=f"{self.state(stage)} without a reason",
                    expected="a reason",
                )

    def state(self, stage: str) -> StageStatus:
        """Return the status of the stage called `stage`, one of `STAGES`."""
        status: StageStatus = getattr(self.stages, stage).status
        return status
