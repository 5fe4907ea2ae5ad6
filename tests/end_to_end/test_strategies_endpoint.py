"""Whole transcripts of strategies against a scripted OpenAI-compatible server, which knows grammars and
log-probabilities or does not."""

from __future__ import annotations

import math
from collections.abc import Iterator

import pytest
from support.fake_parts import reply
from support.transcripts import PLAN, scripted_server, transcript


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    yield from scripted_server()


def says(answer: str, logprob: float = -0.2) -> tuple[str, float]:
    return f"Reasons: It is told there [1].\nAnswer: {answer}", logprob


def test_probtree_with_grammars_and_log_probabilities(server: str) -> None:
    trace = transcript(
        server, "scripted", "probtree",
        (PLAN, -0.1), says("Ann Lee", -0.3), says("Bob", -0.4), says("York", -0.5), says("Unknown"),
        says("Unknown"), says("York", -0.2), says("Rome", -0.6),
    )  # fmt: skip
    root = trace.node(0)
    assert root.answers == ["York"] and root.supported
    assert [(one["origin"], one["score"] and round(one["score"], 3)) for one in root.candidates] == [
        ("children", -0.275), ("model", -0.6), ("text", None),
    ]  # fmt: skip
    assert root.plan_confidence is not None and round(root.plan_confidence, 3) == 0.905


def test_probtree_without_grammars_and_log_probabilities(server: str) -> None:
    """Three samples a way; tolerant reading of what is written around the fields."""
    agreed = [("**Reasons:** It is told there [1].\n**Answer:** Ann Lee", 0.0)] * 3
    split = [says("Bob"), says("Ann Lee"), says("Carl")]
    trace = transcript(
        server, "scriptedplain", "probtree",
        (f"```\n{PLAN}\n```", 0.0), (PLAN, 0.0), *agreed, *split, *[says("York")] * 3, says("Unknown"),
        says("Unknown"), *[says("York")] * 3, says("nothing of use"), says("Rome"), says("Ulm"),
    )  # fmt: skip
    best = trace.node(1).candidates[0]
    assert (best["answer"], best["origin"], best["score"]) == ("Ann Lee", "text", 0.0)
    assert trace.node(0).answers == ["York"] and trace.node(0).plan_confidence is None
    assert any("agreement of 3 samples" in note for note in trace.node(0).dropped)


def test_self_ask_with_grammars_and_log_probabilities(server: str) -> None:
    trace = transcript(
        server, "scripted", "self-ask",
        ("Needed: yes\nFollow-up: Who directed Emma Road?", -0.1), (reply("Ann Lee", evidence=[1]), -0.1),
        ("Next: another follow-up\nFollow-up: Where was Ann Lee born?", -0.1), (reply("York", evidence=[1]), -0.1),
        ("Next: the answer\nAnswer: York", -0.25),
    )  # fmt: skip
    root = trace.node(0)
    assert (root.answers, root.method, root.supported) == (["York"], "child", True)
    assert root.confidence == pytest.approx(0.7788, abs=1e-4)  # exp(-0.25)


def test_self_ask_without_grammars_and_log_probabilities(server: str) -> None:
    """What the model makes up behind the follow-up is not taken for its answer."""
    asked = "Sure!\n**Needed:** Yes\n**Follow-up:** Who directed Emma Road?\nIntermediate answer: Bob\nNext: the answer"
    trace = transcript(
        server, "scriptedplain", "self-ask",
        (asked, 0.0), (reply("Ann Lee", evidence=[1]), 0.0),
        ("next: Another follow-up.\nfollow-up: Where was Ann Lee born?", 0.0), (reply("York", evidence=[1]), 0.0),
        ('{"Next": "the answer", "Answer": "York."}', 0.0),
    )  # fmt: skip
    assert [node.answers for node in trace.nodes] == [["York"], ["Ann Lee"], ["York"]]
    assert trace.node(0).confidence is None and trace.node(0).supported


def test_humaniq_with_grammars_and_log_probabilities(server: str) -> None:
    trace = transcript(
        server, "scripted", "humaniq",
        ("Thought: First the film.\nAction: search\nInput: Emma Road", -0.1),
        ("Thought: I read it.\nAction: read\nInput: Emma Road | Who directed Emma Road?", -0.1),
        (reply("Ann Lee", evidence=[1]), -0.1),
        ("Thought: Now her birthplace.\nAction: read\nInput: Ann Lee | Where was Ann Lee born?", -0.1),
        (reply("York", evidence=[1]), -0.1),
        ("Thought: It is York.\nAction: finish\nInput: York | none", -0.1),
        (reply("York"), -0.1), ("Answer: York", -0.25),
        examples=0,
    )  # fmt: skip
    root = trace.node(0)
    assert (root.answers, root.method, root.supported) == (["York"], "tool", True)
    assert root.dropped[0] == "the text and the model's own knowledge agree"
    assert root.confidence == pytest.approx((0.7788 + 2 / 3) / 2, abs=1e-4)  # exp(-0.25), two of three sides


def test_humaniq_without_grammars_and_log_probabilities(server: str) -> None:
    """An input in brackets, one that was not seen, a finish without a bar; nothing is sure."""
    trace = transcript(
        server, "scriptedplain", "humaniq",
        ("Thought: First the film.\nAction: search[Emma Road]\nObservation: a film by Bob", 0.0),
        ("Thought: I read it.\nAction: read[Rome | Who?]", 0.0),
        ("**Action:** read\n**Input:** Ann Lee | Where was Ann Lee born?", 0.0), (reply("York", evidence=[1]), 0.0),
        ("Thought: It is York.\nAction: finish\nInput: York", 0.0), ("I do not know.", 0.0), ("**Answer:** York", 0.0),
        examples=0,
    )  # fmt: skip
    assert [(node.action or {})["name"] for node in trace.nodes[1:]] == ["search", "read", "finish"]
    assert trace.node(0).answers == ["York"] and trace.node(0).confidence == pytest.approx(1 / 3)
    assert "Bob" not in str(trace.to_dict())


def test_react_with_grammars_and_log_probabilities(server: str) -> None:
    trace = transcript(
        server, "scripted", "react",
        ("Thought: First the director.\nAction: search\nInput: Emma Road", -0.1),
        ("Thought: Now the birthplace.\nAction: search\nInput: Ann Lee", -0.1),
        ("Thought: It is York.\nAction: finish\nInput: York", -0.25),
    )  # fmt: skip
    root = trace.node(0)
    assert (root.answers, root.method, root.supported) == (["York"], "tool", True)
    assert root.confidence == pytest.approx(0.7788, abs=1e-4)  # exp(-0.25)


def test_react_without_grammars_and_log_probabilities(server: str) -> None:
    """The published notation, a turn without an action, and one as JSON; a made-up observation counts for nothing."""
    trace = transcript(
        server, "scriptedplain", "react",
        ("Thought: First the director.\nAction: search[Emma Road]\nObservation: a film by Bob", 0.0),
        ("Thought: Now the birthplace.", 0.0), ('{"Action": "search", "Input": "Ann Lee"}', 0.0),
        ("Thought: It is York.\nAction: Finish[York]", 0.0),
    )  # fmt: skip
    assert [node.action for node in trace.nodes[1:]] == [
        {"name": "search", "input": "Emma Road"}, {"name": "search", "input": "Ann Lee"},
        {"name": "finish", "input": "York"},
    ]  # fmt: skip
    assert trace.node(0).answers == ["York"] and trace.node(0).confidence is None
    assert "Bob" not in str(trace.to_dict())


def test_detllm_with_grammars_and_log_probabilities(server: str) -> None:
    """Samples of the first hop, the surest of which is asked; what the second one finds is its answer."""
    asked = "Reasons: The director first.\nQuestion: {}\nName: Emma Road"
    found = "Reasons: It is Ann Lee.\nFound: Ann Lee\nQuestion: Where was Ann Lee born?\nName: Ann Lee"
    trace = transcript(
        server, "scripted", "detllm",
        (asked.format("What is Emma Road?"), -0.9), (asked.format("Who directed Emma Road?"), -0.1), (found, -0.2), (found, -0.3),
        ("Reasons: She was born there.\nAnswer: York", -0.2),
        queries=2,
    )  # fmt: skip
    root = trace.node(0)
    assert root.answers == ["York"] and root.supported and root.confidence == pytest.approx(0.8187, abs=1e-3)
    hops = [node for node in trace.nodes if node.label.startswith("hop")]
    assert [node.answers for node in hops] == [["Ann Lee"], []]
    assert hops[0].action == {"name": "search", "input": "Who directed Emma Road?"}


def test_detllm_without_grammars_and_log_probabilities(server: str) -> None:
    """The first sample is asked; reading is tolerant; an answer has no probability then."""
    asked = "```\n**Reasons:** The director first.\n**Question:** Who directed Emma Road?\n**Name:** Emma Road\n```"
    found = "Reasons: It is Ann Lee.\nFound: Ann Lee.\nQuestion: Where was Ann Lee born?\nName: Ann Lee"
    trace = transcript(
        server, "scriptedplain", "detllm",
        (asked, 0.0), ("I do not know.", 0.0), (found, 0.0), (found, 0.0), ("Reasons: So.\nAnswer: York.", 0.0), queries=2,
    )  # fmt: skip
    root = trace.node(0)
    assert root.answers == ["York"] and root.supported and root.confidence is None
    assert any("1 of 2 samples could not be read" in note for note in trace.node(1).dropped)


def test_dsp_with_grammars_and_log_probabilities(server: str) -> None:
    trace = transcript(
        server, "scripted", "dsp",
        ("Query: Who directed Emma Road?", -0.1), ("Query: Emma Road", -0.1),
        ("Summary: It is a film.\nQuery: Emma Road", -0.6),
        ("Summary: Ann Lee made Emma Road.\nQuery: Where was Ann Lee born?", -0.2),
        says("York"), says("Ann Lee"), says("York"),
        queries=2, chains=3, demonstrations=0,
    )  # fmt: skip
    root, hop = trace.node(0), next(node for node in trace.nodes if node.label == "hop 2")
    assert (root.answers, root.method, root.supported) == (["York"], "vote", True)
    assert root.confidence == pytest.approx(2 / 3)
    assert hop.thought == "Ann Lee made Emma Road." and any("-0.20" in note for note in hop.dropped)


def test_dsp_without_grammars_and_log_probabilities(server: str) -> None:
    """The first summary is carried on; a chain that cannot be read has no vote; "york." and "York" are one answer."""
    trace = transcript(
        server, "scriptedplain", "dsp",
        ("**Query:** Who directed Emma Road?", 0.0), ("Sure, I can help!\n\nQuery: Emma Road", 0.0),
        ("Summary: It is a film.\nQuery: Where was Ann Lee born?", 0.0),
        ("Summary: Ann Lee made Emma Road.\nQuery: Emma Road", 0.0),
        ("Reasons: So it is told.\nAnswer: york.", 0.0), ("", 0.0), says("York"),
        queries=2, chains=3, demonstrations=0,
    )  # fmt: skip
    root, hop = trace.node(0), next(node for node in trace.nodes if node.label == "hop 2")
    assert (root.answers, root.supported) == (["York"], True)
    assert root.confidence == pytest.approx(2 / 3)
    assert hop.thought == "It is a film." and any("no log-probabilities" in note for note in hop.dropped)


def test_ircot_with_grammars_and_log_probabilities(server: str) -> None:
    trace = transcript(
        server, "scripted", "ircot",
        ("Next: Emma Road was directed by Ann Lee.", -0.1), ("Next: So the answer is York.", -0.1),
        (reply("York", evidence=[2]), -0.1),
    )  # fmt: skip
    root = trace.node(0)
    assert (root.answers, root.method, root.supported) == (["York"], "direct_rag", True)
    assert root.confidence is not None and [node.label for node in trace.nodes[1:]] == [
        "first search", "sentence 1", "sentence 2",
    ]  # fmt: skip


def test_ircot_without_grammars_and_log_probabilities(server: str) -> None:
    """Of what is written around a sentence nothing is kept; nothing readable ends the chain and is told."""
    trace = transcript(
        server, "scriptedplain", "ircot",
        ("Sure!\n**Next:** Emma Road was directed by Ann Lee. She was born in Rome.", 0.0), ("", 0.0),
        (reply("York", evidence=[2]), 0.0),
    )  # fmt: skip
    assert [node.thought for node in trace.nodes[1:]] == ["Emma Road was directed by Ann Lee.", ""]
    assert any("the chain ends here" in note for note in trace.nodes[-1].dropped)
    assert trace.node(0).answers == ["York"] and trace.node(0).supported


FACTS = ("Emma Road was directed by Bob Ray.", "Bob Ray was born in Rome.")


def told_chain(answer: str, *facts: str) -> str:
    return "\n".join(f"{label}: {fact}" for label, fact in zip(("First", "Second"), facts, strict=True)) + (
        f"\nAnswer: {answer}"
    )


def test_cok_with_grammars_and_log_probabilities(server: str) -> None:
    trace = transcript(
        server, "scripted", "cok",
        (told_chain("Rome", *FACTS), -0.9), (told_chain("Oslo", *FACTS), -0.4), (told_chain("Unknown", *FACTS), -0.2),
        ("Fact: Emma Road was directed by Ann Lee.", -0.3), ("Passage: 1\nFact: Ann Lee was born in York.", -0.2),
        ("Answer: York", -0.25),
        samples=3,
    )  # fmt: skip
    root, first, second = trace.nodes[0], trace.nodes[2], trace.nodes[3]
    assert (root.answers, root.method, root.supported) == (["York"], "child", True)
    assert root.confidence == pytest.approx(0.7788, abs=1e-4)  # exp(-0.25)
    assert (first.question, first.corrected_from) == (FACTS[0], None) and "nothing was found" in first.dropped[-1]
    assert (second.corrected_from, second.thought) == (
        "Emma Road was directed by Ann Lee.", "Ann Lee was born in York.",
    )  # fmt: skip


def test_cok_without_grammars_and_log_probabilities(server: str) -> None:
    """A chain without its second rationale, one in bold with prose around it, and one that is none."""
    trace = transcript(
        server, "scriptedplain", "cok",
        (f"First: {FACTS[0]}\nAnswer: Rome.", 0.0),
        (f"Sure!\n**First:** {FACTS[0]}\n**Second:** {FACTS[1]}\n\n**Answer:** rome\nHope this helps.", 0.0),
        ("I cannot say.", 0.0),
        samples=3, threshold=0.6,
    )  # fmt: skip
    assert (trace.node(0).answers, trace.node(0).outcome, trace.evidence) == (["Rome"], "memory", [])
    assert "1 of 3 chains gave no answer" in trace.node(1).dropped
    trace = transcript(
        server, "scriptedplain", "cok",
        ("First: Emma Road was directed by Ann Lee.\nAnswer: Rome.", 0.0), ("I cannot say.", 0.0),
        ("Passage [1] tells it.\n**Passage:** [1]\n**Fact:** Ann Lee was born in York.", 0.0), ("York", 0.0),
        samples=2, threshold=0.6,
    )  # fmt: skip
    assert trace.node(0).answers == ["York"] and trace.node(0).confidence is None and trace.node(0).supported


def test_searchain_with_grammars_and_log_probabilities(server: str) -> None:
    """The first answer is wrong and corrected, for the reading is sure; the second one is confirmed."""
    trace = transcript(
        server, "scripted", "searchain",
        ("Query 1: Who directed Emma Road?\nAnswer 1: Bob Roy\nNext 1: another query\n"
         "Query 2: Where was Bob Roy born?\nAnswer 2: unsolved\nNext 2: the end\nFinal: unsolved", -0.1),
        (reply("Ann Lee", evidence=[1]), -0.01),
        ("Next 1: another query\nQuery 2: Where was Ann Lee born?\nAnswer 2: York\nNext 2: the end\nFinal: York", -0.25),
        (reply("York", evidence=[1]), -0.01),
    )  # fmt: skip
    root = trace.node(0)
    assert (root.answers, root.method, root.supported) == (["York"], "child", True)
    assert [(node.label, node.parent, node.corrected_from) for node in trace.nodes[1:]] == [
        ("round 1", 0, None), ("query 1", 1, "Bob Roy"), ("round 2", 2, None), ("query 2", 3, None),
    ]  # fmt: skip
    assert root.confidence is not None and root.confidence <= math.exp(-0.25) + 1e-9


def test_searchain_without_grammars_and_log_probabilities(server: str) -> None:
    """Prose around the lines, JSON, a passage that nobody asked for; three readings have to agree on a correction."""
    ann = (reply("Ann Lee", evidence=[1]), 0.0)
    trace = transcript(
        server, "scriptedplain", "searchain",
        ("Let me think.\n1. **Query 1:** Who directed Emma Road?\n**Answer 1**: Bob Roy\nPassage: Bob made it.\n"
         "**Next 1:** The end.\n**Final:** Bob Roy", 0.0),
        ann, ann, ann,
        ("next 1: Another query\nquery 2: Where was Ann Lee born?\nanswer 2: [Unsolved]\nNext 2: the end\nFinal: unsolved", 0.0),
        (reply("York", evidence=[1]), 0.0), ('{"Next 2": "the end", "Final": "York."}', 0.0),
    )  # fmt: skip
    assert [node.corrected_from for node in trace.nodes[1:]] == [None, "Bob Roy", None, "", None]
    assert any("agreement of 3 samples" in note for note in trace.node(2).dropped)
    assert trace.node(0).answers == ["York"] and trace.node(0).confidence is None and trace.node(0).supported


def test_roht_with_grammars_and_log_probabilities(server: str) -> None:
    """A reading that is not sure is sampled; the unsure answer is a candidate."""
    trace = transcript(
        server, "scripted", "roht",
        (PLAN, -0.1), (reply("Ann Lee", evidence=[1]), -0.5), *[(reply("Bob Ray", evidence=[1]), -0.9)] * 2,
        (reply("York", evidence=[1]), -0.05),
        samples=2,
    )  # fmt: skip
    assert [round(node.plan_confidence or 0.0, 3) for node in trace.nodes] == [1.0, 0.905, 0.905]
    assert [(one["answer"], round(one["score"], 3)) for one in trace.node(1).candidates] == [
        ("Ann Lee", 0.549), ("Bob Ray", 0.368),
    ]  # fmt: skip
    # (exp(-0.1) · exp(-0.05) + 0.549) / 2
    root = trace.node(0)
    assert [(one["origin"], one["answer"], round(one["score"], 3)) for one in root.candidates] == [
        ("children", "York", 0.705)
    ]
    assert root.supported and root.method == "aggregate"


def test_roht_without_grammars_and_log_probabilities(server: str) -> None:
    """The share of the readings that agree is the score; what cannot be read gives no answer."""
    trace = transcript(
        server, "scriptedplain", "roht",
        (f"```\n{PLAN}\n```", 0.0), (PLAN, 0.0), *[(reply("Ann Lee", evidence=[1]), 0.0)] * 3,
        *[(reply("York", evidence=[1]), 0.0)] * 2, ("nothing of use", 0.0),
        samples=2,
    )  # fmt: skip
    assert [(one["answer"], one["score"]) for one in trace.node(1).candidates] == [("Ann Lee", 1.0)]
    assert trace.node(0).answers == ["York"] and trace.node(2).plan_confidence is None
    assert any("agreement of samples" in note for note in trace.node(2).dropped)
