"""Wikitext: prose with sections, or a reason; called as the child process calls it, and through that process."""

from __future__ import annotations

from collections.abc import Iterator
from io import BytesIO
from tempfile import TemporaryFile

from atomr_local.indexing.readers.wikipedia.page_parser import serve
from atomr_local.indexing.readers.wikipedia.wikitext import plain_text
from atomr_local.system.sandbox import Parent, message
from fuzz.properties import as_text, expect, repeated

INSTRUMENTED = ("atomr_local.indexing.readers",)
DICTIONARY = (
    b"[[", b"]]", b"{{", b"}}", b"{{{", b"}}}", b"{|", b"|}", b"|-", b"|", b"||", b"!!", b"=", b"==", b"'''", b"''",
    b"<ref>", b"</ref>", b"<ref name=a />", b"<nowiki>", b"</nowiki>", b"<!--", b"-->", b"<div>", b"</div>", b"<br>",
    b"<math>", b"</math>", b"<table>", b"&amp;", b"&#x41;", b"&#99999999;", b"&nosuch;", b"[http://x y]", b"http://x",
    b"File:a.jpg", b"Category:", b"de:", b":", b"*", b"#", b";", b"\n", b"{{convert|1|km|mi}}", b"{{lang|de|x}}",
    b"{{nowrap|", b"{{formatnum:1}}", b"__TOC__", b"----", b"~~~~", b"<pre>", b"<li", b"\xed\xa0\x80", b"\x00",
    b"\xe2\x80\xa8", b"{{circa|", b"{{frac|1|2}}",
)  # fmt: skip
_LONGEST = 4_000  # what takes longer to read has its own limits, which need a process of its own


def seeds() -> Iterator[bytes]:
    yield (
        b"{{Infobox|a=b}}\n'''Paris''' (born {{circa|1900}}) is a [[city]] in [[France|the country]]<ref>x</ref>.\n\n"
        b"== History ==\n[[File:a.jpg|thumb|A]] It is {{convert|10|km|mi}} wide &amp; old.\n=== Early ===\n* one\n* two\n\n"
        b'{| class="wikitable"\n|-\n! a !! b\n|-\n| c || d\n|}\n== References ==\n{{reflist}}\n[[Category:X]] [[de:Paris]]\n'
    )
    yield b"a {{lang|de|Haus}} [http://x site] <nowiki>[[no]]</nowiki> <!-- c --> {{nowrap|{{{1|d}}}}} : e\n; f\n"
    for unit in (b"[[a|", b"{{lang|", b"<div>", b"<ref>", b"{{{", b"== a ", b"'''", b"{|\n|", b"[http://x ", b"&amp"):
        yield repeated(unit, 4_000)


def check(data: bytes) -> None:
    text = as_text(data)[:_LONGEST]
    try:
        page = plain_text(text, {"category", "file"})
    except ValueError:
        page = None
    if page is not None:
        starts = [section.start for section in page.sections]
        expect(starts == sorted(starts), "sections in order", starts)
        expect(all(0 <= start <= len(page.text) for start in starts), "sections within the text", starts)
        expect(page.text == page.text.strip(), "no white space around", page.text[:80])
        expect(len(page.text) <= 40 * len(text) + 40, "prose does not grow", len(page.text))
    task = {"dropped_links": ["category", "file"], "seconds": 0, "seconds_per_mib": 0, "work": {}}
    with TemporaryFile() as answers:
        serve(task, Parent(BytesIO(message([text, ""])), answers.fileno()))
        answers.seek(0)
        told = Parent(answers, -1)
        ready, answer = told.next(), told.next()
    expect(ready == {}, "the worker is ready", ready)
    expect(isinstance(answer, dict), "the worker answers", answer)
    assert answer is not None
    expect((page is None) == ("error" in answer), "the worker says the same", answer)
    if page is not None:
        expect(answer["text"] == page.text, "the worker gives the same text")
