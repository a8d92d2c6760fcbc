"""Where keys go. One dispatcher holds the contexts that are open and turns each key into an action at once.

Over SSH several keys arrive in one read. Each is dispatched before the next is looked at, and an action that
opens a context has opened it when it returns, so that the key after it belongs to what it opened.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Final, Protocol

from kgrade.tui import keys
from kgrade.tui.keys import KeyTable

_PAGES: Final[frozenset[keys.Context]] = frozenset({"queue", "audit", "adjudicating", "comparing"})


class Receiver(Protocol):
    """What a context does with its keys."""

    @property
    def context(self) -> keys.Context:
        """Which part of the key table applies."""

    def why_not(self, action: str) -> str | None:
        """Why `action` cannot be done now, in a sentence; None if it can."""

    def perform(self, action: str, key: str) -> None:
        """Do `action`, asked for by `key`. Contexts that it opens are open when it returns."""

    def typed(self, text: str) -> None:
        """Take text that was typed or pasted; called in the context "text" only."""


class Dispatcher:
    """The open contexts, the last opened on top.

    `say` shows a sentence to the person; `changed` is called when another context has come to the top.
    """

    def __init__(self, table: KeyTable, say: Callable[[str], None], changed: Callable[[], None]) -> None:
        self.table = table
        self._say = say
        self._changed = changed
        self._open: list[Receiver] = []
        self._held: deque[Callable[[], None]] | None = None
        self._ignored = ""

    @property
    def top(self) -> Receiver:
        """The context that gets the next key."""
        return self._open[-1]

    def open(self, receiver: Receiver) -> None:
        """Send keys to `receiver` from the next one on."""
        self._open.append(receiver)
        self._changed()

    def close(self, receiver: Receiver) -> None:
        """Take `receiver` and all that was opened over it away; one that is not open is left so."""
        if receiver in self._open:
            del self._open[self._open.index(receiver) :]
            self._changed()

    def is_open(self, receiver: Receiver) -> bool:
        """Whether `receiver` is somewhere in the stack."""
        return receiver in self._open

    def is_covered(self, receiver: Receiver) -> bool:
        """Whether a page that fills the stage is open over `receiver`."""
        return any(each.context in _PAGES for each in self._open[self._open.index(receiver) + 1 :])

    def below(self, receiver: Receiver) -> Receiver:
        """The context that `receiver` was opened over."""
        return self._open[self._open.index(receiver) - 1]

    def hold(self, ignoring: str) -> None:
        """Keep keys until `release`; those of the action `ignoring` are repeats and are dropped."""
        if self._held is None:
            self._held = deque()
        self._ignored = ignoring

    def release(self) -> None:
        """Dispatch the keys that were held, in their order; one of them may hold the rest again."""
        held, self._held = self._held, None
        while held:
            held.popleft()()
            if self._held is not None:
                self._held.extend(held)
                return

    def key(self, key: str, character: str | None) -> None:
        """Dispatch one key, given by the table's notation and the character that it types, if any."""
        if self._held is not None:
            binding = self.table.find(self.top.context, key)
            if not binding or binding.action != self._ignored:
                self._held.append(lambda: self.key(key, character))
            return
        receiver = self.top
        binding = self.table.find(receiver.context, key)
        if binding is not None:
            self.act(binding.action, key)
        elif receiver.context == "text" and character and character.isprintable():
            receiver.typed(character)
        else:
            self._say(f"{key} does nothing here; ? shows what does" if receiver.context != "question" else "y or n")

    def act(self, action: str, key: str = "") -> None:
        """Do `action` in the top context, or say why it cannot be done."""
        receiver = self.top
        reason = receiver.why_not(action)
        if reason is None:
            receiver.perform(action, key)
        else:
            self._say(reason)

    def paste(self, text: str) -> None:
        """Pasted text goes into an open text; elsewhere it would act as keys, so it is refused."""
        if self._held is not None:
            self._held.append(lambda: self.paste(text))
        elif self.top.context == "text":
            self.top.typed(text)
        else:
            self._say("pasted text is ignored here: open a comment with c or a note with m first")
