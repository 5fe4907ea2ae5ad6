from __future__ import annotations

import bz2
import gzip
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest
from make_wiki_dump import write_dump
from support.places import SHARED
from support.read_files import read_articles, written

from atomr_local.errors import InputError
from atomr_local.indexing.readers.base import Article, Redirect
from atomr_local.indexing.readers.detect import open_articles
from atomr_local.indexing.readers.lines import Skipped
from atomr_local.indexing.readers.wikipedia.mediawiki import MediaWikiReader

FIXTURES = SHARED / "fixtures" / "mediawiki"
HEAD = """<mediawiki xmlns="http://www.mediawiki.org/xml/export-0.11/" version="0.11" xml:lang="en"><siteinfo>
<base>https://en.wikipedia.org/wiki/Main_Page</base><namespaces><namespace key="0" /><namespace key="1">Talk</namespace>
<namespace key="6">Picture</namespace></namespaces></siteinfo>
"""
FOOT = "</mediawiki>\n"
Records = list[Article | Redirect]


def page(title: str, text: str, number: int = 1, ns: str = "<ns>0</ns>", extra: str = "") -> str:
    return (
        f"<page><title>{title}</title>{ns}<id>{number}</id>{extra}<revision><id>99</id><contributor><username>u"
        f"</username><id>5</id></contributor><comment>c</comment><text>{text}</text></revision></page>\n"
    )


def dump(folder: Path, *pages: str, name: str = "dump") -> Path:
    return written(folder, HEAD + "".join(pages) + FOOT, name)


def read(path: Path, after: int = 0) -> tuple[Records, Skipped]:
    skipped = Skipped()
    return list(open_articles(path).records(skipped, after=after)), skipped


def test_a_page_is_an_article_with_its_address_and_record(tmp_path: Path) -> None:
    found, _ = read(
        dump(
            tmp_path,
            page("Talk:A", "x", 1, "<ns>1</ns>"),
            page("Saint-Étienne (Loire)", "'''It''' is.\n== At [[x]] ==\nThere &amp;amp; here. [[Picture:P.jpg]]", 7),
        )
    )
    assert len(found) == 1
    article = found[0]
    assert isinstance(article, Article)
    assert (article.id, article.title, article.record) == ("7", "Saint-Étienne (Loire)", 2)
    assert article.text == "It is.\n\nThere & here."
    assert [(s.start, s.heading) for s in article.sections] == [(8, "At x")]
    assert article.metadata == {"url": "https://en.wikipedia.org/wiki/Saint-%C3%89tienne_(Loire)"}


def test_redirects_of_both_forms(tmp_path: Path) -> None:
    found, skipped = read(
        dump(
            tmp_path,
            page("B", "#REDIRECT [[A#part]]", 1, extra='<redirect title="A#part" />'),
            page("C", "#redirect: [[A_b|x]]", 2),
            page("A", "#REDIRECT [[A]]", 3, extra='<redirect title="A" />'),
        )
    )
    assert found == [Redirect("B", "A", 1), Redirect("C", "A b", 2)]
    assert skipped.count == 0, "a redirect to itself names nothing"


def test_what_is_no_article_is_left_out_uncounted(tmp_path: Path) -> None:
    found, skipped = read(
        dump(
            tmp_path,
            page("Template:T", "x", 1, "<ns>10</ns>"),
            page("Talk:A", "x", 2, ""),  # old dumps have no <ns>
            page("A (disambiguation)", "* [[B]]", 3),
            page("A", "* [[B]] {{Disambig}}", 4),
            page("A.css", "b { }", 5).replace("<text>", "<model>css</model><text>"),
        )
    )
    assert (found, skipped.count) == ([], 0)


def test_what_should_be_an_article_and_cannot_is_counted_with_its_page(tmp_path: Path) -> None:
    found, skipped = read(
        dump(
            tmp_path,
            page("Empty", " ", 1),
            page("Templates", "{{a}}", 2),
            page("Broken", "&lt;b>" * 40_000, 3),
            page("Long", "word " * 2_000_000, 4),
            page("", "text", 5),
            page("Good", "Text.", 6),
        )
    )
    assert [record.title for record in found] == ["Good"]
    assert [(record, reason) for _, record, reason in skipped.samples] == [
        (1, "Empty: an empty page"),
        (2, "Templates: no text beside templates and lists of links"),
        (3, "Broken: 40000 markup elements are opened and never closed"),
        (4, "Long: longer than any page of a wiki"),
        (5, "a page without title or id"),
    ]


@pytest.mark.slow
def test_a_page_made_to_keep_the_parser_busy_is_skipped_with_its_reason(tmp_path: Path) -> None:
    hostile = "&lt;b>" * 1_900 + "|}\n{|\n|{\n;" * 1_900
    spaces = "#REDIRECT" + " " * 200_000 + "x"
    path = dump(tmp_path, page("A", "Text.", 1), page("Hostile", hostile, 2), page("B", spaces, 3))
    found, skipped = read(path)
    assert [record.title for record in found] == ["A", "B"]
    assert skipped.samples == [(str(path), 2, "Hostile: its markup takes too long to read")]


def test_the_last_revision_of_a_history_counts(tmp_path: Path) -> None:
    history = page("A", "Old.").replace("</page>", "<revision><id>100</id><text>New.</text></revision></page>")
    (found,), _ = read(dump(tmp_path, history))
    assert isinstance(found, Article)
    assert (found.id, found.text) == ("1", "New.")


PROPS = b"""-- comment (9,'wikibase_item','Q9',NULL)
INSERT INTO `page_props` VALUES (7,'wikibase_item','Q90',NULL),(3,'displaytitle','(8,\\'wikibase_item\\',\\'Q1\\')',NULL);
INSERT INTO `page_props` VALUES (2,'notoc','',NULL),(2,'wikibase_item','Q64',NULL);
"""


@pytest.mark.parametrize(("ending", "pack"), [(".gz", gzip.compress), ("", bytes)])
def test_wikidata_ids_come_from_the_table_beside_the_dump(
    tmp_path: Path, ending: str, pack: Callable[[bytes], bytes]
) -> None:
    path = dump(
        tmp_path, *(page(f"A{i}", "Text.", i) for i in (2, 7, 8, 9)), name="simplewiki-20240101-pages-articles.xml"
    )
    (tmp_path / "dewiki-20240101-page_props.sql").write_bytes(PROPS)
    assert [getattr(record, "qid", "") for record in read(path)[0]] == [None] * 4, "another wiki's table"
    table = tmp_path / f"simplewiki-20240101-page_props.sql{ending}"
    table.write_bytes(pack(PROPS))
    assert [getattr(record, "qid", "") for record in read(path)[0]] == ["Q64", "Q90", None, None]
    if ending:
        table.write_bytes(pack(PROPS)[:-20])
        with pytest.raises(InputError, match=r"page_props\.sql\.gz"):
            read(path)


def _streams(data: bytes) -> bytes:
    third = len(data) // 3
    return b"".join(bz2.compress(data[i : i + third]) for i in range(0, len(data), third))


@pytest.mark.parametrize("pack", [bytes, gzip.compress, bz2.compress, _streams])
def test_packed_dumps_read_like_plain_ones(tmp_path: Path, pack: Callable[[bytes], bytes]) -> None:
    plain = tmp_path / "plain.xml"
    write_dump(plain, 60)
    reader = open_articles(written(tmp_path, pack(plain.read_bytes()), "named.wrongly"))
    assert isinstance(reader, MediaWikiReader)
    records = list(reader.records(Skipped()))
    assert records == read(plain)[0]
    assert sum(isinstance(record, Article) for record in records) == 60
    assert sum(isinstance(record, Redirect) for record in records) == 6


@pytest.mark.slow
def test_reading_goes_on_after_any_record(tmp_path: Path) -> None:
    path = dump(
        tmp_path,
        *(
            page(f"A{i}", "Text." if i % 3 else " ", i, extra='<redirect title="A1" />' if i % 5 == 0 else "")
            for i in range(1, 11)
        ),
    )
    whole, _ = read(path)
    for after in range(12):
        rest, skipped = read(path, after)
        assert rest == [record for record in whole if record.record > after]
        assert all(record > after for _, record, _ in skipped.samples)


def test_position_moves_through_the_file(tmp_path: Path) -> None:
    path = tmp_path / "d.xml.bz2"
    write_dump(path, 120, multistream=True)
    reader = open_articles(path)
    positions = [reader.position for _ in reader.records(Skipped())]
    assert positions == sorted(positions)
    assert 0 < positions[0] <= positions[-1] <= path.stat().st_size


@pytest.mark.slow
def test_memory_does_not_grow_with_the_dump(tmp_path: Path) -> None:
    peaks = []
    for articles in (300, 600):
        path = tmp_path / f"{articles}.xml.gz"
        write_dump(path, articles)
        tracemalloc.start()
        for number, _ in enumerate(open_articles(path).records(Skipped())):
            if number == 150:  # what is loaded once does not count, nor do the first pages that are read ahead
                tracemalloc.reset_peak()
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < peaks[0] * 1.4


LAUGHS = (
    '<?xml version="1.0"?>\n<!DOCTYPE mediawiki [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">'
    '<!ENTITY c "&b;&b;&b;&b;&b;&b;&b;&b;">]>\n<mediawiki><page><title>&c;</title></page></mediawiki>'
)
OUTSIDE = (
    '<!DOCTYPE mediawiki [<!ENTITY x SYSTEM "file:///etc/passwd">]><mediawiki><page><title>T</title><ns>0</ns><id>1</id>'
    "<revision><text>&x;</text></revision></page></mediawiki>"
)


@pytest.mark.parametrize("content", [LAUGHS, OUTSIDE], ids=["growing entities", "an entity from a file"])
def test_document_types_are_refused(tmp_path: Path, content: str) -> None:
    with pytest.raises(InputError, match=r"file, line \d+: a document type declaration"):
        read_articles(written(tmp_path, content), format="mediawiki")


WHOLE = HEAD + page("A", "Text.", 1) * 3 + FOOT


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (WHOLE[:-40].encode(), "line 7, after page 2: the XML is damaged or cut short"),
        (WHOLE.replace("</id>", "</wrong>", 1).encode(), "line 4, after page 0: .*mismatched tag"),
        (gzip.compress(WHOLE.encode())[:-60], "cut short"),
        (bz2.compress(WHOLE.encode())[:-20], "cut short"),
        (WHOLE.encode().replace(b"Text.", b"caf\xe9 ", 1), "line 4.*not well-formed"),
        ((HEAD + FOOT).encode(), "without a page"),
        (b"<html><body>no</body></html>", "not a MediaWiki dump: its root is <html>"),
        (b"\n", "no element found"),
        ((HEAD + "<!--" + "x\n" * 3_000_000 + "-->" + FOOT).encode(), "a tag or comment longer than 1 MiB"),
    ],
    ids=["cut", "mismatched", "cut gzip", "cut bzip2", "not UTF-8", "no page", "html", "blank", "huge comment"],
)
def test_damaged_dumps_are_told_with_file_and_place(tmp_path: Path, content: bytes, message: str) -> None:
    path = written(tmp_path, content)
    with pytest.raises(InputError, match=message) as caught:
        read_articles(path, format="mediawiki")
    assert str(path) in caught.value.message


def test_a_stream_lost_in_the_middle_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "d.xml.bz2"
    write_dump(path, 120, multistream=True)
    data = path.read_bytes()
    path.write_bytes(data[: len(data) // 2] + b"\0" * 200 + data[len(data) // 2 + 200 :])
    with pytest.raises(InputError, match=r"d\.xml\.bz2"):
        read(path)


@pytest.mark.skipif(not FIXTURES.is_dir(), reason="../shared/data/fixtures/mediawiki is not here")
class TestARealDump:
    def test_articles_and_redirects(self) -> None:
        found, skipped = read(FIXTURES / "smallwiki-latest-pages-articles.xml")
        articles = [record for record in found if isinstance(record, Article)]
        redirects = [record for record in found if isinstance(record, Redirect)]
        # 1,050 pages are in the namespace of articles, 147 of them redirects; the rest are disambiguation pages.
        assert 880 <= len(articles) <= 896
        assert len(redirects) == 147
        assert skipped.count == 1
        titles = {article.title for article in articles}
        assert sum(redirect.target in titles for redirect in redirects) > 130
        marked = [a.title for a in articles if any(sign in a.text for sign in ("{{", "[[", "<ref", "|-", "'''"))]
        assert marked == []

    def test_an_article_reads_as_prose(self) -> None:
        found, _ = read(FIXTURES / "tinywiki-latest-pages-articles.xml")
        bodmin = next(record for record in found if record.title == "Bodmin")
        assert isinstance(bodmin, Article)
        assert bodmin.text.startswith("Bodmin (Bosvena) is a civil parish and historic town in Cornwall, England")
        assert "Education > Bodmin College" in [section.heading for section in bodmin.sections]
        assert "Disambiguation page" not in [record.title for record in found]
