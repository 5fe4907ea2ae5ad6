from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import pytest
from support.places import SHARED
from support.read_files import read_articles, written

from atomr_local.errors import InputError, MissingPartError
from atomr_local.indexing.readers.base import Article, Redirect
from atomr_local.indexing.readers.detect import open_articles
from atomr_local.indexing.readers.lines import Skipped
from atomr_local.indexing.readers.wikipedia import zim
from atomr_local.indexing.readers.wikipedia.table_rows import MOST_ROWS
from atomr_local.indexing.readers.wikipedia.zim import read_html

FIXTURES = SHARED / "fixtures" / "zim"
HTML = """<html><head><title>no</title><link rel="canonical" href="https://w/Paris">
<script>var a = {"wgWikibaseItemId":"Q90"};</script></head><body><h1>Paris</h1>
<div class="hatnote">For others, see</div><table class="infobox"><tr><td>x</td></tr></table>
<p><b>Paris</b> is the<sup class="reference">[1]</sup>
 capital&nbsp;of <a href="x">France</a>.<p>Second.<br>Line.
<h2>History<span class="mw-editsection">[edit]</span></h2><ul><li>one</li><li>two</li></ul>
<h3>Old <i>times</i></h3><p>Long ago.</p><figure>pic</figure>
<h2>References</h2><ol class="references"><li>book</li></ol><p>more</p>
<!--htdig_noindex--><div>Made by someone.</div><!--/htdig_noindex--></body></html>"""


def test_html_becomes_prose_with_sections() -> None:
    page = read_html(HTML)
    text = page.prose.text
    assert text == "Paris is the capital of France.\n\nSecond.\nLine.\n\none\n\ntwo\n\nLong ago."
    assert [(s.heading, text[s.start :].split("\n")[0]) for s in page.prose.sections] == [
        ("History", "one"),
        ("History > Old times", "Long ago."),
    ]
    assert (page.url, page.qid, page.disambiguation) == ("https://w/Paris", "Q90", False)


TABLES = """<p>Paris is a city.</p><table class="infobox vcard"><caption>Paris</caption><tr><th colspan=2>Paris</th></tr>
<tr><th>Country</th><td><a>France</a></td></tr><tr><th>Area</th><td>105 km²<br>(41 sq mi)<sup class="reference">[2]</sup></td></tr>
</table><h2>Mayors</h2><p>They.</p><table class="wikitable"><caption>List</caption><tr><th>Name</th><th>Year</th></tr>
<tr><td>Ann<td><span style="display:none">00</span>1990</tr><tr><td rowspan=2>Bob</td><td>1991
<table><tr><td>in</td><td>side</td></tr></table></td></tr><tr><td>1992</td></tr></table>after
<table class="navbox"><tr><td>no</td></tr></table><table class=wikitable><tr><td>open</td><td>end"""


def test_tables_and_infoboxes_stand_behind_the_prose() -> None:
    prose = read_html(TABLES).prose
    assert prose.text.split("\n\n") == [
        "Paris is a city.",
        "They.",
        "after",
        "country: France\narea: 105 km² (41 sq mi)",
        "Name: Ann; Year: 1990\nName: Bob; Year: 1991\nName: Bob; Year: 1992",
        "in; side",
        "open; end",
    ]
    assert [(section.heading, section.kind) for section in prose.sections] == [
        ("Mayors", ""),
        ("", "infobox"),
        ("Mayors > List", "table"),
        ("Mayors", "table"),
        ("Mayors", "table"),
    ]
    assert prose.lost == {}


def test_rows_beyond_the_limit_are_counted() -> None:
    rows = "".join(f"<tr><td>{number}</td><td>x</td></tr>" for number in range(MOST_ROWS + 5))
    prose = read_html(f"<p>Many.</p><table class=wikitable>{rows}</table>").prose
    assert f"{MOST_ROWS - 1}; x" in prose.text and f"{MOST_ROWS}; x" not in prose.text
    assert prose.lost == {"table rows": 5}


@pytest.mark.parametrize(
    "source",
    ["", "<table><tr><td>" * 200, "</td></tr></table>" * 1_000, "<table><caption>a<td>b<caption>c", "<", "<html>",
     "<p" * 10_000, "<div>" * 100_000, "</p>" * 10_000, "\x00\x01<b>a", "<!--" * 1000, "&#xD800; &#0;"],
    ids=lambda source: f"{source[:30]!r}, {len(source)}",
)  # fmt: skip
def test_broken_html_breaks_nothing(source: str) -> None:
    read_html(source).prose.text.encode()


@pytest.mark.parametrize(
    ("cell", "row"),
    [
        ("<td style='display:none'><pre>a  b</pre></td><td>1</td>", "A: 1"),
        ("<td><pre style='display: none'>a  b</pre>1</td>", "A: 1"),
        ("<td><span style='DISPLAY:none'>0001</span>1</td>", "A: 1"),
    ],
)
def test_hidden_words_are_none_and_end_with_their_element(cell: str, row: str) -> None:
    table = f"<table class=wikitable><tr><th>A</th></tr><tr>{cell}</tr><tr><td>2</td></tr></table>"
    page = read_html(f"<p>In <span style='display:none'>999</span>May.</p>{table}<p>Two   words.</p>")
    assert page.prose.text.split("\n")[:4] == ["In May.", "", "Two words.", ""]
    assert "999" not in page.prose.text
    assert "b" not in page.prose.text.replace("display", "")


def test_a_section_that_unfolds_is_read() -> None:
    assert read_html("<p>One.</p><div style='display:none'><p>Two.</p></div>").prose.text == "One.\n\nTwo."


def test_a_page_of_meanings_is_known() -> None:
    assert read_html('<p>may refer to</p><div id="disambigbox">x</div>').disambiguation


def test_libzim_missing_is_told_with_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = written(tmp_path, b"ZIM\x04" + b"\0" * 100)
    monkeypatch.setitem(sys.modules, "libzim.reader", None)
    with pytest.raises(MissingPartError, match="libzim") as caught:
        list(open_articles(file).records(Skipped()))
    assert "[zim]" in caught.value.hint


@pytest.mark.skipif(not FIXTURES.is_dir(), reason="../shared/data/fixtures/zim is not here")
class TestRealFiles:
    @pytest.fixture(autouse=True)
    def library(self) -> None:
        pytest.importorskip("libzim")

    @pytest.mark.parametrize("name", ["small_nons.zim", "small_withns.zim"])
    def test_both_namespace_schemes(self, name: str) -> None:
        reader = open_articles(FIXTURES / name)
        (article,) = reader.records(Skipped())
        assert isinstance(article, Article)
        assert (article.id, article.title, article.text) == ("main.html", "Test ZIM file", "Test ZIM file")
        assert reader.position == (FIXTURES / name).stat().st_size

    def test_a_wiki(self) -> None:
        path = FIXTURES / "wikibooks_be_all_nopic_2017-02.zim"
        skipped = Skipped()
        found = list(open_articles(path).records(skipped))
        articles = {record.title: record for record in found if isinstance(record, Article)}
        redirects = [record for record in found if isinstance(record, Redirect)]
        assert (len(articles), len(redirects), skipped.count) == (66, 3, 0)
        assert all(redirect.target in articles for redirect in redirects)
        cuisine = articles["Італьянская кухня"]
        assert cuisine.text == "Італьянская кухня — нацыянальная кухня Італіі.", "without the licence at the foot"
        assert "ESERCIZI Практываванні > Traduzione Пераклад" in [
            section.heading for section in articles["Італьянская мова/Урок 1"].sections
        ]
        for after in (0, 1, found[30].record, 10_000):
            rest = list(open_articles(path).records(Skipped(), after=after))
            assert rest == [record for record in found if record.record > after]

    def test_damaged_files_are_told(self, tmp_path: Path) -> None:
        data = (FIXTURES / "wikibooks_be_all_nopic_2017-02.zim").read_bytes()
        for damaged in (data[:100_000], data[:50], b"ZIM\x04" + b"\xff" * 2000):
            with pytest.raises(InputError, match=r"cut\.zim"):
                read_articles(written(tmp_path, damaged, "cut.zim"))

    def test_a_file_that_goes_away(self, tmp_path: Path) -> None:
        path = tmp_path / "gone.zim"
        shutil.copy(FIXTURES / "small_nons.zim", path)
        reader = open_articles(path)
        path.unlink()
        with pytest.raises(InputError, match=r"gone\.zim: cannot be read"):
            list(reader.records(Skipped()))

    def test_what_the_library_says_of_stemming_is_not_the_users_business(
        self, capfd: pytest.CaptureFixture[str]
    ) -> None:
        next(iter(open_articles(FIXTURES / "small_withns.zim").records(Skipped())))
        assert capfd.readouterr().err == ""


def test_only_the_note_of_the_library_is_kept_back(capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(RuntimeError), zim.standard_error_without(zim._NOTE):
        os.write(2, b"a picture\nNo stemming for language '=en'\nof another thread")
        raise RuntimeError
    os.write(2, b"\n")
    assert capfd.readouterr().err == "a picture\nof another thread\n"
