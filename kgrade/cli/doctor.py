"""`kgrade doctor`: what this machine has and lacks."""

from __future__ import annotations

from pathlib import Path

import click

from kgrade.cli import failures
from kgrade.cli.output import say, say_json


@click.command("doctor", short_help="Say what this machine has and lacks, and what to do.")
@click.option("--json", "as_json", is_flag=True, help="Print the lines as JSON.")
def command(as_json: bool) -> int:
    """Look at git, the terminal, folders, the sandbox, Python's frameworks and CUDA.

    Exit code 3 when something is missing that grading itself needs.
    """
    from kgrade import doctor

    lines = []
    for line in doctor.examine(Path.cwd()):
        lines.append(line)
        if not as_json:
            say(f"{line.status:<8} {line.subject:<14} {line.found}")
            if line.advice:
                say(f"{'':<23} -> {line.advice}")
    if as_json:
        say_json(lines)
    lacking = any(line.needed and line.status != "ok" for line in lines)
    return failures.ENVIRONMENT if lacking else failures.DONE
