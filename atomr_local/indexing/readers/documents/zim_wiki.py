"""Pages of Zim, the desktop wiki, in the syntax of its manual ("Wiki Syntax"), with the line of each piece."""

from __future__ import annotations

import re
from typing import BinaryIO

from atomr_local.indexing.readers.documents.document import Document, Writer, write_table
from atomr_local.indexing.readers.documents.front_matter import add_tags
from atomr_local.indexing.readers.documents.text_file import read_bytes
from atomr_local.indexing.readers.lines import decoded
from atomr_local.indexing.readers.tables import Cell, Names

_HEADER = re.compile(r"(?:(?:Creation-Date: (\d{4}-\d\d-\d\d)|[\w-]+:)[^\n]*(?:\n|\Z))+")
_HEADING = re.compile(r"(={2,7})[ \t]+(\S.*?)[ \t]*=*")
_ROW = re.compile(r"\|(.*)\|")
_BEGIN = re.compile(r"(?:\*[ \t]+|([\da-zA-Z]{1,3}\.)[ \t]+)?(?:\[([ *x><])\][ \t]+)?")
_BOXES = {"*": "[x] ", "x": "[-] ", " ": "[ ] ", ">": "[>] ", "<": "[<] "}
_MARK = re.compile(
    r"""''(?P<code>.+?)'' | (?P<url>\bhttps?://\S+)
    | \[\[(?P<link>[^\[\]|\n]*)(?:\|(?P<words>[^\[\]\n]*))?\]\]
    | \{\{[^{}\n]*\}\}  # pictures, and what is drawn as one
    | \*\*(?P<strong>.+?)\*\* | (?<![:/])//(?!/)(?P<slanted>.+?)(?<!:)// | __(?P<marked>.+?)__
    | _\{(?P<low>[^{}\n]*)\} | (?P<high>\^)\{(?P<raised>[^{}\n]*)\} | (?<!\S)@(?P<tag>\w[\w-]*)""",
    re.X,
)


def parse_zim_wiki(stream: BinaryIO) -> Document:
    text = decoded(read_bytes(stream))
    header = _HEADER.match(text)
    assert header is not None  # by which a page is known
    writer = Writer("line")
    if header[1]:
        writer.document.details["date"] = header[1]
    verbatim, apart = "", True  # what ends a block that is kept as it is; whether a paragraph begins
    rows: list[list[Cell]] = []
    for number, line in enumerate([*text[header.end() :].split("\n"), ""], 1 + header[0].count("\n")):
        bare = line.strip()
        row = None if verbatim else _ROW.fullmatch(bare)
        if row:
            rows.append(
                [Cell(_plain(cell, writer.document).strip(), emphasised=not rows) for cell in row[1].split("|")]
            )
        elif rows:
            kept = {
                number - len(rows) + i: row for i, row in enumerate(rows) if any(cell.text.strip(":-") for cell in row)
            }
            write_table(writer, list(kept.values()), places=list(kept), names=Names.EXPECTED)
            rows = []
        writer.at(number)
        if verbatim:
            verbatim = "" if bare == verbatim else verbatim
            writer.line(line if verbatim else "")
        elif bare == "'''" or bare.startswith("{{{code:"):
            verbatim = "'''" if bare == "'''" else "}}}"
        elif heading := _HEADING.fullmatch(bare):
            writer.heading(max(1, 7 - len(heading[1])), _plain(heading[2], writer.document))
        elif not row:
            (writer.paragraph if apart else writer.line)(_item(bare, writer.document))
        apart = not bare
    return writer.done()


def _item(line: str, document: Document) -> str:
    """A line without the bullet of a list, with its number and its box: done, left out, moved or open."""
    begin = _BEGIN.match(line)
    assert begin is not None  # all of it may be missing
    number = f"{begin[1]} " if begin[1] else ""
    return f"{number}{_BOXES.get(begin[2], '')}{_plain(line[begin.end() :], document).lstrip()}"


def _plain(line: str, document: Document, depth: int = 3) -> str:
    """The words of a line; marks may stand in one another up to this depth. Its tags are put into the document."""

    def words(found: re.Match[str]) -> str:
        if found["tag"]:
            add_tags(document, [found["tag"]])
            return found[0]
        if inner := found["strong"] or found["slanted"] or found["marked"]:
            return _plain(inner, document, depth - 1) if depth else inner
        link = found["words"] or (found["link"] or "").lstrip(":+")
        return link or found["code"] or found["url"] or found["low"] or f"{found['high'] or ''}{found['raised'] or ''}"

    return _MARK.sub(words, line)
