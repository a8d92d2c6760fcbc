"""Files that the audit writes: the report as one HTML page, and exports of grades and preferences."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Final

from kgrade.audit.lead import LeadError, Office
from kgrade.audit.overview import Overview
from kgrade.audit.page import page
from kgrade.audit.page_history import page_history
from kgrade.tui.contexts import Option, PickContext, QuestionContext, TextContext
from kgrade.tui.screens.office import OfficeWork, Told
from kgrade.tui.screens.stage import Stage
from kgrade.tui.text_entry import TextEntry

_EXPORTS: Final = (
    Option("grades.jsonl", "grades, JSON Lines"),
    Option("grades.csv", "grades, CSV"),
    Option("grades.parquet", "grades, Parquet"),
    Option("preferences.jsonl", "preferences, JSON Lines"),
    Option("preferences.csv", "preferences, CSV"),
    Option("preferences.parquet", "preferences, Parquet"),
)


def write_report(stage: Stage, office: OfficeWork, found: Overview) -> None:
    """Ask for a path and write the audit there."""

    def job(at: Office, told: Told) -> bytes:
        history = page_history(at.reader, at.queue, at.settings, told)
        return page(found, history, at.queue.short).encode("utf-8")

    _ask_for_path(stage, "write the report to", "audit.html", lambda path: _write(stage, office, path, job))


def write_export(stage: Stage, office: OfficeWork, *, named: bool) -> None:
    """Ask what and where to, and write it; authors and evaluators only if `named`."""

    def chosen(name: str) -> None:
        what, _, kind = name.partition(".")

        def to(path: Path) -> None:
            _write(stage, office, path, lambda at, told: _exported(at, told, what, kind, named=named))

        _ask_for_path(stage, f"write {what} to", name, to)

    PickContext(stage, "export", lambda: _EXPORTS, chosen)


def _exported(office: Office, told: Told, what: str, kind: str, *, named: bool) -> bytes:
    from kgrade.exchange import rows
    from kgrade.exchange.standing import read_export
    from kgrade.repository.grades import grade_branches

    told("reading the grades")
    found = read_export(office.reader, office.snapshot(), grade_branches(office.queue, office.settings))
    told("writing rows")
    made = rows.grade_rows(found, named=named) if what == "grades" else rows.preference_rows(found)
    try:
        return {"jsonl": rows.as_jsonl, "csv": rows.as_csv, "parquet": rows.as_parquet}[kind](made)
    except ImportError:
        raise LeadError("Parquet needs pyarrow; install it with: pip install pyarrow") from None


def _ask_for_path(stage: Stage, label: str, name: str, to: Callable[[Path], None]) -> None:
    def done(text: str) -> None:
        if not text.strip():
            stage.say("no file was named; nothing was written", "warn")
            return
        path = Path(text.strip()).expanduser()
        if path.exists():
            QuestionContext(stage, f"{path} is there already; replace it?", lambda: to(path))
        else:
            to(path)

    TextContext(stage, TextEntry(label, name), done)


def _write(stage: Stage, office: OfficeWork, path: Path, job: Callable[[Office, Told], bytes]) -> None:
    def written(at: Office, told: Told) -> int:
        data = job(at, told)
        path.write_bytes(data)
        return len(data)

    def told(size: int) -> None:
        stage.say(f"wrote {path}, {size:,} bytes", "good")

    office.ask(f"writing {path.name}", written, told, writes=True)
