"""Bottom-up execution on fakes: which method answers a node, and what happens when one gives nothing."""

from __future__ import annotations

import pytest
from support.fake_parts import PROBABILITY, UNKNOWN, FakeBackbone, FakeSource, Run, Said, entity, passages, reply, rows

from atomr_local.errors import ModelError, SourceError
from atomr_local.reasoning.planning.planner import fallback_tree
from atomr_local.reasoning.trace.events import WarningRaised
from atomr_local.sources.protocol import Retrieval, Value, ValueKind

FATHER = "Who is the father of Ann Lee?"
FATHER_PLAN = '1. Who is Ann Lee? = Search("Ann Lee")\n2. Who is the father of [1]? = Relate([1], "father")\n'


def test_a_sure_graph_answers_without_the_model_and_the_chains_end_is_the_roots_answer() -> None:
    graph = FakeSource(
        "graph", {"Ann Lee": rows("Ann Lee", entity("Ann Lee")), "Ann Lee father": rows("Ann Lee", entity("Bob Lee"))}
    )
    run = Run(FATHER, FATHER_PLAN, FakeBackbone(), graph)
    assert run.result.texts == ("Bob Lee",)
    assert [run.node(i).method for i in (1, 2, 0)] == ["operator", "operator", "child"]
    assert run.node(0).computation == "answer of [2]"
    assert run.node(2).resolved_question == "Who is the father of Ann Lee?"
    assert run.node(2).evidence == run.node(2).cited == ["e2"]
    assert run.node(2).supported is True
    assert run.trace.totals.retrievals == {"text": 0, "graph": 2, "web": 0}
    assert graph.requests[1].arguments[0].iri == "https://example.org/Ann_Lee"  # linked once, not again


def test_an_entity_that_a_text_title_names_needs_no_reading_and_the_next_hop_is_read() -> None:
    text = FakeSource(
        "text",
        {
            "Ann Lee": passages(("Ann Lee (painter)", "Ann Lee painted.")),
            "Ann Lee (painter) father": passages(("Other", "No."), ("Bob Lee", "Bob Lee, the father of Ann Lee.")),
        },
    )
    run = Run(FATHER, FATHER_PLAN, FakeBackbone(reply("Bob Lee", evidence=[2])), text)
    assert run.node(1).answers == ["Ann Lee (painter)"]
    assert run.result.texts == ("Bob Lee",)
    assert run.node(2).method == "operator"
    assert run.node(2).cited == [run.node(2).evidence[1]]
    assert run.node(2).signals["reading"] == pytest.approx(PROBABILITY)
    assert run.node(2).llm.calls == run.trace.node(2).llm.calls == 1


OWN_PAGE = '1. Who is the father of Ann Lee? = Relate("Ann Lee", "father")'
ALONE = {"beam": False, "rival": False, "guess": False, "page_alone": True}


def of_ann(first: str = "Ann Lee (painter)") -> FakeSource:
    return FakeSource("text", {"Ann Lee father": passages((first, "Bob had Ann."), ("Eve", "Eve had Ann."))})


def test_the_entitys_own_page_is_read_alone_first_and_an_answer_that_is_sure_ends_it() -> None:
    backbone = FakeBackbone(Said(reply("Bob", evidence=[1]), 0.95))
    run = Run(FATHER, OWN_PAGE, backbone, of_ann(), features=ALONE)
    [prompt] = backbone.asked
    assert "Bob had Ann." in prompt
    assert "Eve had Ann." not in prompt
    assert (run.node(1).answers, len(run.node(1).evidence), run.node(1).cited) == (["Bob"], 2, ["e1"])
    assert run.node(1).signals["reading"] == pytest.approx(0.95)


def read_of(*pages: tuple[str, str]) -> FakeSource:
    return FakeSource("text", {"Ann Lee phone": passages(*pages)})


JOB = '1. What is the job of Ann? = Relate("Ann", "job")'
JOBS = f'{JOB}\n2. What is the job of Bob? = Relate("Bob", "job")\n'


def singing() -> FakeSource:
    return FakeSource("text", {"Ann job": passages(("Ann", "Ann sings."))})


PHONE = '1. What is the phone number of Ann Lee? = Relate("Ann Lee", "phone")'
DIRECTORY = ("Members", "Name: Bob Ray; Phone: 555\nName: Ann Lee; Phone: 777")
READ = {"beam": False, "rival": False, "guess": False}


def test_evidence_about_another_is_a_signal_and_supports_nothing() -> None:
    text = read_of(("Eve Lee", "Eve Lee is a cook. Her phone number is 555."), ("Rome", "Ann Lee lived in Rome."))
    run = Run(FATHER, PHONE, FakeBackbone(reply("555", evidence=[1])), text, features=READ)
    assert (run.node(1).answers, run.node(1).signals["subject"], run.node(1).supported) == (["555"], 0.0, False)
    own = read_of(("Rome", "No."), ("Ann Lee", "Her phone number is 555."))
    run = Run(FATHER, PHONE, FakeBackbone(reply("555", evidence=[2])), own, features=READ)
    assert (run.node(1).signals["subject"], run.node(1).supported) == (1.0, True)


def test_an_answer_in_anothers_row_is_read_again_in_the_right_row() -> None:
    backbone = FakeBackbone(reply("555", evidence=[1]), reply("777", evidence=[1]))
    run = Run(FATHER, PHONE, backbone, read_of(DIRECTORY), features=READ)
    assert "Bob Ray" in backbone.asked[0]
    assert "Bob Ray" not in backbone.asked[1]
    assert (run.node(1).answers, run.node(1).cited, run.node(1).signals["subject"]) == (["777"], ["e1"], 1.0)
    assert run.node(1).dropped[-1] == "read again in the row of Ann Lee: the first answer was in that of Bob Ray"


def test_where_the_right_row_does_not_tell_the_wrong_one_stays_refused() -> None:
    backbone = FakeBackbone(reply("555", evidence=[1]), UNKNOWN)
    run = Run(FATHER, PHONE, backbone, read_of(DIRECTORY), features=READ)
    assert (run.node(1).answers, run.node(1).signals["subject"]) == (["555"], 0.0)


@pytest.mark.parametrize("unsure", [Said(reply("Bob", evidence=[1]), 0.85), Said(UNKNOWN, 0.99)])
def test_where_the_page_alone_leaves_it_unsure_everything_is_read(unsure: Said) -> None:
    backbone = FakeBackbone(unsure, Said(reply("Eve", evidence=[2]), 0.7))
    run = Run(FATHER, OWN_PAGE, backbone, of_ann(), features=ALONE)
    assert ["Eve had Ann." in prompt for prompt in backbone.asked] == [False, True]
    assert (run.node(1).answers, run.node(1).cited, run.node(1).llm.calls) == (["Eve"], ["e2"], 2)


@pytest.mark.parametrize(
    ("text", "features"),
    [(of_ann("Other"), ALONE), (of_ann(), ALONE | {"page_alone": False})],
    ids=["other page", "off"],
)
def test_a_page_of_something_else_is_not_read_alone(text: FakeSource, features: dict[str, bool]) -> None:
    backbone = FakeBackbone(Said(reply("Bob", evidence=[1]), 0.95))
    Run(FATHER, OWN_PAGE, backbone, text, features=features)
    assert "Eve had Ann." in backbone.asked[0]


def test_an_operator_that_reads_unknown_is_followed_by_direct_rag_on_the_same_evidence() -> None:
    text = FakeSource("text", {"Ann Lee father": passages(("A", "Bob is the father."), ("B", "Else."))})
    backbone = FakeBackbone(UNKNOWN, reply("Bob", evidence=[1]))
    run = Run(FATHER, OWN_PAGE, backbone, text)
    assert run.node(1).method == "direct_rag"
    assert run.result.texts == ("Bob",)
    assert text.queries == ["Ann Lee father"]
    assert run.node(1).llm.calls == 2


def test_a_search_that_finds_nothing_lends_its_name_to_the_next_step() -> None:
    text = FakeSource("text", {"Ann Lee father": passages(("Bob", "Bob is the father of Ann Lee."))})
    run = Run(FATHER, FATHER_PLAN, FakeBackbone(reply("Bob", evidence=[1])), text)
    assert run.node(1).answer == "Unknown"
    assert run.node(1).answers == []
    assert run.node(1).method is None
    assert run.node(2).dropped == ["step 1 found nothing; its name 'Ann Lee' is used as it stands"]
    assert run.result.texts == ("Bob",)


def test_a_missing_reference_without_a_name_becomes_direct_rag_on_the_nodes_question() -> None:
    plan = '1. Who is the mother of Ann? = Relate("Ann", "mother")\n2. When was [1] born? = Relate([1], "birth")\n'
    asked = "When was (Who is the mother of Ann) born?"
    text = FakeSource("text", {asked: passages(("Eve", "Eve was born in 1900."))})
    run = Run("When was the mother of Ann born?", plan, FakeBackbone(reply("1900", evidence=[1])), text)
    assert text.queries == ["Ann mother", asked]  # never an empty list of retrievals, never "Unknown" as a query
    assert run.node(2).method == "direct_rag"
    assert run.result.texts == ("1900",)


def test_references_with_several_values_run_once_each_up_to_the_cap() -> None:
    names = [entity(name) for name in ("A", "B", "C", "D")]
    graph = FakeSource(
        "graph", {"Ann child": rows("Ann", *names)} | {f"{n} job": rows(n, Value(f"job {n}")) for n in "ABCD"}
    )
    plan = (
        '1. Who are the children of Ann? = Relate("Ann", "child")\n2. What are the jobs of [1]? = Relate([1], "job")\n'
    )
    run = Run("Which jobs?", plan, FakeBackbone(), graph, limits={"references": 3})
    assert run.node(2).answers == ["job A", "job B", "job C"]
    assert run.node(2).dropped == ["1 of 4 combinations of values left out (limit 3)"]
    assert graph.queries == ["Ann child", "A job", "B job", "C job"]


def test_the_product_over_two_references_is_capped_too() -> None:
    two = rows("x", entity("A"), entity("B"))
    graph = FakeSource("graph", {"x p": two, "y p": two})
    plan = (
        '1. one? = Relate("x", "p")\n2. two? = Relate("y", "p")\n3. How are [1] and [2] related? = Relate([1], [2])\n'
    )
    run = Run("How?", plan, FakeBackbone(UNKNOWN, UNKNOWN), graph, limits={"references": 3})
    assert graph.queries[2:5] == ["A A", "A B", "B A"]
    assert run.node(3).dropped == ["1 of 4 combinations of values left out (limit 3)"]


FILTER = '1. Which films? = Relate("Ann", "film")\n2. Which of [1] are dramas? = Filter([1], "is a drama")\n'


def test_filter_by_the_graph_keeps_what_it_decided_and_an_empty_decision_is_an_answer() -> None:
    films = rows("Ann", entity("One"), entity("Two"))
    graph = FakeSource(
        "graph", {"Ann film": films, "One is a drama": rows("One", entity("One")), "Two is a drama": rows("Two")}
    )
    run = Run("Which dramas?", FILTER, FakeBackbone(), graph)
    assert run.node(2).answers == ["One"]
    assert run.node(2).method == "operator"

    graph.found["One is a drama"] = rows("One")
    run = Run("Which dramas?", FILTER, FakeBackbone(UNKNOWN, UNKNOWN), graph)  # combine at the root, then closed book
    assert run.node(2).answers == []
    assert run.node(2).method == "operator"
    assert run.node(2).llm.calls == 0  # settled: no direct RAG over it


def test_filter_drops_by_overlap_and_says_so_and_the_model_selects_among_the_rest() -> None:
    text = FakeSource(
        "text",
        {
            "Ann film": passages(("Ann", "Films of Ann: One, Two, Three.")),
            "One is a drama": passages(("One", "One, maybe a drama")),
            "Two is a drama": passages(("Two", "Two may be a drama")),
            "Three is a drama": passages(("Elsewhere", "Nothing to do with it whatsoever.")),
        },
    )
    backbone = FakeBackbone(reply("One", "Two", "Three", evidence=[1]), reply("Two", evidence=[2]))
    run = Run("Which dramas?", FILTER, backbone, text)
    assert run.node(2).answers == ["Two"]
    assert run.node(2).dropped == ["Three: evidence overlaps the condition by 0.00, under 0.5"]
    assert 'one ::= "One" | "Two"' in (backbone.grammars[1] or "") and "Three" not in (backbone.grammars[1] or "")
    two = next(item for item in run.trace.evidence if item.title == "Two")
    assert run.node(2).cited == [two.id]


def test_the_models_choice_outside_the_candidates_is_not_taken() -> None:
    text = FakeSource(
        "text", {"Ann film": passages(("Ann", "One")), "One is a drama": passages(("One", "One is a drama"))}
    )
    backbone = FakeBackbone(reply("One", evidence=[1]), reply("Nine", evidence=[1]), UNKNOWN, UNKNOWN, UNKNOWN)
    run = Run("Which dramas?", FILTER, backbone, text)
    assert run.node(2).answers == []


def test_a_parent_of_independent_children_reasons_over_their_answers() -> None:
    text = FakeSource("text", {"Ann job": passages(("Ann", "painter")), "Bob job": passages(("Bob", "singer"))})
    backbone = FakeBackbone(reply("painter", evidence=[1]), reply("singer", evidence=[1]), reply("they do not know"))
    run = Run("Why do Ann and Bob not get on?", JOBS, backbone, text, llm={"parallel": 1})
    assert run.node(0).method == "child"
    assert "1. What is the job of Ann? painter\n2. What is the job of Bob? singer" in backbone.asked[2]
    assert run.node(0).evidence == ["e1", "e2"]
    assert run.node(0).cited == ["e1", "e2"]


def test_a_parent_whose_children_do_not_tell_is_answered_by_direct_rag() -> None:
    question = "Why do Ann and Bob not get on?"
    text = FakeSource("text", {"Ann job": passages(("Ann", "painter")), question: passages(("Feud", "Over money."))})
    backbone = FakeBackbone(reply("painter", evidence=[1]), UNKNOWN, reply("money", evidence=[1]))
    run = Run(question, JOBS, backbone, text)
    assert run.node(0).method == "direct_rag"
    assert run.result.texts == ("money",)
    assert run.node(0).cited == ["e2"]


def test_an_empty_root_is_answered_closed_book_and_cites_nothing() -> None:
    backbone = FakeBackbone(reply("Paris"))
    run = Run(
        "What is the capital of France?", fallback_tree("What is the capital of France?"), backbone, FakeSource("text")
    )
    assert run.node(0).method == "closed_book"
    assert run.node(0).cited == []
    assert run.node(0).supported is None
    assert run.result.texts == ("Paris",)


def test_a_root_that_even_the_model_does_not_know_is_unknown() -> None:
    run = Run("Who?", fallback_tree("Who?"), FakeBackbone(UNKNOWN), FakeSource("text"))
    assert run.result.answer == "Unknown"
    assert run.node(0).method is None


def test_a_failing_source_is_a_warning_and_the_others_go_on() -> None:
    graph = FakeSource("graph", {"Ann job": SourceError("the store is damaged")})
    text = FakeSource("text", {"Ann job": passages(("Ann", "Ann is a painter."))})
    backbone = FakeBackbone("text", reply("painter", evidence=[1]))
    run = Run("What is the job of Ann?", JOB, backbone, graph, text)
    assert run.result.texts == ("painter",)
    assert run.trace.warnings == ["step 1: Source failed: the store is damaged"]
    assert len(run.of_type(WarningRaised)) == 1
    assert run.node(1).signals["failed_source"] == 1.0


def test_an_answer_of_another_kind_is_marked_and_less_sure() -> None:
    def ask(answer: str) -> Run:
        text = FakeSource("text", {"Lyon population": passages(("Lyon", "Lyon: 48 km, 520,000 people."))})
        plan = '1. How many people live in Lyon? = Relate("Lyon", "population")'
        return Run("How many people live in Lyon?", plan, FakeBackbone(reply(answer, evidence=[1])), text)

    wrong, right = ask("48 km").node(1), ask("520,000").node(1)
    assert wrong.supported and right.supported  # the passage contains both
    assert wrong.misfit and not right.misfit
    assert (wrong.confidence or 0.0) < (right.confidence or 0.0)


def test_a_source_that_fails_alone_is_the_nodes_error_and_the_root_still_ends() -> None:
    failing = FakeSource("text", {"Ann job": SourceError("time-out")})
    run = Run("What is it?", JOB, FakeBackbone(UNKNOWN), failing)
    assert run.node(1).error == {"title": "Source failed", "message": "text: time-out"}
    assert run.result.answer == "Unknown"


def test_output_that_is_not_the_json_asked_for_is_an_error_of_its_node() -> None:
    text = singing()
    backbone = FakeBackbone("I think that", '{"answer": "x"', UNKNOWN)  # operator, direct RAG, closed book
    run = Run("What?", JOB, backbone, text)
    assert run.node(1).error is not None
    assert "not the JSON object" in run.node(1).error["message"]


@pytest.mark.parametrize("numbers", [[0], [-1], [7], [1, 1]])
def test_evidence_numbers_that_do_not_exist_cite_nothing(numbers: list[int]) -> None:
    text = singing()
    run = Run("What?", JOB, FakeBackbone(reply("x", evidence=numbers)), text)
    assert run.node(1).cited == (["e1"] if 1 in numbers else [])
    assert run.node(1).supported is False


def test_evidence_that_does_not_fit_is_left_out_weakest_first_and_named() -> None:
    long = [(f"Page {i}", " ".join(["word"] * 100)) for i in range(3)]
    text = FakeSource("text", {"Ann job": passages(*long)})
    backbone = FakeBackbone(reply("x", evidence=[1]))
    run = Run("What?", JOB, backbone, text, limits={"evidence_tokens": 120})
    assert run.node(1).dropped == ["e3 left out of the prompt: no room"]
    assert "Page 1" in backbone.asked[0] and "Page 2" not in backbone.asked[0]


def test_a_question_larger_than_the_context_is_a_plain_error() -> None:
    question = " ".join(["why"] * 300)
    with pytest.raises(ModelError, match="context window"):
        Run(question, fallback_tree(question), FakeBackbone(context_tokens=256), FakeSource("text"))


def test_a_comparison_is_computed_and_shown() -> None:
    graph = FakeSource(
        "graph",
        {
            "Ann date of birth": rows("Ann", Value("1950-03-01", ValueKind.DATE)),
            "Bob date of birth": rows("Bob", Value("1948", ValueKind.DATE)),
        },
    )
    plan = (
        '1. When was Ann born? = Relate("Ann", "date of birth")\n'
        '2. When was Bob born? = Relate("Bob", "date of birth")\n3. Who of [1] and [2] was born first?\n'
    )
    run = Run("Who was born first, Ann or Bob?", plan, FakeBackbone(), graph)
    assert run.result.texts == ("Bob",)
    assert run.node(3).method == "symbolic"
    assert run.node(3).computation == "Bob 1948 < Ann 1950-03-01"
    assert run.node(3).supported is None and run.node(0).supported is None  # no passage spells a comparison out
    assert run.node(3).confidence == pytest.approx((run.node(1).confidence or 0) * (run.node(2).confidence or 0))


def test_the_model_chooses_sources_only_where_the_graph_is_not_sure() -> None:
    unsure = rows("Ann", Value("painter"), link=0.6, relation=0.6)
    graph = FakeSource("graph", {"Ann job": unsure})
    text = singing()
    backbone = FakeBackbone("text", reply("singer", evidence=[1]))
    run = Run("What?", JOB, backbone, graph, text)
    assert run.node(1).sources == ["text"]
    assert run.result.texts == ("singer",)

    sure = FakeSource("graph", {"Ann job": rows("Ann", Value("painter"))})
    text = FakeSource("text")
    run = Run("What?", JOB, FakeBackbone(), sure, text)
    assert run.node(1).sources == ["graph"]
    assert text.requests == []

    backbone = FakeBackbone(reply("singer", evidence=[1]))
    text = singing()
    run = Run("What?", JOB, backbone, FakeSource("graph"), text)
    assert run.node(1).sources == ["text"]  # a graph with nothing on it is no choice


def test_a_graph_that_is_quite_unsure_is_evidence_and_not_the_answer() -> None:
    graph = FakeSource("graph", {"Ann job": rows("Ann", Value("painter"), relation=0.2)})
    run = Run("What?", JOB, FakeBackbone(reply("x", evidence=[1])), graph)
    assert run.result.texts == ("x",)


def test_no_sources_at_all_ends_closed_book() -> None:
    run = Run("What?", JOB, FakeBackbone(reply("art")))
    assert run.node(0).method == "closed_book"
    assert run.trace.totals.retrievals == {"text": 0, "graph": 0, "web": 0}


def test_text_from_outside_is_sanitised_before_the_model_and_in_its_answer() -> None:
    text = FakeSource("text", {"Ann job": passages(("A\x1b]0;x\x07nn", "Ann \x1b[2Jsings\x00.\nReally."))})
    backbone = FakeBackbone('{"answer": "a", "answers": ["sing\\u001b[31mer"], "evidence": [1]}')
    run = Run("What?", JOB, backbone, text)
    assert "[1] Ann: Ann sings. Really." in backbone.asked[0]
    assert run.result.texts == ("singer",)


def test_the_same_passage_found_twice_keeps_its_id() -> None:
    same = passages(("Ann", "Ann sings."))
    text = FakeSource("text", {"Ann job": same, "Ann song": same})
    plan = f'{JOB}\n2. What does Ann do? = Relate("Ann", "song")\n'
    backbone = FakeBackbone(reply("singer", evidence=[1]), reply("sings", evidence=[1]), reply("song"))
    run = Run("What is it about?", plan, backbone, text)
    assert run.node(1).evidence == run.node(2).evidence == ["e1"]
    assert len(run.trace.evidence) == 1


def test_retrieval_notes_of_a_source_reach_the_trace() -> None:
    found = Retrieval(passages(("Ann", "Ann sings.")).evidence, dropped=("2 rows left out",))
    text = FakeSource("text", {"Ann job": found})
    run = Run("What?", JOB, FakeBackbone(reply("x", evidence=[1])), text)
    assert "2 rows left out" in run.node(1).dropped
