"""A written query goes to the local sources as it is, and to the web in words that are known."""

from __future__ import annotations

from support.fake_parts import FakeBackbone, FakeSource, passages, toolbox

from atomr_local.sources.protocol import Request
from atomr_local.strategies.shared.tools import SearchedOnce, searched

QUESTION = "Who directed Emma Road?"
WRITTEN = "Emma Road hunter2"
FOUND = passages(("Emma Road", "Emma Road is a film by Ann Lee."))


def test_a_written_query_goes_to_the_web_in_words_of_question_and_answers() -> None:
    texts, web = FakeSource("text", {WRITTEN: FOUND}), FakeSource("web")
    tools = toolbox(QUESTION, FakeBackbone(), texts, web)
    tools.steps.begin(QUESTION)
    with tools.steps.root(QUESTION) as root:
        found = searched(tools, root.id, Request(QUESTION, WRITTEN), QUESTION)
        searched(tools, root.id, Request(QUESTION, f"{WRITTEN} Ann"), QUESTION, answers=["Ann Lee"])
    assert texts.queries == [WRITTEN, f"{WRITTEN} Ann"]
    assert web.queries == ["Emma Road", "Emma Road Ann"]
    assert [item.title for item in found.evidence] == ["Emma Road"]
    assert tools.recorder.trace.node(0).sources == ["text", "web"], "each source that was asked stands in the trace"


def test_what_is_not_known_as_local_is_asked_like_the_web() -> None:
    other = FakeSource("other")
    tools = toolbox(QUESTION, FakeBackbone(), other)
    tools.steps.begin(QUESTION)
    with tools.steps.root(QUESTION) as root:
        searched(tools, root.id, Request(QUESTION, WRITTEN), QUESTION)
    assert other.queries == ["Emma Road"]


def test_the_question_itself_goes_as_it_is_and_only_to_the_sources_named() -> None:
    texts, web = FakeSource("text"), FakeSource("web")
    tools = toolbox(QUESTION, FakeBackbone(), texts, web)
    tools.steps.begin(QUESTION)
    with tools.steps.root(QUESTION) as root:
        searched(tools, root.id, Request(QUESTION, QUESTION), QUESTION, sources=["web"])
    assert (texts.queries, web.queries) == ([], [QUESTION])


def test_a_query_is_searched_once_in_a_step_of_its_own() -> None:
    tools = toolbox(QUESTION, FakeBackbone())
    tools.steps.begin(QUESTION)
    once: SearchedOnce[str] = SearchedOnce(tools)
    with tools.steps.root(QUESTION) as root:
        first = once.found(root, "Ann Lee", "query", lambda below: [f"step {below.id}"])
        again = once.found(root, "ann lee?", "query", lambda below: ["searched again"])
        once.found(root, "Bob", "query", lambda below: [])
    assert (first, again) == (["step 1"], ["step 1"])
    assert [node.question for node in tools.recorder.trace.nodes if node.id] == ["Ann Lee", "Bob"]
