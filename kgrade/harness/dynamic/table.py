"""How the tests that settle findings are run, in the order in which they are run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from kgrade.harness.dynamic import beside, calling, remembering, surroundings
from kgrade.harness.dynamic.session import Outcome, Session
from kgrade.harness.integrity.runs import FIRST, RUNS
from kgrade.harness.run import Run


@dataclass(frozen=True)
class Scene:
    """What stands around a session: the run, its files' hashes `before` any test, its `folder` as workers see it."""

    run: Run
    before: Mapping[str, str]
    folder: str

    def place(self, file: str) -> str:
        """`file`, as a worker names it, relative to the run's folder; empty when it lies elsewhere."""
        inside = file.removeprefix(self.folder.rstrip("/") + "/")
        return inside if inside != file else ""


@dataclass(frozen=True)
class Test:
    """One test: its name, the rules whose findings it settles, and how it is run.

    `cheap` ones are run whatever time is left. With `one_cause`, what it sees is what a static finding of any of these
    rules shows, and no finding of its own.
    """

    name: str
    settles: tuple[str, ...]
    run: Callable[[Session, Scene], Outcome]
    cheap: bool
    one_cause: bool


def _alone(test: Callable[[Session], Outcome]) -> Callable[[Session, Scene], Outcome]:
    return lambda session, scene: test(session)


_HOW: Final[Mapping[str, Callable[[Session, Scene], Outcome]]] = {
    FIRST: _alone(calling.first_answer),
    "output-form": _alone(calling.output_form),
    "later-look": _alone(calling.later_look),
    "same-storage": _alone(remembering.same_storage),
    "new-storage": _alone(remembering.new_storage),
    "one-element": _alone(remembering.one_element),
    "late-calls": _alone(calling.late_calls),
    "launches": lambda session, scene: calling.launches(session, scene.folder),
    "timed-path": _alone(beside.timed_path),
    "shapes-beside": _alone(beside.shapes_beside),
    "scales": _alone(beside.scales),
    "distributions": _alone(beside.distributions),
    "replaced-names": lambda session, scene: surroundings.replaced_names(session, scene.place),
    "global-state": lambda session, scene: surroundings.moved_switches(session, scene.place),
    "what-ran": lambda session, scene: surroundings.what_ran(session, scene.place, scene.run.source),
    "task-files": lambda session, scene: surroundings.files_changed(
        scene.before, surroundings.hashes(scene.run.folder)
    ),
}
_CHEAP: Final = (FIRST, "output-form", "later-look", "replaced-names", "global-state", "what-ran", "task-files")
_ONE_CAUSE: Final = (
    "later-look",
    "same-storage",
    "new-storage",
    "one-element",
    "late-calls",
    "launches",
    "timed-path",
    "distributions",
)

TESTS: Final = tuple(
    Test(row.name, row.settles, _HOW[row.name], row.name in _CHEAP, row.name in _ONE_CAUSE) for row in RUNS
)
