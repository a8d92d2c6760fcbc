"""Exit codes, and how an exception becomes one clear sentence."""

from __future__ import annotations

import os
import sys

import click

DONE = 0
FOUND_FAULTS = 1
BAD_INPUT = 2
ENVIRONMENT = 3
INTERRUPTED = 130


class BadInput(Exception):
    """What was given cannot be used; the message says what, where, what was expected and what to do."""


class Lacking(Exception):
    """This machine lacks something that the command needs; the message says what and how to get it."""


def report(error: Exception) -> int:
    """Tell `error` on stderr and return the exit code that belongs to it."""
    from kgrade.cli.output import say

    if isinstance(error, click.Abort):
        return INTERRUPTED
    if isinstance(error, BrokenPipeError):
        # The reader of our output has left (`kgrade list | head`): nothing more can be said there, and Python must not
        # try to when it flushes at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return DONE
    say(f"kgrade: {_sentence(error)}", err=True)
    return _code(error)


def _sentence(error: Exception) -> str:
    if isinstance(error, click.UsageError):
        path = error.ctx.command_path.removesuffix(" open") if error.ctx else "kgrade"
        return f"{error.format_message().rstrip('.')}; see: {path} --help"
    if isinstance(error, click.ClickException):
        return error.format_message()
    if isinstance(error, OSError) and error.strerror:
        place = f"{error.filename}: " if error.filename else ""
        return f"{place}{error.strerror}"
    if type(error).__module__.startswith("kgrade."):
        return str(error)
    return f"stopped by a fault of its own, {type(error).__name__}: {error}; KGRADE_DEBUG=1 shows where"


def _code(error: Exception) -> int:
    if isinstance(error, click.ClickException | BadInput):
        return BAD_INPUT
    if isinstance(error, ImportError):
        return ENVIRONMENT
    from kgrade.audit.lead import LeadError
    from kgrade.desk.people import DeskError
    from kgrade.records.faults import BadRecord
    from kgrade.repository.runner import NotARepositoryError
    from kgrade.sample import SampleError

    mended = BadRecord | DeskError | LeadError | NotARepositoryError | SampleError
    return BAD_INPUT if isinstance(error, mended) else ENVIRONMENT
