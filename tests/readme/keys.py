"""The README's table of keys, made from the one table of keys. `python -m tests.readme.keys` writes it anew."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby
from pathlib import Path

from kgrade.tui.keys import DEFAULTS, Binding

README = Path(__file__).parents[2] / "README.md"
BEGIN, END = "<!-- keys: begin -->\n", "<!-- keys: end -->\n"
# In a text field and in a list keys do what they do everywhere; `?` shows them there.
LEFT_OUT = ("Text", "Lists")


def table(bindings: Iterable[Binding] = DEFAULTS) -> str:
    """The bindings as Markdown, group by group in the order in which the groups first appear."""
    shown = [binding for binding in bindings if binding.group not in LEFT_OUT]
    groups = list(dict.fromkeys(binding.group for binding in shown))
    rows = sorted(shown, key=lambda binding: groups.index(binding.group))
    lines = ["| keys | what they do |", "|---|---|"]
    for group, members in groupby(rows, key=lambda binding: binding.group):
        lines.append(f"| | **{group}** |")
        lines += [f"| {_keys(binding)} | {binding.does}{_where(binding)} |" for binding in members]
    return "\n".join(lines) + "\n"


def _where(binding: Binding) -> str:
    return " (in the queue)" if binding.contexts == ("queue",) else ""


def _keys(binding: Binding) -> str:
    return " ".join(_shown(list(binding.keys)))


def _shown(keys: list[str]) -> Iterator[str]:
    if len(keys) > 2 and all(key.isdigit() for key in keys):
        yield f"`{keys[0]}`–`{keys[-1]}`"
        return
    for key in keys:
        yield "<code>&#124;</code>" if key == "|" else f"`{key}`"


def replaced(readme: str) -> str:
    """`readme` with its table of keys made anew."""
    before, _, rest = readme.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}{table()}{END}{after}"


if __name__ == "__main__":
    README.write_text(replaced(README.read_text()))
