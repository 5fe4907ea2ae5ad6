"""Graph queries in the words of a person."""

from __future__ import annotations

import pytest

from atomr_local.tui.rendering import property_labels, query_in_words

ENTITY = "<http://www.wikidata.org/entity/Q1>"
FATHER = "<http://www.wikidata.org/prop/direct/P22>"


@pytest.mark.parametrize(
    ("pattern", "text", "said"),
    [
        (f"{ENTITY} {FATHER} ?value .", "Emma — father: Henry.", "father of Emma"),
        (f"?value {FATHER} {ENTITY} .", "Isabella — father: Emma. Jane — father: Emma.", "what has Emma as its father"),
        (f"{ENTITY} ?property ?value .", "Emma: novel. Emma — author: Jane Austen.", "everything about Emma"),
        (f"{ENTITY} ?relation <urn:x> .", "Emma — father: Henry.", "how Emma is related to another"),
        (f"{ENTITY} {FATHER} ?value .", "From elsewhere.", "father of Emma"),
        (f"{ENTITY} {FATHER} ?value .", "Emma — shares border with: Jane.", "Emma: shares border with"),
        ("?a ?b ?c", "From elsewhere.", "a query about Emma"),
        (f"{ENTITY} {FATHER} ?value .", "Emma — fa\x1b[31mther: Henry.", "father of Emma"),
    ],
)
def test_a_query_in_words(pattern: str, text: str, said: str) -> None:
    assert query_in_words({"sparql": f"SELECT ?value WHERE {{ {pattern} }}"}, "Emma", text) == said


def test_p_numbers_have_labels() -> None:
    assert property_labels(f"{ENTITY} {FATHER} ?x . ?x {FATHER} ?y") == {"P22": "father"}


def test_a_long_name_stays_on_one_line() -> None:
    assert len(query_in_words({"sparql": ""}, "E" * 5000, "")) == 120


def test_a_query_that_a_model_sketched_is_told_by_its_sketch() -> None:
    sketch = "count ?x: ?x | parent astronomical body | Mars"
    assert query_in_words({"sparql": "SELECT …", "sketch": f"{sketch}\x1b[2J\n"}, "Emma", "2.") == sketch
