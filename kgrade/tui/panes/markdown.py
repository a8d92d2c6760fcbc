"""A prompt's Markdown as rows that read like the text it is: headings, lists, tables, code; nothing is interpreted."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from rich.cells import cell_len

from kgrade.records.neutral import neutral
from kgrade.tui.highlight import HighlightedText
from kgrade.tui.lines import LazyRows, Lines, Row, SourceText, Span
from kgrade.tui.panes.layout import BLANK, WIDTH, Column, Entry, table

if TYPE_CHECKING:
    from markdown_it.token import Token

_LARGEST: Final = 200_000
"""Characters from which a prompt is shown as it stands, so that any size opens at once."""

_ENDINGS: Final = {
    "python": ".py", "py": ".py", "cuda": ".cu", "cpp": ".cpp", "c++": ".cpp", "c": ".c", "yaml": ".yaml",
    "json": ".json", "sh": ".sh", "bash": ".sh",
}  # fmt: skip
_MARKED: Final = {"strong_open": "strong", "em_open": "strong", "link_open": "place"}
_CLOSING: Final = {"strong_close", "em_close", "link_close"}


def markdown(text: str) -> Lines:
    """The rows of a Markdown text, wrapped to `layout.WIDTH` columns."""
    if len(text) > _LARGEST:
        source = SourceText(text.encode("utf-8", "surrogateescape"))
        return LazyRows(len(source), lambda index: Row(spans=(Span(source[index]),)))
    from markdown_it import MarkdownIt

    tokens = MarkdownIt("commonmark").enable("table").parse(text)
    rows = _Reader(tokens).rows()

    def made(index: int) -> Row:
        row = rows[index]
        return row if isinstance(row, Row) else row.made()

    return LazyRows(len(rows), made)


@dataclass(frozen=True, slots=True)
class _CodeRow:
    """Line `line` of a block of code, whose colours may come after the first look at it."""

    lead: tuple[Span, ...]
    code: HighlightedText
    line: int

    def made(self) -> Row:
        return Row(spans=(*self.lead, Span("    "), *self.code[self.line]))


class _Reader:
    """Walks the tokens once; `_leads` are what stands before the rows of the blocks that are open."""

    def __init__(self, tokens: Sequence[Token]) -> None:
        self._tokens = tokens
        self._leads: list[str] = []
        self._numbers: list[int | None] = []
        self._apart = False

    def rows(self) -> list[Row | _CodeRow]:
        """Every block, with a blank row before each that stands at the top level."""
        rows: list[Row | _CodeRow] = []
        position = 0
        while position < len(self._tokens):
            token = self._tokens[position]
            self._apart = self._apart or (token.level == 0 and token.nesting >= 0)
            if token.type == "table_open":
                end = next(i for i in range(position, len(self._tokens)) if self._tokens[i].type == "table_close")
                block: list[Row | _CodeRow] = [*_table(self._tokens[position:end], "".join(self._leads))]
                position = end
            else:
                block = list(self._block(token, self._tokens[position - 1].type if position else ""))
            if rows and block and self._apart:
                rows.append(BLANK)
            self._apart = self._apart and not block
            rows += block
            position += 1
        return rows

    def _block(self, token: Token, before: str) -> Iterator[Row | _CodeRow]:
        kind = token.type
        if kind in ("bullet_list_open", "ordered_list_open"):
            self._numbers.append(None if kind.startswith("bullet") else int(token.attrs.get("start", 1)))
        elif kind in ("bullet_list_close", "ordered_list_close"):
            self._numbers.pop()
        elif kind == "list_item_open":
            self._leads.append(self._bullet())
        elif kind == "blockquote_open":
            self._leads.append("> ")
        elif kind in ("list_item_close", "blockquote_close"):
            self._leads.pop()
        elif kind == "inline":
            style = "heading" if before == "heading_open" else ""
            for line in _filled(token, WIDTH - cell_len("".join(self._leads)), style):
                yield Row(spans=(*self._lead(), *line))
        elif kind in ("fence", "code_block", "html_block"):
            code = _code(token)
            for number in range(len(code)):
                yield _CodeRow(self._lead(), code, number)
        elif kind == "hr":
            yield Row(spans=(Span("-" * 40, "dim"),))

    def _bullet(self) -> str:
        number = self._numbers[-1]
        if number is None:
            return "- "
        self._numbers[-1] = number + 1
        return f"{number}. "

    def _lead(self) -> tuple[Span, ...]:
        """What stands before the next row; a bullet stands before its first row only, blanks before the others."""
        lead = "".join(self._leads)
        self._leads = [part if part == "> " else " " * len(part) for part in self._leads]
        return (Span(lead, "dim"),) if lead else ()


def _code(token: Token) -> HighlightedText:
    words = token.info.split()
    name = f"_{_ENDINGS.get(words[0], '')}" if words else "_"
    return HighlightedText(token.content.encode("utf-8", "surrogateescape"), name)


def _filled(token: Token, width: int, style: str) -> Iterator[list[Span]]:
    """An inline token's words on lines of at most `width` cells."""
    line: list[Span] = []
    used = 0
    for word in _words(token.children or [], style):
        cells = sum(cell_len(neutral(span.text)) for span in word)
        if (word and line and used + 1 + cells > width) or not word:
            yield line
            line, used = [], 0
        if line:
            # A blank takes the style of what it stands between, so that a marked phrase stays in one piece.
            line.append(Span(" ", line[-1].style if word[0].style == line[-1].style else ""))
            used += 1
        line += word
        used += cells
    if line:
        yield line


def _words(children: Sequence[Token], style: str) -> Iterator[list[Span]]:
    """Words as the spans they are made of; an empty one for a hard line break."""
    word: list[Span] = []
    styles = [style]
    targets: list[str] = []
    for child in children:
        if child.type in _MARKED:
            styles.append(_MARKED[child.type])
            targets += [str(child.attrs.get("href", ""))] if child.type == "link_open" else []
            continue
        text = _plain(child)
        if child.type in _CLOSING:
            styles.pop()
            text = f" ({targets.pop()})" if child.type == "link_close" else ""
        if child.type == "hardbreak":
            if word:
                yield word
            yield []
            word = []
            continue
        look = "code.string" if child.type == "code_inline" else styles[-1]
        for number, part in enumerate(text.replace("\n", " ").split(" ")):
            if number and word:
                yield word
                word = []
            if part:
                word.append(Span(part, look))
    if word:
        yield word


def _plain(child: Token) -> str:
    if child.type == "softbreak":
        return " "
    if child.type == "image":
        return f"[image: {child.content}]"
    return f"`{child.content}`" if child.type == "code_inline" else child.content


def _table(tokens: Sequence[Token], indent: str) -> list[Row]:
    lines: list[list[str]] = []
    for token in tokens:
        if token.type == "tr_open":
            lines.append([])
        elif token.type == "inline":
            lines[-1].append("".join(_plain(child) for child in token.children or []))
    columns = [Column(title, most=60) for title in lines[0]]
    return table(columns, [Entry(line) for line in lines[1:]], indent)
