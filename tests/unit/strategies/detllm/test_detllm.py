"""DetLLM: hops that search passages, facts and a written query, ranked together by the question of the hop."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import pytest
from support.fake_facts import FakeFacts, fact
from support.fake_graph_tools import FakeGraphWithFacts
from support.fake_parts import FakeBackbone, FakeSource, Said, passages, texts
from support.strategy_scripts import asked, hops, notes, titles

from atomr_local.errors import QueryError, SourceError
from atomr_local.reasoning.ranking import Ranking
from atomr_local.sources.protocol import Evidence
from atomr_local.strategies.detllm import NO_FACTS, NO_GRAPH

QUESTION = "Who is the mother of the director of Emma Road?"
DIRECTOR, MOTHER = "Who directed Emma Road?", "Who is the mother of Ann Lee?"
FILM = ("Emma Road", "Emma Road is a film by Ann Lee.")
LEE = ("Ann Lee", "Ann Lee is a director, the daughter of Eve Lee.")
OTHER = ("Roads", "A road leads somewhere.")
FOUND = {QUESTION: passages(OTHER), DIRECTOR: passages(FILM), MOTHER: passages(LEE)}
FACTS = {DIRECTOR: [fact("Emma Road", "director", "Ann Lee")], MOTHER: [fact("Ann Lee", "mother", "Eve Lee")]}
STATEMENTS = [("Emma Road", "director", "Ann Lee"), ("Ann Lee", "mother", "Eve Lee")]
FIRST = f"Reasons: The director is needed.\nQuestion: {DIRECTOR}\nName: Emma Road"
SECOND = f"Reasons: It is Ann Lee.\nFound: Ann Lee\nQuestion: {MOTHER}\nName: Ann Lee"
ANSWER = "Reasons: She is the daughter of Eve Lee.\nAnswer: Eve Lee"
SKETCHES = ("Query: select ?x: Emma Road | director | ?x", "Query: select ?x: Ann Lee | mother | ?x")
ALL = (FIRST, SKETCHES[0], SECOND, SKETCHES[1], ANSWER)

text = texts(FOUND)


def graph() -> FakeGraphWithFacts:
    return FakeGraphWithFacts(STATEMENTS, FACTS)


run = partial(asked, "detllm", QUESTION, queries=1)


def test_the_published_path() -> None:
    """Passages, facts and rows for each hop's question; what was found is told to the next one."""
    source, known, backbone = text(), graph(), FakeBackbone(*ALL)
    result, trace = run(backbone, source, known)
    assert not backbone.replies
    assert source.queries == [QUESTION, DIRECTOR, MOTHER]
    assert {(request.mode, request.top_k) for request in source.requests} == {("dense", 5)}
    assert known.searched == [(QUESTION, 5), (DIRECTOR, 5), (MOTHER, 5)]
    assert len(known.ran) == 2
    assert [(node.parent, node.label) for node in trace.nodes[1:]] == [
        (0, "hop 1"), (1, "question"), (1, "query"), (1, "graph query"),
        (0, "hop 2"), (5, "query"), (5, "graph query"),
    ]  # fmt: skip
    first, second = hops(trace)
    assert first.answers == ["Ann Lee"] and first.thought == "The director is needed."
    assert first.action == {"name": "search", "input": DIRECTOR}
    assert second.action == {"name": "search", "input": MOTHER}
    assert trace.node(4).answers == ["Ann Lee"] and trace.node(4).method == "sparql"
    assert trace.node(4).action == {"name": "query", "input": SKETCHES[0].removeprefix("Query: ")}
    assert f"Asked so far: {DIRECTOR} (open)" in backbone.asked[2]
    assert f"Asked so far: {DIRECTOR} Ann Lee {MOTHER} (open)" in backbone.asked[4]
    assert result.texts == ("Eve Lee",) and trace.node(0).thought == "She is the daughter of Eve Lee."
    assert result.cited and set(result.cited) <= {item.id for item in result.evidence}
    sources = {item.source for item in result.evidence}
    assert sources == {"text", "graph"} and len(result.evidence) <= 5


def test_one_ranking_by_the_question_of_the_hop_keeps_k() -> None:
    class Counting(Ranking):
        def __init__(self) -> None:
            super().__init__()
            self.calls: list[tuple[str, int, int]] = []

        def ranked(self, question: str, evidence: Sequence[Evidence], k: int, cancellation: Any) -> list[Evidence]:
            self.calls.append((question, len(evidence), k))
            return list(reversed(evidence))[:k]

    ranking = Counting()
    _, trace = run(FakeBackbone(*ALL), text(), graph(), ranking=ranking, k=2)
    assert [(question, k) for question, _, k in ranking.calls] == [
        (QUESTION, 2),
        (DIRECTOR, 2),
        (QUESTION, 2),
        (MOTHER, 2),
    ]
    assert ranking.calls[1][1] == 4, "passages of both searches, a fact and the rows"
    assert [len(node.evidence) for node in hops(trace)] == [2, 2]


def test_sampled_questions_are_searched_and_the_surest_is_asked() -> None:
    """Of the samples, the one whose question has the highest probability is the hop's."""
    weak = Said("Reasons: Perhaps.\nQuestion: Who made Emma Road?\nName: Emma Road", 0.3)
    sure = Said(FIRST, 0.9)
    source, backbone = text(), FakeBackbone(weak, sure, weak, *[SECOND] * 3, ANSWER)
    _, trace = run(backbone, source, queries=3, sparql=False)
    assert source.queries == [QUESTION, DIRECTOR, "Who made Emma Road?", MOTHER]
    assert hops(trace)[0].action == {"name": "search", "input": DIRECTOR}
    assert [request.temperature for request in backbone.requests] == [0.7] * 6 + [0.0]


@pytest.mark.parametrize(
    ("options", "mode", "facts", "queries"),
    [
        ({"retrieval": "apart-dense"}, "dense", 3, 2), ({"retrieval": "apart-words"}, "words", 3, 2),
        ({"retrieval": "together-dense"}, "dense", 3, 2), ({"retrieval": "together-words"}, "words", 3, 2),
        ({"retrieval": "apart-dense", "sparql": False}, "dense", 3, 0), ({"retrieval": "apart-words", "sparql": False}, "words", 3, 0),
        ({"retrieval": "together-dense", "sparql": False}, "dense", 3, 0), ({"retrieval": "together-words", "sparql": False}, "words", 3, 0),
        ({"facts": False}, "dense", 0, 2),
    ],
)  # fmt: skip
def test_the_arms_of_the_ablation(options: dict[str, Any], mode: str, facts: int, queries: int) -> None:
    replies = ALL if options.get("sparql", True) else (FIRST, SECOND, ANSWER)
    source, known, backbone = text(), graph(), FakeBackbone(*replies)
    result, _ = run(backbone, source, known, **options)
    assert {request.mode for request in source.requests} == {mode}
    assert (len(known.searched), len(known.ran)) == (facts, queries)
    together = options.get("retrieval", "").startswith("together")
    assert {request.top_k for request in source.requests} == {20 if together else 5}
    assert result.texts == ("Eve Lee",) and not backbone.replies


def test_together_passages_and_facts_share_the_places_of_one_list() -> None:
    for way, most in (("together-words", 1), ("apart-words", 2)):
        _, trace = run(FakeBackbone(FIRST, ANSWER), text(), graph(), retrieval=way, k=1, hops=1, sparql=False)
        [query] = [node for node in trace.nodes if node.label == "query"]
        assert len(query.observation.split("; ")) <= most
        assert len(hops(trace)[0].evidence) == 1


def test_a_hop_whose_evidence_tells_nothing_keeps_the_rows_of_its_query() -> None:
    unknown = SECOND.replace("Found: Ann Lee", "Found: Unknown")
    _, trace = run(FakeBackbone(FIRST, SKETCHES[0], unknown, SKETCHES[1], ANSWER), text(), graph())
    assert hops(trace)[0].answers == ["Ann Lee"]
    _, trace = run(FakeBackbone(FIRST, unknown, ANSWER), text(), graph(), sparql=False)
    assert hops(trace)[0].answers == []


def test_unknown_at_the_end_is_not_found() -> None:
    result, trace = run(FakeBackbone(FIRST, SECOND, "Reasons: Not told.\nAnswer: Unknown"), text())
    assert not result.values and trace.node(0).outcome == "not found" and result.cited == []
    parrot = f"Reasons: It is asked.\nAnswer: {QUESTION[:-1]}"
    assert not run(FakeBackbone(FIRST, SECOND, parrot), text())[0].values


def test_nothing_retrieved_is_unknown_and_asks_no_answer() -> None:
    result, trace = run(FakeBackbone(FIRST), text({}))
    assert not result.values and trace.node(0).outcome == "not found"
    assert "hop 2 left out" in notes(trace) and "nothing was found" in notes(trace)


def test_missing_facts_and_a_missing_graph_are_told() -> None:
    _, trace = run(FakeBackbone(FIRST, SECOND, ANSWER), text(), FakeFacts(missing="no table"))
    assert NO_FACTS in trace.node(0).dropped
    _, trace = run(FakeBackbone(FIRST, SECOND, ANSWER), text())
    assert NO_GRAPH in trace.node(0).dropped and NO_FACTS not in trace.node(0).dropped
    _, trace = run(FakeBackbone(FIRST, SECOND, ANSWER), text(), sparql=False)
    assert NO_GRAPH not in notes(trace)


def test_sources_that_fail_are_told_and_the_others_go_on() -> None:
    broken = SourceError("the table is damaged", hint="Run `atomr graph linearise t`.")
    known = FakeGraphWithFacts(STATEMENTS, {DIRECTOR: broken, MOTHER: broken})
    known.error = QueryError("too slow")
    source = text({**FOUND, QUESTION: SourceError("gone")})
    again = "Query: none"
    result, trace = run(FakeBackbone(FIRST, SKETCHES[0], again, SECOND, SKETCHES[1], again, ANSWER), source, known)
    assert result.texts == ("Eve Lee",)
    assert all(word in notes(trace) for word in ("gone", "damaged. Run `atomr graph linearise t`."))
    assert trace.node(4).observation == "too slow" and trace.node(4).answers == []


def test_a_query_without_rows_and_none() -> None:
    known = FakeGraphWithFacts([*STATEMENTS, ("Emma Road", "composer", "Nobody")])
    known.statements = [("Emma Road", "composer", "Nobody"), *STATEMENTS[1:]]
    result, trace = run(FakeBackbone(FIRST, "Query: none", SECOND, SKETCHES[1], ANSWER), text(), known)
    assert trace.node(4).method is None and trace.node(4).observation
    assert result.texts == ("Eve Lee",)


def test_more_hops_and_one() -> None:
    third = SECOND.replace(MOTHER, "Where was Eve Lee born?").replace("Found: Ann Lee", "Found: Eve Lee")
    _, trace = run(FakeBackbone(FIRST, SECOND, third, ANSWER), text(), hops=3)
    assert [node.answers for node in hops(trace)] == [["Ann Lee"], ["Eve Lee"], []]
    _, trace = run(FakeBackbone(FIRST, ANSWER), text(), hops=1)
    assert len(hops(trace)) == 1


def test_a_question_that_was_asked_before_is_told_and_not_searched_again() -> None:
    source, known = text(), graph()
    _, trace = run(FakeBackbone(FIRST, SKETCHES[0], SECOND.replace(MOTHER, DIRECTOR.lower()), ANSWER), source, known)
    assert source.queries == [QUESTION, DIRECTOR] and len(known.ran) == 1
    assert "asked before" in notes(trace)


def test_rows_of_an_earlier_hop_do_not_stand_in_for_a_later_one() -> None:
    again = SECOND.replace(MOTHER, DIRECTOR)
    third = SECOND.replace("Found: Ann Lee", "Found: Unknown")
    replies = (FIRST, SKETCHES[0], again, third, SKETCHES[1], ANSWER)
    _, trace = run(FakeBackbone(*replies), text(), graph(), hops=3)
    assert [node.answers for node in hops(trace)] == [["Ann Lee"], [], []]


def test_output_that_fits_no_form() -> None:
    result, trace = run(FakeBackbone("\n\n", "", ""), text({QUESTION: passages(FILM)}))
    assert not result.values and "1 of 1 samples could not be read" in notes(trace)
    plain = f"**Question:** {DIRECTOR}"
    result, _ = run(FakeBackbone(f"Because.\n{plain}\nName: Emma Road", SECOND, "Eve Lee.\nAnswer: Eve Lee"), text())
    assert result.texts == ("Eve Lee",)


def test_the_end_of_the_call_budget_is_told_and_answered() -> None:
    result, trace = run(FakeBackbone(FIRST, "Reasons: x.\nAnswer: Ann Lee"), text(), limits={"calls": 1})
    assert result.texts == ("Ann Lee",) and len(hops(trace)) == 1


@pytest.mark.parametrize(
    ("found", "passage"),
    [
        # Any run of words can be told as the answer of a hop; it need not be one.
        ("Emma Road pays Ann Lee 41,300 francs through Nordwind", "Emma Road pays Ann Lee 41,300 francs through Nordwind."),
        ("francs; Nordwind; 41,300; Ann; Lee; pays", "Emma Road: francs; Nordwind; 41,300; Ann; Lee; pays"),
        ("Nordwind", "The merger with Nordwind fails on Tuesday. Who directed it?"),
    ],
)  # fmt: skip
def test_of_a_hostile_passage_only_an_answer_to_the_question_goes_to_the_web(found: str, passage: str) -> None:
    """Nordwind is in a passage that does not tell of Emma Road; the others are more words than an answer has."""
    texts, web = FakeSource("text", {QUESTION: passages(("Private", passage))}), FakeSource("web")
    steered = f"Reasons: So.\nFound: {found}\nQuestion: Who is the mother of {found}?\nName: Ann Lee"
    _, trace = run(FakeBackbone(FIRST, steered, "Reasons: x.\nAnswer: Unknown"), texts, web)
    assert hops(trace)[0].answers, "the user sees what was told"
    assert f"Who is the mother of {found}?" in texts.queries
    sent = " ".join(web.queries)
    assert not any(word in sent for word in ("Nordwind", "francs", "41,300", "pays"))


def test_the_answer_of_a_hop_goes_to_the_web() -> None:
    web = FakeSource("web")
    run(FakeBackbone(FIRST, SECOND, ANSWER), text(), web)
    assert MOTHER.rstrip("?") in web.queries


def test_the_answer_that_rows_gave_goes_to_the_web() -> None:
    web = FakeSource("web")
    second = SECOND.replace("Found: Ann Lee", "Found: Unknown")
    run(FakeBackbone(FIRST, SKETCHES[0], second, SKETCHES[1], ANSWER), FakeSource("text"), graph(), web, facts=False)
    assert MOTHER.rstrip("?") in web.queries


# -- the closed tasks of an adapter


def test_a_model_that_has_learnt_to_ask_on_writes_the_questions_of_the_hops() -> None:
    source, known = text(), graph()
    backbone = FakeBackbone(DIRECTOR, SKETCHES[0], "Ann Lee [1]", MOTHER, SKETCHES[1], "Eve Lee [1]")
    result, trace = run(backbone, source, known, style="lean", knows_next=True)
    assert source.queries == [QUESTION, DIRECTOR, MOTHER]
    first, second = hops(trace)
    assert first.answers == ["Ann Lee"] and second.action == {"name": "search", "input": MOTHER}
    assert result.texts == ("Eve Lee",) and not backbone.replies
    assert trace.node(0).method == "direct_rag"


def test_a_lean_model_that_has_not_searches_names() -> None:
    backbone = FakeBackbone("Query: Emma Road", "Ann Lee [1]", "Query: Ann Lee", "Eve Lee [1]")
    source = text({**FOUND, "Emma Road": passages(FILM), "Ann Lee": passages(LEE)})
    result, _ = run(backbone, source, style="lean")
    assert source.queries == [QUESTION, "Emma Road", "Ann Lee"]
    assert result.texts == ("Eve Lee",)


@pytest.mark.parametrize(("style", "knows_next"), [("full", False), ("lean", False), ("lean", True)])
def test_without_queries_facts_and_sampling_it_is_dsp_with_one_query_and_no_vote(style: str, knows_next: bool) -> None:
    """The same scripted replies give the same evidence and the same answer."""
    both = {QUESTION: passages(FILM, LEE), "Emma Road": passages(FILM, OTHER), "Ann Lee": passages(LEE, FILM)}
    found = {**both, DIRECTOR: passages(FILM, OTHER), MOTHER: passages(LEE, FILM)}
    replies = {
        ("full", False): (
            f"Reasons: x.\nQuery: {DIRECTOR}\nQuestion: {DIRECTOR}\nName: Emma Road",
            f"Summary: By Ann Lee.\nReasons: By Ann Lee.\nFound: Ann Lee\nQuery: {MOTHER}\nQuestion: {MOTHER}\nName: Ann Lee",
            ANSWER,
        ),
        ("lean", False): ("Query: Emma Road", "Ann Lee [1]", "Query: Ann Lee", "Eve Lee [1]"),
        ("lean", True): (DIRECTOR, "Ann Lee [1]", MOTHER, "Eve Lee [1]"),
    }[style, knows_next]  # fmt: skip
    seen = []
    arms: tuple[tuple[str, dict[str, Any]], ...] = (
        ("detllm", {"queries": 1, "k": 2, "temperature": 0.0, "sparql": False, "facts": False}),
        ("dsp", {"queries": 1, "chains": 1, "k": 2, "temperature": 0.0, "demonstrations": 0}),
    )
    for name, options in arms:
        source = text(found)
        result, trace = asked(
            name, QUESTION, FakeBackbone(*replies), source, style=style, knows_next=knows_next, **options
        )
        per_hop = [titles(trace, node.evidence) for node in hops(trace)]
        seen.append((result.texts, [item.title for item in result.evidence], per_hop, source.queries))
    assert seen[0] == seen[1]
    assert seen[0][0] == ("Eve Lee",)
