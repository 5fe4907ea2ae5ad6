"""Markdown with front matter: headings, paragraphs, lists, code and tables, with the line of each."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, BinaryIO

from atomr_local.indexing.readers.documents.document import (
    Document,
    UnreadableError,
    Writer,
    is_rule,
    short_line,
    write_table,
)
from atomr_local.indexing.readers.documents.front_matter import take_front_matter, without_note_marks
from atomr_local.indexing.readers.lines import decoded
from atomr_local.indexing.readers.tables import Cell, Names

# Plain text and source code, with the line of each piece.

MOST_BYTES = 32 << 20
# Lines at least so long are taken for wrapped ones: the next goes on with their sentence.
_WRAPPED = 45
_OWN_LINE = re.compile(r"\s*(?:[-*+•–#>|]|\(?\w{1,3}[.)]\s)|\s{4}|\t")


def read_bytes(stream: BinaryIO) -> bytes:
    """All of a file of text.

    Raises:
        UnreadableError: it is too long.
    """
    data = stream.read(MOST_BYTES + 1)
    if len(data) > MOST_BYTES:
        raise UnreadableError(f"it is text of more than {MOST_BYTES >> 20} MiB: split it into smaller files")
    return data


def read_text(stream: BinaryIO) -> str:
    """As of :func:`read_bytes`, decoded."""
    return decoded(read_bytes(stream))


def parse_text(stream: BinaryIO) -> Document:
    """Paragraphs; lines that were wrapped are joined."""
    return paragraphs_of(read_text(stream))


def paragraphs_of(text: str) -> Document:
    """As of :func:`parse_text`, of a text that is read."""
    writer = Writer("line")
    paragraph: list[tuple[int, str]] = []  # its lines with their numbers

    for number, line in enumerate(text.split("\n"), 1):
        has_words = bool(line.strip()) and not is_rule(line)
        if not has_words or (paragraph and not _goes_on(paragraph[-1][1], line)):
            write_lines(writer, paragraph)
            paragraph = []
        if has_words:
            paragraph.append((number, line))
    write_lines(writer, paragraph)
    return writer.done()


def write_lines(writer: Writer, lines: Sequence[tuple[int, str]], *, own: bool = True) -> None:
    """A paragraph of lines with their numbers, joined; a blank line stands before it if it is not its `own` line."""
    places, offset = [], 0
    for number, line in lines:
        places.append((offset, number))
        offset += len(line.strip()) + 1
    if lines:
        writer.at(lines[0][0])
        (writer.line if own else writer.paragraph)(joined(line for _, line in lines), places)


# Colours of a terminal, and characters that tell the direction of writing.
_UNSEEN = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]|[\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]")
_ESCAPES = re.compile(r"(?<!\\)(?:\\u[0-9a-fA-F]{4})+")


def parse_code(stream: BinaryIO) -> Document:
    """The lines as they are: of source code, logs and chats."""
    return as_it_is(_UNSEEN.sub("", read_text(stream)))


def parse_settings(stream: BinaryIO) -> Document:
    """The lines as they are, with the characters that ``\\u`` stands for: of properties, YAML and the like."""
    return as_it_is(without_escapes(read_text(stream)))


def as_it_is(text: str) -> Document:
    """The lines, each at its place."""
    writer = Writer("line")
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            writer.at(number)
            writer.line(line)
    return writer.done()


def without_escapes(text: str) -> str:
    """The text with the characters that ``\\u`` and four digits stand for, if they can be seen."""

    def characters(found: re.Match[str]) -> str:
        units = bytes.fromhex(found[0].replace("\\u", ""))
        told = units.decode("utf-16-be", "replace")
        return told if told.isprintable() else found[0]

    return _ESCAPES.sub(characters, text)


def joined(lines: Iterable[str]) -> str:
    """Wrapped lines put together to one."""
    return " ".join(line.strip() for line in lines)


def _goes_on(line: str, following: str) -> bool:
    if _OWN_LINE.match(following):
        return False
    return len(line) >= _WRAPPED or (len(line) >= _WRAPPED // 2 and following[:1].islower())


_MOST_DEPTH = 100
_TAG = re.compile(r"<[^<>]{1,200}>")
_SIZE = re.compile(r"\|\d+(?:x\d+)?$")  # of a picture, behind what it shows


def parse_markdown(stream: BinaryIO) -> Document:
    """A note, without the marks of programs for notes and without private comments."""
    text = read_text(stream)
    writer = Writer("line")
    begin = take_front_matter(writer.document, text)
    before = text.count("\n", 0, begin)
    text = without_note_marks(text[begin:], writer.document)
    write_markdown(writer, text, range(before + 1, before + text.count("\n") + 3))
    if begin and writer.empty and not writer.document.sections:  # a note may be its properties alone
        writer.at(1)
        for label, values in writer.document.fields.items():
            writer.line(f"{label}: {', '.join(values)}")
    return writer.done()


def titled_by_heading(document: Document) -> Document:
    """The document; a heading of the first level at its top is its title where it has no other."""
    document.title = document.title or top_heading(document)
    return document


def top_heading(document: Document) -> str:
    """The heading of the first level at the top of a text; "" if there is none."""
    first = next(iter(document.sections), None)
    return first[2] if first is not None and first[:2] == (0, 1) else ""


def write_markdown(writer: Writer, text: str, numbers: Sequence[int] | None = None) -> None:
    """The text's blocks, each at its line.

    Args:
        numbers: of the lines; None where lines are no places.
    """
    from markdown_it import MarkdownIt

    tokens = MarkdownIt("commonmark", {"maxNesting": _MOST_DEPTH}).enable(["table", "strikethrough"]).parse(text)
    i, lists = 0, _ListNumbers()
    while i < len(tokens):
        token = tokens[i]
        lists.at(token)
        if numbers is not None and token.map:
            writer.at(numbers[token.map[0]])
        if token.type == "heading_open":
            # One in a list is a part of what the list stands in.
            writer.heading(int(token.tag[1:]) + bool(token.level), _plain(tokens[i + 1]))
            i += 2
        elif token.type == "table_open":
            i = _table(writer, tokens, i, numbers)
        elif token.type == "inline":
            inside_list = i >= 2 and tokens[i - 2].type == "list_item_open"
            places = _line_places(token, numbers) if numbers is not None and token.map else ()
            number = lists.number if inside_list else 0
            told = f"{number}. {_plain(token)}" if number else _plain(token)
            (writer.line if inside_list else writer.paragraph)(told, places)
        elif token.type in {"fence", "code_block"}:
            for line in token.content.split("\n"):
                writer.line(line)
        elif token.type == "html_block":
            writer.paragraph(_TAG.sub(" ", token.content))
        i += 1


class _ListNumbers:
    """The numbers of the items of lists, which may be in one another.

    Attributes:
        number: of the item that a list is at; 0 if it has none.
    """

    def __init__(self) -> None:
        self.number = 0
        self._before: list[tuple[int, str]] = []  # number and number as written, of the open lists

    def at(self, token: Any) -> None:
        """Go on to this token. Items that all have the same number, as some write them, are counted."""
        if token.type in {"ordered_list_open", "bullet_list_open"}:
            self._before.append((0, ""))
        elif token.type in {"ordered_list_close", "bullet_list_close"}:
            self._before.pop()
        elif token.type == "list_item_open":
            number, written = self._before[-1]
            self.number = number + 1 if token.info and token.info == written else int(token.info or 0)
            self._before[-1] = (self.number, token.info)


def _table(writer: Writer, tokens: list[Any], i: int, numbers: Sequence[int] | None) -> int:
    """Write the table whose opening token is the one at `i`; where its closing token is. `numbers` as given
    to :func:`write_markdown`."""
    rows: list[list[Cell]] = []
    places: list[int | str] = []
    while tokens[i].type != "table_close":
        token = tokens[i]
        if token.type == "tr_open":
            rows.append([])
            if numbers is not None and token.map:
                places.append(numbers[token.map[0]])
        elif token.type == "inline":
            # The syntax makes the first row one of headings, whether the author has any or not.
            rows[-1].append(Cell(" ".join(_plain(token).split()), emphasised=len(rows) == 1))
        i += 1
    names = Names.EXPECTED if any(cell.text for cell in rows[0]) else Names.UNLIKELY
    write_table(writer, rows, places=places if len(places) == len(rows) else (), names=names)
    return i


def _plain(token: Any) -> str:
    return "".join(_lines(token))


def _line_places(token: Any, numbers: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Where the lines of the source begin in the plain text, from the second on: (offset, line)."""
    offset = 0
    first = token.map[0]
    for row, line in enumerate(_lines(token), first):
        if row > first:
            yield offset, numbers[min(row, len(numbers) - 1)]
        offset += len(line)


def _lines(token: Any) -> list[str]:
    """The words of each line of the source, with what stands for its end."""
    lines: list[list[str]] = [[]]
    for child in token.children or ():
        if child.type in {"text", "code_inline"}:
            lines[-1].append(child.content)
        elif child.type == "image":
            lines[-1].append(_SIZE.sub("", child.content))
        elif child.type in {"s_open", "s_close"}:  # what is struck out is told as such
            lines[-1].append("~~")
        elif child.type in {"softbreak", "hardbreak"}:
            lines[-1].append(" " if child.type == "softbreak" else "\n")
            lines.append([])
    return ["".join(words) for words in lines]


# Jupyter notebooks: Markdown, code and the text that code printed, by the number of the cell.

_MOST_OUTPUT = 2_000  # characters of a cell's output


def parse_notebook(stream: BinaryIO) -> Document:
    try:
        notebook = json.loads(read_bytes(stream))
        # Format 3 has sheets, and of them one.
        cells = notebook["cells"] if "cells" in notebook else notebook["worksheets"][0]["cells"]
    except (ValueError, KeyError, TypeError, IndexError, RecursionError) as error:
        raise UnreadableError("it is no notebook: its JSON has no cells") from error
    writer = Writer("cell")
    metadata = notebook.get("metadata")
    if isinstance(metadata, dict) and isinstance(title := metadata.get("title"), str):
        writer.document.title = short_line(title)
    for number, cell in enumerate(cells if isinstance(cells, list) else (), 1):
        if not isinstance(cell, dict):
            continue
        writer.at(number)
        source = _joined(cell.get("source") or cell.get("input"))
        if cell.get("cell_type") == "heading":
            level = cell.get("level")
            writer.heading(level if isinstance(level, int) and 0 < level < 7 else 1, source)
            continue
        if cell.get("cell_type") == "markdown":
            write_markdown(writer, source)
            continue
        for line in f"{source}\n{_printed(cell)[:_MOST_OUTPUT]}".split("\n"):
            writer.line(line)
    return writer.done()


def _printed(cell: dict[str, Any]) -> str:
    found = []
    outputs = cell.get("outputs")
    for output in outputs if isinstance(outputs, list) else ():
        if not isinstance(output, dict):
            continue
        data = output.get("data")
        found.append(_joined(output.get("text") or (data.get("text/plain") if isinstance(data, dict) else "")))
    return "\n".join(found)


def _joined(source: object) -> str:
    if isinstance(source, list):
        return "".join(part for part in source if isinstance(part, str))
    return source if isinstance(source, str) else ""


# RTF, by striprtf: text without headings.

_TITLE = re.compile(r"\{\\title ([^{}\\]{1,300})\}")


def parse_rtf(stream: BinaryIO) -> Document:
    from striprtf.striprtf import rtf_to_text

    source = read_bytes(stream).decode("latin-1")
    writer = Writer()
    try:
        text = rtf_to_text(source, errors="ignore")
    except (ValueError, LookupError, IndexError, TypeError) as error:
        raise UnreadableError(f"its RTF is damaged: {error}") from error
    if title := _TITLE.search(source):
        writer.document.title = title[1].strip()
    for paragraph in text.split("\n"):
        writer.paragraph(paragraph.replace("|", " ") if paragraph.count("|") > 1 else paragraph)
    return writer.done()
