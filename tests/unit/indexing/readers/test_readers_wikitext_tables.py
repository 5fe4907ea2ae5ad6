from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from atomr_local.indexing.readers.wikipedia.plain_text import PlainText
from atomr_local.indexing.readers.wikipedia.table_rows import MOST_CELL, MOST_COLUMNS, MOST_ROWS
from atomr_local.indexing.readers.wikipedia.wikitext import plain_text


def tables(wikitext: str) -> list[list[str]]:
    """The lines of each table."""
    page = plain_text(wikitext, {"file"})
    starts = [section.start for section in page.sections] + [len(page.text)]
    return [
        page.text[section.start : end].strip().split("\n")
        for section, end in zip(page.sections, starts[1:], strict=True)
        if section.kind == "table"
    ]


def lines(body: str, head: str = 'class="wikitable"') -> list[str]:
    [found] = tables(f"{{| {head}\n{body}\n|}}")
    return found


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("! Name !! Born\n|-\n| Ann || 1912\n|-\n| Bob || 1913", ["Name: Ann; Born: 1912", "Name: Bob; Born: 1913"]),
        # the first row of a table of data holds the names though it is not marked
        ("| Name || Born\n|-\n| Ann || 1912\n|-\n| Bob || 1913", ["Name: Ann; Born: 1912", "Name: Bob; Born: 1913"]),
        ("! Name\n! Born\n|-\n! scope=row | Ann\n| style='x' | 1912", ["Name: Ann; Born: 1912"]),
        # cells that span rows stand in each of them
        (
            "! Year !! Film\n|-\n| rowspan=2 | 1999 || A\n|-\n| B\n|-\n| 2000 || C",
            ["Year: 1999; Film: A", "Year: 1999; Film: B", "Year: 2000; Film: C"],
        ),
        # names in two rows, the first above several columns
        (
            '! rowspan="2" | Place\n! colspan="2" | People\n|-\n! 2000 !! 2010\n|-\n| York || 1 || 2',
            ["Place: York; People 2000: 1; People 2010: 2"],
        ),
        # a heading across the table is one of the rows below it
        (
            "! A !! B\n|-\n! colspan=2 | North:\n|-\n| 1 || 2\n|-\n! colspan=2 | South\n|-\n| 3 || 4",
            ["North; A: 1; B: 2", "South; A: 3; B: 4"],
        ),
        ("! A !! B\n|-\n| 1 || 2\n|-\n! C !! D\n|-\n| 3 || 4", ["A: 1; B: 2", "C: 3; D: 4"]),
        # label and value in each row
        ("! Area\n| 5 km²\n|-\n! People\n| 7", ["Area: 5 km²", "People: 7"]),
        ("! A !! B\n|-\n| colspan=2 | 1\n|-\n| || 2\n|-\n|  || ", ["A: 1", "B: 2"]),
        ("! A !! B\n|-\n| x<br />y<br>(z) || {{ubl|p|q}}", ["A: x, y (z); B: p, q"]),
        ("! A !! B\n|-\n| [[x|y]]<ref>r</ref> || [[File:a.png|20px]] {{efn|no}} ''z''", ["A: y; B: z"]),
        ("! A !! B\n|-\n| {{dts|1999|2|3}} || {{val|3.5|u=K}}", ["A: 3 February 1999; B: 3.5 K"]),
        ('! A !! B\n|-\n| colspan="2" {{cell|x}} || 2', ["B: 2"]),
        ("! A !! B\n|-\n| 1 || 2 || 3", ["A: 1; B: 2; 3"]),
    ],
)
def test_rows_come_with_the_names_of_their_columns(body: str, expected: list[str]) -> None:
    assert lines(body) == expected


def test_a_table_has_its_caption_and_stands_behind_all_prose() -> None:
    page = plain_text(
        "Lead.\n{|\n|+ style='x' | First\n! A !! B\n|-\n| 1 || 2\n|}\nMore.\n== Life ==\nLong.\n{|\n|+Second\n|-\n|3||4\n|}\n"
        "Longer.\n== See also ==\n{|\n|5||6\n|}"
    )
    assert page.text == "Lead.\n\nMore.\n\nLong.\n\nLonger.\n\nA: 1; B: 2\n\n3; 4"
    assert [(s.heading, s.kind, s.name) for s in page.sections] == [
        ("Life", "", ""),
        ("First", "table", "1"),
        ("Life > Second", "table", "2"),
    ]


def test_prose_is_the_same_with_tables_and_without() -> None:
    prose = "Lead.\n\nMore of it.\n== Life ==\nLong.\n"
    table = "{|\n! A !! B\n|-\n| 1 || 2\n|}\n"
    plain, with_tables = plain_text(prose), plain_text(prose.replace("More", table + "More") + table)
    assert with_tables.text.startswith(plain.text)
    assert with_tables.sections[: len(plain.sections)] == plain.sections


def test_tables_in_html() -> None:
    html = '<table class="wikitable"><caption>C</caption><tr><th>A</th><th>B</th></tr><tr><td>1</td><td>2</td></tr></table>'
    assert tables(html) == [["A: 1; B: 2"]]
    assert plain_text(html).sections[0].heading == "C"


def test_tables_for_layout_give_their_words_and_the_tables_in_them() -> None:
    inner = '{| class="wikitable"\n! A !! B\n|-\n| 1 || 2\n|}'
    assert tables(f"{{|\n|\n{inner}\n|\n{inner}\n|}}") == [["A: 1; B: 2"], ["A: 1; B: 2"]]
    assert tables("{|\n| one\n|-\n| two\n|}") == [["one", "two"]]
    assert tables(f"{{| role=presentation\n| {'word ' * 30}|| b\n|}}") == [[("word " * 30).strip(), "b"]]
    # of a table of data the rows stay rows
    assert tables(f"{{| class='wikitable'\n! C !! D\n|-\n| x ||\n{inner}\n|}}") == [["C: x"], ["A: 1; B: 2"]]


@pytest.mark.parametrize("css", ["navbox", "wikitable noprint", "metadata mbox"])
def test_what_leads_elsewhere_is_no_table(css: str) -> None:
    assert tables(f'{{| class="{css}"\n| a || b\n|}}') == []


def test_limits_are_kept_and_what_they_leave_out_is_counted() -> None:
    rows = "".join(f"|-\n| {number} || {'x' * 9}\n" for number in range(MOST_ROWS + 50))
    page = plain_text(f'{{| class="wikitable"\n! A !! B\n{rows}|}}')
    assert len(page.text.split("\n")) == MOST_ROWS - 1, "the names of the columns are a row"
    assert page.lost == {"table rows": 51}
    page = plain_text("{|\n! A\n" + "| 1\n" * (MOST_COLUMNS + 9) + "|}")
    assert page.lost == {"table cells": 10}
    page = plain_text(f"{{|\n! A !! B\n|-\n| 1 || {'long ' * MOST_CELL}\n|}}")
    assert page.lost == {"ends of table cells": 1}
    assert len(page.text) < MOST_CELL + 20
    wide = "".join(f"|-\n| {'many ' * 100} || {number}\n" for number in range(MOST_ROWS - 1))
    page = plain_text("".join(f"{{|\n{wide}|}}\n" for _ in range(6)))
    assert len(page.text) < 500_000
    assert page.lost["table rows"] > 0 and page.lost["tables"] > 0


@pytest.mark.parametrize("span", ["0", "-1", "99999999999", "x", "2000"])
def test_spans_of_any_size(span: str) -> None:
    found = lines(f"! A !! B\n|-\n| rowspan={span} | 1 || colspan={span} | 2\n|-\n| 3\n|-\n| 4")
    assert found[0].startswith("A: 1; B: 2")
    assert len(found) == 3


OPEN = "{|\n! A !! B\n|-\n| 1 || 2\n"


@pytest.mark.parametrize(
    "wikitext",
    [
        f"Lead.\n{OPEN}",
        f"Lead.\n{OPEN}{OPEN}|}}",
        f"Lead.\n{OPEN}|}}\n|}}\n|-\n",
        f"Lead.\n{OPEN}| {{{{x|y\n|}}",
        "Lead.\n<table><tr><td>1<table><tr><td>2</table>",
        "Lead.\n{|\n|-\n|-\n|}",
        "Lead.\n{|\n|}",
        "Lead.\n{{x|\n" + OPEN + "|}\n}}",
    ],
    ids=["unclosed", "one closed", "closed twice", "open template", "html", "no cells", "nothing", "in a template"],
)
def test_broken_tables_leave_the_prose_and_no_markup(wikitext: str) -> None:
    page = plain_text(wikitext)
    assert page.text.startswith("Lead.")
    assert not any(mark in page.text for mark in ("{|", "|}", "|-", "||", "!!", "{{", "<t"))


def test_a_table_that_never_ends_keeps_its_rows_and_the_prose_around_it() -> None:
    unended = "Lead.\n\n" + OPEN + "|-\n| 3 || 4\n\nProse after it.\n\n== Next ==\nMore.\n" + OPEN + "|}\nEnd."
    page = plain_text(unended)
    assert tables(unended) == [["A: 1; B: 2", "A: 3; B: 4"], ["A: 1; B: 2"]]
    assert page.text.startswith("Lead.\n\nProse after it.\n\nMore.\n\nEnd.")
    assert [section.heading for section in page.sections] == ["Next", "", "Next"]
    assert tables(f"Lead.\n{OPEN}") == [["A: 1; B: 2"]]
    assert tables(f"Lead.\n{OPEN}== Next ==\nMore.") == [["A: 1; B: 2"]]


def test_a_table_that_cannot_be_read_is_counted() -> None:
    page = plain_text("Lead.\n\n[[a|b\n\n" + "".join(f"{OPEN}\n" for _ in range(30)) + "End.")
    assert page.text.startswith("Lead.")
    assert page.lost == {"tables with broken markup": 30}


def test_ten_thousand_tables_within_each_other_are_refused_or_read() -> None:
    begun = time.process_time()
    with pytest.raises(ValueError, match="never closed"):
        plain_text("{|\n|\n" * 10_000)
    deep = plain_text("Lead.\n" + "{|\n|\n" * 10_000 + "x" + "\n|}" * 10_000)
    assert deep.text.startswith("Lead.")
    assert "{|" not in deep.text
    assert time.process_time() - begun < 20


PIECES = "{| |} |- |+ | || ! !! ~{|~ ~|}~ ~|-~ ~|~ ~!~ rowspan=2 colspan=3| <table> </table> <tr> <td> </td> {{ }} [[ ]] a b <br> <ref> </ref>"


@settings(deadline=None)
@given(st.lists(st.sampled_from([*PIECES.replace("~", "\n").split(" "), " "]), max_size=50))
def test_any_table_gives_lines_in_order(pieces: list[str]) -> None:
    page: PlainText = plain_text("".join(pieces))
    assert page.text == page.text.strip()
    starts = [section.start for section in page.sections]
    assert starts == sorted(set(starts))
    assert not {"{{", "[["} & {page.text[i : i + 2] for i in range(len(page.text))}
