"""MediaWiki's XML: pages, or an error that names the file."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from atomr_local.errors import InputError
from atomr_local.indexing.readers.base import Article
from atomr_local.indexing.readers.detect import detect_text_format
from atomr_local.indexing.readers.lines import Skipped
from atomr_local.indexing.readers.wikipedia import mediawiki
from atomr_local.indexing.readers.wikipedia.infobox import titled
from atomr_local.indexing.readers.wikipedia.plain_text import PlainText
from atomr_local.indexing.readers.wikipedia.wikitext import plain_text
from fuzz.properties import as_file, expect

INSTRUMENTED = ("atomr_local.indexing.readers",)
DICTIONARY = (
    b"<mediawiki>", b"</mediawiki>", b"<siteinfo>", b"<base>http://x/wiki/A</base>", b"<namespaces>",
    b'<namespace key="6">File</namespace>', b"<page>", b"</page>", b"<title>", b"</title>", b"<ns>0</ns>",
    b"<id>1</id>", b'<redirect title="B" />', b"<revision>", b"</revision>", b"<text>", b"</text>",
    b"<model>wikitext</model>", b"#REDIRECT [[", b"]]", b"<!DOCTYPE a [<!ENTITY b 'c'>]>", b"&amp;", b"&b;", b"&#0;",
    b"<![CDATA[", b"]]>", b"<!--", b"<?xml version='1.0' encoding='utf-16'?>", b"\n", b"\r", b"{{disambiguation}}",
    b"Talk:", b"\x1f\x8b\x08", b"BZh9",
)  # fmt: skip


def seeds() -> Iterator[bytes]:
    head = b'<mediawiki><siteinfo><base>https://x.org/wiki/Main</base><namespaces><namespace key="6">File</namespace></namespaces></siteinfo>'
    page = b"<page>\n<title>Paris</title>\n<ns>0</ns>\n<id>7</id>\n%s<revision><id>9</id><model>wikitext</model><text>%s</text></revision>\n</page>\n"
    yield (
        head
        + page % (b"", b"'''Paris''' is a [[city]] in [[France|the country]].\n== History ==\nOld.")
        + b"</mediawiki>"
    )
    yield (
        head
        + page % (b'<redirect title="B" />', b"#REDIRECT [[B]]")
        + page % (b"", b"  #redirect: [[C#d|e]]")
        + b"</mediawiki>"
    )


class _InProcess:
    """Stands for the process that reads wikitext: the same function, called here, where its branches are seen."""

    def __init__(self, dropped_links: Any, work: Any) -> None:
        self._dropped_links = dropped_links

    def read(self, pages: Any, title: Any) -> Iterator[tuple[Any, PlainText | ValueError]]:
        for page, wikitext in pages:
            try:
                found = plain_text(wikitext, self._dropped_links()) if wikitext else PlainText("")
                yield page, titled(found, title(page))
            except ValueError as error:
                yield page, error

    def close(self) -> None:
        pass


def check(data: bytes) -> None:
    vars(mediawiki)["PageParser"] = _InProcess
    path = as_file(data, "pages.xml")
    try:
        detect_text_format(path)
        found = list(mediawiki.MediaWikiReader(path).records(Skipped()))
    except InputError as error:
        expect(str(path) in error.message, "the file is named", error.message)
        return
    for item in found:
        expect(bool(item.title), "each has a title")
        if isinstance(item, Article):
            expect(bool(item.id and item.text.strip()), "articles have an id and a text")
            expect([s.start for s in item.sections] == sorted(s.start for s in item.sections), "sections in order")
    rest = list(mediawiki.MediaWikiReader(path).records(Skipped(), after=1)) if found else []
    expect([item for item in found if item.record > 1] == rest, "resuming gives the rest")
