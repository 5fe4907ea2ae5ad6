"""What stands behind the prose of wikitext: tables, infoboxes, coordinates and source code."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from atomr_local.indexing.readers.wikipedia.infobox import MOST_FIELDS, MOST_VALUE, field_of, titled
from atomr_local.indexing.readers.wikipedia.table_rows import MOST_CELL, MOST_COLUMNS, MOST_ROWS
from atomr_local.indexing.readers.wikipedia.templates import coordinates
from atomr_local.indexing.readers.wikipedia.wikitext import plain_text

FILES = {"file"}


def blocks(wikitext: str, kind: str) -> list[tuple[str, str]]:
    """Name and text of each block of the kind."""
    page = plain_text(wikitext, FILES)
    ends = [section.start for section in page.sections[1:]] + [len(page.text)]
    return [
        (section.name, page.text[section.start : end].rstrip())
        for section, end in zip(page.sections, ends, strict=False)
        if section.kind == kind
    ]


def fields(*lines: str, name: str = "Infobox element") -> list[str]:
    """The lines of an infobox with these fields."""
    [(_, text)] = blocks("{{" + name + "\n| " + "\n| ".join(lines) + "\n}}\nProse.", "infobox")
    return text.split("\n")


def tables(wikitext: str) -> list[list[str]]:
    """The lines of each table."""
    return [text.split("\n") for _, text in blocks(wikitext, "table")]


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


def test_limits_of_tables_are_kept_and_what_they_leave_out_is_counted() -> None:
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


TABLE_PIECES = "{| |} |- |+ | || ! !! ~{|~ ~|}~ ~|-~ ~|~ ~!~ rowspan=2 colspan=3| <table> </table> <tr> <td> </td> {{ }} [[ ]] a b <br> <ref> </ref>"


@settings(deadline=None)
@given(st.lists(st.sampled_from([*TABLE_PIECES.replace("~", "\n").split(" "), " "]), max_size=50))
def test_any_table_gives_lines_in_order(pieces: list[str]) -> None:
    page = plain_text("".join(pieces))
    assert page.text == page.text.strip()
    starts = [section.start for section in page.sections]
    assert starts == sorted(set(starts))
    assert not {"{{", "[["} & {page.text[i : i + 2] for i in range(len(page.text))}


@pytest.mark.parametrize(
    ("field", "line"),
    [
        ("melting point = 13.99 [[Kelvin|K]]<ref>r</ref>", "melting point: 13.99 K"),
        ("birth_date = {{birth date and age|1912|6|23|df=y}}", "birth date: 23 June 1912"),
        ("died = {{death date|1954|6}}", "died: June 1954"),
        ("gestorben = {{Datum|1954|6|7}}", "gestorben: 1954-06-07"),
        ("naissance = {{Date de naissance|23|juin|1912}}", "naissance: 23 juin 1912"),
        ("fecha = {{fecha|23|6|1912}}", "fecha: 1912-06-23"),
        ("starring = {{ubl|[[Ann Lee]]|Bob Poe}}", "starring: Ann Lee; Bob Poe"),
        ("starring = {{Plainlist|\n* Ann\n* Bob}}", "starring: Ann; Bob"),
        ("writer = Ann<br />Bob<br>(story)", "writer: Ann; Bob (story)"),
        ("area = {{convert|5|km2|sqmi}}", "area: 5 km²"),
        ("density = {{val|0.0899|ul=g/L}}", "density: 0.0899 g/L"),
        ("spouse = {{marriage|Ann Lee|1990|2000|end=div}}", "spouse: Ann Lee (1990–2000)"),
        ("spouse = {{marriage|Ann Lee}}", "spouse: Ann Lee"),
        ("tall = {{height|ft=5|in=10}}", "tall: 5 ft 10 in"),
        ("author = {{sortname|Ann|Lee}}", "author: Ann Lee"),
        ("open = {{yes}} {{no|Seldom}}", "open: Yes Seldom"),
        ("gross = {{US$|10 million}}", "gross: US$10 million"),
        ("website = {{URL|example.org}}", "website: example.org"),
        ("country = {{flag|France}}", "country: France"),
        ("populationTotal = 7", "population total: 7"),
        ("ratio: x = 1:2", "ratio x: 1:2"),
        ("spouse2 = Ann", "spouse: Ann"),
        ("population = 212038", "population: 212038"),
        ("share = 50%", "share: 50%"),
        ("currency = Euro<sup>a</sup>, 5 m<sup>2</sup>", "currency: Euro, 5 m²"),
        ("age = {{age|1912|6|23}} 7", "age: 7"),
        ("coordinates = {{coord|51.5|-0.13|display=inline,title}}", "coordinates: 51.5° N, 0.13° W"),
    ],
)
def test_fields_come_as_readable_lines(field: str, line: str) -> None:
    assert fields("symbol = H", field) == ["symbol: H", line]


@pytest.mark.parametrize(
    "field",
    ["image = A.jpg", "logo = [[File:A.svg|200px]]", "image_size = 200px", "caption = A cat", "alt = x", "empty =",
     "note = {{unknown|x}}", "colour = #ff00aa", "shade = ff00aa", "bg = red\n| background = x", "image=A.jpg\n| image_caption = A cat",
     "BILD = A.jpg\n| BILDBESCHREIBUNG = Eine Katze", "width = 30", "position = left", "| positional", "dash = —"],
)  # fmt: skip
def test_pictures_empty_fields_and_layout_are_dropped(field: str) -> None:
    assert [line for line in fields("symbol = H", field) if not line.startswith("bg")] == ["symbol: H"]


def test_numbered_names_and_values_belong_together() -> None:
    shown = fields("above = Title", "label1 = [[Symbol]]:", "data1 = H", "data2 = lost", "label3 = none")
    assert shown == ["Symbol: H"]


def test_latitude_and_longitude_in_parts_are_joined() -> None:
    assert fields("latd = 51", "latm=30", "latNS=N", "longd=0", "longm=7", "longEW=W", "a = b") == [
        "a: b",
        "coordinates: 51°30′ N, 0°7′ W",
    ]
    assert fields("lat_deg = 51.5", "lon_deg=-0.13", "a = b") == ["a: b", "coordinates: 51.5° N, 0.13° W"]
    assert fields("lat_deg = 51.5", "a = b") == ["a: b"]


FOUR = "|one = 1a\n|two = 2a\n|three = 3a\n|four = 4a\n"


@pytest.mark.parametrize("name", ["Infobox film", "infobox_settlement", "Taxobox", "Ficha/Infobox", "Инфо\n"])
def test_infoboxes_are_known_by_name_or_by_their_fields(name: str) -> None:
    [(_, text)] = blocks("{{Use dmy dates|date=May}}\n{{" + name + FOUR + "}}\n'''Foo''' is.", "infobox")
    assert text.split("\n") == ["one: 1a", "two: 2a", "three: 3a", "four: 4a"]


@pytest.mark.parametrize(
    "wikitext",
    [
        "{{Zitat\n|one = 1\n|two=\n}}\nText.",
        "Foo ({{zh\n" + FOUR + "}}) is.",
        "'''Foo''' is long enough to be prose. " * 9 + "\n{{Box\n" + FOUR + "}}\nText.",
        "Text.\n== H ==\n{{Box\n" + FOUR + "}}\nText.",
        "<ref>{{Box\n" + FOUR + "}}</ref>Text.",
    ],
    ids=["few fields", "within a line", "after prose", "under a heading", "in a reference"],
)
def test_other_templates_are_none(wikitext: str) -> None:
    assert blocks(wikitext, "infobox") == []


def test_an_infobox_by_name_may_stand_anywhere_and_in_another() -> None:
    found = blocks("Text.\n== Car ==\n{{Infobox car|engine=V8|module={{Infobox engine|power=9 kW}}}}\nMore.", "infobox")
    assert found == [("car", "engine: V8"), ("engine", "power: 9 kW")]


def test_a_table_of_the_class_infobox_is_one() -> None:
    table = (
        "{| class='infobox geography'\n! colspan=2 | Foo\n|-\n| '''Capital''': || Bar\n|-\n! Area\n| 5 km²\n|}\nText."
    )
    assert blocks(table, "infobox") == [("1", "Capital: Bar\nArea: 5 km²".lower().replace("bar", "Bar"))]
    assert blocks(table, "table") == []


def test_the_title_stands_before_each_infobox() -> None:
    page = plain_text("{{Infobox a|b=c}}Prose.\n{|\n! A !! B\n|-\n| 1 || 2\n|}\n{{Infobox d|e=f}}")
    shown = titled(page, "Foo")
    parts = [shown.text[section.start :].split("\n")[0] for section in shown.sections]
    assert parts == ["Foo — b: c", "Foo — e: f", "A: 1; B: 2"]
    assert titled(plain_text("Prose."), "Foo") == plain_text("Prose.")


@pytest.mark.parametrize(
    ("line", "field"),
    [
        ("Foo — b: c; d", ("b", ["c", "d"])),
        ("b: c: d", ("b", ["c: d"])),
        ("no field", None),
        ("b: ", None),
        (": c", None),
    ],
)
def test_fields_are_read_back(line: str, field: object) -> None:
    assert field_of(line, "Foo") == field


@pytest.mark.parametrize(
    ("call", "shown"),
    [
        ("51.5|-0.13", "51.5° N, 0.13° W"),
        ("51.5|-0.13|region:GB|display=inline", "51.5° N, 0.13° W"),
        ("51.5|N|0.13|W|display=it", "51.5° N, 0.13° W"),
        ("51|30|26|N|0|7|39|W|type:city", "51°30′26″ N, 0°7′39″ W"),
        ("51|30||N|0|7||W", "51°30′ N, 0°7′ W"),
        ("NS=51/30/26/N|EW=0/7/39/O", "51°30′26″ N, 0°7′39″ E"),
        ("51|N|2|E", "51° N, 2° E"),
    ],
)
def test_coordinates_in_a_sentence(call: str, shown: str) -> None:
    assert plain_text(f"It lies at {{{{coord|{call}}}}}, by the sea.").text == f"It lies at {shown}, by the sea."


@pytest.mark.parametrize(
    "call", ["", "x|y", "95|N|2|E", "51|N|181|E", "51", "51|N", "51|61|N|2|E", "N|E", "-51|N|2|E", "1|E|2|N"]
)
def test_what_are_no_coordinates_shows_nothing(call: str) -> None:
    assert coordinates(call.split("|"), {}) == ""


@pytest.mark.parametrize("call", ["51|N|2|E|display=title", "51|N|2|E"])
def test_the_page_has_its_own_coordinates(call: str) -> None:
    alone = plain_text(f"{{{{coord|{call}}}}}\nProse.")
    assert alone.text == "Prose.\n\ncoordinates: 51° N, 2° E"
    assert [(section.kind, section.name) for section in alone.sections] == [("infobox", "coordinates")]
    boxed = plain_text(f"{{{{Infobox a|b=c}}}}\nProse.\n{{{{coord|{call}}}}}\n")
    assert boxed.text == "Prose.\n\nb: c\ncoordinates: 51° N, 2° E"
    twice = plain_text(f"{{{{Infobox a|coordinates={{{{coord|{call}}}}}}}}}\nProse.\n{{{{coord|{call}}}}}\n")
    assert twice.text.count("51° N") == 1


def test_source_code_is_kept_as_it_is_written() -> None:
    code = "x = '''a'''\n\n  if y &lt; 3:  # {{b}} [[c]] &#65;\n}"
    for tag in ("syntaxhighlight", "source"):
        wikitext = f'Before.\n== Use ==\n<{tag} lang="py">\n{code}\n</{tag}>\nAfter.'
        assert plain_text(wikitext).text == f"Before.\n\nAfter.\n\n{code}"
        assert blocks(wikitext, "code") == [("py", code)]
        assert plain_text(wikitext).sections[-1].heading == "Use"
    assert plain_text('Call <syntaxhighlight lang="c" inline>f(x)</syntaxhighlight> or <code>g(y)</code>.').text == (
        "Call f(x) or g(y)."
    )
    assert plain_text("a<source lang=c />b").text == "ab"


def test_limits_of_infoboxes_and_code_are_kept_and_what_they_leave_out_is_counted() -> None:
    page = plain_text("{{Infobox\n" + "".join(f"|a{'x' * n} = {n}y\n" for n in range(1, MOST_FIELDS + 8)) + "}}")
    assert len(page.text.split("\n")) == MOST_FIELDS
    assert page.lost == {"infobox fields": 7}
    page = plain_text("{{Infobox|a=" + "long " * MOST_VALUE + "}}")
    assert len(page.text) < MOST_VALUE + 10
    assert page.lost == {"ends of infobox fields": 1}
    page = plain_text("<source lang=c>" + "int x;\n" * 9_000 + "</source>")
    assert len(page.text) <= 20_000
    assert page.lost == {"ends of blocks of code": 1}
    page = plain_text(
        "<source>x</source>\n" + "<source>" + "y" * 19_000 + "</source>\n" * 1 + f"<source>{'z' * 19_000}</source>" * 30
    )
    assert page.lost == {"blocks of code": 10}
    assert len(page.text) < 420_000


@pytest.mark.parametrize(
    "wikitext",
    [
        "{{Infobox\n|a = b\n\nProse.",
        "{{Infobox\n|a = {{c\n|d = e\n}}\n\nProse.",
        "{{Infobox|a = {|\n|b\n}}\nProse.",
        "{{Infobox|a = <source>b}}\nProse.",
        "{{Infobox|a = [[b}}\nProse.",
        "{{Infobox}}\nProse.",
        "{{Infobox|}}\nProse.",
        "{{Infobox|=b|c}}\nProse.",
        "{{Infobox|{{{1}}}=b}}\nProse.",
        "<source lang=c>x\n\nProse.",
    ],
)
def test_broken_infoboxes_leave_the_prose_and_no_markup(wikitext: str) -> None:
    page = plain_text(wikitext, FILES)
    assert "Prose." in page.text
    assert not any(mark in page.text for mark in ("{{", "}}", "[[", "{|"))


BOX_PIECES = "{{ }} {{Infobox |a= |latd= | = {| |} <source> </source> <syntaxhighlight> {{coord|1|N|2|E}} [[ ]] x 51 ~ <br> {{ubl|"


@settings(deadline=None)
@given(st.lists(st.sampled_from([*BOX_PIECES.replace("~", "\n").split(" "), " "]), max_size=50))
def test_any_infobox_gives_lines_in_order(pieces: list[str]) -> None:
    page = titled(plain_text("".join(pieces)), "T")
    starts = [section.start for section in page.sections]
    assert starts == sorted(set(starts))
    assert all(page.text[s.start :].startswith("T — ") for s in page.sections if s.kind == "infobox")
    prose_end = next((s.start for s in page.sections if s.kind), len(page.text))
    assert "{{" not in page.text[:prose_end]


@pytest.mark.parametrize(("opening", "closing"), [("{|\n|\n", "\n|}"), ("{{Infobox|a=", "}}")])
def test_ten_thousand_within_each_other_are_refused_or_read(opening: str, closing: str) -> None:
    begun = time.process_time()
    with pytest.raises(ValueError, match="never closed"):
        plain_text(opening * 10_000)
    deep = plain_text("Lead.\n" + opening * 10_000 + "x" + closing * 10_000)
    assert deep.text.startswith("Lead.")
    assert opening[:2] not in deep.text
    assert time.process_time() - begun < 20
