"""Exports: citations lead to their evidence, and nothing from outside acts in the Markdown."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from markdown_it import MarkdownIt
from support.grown_steps import grown_trace
from support.history_fakes import ESCAPES, a_trace
from support.quoting_traces import closest_trace, quotation_trace, quoting_trace

from atomr_local.assistant.history.database import QuestionSummary, StoredQuestion
from atomr_local.assistant.history.export import to_json, to_markdown, unkept
from atomr_local.assistant.history.trace_import import parse_trace, read_traces
from atomr_local.errors import InputError
from atomr_local.reasoning.trace.schema import EvidenceTrace, NodeTrace, Trace
from atomr_local.system.files import write_output

HOSTILE = [
    "[a](http://evil.example) ![b](http://evil.example/x.png) <http://evil.example>",
    "http://evil.example www.evil.example mailto:me@evil.example me@evil.example HTTPS://evil.example",
    "<script>alert(1)</script> &lt;b&gt; &copy;",
    "```\n# Owned\n\n[1]: http://evil.example\n\n~~~~~~\n````````",
    "# Owned\n## Owned\n- item\n1. item\n> quote\n---\n===\n",
    "- item", "1. item", "+ item", "=====", "12) item", "***", "a|b\n-|-\nc|d", "**bold** _it_ `code` ~~gone~~ $x$",
    f"text{ESCAPES}", "ends with \\", "`", "``` ```",
]  # fmt: skip


def kept(trace: Trace) -> StoredQuestion:
    summary = QuestionSummary(
        7, "2026-01-02T03:04:05+00:00", "asked", trace.question, trace.answer, trace.status, trace.strategy, None, 0.0
    )
    return StoredQuestion(summary, trace, trace.to_dict())


def test_markdown_numbers_citations_and_shows_what_they_lead_to() -> None:
    text = to_markdown([kept(a_trace())])
    assert text.startswith(
        "# Who is the mother of the author of Frankenstein?\n\nThe answer is Mary Wollstonecraft. [1]"
    )
    assert "- (1) Who wrote it? → **Mary Shelley** [2] [3], the cited passage does not contain this answer" in text
    assert "computed: `1797 < 1818`" in text
    assert "[1] **Mary Shelley** (graph)\n\n> mother: Mary Wollstonecraft." in text
    assert "```sparql\nSELECT ?x {\n  ?x ?p ?o\n}\n```\n\n1 row:\n\n- `x: Mary Wollstonecraft`" in text
    assert "[2] **Frankenstein** (text, passage `frankenstein#0`, characters 0–24, section History)" in text
    assert "[3] **A page** (web, `https://example.org/a`, retrieved 2026-01-02T03:04:05+00:00)" in text
    assert "Found and not cited: 1" in text
    assert "- a warning" in text


def test_markdown_tells_the_options_of_the_strategy() -> None:
    trace = a_trace()
    trace.settings["options"] = {"top_k": None, "ranking": True, "source": "<b>[web](x)"}
    text = to_markdown([kept(trace)])
    assert "- options: top\\_k none, ranking yes, source &lt;b&gt;\\[web\\](x)\n" in text
    assert "- options" not in to_markdown([kept(a_trace())])


def test_markdown_tells_what_the_steps_of_a_method_without_a_plan_did() -> None:
    text = to_markdown([kept(grown_trace())])
    assert "- plan: none: each step follows from the ones before" in text
    assert "  - (1) round 1: What is Metropolis?\n    - thought: I need the director of Metropolis first." in text
    assert "    - action: search\\[Metropolis\\]" in text
    assert "    - observation: Metropolis is a film directed by Fritz Lang." in text
    assert "    - (2) follow-up: Who directed Metropolis? → **Fritz Lang** [2]" in text
    assert "    - weighed: Vienna: from the text, rating -0.21" in text


def shape(text: str) -> list[str]:
    """The block and inline tokens, less the text itself."""
    found = []
    for token in MarkdownIt("gfm-like").parse(text):
        found.append(token.type)
        found += [child.type for child in token.children or () if child.type != "text" and child.type != "text_special"]
    return found


def shown(text: str) -> str:
    return "\n".join(
        "".join(child.content for child in token.children or ()) or token.content
        for token in MarkdownIt("gfm-like").parse(text)
    )


def with_text(text: str) -> Trace:
    """The text in every place that shows text from outside."""
    trace = a_trace()
    nodes = [
        replace(node, question=text, resolved_question=text, answer=text, computation=text if node.id == 2 else None)
        for node in trace.nodes
    ]
    nodes[1] = replace(
        nodes[1], error={"title": text, "message": text}, label=text, thought=text,
        action={"name": text, "input": text}, observation=text, corrected_from=text,
        candidates=[{"answer": text, "score": -0.5, "origin": text, "evidence": ["e1"]}],
    )  # fmt: skip
    places: list[dict[str, Any]] = [
        {"passage": text, "span": [0, 1], "section": text},
        {"sparql": text, "rows": [{"x": text}]},
        {"url": text, "retrieved_at": text},
        {},
    ]
    evidence = [
        EvidenceTrace(item.id, item.source, text, text, 0.1, text, place)
        for item, place in zip(trace.evidence, places, strict=True)
    ]
    return replace(
        trace, question=text, answer=text, strategy=text, settings={"model": text}, nodes=nodes, evidence=evidence,
        warnings=[text],
    )  # fmt: skip


@pytest.mark.parametrize("text", HOSTILE)
def test_nothing_from_outside_acts_in_markdown(text: str) -> None:
    markdown = to_markdown([kept(with_text(text))])
    assert shape(markdown) == shape(to_markdown([kept(with_text("plain"))]))
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e]", markdown)


@pytest.mark.parametrize("text", [item for item in HOSTILE if item.isprintable()])
def test_escaped_text_reads_as_it_was(text: str) -> None:
    assert shown(to_markdown([kept(with_text(text))])).count(text) >= 8


def test_json_is_the_trace_and_is_read_again(tmp_path: Path) -> None:
    one = to_json([kept(a_trace())], several=False)
    assert parse_trace(json.loads(one)) == a_trace()
    several = to_json([kept(a_trace()), kept(a_trace("Another?"))], several=True)
    file = tmp_path / "traces.jsonl"
    write_output(file, several)
    assert read_traces(file) == [a_trace(), a_trace("Another?")]
    assert [path.name for path in tmp_path.iterdir()] == ["traces.jsonl"]


def test_a_file_that_cannot_be_written_is_named_and_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "directory").mkdir()
    with pytest.raises(InputError, match="directory cannot be written"):
        write_output(tmp_path / "directory", "text")
    with pytest.raises(InputError, match="cannot be written"):
        write_output(tmp_path / "nowhere" / "file.md", "text")
    with pytest.raises(InputError, match="cannot be written"):
        write_output(tmp_path / ("long" * 100), "text")
    assert [path.name for path in tmp_path.iterdir()] == ["directory"]


def test_a_conversation_begins_with_its_overview_and_says_what_was_understood() -> None:
    first = unkept(a_trace("Who wrote *it*?", id="a", answers=["Mary Shelley"]))
    second = unkept(
        a_trace("and her mother?", id="b", conversation="a", took_from=["a"], status="unknown", answer="",
                understood_as="Who is the mother of Mary Shelley?")
    )  # fmt: skip
    text = to_markdown([first, second], conversation=True)
    assert text.startswith(
        "# Conversation: Who wrote \\*it\\*?\n\n1. Who wrote \\*it\\*? → **Mary Shelley**\n"
        "2. Who is the mother of Mary Shelley? → *not found*\n\n## Who wrote"
    )
    assert "\n## and her mother?\n" in text
    assert "\n### Tree\n" in text
    assert "- understood as: Who is the mother of Mary Shelley?\n- taken from: “Who wrote \\*it\\*?”\n" in text
    alone = to_markdown([second], earlier={"a": "Who wrote it?"})
    assert alone.startswith("# and her mother?\n")
    assert "- taken from: “Who wrote it?”" in alone
    assert "taken from" not in to_markdown([second])


def test_an_answer_of_the_users_own_rests_on_nothing_else() -> None:
    nodes = [
        NodeTrace(0, None, "a?", "root", answer="x", answers=["x"], method="child", computation="answer of [1]"),
        NodeTrace(1, 0, "b?", "relate", answer="x", answers=["x"]),
    ]
    trace = Trace("a?", "atomr", {}, "answered", "The answer is x.", ["x"], confidence=1.0, nodes=nodes)
    summary = QuestionSummary(1, "2026-01-01T00:00:00+00:00", "asked", "a?", "x", "answered", "atomr", 1.0, 0.1)
    text = to_markdown([StoredQuestion(summary, trace, {})])
    assert "- rests on: ✎ your answer" in text
    assert "confidence" not in text
    assert text.count("✎ your answer") == 3


def test_markdown_shows_the_passages_that_an_answer_quotes_or_that_come_closest() -> None:
    value, quotation, lost = (to_markdown([kept(make())]) for make in (quoting_trace, quotation_trace, closest_trace))
    assert "> The office is open from 9 to 17. **Permits are paid in cash.**  \n> Bring the following: …\n>\n" in value
    assert (
        "\n\n> Bring the following:  \n> passport  \n> two photos\n\nPermits (permits.pdf, p. 4, Fees) [1]" in quotation
    )
    assert "**Not answered; closest in your documents**\n\n> The office" in lost
    assert "> Permits (other.md, line 7)" in lost and "- Search the graph too.\n" in lost and "--web" not in lost


@pytest.mark.parametrize("text", HOSTILE)
def test_nothing_of_a_passage_acts_in_markdown(text: str) -> None:
    line = f"{' '.join(text.split())} " * 30
    for make in (quoting_trace, closest_trace):
        markdown = to_markdown([kept(make(line, text))])
        assert set(shape(markdown)) <= {*shape(to_markdown([kept(make("plain " * 60, "plain"))])), "hardbreak"}
