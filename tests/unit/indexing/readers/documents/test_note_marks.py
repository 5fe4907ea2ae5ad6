"""Notes: front matter, titles, numbers of lists, and the marks of programs for notes."""

from __future__ import annotations

from functools import partial
from pathlib import PurePosixPath
from typing import Any

import pytest
from support.read_documents import read_document

from atomr_local.indexing.readers.documents.document import Document, UnreadableError
from atomr_local.indexing.text_index.documents import article_of

pytest.importorskip("yaml")


read = partial(read_document, name="a.md")


def yaml(fields: str) -> Document:
    return read(f"---\n{fields}\n---\nText.")


@pytest.mark.parametrize(
    ("document", "title", "details", "fields"),
    [
        (yaml("title: Walks: a guide\nspouse: Bob Ray"), "Walks: a guide", {}, {"spouse": ["Bob Ray"]}),
        (yaml("title: 'It''s: so'\nplace: @home\nborn: 1901"), "It's: so", {}, {"place": ["@home"], "born": ["1901"]}),
        (yaml('place: "[[Leeds|the city]]"\nwife: [[Ann Lee]]'), "", {}, {"place": ["Leeds"], "wife": ["Ann Lee"]}),
        (yaml("related:\n  - [[A walk#Huts]]\n  - [[B]]\n"), "", {}, {"related": ["A walk", "B"]}),
        (yaml("parents: [[Ann Lee]], [[Bo Lee]]\nplace: [[Leeds]] station"), "", {}, {"parents": ["Ann Lee", "Bo Lee"], "place": ["Leeds station"]}),
        (yaml("title: Walks\ntabs:\n\t- x: [\nborn: 1901"), "Walks", {}, {"born": ["1901"]}),
        (yaml("# a comment\ntags: [a, b]\ndate: 2026-03-01"), "", {"tags": "a, b", "date": "2026-03-01"}, {"date": ["2026-03-01"]}),
        (
            read('+++\ntitle = "Mill"\ndate = 2026-03-01\nheight = 12\n[taxonomies]\ntags = ["mill"]\n+++\nText.'),
            "Mill",
            {"tags": "mill", "date": "2026-03-01"},
            {"date": ["2026-03-01"], "height": ["12"]},
        ),
        (read('{\n "title": "Ferry: a diary",\n "place": "Bern"\n}\n\nText.'), "Ferry: a diary", {}, {"place": ["Bern"]}),
        (read("---\n---\nText."), "", {}, {}),
        (
            yaml("time: 18:30\nzip: 01234\nprice: 1.50\nup: [[[A]], [[B|bee]]]\ndescription: >-\n  a\n  [[B]] c"),
            "",
            {"description": "a B c"},
            {"time": ["18:30"], "zip": ["01234"], "price": ["1.50"], "up": ["A", "B"]},
        ),
    ],
)  # fmt: skip
def test_fields_of_front_matter(
    document: Document, title: str, details: dict[str, Any], fields: dict[str, Any]
) -> None:
    assert (document.title, document.details, document.fields) == (title, details, fields)
    assert document.text == "Text."


def test_what_is_no_front_matter_stays() -> None:
    assert read("---\nA paragraph between lines.\n\n---\nText.").text == "A paragraph between lines.\n\nText."
    assert read('{"a": 1} is an object.').text == '{"a": 1} is an object.'
    broken = read("+++\ntitle = \n+++\nText.")
    assert (broken.text, broken.notes) == ("Text.", ["its front matter is no TOML"])
    assert yaml("title: Walks\nlist: [").notes == ["a field of its front matter is no YAML"]


@pytest.mark.parametrize(
    ("source", "told"),
    [
        ("See [[Oven manual#Cleaning|how to clean]] and ![[drawing.svg#icon]].", "See how to clean and drawing.svg."),
        ("![[map.png|300x200]] [[Walks#Huts]] [[Walks#^ab1]] [[#Huts]]", "map.png Walks > Huts Walks Huts"),
        ("==Important==: a == b, c==d==e and ==**bold**==.", "Important: a == b, c==d==e and bold."),
        ("~~Call Joe~~ call Ida.\n\n## ~~Old~~ plan\n\n![The tap|300](tap.png)", "~~Call Joe~~ call Ida.\n\nThe tap"),
        ("The tap is here. ^tap", "The tap is here."),
        ("A list.\n\n^list-1", "A list."),
        ("The area is 10 ^2", "The area is 10 ^2"),
        ("Seen %%secret%% here.\n\n%%\nsecret\n\nmore\n%%\n\nEnd.", "Seen  here.\n\nEnd."),
        ("Seen.\n\n%%\nsecret to the end", "Seen."),
        ("Seen <!-- secret > more\n\nstill secret --> here.", "Seen\n\nhere."),
        ("`%% [[a]] ==b==` and\n\n```\n%% [[a]]\n==b== ^tap\n```", "%% [[a]] ==b== and\n%% [[a]]\n==b== ^tap"),
        ("> [!warning]- Gas [[tap]]\n> Close it.\n\n> [!NOTE]\n> Wait.", "Gas tap\nClose it.\n\nNote\nWait."),
        ("| a | b |\n|---|---|\n| [[Plan\\|the plan]] | yes |", "a: the plan; b: yes"),
        ("Seen[^1] it.\n\n[^1]: Leeds", "Seen[^1] it.\n\n[^1]: Leeds"),
        (
            "- [x] order tea\n- [ ] pay rent\n\nCost $5 and $7. #todo",
            "[x] order tea\n[ ] pay rent\n\nCost $5 and $7. #todo",
        ),
        ("Before.\n\n---\n***\n\nAfter.", "Before.\n\nAfter."),
        ("1. one\n2. two\n   - sub\n3. three\n\n1) x\n1) y", "1. one\n2. two\nsub\n3. three\n1. x\n2. y"),
        ("7. seven\n8. eight\n   1. a\n   2. b\n9. nine", "7. seven\n8. eight\n1. a\n2. b\n9. nine"),
    ],
)
def test_marks_of_notes_go_and_words_stay(source: str, told: str) -> None:
    assert read(source).text == told


def test_comments_keep_the_numbers_of_lines() -> None:
    document = read("---\na: b\n---\nOne.\n\n%%\nsecret\n%%\n\nTwo [[a\nb]].\n")
    assert [place for _, place in document.places] == [4, 10, 11]
    assert "secret" not in document.text


def test_fields_of_dataview() -> None:
    document = read(
        "# Ann Lee\n\nborn:: 3 May 1901\n**birthplace**:: [[Leeds]]\nShe built [spouse:: [[Bob Ray]]] std::vector.\nplace:: Leeds %%secret%%\n"
    )
    assert document.text.split("\n") == [
        "born: 3 May 1901",
        "birthplace: Leeds",
        "She built spouse: Bob Ray std::vector. place: Leeds",
    ]
    assert document.fields == {
        "born": ["3 May 1901"],
        "birthplace": ["Leeds"],
        "spouse": ["Bob Ray"],
        "place": ["Leeds"],
    }


@pytest.mark.parametrize(
    ("name", "source", "title"),
    [
        ("Accepted formats.md", "The body.\n\n## Embed files\n\nText.", "Accepted formats"),
        ("Accepted formats.md", "## Embed files\n\nText.", "Accepted formats"),
        ("Accepted formats.md", "The body.\n\n# Embed files\n\nText.", "Accepted formats"),
        ("Accepted formats.md", "---\ntitle: Formats\n---\n# Embed files\n\nText.", "Formats"),
        ("Accepted formats.md", "# Embed files\n\nText.", "Accepted formats"),
        ("Accepted formats.md", "%% note %%\n\n# Formats that are accepted\n\nText.", "Formats that are accepted"),
        ("accepted-formats.md", "Embed files\n===========\n\nText.", "Embed files"),
        ("README.md", "# Embed files\n\nText.", "Embed files"),
        ("2024-05-03.md", "# Thoughts\n\nText.", "2024-05-03"),
        ("2024-05-03.md", "# Friday, 3 May 2024\n\nText.", "Friday, 3 May 2024"),
        ("2024_05_03.md", "- Text.", "May 3rd, 2024"),
        ("2024_05_11.md", "- Text.", "May 11th, 2024"),
        ("2024_13_03.md", "- Text.", "2024_13_03"),
        ("Home___Is it hot%3F.md", "# Is it hot?\n\nText.", "Home/Is it hot?"),
        ("Boiler.md", "title:: The boiler\n\n- Text.", "The boiler"),
        ("Boiler.md", "- # Parts of the boiler\n\t- Text.", "Boiler"),
        ("a%00b.md", "Text.", "a%00b"),
        ("Tap.textbundle/text.md", "Text.", "Tap"),
        ("Tap.textbundle/text.md", "# The tap\n\nText.", "The tap"),
        ("notes.rst", "Text.\n\nWheel\n-----\n\nText.", "notes.rst"),
        ("page.html", "<!doctype html><h2>Embed files</h2><p>Text.", "Embed files"),
        ("talk.srt", "1\n00:00:01,000 --> 00:00:02,000\nGo.\n", "talk"),
    ],
)
def test_titles_of_notes(name: str, source: str, title: str) -> None:
    path = f"folder/{name}"
    assert article_of(path, path, read_document(source, PurePosixPath(path).name).as_json()).title == title


_ID = "64f0a1b2-1234-4cde-8f00-0123456789ab"


@pytest.mark.parametrize(
    ("source", "told"),
    [
        (f"- ## Parts\n  id:: {_ID}\n\t- See (({_ID})).", "See Parts."),
        (f"- See (({_ID})) and [that]([[Tap]]).", "See  and that."),
        (f"- See [it]((({_ID}))).", "See it."),
        (f"- Hot {{{{embed (({_ID}))}}}}\n\t- a (({_ID}))\n\t  id:: {_ID}", "Hot a\na a"),
        ("- {{query (task now)}} a {{video https://v.org/1}} {{cloze b}}", "a https://v.org/1 b"),
        ("- a\n  collapsed:: true\n  hl-color:: red\n  :LOGBOOK:\n  CLOCK: [2024]\n  :END:\n\t- b", "a\nb"),
        ("#+BEGIN_QUOTE\na\n#+END_QUOTE\n\n#+BEGIN_QUERY\n{:a 1}\n#+END_QUERY", "a"),
        ("- ^^hot^^ ![tap](a.png){:height 3, :width 4} #[[two words]]", "hot tap #two words"),
        ("## Use\n\t- a\n\t\t- b\n\n## Next\n\n\t- c\n", "a\nb\nc"),
        ("Code:\n\n\t- ==a==\n", "Code:\n- a"),
    ],
)
def test_marks_of_logseq(source: str, told: str) -> None:
    assert read(source).text == told


@pytest.mark.parametrize(
    ("source", "tags"),
    [
        ("---\ntags: [a, b c]\n---\nText #d/e #a", "a, b c, d/e"),
        ("---\ntags: a, b c\n---\nText", "a, b c"),
        ("---\ntags: a b\n---\nText", "a, b"),
        ("---\ntag: '#a #b'\n---\nText", "a, b"),
        ("#y1984 #1984 #12, #fff #1a2b3c #facade #日記 #🌲 x#no (#no) #end.", "y1984, facade, 日記, 🌲, end"),
        ("# No\n\n`#no` [x](#no)\n\n```\n#no\n```\n\n    #no\n\n%% #no %%\n\n#yes/", "yes"),
        ("tags:: a, [[two words]]\n\n- b #c", "a, two words, c"),
        ("Text\n\nTags:: #a #b\n\nIt is [tag:: c].", "a, b, c"),
        ("Text", None),
    ],
)
def test_tags_of_notes(source: str, tags: str | None) -> None:
    assert read(source).details.get("tags") == tags


def test_tags_of_a_note_are_few() -> None:
    assert read(" ".join(f"#t{i}" for i in range(200))).details["tags"].count(",") == 49


def test_properties_of_a_page_are_said_of_the_note_and_those_of_a_block_are_not() -> None:
    page = read("- title:: Tap\n  alias:: spigot, [[the cock]]\n  type:: [[Part]], [[Tool]]\n- Fit it.\n  cost:: 40")
    assert (page.title, page.aliases, page.fields) == ("Tap", ["spigot", "the cock"], {"type": ["Part", "Tool"]})
    assert page.text.endswith("Fit it. cost: 40")


def test_the_properties_of_a_note_are_its_text_where_it_has_no_other() -> None:
    assert read("---\nrating: 7\nby: ['[[Ann Lee]]', Bo]\n---\n").text == "rating: 7\nby: Ann Lee, Bo"
    with pytest.raises(UnreadableError, match="it has no text"):
        read("---\ntitle: Walks\nrating:\n---\n")


def test_a_day_in_the_name_of_a_note_is_its_day() -> None:
    assert read_document("Text.", "2024-05-03.md").details == {"date": "2024-05-03"}
    assert read_document("---\ntitle: A\n---\nText.", "2024-05-03.md").details == {"date": "2024-05-03"}
    assert read_document("---\ndate: 2020-01-01\n---\nText.", "2024_05_03.md").details == {"date": "2020-01-01"}


def test_what_programs_keep_beside_notes_is_no_note() -> None:
    with pytest.raises(UnreadableError, match="the record of a TextBundle"):
        read_document('{"type" : "net.daringfireball.markdown"}', "info.json")


@pytest.mark.parametrize(
    "mark",
    [
        *("**a:: ", "<!-- x ", "==a", "> [!x] ", "%% a\n", "`a``", "((", "{{embed ", "#[[", "#1", "[a](((", "a:: b\n"),
        *(f"- a\n  id:: {_ID}\n", f"(({_ID})) ", ":LOGBOOK:\n", "#+BEGIN_QUERY\n", "# a\n\t- b\n\n", "\t- a\n"),
    ],
)
def test_marks_without_an_end_are_read_in_time(mark: str) -> None:
    document = read(f"Begin.\n\n{mark * 3_001}")
    assert document.text.startswith("Begin.")
