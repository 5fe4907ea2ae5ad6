"""A bare topic is answered with the first sentences of its page; what is no topic stays no question."""

from __future__ import annotations

from dataclasses import replace

import pytest
from support.fake_parts import FakeBackbone, FakeSource, Run, passages, reply, toolbox

from atomr_local.language.question_kind import defined_topic
from atomr_local.reasoning.reading.checks import is_sentence, opening, topic_page
from atomr_local.sources.protocol import Evidence, SourceName
from atomr_local.strategies.atomr import AtomR

TEXT = "Rosa Ferrer was a painter. She was born in Girona. " + "She painted many ships there. " * 12


def page(title: str, text: str = TEXT) -> Evidence:
    return Evidence(SourceName.TEXT, title, text, 1.0, "q", {"passage": title})


def test_the_opening_has_whole_sentences_up_to_a_bound() -> None:
    told = opening(page("Rosa Ferrer"), 12)
    assert told == "Rosa Ferrer was a painter. She was born in Girona."
    assert opening(page("A", "word " * 30), 5) == "word word word word word …"
    assert opening(page("A", "")) == ""


def test_the_page_is_the_one_whose_title_is_asked_about() -> None:
    pages = [page("Girona"), page("Rosa"), page("Rosa Ferrer")]
    assert topic_page("Tell me about Rosa Ferrer.", pages) is pages[2]
    assert topic_page("Tell me about Ana Lind.", pages) is None
    assert topic_page("Tell me about Rosa Ferrer.", pages, alone=True) is None
    assert topic_page("rosa ferrer", pages, alone=True) is pages[2]
    pages = [page("Rosa Ferrer (film)"), page("Rosa Ferrer"), page("Rosa Ferrer (album)")]
    assert topic_page("Who was Rosa Ferrer?", pages) is pages[1]
    assert topic_page("Tell me about bees", [page("Bee")]) is not None
    assert topic_page("Tell me about the bee Ana Lind", [page("Bee")]) is None
    later = replace(page("Bee", "They dance."), locator={"passage": "bee#1", "span": [700, 711]})
    first = replace(page("Bee"), locator={"passage": "bee#0", "span": [0, 699]})
    assert topic_page("bees", [later, first], alone=True) is first


@pytest.mark.parametrize(
    "plan", ["0. Tell me about Rosa Ferrer. = Answer(summary)", "0. Rosa Ferrer = Answer(nothing)"]
)
def test_a_topic_is_told_from_its_page_without_the_model(plan: str) -> None:
    question = plan.split(" = ", maxsplit=1)[0].removeprefix("0. ")
    run = Run(question, plan, FakeBackbone(), FakeSource("text", {"Rosa Ferrer": passages(("Rosa Ferrer", TEXT))}))
    assert run.result.texts[0].startswith("Rosa Ferrer was a painter. She was born in Girona.")
    assert (run.node(0).cited, run.node(0).supported, run.node(0).confidence) == (["e1"], True, 0.75)


def test_a_topic_without_a_page_is_read_for_and_what_is_no_topic_stays_no_question() -> None:
    question = "Tell me about Rosa Ferrer."
    text = FakeSource("text", {"Rosa Ferrer": passages(("Girona", "Rosa Ferrer, a painter, lived in Girona."))})
    run = Run(question, f"0. {question} = Answer(summary)", FakeBackbone(reply("a painter", evidence=[1])), text)
    assert (run.result.texts, run.node(0).method) == (("a painter",), "direct_rag")
    assert run.trace.totals.retrievals["text"] == 1
    greeting = FakeSource("text", {"good day": passages(("Girona", TEXT))})
    assert Run("good day", "0. good day = Answer(nothing)", FakeBackbone(), greeting).result.values == ()


def test_a_topic_that_only_the_graph_has_is_told_from_its_facts() -> None:
    facts = Evidence(SourceName.GRAPH, "Rosa Ferrer", "Rosa Ferrer: painter. Rosa Ferrer — work: Ships.", 1.0, "q", {})
    assert topic_page("Tell me about Rosa Ferrer.", [page("Girona"), facts]) is facts
    assert opening(facts) == "Rosa Ferrer: painter."
    assert topic_page("Tell me about Rosa Ferrer.", [facts, page("Rosa Ferrer")]).source == SourceName.TEXT  # type: ignore[union-attr]


def test_a_name_that_the_plan_spells_otherwise_is_found_as_typed() -> None:
    plan = "0. Tell me about Rosa Ferrera. = Answer(summary)"
    found = {"Rosa Ferrera": passages(("Rosa Ferrer", TEXT))}
    run = Run("what can one say about rosa ferrer", plan, FakeBackbone(), FakeSource("text", found))
    assert run.result.texts[0].startswith("Rosa Ferrer was a painter.")
    assert run.result.confidence == 0.6


def test_a_whole_sentence_is_shown_as_it_is() -> None:
    assert is_sentence("Rosa Ferrer was a painter.")
    assert is_sentence("word " * 50 + "…")
    assert not is_sentence("Washington, D.C.")
    assert not is_sentence("Rosa Ferrer")


@pytest.mark.parametrize(
    ("question", "topic"),
    [
        ("Who was Rosa Ferrer?", "Rosa Ferrer"),
        ("who's rosa ferrer", "rosa ferrer"),
        ("Who were the Beatles?", "Beatles"),
        ("Who was Joan of Arc?", "Joan of Arc"),
        ("What is photosynthesis?", "photosynthesis"),
        ("What is a black hole?", "black hole"),
        ("What’s the Danube?", "Danube"),
        ("What does “osmosis” mean?", "osmosis"),
        ("whats a black hole", "black hole"),
        ("define osmosis", "osmosis"),
        ("What is the meaning of life?", ""),
        ("meaning of osmosis", "osmosis"),
        ("Rosa Ferrer, who is she?", "Rosa Ferrer"),
        ("i want to learn about bees", "bees"),
        ("what is an algorithm in simple words", "algorithm"),
        ("Tell me about Rosa Ferrer.", "Rosa Ferrer"),
    ],
)
def test_a_question_for_a_definition_names_its_topic(question: str, topic: str) -> None:
    assert defined_topic(question) == topic


@pytest.mark.parametrize(
    "question",
    [
        "Who is the president?",
        "Who is the Pope?",
        "Who is he?",
        "What is it?",
        "What is the capital of France?",
        "What is Emma by Jane Austen about?",
        "What was Rosa Ferrer born in?",
        "Who was Rosa Ferrer married to?",
        "When was Rosa Ferrer?",
        "Tell me who Rosa Ferrer is",
        "Tell me about the plot of Emma",
        "Explain why ice floats",
        "Which man is it?",
        "Who was " + "Rosa " * 40,
        "",
    ],
)
def test_what_asks_for_a_value_names_no_topic(question: str) -> None:
    assert defined_topic(question) == ""


def asked(question: str, backbone: FakeBackbone, *sources: FakeSource) -> tuple[str, tuple[str, ...]]:
    """Who made the plan, and the answers."""
    tools = toolbox(question, backbone, *sources)
    result = AtomR().run(question, None, "model", tools)
    return tools.recorder.trace.plan.origin, result.texts


def test_who_somebody_was_is_told_from_the_page_without_a_model() -> None:
    question = "Who was Rosa Ferrer?"
    found = {
        "Rosa Ferrer": passages(("Girona", TEXT), ("Rosa Ferrer", TEXT)),
        question: passages(("Rosa Ferrer", TEXT)),
    }
    backbone = FakeBackbone()
    origin, answers = asked(question, backbone, FakeSource("text", found))
    assert (origin, backbone.asked) == ("rule", [])
    assert answers[0].startswith("Rosa Ferrer was a painter. She was born in Girona.")


def test_without_a_page_of_that_name_the_model_plans() -> None:
    question = "Who was Rosa Ferrer?"
    pages = passages(("Girona", TEXT), ("Rosa Ferrer (film)", "A film."))
    found = {"Rosa Ferrer": pages, question: pages}
    backbone = FakeBackbone(f"0. {question} = Answer(person)", reply("a painter", evidence=[1]))
    assert asked(question, backbone, FakeSource("text", found)) == ("model", ("a painter",))
    assert asked(question, FakeBackbone(f"0. {question} = Answer(nothing)")) == ("model", ())
