"""Escape and the key after it are two keys, in one packet too; nothing pasted acts as a key."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from textual import events
from textual._xterm_parser import XTermParser

from kgrade.tui.driver.typed import Typed


def keys(*packets: str) -> list[str]:
    """What the packets are taken for; "" is a pause."""
    typed, parser = Typed(), XTermParser()
    found = []
    for packet in (*packets, ""):
        text = typed.feed(packet) if packet else typed.rest()
        for event in parser.feed(text) if text else ():
            if isinstance(event, events.Key):
                found.append(event.key)
            elif isinstance(event, events.Paste):
                found.append(f"pasted {event.text}")
    return found


@pytest.mark.parametrize(
    ("packets", "taken"),
    [
        (["\x1bj"], ["escape", "j"]),
        (["\x1b3"], ["escape", "3"]),
        (["\x1b-"], ["escape", "minus"]),
        (["\x1b\t"], ["escape", "tab"]),
        (["\x1b\x7f"], ["escape", "backspace"]),
        (["ab\x1bS"], ["a", "b", "escape", "S"]),
        (["\x1b\x1b"], ["escape", "escape"]),
        (["\x1b\x1b[A"], ["escape", "up"]),
        (["\x1b", "j"], ["escape", "j"]),
        (["\x1b", "[A"], ["up"]),
        (["\x1b[", "A"], ["up"]),
        (["\x1b", "", "[A"], ["escape", "left_square_bracket", "A"]),
        (["\x1b["], ["escape", "left_square_bracket"]),
        (["\x1b]"], ["escape", "right_square_bracket"]),
        (["\x1b[200~a\x1bS\x1b[201~j"], ["pasted a␛S", "j"]),
        (["\x1b[200~a\x1b", "", "[201", "~j"], ["pasted a", "j"]),
        (["\x1b[20", "0~a", "\x1b[2", "J\x1b[201~"], ["pasted a␛[2J"]),
    ],
)
def test_keys(packets: list[str], taken: list[str]) -> None:
    assert keys(*packets) == taken


@given(
    st.lists(st.sampled_from(["j", "S", "3", "漢", "\r", "\x1b[A", "\x1b[6~", "\x1bOP", "\x04"]), max_size=9), st.data()
)
def test_packets_may_be_cut_anywhere(sent: list[str], data: st.DataObject) -> None:
    whole = "".join(sent)
    cut = data.draw(st.integers(0, len(whole)))
    assert keys(*filter(None, (whole[:cut], whole[cut:]))) == keys(*sent)
