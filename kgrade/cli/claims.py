"""`kgrade claims`: who holds what until when, and clearing away what is over."""

from __future__ import annotations

from pathlib import Path

import click

from kgrade.cli.output import columns, line, say, say_json
from kgrade.cli.queue import json_option, queue_options


@click.command("claims", short_help="See who holds what until when; clear finished claims.")
@click.option("--clear", "clears", is_flag=True, help="Remove claims that keep nobody from anything any more.")
@queue_options
@json_option
def command(clears: bool, queue: Path, evaluator: str | None, as_json: bool) -> None:
    """List the claims that are held. In a blind queue only its leads see whose they are.

    --clear is housekeeping for leads, where the server lets refs be deleted: claims that were given back go, and those
    that are done with on items that have all their grades. What is held stays, however old.
    """
    from kgrade.audit.housekeeping import claims_of, clear
    from kgrade.audit.lead import now, office_at
    from kgrade.cli.lead import lead_of

    with office_at(queue) as office:
        who, by = lead_of(office, evaluator)
        if office.settings.blind:
            office.admit(who)
        if clears:
            came = clear(office, who, by)
            if as_json:
                say_json(came)
                return
            say(f"{came.gone} claims cleared, {came.stay} finished ones stay until their items have all their grades")
            if came.note:
                say(line(came.note))
            return
        held = [claim for claim in claims_of(office, who, by).holders() if claim.holds]
        if as_json:
            say_json([{"item": str(c.item), "slot": c.slot, "evaluator": c.evaluator, "host": c.host,
                       "since": _moment(c.at), "until": _moment(c.until)} for c in held])  # fmt: skip
            return
        rows = [[str(c.item), str(c.slot), c.evaluator, c.host, _moment(c.at), _moment(c.until)] for c in held]
        if rows:
            say(columns([["item", "slot", "evaluator", "on", "since", "until"], *rows]))
        say(f"{len(held)} held; it is {now()}")


def _moment(at: int) -> str:
    from datetime import UTC, datetime

    return datetime.fromtimestamp(at, UTC).isoformat().replace("+00:00", "Z")
