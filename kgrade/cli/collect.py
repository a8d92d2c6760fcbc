"""`kgrade collect [ITEM]…`: let this machine find out what it can about the items of a queue."""

from __future__ import annotations

import shutil
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from kgrade.cli import failures
from kgrade.cli.output import line, say, say_json
from kgrade.cli.queue import json_option, parse_item, queue_option
from kgrade.records.evidence import STAGES

if TYPE_CHECKING:
    from kgrade.collection import Event


@click.command("collect", short_help="Build, check and time submissions; commit the evidence.")
@click.argument("items", nargs=-1, metavar="[ITEM]...")
@queue_option
@click.option("--target", "targets", multiple=True, help="Only this target; may be given several times.")
@click.option("--stage", "stages", multiple=True, type=click.Choice(STAGES), help="Only this stage; the same.")
@click.option(
    "--engine",
    type=click.Choice(("local", "ray")),
    default="local",
    show_default=True,
    help="Where items run: this machine, or a Ray cluster.",
)
@click.option(
    "--jobs",
    type=click.IntRange(1, 1024),
    help="Items that run at once (default: 1; ray: what the cluster has room for).",
)
@click.option("--again", is_flag=True, help="Collect evidence that is fresh anew.")
@click.option("--no-commit", is_flag=True, help="Write files into the working folder instead of commits.")
@click.option("--watch", is_flag=True, help="Stay: follow the queue, and push evidence as it comes, until Ctrl-C.")
@json_option
def command(
    items: tuple[str, ...],
    queue: Path,
    targets: tuple[str, ...],
    stages: tuple[str, ...],
    engine: str,
    jobs: int | None,
    again: bool,
    no_commit: bool,
    watch: bool,
    as_json: bool,
) -> int:
    """Collect evidence for ITEMs (a task stands for its submissions; default: the whole queue), as it is committed.

    Code of the queue runs in a sandbox only. What is fresh is skipped, so a collection that was cancelled (Ctrl-C)
    goes on where it stopped. Exit code 1 when an item could not be read.

    With --watch it fetches from the queue's remote, collects what is new or stale, commits and pushes, and goes on
    until Ctrl-C. Several machines may follow one remote: each takes what no other one is at.

    With --engine ray items run on the nodes of the Ray cluster that this machine is part of (RAY_ADDRESS names
    another); the evidence is the same, and is committed here.
    """
    from kgrade.collection import CollectionError, collect_queue
    from kgrade.collection.watch import watch_queue

    if watch and (again or no_commit):
        raise failures.BadInput(
            f"--watch commits what is new or stale: leave out {'--again' if again else '--no-commit'}"
        )
    wanted = [parse_item(item) for item in items]
    progress = _Progress(as_json)
    try:
        with _cancelled_by_interrupt() as cancel:
            if watch:
                summary = watch_queue(
                    queue,
                    wanted,
                    targets,
                    stages or STAGES,
                    engine=engine,
                    jobs=jobs,
                    on_event=progress.show,
                    cancel=cancel,
                )
            else:
                summary = collect_queue(
                    queue,
                    wanted,
                    targets,
                    stages or STAGES,
                    engine=engine,
                    jobs=jobs,
                    again=again,
                    commit=not no_commit,
                    on_event=progress.show,
                    cancel=cancel,
                )
    except CollectionError as why:
        raise failures.BadInput(str(why)) from None
    finally:
        progress.end()
    if as_json:
        say_json({"summary": summary, "events": progress.told})
    else:
        say(f"{summary.finished} collected, {summary.skipped} skipped, {summary.faults} faulty")
    if summary.cancelled:
        say("cancelled; what was collected is kept, and the same command goes on from here", err=True)
        return failures.INTERRUPTED
    return failures.FOUND_FAULTS if summary.faults else failures.DONE


class _Progress:
    """Prints a line for each job that ends, and on a terminal one that changes for what runs."""

    def __init__(self, as_json: bool) -> None:
        self.told: list[dict[str, object]] = []
        self._as_json = as_json
        self._moving = sys.stderr.isatty() and not as_json
        self._turn = threading.Lock()
        self._begun = time.monotonic()
        self._total = self._number = 0
        self._drawn = 0.0

    def show(self, event: Event) -> None:
        from kgrade.collection import Finished, Noted, Skipped, Started, Stepped

        with self._turn:
            match event:
                case Started(number=number, total=total):
                    self._number, self._total = number, total
                case Stepped(job=job, step=step):
                    self._draw(f"{job.item} {job.target} {step.stage} {step.done + 1}/{step.total} {step.text}")
                case Skipped(item=item, target=target, why=why, fault=fault):
                    self.told.append({"item": str(item), "target": target, "skipped": why, "fault": fault})
                    self._say(f"{item} {target}".rstrip() + f": skipped, {why}")
                case Noted(text=text):
                    self.told.append({"noted": text})
                    self._say(text)
                case Finished(job=job, evidence=evidence):
                    states = {stage: evidence.state(stage) for stage in ("build", "check", "time")}
                    self.told.append({"item": str(job.item), "target": job.target, "stages": states})
                    self._say(
                        f"{job.item} {job.target}: " + ", ".join(f"{name} {state}" for name, state in states.items())
                    )

    def end(self) -> None:
        if self._moving:
            click.echo("\r\x1b[K", nl=False, err=True)

    def _say(self, text: str) -> None:
        if not self._as_json:
            self.end()
            say(line(text))

    def _draw(self, text: str) -> None:
        now = time.monotonic()
        if not self._moving or now - self._drawn < 0.1:
            return
        self._drawn = now
        done = max(self._number - 1, 0)
        left = f", about {_span((now - self._begun) / done * (self._total - done))} left" if done else ""
        shown = line(f"[{self._number}/{self._total}{left}] {text}")[: shutil.get_terminal_size().columns - 1]
        click.echo(f"\r\x1b[K{shown}", nl=False, err=True)


def _span(seconds: float) -> str:
    return f"{seconds / 60:.0f} min" if seconds >= 90 else f"{seconds:.0f} s"


@contextmanager
def _cancelled_by_interrupt() -> Iterator[threading.Event]:
    """Turn the first Ctrl-C into a request to stop; a second one ends the program at once."""
    cancel = threading.Event()

    def ask(number: int, frame: object) -> None:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        cancel.set()

    before = signal.signal(signal.SIGINT, ask)
    try:
        yield cancel
    finally:
        signal.signal(signal.SIGINT, before)
