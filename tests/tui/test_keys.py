"""One table: complete, without clashes, rebound by action."""

from __future__ import annotations

import pytest

from kgrade.tui.keys import DEFAULTS, KeyTable, KeyTableError, notation

DESIGNED = [
    *"jkgGhl0123456789aidsbtprfL][}{/nNJKcm;VxvF|wz+_oeEuURPSyY<>X!QHA:?Mq", "Ctrl+d", "Ctrl+u", "Space", "-", "Tab",
    "Esc", "Ctrl+g", "Up", "Down", "Left", "Right", "PgUp", "PgDn", "Home", "End",
]  # fmt: skip


@pytest.mark.parametrize("key", DESIGNED)
def test_every_key_of_the_design_does_something_while_grading(key: str) -> None:
    assert KeyTable().find("grading", key) is not None


def test_actions_are_named_once_and_described() -> None:
    names = [binding.action for binding in DEFAULTS]
    assert len(names) == len(set(names))
    assert all(binding.does and binding.group and binding.keys for binding in DEFAULTS)


def test_no_default_key_is_one_that_terminals_take_for_another() -> None:
    defaults = {binding.action: list(binding.keys) for binding in DEFAULTS}
    assert KeyTable(defaults).bindings == DEFAULTS


def test_rebinding_moves_the_action_and_frees_its_old_key() -> None:
    table = KeyTable({"save": ["Ctrl+x"], "undo": []})
    saved = table.find("grading", "Ctrl+x")
    assert saved is not None
    assert saved.action == "save"
    assert table.find("grading", "S") is None
    assert table.find("grading", "u") is None


@pytest.mark.parametrize(
    ("rebound", "sentence"),
    [
        ({"save": ["c"]}, "'comment' and 'save'"),
        ({"svae": ["c"]}, "no action 'svae'"),
        ({"save": ["Ctrl+m"]}, "does not arrive"),
        ({"save": ["F5"]}, "is no key"),
        ({"save": ["ab"]}, "is no key"),
    ],
)
def test_a_table_that_cannot_be_used_is_refused_in_a_sentence(rebound: dict[str, list[str]], sentence: str) -> None:
    with pytest.raises(KeyTableError, match=sentence):
        KeyTable(rebound)


def test_swapping_two_keys_is_no_clash() -> None:
    table = KeyTable({"comment": ["m"], "note": ["c"]})
    assert [table.of(action).keys for action in ("comment", "note")] == [("m",), ("c",)]


def test_without_single_letters_only_named_keys_act_and_the_command_line_stays() -> None:
    table = KeyTable(single_letters=False)
    assert table.find("grading", "S") is None
    command = table.find("grading", "Ctrl+p")
    assert command is not None
    assert command.action == "command"


@pytest.mark.parametrize(
    ("key", "character", "written"),
    [
        ("j", "j", "j"),
        ("J", "J", "J"),
        ("question_mark", "?", "?"),
        ("space", " ", "Space"),
        ("ctrl+d", "\x04", "Ctrl+d"),
        ("pagedown", None, "PgDn"),
        ("escape", "\x1b", "Esc"),
        ("enter", "\r", "Enter"),
        ("shift+tab", None, "Shift+Tab"),
        ("down", None, "Down"),
        ("backspace", "\x7f", "Backspace"),
    ],
)
def test_keys_are_written_as_in_the_table(key: str, character: str | None, written: str) -> None:
    assert notation(key, character) == written
