"""A table of a wiki page → lines, each a row with the names of its columns."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from atomr_local.indexing.readers.html_walker import OpenTable
from atomr_local.indexing.readers.tables import (
    Cell,
    Names,
    TableLines,
    markup_spans,
    one_line,
    row_text,
    says_something,
)
from atomr_local.indexing.readers.wikipedia.infobox import infobox_lines, pairs_of_rows
from atomr_local.indexing.readers.wikipedia.plain_text import Block

MOST_ROWS = 1_000
MOST_COLUMNS = 40
MOST_CELL = 600  # characters
MOST_TABLE = 100_000  # characters
_LONGEST_CELL = 100  # of a row of a table for layout
# The class by which every wiki marks tables of data.
_DATA_CLASSES = frozenset({"wikitable", "sortable", "prettytable"})
# Attributes of a cell whose end a template would have given.
_ATTRIBUTES = re.compile(
    r"""^\s*(?:(?:(?:col|row)span|style|class|(?:bg)?color|v?align|width|height|scope|data-sort-[a-z]+)\s*=\s*
    (?:"[^"]*"|'[^']*'|[^\s|"']+)\s*)+""",
    re.X | re.I,
)


@dataclass(slots=True)
class Table(OpenTable):
    """A table as its page has it.

    Attributes:
        place: among the parts of the page, where it begins.
        lost: what the limits left out, by its name in the plural.
    """

    place: int = 0
    lost: Counter[str] = field(default_factory=Counter)

    @property
    def classes(self) -> frozenset[str]:
        return frozenset(self.attributes.get("class", "").lower().split())

    @property
    def full(self) -> bool:
        """Whether no further row is taken."""
        return len(self.rows) >= MOST_ROWS

    def nest(self) -> None:
        """Note that a table stands within this one."""
        self.layout = self.layout or _DATA_CLASSES.isdisjoint(self.classes)

    def add(self, text: str, *, header: bool, given: Mapping[str, str]) -> None:
        row = self.row
        if len(row) >= MOST_COLUMNS:
            self.lost["table cells"] += 1
            return
        shown = one_line(_ATTRIBUTES.sub("", text), " " if header else ", ")
        if len(shown) > MOST_CELL:
            shown = f"{shown[:MOST_CELL].rsplit(' ', 1)[0]} …"
            self.lost["ends of table cells"] += 1
        row.append(Cell(shown, header, *markup_spans(given)))


def table_block(table: Table, lost: Counter[str]) -> Block | None:
    """The lines of the table with its caption, or the infobox that it is by its class; None if it says nothing.

    Args:
        lost: where what the limits of infoboxes leave out is noted.
    """
    caption = one_line(table.caption, " ")
    if any(css.startswith("infobox") for css in table.classes):
        lines = infobox_lines(pairs_of_rows([cell.text for cell in row] for row in table.rows), lost)
        block = Block("infobox", "\n".join(lines), name=caption)
    else:
        lines = table_lines(table)
        block = Block("table", "\n".join(lines), caption)
    return block if lines else None


def table_lines(table: Table) -> list[str]:
    """The rows, one a line, as documents have them: "Name: Ann; Born: 1912". What a limit leaves out is noted in
    `table.lost`.

    A cell that spans rows stands in each; a heading above several columns stands before the names of each. A heading
    across the table stands before each of the rows below it. Of tables for layout, cells of many words stand in lines
    of their own.
    """
    rows = [row for row in table.rows if any(says_something(cell.text) for cell in row)]
    if table.layout or table.attributes.get("role") == "presentation" or all(len(row) == 1 for row in rows):
        lines = list(_layout_lines(rows))
    else:
        # Where its class says so, the first row may hold the names of its columns though it is not marked.
        marked = len(rows) > 2 and not _DATA_CLASSES.isdisjoint(table.classes)
        read = TableLines(Names.EXPECTED if marked else Names.UNLIKELY, MOST_COLUMNS)
        lines = [line.text for line in read.lines(enumerate(rows, 1))]
        table.lost["table cells"] += read.grid.left_out
    kept: list[str] = []
    size = 0
    for line in lines:
        size += len(line) + 1
        if size > MOST_TABLE:
            table.lost["table rows"] += 1
        else:
            kept.append(line)
    return kept


def _layout_lines(rows: Sequence[Sequence[Cell]]) -> Iterator[str]:
    for row in rows:
        if any(len(cell.text) > _LONGEST_CELL for cell in row):
            yield from (cell.text for cell in row if says_something(cell.text))
        else:
            yield _labelled_text(row)


def _labelled_text(row: Sequence[Cell]) -> str:
    """A row whose first cell may be a heading of the others."""
    rest = row_text((), [cell.text for cell in row[1:]])
    return f"{row[0].text}: {rest}" if row[0].header and row[0].text and rest else row_text((), [c.text for c in row])


# Reads tables of wikitext, in pipes or in HTML, from the tokens of mwparserfromhell.

_CELL = re.compile(r"t[dh]")


class TokenReader:
    """Reads tokens, one after the other. They are well nested: whoever reads an opening reads on to its end."""

    def __init__(self, tokens: list[Any]) -> None:
        self.tokens = tokens
        self.at = 0

    def rest(self) -> Iterator[tuple[str, Any]]:
        """The tokens from here on with their kinds, each read when it is given."""
        tokens, count = self.tokens, len(self.tokens)
        while self.at < count:
            token = tokens[self.at]
            self.at += 1
            yield type(token).__name__, token

    def skip(self, opening: str, *closings: str) -> None:
        """Over the rest of an element whose opening was read, those of its kind inside included."""
        depth = 1
        for name, _ in self.rest():
            depth += (name == opening) - (name in closings)
            if not depth:
                break

    def skip_element(self) -> None:
        """Over the content of an element whose head was read."""
        self.skip("TagOpenOpen", "TagCloseClose", "TagCloseSelfclose")

    def tag_head(self) -> tuple[str, bool]:
        """The tag's name and whether it has no content, read past its attributes."""
        name, nested = "", 0
        for kind, token in self.rest():
            if kind == "Text" and not name:
                name = token["text"].strip().lower()
            elif kind == "TagOpenOpen":
                nested += 1
            elif kind in {"TagCloseClose", "TagCloseSelfclose"} and nested:
                nested -= 1
            elif kind in {"TagCloseOpen", "TagCloseSelfclose"} and not nested:
                return name, kind == "TagCloseSelfclose"
        return name, True

    def element(self, name: str) -> str:
        """The rendered content of an element whose head was read, up to its end."""
        raise NotImplementedError

    def other(self, token: Any) -> None:
        """Go past what the token opens, which stands in a table and in no cell of it."""
        raise NotImplementedError


def read_table(walker: TokenReader, table: Table, nested: Callable[[dict[str, str]], None]) -> None:
    """Read the content of the table, whose head was read, to its end.

    Args:
        nested: reads a table that stands between its rows, and whose head was read.
    """
    for kind, token in walker.rest():
        if kind == "TagOpenClose":
            if _closing(walker) == "table":
                break
        elif kind == "TagOpenOpen":
            begin = walker.at
            name, empty = walker.tag_head()
            given = attributes_of(walker.tokens[begin : walker.at])
            if name == "table" and not empty:
                nested(given)
            elif name == "tr" and table.full and not empty:
                table.lost["table rows"] += 1
                walker.skip_element()
            elif name == "tr":
                table.rows.append([])
            elif name == "caption":
                table.caption = walker.element(name)
            elif _CELL.fullmatch(name):
                _read_cell(walker, table, name, given, token.get("wiki_markup"), nothing=empty)
        else:
            walker.other(token)


def _read_cell(
    walker: TokenReader, table: Table, name: str, given: dict[str, str], markup: str | None, *, nothing: bool
) -> None:
    text = "" if nothing else walker.element(name)
    # The tokeniser takes "|+ caption" for a cell.
    if markup == "|" and (any(key.startswith("+") for key in given) or (not given and text.startswith("+"))):
        table.caption = table.caption or text.removeprefix("+")
        return
    table.add(text, header=name == "th", given=given)


def _closing(walker: TokenReader) -> str:
    """The name in a closing tag whose opening was read, which is read to its end."""
    name = ""
    for kind, token in walker.rest():
        if kind == "Text":
            name += token["text"]
        elif kind == "TagCloseClose":
            break
    return name.strip().lower()


def attributes_of(tokens: Sequence[Any]) -> dict[str, str]:
    """The attributes in the head of a tag, keys in lower case."""
    found: dict[str, str] = {}
    key, value = "", ""
    begun = in_value = False
    for token in tokens:
        kind = type(token).__name__
        if kind in {"TagAttrStart", "TagCloseOpen", "TagCloseSelfclose"}:
            if key:
                found[key.strip().lower()] = value.strip()
            key, value, begun, in_value = "", "", True, False
        elif kind == "TagAttrEquals":
            in_value = True
        elif kind == "Text" and in_value:
            value += token["text"]
        elif kind == "Text" and begun:  # before the first attribute stands the name of the tag
            key += token["text"]
    return found
