"""Pages of Zim, the desktop wiki."""

from __future__ import annotations

import pytest
from support.read_documents import read_document

from atomr_local.indexing.readers.documents.document import Document

_HEADER = "Content-Type: text/x-zim-wiki\nWiki-Format: zim 0.6\nCreation-Date: 2026-03-01T09:00:00+01:00\n"


def read(body: str, name: str = "The_boiler.txt") -> Document:
    return read_document(f"{_HEADER}\n{body}", name)


def test_a_page_has_title_date_headings_and_places() -> None:
    page = read("====== The boiler ======\nCreated Sunday\n\nIt is hot.\n\n===== Parts =====\n== Tap ==\nIt drips.\n")
    assert (page.title, page.details) == ("The boiler", {"date": "2026-03-01"})
    assert page.text == "Created Sunday\n\nIt is hot.\nIt drips."
    assert [section[1:] for section in page.sections] == [(1, "The boiler"), (2, "Parts"), (5, "Tap")]
    assert page.places == [(0, 6), (16, 8), (27, 12)]


@pytest.mark.parametrize(
    ("body", "title"),
    [
        ("Hot.", "The boiler"),
        ("===== Parts =====\nHot.", "The boiler"),
        ("Hot.\n====== Parts ======\nHot.", "The boiler"),
        ("====== Heating ======\nHot.", "Heating"),
    ],
)
def test_the_title_is_the_heading_at_the_top_or_the_name_of_the_page(body: str, title: str) -> None:
    assert read(body).title == title


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ("**bold** //slanted// __marked__ ~~old~~ ''a**b**'' **//both//**", "bold slanted marked ~~old~~ a**b** both"),
        ("See [[:Home:Boiler|it]], [[+Parts]] and [[https://b.org//x]].", "See it, Parts and https://b.org//x."),
        ("At https://b.org//x// it is. H_{2}O, 10^{3}", "At https://b.org//x// it is. H2O, 10^3"),
        ("{{./a.png?width=3}} Tap\n{{./b.png}}\nEnd", "Tap\nEnd"),
        ("* a\n\t* [*] b\n[ ] c\n[x] d\n[>] e\n1. f\n\ta. g", "a\n[x] b\n[ ] c\n[-] d\n[>] e\n1. f\na. g"),
        ("a\n'''\n== b ==\n@no **c**\n'''\nd", "a\n== b ==\n@no **c**\nd"),
        ('{{{code: lang="python3"\nx = [[1]]\n}}}\nd', "x = [[1]]\nd"),
        ("| Part | Cost |\n|:-----|-----:|\n| **Tap** | 4 |\nEnd", "Part: Tap; Cost: 4\nEnd"),
        ("'''\nnever ended", "never ended"),
        ("a\n----\nb\n\nc", "a\nb\n\nc"),
    ],
)
def test_marks_go_and_words_stay(body: str, told: str) -> None:
    assert read(body).text == told


def test_tags_of_a_page() -> None:
    page = read("@home @two-words a@b.org\n\n* @home\n\n'''\n@no\n'''")
    assert page.details["tags"] == "home, two-words"


@pytest.mark.parametrize("mark", ["[[", "[[a|", "{{", "**", "//a", "''a", "| a |\n", "'''\n", "**//__~~", "@a "])
def test_marks_without_an_end_are_read_in_time(mark: str) -> None:
    assert read(f"Begin\n{mark * 5_001}").text.startswith("Begin")
