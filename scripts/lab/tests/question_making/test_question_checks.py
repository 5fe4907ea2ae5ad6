"""What can be told of a question without a model, on small indexes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pytest
from atomr_lab.question_making.hops import composed
from atomr_lab.question_making.knowledge import Reason, answer_leak, first_problem, graph_to_text, text_to_graph
from support.crossing_world import build_world, opened

Found = dict[str, tuple[tuple[str, ...], str]]


@pytest.fixture
def found(own_home: Path) -> Callable[[Mapping[str, str], Sequence[str]], Found]:
    """Questions of a world: their answers and the reason against them, with the word about it."""

    def of(pages: Mapping[str, str], facts: Sequence[str]) -> Found:
        build_world(own_home, pages=pages, facts=facts)
        told: Found = {}
        with opened() as knowledge:
            openings = list(knowledge.passages.openings(0, 100))
            both = [*text_to_graph(knowledge, openings, counted=False), *graph_to_text(knowledge, openings)]
            for candidate in both:
                made = composed(candidate)
                problem = first_problem(made, knowledge)
                told[made.question] = made.answers, f"{problem[0]}: {problem[1]}" if problem else ""
        return told

    return of


def test_a_place_with_its_region_is_the_graphs_place_in_that_region(found: Callable[..., Found]) -> None:
    pages = {"Ann Lee": "Ann Lee was a painter. She was born in York, England."}
    facts = ["York | country | England", "York | inception | 1212", "Leeds | country | England"]
    made = found(pages, facts)
    assert made["When was the place where Ann Lee was born founded?"] == (("1212",), "")
    assert found(pages, ["York | country | Canada", "York | inception | 1793"]) == {}, "another York"


def test_a_name_with_other_accents_may_be_another_place(found: Callable[..., Found]) -> None:
    made = found({"Bob": "Bob was a painter. He was born in San Jose."}, ["San José | inception | 1737"])
    [(_, problem)] = made.values()
    assert problem == "bridge ambiguous: the graph writes the bridge's name with other accents"


def test_what_the_page_of_the_named_thing_says_needs_no_graph(found: Callable[..., Found]) -> None:
    pages = {
        "The Lake": "The Lake is a film directed by Ann Lee. She was born on 3 May 1901.",
        "The Hill": "The Hill is a film. Its director was born on June 4, 1910.",
        "Bob Poe": "Bob Poe (born 4 June 1910) was a painter.",
    }
    made = found(pages, ["Ann Lee | date of birth | 1901-05-03", "The Hill | director | Bob Poe"])
    assert made["When was the director of The Lake born?"][1].startswith(Reason.TEXT_ALONE)
    assert made["When was the director of The Hill born?"][1].startswith(Reason.TEXT_ALONE)


def test_a_page_with_the_answer_that_names_the_thing_needs_no_graph(found: Callable[..., Found]) -> None:
    pages = {"Bob Poe": "Bob Poe (born 4 June 1910) was a film director. His films include The Hill."}
    made = found(pages, ["The Hill | director | Bob Poe", "The Sea | director | Bob Poe"])
    assert made["When was the director of The Hill born?"][1].startswith(Reason.TEXT_ALONE)
    assert made["When was the director of The Sea born?"][1] == ""


def test_a_name_that_several_pages_have_with_a_qualifier_is_ambiguous(found: Callable[..., Found]) -> None:
    pages = {
        "Lake (1931 film)": "Lake is a film.",
        "Lake (song)": "Lake is a song.",
        "Bob Poe": "Bob Poe (born 4 June 1910) was a painter.",
    }
    made = found(pages, ["Lake | director | Bob Poe"])
    assert made["When was the director of Lake born?"][1] == "bridge ambiguous: several things have the first name"


def test_a_page_with_a_qualifier_is_a_page_of_the_entity(found: Callable[..., Found]) -> None:
    pages = {
        "Lake (1931 film)": "Lake is a film. Bob Poe directed it.",
        "Bob Poe": "Bob Poe (born 4 June 1910) was a painter.",
    }
    assert found(pages, ["Lake | director | Bob Poe"]) == {}, "the text tells both facts"


def test_dates_of_the_graph_are_answers_as_people_read_them(found: Callable[..., Found]) -> None:
    pages = {"The Lake": "The Lake is a film directed by Ann Lee."}
    made = found(pages, ["Ann Lee | date of birth | 1901-05-03"])
    assert made == {"When was the director of The Lake born?": (("3 May 1901", "1901-05-03"), "")}


def test_the_kind_of_an_answer_leaks_it() -> None:
    assert answer_leak("What is the occupation of the director of The Lake?", ["film director"]) == "film director"
    assert answer_leak("What is the occupation of the author of The Lake?", ["film director"]) == ""
    assert answer_leak("Who is the father of Ann Lee?", ["Bob Lee"]) == "", "a family name tells nothing"
