"""What was typed into PDFs: values of forms at their printed labels."""

from __future__ import annotations

import pytest
from made_documents.pdf_file import page
from support.hostile_documents import pdf, stream
from support.read_documents import read_document

pytest.importorskip("pypdfium2", reason="reading PDF needs pypdfium2")

_BOX = b"/FT/Btn/AP<</N<</%s 4 0 R/Off 4 0 R>>>>/AS/%s"


def form(printed: list[tuple[int, int, str]], *fields: bytes) -> bytes:
    """A PDF of one page with these printed words, (x, y, text), and these fields of a form."""
    references = b" ".join(b"%d 0 R" % (6 + i) for i in range(len(fields)))
    return pdf(
        [
            b"<</Type/Catalog/Pages 2 0 R/AcroForm<</Fields[%s]/DA(/F1 12 Tf 0 g)>>>>" % references,
            b"<</Type/Pages/Kids[3 0 R]/Count 1>>",
            b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 600 800]/Resources<</Font<</F1 4 0 R>>>>/Contents 5 0 R"
            b"/Annots[%s]>>" % references,
            b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding>>",
            stream(page([(x, y, 10, text) for x, y, text in printed])),
            *(field if b"/Subtype" in field else b"<</Type/Annot/Subtype/Widget%s>>" % field for field in fields),
        ]
    )


def read(printed: list[tuple[int, int, str]], *fields: bytes) -> list[str]:
    """The paragraphs below the title."""
    title = (50, 700, "Application for a boat licence at the harbour office")
    text = read_document(form([title, *printed], *fields)).text.removeprefix(title[2]).strip()
    return text.split("\n\n") if text else []


def text_field(value: str, box: str, more: str = "/T(Text1)") -> bytes:
    return f"/FT/Tx/V({value})/Rect[{box}]{more}".encode()


def box(option: str, left: int, *, checked: bool, more: str = "/T(box)") -> bytes:
    name = option.encode()
    described = _BOX % (name, name if checked else b"Off")
    return described + f"/V/{option if checked else 'Off'}/Rect[{left} 658 {left + 10} 668]{more}".encode()


def test_values_stand_behind_the_labels_left_of_them_or_above() -> None:
    labels = [(50, 660, "First name:"), (300, 660, "Family name:"), (50, 630, "Address")]
    fields = [
        text_field("Lind", "370 656 450 670", "/T(Text2)"),
        text_field("Maja", "110 656 200 670"),
        text_field("12 Quay Lane\\nElm", "50 600 300 626", "/T(Text3)/Ff 4096"),
    ]
    assert read(labels, *fields) == ["First name: Maja Family name: Lind", "Address: 12 Quay Lane Elm"]


def test_values_over_lines_for_a_pen() -> None:
    fields = [text_field("Fulmar", "75 658 150 670"), text_field("1998", "190 658 240 670", "/T(Text2)")]
    assert read([(50, 660, "Club ____________ Since ________")], *fields) == ["Club: Fulmar Since: 1998"]


@pytest.mark.parametrize(
    ("names", "told"),
    [
        ("/T(x1)/TU(Name of the boat)", "Name of the boat: Fulmar"),
        ("/T(page.boat_name[0])", "boat name: Fulmar"),
        ("/T(Text1)", "Fulmar"),
    ],
)
def test_a_value_without_a_printed_label_has_the_name_of_its_field(names: str, told: str) -> None:
    assert read([], text_field("Fulmar", "50 100 200 120", names)) == [told]


def test_what_is_hidden_or_secret_stays_out() -> None:
    hidden = text_field("not shown", "110 656 200 670", "/T(a)/F 2")
    password = text_field("secret", "110 656 200 670", "/T(b)/Ff 8192")
    empty = text_field("", "110 656 200 670", "/T(c)")
    assert read([(50, 580, "End.")], hidden, password, empty) == ["End."]


def test_boxes_to_check() -> None:
    boxes = [box("Yes", 50, checked=True), box("On", 188, checked=False, more="/T(motor)")]
    assert read([(62, 660, "Sailing boat"), (200, 660, "Motor boat")], *boxes) == ["Sailing boat: yes Motor boat: no"]


def test_boxes_for_yes_and_no() -> None:
    boxes = [
        box("Yes", 108, checked=True, more="/T(y)/TU(Is insured)"),
        box("Yes", 158, checked=False, more="/T(n)/TU(Is insured)"),
    ]
    told = read([(50, 660, "Insured"), (120, 660, "Yes"), (170, 660, "No")], *boxes)
    assert told[1:] == ["Is insured: Yes"]


@pytest.mark.parametrize(
    ("name", "told"), [("/T(Berth)", "Berth: by the month"), ("/T(Group1)", "by the month (chosen)")]
)
def test_buttons_of_which_one_is_chosen(name: str, told: str) -> None:
    more = f"/Ff 32768{name}"
    buttons = [box("month", 108, checked=True, more=more), box("year", 238, checked=False, more=more)]
    found = read([(120, 660, "by the month"), (250, 660, "by the year")], *buttons)
    assert told in " ".join(found)
    assert "by the year (chosen)" not in " ".join(found)


def test_choices_as_they_are_shown() -> None:
    choice = b"/FT/Ch/Ff 131072/T(c)/Opt[[(y)(yellow)][(r)(red)]]/V(y)/Rect[100 658 200 670]"
    assert read([(50, 660, "Colour")], choice) == ["Colour: yellow"]


def test_words_written_upon_the_page() -> None:
    note = b"<</Type/Annot/Subtype/FreeText/Contents(Maja Lind)/Rect[110 656 200 670]>>"
    assert read([(50, 660, "Applicant:")], note) == ["Applicant: Maja Lind"]


def test_fields_below_themselves_end() -> None:
    looping = b"<</FT/Tx/Kids[6 0 R 6 0 R]/Parent 6 0 R/T(a)/Subtype/Widget/Type/Annot/Rect[110 656 200 670]>>"
    assert read([(50, 580, "End.")], looping) == ["End."]
