"""Tells by its content what a document is; the name decides only among kinds of plain text.

`kinds.toml` has the kinds, and what they are known by.
"""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterable, Sequence
from pathlib import Path, PurePosixPath
from typing import BinaryIO

from atomr_local.indexing.readers.documents.chats import chat_kind
from atomr_local.indexing.readers.documents.document import HEAD, UnreadableError, unpacking
from atomr_local.indexing.readers.documents.note_titles import is_of_notion
from atomr_local.indexing.readers.known import known
from atomr_local.indexing.readers.lines import head_as_utf8, is_text
from atomr_local.system.files import kind_of, open_regular

KNOWN = known("documents/kinds.toml")
_NAMES = {kind: frozenset(endings) for kind, endings in KNOWN["names"].items()}


def _any_of(kind: str) -> bytes:
    """A pattern for all beginnings of a kind."""
    return f"(?:{'|'.join(KNOWN['beginnings'][kind])})".encode()


# Tells HTML by its content: whole pages, and fragments as editors, mail programs and pandoc write them.

# Comments and declarations that stand before the first element.
_BEFORE = rb"(?i)\s*+(?:(?:<\?xml[^>]*+>|(?><!--.*?-->))\s*+)*+"
_PAGE = re.compile(_BEFORE + rb"<(?:!doctype\s+html|html[\s>])", re.S)
_FIRST_TAG = re.compile(_BEFORE + rb"<([a-z][a-z0-9]*+)(?=[\s/>])", re.S)
_TAG = re.compile(rb"<(/?)([a-zA-Z][\w:.-]*+)(?=[\s/>])")
# What is in them is no markup of the page.
_RAW = re.compile(rb"(?is)(?><!--.*?(?:-->|\Z))|(?><(script|style|pre|code|svg|math)\b.*?(?:</\1\s*+>|\Z))")
_ELEMENTS = frozenset(KNOWN["html"]["elements"].encode().split())
_TEMPLATE_MARK = re.compile(rb"<\?(?:php|=)|<%|\{%|\{\{")
_MARKDOWN_MARK = re.compile(rb"(?m)^(?:#{1,6} \S|```|\[[^\]\n]+\]: \S)|\]\((?:https?:|\.{0,2}/|#)")
_FOREIGN = re.compile(rb"""(?i)<[a-z][^<>]*\sxmlns\s*=\s*["'](?!http://www\.w3\.org/)""")
_MOST_OTHERS = 0.1  # of the names of tags: elements of a page's own, and words between angle brackets


def _is_fragment(head: bytes, suffix: str) -> bool:
    """Whether a file that begins so, in UTF-8, is a part of a page: HTML without <html>.

    Args:
        suffix: of its name, in lower case; one of HTML needs fewer signs, and source code with tags stays what it is.
    """
    if suffix in _NAMES["templates"]:
        return False
    first = _FIRST_TAG.match(head)
    if suffix not in _NAMES["html"] and (first is None or first[1].lower() not in _ELEMENTS):
        return False
    bare = _RAW.sub(b" ", head)
    if suffix not in _NAMES["html"] and (
        _TEMPLATE_MARK.search(bare) or _MARKDOWN_MARK.search(bare) or _FOREIGN.search(bare)
    ):
        return False
    tags = _TAG.findall(head)
    # HTML is written in one case or the other.
    ours = [(end, name.lower()) for end, name in tags if name.islower() or name.isupper()]
    ours = [(end, name) for end, name in ours if name in _ELEMENTS]
    if suffix in _NAMES["html"]:
        return bool(ours)
    closed = any(end for end, _ in ours) or sum(name in {b"p", b"li", b"br"} for _, name in ours) > 1
    return closed and len(ours) >= (1 - _MOST_OTHERS) * len(tags)


_DATA_HEAD = 1024
MARKDOWN = _NAMES["markdown"]
_PROSE = _NAMES["prose"]
_MARKUP = {ending: kind for kind, endings in KNOWN["markup"].items() for ending in endings}
# JSON, by its content: under its own names any, under others what begins with an object or a list of texts.
_JSON = re.compile(rb'\s*+[\[{"\d]')
_SURE_JSON = re.compile(rb'\s*+[\[{][\s\[{]*+"(?:[^"\\\n]|\\.){0,1000}+"\s*+[:,\]]')
_CUES = re.compile(rb"\s*+" + _any_of("cues"))
_CALENDAR = re.compile(rb"\s*+BEGIN:(?:VCALENDAR|VCARD)\s", re.I)
_STAMP = re.compile(rb"(?m)^" + _any_of("stamps"))
_STAMPED = 0.5  # of the lines
_LINE = re.compile(rb"(?m)^[^\n]*\S")
_SVG = re.compile(_BEFORE + rb"<(?:!doctype\s+svg\b|(?:\w+:)?svg[\s>])", re.S)
# The line before each message of a mailbox, and how a line of its header begins.
MBOX_FROM = re.compile(rb"From (?=\S)[^\n]{1,500}?\d{4}(?: [-+]\d{4})?(?: remote from [^\n]{1,100})?[ \t]*+\r?\n")
MBOX_HEADER = re.compile(rb">?[!-9;-~]++:|>?From ")
_MAIL_FIELD = re.compile(rb"(?m)^(?:From|To|Subject|Date|Message-ID|Received|MIME-Version|Return-Path):", re.I)
_MAIL = re.compile(rb"[!-9;-~]+:[^\n]*\n(?:[ \t][^\n]*\n|[!-9;-~]+:[^\n]*\n)+\r?\n")
# The first line of a file of Apple Mail: the bytes of the message below it.
EMLX = re.compile(rb"(\d{1,10})[ \t]*\r?\n(?=[!-9;-~]+:)")
# What browsers put at the head of a page that they save as one file.
_SAVED = re.compile(rb"(?im)^(?:Snapshot-Content-Location:|From: *\"?<?Saved by |X-MAF-)")
_SAVED_TYPE = re.compile(rb"(?im)^Content-Type:\s*(?:multipart/related|text/html)\b")
# An export of Evernote; a document type with parts of its own could declare entities.
_ENEX = re.compile(_BEFORE + rb"(?:<!doctype\s+en-export[^\[>]*+>)?+\s*+<en-export[\s>]", re.S)
_NOTION_PAGE = re.compile(rb'<article id="[\da-f-]{32,36}" class="page (?:sans|serif|mono)')
_BUNDLE = re.compile(rb'"type"\s*:\s*"net\.daringfireball\.markdown"')  # the record of one
_NOTEBOOK = re.compile(rb'"cells"\s*:\s*\[|"nbformat"\s*:')
_TOLD_BY_NAME = frozenset({"text", "code", "log", "settings", "json", "csv"})


def are_documents(inputs: Sequence[Path]) -> bool:
    """Whether a folder is among the inputs, or all of them are documents; files of articles are none."""
    return any(path.is_dir() for path in inputs) or all(map(_is_document, inputs))


def _is_document(path: Path) -> bool:
    try:
        with open_regular(path) as stream:
            kind = document_kind(stream, path.name)
            # JSON lines and XML under any name.
            data = head_as_utf8(stream.read(_DATA_HEAD)).lstrip()[:1] in (b"{", b"[", b"<")
    except (OSError, UnreadableError):
        return False
    is_prose = kind in {"text", "log"} and path.suffix.casefold() in _PROSE - {"", ".log"}
    return kind not in _TOLD_BY_NAME or (is_prose and not data)


def document_kind(stream: BinaryIO, name: str) -> str:
    """The kind of the document, as in :data:`process.PARSERS`; the stream stands at its beginning afterwards.

    Args:
        name: of the file.

    Raises:
        UnreadableError: it is of no kind that is read; the message says what it is.
    """
    head = stream.read(HEAD)
    stream.seek(0)
    if not head:
        raise UnreadableError("it is empty")
    if b"%PDF-" in head[:1024]:
        return "pdf"
    if head.startswith(b"PK\x03\x04"):
        return _kind_of_zip(stream, name)
    if head.startswith(b"{\\rtf"):
        return "rtf"
    if head.startswith(b"\xd0\xcf\x11\xe0"):
        if name.casefold().endswith((".msg", ".oft")) or "__substg1.0_".encode("utf-16-le") in head:
            return "outlook"
        raise UnreadableError(
            "it is an Office document of before 2007, or one that is encrypted: save it as DOCX, PPTX or XLSX"
        )
    suffix = PurePosixPath(name.casefold()).suffix
    if suffix == ".json" and _BUNDLE.search(head[:_DATA_HEAD]):
        raise UnreadableError("it is the record of a TextBundle, and no note")
    readable = is_text(head)
    text = head_as_utf8(head) if readable else head
    _refuse_picture(text, suffix)
    known = kind_of(head)
    if known is not None and "text" not in known.name:
        raise UnreadableError(f"it is {known.name}" if not known.packed else f"it is {known.name}; unpack it first")
    if not readable:
        raise UnreadableError("it is neither text nor of a kind that is read")
    return chat_kind(text, name) or _kind_of_text(text, suffix)


def _kind_of_text(head: bytes, suffix: str) -> str:
    """The kind of a text that begins so, in UTF-8."""
    marked = (
        ("notion page", _NOTION_PAGE.search(head)),
        ("html", _PAGE.match(head)),
        ("mbox", (line := MBOX_FROM.match(head)) and MBOX_HEADER.match(head, line.end())),
        ("enex", _ENEX.match(head)),
        ("saved page", _is_saved_page(head, suffix)),
        ("mail", (counted := EMLX.match(head)) and _MAIL.match(head, counted.end())),
        ("mail", _MAIL.match(head) and len(set(_MAIL_FIELD.findall(head[: 1 << 14]))) >= 2),
        ("calendar", _CALENDAR.match(head)),
        ("zim wiki", head.startswith(b"Content-Type: text/x-zim-wiki")),
        ("subtitles", suffix not in MARKDOWN and _CUES.match(head)),
        ("notebook", suffix == ".ipynb" and _NOTEBOOK.search(head)),
        ("markdown", suffix in MARKDOWN or (not suffix and head.startswith((b"---\n", b"---\r\n")))),
        ("csv", suffix in _NAMES["tables"]),
        ("json", (_JSON if suffix in _NAMES["json"] else _SURE_JSON).match(head)),
        ("html", _is_fragment(head, suffix)),
        (_MARKUP.get(suffix, ""), suffix in _MARKUP),
        ("settings", suffix in _NAMES["settings"]),
        ("log", suffix == ".log" or (suffix in _PROSE and _is_log(head))),
        ("text", suffix in _PROSE),
    )
    return next((kind for kind, found in marked if found), "code")


def _is_saved_page(head: bytes, suffix: str) -> bool:
    """Whether it is MHTML: a page with its pictures in the form of a mail."""
    header = _MAIL.match(head)
    if header is None:
        return False
    return bool(_SAVED.search(header[0]) or (suffix in _NAMES["saved"] and _SAVED_TYPE.search(header[0])))


def _is_log(head: bytes) -> bool:
    head = head[: 1 << 14]
    stamped = len(_STAMP.findall(head))
    return stamped > 1 and stamped >= _STAMPED * len(_LINE.findall(head))


def _refuse_picture(head: bytes, suffix: str) -> None:
    """Raises UnreadableError for a picture that is text, in UTF-8; a page or a note may begin with one."""
    if _SVG.match(head) and suffix not in _NAMES["html"] | MARKDOWN | _NAMES["templates"] - {".svg"}:
        raise UnreadableError("it is an SVG image")
    for beginning, what in KNOWN["refused"].items():
        if re.match(beginning.encode(), head):
            raise UnreadableError(f"it is {what}")


_BUNDLED = re.compile(r"(?:(?:.*/)?([^/]+)\.textbundle/)?text\.(?:md|markdown|txt)")
_CONTENT_TYPES = "[Content_Types].xml"
_MOST_READ = 1 << 20  # bytes of a part
_MAIN_TYPE = re.compile(rb"\.(?:ms-)?(word|powerpoint|presentation|excel|spreadsheet)\w*\.[\w.]+\.main\+xml")
_CHATS = re.compile(r"(?:.*/)?(?:_chat|[^/]*WhatsApp[^/]*)\.txt|(?i:(?:.*/)?messages/c?\d{15,20}/messages\.json)")
_SLACK_DAY = re.compile(r"[^/]+/\d{4}-\d\d-\d\d\.json")


def _kind_of_zip(stream: BinaryIO, name: str) -> str:
    """The kind of a document that is packed with Zip, by its parts; the stream stands at its beginning afterwards.

    Args:
        name: of the file; it decides only which program of several has written it.

    Raises:
        UnreadableError: it is of no kind that is read; the message says what it is, and what to save it as.
    """
    with unpacking(), zipfile.ZipFile(stream) as archive:
        names = archive.namelist()
        found: str = next((kind for part, kind in KNOWN["zip"]["parts"].items() if part in names), "")
        if not found and (types := _MAIN_TYPE.search(_start_of(archive, _CONTENT_TYPES, names))):
            found = KNOWN["zip"]["main_types"][types[1].decode()]
        sort = _start_of(archive, "mimetype", names).decode("ascii", "replace").strip()
    stream.seek(0)
    if found := found or _said_of("types", [sort]):
        return found
    said = _said_of("types_not_read", [sort]) or _said_of("not_read", names)
    if not said and (said := _said_of("of_apple", names)):
        said = KNOWN["zip"]["apple_names"].get(PurePosixPath(name.casefold()).suffix, said)
    if said:
        raise UnreadableError(f"it is {said}")
    if any(bundled_title(one) is not None for one in names):
        return "bundles"
    if any(map(is_of_notion, names)):
        return "notion"
    if any(map(_CHATS.fullmatch, names)) or ("users.json" in names and any(map(_SLACK_DAY.fullmatch, names))):
        return "chat archive"
    raise UnreadableError("it is packed with Zip; unpack it first")


def _said_of(table: str, texts: Iterable[str]) -> str:
    """What a table of `kinds.toml` says of the first of its patterns that one of the texts has; "" if none has any."""
    patterns: dict[str, str] = KNOWN["zip"][table]
    return next((what for pattern, what in patterns.items() if any(re.fullmatch(pattern, one) for one in texts)), "")


def bundled_title(name: str) -> str | None:
    """The name of the TextBundle whose text this part of an archive is, "" where it has none; None if it is no text."""
    found = _BUNDLED.fullmatch(name)
    return found and (found[1] or "")


def _start_of(archive: zipfile.ZipFile, part: str, names: Sequence[str]) -> bytes:
    """The first bytes of a part; none where there is no such part."""
    if part not in names:
        return b""
    with archive.open(part) as opened:
        return opened.read(_MOST_READ)
