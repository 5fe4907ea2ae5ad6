"""Notes: front matter, titles, numbers of lists, and the marks of programs for notes."""

from __future__ import annotations

from io import BytesIO
from pathlib import PurePosixPath
from typing import Any

import pytest

from atomr_local.indexing.readers.documents.document import Document
from atomr_local.indexing.readers.documents.process import parse
from atomr_local.indexing.text_index.documents import article_of

pytest.importorskip("yaml")


def read(source: str, name: str = "a.md") -> Document:
    (found,) = parse(BytesIO(source.encode()), name)
    return found


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
        ("~~Call Joe~~ call Ida.", "Call Joe call Ida."),
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
        ("Accepted formats.md", "%% note %%\n\n# Embed files\n\nText.", "Embed files"),
        ("Accepted formats.md", "Embed files\n===========\n\nText.", "Embed files"),
        ("notes.rst", "Text.\n\nWheel\n-----\n\nText.", "notes.rst"),
        ("page.html", "<!doctype html><h2>Embed files</h2><p>Text.", "Embed files"),
        ("talk.srt", "1\n00:00:01,000 --> 00:00:02,000\nGo.\n", "talk"),
    ],
)
def test_titles_of_notes(name: str, source: str, title: str) -> None:
    path = f"folder/{name}"
    assert article_of(path, path, read(source, PurePosixPath(path).name).as_json()).title == title


@pytest.mark.parametrize("mark", ["**a:: ", "<!-- x ", "==a", "> [!x] ", "%% a\n", "`a``"])
def test_marks_without_an_end_are_read_in_time(mark: str) -> None:
    document = read(f"Begin.\n\n{mark * 3_001}")
    assert document.text.startswith("Begin.")
