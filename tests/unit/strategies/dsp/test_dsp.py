"""DSP: two hops of sampled queries, fused by rank; the surest summary is carried on; chains of thought vote."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, ClassVar

import pytest
from support.fake_parts import FakeBackbone, FakeSource, Said, passage, passages, rows, texts
from support.strategy_scripts import Bare, asked, titles

from atomr_local.reasoning.ranking import Ranking, fuse_ranks
from atomr_local.reasoning.trace.events import Event, TextGenerated
from atomr_local.reasoning.trace.telling import is_stage
from atomr_local.sources.protocol import Evidence
from atomr_local.strategies.dsp import NO_SCORES

QUESTION = "Who is the mother of the director of Emma Road?"
FILM = ("Emma Road", "Emma Road is a film by Ann Lee.")
DIRECTOR = ("Ann Lee", "Ann Lee is a director, the daughter of Eve Lee.")
OTHER = ("Roads", "A road leads somewhere.")
FOUND = {
    QUESTION: passages(OTHER, FILM),
    "director of Emma Road": passages(FILM),
    "Emma Road film": passages(FILM, OTHER),
    "mother of Ann Lee": passages(DIRECTOR),
    "Ann Lee": passages(DIRECTOR, FILM),
}
FIRST = ("Query: director of Emma Road", "Query: Emma Road film")
WEAK, SURE = "A road leads somewhere.", "Emma Road is by Ann Lee."
SECOND = (Said(f"Summary: {WEAK}\nQuery: mother of Ann Lee", 0.4), Said(f"Summary: {SURE}\nQuery: Ann Lee", 0.9))
CHAINS = (
    "Reasons: Ann Lee is the daughter of Eve Lee.\nAnswer: Eve Lee",
    "Reasons: It is by Ann Lee.\nAnswer: Ann Lee",
    "Reasons: Her mother is Eve Lee.\nAnswer: Eve Lee",
)
ALL = (*FIRST, *SECOND, *CHAINS)

text = texts(FOUND)

run = partial(asked, "dsp", QUESTION, queries=2, chains=3, demonstrations=0)


def test_the_published_path() -> None:
    """Each hop searches the question and every sampled query; the surest summary is carried on; the chains vote."""
    streamed: list[TextGenerated] = []

    def sink(event: Event) -> None:
        if isinstance(event, TextGenerated):
            streamed.append(event)

    source, backbone = text(), FakeBackbone(*ALL)
    result, trace = run(backbone, source, sink=sink)
    assert source.queries == [QUESTION, "director of Emma Road", "Emma Road film", "mother of Ann Lee", "Ann Lee"]
    assert {request.top_k for request in source.requests} == {5}
    assert [(node.parent, node.label) for node in trace.nodes[1:]] == [
        (0, "hop 1"), (1, "question"), (1, "query"), (1, "query"), (0, "hop 2"), (5, "query"), (5, "query"),
    ]  # fmt: skip
    assert [node.question for node in trace.nodes[2:5]] == [QUESTION, "director of Emma Road", "Emma Road film"]
    assert [request.temperature for request in backbone.requests] == [0.7] * 7
    assert len({request.seed for request in backbone.requests[-3:]}) == 3
    assert result.texts == ("Eve Lee",) and trace.plan.origin == "steps"
    assert [node.observation for node in trace.nodes[3:5]] == ["Emma Road", "Emma Road; Roads"]
    assert all(is_stage(node, node.label, node.question) for node in trace.nodes[1:])  # none counts as "not found"
    root = trace.node(0)
    assert (root.method, root.confidence) == ("vote", pytest.approx(2 / 3))
    assert root.supported and root.thought == "Ann Lee is the daughter of Eve Lee."
    assert [(one["answer"], one["score"]) for one in root.candidates] == [
        ("Eve Lee", pytest.approx(2 / 3)), ("Ann Lee", pytest.approx(1 / 3)),
    ]  # fmt: skip
    hop = trace.node(5)
    assert hop.thought == SURE
    assert any("surest of 2 summaries" in note and "-0.11" in note for note in hop.dropped)  # log 0.9
    assert all(f"Known: {SURE}" in asked for asked in backbone.asked[4:])
    assert not any(SURE in asked for asked in backbone.asked[:4])
    told = [(event.node_id, event.text) for event in streamed]
    assert told == [(1, FIRST[0]), (5, SECOND[0]), (0, CHAINS[0])], "samples are not streamed into one another"


def test_results_are_fused_by_the_sum_of_one_over_two_and_rank() -> None:
    """By hand: Emma Road 1/4 + 1/3 + 1/3, Roads 1/3 + 1/4; each query alone would have put Roads first once."""
    _, trace = run(FakeBackbone(*ALL), text(), k=2)
    assert titles(trace, trace.node(1).evidence) == ["Emma Road", "Roads"]
    one, two = passage(*FILM), passage(*OTHER)
    assert fuse_ranks([[two, one], [one], [one, two]], 2) == [one, two]


def test_of_the_passages_with_the_answer_those_about_the_question_are_cited() -> None:
    """Several passages hold the answer's words; no chain says which it read."""
    places = [(f"Street {letter}", "It is named after Eve Lee.") for letter in "ABC"]
    found = {**FOUND, QUESTION: passages(*places, FILM), "Ann Lee": passages(DIRECTOR)}
    result, trace = run(FakeBackbone(*FIRST, *SECOND, *CHAINS), text(found))
    assert titles(trace, result.cited)[0] == "Ann Lee" and len(result.cited) == 2


def test_without_log_probabilities_the_first_summary_is_carried_and_told() -> None:
    backbone = Bare(*map(str, ALL))
    result, trace = run(backbone, text())
    assert trace.node(5).thought == WEAK and NO_SCORES in trace.node(5).dropped
    assert result.values


def test_one_hop_and_more_hops() -> None:
    _, trace = run(FakeBackbone(*FIRST, *CHAINS), text(), hops=1)
    assert [node.label for node in trace.nodes if node.label.startswith("hop")] == ["hop 1"]
    _, trace = run(FakeBackbone(*FIRST, *SECOND, *SECOND, *CHAINS), text(), hops=3)
    assert [node.label for node in trace.nodes[-3:]] == ["query", "query", "hop 3"]


def test_a_query_that_was_searched_is_not_searched_again() -> None:
    source = text()
    run(FakeBackbone("Query: Emma Road film", "Query: emma road film", *SECOND, *CHAINS), source)
    assert source.queries.count(QUESTION) == 1
    assert [query.lower() for query in source.queries].count("emma road film") == 1


def test_nothing_retrieved_is_unknown_and_asks_no_chain() -> None:
    result, trace = run(FakeBackbone(*FIRST), text({}))
    assert not result.values and trace.node(0).outcome == "not found"
    assert any("nothing was found" in note for note in trace.node(0).dropped)


def test_unknown_never_wins_against_an_answer_and_alone_is_unknown() -> None:
    unknown = "Reasons: It is not told.\nAnswer: Unknown"
    result, trace = run(FakeBackbone(*FIRST, *SECOND, unknown, unknown, CHAINS[0]), text())
    assert result.texts == ("Eve Lee",) and trace.node(0).confidence == pytest.approx(1 / 3)
    result, trace = run(FakeBackbone(*FIRST, *SECOND, *[unknown] * 3), text())
    assert not result.values and trace.node(0).outcome == "not found"


def test_the_question_itself_is_no_answer() -> None:
    parrot = f"Reasons: It is asked.\nAnswer: {QUESTION[:-1]}"
    result, _ = run(FakeBackbone(*FIRST, *SECOND, parrot, parrot, CHAINS[0]), text())
    assert result.texts == ("Eve Lee",)


def test_output_that_fits_no_form_is_counted_and_the_rest_goes_on() -> None:
    broken = ("\n\n", "")
    result, trace = run(FakeBackbone(*broken, *broken, CHAINS[1], "", ""), text())
    assert result.texts == ("Ann Lee",) and trace.node(0).confidence == pytest.approx(1 / 3)
    assert any("2 of 2 samples could not be read" in note for note in trace.node(1).dropped)
    assert any("2 of 3 chains of thought could not be read" in note for note in trace.node(0).dropped)
    result, _ = run(FakeBackbone(*broken, *broken, "", "", ""), text())
    assert not result.values


def test_evidence_of_several_sources_is_ranked_for_each_query_before_it_is_fused() -> None:
    class Backwards(Ranking):
        asked: ClassVar[list[str]] = []

        def ranked(self, question: str, evidence: Sequence[Evidence], k: int, cancellation: Any) -> list[Evidence]:
            self.asked.append(question)
            return list(reversed(evidence))[:k]

    graph = FakeSource("graph", {QUESTION: rows("Ann Lee")})
    _, trace = run(FakeBackbone(*FIRST, *CHAINS), text(), graph, hops=1, ranking=Backwards())
    assert Backwards.asked == [QUESTION]  # the other queries found something in one source only
    assert trace.node(2).sources == ["text", "graph"]
    assert len(trace.node(0).evidence) == 3 and trace.node(0).evidence[0] == trace.node(1).evidence[0]


def test_the_end_of_the_call_budget_is_told_and_answered() -> None:
    result, trace = run(FakeBackbone(*FIRST, *CHAINS), text(), limits={"calls": 2})
    assert result.texts == ("Ann Lee",)  # nothing that was found names Eve Lee
    assert not any(node.label == "hop 2" for node in trace.nodes)


def test_a_budget_below_the_samples_takes_fewer_of_them() -> None:
    result, trace = run(FakeBackbone(FIRST[0], *CHAINS), text(), limits={"calls": 1})
    assert result.values and any("1 of 2 samples left out" in note for note in trace.node(1).dropped)


def test_a_lean_model_reads_hops_and_passages_with_its_own_tasks() -> None:
    """Queries are names seen so far; the summary is a reading; the votes are sampled answers."""
    replies = ("Query: Emma Road", "Query: Emma Road", "Ann Lee [1]", "Query: Ann Lee", "Query: Ann Lee")
    source = text({**FOUND, "Emma Road": passages(FILM)})
    backbone = FakeBackbone(*replies, "Eve Lee [1]", "Unknown", "Eve Lee [1]")
    result, trace = run(backbone, source, style="lean")
    assert source.queries == [QUESTION, "Emma Road", "Ann Lee"]
    root = trace.node(0)
    assert result.texts == ("Eve Lee",) and root.candidates[0]["score"] == pytest.approx(2 / 3)
    assert "reading" in root.signals and root.confidence != root.candidates[0]["score"]  # calibrated, as it is measured
    hop = next(node for node in trace.nodes if node.label == "hop 2")
    assert hop.thought == "Ann Lee"
    assert [request.temperature for request in backbone.requests] == [0.7, 0.7, 0.0, 0.7, 0.7, 0.7, 0.7, 0.7]
    grammar = backbone.grammars[0] or ""
    assert '"Emma Road"' in grammar and "mother" not in grammar  # a name, without the mark behind it


def test_several_answers_of_a_lean_model_stay_several() -> None:
    source = text({QUESTION: passages(("Emma", "Emma has two roads, Phobos and Deimos."))})
    backbone = FakeBackbone("Query: Emma", "Unknown", "Query: Emma", "Phobos; Deimos [1]")
    result, trace = run(backbone, source, style="lean", queries=1, chains=1)
    assert result.texts == ("Phobos", "Deimos") and trace.node(0).supported


def test_a_lean_model_that_reads_nothing_carries_nothing_on() -> None:
    replies = ("Query: Emma Road", "Query: Emma Road", "Unknown", "Query: Emma Road", "Query: Emma Road")
    backbone = FakeBackbone(*replies, "Ann Lee [1]")
    result, _ = run(backbone, text(), style="lean", chains=1)
    assert result.texts == ("Ann Lee",) and "Known: (nothing)" in backbone.asked[3]


def test_a_model_that_has_learnt_to_ask_on_writes_the_queries_of_the_hops() -> None:
    """A query is a question of one hop; it is answered from what was found, and the next ones rest on its answer."""
    first, second = "Who directed Emma Road?", "Who is the mother of Ann Lee?"
    source = text({**FOUND, first: passages(FILM)})
    replies = (first, "Who made Emma Road?", "Ann Lee [1]", second, "Done", "Eve Lee [1]")
    backbone = FakeBackbone(*replies)
    result, trace = run(backbone, source, style="lean", knows_next=True, chains=1)
    assert source.queries == [QUESTION, first, "Who made Emma Road?", second]
    assert backbone.prompts[3].dynamic[0].content == f"1. {first} Ann Lee\n{QUESTION}"
    hop = next(node for node in trace.nodes if node.label == "hop 2")
    assert hop.thought == "Ann Lee" and result.texts == ("Eve Lee",)


def test_a_learnt_question_that_finds_nothing_is_told_as_unknown() -> None:
    first = "Who directed Emma Road?"
    backbone = FakeBackbone(first, "Unknown", "Done", "Ann Lee [1]")
    run(backbone, text(), style="lean", knows_next=True, queries=1, chains=1)
    assert backbone.prompts[2].dynamic[0].content == f"1. {first} Unknown\n{QUESTION}"
