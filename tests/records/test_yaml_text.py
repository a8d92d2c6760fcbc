"""YAML read safely: the core schema, line numbers, and everything hostile refused in one sentence."""

import contextlib
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgrade.records import yaml_text
from kgrade.records.faults import BadRecord


def read(text):
    return yaml_text.read(text if isinstance(text, bytes) else text.encode(), "a.yaml")[0]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1e-9", 1e-9),
        ("2.5E+3", 2500.0),
        (".5", 0.5),
        ("-12", -12),
        ("0x1f", 31),
        ("no", "no"),
        ("on", "on"),
        ("true", True),
        ("~", None),
        ("2026-11-03", "2026-11-03"),
        ("1:30", "1:30"),
        ("1_000", "1_000"),
        ("'12'", "12"),
        ('"null"', "null"),
        ("-.inf", -math.inf),
    ],
)
def test_plain_scalars_follow_the_core_schema(text, value):
    assert read(f"key: {text}") == {"key": value}


def test_lines_are_those_of_the_keys():
    _, lines = yaml_text.read(b"a: 1\nb:\n  - x\n  - {c: 2}\n", "a.yaml")
    assert lines[("a",)] == 1
    assert lines[("b",)] == 2
    assert lines[("b", 1, "c")] == 4


@pytest.mark.parametrize(
    ("data", "found"),
    [
        (b"", "an empty file"),
        (b"a: 1\na: 2\n", "the key 'a' a second time"),
        (b"a: !!python/object:os.system x\n", "the tag"),
        (b"a: &x 1\nb: *y\n", "the alias *y"),
        (b"a: 1\n---\nb: 2\n", "a second document"),
        (b"a: \xff\n", "byte 0xff"),
        (b"a: \x00\n", "a NUL byte"),
        (b"? [1, 2]\n: x\n", "a key that is no text"),
        (b"a: [" + b"[" * 100 + b"]" * 100 + b"]", "nesting deeper than 64"),
        (b"- " * 100 + b"x", "nesting deeper than 64"),
        (b"a: 'open\n", "found unexpected end of stream"),
        (b"a: b: c\n", "mapping values are not allowed"),
        (b"x" * (yaml_text.LARGEST_FILE + 1), "bytes"),
    ],
)
def test_what_is_refused(data, found):
    with pytest.raises(BadRecord) as caught:
        read(data)
    (fault,) = caught.value.faults
    assert found in fault.found
    assert fault.path == "a.yaml"
    assert "\n" not in str(fault)


def test_aliases_that_expand_are_refused_before_they_do():
    levels = [f"l{n}: &l{n} [{', '.join([f'*l{n - 1}'] * 10)}]" for n in range(1, 12)]
    with pytest.raises(BadRecord, match="aliases that expand"):
        read("l0: &l0 [xxxxxxxxxxxxxxxx]\n" + "\n".join(levels))


def test_an_alias_of_modest_size_is_read():
    assert read("a: &x [1, 2]\nb: *x\n") == {"a": [1, 2], "b": [1, 2]}


texts = st.text(alphabet=st.characters(exclude_categories=["Cs"], exclude_characters="\0"))
values = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**18), 10**18) | st.floats(allow_nan=False) | texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=12,
)


@given(st.dictionaries(texts, values, max_size=5))
def test_what_is_written_is_read_back(value):
    assert yaml_text.read(yaml_text.write(value), "a.yaml")[0] == value


@given(st.binary(max_size=200))
def test_any_bytes_are_read_or_refused(data):
    with contextlib.suppress(BadRecord):
        yaml_text.read(data, "a.yaml")


_PIECES = st.sampled_from(
    [
        *[
            ":",
            "-",
            "|",
            ">",
            "#",
            "[",
            "]",
            "{",
            "}",
            ",",
            "~",
            "'",
            '"',
            "&",
            "*",
            "!",
            "%",
            "@",
            "`",
            "..",
            "...",
            "---",
        ],
        *["schema", "author", "a_b", "true", "null", "12", "1.5", "0x1f", ".5", "x", "yes", "2026-10-05T09:12Z"],
        *(" ", "  ", "\n", "\n  ", "\n    ", "\n ", ": ", " #", ": |\n  ", ": [", "]\n", "\t", "é", "\r"),
        *("a: ", "b: ", "c: |\n", "a:\n  b: ", "\n  c:\n    d: ", "\n  c: "),
    ]
)


@given(st.lists(_PIECES, max_size=24).map("".join))
def test_what_is_read_the_quick_way_is_what_the_parser_reads(text):
    simple = yaml_text.read_simple(text.encode())
    assert simple is None or simple == read(text)


@pytest.mark.parametrize(
    "text",
    [
        "a:\n  b: 3\n  c:\n    sm_90: |\n      two\n      lines\n    d-e: x\nf: 1.5\n",
        "schema: kgrade/submission@1\nauthor: kit\ncreated: 2026-10-05T09:12:44+00:00\n",
        "author: kit\nnotes: |\n  Online: one # maximum.\n   more\ntags: [online, lane-wise]\nempty: []\nnone:\n",
    ],
)
def test_what_people_write_is_read_the_quick_way(text):
    assert yaml_text.read_simple(text.encode()) == read(text)
