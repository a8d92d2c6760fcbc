"""What commands on a queue share: which queue, which item, and the desk that answers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from kgrade.cli.failures import BadInput

if TYPE_CHECKING:
    from kgrade.desk import Desk
    from kgrade.records.slugs import ItemId

Command = TypeVar("Command", bound=Callable[..., Any])


def queue_option(command: Command) -> Command:
    """Add `--queue PATH`, handed over as `queue`."""
    return click.option(
        "--queue",
        type=click.Path(path_type=Path),
        default=Path(),
        metavar="PATH",
        help="A folder inside the queue's repository (default: here).",
    )(command)


def queue_options(command: Command) -> Command:
    """Add `--queue PATH` and `--evaluator NAME`, handed over as `queue` and `evaluator`."""
    return queue_option(evaluator_option(command))


def evaluator_option(command: Command) -> Command:
    """Add `--evaluator NAME`, handed over as `evaluator`."""
    return click.option("--evaluator", metavar="NAME", help="Who grades (default: found by the git identity).")(command)


def json_option(command: Command) -> Command:
    """Add `--json`, handed over as `as_json`."""
    return click.option("--json", "as_json", is_flag=True, help="Print JSON, for programs.")(command)


def item_argument(command: Command) -> Command:
    """Add the argument ITEM, handed over as the text `item`."""
    return click.argument("item", metavar="ITEM")(command)


def parse_item(text: str) -> ItemId:
    """Return the item that `text` names, a path under queue/ included; raise BadInput when it can name none."""
    from kgrade.records.slugs import ItemId

    try:
        return ItemId.parse(text.strip("/").removeprefix("queue/").replace("/submissions/", "/"))
    except ValueError as why:
        raise BadInput(f"{why}; see: kgrade list") from None


@contextmanager
def desk_at(queue: Path, evaluator: str | None) -> Iterator[Desk]:
    """Open the desk of the queue at `queue`, and close it."""
    from kgrade.desk import Desk

    desk = Desk.open(queue, evaluator=evaluator)
    try:
        yield desk
    finally:
        desk.close()
