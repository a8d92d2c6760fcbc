"""The command line: arguments only. Each command stands in its own file and is imported when it is chosen."""

from __future__ import annotations

import difflib
import importlib
import keyword
import os
import re
from collections.abc import Sequence
from pathlib import Path

import click

import kgrade
from kgrade.cli import failures

COMMANDS = (
    "demo",
    "init",
    "list",
    "next",
    "show",
    "save",
    "sync",
    "check",
    "collect",
    "profile",
    "audit-code",
    "feedback",
    "compare",
    "adjudicate",
    "assign",
    "priority",
    "retire",
    "requeue",
    "claims",
    "gold",
    "audit",
    "seal",
    "import",
    "export",
    "doctor",
)
_OWN_OPTIONS = ("--help", "--version")


class Commands(click.Group):
    """The commands by name; anything else that is typed first is a path to open."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the commands in the order in which a newcomer meets them."""
        return [*COMMANDS]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import and return the command `cmd_name`."""
        if cmd_name not in (*COMMANDS, "open"):
            return None
        command: click.Command = importlib.import_module(f"kgrade.cli.{_module(cmd_name)}").command
        return command

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read `kgrade` and `kgrade PATH` as the command that opens the app."""
        if not args or args[0] not in (*COMMANDS, *_OWN_OPTIONS):
            if args and re.fullmatch(r"[\w.][\w.-]*", args[0]) and not Path(args[0]).exists():
                close = difflib.get_close_matches(args[0], COMMANDS, 1)
                advice = f"; did you mean `kgrade {close[0]}`?" if close else ""
                ctx.fail(f"{args[0]!r} is neither a command nor a folder here{advice}")
            args = ["open", *args]
        return super().parse_args(ctx, args)


def _module(command: str) -> str:
    """The module of a command; one whose name Python keeps for itself has an underscore more."""
    name = command.replace("-", "_")
    return f"{name}_" if keyword.iskeyword(name) else name


@click.group(
    cls=Commands,
    subcommand_metavar="[PATH] | COMMAND [ARGS]...",
    help=(
        "Grade GPU-kernel work from a git queue. Without a command: open the queue at PATH (default: here).\n\n"
        "Exit codes: 0 done, 1 found faults, 2 bad input, 3 something this machine lacks."
    ),
)
@click.version_option(kgrade.__version__, prog_name="kgrade", message="%(prog)s %(version)s")
def commands() -> None:
    """Hold the commands together."""


def run(arguments: Sequence[str]) -> int:
    """Run one command and return its exit code. An error is one sentence on stderr, a traceback with KGRADE_DEBUG=1."""
    debug = os.environ.get("KGRADE_DEBUG", "") not in ("", "0")
    try:
        # Not list(): once it is imported, the command of that name stands in its place here.
        code = commands.main(args=[*arguments], prog_name="kgrade", standalone_mode=False)
    except Exception as error:
        if debug and not isinstance(error, click.ClickException):
            raise
        return failures.report(error)
    except KeyboardInterrupt:
        return failures.INTERRUPTED
    return code if isinstance(code, int) else failures.DONE
