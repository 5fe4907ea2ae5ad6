"""Tells by its content what a document is; the name decides only among kinds of plain text."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path, PurePosixPath
from typing import BinaryIO

from atomr_local.indexing.readers.documents.chats import is_chat
from atomr_local.indexing.readers.documents.document import UnreadableError
from atomr_local.indexing.readers.documents.zip_kinds import kind_of_zip
from atomr_local.indexing.readers.lines import head_as_utf8, is_text
from atomr_local.system.files import kind_of, open_regular

# Tells HTML by its content: whole pages, and fragments as editors, mail programs and pandoc write them.


# Comments and declarations that stand before the first element.
_BEFORE = rb"(?i)\s*+(?:(?:<\?xml[^>]*+>|(?><!--.*?-->))\s*+)*+"
_PAGE = re.compile(_BEFORE + rb"<(?:!doctype\s+html|html[\s>])", re.S)
_FIRST_TAG = re.compile(_BEFORE + rb"<([a-z][a-z0-9]*+)(?=[\s/>])", re.S)
_TAG = re.compile(rb"<(/?)([a-zA-Z][\w:.-]*+)(?=[\s/>])")
# What is in them is no markup of the page.
_RAW = re.compile(rb"(?is)(?><!--.*?(?:-->|\Z))|(?><(script|style|pre|code|svg|math)\b.*?(?:</\1\s*+>|\Z))")
_NAMES = frozenset(
    b"""a abbr acronym address area article aside audio b base basefont bdi bdo big blockquote body br button canvas
    caption center cite code col colgroup data dd del details dfn dialog dir div dl dt em embed fieldset figcaption
    figure font footer form frame frameset h1 h2 h3 h4 h5 h6 head header hgroup hr html i iframe img input ins kbd
    label legend li link main map mark math menu meta nav nobr noscript object ol optgroup option output p param
    picture pre progress q s samp script section select small source span strike strong style sub summary sup svg table
    tbody td textarea tfoot th thead time title tr track tt u ul var video wbr""".split()
)
_NAMED_SO = frozenset({".html", ".htm", ".xhtml", ".xht", ".shtml"})
# Source code that has tags.
_TEMPLATES = frozenset(
    {".vue", ".svelte", ".jsx", ".tsx", ".php", ".phtml", ".erb", ".jsp", ".asp", ".aspx", ".cshtml", ".astro", ".hbs"}
    | {".mustache", ".ejs", ".jinja", ".jinja2", ".j2", ".twig", ".liquid", ".xsl", ".xslt", ".svg", ".js", ".ts"}
)
_TEMPLATE_MARK = re.compile(rb"<\?(?:php|=)|<%|\{%|\{\{")
_MARKDOWN_MARK = re.compile(rb"(?m)^(?:#{1,6} \S|```|\[[^\]\n]+\]: \S)|\]\((?:https?:|\.{0,2}/|#)")
_FOREIGN = re.compile(rb"""(?i)<[a-z][^<>]*\sxmlns\s*=\s*["'](?!http://www\.w3\.org/)""")
_MOST_OTHERS = 0.1  # of the names of tags: elements of a page's own, and words between angle brackets


def is_page(head: bytes) -> bool:
    """Whether a file that begins so, in UTF-8, is a page of HTML: it says so in its first element."""
    return _PAGE.match(head) is not None


def is_fragment(head: bytes, suffix: str) -> bool:
    """Whether a file that begins so, in UTF-8, is a part of a page: HTML without <html>.

    Args:
        suffix: of its name, in lower case; one of HTML needs fewer signs, and source code with tags stays what it is.
    """
    if suffix in _TEMPLATES:
        return False
    first = _FIRST_TAG.match(head)
    if suffix not in _NAMED_SO and (first is None or first[1].lower() not in _NAMES):
        return False
    bare = _RAW.sub(b" ", head)
    if suffix not in _NAMED_SO and (
        _TEMPLATE_MARK.search(bare) or _MARKDOWN_MARK.search(bare) or _FOREIGN.search(bare)
    ):
        return False
    tags = _TAG.findall(head)
    # HTML is written in one case or the other.
    ours = [(end, name.lower()) for end, name in tags if name.islower() or name.isupper()]
    ours = [(end, name) for end, name in ours if name in _NAMES]
    if suffix in _NAMED_SO:
        return bool(ours)
    closed = any(end for end, _ in ours) or sum(name in {b"p", b"li", b"br"} for _, name in ours) > 1
    return closed and len(ours) >= (1 - _MOST_OTHERS) * len(tags)


HEAD = 1 << 16
_DATA_HEAD = 1024
MARKDOWN = frozenset({".md", ".markdown", ".mdown", ".mkd", ".mdx"})
_TABLES = frozenset({".csv", ".tsv", ".tab"})
_PROSE = frozenset({"", ".txt", ".text", ".log"})
_LIGHT = (".org", ".adoc", ".asciidoc", ".textile", ".wiki", ".mediawiki")
_MARKUP = dict.fromkeys(_LIGHT, "light markup") | {".rst": "rst", ".rest": "rst", ".tex": "latex", ".latex": "latex"}
_SETTINGS = frozenset({".properties", ".yaml", ".yml", ".toml", ".ini", ".cfg", ".conf", ".strings"})
# JSON, by its content: under these names any, under others what begins with an object or a list of texts.
_JSON_NAMES = frozenset({".json", ".jsonl", ".ndjson", ".geojson", ".jsonc", ".webmanifest", ".canvas", ".har"})
_JSON = re.compile(rb'\s*+[\[{"\d]')
_SURE_JSON = re.compile(rb'\s*+[\[{][\s\[{]*+"(?:[^"\\\n]|\\.){0,1000}+"\s*+[:,\]]')
_CUES = re.compile(
    rb"\s*+(?:WEBVTT\b|\[Script Info\]|(?:\d+[ \t]*\r?\n)?\d+:\d\d:\d\d[.,]\d{1,3}[ \t]*(?:-->|,)[ \t]*\d+:\d\d:"
    rb"|(?:\[(?:ar|ti|al|au|by|re|ve|length|offset):[^\n]*\s+)*\[\d\d:\d\d\.\d\d\d?\])"
)
_CALENDAR = re.compile(rb"\s*+BEGIN:(?:VCALENDAR|VCARD)\s", re.I)
# How a line of a log or a chat begins: with a time, or with how grave it is.
_MONTH = rb"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)"
_STAMP = re.compile(
    rb"(?m)^(?:[\[(<]?(?:\d{4}[-/.]\d\d?[-/.]\d\d?[T ,]+\d\d?:\d\d|\d\d?[-/.]\d\d?[-/.]\d{2,4},? +\d\d?[:.]\d\d"
    rb"|\d\d?:\d\d(?::\d\d)?\b|\d\d-\d\d \d\d:\d\d)|(?:\w{3} )?" + _MONTH + rb" [ \d]\d \d\d:\d\d"
    rb"|\[\w{3} " + _MONTH + rb" |\S+ \S+ \S+ \[\d\d/" + _MONTH + rb"/\d{4}:|\[ *\d+\.\d+\] |\d{10}(?:\.\d+)?\s"
    rb"|[IWEF]\d{4} \d\d:\d\d|<[^<>\s/]{1,30}> \S"
    rb"|[\[<]?(?:TRACE|DEBUG|INFO|NOTICE|WARN(?:ING)?|ERROR|FATAL|CRITICAL)\b)"
)
_STAMPED = 0.5  # of the lines
_LINE = re.compile(rb"(?m)^[^\n]*\S")
# Pictures that are text, and what Outlook alone reads.
_SVG = re.compile(_BEFORE + rb"<(?:!doctype\s+svg\b|(?:\w+:)?svg[\s>])", re.S)
_PICTURES = (
    (_SVG, "an SVG image"),
    (re.compile(rb"%!PS-Adobe-\S+ EPSF|\xc5\xd0\xd3\xc6"), "an EPS image"),
    (re.compile(rb"/\* XPM \*/"), "an XPM image"),
    (re.compile(rb"\x78\x9f\x3e\x22"), "a winmail.dat of Outlook: ask for the mail as HTML or plain text"),
    (re.compile(rb"!BDN"), "a mailbox of Outlook (PST): export it as MBOX or EML"),
    (re.compile(rb"%!PS"), "a PostScript file: save it as PDF"),
)
# The line before each message of a mailbox, and how a line of its header begins.
MBOX_FROM = re.compile(rb"From (?=\S)[^\n]{1,500}?\d{4}(?: [-+]\d{4})?(?: remote from [^\n]{1,100})?[ \t]*+\r?\n")
MBOX_HEADER = re.compile(rb">?[!-9;-~]++:|>?From ")
_MAIL_FIELD = re.compile(rb"(?m)^(?:From|To|Subject|Date|Message-ID|Received|MIME-Version|Return-Path):", re.I)
_MAIL = re.compile(rb"[!-9;-~]+:[^\n]*\n(?:[ \t][^\n]*\n|[!-9;-~]+:[^\n]*\n)+\r?\n")
# The first line of a file of Apple Mail: the bytes of the message below it.
EMLX = re.compile(rb"(\d{1,10})[ \t]*\r?\n(?=[!-9;-~]+:)")
# What browsers put at the head of a page that they save as one file.
_SAVED = re.compile(rb"(?im)^(?:Snapshot-Content-Location:|From: *\"?<?Saved by |X-MAF-)")
_SAVED_NAMES = frozenset({".mht", ".mhtml"})
_SAVED_TYPE = re.compile(rb"(?im)^Content-Type:\s*(?:multipart/related|text/html)\b")
# An export of Evernote; a document type with parts of its own could declare entities.
_ENEX = re.compile(_BEFORE + rb"(?:<!doctype\s+en-export[^\[>]*+>)?+\s*+<en-export[\s>]", re.S)
_NOTION_PAGE = re.compile(rb'<article id="[\da-f-]{32,36}" class="page (?:sans|serif|mono)')
# What stands beside notes: records of TextBundle, and the backups of Logseq, by their names.
_BUNDLE = re.compile(rb'"type"\s*:\s*"net\.daringfireball\.markdown"')
_LOGSEQ_BACKUP = re.compile(r"\d{4}-\d\d-\d\dt\d\d_\d\d_\d\d\.\d{3}z\.\w+\.(?:md|org|edn)")
# Chats of Telegram (one, and all), DiscordChatExporter, Discord's own data, Slack, signal-export and Signal.
_CHAT_JSON = re.compile(
    rb'\s*+(?:\{\s*+(?:"name":\s*+(?:"(?:[^"\\]|\\.)*+"|null),\s*+)?"type":\s*+"(?:personal_chat|bot_chat|saved_messages'
    rb'|(?:private|public)_(?:group|supergroup|channel))",\s*+"id":\s*+-?\d+,\s*+"messages":\s*+\['
    rb'|\{\s*+"about":\s*+"Here is the data you requested|\{\s*+"guild":\s*+\{.{0,4000}?"channel":\s*+\{\s*+"id":'
    rb'|\[\s*+\{\s*+"ID":\s*+"?\d{15,20}"?,\s*+"Timestamp":\s*+"[^"]*+",\s*+"Contents":'
    rb'|\[\s*+\{(?=.{0,9999}?"type":\s*+"message")(?=.{0,9999}?"ts":\s*+"\d{10}\.\d{6}")'
    rb'|\{"date": "\d{4}-\d\d-\d\dT[^"]*+", "sender": "(?:[^"\\]|\\.)*+", "body": "|\{"version":[^\n]*"backupTimeMs":)',
    re.S,
)
_NOTEBOOK = re.compile(rb'"cells"\s*:\s*\[|"nbformat"\s*:')
_TOLD_BY_CONTENT = frozenset(
    {"pdf", "docx", "pptx", "xlsx", "epub", "opendocument", "rtf", "html", "mail", "mbox", "notebook", "markdown"}
    | {"subtitles", "calendar", *_MARKUP.values(), "outlook", "chat", "chat json", "chat archive"}
    | {"enex", "notion", "notion page", "bundles", "zim wiki", "saved page"}
)


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
    return kind in _TOLD_BY_CONTENT or (is_prose and not data)


def document_kind(stream: BinaryIO, name: str) -> str:
    """The kind of the document, as in :data:`parsing.PARSERS`; the stream stands at its beginning afterwards.

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
        return kind_of_zip(stream, name)
    if head.startswith(b"{\\rtf"):
        return "rtf"
    if head.startswith(b"\xd0\xcf\x11\xe0"):
        if name.casefold().endswith((".msg", ".oft")) or "__substg1.0_".encode("utf-16-le") in head:
            return "outlook"
        raise UnreadableError(
            "it is an Office document of before 2007, or one that is encrypted: save it as DOCX, PPTX or XLSX"
        )
    suffix = PurePosixPath(name.casefold()).suffix
    if _LOGSEQ_BACKUP.fullmatch(PurePosixPath(name.casefold()).name):
        raise UnreadableError("it is a backup of Logseq")
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


def chat_kind(head: bytes, name: str) -> str:
    """The kind of a text that begins so, in UTF-8, if it is a chat; "" of others."""
    if _CHAT_JSON.match(head):
        return "chat json"
    is_prose = PurePosixPath(name.casefold()).suffix in {".md", *_PROSE} - {".log"}
    return "chat" if is_prose and is_chat(head, name) else ""


def _kind_of_text(head: bytes, suffix: str) -> str:
    """The kind of a text that begins so, in UTF-8."""
    marked = (
        ("notion page", _NOTION_PAGE.search(head)),
        ("html", is_page(head)),
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
        ("csv", suffix in _TABLES),
        ("json", (_JSON if suffix in _JSON_NAMES else _SURE_JSON).match(head)),
        ("html", is_fragment(head, suffix)),
        (_MARKUP.get(suffix, ""), suffix in _MARKUP),
        ("settings", suffix in _SETTINGS),
        ("log", suffix == ".log" or (suffix in _PROSE and _is_log(head))),
        ("text", suffix in _PROSE),
    )
    return next((kind for kind, found in marked if found), "code")


def _is_saved_page(head: bytes, suffix: str) -> bool:
    """Whether it is MHTML: a page with its pictures in the form of a mail."""
    header = _MAIL.match(head)
    if header is None:
        return False
    return bool(_SAVED.search(header[0]) or (suffix in _SAVED_NAMES and _SAVED_TYPE.search(header[0])))


def _is_log(head: bytes) -> bool:
    head = head[: 1 << 14]
    stamped = len(_STAMP.findall(head))
    return stamped > 1 and stamped >= _STAMPED * len(_LINE.findall(head))


def _refuse_picture(head: bytes, suffix: str) -> None:
    """Raises UnreadableError for a picture that is text, in UTF-8; a page or a note may begin with one."""
    for beginning, what in _PICTURES:
        if beginning.match(head) and not (beginning is _SVG and suffix in _NAMED_SO | MARKDOWN | _TEMPLATES - {".svg"}):
            raise UnreadableError(f"it is {what}")
