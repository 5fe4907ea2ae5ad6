"""Countries and continents of places that relations lead to, and numbers of values."""

from __future__ import annotations

import pytest
from support.graph_world import Asker, world_fixture

from atomr_local.sources.graph import GraphSource
from atomr_local.sources.graph.relate.values import counted
from atomr_local.sources.graph.sparql.process import run_query
from atomr_local.sources.protocol import Value, ValueKind
from atomr_local.tree.nodes import Operator

PLACES = """
Poland | instance of | country
Poland | continent | Europe
Poland | shares border with | Germany
Poland | shares border with | Ukraine
Germany | instance of | sovereign state
Warsaw | instance of | city
Warsaw | country | Poland
Marie Curie | place of birth | Warsaw
Marie Curie | child | Irène Joliot-Curie
Marie Curie | child | Ève Curie
Marie Curie | date of birth | 7 November 1867
Frédéric Chopin | place of birth | Żelazowa Wola
Frédéric Chopin | country of citizenship | France
Żelazowa Wola | located in the administrative territorial entity | Gmina Sochaczew
Gmina Sochaczew | located in the administrative territorial entity | Masovia
Masovia | country | Poland
Masovia | instance of | region
Nobody | place of birth | Somewhere
Somewhere | instance of | village
Nobody Else | place of birth | Elsewhere
Prince | place of birth | Germany
Wanderer | place of burial | Loop
Loop | located in the administrative territorial entity | Round
Round | located in the administrative territorial entity | Loop
Ann Author | author of | One Book
Old Novel | author | Ann Author
New Novel | author | Ann Author
Old Novel | number of pages | 300
Old Novel | country of origin | Germany
"""


ask = world_fixture(PLACES)


@pytest.mark.parametrize(
    ("head", "relation", "question", "expected"),
    [
        ("Marie Curie", "country of birth", "", ["Poland"]),
        ("Marie Curie", "birth country", "", ["Poland"]),
        ("Marie Curie", "nation of birth", "", ["Poland"]),
        ("Marie Curie", "country where she was born", "", ["Poland"]),
        ("Marie Curie", "continent of birth", "", ["Europe"]),
        ("Marie Curie", "place of birth", "In which country was Marie Curie born?", ["Poland"]),
        ("Marie Curie", "place of birth", "Where was Marie Curie born?", ["Warsaw"]),
        ("Frédéric Chopin", "country of birth", "", ["Poland"]),
        ("Frédéric Chopin", "region of birth", "", ["Masovia"]),
        ("Prince", "country of birth", "", ["Germany"]),
        ("Żelazowa Wola", "country", "", ["Poland"]),
        ("Żelazowa Wola", "continent", "", ["Europe"]),
        ("Warsaw", "country", "In which country is Warsaw?", ["Poland"]),
        # What already is a country's relation, or lies beside the head, is left as it is.
        ("Frédéric Chopin", "country of citizenship", "", ["France"]),
        ("Old Novel", "country of origin", "Which country is Old Novel from?", ["Germany"]),
        ("Poland", "shares border with", "Which countries border Poland?", ["Germany", "Ukraine"]),
    ],
)
def test_the_level_asked_for_is_given(ask: Asker, head: str, relation: str, question: str, expected: list[str]) -> None:
    assert ask.relate(head, relation, question) == expected


def test_every_step_upwards_is_shown_and_can_be_run_again(ask: Asker) -> None:
    found = ask.request(Operator.RELATE, "Frédéric Chopin", "country of birth")
    assert [evidence.text for evidence in found.evidence] == [
        "Frédéric Chopin — place of birth: Żelazowa Wola.",
        "Żelazowa Wola — located in the administrative territorial entity: Gmina Sochaczew.",
        "Gmina Sochaczew — located in the administrative territorial entity: Masovia.",
        "Masovia — country: Poland.",
    ]
    assert found.decided
    for evidence in found.evidence:
        again = run_query(ask.source.graph.directory, evidence.locator["sparql"])
        assert list(again.rows) == evidence.locator["rows"] != []


@pytest.mark.parametrize(("head", "relation"), [("Nobody", "country of birth"), ("Wanderer", "country of burial")])
def test_a_place_is_not_passed_off_as_its_country(ask: Asker, head: str, relation: str) -> None:
    found = ask.request(Operator.RELATE, head, relation)
    assert (found.values, found.decided) == ((), False)
    assert len(found.evidence) == 1


def test_a_place_of_unknown_kind_may_be_what_the_question_asks_for(ask: Asker) -> None:
    question = "In which country was Nobody Else born?"
    assert ask.relate("Nobody Else", "place of birth", question) == ["Elsewhere"]


@pytest.mark.parametrize(
    ("head", "relation", "question", "expected"),
    [
        ("Poland", "countries border", "How many countries border Poland?", "2"),
        ("Poland", "shares border with", "How many countries border Poland?", "2"),
        ("Marie Curie", "number of children", "", "2"),
        ("Marie Curie", "how many children", "", "2"),
        ("Ann Author", "novels written", "How many novels did Ann Author write?", "2"),
    ],
)
def test_values_are_counted_where_their_number_is_asked_for(
    ask: Asker, head: str, relation: str, question: str, expected: str
) -> None:
    found = ask.request(Operator.RELATE, head, relation, question=question)
    assert [(value.text, value.kind) for value in found.values] == [(expected, ValueKind.NUMBER)]
    assert found.evidence[-1].text.endswith(f": {expected} in all.")


def test_a_number_that_is_stated_is_not_counted(ask: Asker) -> None:
    assert ask.relate("Old Novel", "number of pages", "How many pages has Old Novel?") == ["300"]
    assert Asker(GraphSource(ask.source.graph, None)).relate("Marie Curie", "number of spouses") == []
    assert ask.relate("Marie Curie", "date of birth", "How many years ago was Marie Curie born?") == ["7 November 1867"]


# What is counted: things of the kind that is asked for.

FILMS = """
Ann Lens | instance of | human
Big Sea | director | Ann Lens
Big Sea | instance of | silent short film
Small Sea | director | Ann Lens
Small Sea | instance of | film
Long Sea | director | Ann Lens
Long Sea | instance of | television series
Dry Sea | director | Ann Lens
"""
films = world_fixture(FILMS)


@pytest.mark.parametrize(
    ("question", "number"),
    [
        ("How many films did Ann Lens direct?", "3"),
        ("How many short films were directed by Ann Lens?", "3"),
        ("What is the number of films directed by Ann Lens?", "3"),
        ("How many television series did Ann Lens direct?", "2"),
        ("How many works did Ann Lens direct?", "4"),
        ("How many operas did Ann Lens direct?", "1"),
        ("How many film prizes did Ann Lens win?", "4"),
    ],
)
def test_only_the_kind_that_is_asked_for_is_counted(films: Asker, question: str, number: str) -> None:
    assert films.relate("Ann Lens", "films directed", question) == [number]


TYPES = {
    "a": ["novel"], "b": ["play"], "c": ["literary work"], "d": [], "e": ["film"], "f": ["film", "literary work"],
    "g": ["album"], "h": ["television series episode"], "i": ["video game"],
}  # fmt: skip


@pytest.mark.parametrize(
    ("question", "kept", "kind"),
    [
        ("How many books did she write?", "abcdf", "book"),
        ("How many plays did she write?", "bcdf", "play"),
        ("How many songs has she written?", "cdf", "song"),
        ("How many series is she in?", "cdfh", "series"),
        ("How many games are by her?", "cdfi", "game"),
        ("How many children did she have?", "abcdefghi", ""),
        ("Which books did she write?", "abcdefghi", ""),
        ("", "abcdefghi", ""),
    ],
)
def test_what_is_left_out_is_surely_something_else(question: str, kept: str, kind: str) -> None:
    values = [Value(name, ValueKind.ENTITY, name) for name in TYPES]
    found = counted(values, question, TYPES.__getitem__)
    assert ("".join(value.text for value in found[0]), found[1]) == (kept, kind)


def test_where_nothing_is_of_the_kind_all_are_counted() -> None:
    values = [Value(name, ValueKind.ENTITY, name) for name in "eg"]
    assert counted(values, "How many paintings did she make?", TYPES.__getitem__) == (values, "")
