"""Facts that texts state in set phrases."""

from __future__ import annotations

import pytest

from atomr_local.language.properties import StatedFact, facts_in


@pytest.mark.parametrize(
    ("text", "relation", "value"),
    [
        ("Ann Lee (born 3 May 1901) was a painter.", "date of birth", "3 May 1901"),
        ("Ann Lee( born May 3, 1901) was a painter.", "date of birth", "May 3, 1901"),
        ("Ann Lee (3 May 1901 – 4 June 1980) was a painter.", "date of death", "4 June 1980"),
        ("She was born on 3 May 1901 in York, England.", "place of birth", "York, England"),
        ("The Lake is a 1931 drama film directed by Jane Roe and starring Bob Poe.", "director", "Jane Roe"),
        ("He was the son of John Lee and Mary Fox.", "father", "John Lee"),
        ("He was the son of John Lee and his wife Mary Fox.", "mother", "Mary Fox"),
        ("She married Bob Poe in 1920.", "spouse", "Bob Poe"),
        ("The firm was founded in 1899 by Jane Roe.", "founded by", "Jane Roe"),
        ("He died of pneumonia in York.", "cause of death", "pneumonia"),
        ("He was born in October 1813 in York, England.", "place of birth", "York, England"),
        ("Ann Lee (6 January 1891 — 22 December 1978) was a painter.", "date of birth", "6 January 1891"),
        ("Ann Lee( June 7, 1909 in York – May 4, 1986 in Leeds)", "date of birth", "June 7, 1909"),
        ("Ann Lee( June 7, 1909 in York – May 4, 1986 in Leeds)", "place of birth", "York"),
        ("Ann Lee( June 7, 1909 in York – May 4, 1986 in Leeds)", "date of death", "May 4, 1986"),
        ("Ann Lee( June 7, 1909 in York – May 4, 1986 in Leeds)", "place of death", "Leeds"),
        ("Ann Lee (born 11 May 1900, York; died 5 May 1974, Leeds)", "date of death", "5 May 1974"),
        ("Ann Lee (German: Anna Li, 9 May 1912, York – 1 June 1997, Leeds)", "place of birth", "York"),
        ("Ann Lee (born Anna Maria Poe; 25 March 1947) is", "date of birth", "25 March 1947"),
        ("She received the Nobel Prize in Physics.", "award received", "Nobel Prize in Physics"),
    ],
)
def test_a_fact_and_where_it_stands(text: str, relation: str, value: str) -> None:
    found = {fact.relation: fact for fact in facts_in(text)}
    assert found[relation].value == value
    assert text[found[relation].start : found[relation].end] == value


def test_at_most_one_fact_of_a_relation() -> None:
    text = "The Lake is a film directed by Jane Roe. Its sequel was directed by Bob Poe."
    start = text.index("Jane Roe")
    assert list(facts_in(text)) == [StatedFact("director", "Jane Roe", start, start + 8)]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Nothing of the kind.",
        "born in March",
        "born in March 1901",
        "born in the year of the comet",
        "directed by someone",
    ],
)
def test_no_fact(text: str) -> None:
    assert list(facts_in(text)) == []
