"""Notes as programs keep and export them: Evernote's ENEX, Joplin's Markdown, archives of Notion and Bear, Zim."""

from __future__ import annotations

import re
from collections.abc import Iterator
from io import BytesIO
from pathlib import PurePosixPath
from typing import Any, BinaryIO
from zipfile import ZipFile

from atomr_local.indexing.readers.documents.document import (
    HEAD,
    MOST_MAILBOX,
    Document,
    UnreadableError,
    Writer,
    open_zip,
    part,
    refuse_entities,
    short_line,
    write_table,
)
from atomr_local.indexing.readers.documents.front_matter import add_tags
from atomr_local.indexing.readers.documents.html import parse_html, write_html
from atomr_local.indexing.readers.documents.kinds import bundled_title, document_kind
from atomr_local.indexing.readers.documents.mail import not_read
from atomr_local.indexing.readers.documents.note_titles import is_notion_archive
from atomr_local.indexing.readers.documents.process import parse
from atomr_local.indexing.readers.documents.text_file import parse_markdown, read_bytes, read_text, top_heading
from atomr_local.indexing.readers.known import known
from atomr_local.indexing.readers.tables import Cell, Names

_DATE = re.compile(r"(\d{4})(\d\d)(\d\d)T\d{6}Z")
_TODO = re.compile(r"""<en-todo\b(?:\s+checked=["'](?:(true)|false)["'])?\s*/?>""")
# Joplin's own record at the end of a note.
_RECORD = re.compile(r"(?:\A|\n\n)(id: [0-9a-f]{32})\n((?:\w+:[^\n]*\n)*)type_: (\d+)\s*\Z")
_LONGEST_RECORD = 16 << 10
_NOTE = "1"
_PAGES = frozenset({"markdown", "notion page", "html", "csv"})  # kinds of what Notion exports
# In its HTML: values side by side, pictures of pages, and boxes that are ticked or not.
_SIDE_BY_SIDE = re.compile(rb"(</(?:span|a)>)(<(?:span|a)\b)")
_PROPERTIES = re.compile(rb'(?s)<table class="properties">.{0,65536}?</table>')
_ICON = re.compile(rb'(?s)<div class="page-header-icon[^>]*>.{0,4096}?</div>')
_NOTION_BOX = re.compile(rb'<div class="checkbox checkbox-(on|off)"></div>')


def parse_enex(stream: BinaryIO) -> Iterator[Document]:
    """The notes of an export of Evernote, one document each; no more than two are held.

    Raises:
        UnreadableError: it declares entities, or is damaged before its first note ends.
    """
    refuse_entities(stream.read(HEAD))
    stream.seek(0)
    yield from _told_at_end(_enex_notes(stream))


def _enex_notes(stream: BinaryIO) -> Iterator[Document | str]:
    from lxml import etree  # type: ignore[import-untyped]

    size = -1
    try:
        # What is attached stands in the file in base64, longer than the parser takes by itself.
        for _, element in etree.iterparse(
            stream, tag=("data", "note"), resolve_entities=False, no_network=True, load_dtd=False, huge_tree=True
        ):
            if element.tag == "note":
                document = _note(element)
                yield document
                size += len(document.text) + 1
                while element.getprevious() is not None:
                    del element.getparent()[0]
            element.clear()
            if size > MOST_MAILBOX:
                yield f"notes beyond {MOST_MAILBOX >> 20} million characters of text were not read"
                return
    except etree.LxmlError as error:
        if size < 0:
            raise UnreadableError(f"its XML is damaged: {error}") from error
        yield f"the notes after this one were not read: its XML is damaged: {error}"


def _told_at_end(found: Iterator[Document | str]) -> Iterator[Document]:
    """The documents; the last gets the notes that are found beside them."""
    last, notes = None, []
    for document in found:
        if isinstance(document, str):
            notes.append(document)
            continue
        if last is not None:
            yield last
        last = document
    if last is not None:
        last.notes += notes
        yield last


def _note(element: Any) -> Document:
    writer = Writer()
    write_html(writer, _TODO.sub(lambda found: f"[{'x' if found[1] else ' '}] ", element.findtext("content") or ""))
    document = writer.done()
    document.title = short_line(element.findtext("title"))
    if date := _DATE.fullmatch(short_line(element.findtext("created"))):
        document.details["date"] = "-".join(date.groups())
    if author := short_line(element.findtext("note-attributes/author")):
        document.details["author"] = author
    add_tags(document, [tag.text for tag in element.findall("tag")])
    document.notes += not_read(len(element.findall("resource")), "attachment")
    return document


def parse_note(stream: BinaryIO) -> Document:
    """Markdown, without the record of Joplin at its end.

    Raises:
        UnreadableError: it is a record alone, of a notebook, a tag or a file.
    """
    data = read_bytes(stream)
    tail = data[-_LONGEST_RECORD:].decode("utf-8", "replace").replace("\r\n", "\n")
    record = _RECORD.search(tail)
    if record is None:
        return parse_markdown(BytesIO(data))
    if record[3] != _NOTE:
        raise UnreadableError("it is Joplin's record of a notebook, a tag or a file, and no note")
    title, line_end, rest = data[: data.rfind(record[1].encode())].partition(b"\n")
    document = parse_markdown(BytesIO(line_end + rest))  # each line keeps its number
    document.title = short_line(title.decode("utf-8-sig", "replace"))
    values = dict(line.partition(": ")[::2] for line in record[2].split("\n"))
    if date := values.get("user_created_time") or values.get("created_time"):
        document.details["date"] = date[: len("2026-01-01")]
    if author := short_line(values.get("author")):
        document.details["author"] = author
    return document


# What Bear says of a note.
_SAID = re.compile(rb'"(trashed|creationDate)"\s*:\s*"?(\d{4}-\d\d-\d\d|1\b)')


def parse_bundles(stream: BinaryIO) -> Iterator[Document]:
    """The notes of a TextBundle that is packed, or of a backup of Bear, which holds one for each; none of its bin.

    Raises:
        UnreadableError: it is damaged, or unpacks to too much.
    """
    with open_zip(stream) as archive:
        yield from _told_at_end(_bundled(archive))


def _bundled(archive: ZipFile) -> Iterator[Document | str]:
    names = archive.namelist()
    deleted = empty = 0
    for name in names:
        if (title := bundled_title(name)) is None:
            continue
        record = str(PurePosixPath(name).with_name("info.json"))
        said = _SAID.findall(part(archive, record) if record in names else b"")
        document = parse_markdown(BytesIO(part(archive, name)))
        if (b"trashed", b"1") in said:
            deleted += 1
        elif not document.text.strip():
            empty += 1
        else:
            document.title = document.title or top_heading(document) or title
            if created := next((value for key, value in said if key == b"creationDate"), b""):
                document.details.setdefault("date", created.decode())
            yield document
    assets = sum("/assets/" in f"/{name}" and not name.endswith("/") for name in names)
    yield from not_read(deleted, "deleted note")
    yield from not_read(empty, "note without text")
    yield from not_read(assets, "attachment")


def parse_notion_page(stream: BinaryIO) -> Document:
    """A page of Notion in HTML: values of a property apart, boxes as in Markdown."""
    data = _ICON.sub(b"", read_bytes(stream), count=1)
    data = _PROPERTIES.sub(lambda found: _SIDE_BY_SIDE.sub(rb"\1, \2", found[0]), data, count=1)
    data = _NOTION_BOX.sub(lambda found: b"[x] " if found[1] == b"on" else b"[ ] ", data)
    return parse_html(BytesIO(data))


def parse_notion(stream: BinaryIO) -> Iterator[Document]:
    """The pages and tables of an export of Notion, one document each; an export in parts has archives in it.

    Raises:
        UnreadableError: an archive is damaged, or unpacks to too much.
    """
    with open_zip(stream) as archive:
        yield from _told_at_end(_pages(archive))
        for name in filter(is_notion_archive, archive.namelist()):
            with open_zip(BytesIO(part(archive, name))) as inner:
                yield from _told_at_end(_pages(inner))


def _pages(archive: ZipFile) -> Iterator[Document | str]:
    names = set(archive.namelist())
    unread = 0
    for name in archive.namelist():
        if name.endswith("/") or is_notion_archive(name) or f"{name.removesuffix('.csv')}_all.csv" in names:
            continue  # a table comes twice: as one of its views shows it, and whole
        data = part(archive, name) if PurePosixPath(name).suffix in {".md", ".html", ".csv"} else b""
        try:
            if document_kind(BytesIO(data), name) not in _PAGES:
                raise UnreadableError("it is no page")
            yield from parse(BytesIO(data), name)
        except UnreadableError:
            unread += 1
    yield from not_read(unread, "other file")


# Pages of Zim, the desktop wiki, in the syntax of its manual ("Wiki Syntax"), with the line of each piece.

_HEADER = re.compile(r"(?:(?:Creation-Date: (\d{4}-\d\d-\d\d)|[\w-]+:)[^\n]*(?:\n|\Z))+")
_HEADING = re.compile(r"(={2,7})[ \t]+(\S.*?)[ \t]*=*")
_ROW = re.compile(r"\|(.*)\|")
_BEGIN = re.compile(r"(?:\*[ \t]+|([\da-zA-Z]{1,3}\.)[ \t]+)?(?:\[([ *x><])\][ \t]+)?")
_KNOWN = known("documents/markup.toml")["zim"]
_MARK = re.compile(_KNOWN["marks"], re.X)


def parse_zim_wiki(stream: BinaryIO) -> Document:
    text = read_text(stream)
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
    return f"{number}{_KNOWN['boxes'].get(begin[2], '')}{_plain(line[begin.end() :], document).lstrip()}"


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
