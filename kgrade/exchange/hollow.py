"""Tasks and runs of which only a verdict came: they say so, and give way to the real files when those come."""

from __future__ import annotations

import msgspec

from kgrade.exchange.brought import BroughtTask
from kgrade.records.task import Output, Task, Tolerance

HOLLOW = "NOT-IMPORTED.md"


def hollow_task(place: str, name: str, title: str, rubric: str) -> BroughtTask:
    """A task whose problem was not imported: it can be read and graded, and collecting it says what is missing."""
    said = f"the problem {title} was not imported: only verdicts about it were"
    task = unchecked_task(place, name, title, rubric, said)
    files = task.files | hollow_files(f"the files of the problem {title}", "verdicts about it")
    return msgspec.structs.replace(task, files=files, hollow=True)


def unchecked_task(place: str, name: str, title: str, rubric: str, said: str) -> BroughtTask:
    """A task with nothing that an answer could be checked against; `said` is why, in one sentence."""
    record = Task(
        title=title,
        type="generation",
        language="python",
        entry="solution",
        reference="reference.py:reference",
        targets=["cpu"],
        inputs={},
        outputs={"y": Output(shape=[1], dtype="float32")},
        cases=[{"dtype": "float32"}],
        tolerance={"float32": Tolerance(atol=0, rtol=0)},
        rubric=rubric,
    )
    files = {"reference.py": f"def reference(**inputs):\n    raise NotImplementedError({said!r})\n".encode()}
    return BroughtTask(place=place, name=name, record=record, prompt=f"# {title}\n\n{said}.\n", files=files)


def hollow_files(what: str, came: str) -> dict[str, bytes]:
    """The one file that stands where others would."""
    text = f"{what[:1].upper()}{what[1:]} were not imported: only {came} came.\n\nImport the folder that holds them.\n"
    return {HOLLOW: text.encode()}
