"""`kgrade doctor`: what this machine has and lacks."""

from __future__ import annotations

from pathlib import Path

import click

from kgrade.cli import failures
from kgrade.cli.output import line, say, say_json


@click.command("doctor", short_help="Say what this machine has and lacks, and what to do.")
@click.option("--ceilings", is_flag=True, help="Measure what the device can reach at most, and keep it for rooflines.")
@click.option("--target", metavar="NAME", help="With --ceilings: use the Python that kgrade.yaml names for it.")
@click.option("--json", "as_json", is_flag=True, help="Print the lines as JSON.")
def command(ceilings: bool, target: str | None, as_json: bool) -> int:
    """Look at git, the terminal, folders, the sandbox, Python's frameworks and CUDA.

    Exit code 3 when something is missing that grading itself needs.

    With --ceilings it measures instead: a copy's bandwidth and the rate of matrix products by dtype, on the GPU that
    torch sees, else on the processor. What is kept is drawn as the roof over times taken on the same device.
    """
    if target is not None and not ceilings:
        raise failures.BadInput("--target says what --ceilings measures with; give both")
    if ceilings:
        return _measured(target, as_json)
    from kgrade import doctor

    lines = []
    for seen in doctor.examine(Path.cwd()):
        lines.append(seen)
        if not as_json:
            say(f"{seen.status:<8} {seen.subject:<14} {seen.found}")
            if seen.advice:
                say(f"{'':<23} -> {seen.advice}")
    if as_json:
        say_json(lines)
    lacking = any(seen.needed and seen.status != "ok" for seen in lines)
    return failures.ENVIRONMENT if lacking else failures.DONE


def _measured(target: str | None, as_json: bool) -> int:
    from kgrade.doctor.ceilings import Unmeasured, measured

    try:
        found, path = measured(Path.cwd(), target)
    except Unmeasured as why:
        raise failures.Lacking(str(why)) from None
    if as_json:
        say_json(found)
        return failures.DONE
    say(line(f"{found.device}: copies {found.copy_bytes_per_s / 1e9:.1f} GB/s"))
    for name, rate in found.flops_per_s.items():
        say(line(f"  {name:<9} {rate / 1e9:.1f} GFLOP/s"))
    for name, why_not in found.refused.items():
        say(line(f"  {name:<9} not measured: {why_not}"))
    say(line(f"{found.method}; kept in {path}"))
    return failures.DONE
