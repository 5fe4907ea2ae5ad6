"""ReAct: thought, action and observation in turns, on pages opened by title; and the vote that stands in."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from support.fake_pages import FakePages
from support.fake_parts import UNKNOWN, FakeBackbone, FakeSource, Said, reply, toolbox
from support.strategy_scripts import act, asked

from atomr_local.errors import InputError, SourceError
from atomr_local.reasoning.results import Result
from atomr_local.reasoning.trace.schema import Trace
from atomr_local.reasoning.verdict.judge import judge
from atomr_local.strategies.processes.process import checked, keep
from atomr_local.strategies.react import NOT_SEEN, VOTED, ReactOptions
from atomr_local.strategies.registry import find_strategy
from atomr_local.strategies.shared.closing import CALLS_USED
from atomr_local.strategies.shared.loop import ALL_FOUND, NO_ACTION
from atomr_local.system import paths

QUESTION = "Who is the mother of the director of Emma Road?"
PAGES: dict[str, Sequence[str]] = {
    "Emma Road": ("Emma Road is a film by Ann Lee.", "It has a road.", "It won.", "Ann sang.", "Bob too.", "Ann fell."),
    "Ann Lee": ("Ann Lee is a director.", "She is the daughter of Eve Lee.", "She sings."),
}

PATH = (
    act("search", "Emma Road", "I need the director."),
    act("search", "Ann Lee", "Now her mother."),
    act("finish", "Eve Lee", "It is Eve Lee."),
)


def run(backbone: FakeBackbone, source: FakeSource | None = None, **given: Any) -> tuple[Result, Trace]:
    return asked("react", QUESTION, backbone, source or FakePages(PAGES), **{"fallback": "none"} | given)


def observations(backbone: FakeBackbone, call: int = -1) -> list[str]:
    told = [turn.content for turn in backbone.prompts[call].continued if turn.role == "user"]
    return [text.removeprefix("Observation: ") for text in told]


def test_the_published_path_is_one_conversation_that_grows() -> None:
    source, backbone = FakePages(PAGES), FakeBackbone(*PATH)
    result, trace = run(backbone, source)
    assert source.opened == ["Emma Road", "Ann Lee"]
    assert (result.texts, result.method) == (("Eve Lee",), "tool")
    steps = trace.nodes[1:]
    assert [(node.kind, node.label) for node in steps] == [("step", f"round {number}") for number in (1, 2, 3)]
    assert [node.thought for node in steps] == ["I need the director.", "Now her mother.", "It is Eve Lee."]
    assert [node.action for node in steps][1:] == [
        {"name": "search", "input": "Ann Lee"},
        {"name": "finish", "input": "Eve Lee"},
    ]
    assert steps[1].observation == "Ann Lee: Ann Lee is a director. She is the daughter of Eve Lee. She sings."
    assert [node.evidence for node in steps] == [["e1"], ["e2"], []]
    root = trace.node(0)
    assert (root.evidence, root.cited, root.supported) == (["e1", "e2"], ["e2"], True)
    assert trace.plan.origin == "steps" and not [note for node in trace.nodes for note in node.dropped]
    assert observations(backbone, 1) == [f"Emma Road: {' '.join(PAGES['Emma Road'][:5])}"], "its first five sentences"
    examples = [turn for turn in backbone.prompts[0].static if turn.content.startswith("Question: ")]
    assert len(examples) == 6
    assert len({prompt.static + prompt.dynamic for prompt in backbone.prompts}) == 1
    assert [turn.content for turn in backbone.prompts[2].continued[::2]] == list(PATH[:2])
    assert backbone.requests[0].stop == ("\nObservation:",)


@pytest.mark.parametrize("withheld", [False, True])
def test_a_kept_process_is_shown_first_but_not_where_it_may_quote_what_is_private(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, withheld: bool
) -> None:
    monkeypatch.setenv("ATOMR_HOME", str(tmp_path))
    steps = [
        {"thought": "so", "action": "search", "input": "Kept"},
        {"thought": "so", "action": "finish", "input": "X"},
    ]
    question = "Who is the mother of the director of Kept?"
    keep(
        paths.processes_file(),
        checked({"method": "react", "question": question, "steps": steps, "answer": "X"}).quoting(["notes"]),
    )
    backbone = FakeBackbone(*PATH)
    tools = toolbox(QUESTION, backbone, FakePages(PAGES), options=ReactOptions())
    tools.withheld = frozenset({"notes"}) if withheld else frozenset()
    find_strategy("react").run(QUESTION, None, "steps", tools)
    examples = [turn.content for turn in backbone.prompts[0].static if turn.content.startswith("Question: ")]
    assert len(examples) == 6
    assert (f"Question: {question}" == examples[0]) is not withheld
    assert (f"Question: {question}" in examples) is not withheld


def test_an_unknown_page_offers_five_titles_like_it() -> None:
    pages = {f"Road {number}": ("A road.",) for number in range(7)}
    backbone = FakeBackbone(act("search", "Emma Road"), act("search", "Road 3"), act("finish", "A road"))
    result, trace = run(backbone, FakePages(pages))
    like = "; ".join(f"Road {number}" for number in range(5))
    assert trace.node(1).observation == f"no page “Emma Road”. Titles like it: {like}"
    assert result.texts == ("A road",)


def test_where_no_page_is_found_at_all_nothing_is_cited() -> None:
    backbone = FakeBackbone(PATH[0], act("finish", "Eve Lee"))
    result, trace = run(backbone, FakePages({}))
    assert trace.node(1).observation == "no page “Emma Road”"
    assert trace.evidence == [] and result.cited == []
    assert (result.texts, trace.node(0).outcome) == (("Eve Lee",), "memory") and NOT_SEEN in trace.node(0).dropped


def test_lookup_gives_the_next_sentence_and_says_where_it_ends() -> None:
    backbone = FakeBackbone(
        act("search", "Emma Road"), *[act("lookup", "Ann")] * 4, act("lookup", "Bob"), act("finish", "Ann"),
        context_tokens=100_000,
    )  # fmt: skip
    _, trace = run(backbone, rounds=9)
    assert [node.observation for node in trace.nodes[1:]] == [
        f"Emma Road: {' '.join(PAGES['Emma Road'][:5])}",
        "(1 of 3) Emma Road is a film by Ann Lee.",
        "(2 of 3) Ann sang.",
        "(3 of 3) Ann fell.",
        "no more results",
        "(1 of 1) Bob too.",
        "",
    ]


def test_nothing_can_be_looked_up_before_a_page_is_open() -> None:
    unreadable, path = act("lookup", "Ann"), [act("search", "director"), *PATH]
    backbone = FakeBackbone(unreadable, *path)
    _, trace = run(backbone)
    offers = ['"lookup"' in (grammar or "") for grammar in backbone.grammars]
    assert offers == [False, False, False, True, True], "not after a page that is not there either"
    assert trace.node(1).dropped[0].startswith("asked again: Action: 'lookup' is none of search, finish")
    assert trace.node(1).action == {"name": "search", "input": "director"}


def test_a_repeated_action_is_answered_already_tried_and_opens_nothing() -> None:
    source = FakePages(PAGES)
    backbone = FakeBackbone(act("search", "Emma Road"), act("search", "Emma Road"), act("finish", "Ann Lee"))
    _, trace = run(backbone, source)
    assert trace.node(2).observation == "already tried in round 1"
    assert source.opened == ["Emma Road"]


def test_one_that_is_repeated_again_ends_the_rounds() -> None:
    result, trace = run(FakeBackbone(*[act("search", "Emma Road")] * 3))
    assert result.values == ()
    assert "no further round: the model repeated what it had tried 2 times" in trace.node(0).dropped


def test_the_same_words_on_another_page_are_no_repetition() -> None:
    backbone = FakeBackbone(
        act("search", "Emma Road"), act("lookup", "daughter"), act("search", "Ann Lee"), act("lookup", "daughter"),
        act("finish", "Eve Lee"),
    )  # fmt: skip
    _, trace = run(backbone)
    assert trace.node(2).observation == "no more results"
    assert trace.node(4).observation == "(1 of 1) She is the daughter of Eve Lee."


def test_after_the_last_round_the_vote_answers_as_memory() -> None:
    chains = [reply(*answer) for answer in (("Eve Lee",), ("Ann",), ("the Eve Lee",))]
    replies = [act("search", "Emma Road"), *(text for chain in chains for text in ("I think.", chain))]
    backbone = FakeBackbone(*replies)
    result, trace = run(backbone, rounds=1, votes=3, fallback="cot")
    assert (result.texts, result.method, result.cited) == (("Eve Lee",), "closed_book", [])
    assert VOTED in result.dropped and "no answer in 1 rounds" in result.dropped
    vote = trace.node(2)
    assert (vote.label, vote.outcome, vote.computation) == ("vote", "memory", "2 of 3 chains of thought")
    weighed = [(one["answer"], round(one["score"], 3), one["origin"]) for one in vote.candidates]
    assert weighed == [("Eve Lee", 0.667, "model"), ("Ann", 0.333, "model")]
    thinking = [request for request in backbone.requests if request.output is None]
    assert [request.temperature for request in thinking] == [0.7] * 3
    assert len({request.seed for request in thinking}) == 3


def test_without_the_fallback_it_stays_unknown() -> None:
    result, trace = run(FakeBackbone(act("search", "Emma Road")), rounds=1)
    assert (result.values, result.confidence) == ((), None)
    assert trace.node(0).evidence == ["e1"] and trace.node(0).outcome == "not found"


def test_a_finish_without_an_answer_counts_as_none() -> None:
    chain = ("hm", UNKNOWN)
    result, trace = run(FakeBackbone(act("finish", "Unknown"), *chain), votes=1, fallback="cot")
    assert result.values == () and "no chain of thought gave an answer" in trace.node(2).dropped


def test_an_answer_that_no_observation_contains_is_the_models_own() -> None:
    result, trace = run(FakeBackbone(act("search", "Emma Road"), act("finish", "Zoe")))
    assert (result.method, trace.node(0).outcome, result.cited) == ("closed_book", "memory", [])
    assert NOT_SEEN in result.dropped


def test_the_answer_is_as_sure_as_its_tokens() -> None:
    result, _ = run(FakeBackbone(*PATH[:-1], Said(PATH[-1], 0.5)))
    assert result.confidence is not None and math.isclose(result.confidence, 0.5)


def test_voting_first_and_agreed_is_a_chain_of_thought() -> None:
    """The degenerate case: equal in evidence and answer to `cot` under the same replies."""
    chain = ["I think so.", reply("Eve Lee")]
    result, trace = run(FakeBackbone(*chain * 3), first="cot", votes=3)
    cot, _ = asked("cot", QUESTION, FakeBackbone(*chain), FakePages(PAGES))
    assert (result.texts, result.method, result.evidence, result.cited) == (
        cot.texts, cot.method, cot.evidence, cot.cited,
    )  # fmt: skip
    assert [node.label for node in trace.nodes] == ["", "vote"]


@pytest.mark.parametrize(("answers", "acts"), [(("a", "b"), False), (("a", "b", "c"), True), (("a", "b", "b"), False)])
def test_voting_first_acts_only_below_half_of_the_votes(answers: tuple[str, ...], acts: bool) -> None:
    chains = [text for answer in answers for text in ("hm", reply(answer))]
    backbone = FakeBackbone(*chains, *(PATH if acts else ()))
    result, _ = run(backbone, first="cot", votes=len(answers))
    assert result.texts == (("Eve Lee",) if acts else (answers[-1] if answers == ("a", "b", "b") else "a",))


def test_a_weak_vote_stands_if_acting_finds_nothing_and_is_not_made_twice() -> None:
    chains = [text for answer in ("a", "b", "c") for text in ("hm", reply(answer))]
    backbone = FakeBackbone(*chains, act("search", "Emma Road"))
    result, trace = run(backbone, first="cot", fallback="cot", votes=3, rounds=1)
    assert result.texts == ("a",) and [node.label for node in trace.nodes].count("vote") == 1


def test_a_turn_without_an_action_is_asked_for_the_action_alone() -> None:
    replies = ("Thought: I should look.", "Action: search\nInput: Emma Road", act("finish", "Ann Lee"))
    backbone = FakeBackbone(*replies)
    result, trace = run(backbone)
    assert backbone.prompts[1].continued[0].content == "Thought: I should look."
    assert "Thought" not in (backbone.grammars[1] or "Thought")
    assert (trace.node(1).thought, trace.node(1).action) == ("I should look.", {"name": "search", "input": "Emma Road"})
    assert any(note.startswith("asked again: ") for note in trace.node(1).dropped)
    assert result.texts == ("Ann Lee",)


def test_a_turn_that_stays_without_an_action_is_a_round() -> None:
    backbone = FakeBackbone("hm", "hm", act("search", "Emma Road"), act("finish", "Ann Lee"))
    _, trace = run(backbone)
    assert (trace.node(1).action, trace.node(1).observation) == (None, NO_ACTION)
    assert observations(backbone, 2) == [NO_ACTION]


def test_the_published_notation_of_a_server_without_grammars_is_read() -> None:
    wordy = "Thought 1: look\nThought: I look.\nAction: search[Emma Road]\nObservation: made up\nAction: finish[x]"
    source = FakePages(PAGES)
    result, trace = run(FakeBackbone(wordy, act("finish", "Ann Lee")), source)
    assert source.opened == ["Emma Road"] and result.texts == ("Ann Lee",)
    assert "made up" not in str(trace.to_dict())


def test_a_source_that_fails_is_an_observation() -> None:
    source = FakePages(PAGES)
    source.error = SourceError("the index is gone")
    _, trace = run(FakeBackbone(act("search", "Emma Road"), act("finish", "Ann")), source)
    assert trace.node(1).observation == "this failed: the index is gone"
    assert trace.node(1).error == {"title": "Source failed", "message": "the index is gone"}


def test_after_the_last_call_the_vote_has_the_few_calls_for_concluding() -> None:
    chains = ["I think.", reply("Eve Lee")] * 4
    backbone = FakeBackbone(PATH[0], *chains)
    result, trace = run(backbone, fallback="cot", limits={"calls": 1})
    assert result.texts == ("Eve Lee",) and CALLS_USED in result.dropped
    assert any("1 of 5 chains left out" in note for note in trace.node(2).dropped)


def test_pages_are_needed() -> None:
    with pytest.raises(InputError, match="needs pages"):
        run(FakeBackbone(), FakeSource("text"))


def test_a_round_is_not_what_was_not_found() -> None:
    """The reason of a declined question is about the question: a page was found, and does not answer it."""
    _, trace = run(FakeBackbone(act("search", "director"), act("search", "Emma Road")), rounds=2)
    verdict = judge(trace, accept=0.5)
    assert verdict.status == "unknown" and "Emma Road" in verdict.reason and "Nothing was found" not in verdict.reason
    assert set(verdict.nodes) == {0}


def test_a_model_that_has_learnt_to_ask_on_finds_out_one_thing_after_another() -> None:
    """The thought is the next question; it says what may be searched, and what is seen answers it."""
    first, second = "Who directed Emma Road?", "Who is the mother of Ann Lee?"
    backbone = FakeBackbone(
        *(first, "Action: search\nInput: Emma Road", "Ann Lee [1]"),
        *(second, "Action: search\nInput: Ann Lee", "Eve Lee [1]"),
        *("Done", "Eve Lee", "Action: finish\nInput: Eve Lee"),
    )
    result, trace = run(backbone, style="lean", knows_next=True)
    assert (result.texts, result.method) == (("Eve Lee",), "tool")
    assert result.confidence == pytest.approx(0.8**3), "of the readings, not of how the action was written"
    assert [node.thought for node in trace.nodes[1:]] == [first, second, ALL_FOUND]
    search, finish = backbone.grammars[1] or "", backbone.grammars[-1] or ""
    assert '"search"' in search and '"finish"' not in search and "mother" not in search
    assert '"finish"' in finish and '"search"' not in finish and "Eve Lee" in finish


def test_a_question_that_a_page_does_not_answer_stays_and_can_be_looked_up() -> None:
    first = "Who directed Emma Road?"
    backbone = FakeBackbone(
        *(first, "Action: search\nInput: Emma Road", "Unknown"),
        *("Action: lookup\nInput: film", "Ann Lee [1]"),
        *("Done", "Ann Lee", "Action: finish\nInput: Ann Lee"),
    )
    result, trace = run(backbone, style="lean", knows_next=True)
    assert [node.thought for node in trace.nodes[1:]] == [first, first, ALL_FOUND]
    assert result.texts == ("Ann Lee",)


def test_a_page_is_read_again_for_another_question_but_not_for_the_same() -> None:
    """What was tried before is what was tried for this question."""
    first, second = "Who directed Emma Road?", "When was Emma Road made?"
    again = "Action: search\nInput: Emma Road"
    backbone = FakeBackbone(first, again, "Ann Lee [1]", second, again, "Unknown", again, again)
    _, trace = run(backbone, style="lean", knows_next=True)
    observed = [node.observation.startswith("already tried") for node in trace.nodes[1:] if node.action]
    assert observed == [False, False, True, True]
    assert [node.thought for node in trace.nodes[1:5]] == [first, second, second, second]


def test_where_no_page_is_called_so_the_titles_like_it_are_offered_until_one_answers() -> None:
    pages = FakePages({"Emma Lane": ("A lane.",), "Emma Street": ("A street by Ann Lee.",)})
    backbone = FakeBackbone(
        *("Who directed Emma Road?", "Action: search\nInput: Emma Road"),
        *("Action: search\nInput: Emma Lane", "Unknown"),
        *("Action: search\nInput: Emma Street", "Ann Lee [1]"),
        *("Done", "Ann Lee", "Action: finish\nInput: Ann Lee"),
    )
    result, _ = run(backbone, pages, style="lean", knows_next=True)
    assert result.texts == ("Ann Lee",)
    second, third = backbone.grammars[2] or "", backbone.grammars[4] or ""
    assert '"Emma Lane"' in second and '"Emma Street"' in second and '"Emma Road"' not in second
    assert '"Emma Street"' in third and '"Emma Lane"' not in third
