"""Delimited files: which delimiter, which quotes, and what stands above the names of the columns."""

from __future__ import annotations

from functools import partial

import pytest
from support.read_documents import lines_of, read_document

read = partial(read_document, name="a.csv")


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        # quotes are doubled, hold delimiters and ends of lines
        ('id,text,by\r\n1,"He said, ""stay, here"", and left",Ann\r\n2,"A, B",Bob\r\n',
         ['id: 1; text: He said, "stay, here", and left; by: Ann', "id: 2; text: A, B; by: Bob"]),
        ('id,text\n1,"two\nlines"\n2,x\n', ["id: 1; text: two lines", "id: 2; text: x"]),
        ('id, text\n1, "a, b"\n2, c\n', ["id: 1; text: a, b", "id: 2; text: c"]),
        ('1,"Lee, Ann"\n2,"Ray, Bob"\n', ["1; Lee, Ann", "2; Ray, Bob"]),
        ("'Lee, Ann','x, y'\n'Ray, Bob','z, w'\n", ["Lee, Ann: Ray, Bob; x, y: z, w"]),
        ("Lee, Ann;1912\nRay, Bob;1913\n", ["Lee, Ann; 1912", "Ray, Bob; 1913"]),
        # lists in cells
        ("id;on;list\n1;False;['345']\n4;False;['112', '112']\n", ["id: 1; on: False; list: ['345']", "id: 4; on: False; list: ['112', '112']"]),
        ("name,year,tags\nAnn,1999,x;y;z\nBob,2001,x;z\n", ["name: Ann; year: 1999; tags: x;y;z", "name: Bob; year: 2001; tags: x;z"]),
        # commas of numbers, with names of columns and without
        ("what;eur\nrent;84,20\nbread;3,40\nmilk;1,10\n", ["what: rent; eur: 84,20", "what: bread; eur: 3,40", "what: milk; eur: 1,10"]),
        ("1,5;2,5;3,5\n4,5;5,5;6,5\n", ["1,5; 2,5; 3,5", "4,5; 5,5; 6,5"]),
        ("name|born\nLee, Ann|1912\nRay, Bob|1913\n", ["name: Lee, Ann; born: 1912", "name: Ray, Bob; born: 1913"]),
        ("name\tsays\nAnn\ta, b; c\nBob\td\n", ["name: Ann; says: a, b; c", "name: Bob; says: d"]),
        # apostrophes quote nothing, unless they quote all
        ("name,motto,year\nAnn,'Tis the season,1999\nBob,It's 'fine',2001\nCara,don't,2003\n",
         ["name: Ann; motto: 'Tis the season; year: 1999", "name: Bob; motto: It's 'fine'; year: 2001", "name: Cara; motto: don't; year: 2003"]),
        ("'name','born'\n'Lee, Ann','1912'\n'Ray, Bob','1913'\n", ["name: Lee, Ann; born: 1912", "name: Ray, Bob; born: 1913"]),
        # a quote that never ends, inches, and quotes behind backslashes
        ('name,motto,year\nAnn,"Tis the season,1999\nBob,fine,2001\nCara,so,2003\n',
         ['name: Ann; motto: "Tis the season; year: 1999', "name: Bob; motto: fine; year: 2001", "name: Cara; motto: so; year: 2003"]),
        ('part,size\npipe,5"\nrod,7"\n', ['part: pipe; size: 5"', 'part: rod; size: 7"']),
        ('id,says,path\n1,"\\"hi, there\\"",C:\\temp\n2,"x",D:\\\n', ['id: 1; says: "hi, there"; path: C:\\temp', "id: 2; says: x; path: D:\\"]),
        # what the file wishes is no row
        ("sep=;\nname;eur\nAnn;1,5\n", ["name: Ann; eur: 1,5"]),
        ('\ufeff"sep=|"\r\nname|born\r\nAnn|1912\r\n', ["name: Ann; born: 1912"]),
        ("sep=\t\nname\tborn\nAnn\t1912\n", ["name: Ann; born: 1912"]),
        ("Name\nAnn\nBob\n", ["Name", "Ann", "Bob"]),
    ],
)  # fmt: skip
def test_rows_by_the_delimiter_that_makes_them_equally_wide(source: str, expected: list[str]) -> None:
    assert lines_of(read(source)) == expected


_ROWS = "Datum;Wer;Betrag\n02.01.2026;Stadtwerke;-84,20\n05.01.2026;Huber;-3,40\n"
_TABLE = ["Datum: 02.01.2026; Wer: Stadtwerke; Betrag: -84,20", "Datum: 05.01.2026; Wer: Huber; Betrag: -3,40"]
_ABOUT = ["Konto: DE00 1234", "Zeitraum: 01.01.2026 bis 31.01.2026"]


@pytest.mark.parametrize(
    ("above", "about"),
    [
        ("Kontoauszug\n", []),
        ("Kontoauszug\n\n", []),
        ("Kontoauszug\nKonto;DE00 1234\nZeitraum;01.01.2026 bis 31.01.2026\n\n", _ABOUT),
        ("Kontoauszug\nKonto;DE00 1234\nZeitraum;01.01.2026 bis 31.01.2026\n", _ABOUT),
        ("Kontoauszug;;\nKonto;DE00 1234;\nZeitraum;01.01.2026 bis 31.01.2026;\n;;\n", _ABOUT),
    ],
)
def test_lines_above_the_names_are_a_title_and_what_the_file_is_about(above: str, about: list[str]) -> None:
    document = read(above + _ROWS)
    assert document.text.split("\n") == about + _TABLE
    assert (document.title, document.sections) == ("Kontoauszug", [(0, 1, "Kontoauszug")])
    row = above.count("\n") + 3
    assert document.places[-1][1] == f"A{row}:C{row}"


def test_names_of_columns_that_are_one_too_few_are_no_title() -> None:
    assert read("Name,Age\nAnn,5,x\nBob,6,y\n").title == ""
