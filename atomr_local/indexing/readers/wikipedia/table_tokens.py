"""Reads tables of wikitext, in pipes or in HTML, from the tokens of mwparserfromhell."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from atomr_local.indexing.readers.wikipedia.table_rows import Table

_CELL = re.compile(r"t[dh]")


class TokenWalker(Protocol):
    """What reads the tokens, one after the other, and renders them."""

    tokens: list[Any]
    at: int

    def tag_head(self) -> tuple[str, bool]:
        """The name of the tag whose opening was read, and whether it has no content; read past its attributes."""
        ...

    def element(self, name: str) -> str:
        """The rendered content of an element whose head was read, up to its end."""
        ...

    def other(self, token: Any) -> None:
        """Go past what the token opens, which stands in a table and in no cell of it."""
        ...

    def skip_element(self) -> None:
        """Over the content of an element whose head was read."""
        ...


def read_table(walker: TokenWalker, table: Table, nested: Callable[[dict[str, str]], None]) -> None:
    """Read the content of the table, whose head was read, to its end.

    Args:
        nested: reads a table that stands between its rows, and whose head was read.
    """
    tokens, count = walker.tokens, len(walker.tokens)
    while walker.at < count:
        token = tokens[walker.at]
        walker.at += 1
        kind = type(token).__name__
        if kind == "TagOpenClose":
            if _closing(walker) == "table":
                break
        elif kind == "TagOpenOpen":
            begin = walker.at
            name, empty = walker.tag_head()
            given = attributes_of(tokens[begin : walker.at])
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
    walker: TokenWalker, table: Table, name: str, given: dict[str, str], markup: str | None, *, nothing: bool
) -> None:
    text = "" if nothing else walker.element(name)
    # The tokeniser takes "|+ caption" for a cell.
    if markup == "|" and (any(key.startswith("+") for key in given) or (not given and text.startswith("+"))):
        table.caption = table.caption or text.removeprefix("+")
        return
    table.add(text, header=name == "th", rowspan=given.get("rowspan", ""), colspan=given.get("colspan", ""))


def _closing(walker: TokenWalker) -> str:
    """The name in a closing tag whose opening was read, which is read to its end."""
    name = ""
    while walker.at < len(walker.tokens):
        token = walker.tokens[walker.at]
        walker.at += 1
        kind = type(token).__name__
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
