"""Markdown with front matter: headings, paragraphs, lists, code and tables, with the line of each."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from datetime import date
from typing import Any, BinaryIO

from atomr_local.indexing.readers.documents.document import (
    Document,
    UnreadableError,
    Writer,
    names_of,
    write_table,
)
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


def parse_text(stream: BinaryIO) -> Document:
    """Paragraphs; lines that were wrapped are joined."""
    writer = Writer("line")
    paragraph: list[str] = []

    def close(first: int) -> None:
        if not paragraph:
            return
        places, offset = [], 0
        for place, line in enumerate(paragraph, first):
            places.append((offset, place))
            offset += len(line.strip()) + 1
        writer.at(first)
        writer.line(joined(paragraph), places)
        paragraph.clear()

    first = 0
    for number, line in enumerate(decoded(read_bytes(stream)).split("\n"), 1):
        if line.strip():
            first = first or number
            if paragraph and not _goes_on(paragraph[-1], line):
                close(first)
                first = number
            paragraph.append(line)
            continue
        close(first)
        first = 0
    close(first)
    return writer.done()


def parse_code(stream: BinaryIO) -> Document:
    """The lines as they are."""
    writer = Writer("line")
    for number, line in enumerate(decoded(read_bytes(stream)).split("\n"), 1):
        if line.strip():
            writer.at(number)
            writer.line(line)
    return writer.done()


def joined(lines: list[str]) -> str:
    """Wrapped lines put together to one."""
    return " ".join(line.strip() for line in lines)


def _goes_on(line: str, following: str) -> bool:
    if _OWN_LINE.match(following):
        return False
    return len(line) >= _WRAPPED or (len(line) >= _WRAPPED // 2 and following[:1].islower())


_FRONT = re.compile(r"---[ \t]*\n(.*?)\n(?:---|\.\.\.)[ \t]*(?:\n|$)", re.S)
_MOST_FRONT = 64 << 10
_MOST_DEPTH = 100
_NO_FIELDS = frozenset({"title", "aliases", "alias", "tags", "tag", "description"})
# Fields of front matter that are kept for facts; they are stored with every passage.
_MOST_FIELDS = 40
_LONGEST_FIELD = 120
_MOST_VALUES = 10
_WIKI_LINK = re.compile(r"\[\[([^\[\]|]+)(?:\|([^\[\]]+))?\]\]")
_TAG = re.compile(r"<[^<>]{1,200}>")


def parse_markdown(stream: BinaryIO) -> Document:
    text = decoded(read_bytes(stream))
    writer = Writer("line")
    lines = 0
    if (front := _FRONT.match(text)) and len(front[1]) <= _MOST_FRONT:
        _take_front_matter(writer.document, front[1])
        text = text[front.end() :]
        lines = front[0].count("\n")
    write_markdown(writer, text, lines)
    return writer.done()


def write_markdown(writer: Writer, text: str, lines: int | None = 0) -> None:
    """The text's blocks; each at its line, after `lines` that stand before it, unless that is None."""
    from markdown_it import MarkdownIt

    tokens = MarkdownIt("commonmark", {"maxNesting": _MOST_DEPTH}).enable("table").parse(text)
    i = 0
    while i < len(tokens):
        token = tokens[i]
        if lines is not None and token.map:
            writer.at(token.map[0] + 1 + lines)
        if token.type == "heading_open":
            writer.heading(int(token.tag[1:]), _plain(tokens[i + 1]))
            i += 2
        elif token.type == "table_open":
            i = _table(writer, tokens, i, lines)
        elif token.type == "inline":
            inside_list = i >= 2 and tokens[i - 2].type == "list_item_open"
            places = _line_places(token, token.map[0] + 1 + lines) if lines is not None and token.map else ()
            number = tokens[i - 2].info if inside_list else ""  # of an ordered list's item
            told = f"{number}. {_plain(token)}" if number else _plain(token)
            (writer.line if inside_list else writer.paragraph)(told, places)
        elif token.type in {"fence", "code_block"}:
            for line in token.content.split("\n"):
                writer.line(line)
        elif token.type == "html_block":
            writer.paragraph(_TAG.sub(" ", token.content))
        i += 1


def _table(writer: Writer, tokens: list[Any], i: int, lines: int | None) -> int:
    """Write the table whose opening token is the one at `i`; where its closing token is. `lines` as given to
    :func:`write_markdown`."""
    rows: list[list[Cell]] = []
    places: list[int | str] = []
    while tokens[i].type != "table_close":
        token = tokens[i]
        if token.type == "tr_open":
            rows.append([])
            if lines is not None and token.map:
                places.append(token.map[0] + 1 + lines)
        elif token.type == "inline":
            # The syntax makes the first row one of headings, whether the author has any or not.
            rows[-1].append(Cell(" ".join(_plain(token).split()), emphasised=len(rows) == 1))
        i += 1
    names = Names.EXPECTED if any(cell.text for cell in rows[0]) else Names.UNLIKELY
    write_table(writer, rows, places=places if len(places) == len(rows) else (), names=names)
    return i


def _plain(token: Any) -> str:
    return _without_links("".join(_lines(token)))


def _line_places(token: Any, first: int) -> Iterator[tuple[int, int]]:
    """Where the lines of the source begin in the plain text, from the second on: (offset, line)."""
    offset = 0
    for number, line in enumerate(_lines(token), first):
        if number > first:
            yield offset, number
        offset += len(_without_links(line))


def _lines(token: Any) -> list[str]:
    """The words of each line of the source, with what stands for its end."""
    lines: list[list[str]] = [[]]
    for child in token.children or ():
        if child.type in {"text", "code_inline", "image"}:
            lines[-1].append(child.content)
        elif child.type in {"softbreak", "hardbreak"}:
            lines[-1].append(" " if child.type == "softbreak" else "\n")
            lines.append([])
    return ["".join(words) for words in lines]


def _without_links(text: str) -> str:
    return _WIKI_LINK.sub(lambda match: match[2] or match[1], text)


def _take_front_matter(document: Document, source: str) -> None:
    """Title, aliases, tags and the like; what is no YAML is passed over."""
    import yaml

    try:
        found = yaml.safe_load(source)
    except (yaml.YAMLError, ValueError, RecursionError):
        document.notes.append("its front matter is no YAML")
        return
    if not isinstance(found, dict):
        return
    fields = {str(key).casefold(): value for key, value in list(found.items())[:100] if isinstance(key, str)}
    titles = names_of(fields.get("title", ""))
    document.title = titles[0] if titles else ""
    document.aliases = names_of(fields.get("aliases", fields.get("alias", [])))
    tags = fields.get("tags", fields.get("tag", []))
    if tags := names_of(tags.replace(",", " ").split() if isinstance(tags, str) else tags):
        document.details["tags"] = ", ".join(tags)
    for name in ("author", "date", "description"):
        value = fields.get(name)
        text = value.isoformat() if isinstance(value, date) else ", ".join(names_of(value or []))
        if text:
            document.details[name] = text
    for label, value in fields.items():
        kept = [] if label in _NO_FIELDS else _values(value)
        if kept and len(label) <= _LONGEST_FIELD // 2 and len(document.fields) < _MOST_FIELDS:
            document.fields[label] = kept


def _values(value: Any) -> list[str]:
    """Texts, numbers and dates; what is nested, or says yes or no, is left out."""
    items = value if isinstance(value, list) else [value]
    dated = [item.isoformat() if isinstance(item, date) else item for item in items[:_MOST_VALUES]]
    return [
        name for name in names_of([item for item in dated if not isinstance(item, bool)]) if len(name) <= _LONGEST_FIELD
    ]


# Jupyter notebooks: Markdown, code and the text that code printed, by the number of the cell.

_MOST_OUTPUT = 2_000  # characters of a cell's output


def parse_notebook(stream: BinaryIO) -> Document:
    try:
        notebook = json.loads(read_bytes(stream))
        cells = notebook["cells"]
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise UnreadableError("it is no notebook: its JSON has no cells") from error
    writer = Writer("cell")
    metadata = notebook.get("metadata")
    if isinstance(metadata, dict) and isinstance(title := metadata.get("title"), str):
        writer.document.title = " ".join(title.split())[:300]
    for number, cell in enumerate(cells if isinstance(cells, list) else (), 1):
        if not isinstance(cell, dict):
            continue
        writer.at(number)
        source = _joined(cell.get("source"))
        if cell.get("cell_type") == "markdown":
            write_markdown(writer, source, None)
            continue
        for line in source.split("\n"):
            writer.line(line)
        for line in _printed(cell)[:_MOST_OUTPUT].split("\n"):
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
