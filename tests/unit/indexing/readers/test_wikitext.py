"""The prose of wikitext: what markup and templates show in sentences, and what of sections is kept."""

from __future__ import annotations

import re

import mwparserfromhell.parser as wiki_parser
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.places import SHARED

from atomr_local.indexing.readers.base import Article, Section
from atomr_local.indexing.readers.lines import Skipped
from atomr_local.indexing.readers.wikipedia.mediawiki import MediaWikiReader
from atomr_local.indexing.readers.wikipedia.plain_text import dropped_link_names, is_disambiguation
from atomr_local.indexing.readers.wikipedia.wikitext import plain_text
from atomr_local.indexing.text_index.chunking import passages

LINKS = dropped_link_names({"6": "fails", "14": "kategoreja", "0": "", "10": "taiss"})


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
        (r"It is <math>\frac{a_{1}}{b}</math> here.", r"It is \frac{a_{1} }{b} here."),
        ("<math>\nE = mc^2\n</math>", "E = mc^2"),
        ("Water, <chem>H2O</chem>, is wet.", "Water, H2O, is wet."),
        ("Water, {{chem2|H2O}}, and {{chem|C|2|H|6}}.", "Water, H2O, and C2H6."),
        ("about {{convert|3|Moilbbl|m3}} of oil", "about 3 million barrels of oil"),
        ("{{convert|10|to|20|km2|sqmi}}", "10 to 20 km²"),
        ("the letter {{angbr|x}}, said {{IPA|/ks/}}", "the letter ⟨x⟩, said /ks/"),
        ("such as {{a}}, {{b}}, {{c}}, {{d}} and so on", "such as, and so on"),
        ("<math/> alone", "alone"),
        ("'''Ann''' ({{IPAc-en|æ|n}}; {{nihongo2}}, {{x}}) is", "Ann (/æn/) is"),
        ("'''Ann''' ({{x}}, {{y}}; {{z}}) is", "Ann is"),
        ("'''Ann''' (born {{birth date|1894|7|26}} {{x}}) is", "Ann (born 26 July 1894) is"),
        ("A [{{x}}] and ({{x}} or {{y}}), {{z}}. So", "A and (or). So"),
        ("about 1.25 × 10<sup>9</sup> km<sup>2</sup>, on the 19<sup>th</sup>", "about 1.25 × 10⁹ km², on the 19th"),
        ("''Eagle''{{'s}} and [[x|''Eagle'']]{{'s}} shadow", "Eagle’s and Eagle’s shadow"),
        ("such as {{chem|N|2|O}},{{x}},{{y}}.", "such as N2O."),
        ("{{Infobox|\n| name = broken\n\nProse.", "Prose."),
        ("a [[b c <td>d", "a b c d"),
        ("", ""),
    ],
)
def test_markup_becomes_prose(wikitext: str, text: str) -> None:
    assert plain_text(wikitext, LINKS).text == text


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


@pytest.mark.parametrize(
    "title", ["Einzelnachweise", "Notes et références", "Ссылки", "外部リンク", "קישורים חיצוניים"]
)
def test_link_sections_of_other_languages_are_left_out(title: str) -> None:
    assert plain_text(f"Prose.\n== {title} ==\nA book.\n").text == "Prose."


@pytest.mark.parametrize(
    ("template", "shown"),
    [
        # amounts in several units, of which the last argument is the one that is converted to
        ("convert|6|ft|4|in|m", "6 ft 4 in"),
        ("convert|11|st|6|lb", "11 stone 6 lb"),
        ("convert|5|lb|6|oz|kg|abbr=on", "5 lb 6 oz"),
        ("convert|30|cm|0", "30 cm"),
        ("convert|123|ft|m|-1", "123 ft"),
        ("convert|1|mi|km", "1 mi"),
        # ranges
        ("convert|8|-|12|km|mi", "8–12 km"),
        ("convert|70.0|by|71.3|mi|km", "70.0 by 71.3 mi"),
        ("convert|2|x|3|x|4|m", "2 × 3 × 4 m"),
        ("convert|10|to|20|km2|sqmi", "10 to 20 km²"),
        ("convert|3|+/-|1|kg", "3 ± 1 kg"),
        # numbers
        ("convert|1+1/2|in|mm", "1 1/2 in"),
        ("convert|1.5e6|m3", "1.5 × 10⁶ m³"),
        # names of units
        ("convert|1|Moilbbl", "1 million barrels"),
        ("convert|2|e6acre|ha", "2 million acres"),
        ("convert|5|PD/sqmi", "5 people per square mile"),
        ("convert|5|PD/km2", "5 people per km²"),
        ("convert|3|cuft/s|m3/s", "3 cubic feet per second"),
        ("convert|3|USgal|L", "3 US gallons"),
        ("convert|3|impgal|L", "3 imperial gallons"),
        ("convert|30|mpgus", "30 miles per US gallon"),
        ("convert|3|g/cm3", "3 g/cm³"),
        ("convert|3|lb/in2", "3 lb per square inch"),
        ("convert|3|kJ/mol", "3 kJ/mol"),
        ("convert|28|C|0", "28 °C"),
        ("convert|2|C-change", "2 °C"),
        ("convert|3|acre.ft", "3 acre-feet"),
        ("convert|400|ftlbf", "400 foot-pounds"),
        ("cvt|20|nmi", "20 nautical miles"),
        ("convert|km|disp=unit", "km"),
        ("convert|unknown", "unknown"),
        ("convert", ""),
        # values
        ("val|6.241|e=18|u=C", "6.241 × 10¹⁸ C"),
        ("val|1.00794|0.00007", "1.00794 ± 0.00007"),
        ("val|1.00794|(7)|ul=u", "1.00794(7) u"),
        ("val|1.2|0.1|0.2|e=-3|u=m|up=s2", "1.2 +0.1 −0.2 × 10⁻³ m/s²"),
        ("val|5|0.5|e=6", "(5 ± 0.5) × 10⁶"),
        ("val|30|u=%", "30%"),
        ("val|e=9|u=Hz", "10⁹ Hz"),
        # sounds
        ("IPAc-en|ˈ|eɪ|ʒ|ə|,_|ˈ|eɪ|ʃ|ə|audio=a.ogg", "/ˈeɪʒə, ˈeɪʃə/"),
        ("IPAc-en|uk|ˈ|b|ɑː|θ", "/ˈbɑːθ/"),
        ("IPA-de|ˈalbɛɐ̯t|lang|a.ogg", "[ˈalbɛɐ̯t]"),
        ("IPA|de|ˈalbɛɐ̯t|lang", "[ˈalbɛɐ̯t]"),
        ("IPA|/æ/", "/æ/"),
        ("respell|EP|i|KEWR|ee-əs", "EP-i-KEWR-ee-əs"),
        # words of other languages
        ("lang|grc|Μούσα", "Μούσα"),
        ("langx|ru|космонавт|kosmonavt|traveller", "космонавт, kosmonavt, 'traveller'"),
        ("langx|de|Haus|lit=house", "Haus, 'house'"),
        ("lang-pt|Alá", "Alá"),
        ("transl|ar|ALA|alif", "alif"),
        ("nihongo|'''Aikido'''|合気道|aikidō", "Aikido (合気道, aikidō)"),
        ("nihongo||合気道|aikidō", "合気道, aikidō"),
        ("native name|fa|ایران", "ایران"),
        # dates
        ("birth date|df=yes|1894|7|26", "26 July 1894"),
        ("Birth date and age|1947|04|01|df=y", "1 April 1947"),
        ("death date and age|1865|4|15|1809|2|12", "15 April 1865"),
        ("start date|1999", "1999"),
        ("OldStyleDate|February 2|1905|January 20", "February 2 1905"),
        ("as of|2009|lc=y", "as of 2009"),
        ("as of|2009|3", "As of March 2009"),
        ("circa|1900|1910", "c. 1900 – c. 1910"),
        ("reign|1900|1910", "r. 1900–1910"),
        ("fl.|1900|1910", "fl. 1900–1910"),
        # money
        ("INR|200", "₹200"),
        ("INRConvert|20|c", "₹20 crore"),
        ("US$|2 billion", "US$2 billion"),
        ("GBP|12,500|link=yes", "£12,500"),
        ("currency|40|EUR", "€40"),
        ("currency|40|XAF", "XAF 40"),
        # signs and marks
        ("frac|2", "1/2"),
        ("frac|1|3|4", "1 3/4"),
        ("sup|12", "¹²"),
        ("10^|9", "10⁹"),
        ("snd", "–"),
        ("'s", "’s"),
        ("resize|70%|small", "small"),
        ("keypress|Enter", "Enter"),
        ("ubl|one|two", "one\ntwo"),
        ("ship|HMS|Bounty|6", "HMS Bounty"),
        ("nuclide|uranium|235", "uranium-235"),
        ("gaps|9|461|e=15", "9461 × 10¹⁵"),
        ("e|9", "× 10⁹"),
        # others show nothing
        ("citation needed|date=March 2016", ""),
        ("flagicon|Kuwait", ""),
        ("Inflation|USD|1|2002", ""),
    ],
)
def test_what_templates_show_in_a_sentence(template: str, shown: str) -> None:
    assert plain_text(f"Is {{{{{template}}}}} so.").text == " ".join(f"Is {shown} so.".split(" ")).replace("  ", " ")


@pytest.mark.parametrize(
    ("title", "kept", "dropped"),
    [
        # works of the subject
        (
            "Bibliography",
            "''Animal Farm'' (1945)\n''Nineteen Eighty-Four'' (1949), a novel",
            "Smith, John (1999). ''Orwell''. Penguin.",
        ),
        # most are citations: so are the others
        ("Bibliography", "", "Smith, J. (1999). ''A''.\nDoe, K. (2000). ''B''.\nA History of Towns (1980)"),
        ("Bibliografía", "''La casa verde'' (1966)\n''Los jefes'' (1959)", ""),
        ("Библиография", "Мать (1906)\nНа дне (1902)", ""),
        (
            "Bibliography",
            "",
            "Jean Burgess, ''The Death of Achilles'' (Baltimore: University Press, 2009).\nAnn Lee, ''Heroes'', Rome, 1977;",
        ),
        # remarks
        (
            "Notes",
            "The date is given according to the Julian calendar.",
            "Smith 1999, p. 12.\nIbid.\n''The Times'', 3 May 1999.",
        ),
        (
            "Sources",
            "Most of what is known comes from two letters that he wrote to his sister.",
            "[http://x.example BBC profile]\n[[London]]: Penguin, 1999. ISBN 0-00-000000-0.",
        ),
        (
            "Anmerkungen",
            "Die Zahl der Einwohner wurde im Jahr danach nicht mehr erhoben.",
            "Müller, Hans: Geschichte. Leipzig 1899, S. 12.",
        ),
        (
            "Примечания",
            "Дата указана по старому стилю, который действовал до реформы.",
            "Иванов, И. И. История. М., 1999. С. 12.",
        ),
        ("脚注", "この日付は旧暦によるもので、現在の暦とは異なる。", "山田 (1999)"),
        # what stands only there to point elsewhere
        ("See also", "", "The town has a long history of trade with its neighbours."),
    ],
)
def test_sections_of_notes_and_works_keep_what_they_say(title: str, kept: str, dropped: str) -> None:
    listed = "\n".join(f"* {line}" for line in f"{kept}\n{dropped}".strip().split("\n"))
    found = plain_text(f"Lead.\n== {title} ==\n{listed}\n== Life ==\nMore.")
    assert found.text.split("\n\n") == ["Lead.", *([kept.replace("''", "")] if kept else []), "More."]
    assert [section.heading for section in found.sections] == ([title] if kept else []) + ["Life"]


def test_lists_of_works_below_a_bibliography_are_kept_and_tables_too() -> None:
    page = plain_text(
        "Lead.\n== Bibliography ==\n=== Novels ===\n* ''A Night'' (1933)\n{|\n! Title !! Year\n|-\n| B || 1950\n|}\n"
    )
    assert page.text == "Lead.\n\nA Night (1933)\n\nTitle: B; Year: 1950"
    assert page.sections[0].heading == "Bibliography > Novels"


# Real pages.

FIXTURES = SHARED / "fixtures"
_MARKUP = re.compile(r"\{\{|\}\}|\[\[|\]\]|\{\||\|\}|'''|\|-|(?:row|col)span=|\|\|")


@pytest.mark.slow
@pytest.mark.skipif(not FIXTURES.is_dir(), reason="../shared/data/fixtures is not here")
@pytest.mark.parametrize(
    ("file", "tables", "infoboxes"),
    [
        ("mediawiki/smallwiki-latest-pages-articles.xml", 100, 150),
        ("mediawiki/tinywiki-latest-pages-articles.xml", 0, 1),
        ("more/enwiki-shortened.xml.bz2", 200, 50),
        ("more/enwiki-table-markup.xml.bz2", 20, 1),
        ("more/bgwiki-shortened.xml.bz2", 0, 0),
    ],
)
def test_real_pages_give_passages_of_each_kind_without_markup(file: str, tables: int, infoboxes: int) -> None:
    found: dict[str, int] = {}
    marked = []
    for article in MediaWikiReader(FIXTURES / file).records(Skipped()):
        if not isinstance(article, Article):
            continue
        is_behind = False
        for passage in passages(article.text, 120, article.sections, title=article.title):
            found[passage.kind] = found.get(passage.kind, 0) + 1
            is_behind = is_behind or bool(passage.kind)
            assert bool(passage.kind) == is_behind, "prose stands first"
            if passage.kind != "code" and _MARKUP.search(passage.text):
                marked.append((article.title, passage.text))
    assert marked == []
    assert found.get("table", 0) >= tables
    assert found.get("infobox", 0) >= infoboxes
