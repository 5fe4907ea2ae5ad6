from __future__ import annotations

import mwparserfromhell.parser as wiki_parser
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from atomr_local.indexing.readers.base import Section
from atomr_local.indexing.readers.wikipedia.plain_text import dropped_link_names, is_disambiguation
from atomr_local.indexing.readers.wikipedia.wikitext import plain_text

LINKS = dropped_link_names({"6": "fails", "14": "kategoreja", "0": "", "10": "taiss"})


def text_of(wikitext: str) -> str:
    return plain_text(wikitext, LINKS).text


@pytest.mark.parametrize(
    ("wikitext", "text"),
    [
        ("'''Paris''' is ''the'' capital of [[France]].", "Paris is the capital of France."),
        ("a [[Paris|city]] of [[dog]]s", "a city of dogs"),
        ("{{Infobox city|name=Paris|mayor=[[A|B]]}}Paris.", "Paris.\n\nname: Paris\nmayor: B"),
        ("Paris<ref name=a>{{cite|x}} says [[y]]</ref> is<ref name=a /> big.", "Paris is big."),
        ("before\n{| class=x\n! a !! b\n|-\n| 1 || {{x|\n}} 2\n|}\nafter", "before\n\nafter\n\na: 1; b: 2"),
        ("<table><tr><td>1</td></tr></table>after", "after\n\n1"),
        (
            "[[File:A.jpg|thumb|x [[y]] z]][[Fails:B.png]][[Image:C.png|a]]Text[[Category:Z]]\n[[kategoreja:Q|q]]",
            "Text",
        ),
        ("see [[:Category:Cats]] there", "see Category:Cats there"),
        ("words\n[[fr:Paris]]\n[[zh-min-nan:Paris]]", "words"),
        ("[http://a.example a page] and [http://b.example] and http://c.example .", "a page and and."),
        ("a<!-- {{ [[ --> b &amp; c&nbsp;d &#x41;&#66;", "a b & c d AB"),
        ("<nowiki>[http://x ''y'']</nowiki>", "[http://x y]"),
        ("* one\n* two\n# three\n: four\n; five: six", "one\ntwo\nthree\nfour\nfive: six"),
        ("<div style='x'>in <b>it</b></div><gallery>\nA.jpg|a\n</gallery>", "in it"),
        ("E is <math>mc^2</math>. __NOTOC__", "E is mc^2."),
        ("'''Paris''' ({{audio|x}}; {{lang-fr|Paris}}) is", "Paris (Paris) is"),
        ("'''Paris''' ({{audio|x}}) is , well, ({{audio|x}}, born 1912)", "Paris is, well, (born 1912)"),
        ("{{convert|10|to|20|km|mi|abbr=on}} of {{lang|fr|vin|italic=no}}", "10 to 20 km of vin"),
        (
            "{{nowrap|1=a = b}}, {{circa|1900}}, {{USS|Enterprise|CV-6|6}}, {{frac|1|2}}",
            "a = b, c. 1900, USS Enterprise, 1/2",
        ),
        ("{{lang|fr}}{{formatnum:1234}} {{formatnum: 5 }}", "1234 5"),
        ("{{{1|default}}}x", "x"),
        ("{{Infobox|\n| name = broken\n\nProse.", "Prose."),
        ("a [[b c <td>d", "a b c d"),
        ("", ""),
    ],
)
def test_markup_becomes_prose(wikitext: str, text: str) -> None:
    assert text_of(wikitext) == text


def test_sections_know_their_path_and_place() -> None:
    found = plain_text(
        "Lead.\n== History ==\nOld.\n=== Early ''years'' ===\nOlder.\n== Empty ==\n{{x}}\n=== Under ===\nText.\n", LINKS
    )
    assert found.text == "Lead.\n\nOld.\n\nOlder.\n\nText."
    assert [(s.heading, found.text[s.start :].split()[0]) for s in found.sections] == [
        ("History", "Old."),
        ("History > Early years", "Older."),
        ("Empty > Under", "Text."),
    ]


def test_sections_of_links_and_references_are_left_out() -> None:
    found = plain_text("Lead.\n==References==\nA. B.\n===Books===\nC.\n==Life==\nD.\n== See also ==\n* [[E]]", LINKS)
    assert found.text == "Lead.\n\nD."
    assert found.sections == (Section(7, "Life"),)


def test_a_page_without_a_lead() -> None:
    assert plain_text("== A ==\nb", LINKS).sections == (Section(0, "A"),)


def test_the_tokeniser_in_python_gives_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    wikitext = "'''A''' {{b|c}} [[d|e]]<ref>f</ref>\n== G ==\n{|\n|h\n|}\n* i &amp; j [http://k l]"
    with_c = plain_text(wikitext, LINKS)
    monkeypatch.setattr(wiki_parser, "CTokenizer", None)
    assert plain_text(wikitext, LINKS) == with_c


PIECES = "[[ ]] {{ }} {|~ |}~ ~|-~ | = ~==a==~ <ref> </ref> <b> </b> <br > <!-- --> & amp; ~* '' [http://a ] File: convert word é"
MARKUP = st.lists(st.sampled_from([*PIECES.replace("~", "\n").split(" "), " ", "😀\x00"]), max_size=40)


@settings(deadline=None)
@given(MARKUP)
def test_any_markup_gives_clean_text_with_ordered_sections(pieces: list[str]) -> None:
    found = plain_text("".join(pieces), LINKS)
    assert found.text == found.text.strip()
    starts = [section.start for section in found.sections]
    assert starts == sorted(set(starts))
    assert all(not found.text[start].isspace() for start in starts)
    assert not {"{{", "[[", "\x00"} & {found.text[i : i + 2] for i in range(len(found.text))}


OPENINGS = (
    "<b>",
    "<br ",
    '<div a="',
    "{{a|",
    "[[a|",
    "{|\n",
    "[http://a ",
    "<!--",
    "[[ {{ ]] }} ",
    "<nowiki>",
    "<br/>]<b>}",
)


@pytest.mark.parametrize("opening", [*OPENINGS, "closings first"])
def test_markup_that_would_take_minutes_is_refused(opening: str) -> None:
    wikitext = opening * 20_000 if opening in OPENINGS else "</b>" * 20_000 + "<b>" * 20_000
    with pytest.raises(ValueError, match="never closed"):
        plain_text(wikitext, LINKS)


@pytest.mark.parametrize(
    "wikitext",
    [
        "[[a|b]] {{c}} <b>d</b><br>\n" * 5_000,
        "a < b and {{c}} " * 5_000,
        "{|\n|-\n| a\n|}\n" * 5_000,
        "]]''" * 50_000,
        ":\n*" * 20_000,
    ],
    ids=["links", "smaller than", "tables", "closings", "empty lines"],
)
def test_long_pages_in_order_are_read(wikitext: str) -> None:
    plain_text(wikitext, LINKS)


@pytest.mark.parametrize(
    ("title", "wikitext", "is_one"),
    [
        ("Paris (disambiguation)", "", True),
        ("Paris", "* a\n{{Disambiguation|geo}}", True),
        ("Paris", "{{ place name disambiguation }}", True),
        ("Paris", "{{disambiguation needed}} is a city", False),
        ("Paris", "a disambiguation page", False),
        ("Paris", "__DISAMBIG__", True),
    ],
)
def test_disambiguation_pages(title: str, wikitext: str, is_one: bool) -> None:
    assert is_disambiguation(title, wikitext) is is_one
