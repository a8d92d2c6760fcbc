"""The one table of keys. Bindings, key line, help, command line and README are all made from it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

Context = Literal[
    "grading", "queue", "audit", "adjudicating", "comparing", "collecting", "help", "text", "pick", "question"
]

_READING: Final[tuple[Context, ...]] = (
    "grading", "queue", "audit", "adjudicating", "comparing", "collecting", "help",
)  # fmt: skip
_ANYWHERE: Final[tuple[Context, ...]] = (*_READING, "pick")
_PANES: Final[tuple[Context, ...]] = ("grading", "adjudicating", "comparing")
_TABBED: Final[tuple[Context, ...]] = (*_PANES, "audit")
_SCORED: Final[tuple[Context, ...]] = ("grading", "adjudicating")


@dataclass(frozen=True, slots=True)
class Binding:
    """What `keys` do in `contexts`. `short` is its word in the key line, where it is not shown without."""

    action: str
    keys: tuple[str, ...]
    does: str
    group: str
    contexts: tuple[Context, ...] = ("grading",)
    short: str = ""


DEFAULTS: Final = (
    Binding("line.down", ("j", "Down"), "one line down", "Reading", _ANYWHERE),
    Binding("line.up", ("k", "Up"), "one line up", "Reading", _ANYWHERE),
    Binding("half.down", ("Ctrl+d",), "half a page down", "Reading", _READING),
    Binding("half.up", ("Ctrl+u",), "half a page up", "Reading", _READING),
    Binding("page.down", ("Space", "PgDn"), "a page down", "Reading", _READING),
    Binding("page.up", ("-", "PgUp"), "a page up", "Reading", _READING),
    Binding("top", ("g", "Home"), "to the first line", "Reading", _ANYWHERE),
    Binding("bottom", ("G", "End"), "to the last line", "Reading", _ANYWHERE),
    Binding("left", ("h", "Left"), "sideways, to the left", "Reading", _READING),
    Binding("right", ("l", "Right"), "sideways, to the right", "Reading", _READING),
    Binding("pane.task", ("i",), "task: what was asked", "Panes", _PANES),
    Binding("pane.diff", ("d",), "diff: what was changed", "Panes", _PANES),
    Binding("pane.source", ("s",), "source: the files handed in", "Panes", _PANES),
    Binding("pane.build", ("b",), "build: compiler, registers, memory", "Panes", _PANES),
    Binding("pane.tests", ("t",), "tests: numerics, case by case", "Panes", _PANES),
    Binding("pane.performance", ("p",), "performance: timing against baselines", "Panes", _PANES),
    Binding("pane.profile", ("r",), "profile: what a profiler saw", "Panes", _PANES),
    Binding("pane.findings", ("f",), "findings: signs of cheating or unfairness", "Panes", _PANES),
    Binding("pane.history", ("L",), "history: who did what to this item", "Panes", _PANES),
    Binding("pane.grades", ("a",), "grades side by side", "Panes", ("adjudicating", "comparing")),
    Binding("pane.next", ("Tab",), "next pane", "Panes", _TABBED),
    Binding("pane.previous", ("Shift+Tab",), "previous pane", "Panes", _TABBED),
    Binding("mark.next", ("]",), "next hunk, error, failed case or finding", "Panes", _TABBED),
    Binding("mark.previous", ("[",), "previous hunk, error, failed case or finding", "Panes", _TABBED),
    Binding("mark.next-anywhere", ("}",), "the next of them in any pane", "Panes", _PANES),
    Binding("mark.previous-anywhere", ("{",), "the previous of them in any pane", "Panes", _PANES),
    Binding("search", ("/",), "search; in a list: filter", "Reading", _READING),
    Binding("search.next", ("n",), "next match", "Reading", _READING),
    Binding("search.previous", ("N",), "previous match", "Reading", _READING),
    Binding("split", ("|",), "diff side by side or in one column", "Panes", _PANES),
    Binding("base", ("B",), "diff against the next base", "Panes", _PANES),
    Binding("blanks", ("W",), "diff with or without differences in blanks", "Panes", _PANES),
    Binding("wrap", ("w",), "wrap long lines", "Panes", _TABBED),
    Binding("zoom", ("z",), "evidence over the whole screen", "Panes", _PANES),
    Binding("strip.larger", ("+",), "more rows for the rubric", "Panes", _SCORED),
    Binding("strip.smaller", ("_",), "fewer rows for the rubric", "Panes", _SCORED),
    Binding("fold", ("o",), "open or close a folded part", "Panes", (*_TABBED, "queue")),
    Binding("editor.place", ("e",), "this place in $EDITOR, read-only", "Panes"),
    Binding("range", ("V",), "mark a range of lines", "Writing"),
    Binding("copy.line", ("y",), "copy the line or range", "Writing"),
    Binding("copy.place", ("Y",), "copy path:line", "Writing"),
    Binding("score", tuple("0123456789"), "score the criterion, go to the next unscored", "Scoring", _SCORED),
    Binding("score.na", ("a",), "not applicable (asks why)", "Scoring"),
    Binding("criterion.down", ("J",), "next criterion", "Scoring", _SCORED),
    Binding("criterion.up", ("K",), "previous criterion", "Scoring", _SCORED),
    Binding("comment", ("c",), "comment on the criterion", "Writing", short="comment"),
    Binding("note", ("m",), "note on the line or range", "Writing", short="line note"),
    Binding("snippet", (";",), "insert a prepared comment", "Writing", short="snippet"),
    Binding("private", ("C",), "note to yourself, never in feedback", "Writing"),
    Binding("gates", ("x",), "gates: confirm or clear", "Scoring", _SCORED, short="gates"),
    Binding("finding", ("Enter",), "judge the finding here; in a list of files: go there", "Scoring"),
    Binding("finding.judge", ("D",), "the finding here: confirmed, false alarm, allowed, open", "Scoring"),
    Binding("finding.rule", ("I",), "the finding's rule: why it matters, what is honest", "Scoring"),
    Binding("finding.settle", ("O",), "run what settles the finding here, live", "Item"),
    Binding("verdict", ("v",), "verdict", "Scoring", _SCORED, short="verdict"),
    Binding("feedback", ("F",), "feedback for the author, in $EDITOR", "Writing"),
    Binding("editor.text", ("E",), "the criterion's comment in $EDITOR", "Writing"),
    Binding("undo", ("u",), "undo: an edit, then the save before it", "Scoring"),
    Binding("redo", ("U",), "redo", "Scoring"),
    Binding("save", ("S",), "save and go to the next item", "Item", _SCORED, short="save+next"),
    Binding("run", ("R",), "re-run a stage, live", "Item", short="re-run"),
    Binding("probe", ("P",), "run a case of one's own", "Item"),
    Binding("item.previous", ("<",), "previous item; the draft is kept", "Item", _SCORED),
    Binding("item.next", (">",), "next item; the draft is kept", "Item", _SCORED),
    Binding("skip", ("X",), "skip the item, with a reason", "Item"),
    Binding("flag", ("!",), "flag the item for a lead", "Item"),
    Binding("settle", ("T",), "what only you can settle: claims, versions, rewritten branches", "Item"),
    Binding("queue", ("Q",), "the queue", "Screens", ("grading", "queue")),
    Binding("my-grades", ("H",), "my grades", "Screens", ("grading", "queue")),
    Binding("audit", ("A",), "audit", "Screens"),
    Binding("open", ("Enter",), "open", "Screens", ("queue", "audit"), short="open"),
    Binding("sort", ("s",), "sort by the next column", "Screens", ("queue",), short="sort"),
    Binding("command", (":", "Ctrl+p"), "command line: any action by name", "Screens"),
    Binding("mouse", ("M",), "mouse on or off", "Screens", (*_TABBED, "queue")),
    Binding("redraw", ("Ctrl+l",), "draw the screen afresh", "Screens", _READING),
    Binding("help", ("?",), "help for here", "Screens", (*_TABBED, "queue", "collecting", "pick"), short="help"),
    Binding("close", ("q", "Esc", "Ctrl+g"), "close, cancel or leave", "Screens", _ANYWHERE),
    Binding("decide.cause", ("C",), "why the grades differ", "Deciding", ("adjudicating",), short="cause"),
    Binding("decide.reason", ("c",), "reason, which evaluators read", "Deciding", ("adjudicating",), short="reason"),
    Binding("prefer.first", ("1",), "the first is better", "Deciding", ("comparing",), short="first is better"),
    Binding("prefer.second", ("2",), "the second is better", "Deciding", ("comparing",), short="second is better"),
    Binding("prefer.neither", ("0",), "neither is better", "Deciding", ("comparing",), short="neither"),
    Binding("compare", ("=",), "compare with another submission of the task", "Screens", _SCORED),
    Binding("audit.agreement", ("a",), "agreement by criterion and gate", "Audit", ("audit",)),
    Binding("audit.evaluators", ("e",), "evaluators: severity, drift, grid of pairs", "Audit", ("audit",)),
    Binding("audit.time", ("t",), "time per item; rushed and copied grades", "Audit", ("audit",)),
    Binding("audit.coverage", ("c",), "coverage and forecast of the queue", "Audit", ("audit",)),
    Binding("audit.disagreements", ("d",), "where grades differ; Enter adjudicates", "Audit", ("audit",)),
    Binding("audit.history", ("L",), "history of what stands here, or of all", "Audit", ("audit",), short="history"),
    Binding("audit.verify", ("v",), "verify signatures, dates, seals and sums", "Audit", ("audit",), short="verify"),
    Binding("audit.export", ("x",), "export grades or preferences", "Audit", ("audit",), short="export"),
    Binding("audit.report", ("W",), "write the audit as one HTML page", "Audit", ("audit",), short="report"),
    Binding("audit.again", ("R",), "read the grades again", "Audit", ("audit",)),
    Binding("choose", ("Enter", "Space"), "choose", "Lists", ("pick",), short="choose"),
    Binding("choose.number", tuple("123456789"), "choose by number", "Lists", ("pick",)),
    Binding("choose.anyway", ("y",), "save what may be saved", "Lists", ("pick",)),
    Binding("yes", ("y",), "yes", "Lists", ("question",), short="yes"),
    Binding("no", ("n", "q", "Esc", "Ctrl+g"), "no", "Lists", ("question",), short="no"),
    Binding("text.accept", ("Enter",), "done", "Text", ("text",), short="done"),
    Binding("text.cancel", ("Esc", "Ctrl+g"), "cancel", "Text", ("text",), short="cancel"),
    Binding("text.left", ("Left", "Ctrl+b"), "one character left", "Text", ("text",)),
    Binding("text.right", ("Right", "Ctrl+f"), "one character right", "Text", ("text",)),
    Binding("text.start", ("Home", "Ctrl+a"), "to the beginning", "Text", ("text",)),
    Binding("text.end", ("End", "Ctrl+e"), "to the end", "Text", ("text",)),
    Binding("text.next", ("Down", "Ctrl+n"), "next of the list", "Text", ("text",)),
    Binding("text.previous", ("Up", "Ctrl+p"), "previous of the list", "Text", ("text",)),
    Binding("text.erase", ("Backspace",), "erase the character before", "Text", ("text",)),
    Binding("text.delete", ("Delete", "Ctrl+d"), "erase the character under the cursor", "Text", ("text",)),
    Binding("text.erase-word", ("Ctrl+w",), "erase the word before", "Text", ("text",)),
    Binding("text.erase-start", ("Ctrl+u",), "erase to the beginning", "Text", ("text",)),
    Binding("text.erase-end", ("Ctrl+k",), "erase to the end", "Text", ("text",)),
    Binding("text.complete", ("Tab",), "complete", "Text", ("text",)),
    Binding("text.editor", ("Ctrl+o",), "go on in $EDITOR", "Text", ("text",), short="$EDITOR"),
)  # fmt: skip

_SPECIAL: Final = {
    "Down", "Up", "Left", "Right", "PgDn", "PgUp", "Home", "End", "Space", "Tab", "Shift+Tab", "Enter", "Esc",
    "Backspace", "Delete", "Insert",
}  # fmt: skip

# What a terminal or tmux takes for another key, or keeps for itself.
_NEVER_ARRIVES: Final = {f"Ctrl+{letter}" for letter in "hijmsqz"}


class KeyTableError(ValueError):
    """A key table that cannot be used, in one sentence for the person who wrote it."""


class KeyTable:
    """The bindings in force: the defaults, with the keys of some actions replaced.

    `rebound` maps an action to its keys, in the notation of the table; an empty list frees the action's keys.
    With `single_letters` off no single character acts outside text (WCAG 2.1.4): the command line does.
    Raises KeyTableError for an unknown action, a key that is not one, and a clash, naming both actions.
    """

    def __init__(self, rebound: Mapping[str, Sequence[str]] | None = None, *, single_letters: bool = True) -> None:
        changes = dict(rebound or {})
        known = {binding.action for binding in DEFAULTS}
        for action, keys in changes.items():
            if action not in known:
                raise KeyTableError(f"keys: there is no action {action!r}; `?` lists the actions")
            for key in keys:
                _check(action, key)
        self.bindings = tuple(
            _with_keys(binding, changes.get(binding.action, binding.keys), single_letters) for binding in DEFAULTS
        )
        self._by_key: dict[tuple[Context, str], Binding] = {}
        for binding in self.bindings:
            self._add(binding)

    def find(self, context: Context, key: str) -> Binding | None:
        """What `key` does in `context`."""
        return self._by_key.get((context, key))

    def of(self, action: str) -> Binding:
        """The binding of `action`; KeyError if there is none."""
        return {binding.action: binding for binding in self.bindings}[action]

    def within(self, context: Context) -> Iterator[Binding]:
        """The bindings of `context`, in the order of the table."""
        return (binding for binding in self.bindings if context in binding.contexts)

    def _add(self, binding: Binding) -> None:
        for context in binding.contexts:
            for key in binding.keys:
                other = self._by_key.setdefault((context, key), binding)
                if other is not binding:
                    raise KeyTableError(
                        f"keys: {key} is asked to do both {other.action!r} and {binding.action!r} "
                        f"(in {context}); give one of them another key"
                    )


def _with_keys(binding: Binding, keys: Sequence[str], single_letters: bool) -> Binding:
    kept = keys if single_letters else [key for key in keys if len(key) > 1]
    return replace(binding, keys=tuple(kept))


def _check(action: str, key: str) -> None:
    control = key.startswith("Ctrl+") and len(key) == 6 and key[5].islower()
    if not (control or key in _SPECIAL or (len(key) == 1 and key.isprintable() and key != " ")):
        raise KeyTableError(
            f"keys: {key!r} for {action!r} is no key; write one character, Ctrl+letter, "
            f"or one of {', '.join(sorted(_SPECIAL))}"
        )
    if key in _NEVER_ARRIVES:
        raise KeyTableError(f"keys: {key} for {action!r} does not arrive through every terminal; choose another")


_TEXTUAL_NAMES: Final = {
    # No key of the table has this name. It is what the line makes of Enter until it gives keys as they are typed.
    "ctrl+j": "Enter",
    "pagedown": "PgDn",
    "pageup": "PgUp",
    "escape": "Esc",
    "shift+tab": "Shift+Tab",
    "space": "Space",
}


def notation(key: str, character: str | None) -> str:
    """A key as the table writes it, from Textual's name for it and the character it makes, if any."""
    if character and len(character) == 1 and character.isprintable() and character != " ":
        return character
    if key in _TEXTUAL_NAMES:
        return _TEXTUAL_NAMES[key]
    if key.startswith("ctrl+"):
        return f"Ctrl+{key[5:]}"
    return key.capitalize()
