"""The foreign formats by name, and how a folder is known to hold one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec

from kgrade.exchange import annotated, computeval, flashinfer, gpumode, kernelbench, plain, runs
from kgrade.exchange.brought import Arrivals
from kgrade.exchange.options import Options

__all__ = ["FORMATS", "Options", "UnknownFormat", "arrivals_of"]


class UnknownFormat(Exception):
    """A folder that no format is seen in, or several; the sentence says what to do."""


class Format(msgspec.Struct, frozen=True):
    """One format: whether a folder looks like it, and its reader."""

    seen: Callable[[Path], bool]
    read: Callable[[Path, Options], Arrivals]


FORMATS = {
    "flashinfer": Format(flashinfer.seen, flashinfer.read),
    "gpumode": Format(gpumode.seen, gpumode.read),
    "kernelbench": Format(kernelbench.seen, kernelbench.read),
    "runs": Format(runs.seen, runs.read),
    "annotations": Format(annotated.seen, annotated.read),
    "computeval": Format(computeval.seen, computeval.read),
    "plain": Format(plain.seen, plain.read),
}


def arrivals_of(path: Path, options: Options) -> tuple[str, Arrivals]:
    """The name of the format of `path`, as asked for or as seen, and what it brings; raise UnknownFormat."""
    if not path.exists():
        raise UnknownFormat(f"{path} is not there")
    if options.format is not None:
        return options.format, FORMATS[options.format].read(path, options)
    found = list(_seen(path))
    if len(found) == 1:
        return found[0], FORMATS[found[0]].read(path, options)
    names = ", ".join(FORMATS)
    if not found:
        raise UnknownFormat(f"{path} looks like none of {names}; name its format with --format")
    raise UnknownFormat(
        f"{path} looks like {' and '.join(found)}; choose one with --format, or import a folder below it"
    )


def _seen(path: Path) -> Iterator[str]:
    """The formats that `path` looks like; plain files only when there is nothing else."""
    special = [name for name, each in FORMATS.items() if name != "plain" and each.seen(path)]
    if "runs" in special and "annotations" in special:
        special.remove("annotations")  # reading runs reads what annotates them
    yield from special or [name for name in ("plain",) if FORMATS[name].seen(path)]
