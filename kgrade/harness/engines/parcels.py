"""An item on its way to another machine: its file sets as parcels named by their SHA-256, and an order that names them.

The machine that runs it needs no checkout of the queue. Files that many items share travel once, and each parcel is
checked where it arrives.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Mapping

import msgspec

import kgrade
from kgrade.harness.run import HandedIn, ItemSource
from kgrade.records import codec
from kgrade.records.task import Task

TASK_FILE = "task.yaml"


class Damaged(Exception):
    """What arrived is not what was sent."""


class Order(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Stages of one item to run on a target; `task`, `solution` and the values of `others` name parcels.

    `others` are the submissions that the item is compared to, by item id, each with the id of its tree.
    """

    item: str
    target: str
    stages: tuple[str, ...]
    python: str | None
    task_tree: str
    task: str
    solution_tree: str | None
    solution: str | None
    others: dict[str, tuple[str, str]] = {}
    version: str = kgrade.__version__

    @property
    def parcels(self) -> frozenset[str]:
        """The names of every parcel that the order speaks of."""
        mine = {self.task} if self.solution is None else {self.task, self.solution}
        return frozenset(mine | {name for _, name in self.others.values()})


def packed(files: Mapping[str, bytes]) -> tuple[str, bytes]:
    """Return the name and the bytes of the parcel that holds `files`; the same files make the same parcel."""
    data = msgspec.msgpack.encode(sorted(files.items()))
    return hashlib.sha256(data).hexdigest(), data


def unpacked(name: str, data: bytes) -> dict[str, bytes]:
    """Return the files in a parcel called `name`; raise `Damaged` when it is another."""
    if hashlib.sha256(data).hexdigest() != name:
        raise Damaged(f"a parcel of {len(data)} bytes arrived that is not {name[:12]}, which was sent")
    return dict(msgspec.msgpack.decode(data, type=list[tuple[str, bytes]]))


def order(
    source: ItemSource,
    target: str,
    stages: Collection[str],
    python: str | None,
    send: Callable[[str | None, Callable[[], Mapping[str, bytes]]], str],
) -> Order:
    """Return the order to run `stages` of `source`; `send` takes each file set to where parcels are kept.

    `send` gets the id of the git tree that the files are, if there is one, and what reads them; it answers with the
    name of their parcel.
    """
    compared = source.others if "integrity" in stages else {}
    solution = source.solution
    return Order(
        item=source.item,
        target=target,
        stages=tuple(stages),
        python=python,
        task_tree=source.task_tree,
        task=send(source.task_tree, lambda: source.task_files),
        solution_tree=source.solution_tree,
        solution=None if solution is None else send(source.solution_tree, lambda: solution),
        others={item: (other.tree, send(other.tree, other.read)) for item, other in compared.items()},
    )


def source(order: Order, fetch: Callable[[str], bytes]) -> ItemSource:
    """Return the item that `order` is about; `fetch` gives a parcel's bytes by its name."""

    def files(name: str) -> dict[str, bytes]:
        return unpacked(name, fetch(name))

    def handed_in(tree: str, name: str) -> HandedIn:
        return HandedIn(tree, lambda: files(name))

    task_files = files(order.task)
    return ItemSource(
        item=order.item,
        task=codec.decode(Task, task_files[TASK_FILE], TASK_FILE),
        task_tree=order.task_tree,
        task_files=task_files,
        solution_tree=order.solution_tree,
        solution=None if order.solution is None else files(order.solution),
        others={item: handed_in(*each) for item, each in order.others.items()},
    )
