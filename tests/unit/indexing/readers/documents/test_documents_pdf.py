from __future__ import annotations

from functools import partial

import pytest
from made_documents.pdf_file import page as drawn
from made_documents.pdf_file import pdf
from support import hostile_documents as by_hand
from support.read_documents import place_of, read_document, titles_before

from atomr_local.indexing.readers.documents.document import Document, UnreadableError

pytest.importorskip("pypdfium2", reason="reading PDF needs pypdfium2")

_TEXT = "The level of the river was measured every day of the year"


def lines(*items: tuple[str, int]) -> bytes:
    """A content stream with a line of this size each."""
    placed, y = [], 750
    for text, size in items:
        placed.append((50, y, size, text))
        y -= 2 * size
    return drawn(placed)


read = partial(read_document, name="report.pdf")


def page(number: int) -> bytes:
    return lines(
        ("Yearly report", 9), (f"Part {number}", 18), (f"{_TEXT},", 10), (f"and in part {number} it rose.", 10),
        (f"Page {number}", 9),
    )  # fmt: skip


def place(document: Document, words: str) -> tuple[object, str]:
    return place_of(document, words), titles_before(document, words)[-1]


def test_pages_headings_by_size_and_no_running_lines() -> None:
    document = read(pdf([page(1), page(2), page(3)], title="The river"))
    assert document.title == "The river"
    assert place(document, "in part 3 it rose") == (3, "Part 3")
    assert f"{_TEXT}, and in part 2 it rose." in document.text
    assert "Yearly report" not in document.text
    assert "Page 2" not in document.text


def test_headings_of_the_outline() -> None:
    body = [lines((f"{_TEXT}.", 10)), lines(("Methods", 10), (f"{_TEXT} again.", 10))]
    document = read(pdf(body, outline=True))
    assert place(document, "again") == (2, "Methods")


@pytest.mark.parametrize(
    ("pages", "text", "second"),
    [
        # a paragraph goes on overleaf
        (
            (f"{_TEXT} except for Sunday, when", "the keeper of the staff was in church."),
            f"{_TEXT} except for Sunday, when the keeper of the staff was in church.",
            "the keeper",
        ),
        # so does a word
        (
            (f"{_TEXT} by the mea-", "surer of the town, who was very old then."),
            f"{_TEXT} by the measurer of the town, who was very old then.",
            "surer of",
        ),
        # what ends does not
        ((f"{_TEXT}.", f"{_TEXT} again."), f"{_TEXT}.\n\n{_TEXT} again.", f"{_TEXT} again"),
    ],
)
def test_what_goes_on_overleaf(pages: tuple[str, ...], text: str, second: str) -> None:
    document = read(pdf([lines((page, 10)) for page in pages]))
    assert document.text == text
    assert document.places == [(0, 1), (text.index(second), 2)]


def test_the_first_words_below_headings_are_no_running_head() -> None:
    document = read(
        pdf([lines((f"Slide {i}", 20), ("What was measured:", 10), (f"{_TEXT} {i}", 10)) for i in range(5)])
    )
    assert document.text.count("What was measured:") == 5


def test_accents_that_stand_before_their_letters() -> None:
    written = "´Emile went with Ren´e and J¨org to F´erburt; voil`a the `end' of x´."
    document = read(pdf([lines((written, 10), (_TEXT, 10))]))
    assert document.text.startswith("Émile went with René and Jörg to Férburt; voilà the `end' of x´.")


def test_a_scan_is_told_as_such() -> None:
    with pytest.raises(UnreadableError, match="its 2 pages have pictures but no text: a scan"):
        read(pdf([b""] * 2, picture=True))
    mixed = read(pdf([lines((_TEXT, 10)), b"q 600 0 0 800 0 0 cm /I Do Q"]))
    assert mixed.notes == ["no text on page 2: scanned?"]


def test_encrypted_files_are_read_if_they_ask_for_no_password() -> None:
    with pytest.raises(UnreadableError, match="encrypted with a password"):
        read(pdf([page(1)], password="secret"))
    assert "in part 1 it rose" in read(pdf([page(1)], password="")).text


def test_damaged_files_are_told() -> None:
    with pytest.raises(UnreadableError, match="its PDF is damaged"):
        read(pdf([page(1)])[:200])


def text_of(*items: tuple[int, int, str]) -> bytes:
    """A content stream of words in letters of 10 points: (x, y, text)."""
    return drawn([(x, y, 10, text) for x, y, text in items])


@pytest.mark.parametrize(
    ("line", "following", "whole"),
    [
        ("the dose within 1-", "24 hours is small", "within 1-24 hours"),
        ("call the office at 555-", "0142 today", "at 555-0142 today"),
        ("we write of covid-", "19 in this part", "covid-19 in"),
        ("the old B-", "52 of the air force", "B-52 of"),
        ("in the years 1812–", "15 there was war", "1812–15 there"),
        ("on the day of 06/", "22/1998 it rained", "06/22/1998 it"),
        ("the town of Jean-", "Paul was small", "Jean-Paul was"),
        ("A PROGRAM OF THE GOV-", "ERNMENT", "GOVERNMENT"),
        ("a well-known man is well-", "known to all", "is well-known to"),
        ("in the pre-", "and post-war years", "pre- and post-war"),
        ("by the mea-", "surer of the town", "measurer of"),
        ("a rate of 1,", "000 of them", "1, 000 of"),
        ("see https://elm.example/boats-", "2021.html for more", "https://elm.example/boats-2021.html for"),
        ("see https://elm.example/my-", "boats for more", "https://elm.example/my-boats for"),
        ("see https://elm.example/forms/", "licence.html for more", "https://elm.example/forms/licence.html for"),
        ("see www.elm.example/ve", "ry/long/path for more", "www.elm.example/very/long/path for"),
        ("see https://elm.example/", "and go there", "https://elm.example/ and go"),
        ("see https://elm.example/path", "The next part", "https://elm.example/path The"),
        ("see https://elm.example/path", "with the boats", "https://elm.example/path with"),
        (
            "if you want a berth for a year or more write to office@harbour.",
            "example or call",
            "office@harbour.example or",
        ),
    ],
)
def test_what_is_broken_at_the_end_of_a_line_is_joined_unchanged(line: str, following: str, whole: str) -> None:
    assert whole in read(pdf([lines((line, 10), (following, 10), (_TEXT, 10))])).text


# Tables whose columns are drawn one after the other.

_YS = (660, 640, 620)
_ABOVE, _BELOW = (50, 720, f"{_TEXT}."), (50, 500, f"{_TEXT} again.")


def by_columns(*columns: tuple[str, ...], ys: tuple[tuple[int, ...], ...] = (_YS,) * 3, header: str = "") -> Document:
    cells = [
        (x, y, text)
        for x, column, heights in zip((50, 200, 350), columns, ys, strict=False)
        for y, text in zip(heights, column, strict=True)
        if text
    ]
    names = [(x, 680, name) for x, name in zip((50, 200, 350), header.split(), strict=False)]
    return read(pdf([text_of(_ABOVE, *names, *cells, _BELOW)]))


_TOWNS, _MANY = ("Oslo", "Bergen", "Narvik"), ("45", "71", "62")


@pytest.mark.parametrize(
    ("columns", "header", "rows"),
    [
        ((_TOWNS, _MANY), "", "Oslo: 45\nBergen: 71\nNarvik: 62"),
        ((_TOWNS, _MANY), "Town Workers", "Town: Oslo; Workers: 45\nTown: Bergen; Workers: 71\nTown: Narvik; Workers: 62"),
        ((_TOWNS, ("4", "", "6"), _MANY), "Town A B", "Town: Oslo; A: 4; B: 45\nTown: Bergen; B: 71\nTown: Narvik; A: 6; B: 62"),
        ((("Name:", "Born:", "Town:"), ("Maja Lind", "in May", "Elm")), "", "Name: Maja Lind\nBorn: in May\nTown: Elm"),
    ],
)  # fmt: skip
def test_the_rows_of_a_table_by_where_its_cells_stand(
    columns: tuple[tuple[str, ...], ...], header: str, rows: str
) -> None:
    assert by_columns(*columns, header=header).text == f"{_TEXT}.\n{rows}\n\n{_TEXT} again."


@pytest.mark.parametrize(
    ("columns", "rows"),
    [
        ((("4", "7", "6"), ("1", "2", "3"), _TOWNS), "4; 1; Oslo\n7; 2; Bergen\n6; 3; Narvik"),
        ((("Rent", "Power", "Total"), ("EUR 400.00", "€ 55", "-3 %")), "Rent: EUR 400.00\nPower: € 55\nTotal: -3 %"),
        ((("3 May 1904", "4 June 1911"), ("The fire in the mill of the town that we told of", "The flood of the river")),
         "3 May 1904; The fire in the mill of the town that we told of\n4 June 1911; The flood of the river"),
    ],
)  # fmt: skip
def test_numbers_and_dates_of_any_kind_tell_a_table(columns: tuple[tuple[str, ...], ...], rows: str) -> None:
    heights = (_YS[: len(columns[0])],) * len(columns)
    assert rows in by_columns(*columns, ys=heights).text


def test_digits_below_each_other_are_no_number() -> None:
    text = read(pdf([text_of((50, 720, f"{_TEXT}:"), (50, 690, "4"), (50, 675, "7"), (50, 660, "1"))])).text
    assert "471" not in text
    assert "4 7 1" in text


def test_turned_text_is_read() -> None:
    turned = b"BT /F1 10 Tf 0 1 -1 0 300 100 Tm (The level of the river was measured) Tj ET"
    assert read(pdf([turned])).text == "The level of the river was measured"


def test_the_numbers_of_lines_are_no_table() -> None:
    text = by_columns(("1", "2", "3"), (_TEXT, f"{_TEXT} and", f"{_TEXT} too")).text
    assert f"{_TEXT} {_TEXT} and {_TEXT} too" in text


def test_a_cell_of_two_lines() -> None:
    document = by_columns(("First Transit", "of Boston", "Actavis"), ("71", "45"), ys=((660, 648, 628), (660, 628)))
    assert "First Transit of Boston: 71\nActavis: 45" in document.text


def test_a_table_whose_rows_are_not_sure_is_left_out_and_told() -> None:
    document = by_columns(_TOWNS, _MANY, ys=(_YS, (653, 633, 610)))
    assert document.text == f"{_TEXT}.\n\n{_TEXT} again."
    assert document.notes == ["a table on page 1 is left out: it is not sure what belongs to which row"]


@pytest.mark.parametrize(
    "columns",
    [
        (("Mara Holt", "12 Mill Lane", "Elm"), ("Lin Po", "3 Quay", "Alder")),
        tuple((f"{_TEXT} {i}", f"and more {_TEXT}", f"and so on {_TEXT}") for i in range(2)),
        (("the level of the river", "was measured every day", "by the keeper"), ("of the staff and", "his old wife who", "was ill"),
         ("all the time for", "which he was then", "thanked")),
    ],
)  # fmt: skip
def test_addresses_and_prose_in_columns_stay_as_they_are(columns: tuple[tuple[str, ...], ...]) -> None:
    text = by_columns(*columns).text
    assert all(" ".join(column) in text for column in columns)


# Outlines, titles, headings.


def outlined(pages: list[bytes], *entries: tuple[str, int, str]) -> bytes:
    """A file with an outline: (title, number of the page from 0, where on it)."""
    first = 4 + 2 * len(pages) + 1
    objects = [
        b"<</Type/Catalog/Pages 2 0 R/Outlines 4 0 R>>",
        b"<</Type/Pages/Kids[%s]/Count %d>>" % (b" ".join(b"%d 0 R" % (5 + 2 * i) for i in range(len(pages))), len(pages)),
        b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding>>",
        b"<</Type/Outlines/First %d 0 R/Last %d 0 R/Count %d>>" % (first, first + len(entries) - 1, len(entries)),
    ]  # fmt: skip
    for i, content in enumerate(pages):
        objects += [
            b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 600 800]/Resources<</Font<</F1 3 0 R>>>>/Contents %d 0 R>>" % (6 + 2 * i),
            by_hand.stream(content),
        ]  # fmt: skip
    for i, (title, number, where) in enumerate(entries):
        following = b"/Next %d 0 R" % (first + i + 1) if i + 1 < len(entries) else b""
        entry = f"<</Title({title})/Parent 4 0 R/Dest[{5 + 2 * number} 0 R {where}]".encode()
        objects.append(entry + following + b">>")
    return by_hand.pdf(objects)


_REPORT = [
    text_of(
        (50, 750, "1.1 THE MEASURE-"), (50, 738, "MENTS OF THE RIVER"), (50, 700, "Here they are told."),
        (50, 660, "FINDINGS"), (50, 640, "It rose by a foot."),
    ),
    text_of((50, 750, "Closing remarks"), (50, 730, "That was all.")),
]  # fmt: skip


def test_titles_of_the_outline_in_other_words_stand_where_they_lead_to() -> None:
    entries = [
        ("Measurements of the River", 0, "/XYZ 0 760 0"), ("Chapter 3: Results", 0, "/XYZ 0 672 0"),
        ("Conclusions", 1, "/XYZ 0 790 0"),
    ]  # fmt: skip
    document = read(outlined(_REPORT, *entries))
    assert place(document, "Here they are told") == (1, "Measurements of the River")
    assert place(document, "It rose") == (1, "Chapter 3: Results")
    assert place(document, "That was all") == (2, "Conclusions")


@pytest.mark.parametrize("titles", [("Alpha", "Beta"), ("_Toc123", "Page 1"), ("report.docx", "untitled")])
def test_titles_of_the_outline_without_a_sure_place_are_left_out(titles: tuple[str, str]) -> None:
    assert read(outlined(_REPORT, *((title, 0, "/Fit") for title in titles))).sections == []


@pytest.mark.parametrize("where", ["/Fit", "/XYZ 0 800 0"])
def test_a_title_in_other_words_that_leads_to_a_page_stands_at_its_large_letters(where: str) -> None:
    page_ = lines((f"{_TEXT}.", 10), ("Findings", 16), (f"{_TEXT} again.", 10), (f"{_TEXT} at last.", 10))
    document = read(outlined([page_, page_], ("Begin", 0, "/XYZ 0 760 0"), ("What was seen", 1, where)))
    assert [title for _, _, title in document.sections] == ["Begin", "What was seen"]
    assert document.text[document.sections[1][0] :].startswith("Findings")


def test_a_heading_of_several_lines_is_one() -> None:
    document = read(
        pdf([drawn([(50, 750, 18, "The harbour of"), (50, 728, 18, "Elm and its boats")]
                   + [(50, 690 - 12 * i, 10, _TEXT) for i in range(9)])])
    )  # fmt: skip
    assert document.sections == [(0, 1, "The harbour of Elm and its boats")]


@pytest.mark.parametrize(
    "title",
    ["Microsoft Word - Document1", "untitled", "Document 2", "report_final_v2", "C:\\work\\a", "minutes.docx",
     "PowerPoint Presentation", "Microsoft Word - minutes of may.doc", "(anonymous)"],
)  # fmt: skip
def test_titles_by_machines_give_way_to_the_largest_words(title: str) -> None:
    body = lines(("Minutes of the beekeepers", 18), (_TEXT, 10), (f"{_TEXT} again.", 10))
    assert read(pdf([body], title=title)).title == "Minutes of the beekeepers"
    assert read(pdf([lines((_TEXT, 10))], title=title)).title == ""
    assert read(pdf([body], title="The bees of 2021")).title == "The bees of 2021"


# Running heads and feet; fonts that do not tell their letters.


def test_heads_of_several_lines_go_and_a_line_of_text_at_the_foot_stays() -> None:
    pages = [
        text_of(
            (50, 770, "DRAFT of the plan of Elm"), (50, 758, str(i)), (50, 746, "MUST be removed before printing"),
            (50, 715, f"{_TEXT} of part {'abcdef'[i]} and it rose"), (50, 703, "The council agreed after a long debate."),
            (50, 40, f"Town of Elm, page {i} of 6"),
        )
        for i in range(6)
    ]  # fmt: skip
    text = read(pdf(pages)).text
    assert text.count("The council agreed after a long debate.") == 6
    assert not any(words in text for words in ("DRAFT", "MUST", "Town of Elm"))
    assert text.startswith(_TEXT)


def test_the_same_sentence_at_the_end_of_each_page_is_text() -> None:
    pages = [
        text_of((50, 730, f"{_TEXT} in part {'abcdef'[i]}."), (50, 690, "The keeper signed it.")) for i in range(6)
    ]
    assert read(pdf(pages)).text.count("The keeper signed it.") == 6


def test_heads_of_left_and_right_pages_go() -> None:
    heads = ("The river Alder", "Measured every day")
    pages = [text_of((50, 770, heads[i % 2]), (50, 730, f"{_TEXT} in part {'abcdefg'[i]}.")) for i in range(7)]
    assert not any(head in read(pdf(pages)).text for head in heads)


def unmapped(readable: bytes) -> bytes:
    """A page with words in a font whose letters have no names that anybody knows."""
    names = b"/g1/g2/g3/g4"
    font = (
        b"<</Type/Font/Subtype/Type3/FontBBox[0 0 10 10]/FontMatrix[.1 0 0 .1 0 0]/FirstChar 65/LastChar 68"
        b"/Widths[6 6 6 6]/CharProcs<<%s>>/Encoding<</Differences[65%s]>>>>"
        % (b"".join(b"/g%d 7 0 R" % i for i in range(1, 5)), names)
    )
    words = b" BT /X 10 Tf 50 600 Td (ABCD DCBA ABCD DCBA ABCD DCBA ABCD) Tj ET"
    resources = b"/ExtGState<<>>"
    page_ = (
        b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 600 800]/Resources<</Font<</F1 5 0 R/X 6 0 R>>%s>>/Contents 4 0 R>>"
    )
    helvetica = b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding>>"
    return by_hand.pdf(
        [b"<</Type/Catalog/Pages 2 0 R>>", b"<</Type/Pages/Kids[3 0 R]/Count 1>>", page_ % resources,
         by_hand.stream(readable + words), helvetica, font, by_hand.stream(b"600 0 d0 0 0 5 5 re f")]
    )  # fmt: skip


def test_letters_that_nobody_can_tell_are_left_out_and_told() -> None:
    document = read(unmapped(lines((f"{_TEXT}.", 10))))
    assert document.text == f"{_TEXT}."
    assert document.notes == ["letters on page 1 are left out: their font does not say what they show"]
    with pytest.raises(UnreadableError, match="its fonts do not say which letters they show"):
        read(unmapped(b""))
