"""Questions that ask for a time, answered from what qualifies the statements of a real index."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from support.graph_world import Asker
from support.homes import at_home
from support.wikidata_items import claim, entity, written_dump

from atomr_local.indexing import store
from atomr_local.indexing.graph_index.index import build_graph_index
from atomr_local.indexing.store import index_path
from atomr_local.language.question import read_question
from atomr_local.sources.graph import GraphSource
from atomr_local.sources.graph.sparql.process import run_query
from atomr_local.tree.nodes import Operator

DUMP = [
    entity(
        "Q183", "Germany",
        claim("P36", "Q64", "preferred", P580="1990-10-03"), claim("P36", "Q586", P580="1949-05-23", P582="1990-10-03"),
        claim("P36", "Q90", "deprecated", P580="1900"),
        claim("P1082", 82_000_000, P585="2011"), claim("P1082", 83_000_000, "preferred", P585="2019"),
        claim("P37", "Q188"),
    ),
    entity(
        "Q311", "Belgium",
        claim("P1082", 11_128_246, P585="2013"), claim("P1082", 11_035_948, P585="2013-01-01"),
        claim("P1082", 11_000_001, P585="2012-01-01"), claim("P1082", 11_000_002, "preferred", P585="2012-07-01"),
        claim("P1082", 10_000_001, P585="2000"), claim("P1082", 10_000_002, P585="2000"),
        claim("P166", "Q30", P585="2013"), claim("P166", "Q586", P585="2013-05-01"),
    ),
    entity("Q64", "Berlin"), entity("Q586", "Bonn"), entity("Q90", "Paris"), entity("Q188", "German"),
    entity("Q30", "mayor"), entity("Q31", "councillor"),
    entity("Q7", "Ann Example",
        claim("P39", "Q30", P580="2001", P582="2009-06", P642="Q64"), claim("P39", "Q31", P580="2010", P642="Q586"),
        claim("P26", "Q8", P580="1990", P582="1999"), claim("P26", "Q9", "preferred", P580="2005")),
    entity("Q8", "Bob One"), entity("Q9", "Carl Two"),
    entity("P166", "award received"), entity("P36", "capital"), entity("P1082", "population"), entity("P39", "position held"), entity("P26", "spouse"), entity("P37", "official language"),
]  # fmt: skip


@pytest.fixture(scope="module")
def asker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Asker]:
    with at_home(tmp_path_factory.mktemp("home")) as home:
        build_graph_index([written_dump(home / "dump.json", *DUMP)], "times")
        source = GraphSource.open(store.index_path("graph", "times"))
        yield Asker(source)
        source.close()


@pytest.mark.parametrize(
    ("head", "relation", "question", "expected"),
    [
        ("Germany", "capital", "", ["Berlin"]),
        ("Germany", "capital", "What was the capital of Germany in 1980?", ["Bonn"]),
        ("Germany", "capital in 1980", "", ["Bonn"]),
        ("Germany", "capital", "What was the capital of Germany in the 1970s?", ["Bonn"]),
        ("Germany", "capital", "What was Germany's capital as of 2015?", ["Berlin"]),
        ("Germany", "population", "How many people lived in Germany as of 2015?", ["82000000"]),
        ("Germany", "population", "What was the population of Germany in 2019?", ["83000000"]),
        ("Germany", "official language", "Which language was official in Germany in 1980?", ["German"]),
        ("Ann Example", "spouse", "Who was Ann Example's spouse in 1995?", ["Bob One"]),
        ("Ann Example", "spouse", "Who is Ann Example's spouse?", ["Carl Two"]),
        ("Ann Example", "position held", "What was Ann Example in March 2009?", ["mayor"]),
        ("Bob One", "spouse", "Whose spouse was Bob One in 1991?", ["Ann Example"]),
    ],
)
def test_relate_at_a_time(asker: Asker, head: str, relation: str, question: str, expected: list[str]) -> None:
    assert asker.relate(head, relation, question) == expected


@pytest.mark.parametrize(
    ("head", "relation", "expected"),
    [
        ("Germany", "first capital", ["Bonn"]),
        ("Germany", "second capital", ["Berlin"]),
        ("Germany", "current capital", ["Berlin"]),
        ("Germany", "latest capital", ["Berlin"]),
        ("Ann Example", "first spouse", ["Bob One"]),
        ("Ann Example", "last spouse", ["Carl Two"]),
        ("Ann Example", "current spouse", ["Carl Two"]),
        ("Ann Example", "present position held", ["councillor"]),
        ("Ann Example", "third spouse", []),
        ("Germany", "first official language", []),  # nothing tells since when
    ],
)
def test_first_second_last_and_current_are_told_by_the_times_of_the_statements(
    asker: Asker, head: str, relation: str, expected: list[str]
) -> None:
    found = asker.request(Operator.RELATE, head, relation)
    assert [value.text for value in found.values] == expected
    assert found.evidence and found.decided == bool(expected)


@pytest.mark.parametrize(
    ("relation", "year", "expected", "beside"),
    [
        ("population", "2013", ["11128246"], "11035948 (2013-01-01)"),
        ("population", "1 January 2013", ["11035948"], "11128246 (2013)"),
        ("population", "2012", ["11000002"], "11000001 (2012-01-01)"),
        ("population", "2000", ["10000001", "10000002"], ""),  # nothing tells which: the source has both
        ("award received", "2013", ["Bonn", "mayor"], ""),  # several may be received in a year
    ],
)
def test_of_several_figures_the_one_that_fits_the_time_best_is_the_answer_and_the_others_are_shown(
    asker: Asker, relation: str, year: str, expected: list[str], beside: str
) -> None:
    found = asker.request(Operator.RELATE, "Belgium", relation, question=f"What was its {relation} in {year}?")
    assert sorted(value.text for value in found.values) == expected
    assert (f"also stated: {beside}" in found.evidence[0].text) == bool(beside)
    assert list(found.dropped) == ([f"also stated for this time: {beside}"] if beside else [])
    assert len(found.evidence[0].locator["rows"]) == 2


def test_statements_of_other_times_are_shown_and_decide_nothing(asker: Asker) -> None:
    found = asker.request(Operator.RELATE, "Germany", "capital", question="What was the capital of Germany in 1700?")
    assert (found.values, found.decided) == ((), False)
    assert "Bonn (1949-05-23 to 1990-10-03)" in found.evidence[0].text
    assert "Paris" not in found.evidence[0].text


def test_the_evidence_shows_the_time_and_its_query(asker: Asker) -> None:
    found = asker.request(Operator.RELATE, "Germany", "capital", question="What was the capital of Germany in 1980?")
    [evidence] = found.evidence
    assert evidence.text == "Germany — capital: Bonn (1949-05-23 to 1990-10-03)."
    assert "P582" in str(evidence.locator["sparql"])
    assert [row["value"] for row in evidence.locator["rows"]] == ["http://www.wikidata.org/entity/Q586"]


@pytest.mark.parametrize(
    ("name", "condition", "expected"),
    [
        ("Germany", "capital is Bonn in 1980", True),
        ("Germany", "capital is Berlin in 1980", False),
        ("Germany", "capital is Berlin in 2010", True),
        ("Germany", "capital is Berlin", True),
        ("Bonn", "capital of Germany in 1980", True),
        ("Bonn", "capital of Germany in 2010", False),
        ("Ann Example", "spouse is Bob One in 1995", True),
        ("Ann Example", "spouse is Bob One in 2007", False),
        ("Ann Example", "position held mayor of Berlin", True),
        ("Ann Example", "position held mayor of Berlin in 2005", True),
        ("Ann Example", "position held mayor of Berlin in 2015", False),
    ],
)
def test_filter_at_a_time(asker: Asker, name: str, condition: str, expected: bool) -> None:
    assert asker.keeps(name, condition) is expected


@pytest.mark.parametrize(
    ("text", "rest", "span"),
    [
        ("capital in 1980", "capital", "1980"),
        ("president as of March 2015?", "president", "March 2015"),
        ("on 3 October 1990 the capital", "the capital", "3 October 1990"),
        ("population", "population", None),
        ("born in Berlin", "born in Berlin", None),
        ("one of 12 in 12 days", "one of 12 in 12 days", None),
    ],
)
def test_times_in_texts(text: str, rest: str, span: str | None) -> None:
    found, time = read_question(text).time
    assert (found, time.span.text if time else None) == (rest, span)


def test_a_name_with_a_year_in_it_asks_for_no_time(asker: Asker) -> None:
    from atomr_local.sources.graph.qualified_statements import requested_time

    assert requested_time("director", "Who directed Summer in 1942?", "Summer in 1942")[1] is None


def test_sparql_finds_qualified_statements_as_wikidata_has_them(asker: Asker) -> None:
    query = "SELECT ?end { wd:Q183 p:P36 ?s . ?s ps:P36 wd:Q586 ; pq:P582 ?end }"
    directory = asker.source.graph.directory
    assert [row["end"] for row in run_query(directory, query).rows] == ["1990-10-03"]
    assert run_query(directory, "ASK { wd:Q183 wdt:P36 wd:Q586 }").boolean is False


# Properties whose values are texts in several languages.


def test_every_text_of_a_motto_is_found(tmp_path: Path) -> None:
    texts = {"fr": "L'union fait la force", "nl": "Eendracht maakt macht"}
    mottos = [claim("P1451", {"text": text, "language": language}) for language, text in texts.items()]
    dump = written_dump(tmp_path / "a.jsonl", entity("Q31", "Belgium", *mottos), entity("P1451", "motto text"))
    build_graph_index([dump], "t")
    with closing(GraphSource.open(index_path("graph", "t"))) as source:
        ask = Asker(source)
        assert sorted(ask.relate("Belgium", "motto", "What is the motto of Belgium?")) == sorted(texts.values())
