"""Where a wrong answer went wrong, on traces made by hand from real question shapes."""

from __future__ import annotations

from typing import Any

import pytest
from atomr_lab.evaluation.datasets import GoldFact, Question
from atomr_lab.evaluation.diagnosis import Diagnosis, Stage, count_stages, diagnose, gold_hops, mentions
from support.eval_fakes import make_trace

from atomr_local.reasoning.trace.schema import EvidenceTrace, NodeTrace, PlanTrace, Totals, Trace

CHAIN = Question(
    "c",
    "When was the director of film King Of The Sierras born?",
    ("24 August 1886",),
    "compositional",
    ("Arthur Rosson", "King of the Sierras"),
    (
        GoldFact("King of the Sierras", "director", "Arthur Rosson"),
        GoldFact("Arthur Rosson", "date of birth", "24 August 1886"),
    ),
)
FILM_PAGE = ("King of the Sierras", "King of the Sierras is a 1938 film directed by Arthur Rosson.")
ROSSON_PAGE = ("Arthur Rosson", "Arthur Rosson (24 August 1886 – 17 June 1960) was a director.")
OTHER_PAGE = ("King of the Sea", "A book of 1950.")


def node(node_id: int, parent: int | None, kind: str, question: str, answers: list[str], **more: Any) -> NodeTrace:
    return NodeTrace(node_id, parent, question, kind, answers=answers, **more)


def chain_trace(
    linked: str = "King of the Sierras",
    director: str = "Arthur Rosson",
    born: str = "1887-01-01",
    pages: tuple[tuple[str, str], ...] = (FILM_PAGE, ROSSON_PAGE),
    second: str = "date of birth",
) -> Trace:
    """Search(film) → Relate([3], director) under 1; Relate([1], date of birth) as 2."""
    evidence = [
        EvidenceTrace(f"e{n}", "text", title, text, 1.0, "", {"passage": str(n)})
        for n, (title, text) in enumerate(pages, 1)
    ]
    names = [piece.id for piece in evidence]
    nodes = [
        node(0, None, "root", CHAIN.question, [born]),
        node(1, 0, "parent", "Who directed King Of The Sierras?", [director], refs=[]),
        node(
            2, 0, "relate", f"What is the {second} of [1]?", [born], arguments=[[1], second], refs=[1], evidence=names
        ),
        node(
            3, 1, "search", "What is King Of The Sierras?", [linked], arguments=["King Of The Sierras"], evidence=names
        ),
        node(4, 1, "relate", "Who directed [3]?", [director], arguments=[[3], "director"], refs=[3], evidence=names),
    ]
    return make_trace(CHAIN.question, [born] if born else [], nodes=nodes, evidence=evidence)


def stage(question: Question, trace: Trace) -> Diagnosis:
    found = diagnose(question, trace.to_dict())
    assert found is not None
    return found


def test_a_right_answer_has_no_diagnosis() -> None:
    assert diagnose(CHAIN, chain_trace(born="24 August 1886").to_dict()) is None


def test_a_right_value_in_another_form() -> None:
    assert stage(CHAIN, chain_trace(born="1886-08-24")).stage is Stage.FORM


def test_reading_the_last_hop() -> None:
    found = stage(CHAIN, chain_trace(born="17 June 1960"))
    assert (found.stage, found.node) == (Stage.READING, 2)
    assert "'24 August 1886'" in found.reason


def test_unknown_where_the_evidence_has_it_is_reading() -> None:
    assert stage(CHAIN, chain_trace(born="")).stage is Stage.READING


def test_the_first_hop_that_fails_is_the_one_named() -> None:
    found = stage(CHAIN, chain_trace(director="Arthur Penn", born="1922"))
    assert (found.stage, found.node) == (Stage.READING, 4)


def test_retrieval() -> None:
    found = stage(CHAIN, chain_trace(director="Ann Lee", pages=(OTHER_PAGE,)))
    assert (found.stage, found.node) == (Stage.RETRIEVAL, 4)
    found = stage(CHAIN, chain_trace(pages=(FILM_PAGE, OTHER_PAGE)))
    assert (found.stage, found.node) == (Stage.RETRIEVAL, 2)


def test_the_graph_s_rows_count_as_the_fact_in_any_date_form() -> None:
    rows = ("Arthur Rosson", "Arthur Rosson: date of birth: 1886-08-24.")
    assert stage(CHAIN, chain_trace(pages=(FILM_PAGE, rows))).stage is Stage.READING


def test_linking() -> None:
    found = stage(CHAIN, chain_trace(linked="King of the Sea", director="Ann Lee", pages=(OTHER_PAGE,)))
    assert (found.stage, found.node) == (Stage.LINKING, 3)
    found = stage(CHAIN, chain_trace(linked="King of the Sierras (novel)", director="Ann Lee"))
    assert found.stage is Stage.LINKING


def test_a_wrong_link_that_did_no_harm_is_not_blamed() -> None:
    assert stage(CHAIN, chain_trace(linked="King of the Sea")).stage is Stage.READING


def test_a_namesake_s_page_is_a_wrong_link() -> None:
    song = Question(
        "s",
        "Who performs song Get Low (Dillon Francis And Dj Snake Song)?",
        ("Dillon Francis",),
        gold_titles=("Get Low (Dillon Francis and DJ Snake song)",),
        evidences=(GoldFact("Get Low", "performer", "Dillon Francis"),),
    )
    pages = [("Get Low (Lil Jon song)", "A song by Lil Jon."), (song.gold_titles[0], "By Dillon Francis and DJ Snake.")]
    evidence = [EvidenceTrace(f"e{n}", "text", *page, 1.0, "", {}) for n, page in enumerate(pages, 1)]
    for cited, expected in (("e1", Stage.LINKING), ("e2", Stage.READING)):
        nodes = [
            node(0, None, "root", song.question, ["Lil Jon"]),
            node(
                1,
                0,
                "search",
                "What is Get Low?",
                ["Get Low"],
                arguments=["Get Low"],
                evidence=["e1", "e2"],
                cited=[cited],
            ),
            node(
                2,
                0,
                "relate",
                "Who performs [1]?",
                ["Lil Jon"],
                arguments=[[1], "performer"],
                refs=[1],
                evidence=["e1", "e2"],
            ),
        ]
        assert stage(song, make_trace(song.question, ["Lil Jon"], nodes=nodes, evidence=evidence)).stage is expected


def test_planning() -> None:
    fallback = chain_trace()
    fallback.plan = PlanTrace("", "fallback", 2, ["no such step"])
    assert stage(CHAIN, fallback) == Diagnosis(Stage.PLANNING, "no valid plan: no such step")
    missing_hop = chain_trace(second="occupation")
    assert stage(CHAIN, missing_hop).stage is Stage.PLANNING
    wrong_relation = chain_trace()
    wrong_relation.node(2).arguments = [[1], "film"]  # whatever its question says, this is what is looked up
    assert stage(CHAIN, wrong_relation).stage is Stage.PLANNING
    other_film = chain_trace()
    for item in other_film.nodes[1:]:
        item.question = item.question.replace("Sierras", "Sea")
        item.arguments = [a.replace("Sierras", "Sea") if isinstance(a, str) else a for a in item.arguments]
    found = stage(CHAIN, other_film)
    assert found.stage is Stage.PLANNING
    assert "King of the Sierras" in found.reason


def test_two_hops_of_one_relation_need_two_steps() -> None:
    asked = Question(
        "g",
        "Who is the paternal grandfather of Leopold De Salis?",
        ("Jerome, 4th Count de Salis-Soglio",),
        "inference",
        ("Leopold De Salis",),
        (
            GoldFact("Leopold De Salis", "father", "Leopold Fane De Salis"),
            GoldFact("Leopold Fane De Salis", "father", "Jerome, 4th Count de Salis-Soglio"),
        ),
    )
    nodes = [
        node(0, None, "root", asked.question, ["Peter"]),
        node(
            1,
            0,
            "relate",
            "Who is the father of Leopold De Salis?",
            ["Leopold Fane De Salis"],
            arguments=["Leopold De Salis", "father"],
        ),
        node(2, 0, "relate", "Who is the father of [1]?", ["Peter"], arguments=[[1], "father"], refs=[1]),
    ]
    found = stage(asked, make_trace(asked.question, ["Peter"], nodes=nodes))
    assert (found.stage, found.node) == (Stage.RETRIEVAL, 2)
    nodes[2] = node(2, 0, "direct", "Who is the paternal grandfather?", ["Peter"], refs=[1])
    assert stage(asked, make_trace(asked.question, ["Peter"], nodes=nodes)).stage is Stage.PLANNING


COMPARISON = Question(
    "b",
    "Which film has the director died first, The Prairie King or Confessions Of An Opium Eater?",
    ("The Prairie King",),
    "bridge_comparison",
    ("Albert Zugsmith", "B. Reeves Eason", "Confessions of an Opium Eater", "The Prairie King"),
    (
        GoldFact("The Prairie King", "director", "B. Reeves Eason"),
        GoldFact("Confessions of an Opium Eater", "director", "Albert Zugsmith"),
        GoldFact("B. Reeves Eason", "date of death", "June 9, 1956"),
        GoldFact("Albert Zugsmith", "date of death", "October 26, 1993"),
    ),
)


def comparison_trace(second_death: str) -> Trace:
    nodes = [
        node(0, None, "root", COMPARISON.question, ["Confessions of an Opium Eater"]),
        node(
            1,
            0,
            "relate",
            "Who directed The Prairie King?",
            ["B. Reeves Eason"],
            arguments=["The Prairie King", "director"],
        ),
        node(
            2,
            0,
            "relate",
            "Who directed Confessions Of An Opium Eater?",
            ["Albert Zugsmith"],
            arguments=["Confessions Of An Opium Eater", "director"],
        ),
        node(3, 0, "relate", "When did [1] die?", ["1956-06-09"], arguments=[[1], "date of death"], refs=[1]),
        node(4, 0, "relate", "When did [2] die?", [second_death], arguments=[[2], "date of death"], refs=[2]),
        node(5, 0, "direct", "Which film, given [3] and [4]?", ["Confessions of an Opium Eater"], refs=[3, 4]),
    ]
    return make_trace(COMPARISON.question, ["Confessions of an Opium Eater"], nodes=nodes)


def test_right_hops_and_a_wrong_comparison_is_reasoning() -> None:
    assert stage(COMPARISON, comparison_trace("26 October 1993")).stage is Stage.REASONING


def test_each_branch_of_a_comparison_is_its_own_chain() -> None:
    found = stage(COMPARISON, comparison_trace("1941"))
    assert (found.stage, found.node) == (Stage.RETRIEVAL, 4)


def test_a_parent_that_mends_its_leaf_is_right() -> None:
    trace = chain_trace(director="Arthur Rosson", born="1900")
    trace.node(4).answers = []
    assert stage(CHAIN, trace).node == 2


def rag(question: Question, answers: list[str], pages: list[tuple[str, str]], strategy: str = "rag") -> Trace:
    evidence = [EvidenceTrace(f"e{n}", "text", *page, 1.0, "", {}) for n, page in enumerate(pages, 1)]
    return make_trace(
        question.question,
        answers,
        strategy=strategy,
        plan=PlanTrace(f"0. {question.question}", "fallback", 0),
        nodes=[node(0, None, "root", question.question, answers, evidence=[piece.id for piece in evidence])],
        evidence=evidence,
        totals=Totals(retrievals={"text": len(pages), "graph": 0, "web": 0}),
    )


def test_strategies_without_a_tree() -> None:
    assert stage(CHAIN, rag(CHAIN, ["1900"], [FILM_PAGE])).stage is Stage.RETRIEVAL
    assert stage(CHAIN, rag(CHAIN, ["1900"], [FILM_PAGE, ROSSON_PAGE])).stage is Stage.READING
    assert stage(CHAIN, rag(CHAIN, ["1900"], [], "closed-book")).stage is Stage.MODEL


def test_a_choice_or_a_yes_needs_every_gold_page() -> None:
    pages = [(title, "text") for title in COMPARISON.gold_titles]
    assert stage(COMPARISON, rag(COMPARISON, ["x"], pages)).stage is Stage.READING
    assert stage(COMPARISON, rag(COMPARISON, ["x"], pages[1:])).stage is Stage.RETRIEVAL
    closed = Question("y", "Are both from Norway?", ("no",), gold_titles=("A", "B"))
    assert stage(closed, rag(closed, ["yes"], [("A", "no")])).stage is Stage.RETRIEVAL
    assert stage(closed, rag(closed, ["yes"], [("A", ""), ("B", "")])).stage is Stage.READING


def test_a_failed_question() -> None:
    trace = make_trace("q", [], status="failed", warnings=["first", "out of memory"])
    assert stage(CHAIN, trace) == Diagnosis(Stage.ERROR, "out of memory")


def test_a_trace_that_stopped_before_its_plan() -> None:
    assert stage(CHAIN, make_trace(CHAIN.question, [], nodes=[], evidence=[])).stage is Stage.PLANNING


def test_every_stage_is_counted() -> None:
    counted = count_stages([Diagnosis(Stage.READING, ""), Diagnosis(Stage.READING, "")])
    assert counted["reading"] == 2
    assert set(counted) == {str(item) for item in Stage}
    assert sum(counted.values()) == 2


@pytest.mark.parametrize(
    ("text", "value", "found"),
    [
        ("born 24 August 1886 in London", "August 24, 1886", True),
        ("born on August 24, 1886.", "1886-08-24", True),
        ("1886-08-24", "24 August 1886", True),
        ("in August 1886", "24 August 1886", False),
        ("the Montrealers", "Montreal", False),
        ("in Montréal, Quebec", "Montreal", True),
        ("anything", "", False),
    ],
)
def test_mentions(text: str, value: str, found: bool) -> None:
    assert mentions(text, value) is found


def test_chains_whose_names_differ_between_question_page_and_fact() -> None:
    first, second = gold_hops(
        "Where was the director of film Shadows Unseen born?",
        (
            GoldFact("Abuso di potere", "director", "Camillo Bazzoni"),
            GoldFact("Camillo Bazzoni", "place of birth", "Salsomaggiore"),
        ),
        ("Camillo Bazzoni", "Shadows Unseen"),
    )
    assert (first.previous, second.previous) == (None, 0)
    assert "shadows unseen" in first.start
    assert second.start == first.start
    first, second = gold_hops(
        "Who is the aunt of Diana Forbes-Robertson?",
        (
            GoldFact('Diana "Dinah" Forbes-Robertson', "mother", "Gertrude Forbes-Robertson"),
            GoldFact("Gertrude Elliott", "sibling", "Maxine Elliott"),
        ),
        ("Diana Forbes-Robertson", "Gertrude Elliott"),
    )
    assert second.previous == 0
    assert first.told_by(["Gertrude Elliott"])
