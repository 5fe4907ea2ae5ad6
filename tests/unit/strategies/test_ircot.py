"""IRCoT: every sentence of the chain is a query; a reader that knows nothing of the chain answers."""

from __future__ import annotations

from functools import partial

import pytest
from support.fake_parts import UNKNOWN, FakeBackbone, passages, reply, texts
from support.strategy_scripts import asked

from atomr_local.reasoning.trace.telling import is_stage

QUESTION = "Who is the mother of the director of Emma Road?"
FILM = ("Emma Road", "Emma Road is a film by Ann Lee.")
DIRECTOR = ("Ann Lee", "Ann Lee is a director, the daughter of Eve Lee.")
OTHER = ("Roads", "A road leads somewhere.")
FIRST = "Emma Road was directed by Ann Lee."
FOUND = {
    QUESTION: passages(FILM, OTHER),
    FIRST: passages(FILM, DIRECTOR),
}
CHAIN = (f"Next: {FIRST}", "Next: So the answer is: Eve Lee.", reply("Eve Lee", evidence=[3]))

run = partial(asked, "ircot", QUESTION)

text = texts(FOUND)


def test_the_published_path() -> None:
    """Search, sentence, search with the sentence, sentence with the answer; then a reader."""
    source, backbone = text(), FakeBackbone(*CHAIN)
    result, trace = run(backbone, source)
    assert source.queries == [QUESTION, FIRST]
    assert [request.top_k for request in source.requests] == [4, 4]
    assert [(node.kind, node.label, node.question) for node in trace.nodes[1:]] == [
        ("step", "first search", QUESTION),
        ("step", "sentence 1", FIRST),
        ("step", "sentence 2", "So the answer is: Eve Lee."),
    ]
    assert [node.thought for node in trace.nodes[1:]] == [FIRST, "So the answer is: Eve Lee.", ""]
    assert [node.observation for node in trace.nodes[1:]] == ["Emma Road; Roads", "Emma Road; Ann Lee", ""]
    assert result.texts == ("Eve Lee",)
    assert trace.node(0).method == "direct_rag" and trace.node(0).supported
    assert [item.title for item in trace.evidence] == ["Emma Road", "Roads", "Ann Lee"]
    assert trace.plan.origin == "steps"


def test_the_reader_knows_nothing_of_the_chain() -> None:
    backbone = FakeBackbone(*CHAIN)
    run(backbone, text())
    assert FIRST in backbone.asked[1]
    assert FIRST not in backbone.asked[2] and "So the answer" not in backbone.asked[2]


def test_a_conclusion_is_no_query_the_last_fact_is() -> None:
    source = text()
    run(FakeBackbone(f"Next: {FIRST}", "Next: Thus she is a director.", "", reply("Eve Lee", evidence=[3])), source)
    assert source.queries == [QUESTION, FIRST, FIRST]


def test_only_the_first_sentence_is_kept() -> None:
    source = text()
    run(FakeBackbone(f"Next: {FIRST} She was born in York.", *CHAIN[1:]), source)
    assert source.queries[1] == FIRST


@pytest.mark.parametrize(
    ("written", "more"), [("", ()), ("Next: [3]", ()), ("Next: 1. 2.", ()), ("no label at all but\n\nlines", ("",))]
)
def test_output_that_fits_no_form_ends_or_goes_on_and_is_answered(written: str, more: tuple[str, ...]) -> None:
    result, trace = run(FakeBackbone(written, *more, UNKNOWN), text())
    assert trace.node(0).answers == [] and not result.values


def test_a_search_that_no_sentence_follows_is_no_step_that_found_nothing() -> None:
    _, trace = run(FakeBackbone("Next: ", reply("Ann Lee", evidence=[1])), text())
    [first] = trace.nodes[1:]
    assert not first.thought and is_stage(first, first.label, first.question)


def test_a_repeated_sentence_ends_the_chain_and_is_told() -> None:
    source = text()
    _, trace = run(FakeBackbone(f"Next: {FIRST}", f"Next: {FIRST}", CHAIN[2]), source)
    assert source.queries == [QUESTION, FIRST]
    assert any("repeated" in note for note in trace.nodes[2].dropped)


def test_a_sentence_that_only_repeats_the_question_is_none() -> None:
    source = text()
    result, _ = run(FakeBackbone(f"Next: {QUESTION}", reply("Ann Lee", evidence=[1])), source)
    assert source.queries == [QUESTION] and result.values


def test_the_chain_ends_at_the_limit_of_sentences() -> None:
    facts = [f"Next: Fact {letter * 12} is one." for letter in "abcdef"]
    result, trace = run(FakeBackbone(*facts[:3], reply("Eve Lee", evidence=[1])), text(), sentences=3)
    assert [node.label for node in trace.nodes[1:]] == ["first search", "sentence 1", "sentence 2", "sentence 3"]
    assert result.values


def test_near_duplicates_are_not_collected_and_no_more_than_the_limit() -> None:
    mirror = ("Emma Road", "Emma Road is a film by Ann Lee!")
    found = {QUESTION: passages(FILM, OTHER), FIRST: passages(mirror, DIRECTOR)}
    _, trace = run(FakeBackbone(*CHAIN[:2], reply("Eve Lee")), text(found))
    assert [trace.evidence[int(i[1:]) - 1].text for i in trace.node(0).evidence] == [
        FILM[1],
        OTHER[1],
        DIRECTOR[1],
    ]
    _, trace = run(FakeBackbone(*CHAIN[:2], reply("Eve Lee")), text(found), paragraphs=2)
    assert len(trace.node(0).evidence) == 2
    assert any("left out (limit 2)" in note for note in trace.nodes[2].dropped)


def test_without_sentences_it_is_rag_at_that_k() -> None:
    """Evidence and answer are equal under the same replies."""
    answers = []
    for name, options in (("ircot", {"sentences": 0, "k": 2}), ("rag", {"top_k": 2})):
        result, _ = asked(name, QUESTION, FakeBackbone(reply("Ann Lee", evidence=[1])), text(), **options)
        answers.append((result.texts, result.evidence, result.cited, result.confidence, result.method))
    assert answers[0] == answers[1]


def test_nothing_retrieved_is_unknown() -> None:
    result, trace = run(FakeBackbone("Next: Nothing is known."), text({}), sentences=1)
    assert not result.values and trace.node(0).outcome == "not found"


def test_unknown_stays_unknown() -> None:
    result, _ = run(FakeBackbone(*CHAIN[:2], UNKNOWN), text())
    assert not result.values
