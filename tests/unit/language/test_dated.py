"""Words of dates: they name no place and no person."""

from __future__ import annotations

import pytest

from atomr_local.language.literals import between_dates, only_in_dates
from atomr_local.language.properties import facts_in


@pytest.mark.parametrize(
    ("text", "pieces"),
    [
        ("She was born in October 1813.", ["She was born in", "."]),
        ("She was born in October 1813 in Leipzig.", ["She was born in", "in Leipzig."]),
        ("Ann Lee (born 3 May 1901 in York)", ["Ann Lee (born", "in York)"]),
        ("born May 3, 1901, York", ["born", ", York"]),
        ("born on the 3rd of May, 1901 at York", ["born on the", "at York"]),
        ("born Oct. 1813 in York", ["born", "in York"]),
        ("born in early October 1813 in York", ["born in", "in York"]),
        ("born in the autumn of 1813 in York", ["born in the", "in York"]),
        ("born in Spring 1813", ["born in"]),
        ("born on 3 May in York", ["born on", "in York"]),
        ("In May 1901 Ann Lee moved to York.", ["In", "Ann Lee moved to York."]),
        ("born in March, Cambridgeshire", ["born in March, Cambridgeshire"]),
        ("May Lee and April Fox march in may", ["May Lee and April Fox march in may"]),
        ("He lives near September 11 Memorial Park.", ["He lives near September 11 Memorial Park."]),
        ("Hannover 1896 and 1860 Munich", ["Hannover 1896 and 1860 Munich"]),
        ("", []),
    ],
)
def test_a_text_without_its_dates(text: str, pieces: list[str]) -> None:
    assert between_dates(text) == pieces


def test_what_stands_in_dates_alone() -> None:
    texts = ["She was born in October 1813 in March, a town.", "March 1813 was cold."]
    assert only_in_dates("October", texts) and only_in_dates("October 1813", texts)
    assert not only_in_dates("March", texts), "the town stands there too"
    assert not only_in_dates("York", texts), "what is nowhere is not in a date"


@pytest.mark.parametrize(
    "when", ["in October 1813", "in Oct. 1813", "in Sept 1813", "in October of 1813", "in Spring 1813", "in Autumn of 1813"]
)  # fmt: skip
@pytest.mark.parametrize("said", ["She was born {}.", "Ann Lee, born {}, was a painter.", "She died {}."])
def test_no_time_is_stated_as_a_place(when: str, said: str) -> None:
    assert not [fact for fact in facts_in(said.format(when)) if fact.relation.startswith("place")]


def test_places_that_begin_like_a_month_are_places() -> None:
    [fact] = facts_in("She was born in Jan Mayen.")
    assert (fact.relation, fact.value) == ("place of birth", "Jan Mayen")
