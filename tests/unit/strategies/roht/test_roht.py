"""RoHT: every question of a tree asked of graph, text and its parts; each answer with its probability."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from support.fake_parts import UNKNOWN, FakeSource, Said, entity, passages, reply, rows, texts
from support.planned_runs import planned_runs
from support.strategy_scripts import weighed

from atomr_local.errors import InputError, SourceError
from atomr_local.reasoning.candidates import Candidate
from atomr_local.reasoning.ranking import Ranking
from atomr_local.reasoning.results import Result, combinations
from atomr_local.reasoning.revision import Revision
from atomr_local.sources.protocol import Retrieval, Value
from atomr_local.strategies.roht import strategy
from atomr_local.strategies.roht.strategy import SkeletonTable, own_tables, shipped_tables
from atomr_local.system.cancellation import Cancellation
from atomr_local.tree.compact import parse_compact

QUESTION = "Where was the director of Emma Road born?"
PLAN = '1. Who directed Emma Road? = Relate("Emma Road", "director")\n2. Where was [1] born? = Relate([1], "place of birth")'
FIRST, SECOND = "Who directed Emma Road?", "Where was Ann Lee born?"
FILM = ("Emma Road", "Emma Road is a film that Ann Lee directed.")
BIRTH = ("Ann Lee", "Ann Lee was born in York.")
WHOLE = ("Emma Road", "The director of Emma Road was born in Ulm.")
FOUND = {FIRST: passages(FILM), SECOND: passages(BIRTH), QUESTION: passages(WHOLE)}
ROAD, ANN, YORK = entity("Emma Road"), entity("Ann Lee"), entity("York")
KNOWN: dict[str, Retrieval | Exception] = {
    "Emma Road": rows("Emma Road", ROAD, link=0.9),
    "Emma Road director": rows("Emma Road", ANN, relation=0.8),
    "Ann Lee place of birth": rows("Ann Lee", YORK, relation=1.0),
}


def says(answer: str, p: float = 0.8, evidence: int = 1) -> Said:
    return Said(reply(answer, evidence=[evidence]) if answer != "Unknown" else UNKNOWN, p)


run = planned_runs("roht", QUESTION, PLAN, samples=0)

text = texts(FOUND)


def graph(found: dict[str, Any] | None = None) -> FakeSource:
    return FakeSource("graph", KNOWN if found is None else found)


@pytest.fixture
def table(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    def use(model: str = "fake", **counts: tuple[int, int]) -> None:
        made = SkeletonTable({name.replace("_", "-"): given for name, given in counts.items()})
        monkeypatch.setattr(strategy, "shipped_tables", lambda: {(model, None): made})

    return use


# -- the published path, formulas by hand


def test_text_and_children_by_hand() -> None:
    source = text()
    result, trace, _, _ = run((says("Ann Lee", 0.6), says("York", 0.8), says("Ulm", 0.65)), source)
    assert source.queries == [FIRST, SECOND, QUESTION]
    assert weighed(trace, 1) == [("text", "Ann Lee", 0.6)]
    assert weighed(trace, 2) == [("text", "York", 0.7)]  # mean(1 · 0.8, 0.6)
    assert weighed(trace, 0) == [("children", "York", 0.7), ("text", "Ulm", 0.65)]
    root = trace.node(0)
    assert (root.answers, root.method, root.supported) == (["York"], "aggregate", True)
    assert result.confidence is not None


def test_how_surely_the_plan_was_written_is_in_every_score_but_the_roots() -> None:
    written = Said(f"0. {QUESTION}\n{PLAN}", 0.9)
    _, trace, _, _ = run((written, says("Ann Lee", 0.6), says("York", 0.8), says("Ulm", 0.65)), text(), plan=None)
    assert [round(node.plan_confidence or 0.0, 3) for node in trace.nodes] == [1.0, 0.9, 0.9]
    assert weighed(trace, 1) == [("text", "Ann Lee", 0.54)]  # 0.9 · 0.6
    assert weighed(trace, 2) == [("text", "York", 0.63)]  # mean(0.9 · 0.8, 0.54)
    assert weighed(trace, 0) == [("text", "Ulm", 0.65), ("children", "York", 0.63)]  # p_g of the root is 1


def test_the_graph_answers_by_its_operators_alone() -> None:
    result, trace, _, _ = run((), graph(), scheduler=False)
    assert weighed(trace, 1) == [("graph", "Ann Lee", 0.72)]  # 1 · link 0.9 · relation 0.8
    assert weighed(trace, 2) == [("graph", "York", 0.86)]  # mean(1, 0.72)
    # The graph's score for the whole is 0.72, that of the parts 0.86: equal answers keep the best.
    assert weighed(trace, 0) == [("children", "York", 0.86)]
    assert result.values[0].iri == YORK.iri and trace.totals.llm_calls == 0
    assert all(set(node.cited) <= set(node.evidence) for node in trace.nodes) and trace.node(0).supported


def test_a_plan_of_the_models_counts_in_the_parse_too() -> None:
    written = Said(f"0. {QUESTION}\n{PLAN}", 0.5)
    _, trace, _, _ = run((written,), graph(), plan=None, scheduler=False)
    assert weighed(trace, 1) == [("graph", "Ann Lee", 0.18)]  # p_g 0.5 · (0.5 · 0.9 · 0.8)


COMPARISON = """1. When was Ann born? = Relate("Ann", "date of birth")
2. When was Bob born? = Relate("Bob", "date of birth")
3. Who was born first? = Compare([1], [2], "earlier")"""
DATES = {
    "When was Ann born?": passages(("Ann", "Ann was born on 1 May 1901.")),
    "When was Bob born?": passages(("Bob", "Bob was born on 2 May 1903.")),
}


def test_a_symbolic_question_is_computed_with_the_mean_score() -> None:
    question = "Who was born first, Ann or Bob?"
    written = Said(f"0. {question}\n{COMPARISON}", 0.9)
    replies = (written, says("1 May 1901", 0.6), says("2 May 1903", 0.7))
    result, trace, _, _ = run(replies, text(DATES), plan=None, question=question)
    # p_g · p of the dates, then mean(p_g, both)
    assert weighed(trace, 3) == [("computed", "Ann", round((0.9 + 0.54 + 0.63) / 3, 3))]
    assert weighed(trace, 0) == [("children", "Ann", 0.69)]
    assert result.texts == ("Ann",) and result.computed and trace.node(0).supported is None
    assert trace.node(3).computation == "Ann 1901-05-01 < Bob 1903-05-02"


def test_equal_answers_keep_the_best_and_the_rest_is_ordered() -> None:
    """Children {A 0.70, B 0.64}, text {B 0.81}: B 0.81, A 0.70."""
    replies = (says("Ann Lee", 0.9), says("York", 0.5), says("Ulm", 0.38), UNKNOWN, UNKNOWN)  # mean(0.5, 0.9), …
    _, trace, _, _ = run((*replies, says("ulm", 0.81), UNKNOWN, UNKNOWN, UNKNOWN), text(), samples=3)
    assert weighed(trace, 2) == [("text", "York", 0.7), ("text", "Ulm", 0.64)]
    assert weighed(trace, 0) == [("text", "ulm", 0.81), ("children", "York", 0.7)]


# -- bridges over combinations


def _result(*answers: tuple[str, float]) -> Result:
    made = tuple(Candidate((Value(name),), score, "text") for name, score in answers)
    return Result(made[0].values, "aggregate", made[0].score, candidates=made)


def test_combinations_by_descending_mean_and_how_many_are_left_out() -> None:
    results = {1: _result(("a", 0.9), ("b", 0.5)), 2: _result(("c", 0.8), ("d", 0.7), ("e", 0.1))}
    made, left = combinations(results, (1, 2), 3)
    assert [(one.results[1].answer, one.results[2].answer) for one in made] == [("a", "c"), ("a", "d"), ("b", "c")]
    assert left == 3 and combinations(results, (), 3) == ([made[0].__class__(results)], 0)


def test_a_bridge_is_asked_for_every_combination() -> None:
    others = {"Where was Bob Ray born?": passages(("Bob Ray", "Bob Ray was born in Ulm."))}
    replies = (
        says("Ann Lee", 0.6), says("Bob Ray", 0.5), UNKNOWN, UNKNOWN,
        says("York", 0.95), says("Ulm", 0.97), says("Unknown"),
    )  # fmt: skip
    source = text(FOUND | others)
    _, trace, _, _ = run(replies, source, samples=3)
    assert source.queries == [FIRST, SECOND, "Where was Bob Ray born?", QUESTION]
    assert weighed(trace, 1) == [("text", "Ann Lee", 0.6), ("text", "Bob Ray", 0.5)]
    assert weighed(trace, 2) == [("text", "York", 0.775), ("text", "Ulm", 0.735)]
    replies = (*replies[:4], says("York", 0.95), says("Unknown"))
    source = text(FOUND | others)
    _, trace, _, _ = run(replies, source, samples=3, cap=1)
    assert source.queries == [FIRST, SECOND, QUESTION]
    assert "1 of 2 combinations of earlier answers left out (limit 1)" in trace.node(2).dropped


def test_k_keeps_the_best_and_asks_for_no_others() -> None:
    _, trace, _, _ = run((says("Ann Lee", 0.6), says("York", 0.8), says("Ulm", 0.65)), text(), samples=3, k=1)
    assert weighed(trace, 0) == [("children", "York", 0.7)]


# -- the scheduler


def test_a_skeleton_that_is_right_often_enough_suits_the_graph(table: Callable[..., None]) -> None:
    weak = {**KNOWN, "Emma Road director": rows("Emma Road", ANN, relation=0.6)}
    table(Search_Relate=(10, 8))
    assert weighed(run((), graph(weak))[1], 1) == [("graph", "Ann Lee", 0.54)]
    table(Search_Relate=(10, 7), Search_Relate_Relate=(10, 7))  # not over γ
    source = graph(weak)
    _, trace, _, _ = run((UNKNOWN,), source)
    assert source.queries == [] and trace.node(1).answers == []
    assert "the graph was not asked: Search-Relate was right 0.70 of the time" in trace.node(1).dropped
    assert weighed(run((), graph(weak), gamma=0.4)[1], 1) == [("graph", "Ann Lee", 0.54)]


def test_an_unknown_skeleton_suits_where_the_graph_is_sure_itself(table: Callable[..., None]) -> None:
    table(Search_Relate=(4, 4))  # too few to tell
    assert weighed(run((), graph())[1], 1) == [("graph", "Ann Lee", 0.72)]
    _, trace, _, _ = run((UNKNOWN,), graph({**KNOWN, "Emma Road director": rows("Emma Road", ANN, relation=0.6)}))
    assert trace.node(1).candidates == []
    assert any("does not surely link" in note for note in trace.node(1).dropped)


def test_a_table_made_for_another_model_is_not_used(table: Callable[..., None]) -> None:
    table("other", Search_Relate=(10, 0))
    assert weighed(run((), graph())[1], 1) == [("graph", "Ann Lee", 0.72)]


def test_the_shipped_tables_can_be_read() -> None:
    for (model, _), made in shipped_tables().items():
        assert model and all(0 <= right <= answered for answered, right in made.counts.values())


def own_table(home: Path, text: str) -> None:
    file = home / "models" / "skeletons.json"
    file.parent.mkdir()
    file.write_text(text)


def test_a_table_of_the_users_own_stands_before_the_shipped_one(
    table: Callable[..., None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ATOMR_HOME", str(tmp_path))
    table(Search_Relate=(10, 10))
    counts = {"answered": 10, "right": 2}
    own = {"model": "fake", "adapter": None, "skeletons": {"Search-Relate": counts, "Search-Relate-Relate": counts}}
    own_table(tmp_path, json.dumps({"tables": [own]}))
    _, trace, _, _ = run((UNKNOWN,), graph())
    assert "the graph was not asked: Search-Relate was right 0.20 of the time" in trace.node(1).dropped


@pytest.mark.parametrize(
    "text", ["", "[]", '{"tables": 1}', '{"tables": [{"model": "m"}]}', '{"tables": [[]]}', "[" * 9999]
)
def test_a_table_of_the_users_own_that_is_none_is_named(
    text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ATOMR_HOME", str(tmp_path))
    own_table(tmp_path, text)
    with pytest.raises(InputError, match=r"skeletons\.json holds no tables"):
        own_tables(tmp_path / "models" / "skeletons.json")


class Scores:
    """A reranker to which a passage that tells of Ann Lee is worth 2, and any other -2."""

    def scores(self, query: str, passages: Sequence[str], cancellation: Cancellation) -> list[float]:
        return [2.0 if "Ann Lee" in passage or "Ulm" in passage else -2.0 for passage in passages]


@pytest.mark.parametrize(("relevant", "read"), [(0.0, False), (-3.0, True)])
def test_a_reranker_says_which_passages_are_read(relevant: float, read: bool) -> None:
    """The passage that has the words of the question alone is not read, the one that has few of them is."""
    words, tells = ("Roads", "Who directed Emma Road? Nobody knows."), ("Film", "It is by Ann Lee.")
    _, trace, _, backbone = run(
        (says("Ann Lee"), says("York"), says("Ulm")), text(FOUND | {FIRST: passages(words, tells)}),
        ranking=Ranking(Scores), relevant=relevant,
    )  # fmt: skip
    assert "It is by Ann Lee." in backbone.asked[0] and ("Nobody knows" in backbone.asked[0]) is read
    assert len(trace.node(1).evidence) == 2


def test_what_does_not_suit_by_the_reranker_is_told() -> None:
    _, trace, _, _ = run(
        (UNKNOWN,) * 2, text({FIRST: passages(("Roads", "Who directed Emma Road?"))}), samples=0,
        ranking=Ranking(Scores), settings={"retrieval": {"reranker": "/a/model"}},
    )  # fmt: skip
    assert any("nothing" in note or "neither" in note for note in trace.node(1).dropped)
    assert not any("question's words" in note for note in trace.node(1).dropped)


def test_only_passages_with_the_questions_words_are_read() -> None:
    other = ("Roads", "Something else altogether, of no use here at all.")
    _, trace, _, backbone = run(
        (says("Ann Lee"), says("York"), says("Ulm")), text(FOUND | {FIRST: passages(other, FILM)})
    )
    assert "altogether" not in backbone.asked[0] and len(trace.node(1).evidence) == 2
    _, _, _, backbone = run(
        (says("Ann Lee"), says("York"), says("Ulm")), text(FOUND | {FIRST: passages(other, FILM)}), scheduler=False
    )
    assert "altogether" in backbone.asked[0]


def test_where_nothing_suits_what_was_found_is_read_and_told() -> None:
    other = ("Roads", "Something else altogether, of no use here at all.")
    _, trace, _, _ = run((says("Ann Lee"), says("York"), says("Ulm")), text(FOUND | {FIRST: passages(other)}))
    assert trace.node(1).answers == ["Ann Lee"]
    assert any("read anyway" in note for note in trace.node(1).dropped)


# -- the tree

TWO_LEVELS = """1. Where was the director of Emma Road born?
 3. Who directed Emma Road? = Relate("Emma Road", "director")
 4. Where was [3] born? = Relate([3], "place of birth")
2. In which country is [1]? = Relate([1], "country")"""
COUNTRY = {"In which country is York?": passages(("York", "York is a city in the country England."))}


def test_flat_has_the_leaves_alone() -> None:
    question = "In which country was the director of Emma Road born?"
    source = text({**FOUND, **COUNTRY})
    result, trace, _, _ = run(
        (says("Ann Lee"), says("York"), says("England")), source, plan=TWO_LEVELS, question=question, flat=True
    )
    assert [node.parent for node in trace.nodes] == [None, 0, 0, 0]
    assert source.queries == [FIRST, SECOND, "In which country is York?"] and result.texts == ("England",)


def test_the_hierarchy_asks_the_middle_question_too() -> None:
    question = "In which country was the director of Emma Road born?"
    source = text({**FOUND, **COUNTRY})
    replies = (says("Ann Lee"), says("York"), says("York", 0.9), says("England"))
    _, trace, _, _ = run(replies, source, plan=TWO_LEVELS, question=question)
    assert source.queries[2] == QUESTION and weighed(trace, 1)[0] == ("text", "York", 0.9)


# -- what goes wrong


def test_unknown_everywhere_is_unknown() -> None:
    asked = "Where was (Who directed Emma Road) born?"
    result, trace, _, _ = run((UNKNOWN,) * 4, text(FOUND | {asked: passages(BIRTH)}))
    assert not result.values and trace.node(0).outcome == "not found" and trace.node(0).candidates == []


def test_nothing_retrieved_is_asked_of_the_model_alone_and_cites_nothing() -> None:
    source = text({})
    result, trace, _, _ = run((UNKNOWN,), source)
    assert not result.values and trace.evidence == [] and trace.node(0).outcome == "not found"
    assert len(source.queries) == 3, "each question of the tree was looked up"
    result, trace, _, _ = run((reply("York"),), text({}), graph({}))
    assert (result.texts, result.cited, trace.node(0).outcome) == (("York",), [], "memory")
    assert [(one["origin"], one["evidence"]) for one in trace.node(0).candidates] == [("model", [])]


def test_a_guess_where_guesses_are_on() -> None:
    result, _, _, _ = run(
        (UNKNOWN, reply("York", evidence=[1])), text({QUESTION: passages(WHOLE)}), plan="0. Where?",
        settings={"features": {"guess": True}},
    )  # fmt: skip
    assert result.texts == ("York",) and result.signals["guess"] == 1.0


def test_a_step_without_an_answer_counts_nothing() -> None:
    asked = "Where was (Who directed Emma Road) born?"
    _, trace, _, _ = run((UNKNOWN, says("York", 0.8), UNKNOWN), text(FOUND | {asked: passages(BIRTH)}))
    assert weighed(trace, 2) == [("text", "York", 0.4)]  # mean(0.8, 0)


def test_a_source_that_fails_is_told_and_the_other_answers() -> None:
    failing = graph(KNOWN | {"Emma Road": SourceError("gone"), "Ann Lee": rows("Ann Lee", ANN)})
    _, trace, _, _ = run(
        (says("Ann Lee"), says("Ulm", 0.5)), failing, text({FIRST: passages(FILM), QUESTION: passages(WHOLE)})
    )
    assert weighed(trace, 1) == [("text", "Ann Lee", 0.8)] and weighed(trace, 2)[0][0] == "graph"
    assert "graph: gone" in trace.node(1).dropped
    _, trace, _, _ = run((), text({FIRST: SourceError("gone")}), graph())
    assert trace.node(1).answers == ["Ann Lee"] and "text: gone" in trace.node(1).dropped
    assert trace.node(1).sources == ["text", "graph"]


def test_output_that_fits_no_form_is_told() -> None:
    result, trace, _, _ = run(("no json", UNKNOWN), text(), plan="0. Where?")
    assert not result.values and any("text: " in note for note in trace.node(0).dropped)


def test_a_repeated_question_has_the_answer_of_the_first() -> None:
    source = text()
    plan = f"1. {FIRST}\n2. {FIRST.lower()}\n3. Where was [2] born?"
    _, trace, _, _ = run((says("Ann Lee"), says("York"), UNKNOWN, UNKNOWN, UNKNOWN), source, plan=plan)
    assert source.queries == [FIRST, SECOND, QUESTION] and "step 1 asked the same" in trace.node(2).dropped


def test_the_graph_and_computations_need_no_calls() -> None:
    settings = {"llm": {"parallel": 1}, "limits": {"calls": 1}}
    written = Said(f"0. {QUESTION}\n{PLAN}", 1.0)
    assert run((written,), graph(), plan=None, settings=settings)[0].texts == ("York",)


# -- without log-probabilities; more


def test_without_log_probabilities_the_agreement_of_samples_is_the_score() -> None:
    def unsure(answer: str) -> Said:
        return says(answer, math.nan)

    replies = (unsure("York"), unsure("Ulm"), unsure("york"), unsure("York"))
    _, trace, _, backbone = run(replies, text(), plan="0. Where?", samples=3)
    assert weighed(trace, 0) == [("text", "York", 0.75), ("text", "Ulm", 0.25)]
    assert [request.temperature for request in backbone.requests] == [0.0, 1.0, 1.0, 1.0]
    assert any("tells no log-probabilities" in note for note in trace.node(0).dropped)


def test_parts_that_end_in_no_answer_are_combined_by_the_model() -> None:
    plan = f"1. {FIRST}\n2. Who directed Ulm Street?"
    more = {"Who directed Ulm Street?": passages(("Ulm Street", "Ann Lee directed Ulm Street."))}
    question = "What made them famous?"
    result, trace, _, backbone = run(
        (says("Ann Lee", 0.6), says("Ann Lee", 0.7), Said(reply("a prize"), 0.8)), text(FOUND | more), plan=plan,
        question=question, children_only=True,
    )  # fmt: skip
    assert "1. Who directed Emma Road? Ann Lee" in backbone.asked[-1]
    assert weighed(trace, 0) == [("children", "a prize", 0.7)] and result.texts == ("a prize",)  # mean(0.8, 0.6, 0.7)


def test_a_plan_that_cannot_be_read_is_the_question_alone() -> None:
    result, trace, _, _ = run(("no plan", "no plan", says("Ulm")), text(), plan=None)
    assert result.texts == ("Ulm",) and trace.plan.origin == "fallback"


# -- corrections


def test_a_correction_runs_only_what_rests_on_it() -> None:
    _, base, tools, _ = run((says("Ann Lee", 0.6), says("York", 0.8), says("Ulm", 0.5)), text())
    changed = parse_compact(
        base.plan.compact.replace("[1] born", "[1] buried").replace("of birth", "of burial"), QUESTION
    )
    source = text({"Where was Ann Lee buried?": passages(("Ann Lee", "Ann Lee was buried in Hull."))})
    for earlier in (tools, None):
        _, trace, _, _ = run(
            (says("Hull", 0.9),), source, plan=changed, origin="user", revision=Revision(base), earlier=earlier
        )
        assert trace.node(1).llm.calls == 0 and weighed(trace, 1) == weighed(base, 1)
        assert weighed(trace, 0) == [("children", "Hull", 0.75)]


def test_an_answer_of_the_users_own_decides_what_rests_on_it() -> None:
    _, base, _, _ = run((says("Ann Lee", 0.6), says("York", 0.8), says("Ulm", 0.5)), text())
    source = text(
        {"Where was Bob Lee born?": passages(("Bob Lee", "Bob Lee was born in Hull."))} | {QUESTION: passages(WHOLE)}
    )
    _, trace, _, _ = run(
        (says("Hull", 0.5),), source, plan=parse_compact(base.plan.compact, QUESTION), origin="user",
        revision=Revision(base, answers={1: ("Bob Lee",)}),
    )  # fmt: skip
    assert trace.node(1).by_user and weighed(trace, 2) == [("text", "Hull", 0.75)]  # mean(0.5, 1)
    assert weighed(trace, 0) == [("children", "Hull", 0.75)] and trace.node(0).confidence == 0.75
    assert any("user's answer" in note for note in trace.node(0).dropped)


def test_a_corrected_plan_keeps_how_surely_it_was_written() -> None:
    written = Said(f"0. {QUESTION}\n{PLAN}", 0.9)
    _, base, _, _ = run((written, says("Ann Lee", 0.6), says("York"), says("Ulm")), text(), plan=None)
    plan = parse_compact(base.plan.compact)
    _, trace, _, _ = run(
        (says("Ulm"),), text(), plan=plan, origin="user", revision=Revision(base, rerun=frozenset({0}))
    )
    assert [node.plan_confidence for node in trace.nodes] == [node.plan_confidence for node in base.nodes]
    assert weighed(trace, 0) == weighed(base, 0)
