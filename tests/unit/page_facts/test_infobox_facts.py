from __future__ import annotations

import json
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atomr_local.page_facts.extraction import facts_of_page, infobox_facts
from atomr_local.page_facts.passages import PagePassage


def metadata(kind: str, name: str) -> str:
    return json.dumps({"atomr": {"kind": kind, "name": name}})


def facts(*fields: str, about: str = "film", title: str = "Leda") -> tuple[list[tuple[str, str]], dict[str, int]]:
    """(relation, value) of an infobox with these fields, and how many are no facts."""
    left_out: Counter[str] = Counter()
    box = PagePassage("p#1", title, f"{title} — " + "\n".join(fields), "", "", metadata("infobox", about))
    found = infobox_facts(title, [PagePassage("p#0", title, "Prose: x."), box], left_out)
    return [(fact.relation, fact.value) for fact in found], dict(left_out)


@pytest.mark.parametrize(
    ("about", "field", "expected"),
    [
        ("film", "director: Ann Lee", [("director", "Ann Lee")]),
        ("film", "starring: Ann Lee; Bob Poe (voice)", [("cast member", "Ann Lee"), ("cast member", "Bob Poe")]),
        ("film", "released: 17 January 1997 (Spain); 1998", [("publication date", "17 January 1997")]),
        ("film", "country: Spain", [("country of origin", "Spain")]),
        ("settlement", "country: Spain", [("country", "Spain")]),
        ("element", "melting point: 13.99 K (−259.16 °C)", [("melting point", "13.99 K")]),
        ("element", "symbol: H", [("element symbol", "H")]),
        ("settlement", "population: 7,074 (2016)", [("population", "7,074")]),
        ("person", "occupation: Writer, Novelist", [("occupation", "Writer"), ("occupation", "Novelist")]),
        ("person", "birth place: Leeds, England", [("place of birth", "Leeds, England")]),
    ],
)
def test_fields_named_as_a_property_are_facts(about: str, field: str, expected: list[tuple[str, str]]) -> None:
    assert facts(field, about=about) == (expected, {})


@pytest.mark.parametrize(
    "field",
    ["flavour: sweet", "director: 3 May 1901", "director: Leda", "director: a man of whom nothing else is known",
     "released: soon", "area: 135,765", "symbol: LEDA", "type: Private", "languages: English 95.1%",
     "religion: See: a list", "alma mater: B.A., 1900)", "melting point: low", "producer: "],
)  # fmt: skip
def test_what_a_property_cannot_have_is_left_out_and_counted(field: str) -> None:
    found, left_out = facts(field, about="company")
    assert found == []
    assert left_out == ({"field": 1} if field != "producer: " else {})


def test_of_a_person_a_country_is_the_citizenship() -> None:
    found, _ = facts("birth date: 3 May 1901", "country: Spain", about="scientist")
    assert found == [("date of birth", "3 May 1901"), ("country of citizenship", "Spain")]


def test_a_relation_is_told_once() -> None:
    found, left_out = facts("director: Ann Lee", "director: Bob Poe")
    assert (found, left_out) == ([("director", "Ann Lee")], {"field": 1})


def test_facts_name_their_passage_and_stand_before_those_of_phrases() -> None:
    prose = PagePassage("p#0", "The Lake", "The Lake is a 1931 drama film directed by Bob Poe. It won the Lee Prize.")
    box = PagePassage(
        "p#1", "The Lake", "The Lake — director: Ann Lee\nflavour: sweet", "", "", metadata("infobox", "film")
    )
    table = PagePassage("p#2", "The Lake", "Director: Cid Roe", "", "Teams", metadata("table", "1"))
    left_out: Counter[str] = Counter()
    found = list(facts_of_page("The Lake", [prose, box, table], check=lambda: None, left_out=left_out))
    [director] = [fact for fact in found if fact.relation == "director"]
    assert (director.value, director.how, director.passage) == ("Ann Lee", "infobox", "p#1")
    assert director.to_dict()["stated"]["said"] == "infobox, director: Ann Lee"
    assert director.to_dict()["how"] == "infobox"
    assert left_out == {"field": 1}


def test_a_page_without_prose_has_the_facts_of_its_infobox() -> None:
    box = PagePassage("p#0", "The Lake", "The Lake — director: Ann Lee", "", "", metadata("infobox", "film"))
    [fact] = facts_of_page("The Lake", [box], check=lambda: None)
    assert fact.value == "Ann Lee"


@given(st.lists(st.text(max_size=60), max_size=8), st.text(max_size=20))
def test_any_text_is_read(lines: list[str], title: str) -> None:
    box = PagePassage("p#0", title, "\n".join(lines), "", "", metadata("infobox", "film"))
    for fact in infobox_facts(title, [box], Counter()):
        assert fact.relation and fact.value and "\n" not in fact.said
