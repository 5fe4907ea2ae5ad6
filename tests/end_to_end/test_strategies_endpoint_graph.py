"""Whole transcripts against a scripted OpenAI-compatible server: the default and the baselines, and the strategies that
write queries over text and graph."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from support.fake_parts import FakeSource, passages, reply
from support.small_graph import FakeGraphTools
from support.transcripts import BIRTH, FILM, PLAN, QUESTION, pages, scripted_server, transcript

MODES = ("scripted", "scriptedplain")
ANN, YORK = reply("Ann Lee", evidence=[1]), reply("York", evidence=[1])
DIRECTOR, BIRTHPLACE = "select ?x: Emma Road | director | ?x", "select ?x: Ann Lee | place of birth | ?x"
FACTS = {"Emma Road": {"director": ["Ann Lee"]}, "Ann Lee": {"place of birth": ["York"]}}


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    yield from scripted_server()


def both() -> tuple[FakeSource, ...]:
    return pages(), FakeGraphTools(FACTS)


def queried(sketch: str, mode: str) -> tuple[str, float]:
    """The query as a server with grammars writes it, or as one without does."""
    return (f"Query: {sketch}" if mode == "scripted" else f"Sure!\n**Query:** `{sketch.upper()}`", -0.1)


@pytest.mark.parametrize("mode", MODES)
def test_atomr(server: str, mode: str) -> None:
    plan = [(PLAN, -0.1)] if mode == "scripted" else [(f"```\n{PLAN}\n```", 0.0), (PLAN, 0.0)]
    source = pages()
    source.found |= {"Emma Road director": passages(FILM), "Ann Lee place of birth": passages(BIRTH)}
    trace = transcript(server, mode, "atomr", *plan, (ANN, -0.1), (YORK, -0.1), sources=(source,))
    assert [node.answers for node in trace.nodes[:3]] == [["York"], ["Ann Lee"], ["York"]]
    assert trace.node(0).supported


@pytest.mark.parametrize("mode", MODES)
def test_rag(server: str, mode: str) -> None:
    trace = transcript(server, mode, "rag", (reply("Ann Lee", evidence=[1]), -0.2))
    assert (trace.node(0).answers, trace.node(0).method) == (["Ann Lee"], "direct_rag")


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("strategy", ["closed-book", "cot"])
def test_without_sources(server: str, mode: str, strategy: str) -> None:
    replies = [(reply("York"), -0.2)] if strategy == "closed-book" else [("So.", -0.2), (reply("York"), -0.2)]
    trace = transcript(server, mode, strategy, *replies)
    assert (trace.node(0).answers, trace.node(0).method, trace.evidence) == (["York"], "closed_book", [])


@pytest.mark.parametrize("mode", MODES)
def test_cok_chooses_sources_and_writes_queries(server: str, mode: str) -> None:
    trace = transcript(
        server, mode, "cok",
        ("First: Emma Road was directed by Bob Ray.\nSecond: Bob Ray was born in Rome.\nAnswer: Rome", -0.2),
        ("I cannot say.", -0.2), ("text, graph", -0.1),
        queried(DIRECTOR, mode), ("Passage: 1\nFact: Emma Road was directed by Ann Lee.", -0.3),
        ("Fact: Ann Lee was born in Rome.", -0.3),
        queried(BIRTHPLACE, mode), ("Passage: 1\nFact: Ann Lee was born in York.", -0.2), ("Answer: York", -0.25),
        sources=both(), samples=2, threshold=0.9,
    )  # fmt: skip
    assert trace.node(0).answers == ["York"] and trace.node(0).supported


@pytest.mark.parametrize("mode", MODES)
def test_detllm_writes_queries(server: str, mode: str) -> None:
    asked = "Reasons: The director first.\nQuestion: Who directed Emma Road?\nName: Emma Road"
    found = "Reasons: It is Ann Lee.\nFound: Ann Lee\nQuestion: Where was Ann Lee born?\nName: Ann Lee"
    trace = transcript(
        server, mode, "detllm",
        (asked, -0.1), queried(DIRECTOR, mode), (found, -0.2), queried(BIRTHPLACE, mode),
        ("Reasons: She was born there.\nAnswer: York", -0.2), sources=both(), queries=1,
    )  # fmt: skip
    rows = [(node.action, node.answers) for node in trace.nodes if node.label == "graph query"]
    assert rows == [
        ({"name": "query", "input": DIRECTOR}, ["Ann Lee"]), ({"name": "query", "input": BIRTHPLACE}, ["York"]),
    ]  # fmt: skip
    assert trace.node(0).answers == ["York"] and trace.node(0).supported


def act(name: str, given: str, mode: str) -> tuple[str, float]:
    written = f"Action: {name}\nInput: {given}" if mode == "scripted" else f"**Action:** {name}[{given}]"
    return f"Thought: So.\n{written}", -0.1


@pytest.mark.parametrize("mode", MODES)
def test_humaniq_uses_the_tools_of_the_graph(server: str, mode: str) -> None:
    trace = transcript(
        server, mode, "humaniq",
        act("search", "Emma Road", mode), act("read", "Ann Lee | Where was Ann Lee born?", mode), (YORK, -0.1),
        act("id", "Ann Lee", mode), act("query", "Ann Lee | Where was Ann Lee born?", mode), queried(BIRTHPLACE, mode),
        act("run", "query 1", mode), act("label", "York", mode), act("finish", "York | York", mode),
        (reply("York"), -0.1), ("Answer: York", -0.25), sources=both(), examples=0,
    )  # fmt: skip
    assert [(node.action or {})["name"] for node in trace.nodes[1:]] == [
        "search", "read", "id", "query", "run", "label", "finish",
    ]  # fmt: skip
    root = trace.node(0)
    assert root.answers == ["York"] and root.dropped[0] == "the text, the graph and the model's own knowledge agree"
    [rows] = [item for item in trace.evidence if item.source == "graph"]
    assert rows.locator["sketch"] == BIRTHPLACE and trace.question == QUESTION
