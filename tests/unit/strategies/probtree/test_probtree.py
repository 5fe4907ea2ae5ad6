"""ProbTree: every question of a tree in three ways; the surest answer wins."""

from __future__ import annotations

import math
from typing import Any

import pytest
from support.fake_parts import UNKNOWN, FakeBackbone, Reply, Said, passages, reply, texts, toolbox
from support.planned_runs import planned_runs
from support.strategy_scripts import weighed

from atomr_local.errors import SettingsError, SourceError
from atomr_local.reasoning.revision import Revision
from atomr_local.strategies.options import checked_options
from atomr_local.strategies.probtree import ProbTreeOptions
from atomr_local.strategies.registry import find_strategy
from atomr_local.strategies.shared.closing import REPEATED
from atomr_local.tree.compact import parse_compact

QUESTION = "Where was the director of Emma Road born?"
PLAN = '1. Who directed Emma Road? = Relate("Emma Road", "director")\n2. Where was [1] born? = Relate([1], "place of birth")'
FIRST, SECOND = "Who directed Emma Road?", "Where was Ann Lee born?"
FILM = ("Emma Road", "Emma Road is a film by Ann Lee.")
BIRTH = ("Ann Lee", "Ann Lee was born in York.")
OTHER = ("Roads", "A road leads to Ulm.")
FOUND = {QUESTION: passages(FILM, OTHER), FIRST: passages(FILM, OTHER), SECOND: passages(BIRTH)}


def says(answer: str, logprob: float = -0.2, reasons: str = "So it is [1].") -> Said:
    return Said(f"Reasons: {reasons}\nAnswer: {answer}", math.exp(logprob))


NOTHING = says("Unknown")
# Per question: evidence, then (for the root) its parts, then memory.
PATH: tuple[Reply, ...] = (
    says("Ann Lee", -0.3), says("Bob", -0.4),
    says("York", -0.5), NOTHING,
    says("Ulm", -0.25, "A road leads to Ulm [2]."), says("York", -0.2), says("Rome", -0.6),
)  # fmt: skip

run = planned_runs("probtree", QUESTION, PLAN)

text = texts(FOUND)


def test_the_published_path() -> None:
    source = text()
    result, trace, _, _ = run(PATH, source)
    assert source.queries == [FIRST, SECOND, QUESTION]
    assert [request.top_k for request in source.requests] == [5, 5, 5]
    assert [(node.kind, node.answers) for node in trace.nodes] == [
        ("root", ["Ulm"]), ("direct", ["Ann Lee"]), ("direct", ["York"]),
    ]  # fmt: skip
    assert weighed(trace, 1) == [("text", "Ann Lee", -0.3), ("model", "Bob", -0.4)]
    assert weighed(trace, 2) == [("text", "York", -0.5), ("model", "Unknown", None)]
    # (-0.2 + 0 + (-0.3 - 0.5)) / 4 = -0.25, and the file's plan is sure. The text is asked first: it wins a tie.
    assert weighed(trace, 0) == [("text", "Ulm", -0.25), ("children", "York", -0.25), ("model", "Rome", -0.6)]
    root = trace.node(0)
    assert (root.method, root.thought, root.supported) == ("aggregate", "A road leads to Ulm [2].", True)
    assert result.confidence is not None
    assert trace.plan.origin == "file" and trace.plan.compact.endswith("2. Where was [1] born?")


def test_a_parent_reads_its_own_evidence_and_that_of_the_questions_below() -> None:
    many = passages(*((f"Page {number}", f"Text {number}.") for number in range(5)))
    _, trace, _, backbone = run(PATH, text(FOUND | {FIRST: many}), k_descendants=2)
    titles = {item.id: item.title for item in trace.evidence}
    assert [titles[item] for item in trace.node(0).evidence] == ["Emma Road", "Roads", "Page 0", "Page 1", "Ann Lee"]
    assert "[5] Ann Lee: Ann Lee was born in York." in backbone.asked[4]


def test_the_parts_win_with_what_they_cite() -> None:
    replies = (*PATH[:4], says("Ulm", -0.3), *PATH[5:])
    result, trace, _, backbone = run(replies, text())
    root = trace.node(0)
    assert root.answers == ["York"] and root.candidates[0]["origin"] == "children"
    assert [trace.evidence[int(item[1:]) - 1].title for item in root.cited] == ["Emma Road", "Ann Lee"]
    assert root.supported and root.outcome == "found"
    assert f"1. {FIRST} Ann Lee\n2. {SECOND} York" in backbone.asked[5]
    assert result.confidence is not None and result.confidence < 0.9


def test_a_child_that_is_not_found_leaves_its_parent_no_score_from_the_parts() -> None:
    replies = (*PATH[:2], NOTHING, NOTHING, says("Ulm", -3.0), says("York", -0.1), NOTHING)
    _, trace, _, _ = run(replies, text())
    assert trace.node(2).answers == [] and trace.node(2).outcome == "not found"
    assert weighed(trace, 0)[:2] == [("text", "Ulm", -3.0), ("children", "York", None)]


def test_a_winner_from_memory_is_told_as_such() -> None:
    _, trace, _, _ = run((says("Unknown"), says("York")), text(), plan="0. Where?")
    root = trace.node(0)
    assert (root.outcome, root.cited, root.supported, root.answers) == ("memory", [], None, ["York"])


@pytest.mark.parametrize("echo", [FIRST, "Emma Road", "emma road"])
def test_what_memory_only_repeats_of_the_question_is_no_answer(echo: str) -> None:
    """As sure as a small model is of it, it wins over nothing."""
    replies = (says("Ann Lee", -0.9), says(echo, -0.01), *PATH[2:])
    _, trace, _, _ = run(replies, text())
    assert weighed(trace, 1) == [("text", "Ann Lee", -0.9), ("model", "Unknown", None)]
    assert REPEATED in trace.node(1).dropped


def test_unknown_everywhere_is_unknown_and_its_children_are_not_asked() -> None:
    result, trace, _, _ = run(
        (NOTHING,) * 6, text(FOUND | {"Where was (Who directed Emma Road) born?": passages(BIRTH)})
    )
    assert not result.values and trace.node(0).outcome == "not found"
    assert [one["origin"] for one in trace.node(0).candidates] == ["text", "model"]
    assert all(one["score"] is None for one in trace.node(0).candidates)


def test_nothing_retrieved_leaves_the_model() -> None:
    result, trace, _, _ = run((says("Ann Lee"), says("York"), says("York", -0.1), says("Rome")), text({}))
    assert result.texts == ("York",) and trace.node(1).outcome == "memory"
    assert [one["origin"] for one in trace.node(0).candidates] == ["children", "model"]
    assert trace.node(0).outcome == "memory"  # nothing that it rests on is cited


def test_a_guess_where_nothing_is_known_and_guesses_are_on() -> None:
    result, trace, _, _ = run(
        (NOTHING, NOTHING, reply("York", evidence=[1])),
        text(),
        plan="0. Where?",
        settings={"features": {"guess": True}},
    )
    assert result.texts == ("York",) and result.signals["guess"] == 1.0
    assert trace.node(0).outcome == "not found"


# -- options


def test_ways_can_be_switched_off() -> None:
    assert run((says("York"),), text(), plan="0. Where?", closed_book=False)[0].texts == ("York",)
    source = text()
    run((says("York"),), source, plan="0. Where?", open_book=False)
    assert source.queries == []
    _, trace, _, _ = run((*PATH[:4], PATH[4], PATH[6]), text(), children=False)
    assert [one["origin"] for one in trace.node(0).candidates] == ["text", "model"]


def test_without_any_way_to_answer_the_options_are_refused() -> None:
    with pytest.raises(SettingsError, match="closed_book or open_book must be on"):
        checked_options(find_strategy("probtree"), {"closed_book": False, "open_book": False})


def test_an_adapter_has_its_closed_tasks_and_its_answers_are_scored() -> None:
    replies = (
        Said("Ann Lee [1]", 0.9),
        Said("Bob", 0.5),
        Said("York [1]", 0.9),
        "Unknown",
        "Unknown",
        "York",
        "Unknown",
    )
    chosen: dict[str, Any] = {"llm": {"parallel": 1}}
    backbone = FakeBackbone(*replies)
    tools = toolbox(QUESTION, backbone, text(), style="lean", options=ProbTreeOptions(), **chosen)
    find_strategy("probtree").run(QUESTION, parse_compact(PLAN, QUESTION), "file", tools)
    trace = tools.recorder.trace
    assert [prompt.messages[0].content for prompt in backbone.prompts] == [
        "Read.", "Recall.", "Read.", "Recall.", "Answer.", "Combine.", "Recall.",
    ]  # fmt: skip
    assert weighed(trace, 1) == [
        ("text", "Ann Lee", round(math.log(0.9), 3)),
        ("model", "Bob", round(math.log(0.5), 3)),
    ]
    assert trace.node(0).answers == ["York"] and trace.node(0).thought == ""


# -- plans


def test_the_planners_plan_runs_without_operators_and_with_how_sure_it_was() -> None:
    written = Said(f"0. {QUESTION}\n{PLAN}", math.exp(-0.1))
    _, trace, _, _ = run((written, *PATH[:4], says("Ulm", -0.3), *PATH[5:]), text(), plan=None)
    assert trace.plan.origin == "model" and "Relate" not in trace.plan.compact
    assert trace.node(0).plan_confidence == pytest.approx(math.exp(-0.1))
    assert trace.node(1).plan_confidence is None
    # (-0.2 - 0.1 - 0.3 - 0.5) / 4
    assert weighed(trace, 0)[0] == ("children", "York", -0.275)


def test_a_plan_that_cannot_be_read_is_the_question_alone() -> None:
    result, trace, _, _ = run(("no plan", "no plan", says("Ulm"), NOTHING), text(), plan=None)
    assert result.texts == ("Ulm",) and trace.plan.origin == "fallback"


# -- log-probabilities


def unsure(answer: str) -> Said:
    return says(answer, math.nan)


def test_without_log_probabilities_the_agreement_of_samples_is_the_score() -> None:
    replies = (unsure("York"), unsure("Ulm"), unsure("york."), unsure("Rome"), unsure("Rome"), unsure("Rome"))
    result, trace, _, backbone = run(replies, text(), plan="0. Where?")
    assert weighed(trace, 0) == [("model", "Rome", 0.0), ("text", "York", round(math.log(2 / 3), 3))]
    assert [request.temperature for request in backbone.requests] == [0.0, 0.7, 0.7] * 2
    assert len({request.seed for request in backbone.requests[1:3]}) == 2
    assert any("agreement of 3 samples" in note for note in trace.node(0).dropped)
    assert result.texts == ("Rome",)


def test_the_majority_of_the_samples_is_the_answer() -> None:
    _, trace, _, _ = run((unsure("Ulm"), unsure("York"), unsure("York"), unsure("Unknown")), text(), plan="0. Where?")
    assert trace.node(0).answers == ["York"]


# -- failures and limits


def test_a_repeated_question_has_the_answer_of_the_first() -> None:
    source = text()
    plan = f"1. {FIRST}\n2. {FIRST.lower()}\n3. Where was [2] born?"
    _, trace, _, _ = run(PATH, source, plan=plan)
    assert source.queries == [FIRST, SECOND, QUESTION]
    assert (trace.node(2).answers, trace.node(2).llm.calls) == (["Ann Lee"], 0)
    assert "step 1 asked the same" in trace.node(2).dropped
    assert trace.node(2).candidates == trace.node(1).candidates


def test_output_that_fits_no_form_is_no_answer_and_told() -> None:
    result, trace, _, _ = run(("", says("York")), text(), plan="0. Where?")
    assert result.texts == ("York",)
    assert any(note.startswith("text: no Reasons was written") for note in trace.node(0).dropped)
    result, trace, _, _ = run(("", "\n\n"), text(), plan="0. Where?")
    assert not result.values and trace.node(0).error is not None


def test_a_source_that_fails_is_told() -> None:
    result, trace, _, _ = run((), text({QUESTION: SourceError("gone")}), plan="0. Where?", closed_book=False)
    assert not result.values and trace.node(0).error == {"title": "Source failed", "message": "text: gone"}


# -- corrections


def test_a_correction_runs_only_what_rests_on_it() -> None:
    _, base, tools, _ = run((*PATH[:4], says("Ulm", -0.3), *PATH[5:]), text())
    changed = parse_compact(base.plan.compact.replace("[1] born", "[1] buried"), QUESTION)
    replies = (says("Hull"), NOTHING, NOTHING, says("Hull", -0.1), NOTHING)
    source = text(
        {"Where was Ann Lee buried?": passages(("Ann Lee", "Ann Lee was buried in Hull.")), QUESTION: passages(FILM)}
    )
    for earlier in (tools, None):  # of the same session, and from the trace alone
        _, trace, _, _ = run(replies, source, plan=changed, origin="user", revision=Revision(base), earlier=earlier)
        assert trace.node(1).answers == ["Ann Lee"] and trace.node(1).llm.calls == 0
        assert weighed(trace, 1) == weighed(base, 1) and trace.node(1).thought == base.node(1).thought
        assert trace.node(0).answers == ["Hull"]
        assert {item for one in trace.node(1).candidates for item in one["evidence"]} <= {e.id for e in trace.evidence}


def test_an_answer_of_the_users_own_decides_what_rests_on_it() -> None:
    _, base, _, _ = run(PATH, text())
    replies = (says("Hull"), NOTHING, says("Ulm", -0.01), says("Hull", -0.4), NOTHING)
    revision = Revision(base, answers={1: ("Bob Lee",)})
    tree = parse_compact(base.plan.compact, QUESTION)
    source = text(FOUND | {"Where was Bob Lee born?": passages(("Bob Lee", "Bob Lee was born in Hull."))})
    _, trace, _, _ = run(replies, source, plan=tree, origin="user", revision=revision)
    assert trace.node(1).by_user and trace.node(2).resolved_question == "Where was Bob Lee born?"
    # (-0.4 + 0 + 0 - 0.2) / 4: the user's answer is certain. The text is surer, but does not know of it.
    assert weighed(trace, 0)[:2] == [("children", "Hull", -0.15), ("text", "Ulm", -0.01)]
    assert trace.node(0).answers == ["Hull"]
    assert any("the user's" in note for note in trace.node(0).dropped)
    assert trace.node(0).confidence == pytest.approx(math.exp(-0.4))


def test_a_corrected_plan_keeps_how_surely_it_was_written() -> None:
    written = Said(f"0. {QUESTION}\n{PLAN}", math.exp(-0.1))
    _, base, _, _ = run((written, *PATH), text(), plan=None)
    revision = Revision(base, rerun=frozenset({0}))
    _, trace, _, _ = run(PATH[4:], text(), plan=parse_compact(base.plan.compact), origin="user", revision=revision)
    assert trace.node(0).plan_confidence == base.node(0).plan_confidence
    assert weighed(trace, 0) == weighed(base, 0)


def test_unknown_in_json_is_no_form() -> None:
    """A server that ignores grammars may write another task's format: nothing is taken from it."""
    result, _, _, _ = run((UNKNOWN, NOTHING), text(), plan="0. Where?")
    assert not result.values
