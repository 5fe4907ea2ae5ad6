"""Planning on a fake model: reading plans, one repair, the fallback, and what the prompt holds."""

from __future__ import annotations

import pytest
from support.fake_parts import FakeBackbone

from atomr_local.errors import Cancelled, ModelError
from atomr_local.models.protocol import Generation, Prompt
from atomr_local.reasoning.planning.examples import Example, ExampleLibrary
from atomr_local.reasoning.planning.planner import Planner, plan_grammar, unfounded_names
from atomr_local.system.cancellation import Cancellation
from atomr_local.tree.compact import parse_compact
from atomr_local.tree.validation import Limits, check

QUESTION = "Who is the father of Ann Lee?"
GOOD = '1. Who is Ann Lee? = Search("Ann Lee")\n2. Who is the father of [1]? = Relate([1], "father")\n'
LATER = '1. Who is the father of [2]? = Relate([2], "father")\n2. Who is Ann Lee? = Search("Ann Lee")\n'
INVENTED = '1. Who is Zog? = Search("Zog")\n2. Who is the father of [1]? = Relate([1], "father")\n'


def planner(backbone: FakeBackbone, **limits: int) -> Planner:
    return Planner(backbone, ExampleLibrary.shipped(), Limits(**limits))


def test_a_good_plan_is_taken_as_it_is() -> None:
    backbone = FakeBackbone(GOOD)
    written: list[str] = []
    plan = planner(backbone).plan(QUESTION, on_text=written.append)
    assert (plan.origin, plan.attempts, plan.problems) == ("model", 1, ())
    assert plan.tree == parse_compact(GOOD, QUESTION)
    assert "".join(written) == GOOD
    assert backbone.grammars == [plan_grammar(QUESTION)]


@pytest.mark.parametrize(
    ("bad", "complaint"), [(LATER, "2"), (INVENTED, "'Zog'"), ("Sure! Here it is:", "line 1"), ("", "")]
)
def test_a_bad_plan_is_repaired_once_with_the_complaint(bad: str, complaint: str) -> None:
    backbone = FakeBackbone(bad, GOOD)
    calls: list[tuple[Prompt, Generation]] = []
    plan = planner(backbone).plan(QUESTION, on_call=lambda prompt, made: calls.append((prompt, made)))
    assert (plan.origin, plan.attempts, len(plan.problems)) == ("model", 2, 1)
    assert complaint in plan.problems[0]
    assert plan.problems[0] in backbone.asked[1]
    assert backbone.prompts[1].messages[-2].content == bad.strip()
    assert backbone.prompts[1].static == backbone.prompts[0].static  # the prefix cache serves the repair
    assert len(calls) == 2


def test_two_bad_plans_fall_back_to_one_node_and_name_both_problems() -> None:
    plan = planner(FakeBackbone(INVENTED, LATER)).plan(QUESTION)
    assert (plan.origin, plan.attempts, len(plan.problems)) == ("fallback", 2, 2)
    assert len(plan.tree) == 1
    assert plan.tree.question == QUESTION


def test_a_plan_larger_than_the_limits_is_not_executed() -> None:
    plan = planner(FakeBackbone(GOOD, GOOD), nodes=2).plan(QUESTION)
    assert plan.origin == "fallback"


def test_a_small_context_drops_examples_and_a_tiny_one_is_refused() -> None:
    small = FakeBackbone(GOOD, context_tokens=800)
    planner(small).plan(QUESTION)
    large = FakeBackbone(GOOD)
    planner(large).plan(QUESTION)
    assert len(small.prompts[0].static) < len(large.prompts[0].static)
    with pytest.raises(ModelError, match="too long"):
        planner(FakeBackbone(context_tokens=410)).plan(QUESTION)


def test_no_room_for_a_repair_means_fallback() -> None:
    backbone = FakeBackbone("x " * 200, context_tokens=800)
    plan = planner(backbone).plan(QUESTION)
    assert (plan.origin, plan.attempts) == ("fallback", 1)


def test_cancelling_while_planning_is_not_a_fallback() -> None:
    cancellation = Cancellation()
    cancellation.cancel()
    with pytest.raises(Cancelled):
        planner(FakeBackbone(GOOD)).plan(QUESTION, cancellation=cancellation)


def test_a_name_is_founded_when_it_shares_a_word_with_the_question() -> None:
    assert unfounded_names(parse_compact(GOOD, QUESTION), QUESTION) == []
    assert len(unfounded_names(parse_compact(INVENTED, QUESTION), QUESTION)) == 1


def test_every_shipped_example_is_a_valid_plan_of_its_question() -> None:
    library = ExampleLibrary.shipped()
    assert len(library) > 10
    for example in library.select("Who?", len(library)):
        tree = parse_compact(example.plan, example.question)
        check(tree)
        assert unfounded_names(tree, example.question) == [], example.question


@pytest.mark.parametrize("question", ["Who is the father of Ann Lee?", "", "🙂", '"\\" [1] ]=[', "a " * 500, "?!"])
def test_the_grammar_of_any_question_is_finite_and_defines_what_it_uses(question: str) -> None:
    import re

    grammar = plan_grammar(question)
    defined = set(re.findall(r"^([a-z0-9-]+) ::=", grammar, re.MULTILINE))
    bare = re.sub(r'"(?:[^"\\]|\\.)*"|\[(?:[^\]\\]|\\.)*\]', " ", grammar)
    used = set(re.findall(r"\b[a-z][a-z0-9-]*\b", bare))
    assert used <= defined
    assert "root" in defined
    assert len(grammar) < 200_000


def test_a_step_that_draws_answers_together_looks_nothing_up() -> None:
    plan = (
        '1. When was Ann born? = Relate("Ann", "date of birth")\n2. When was Bob born? = Relate("Bob", "date of birth")\n'
        '3. Given answers of [1] and [2], who is older? = Relate([1], "older")'
    )
    made = planner(FakeBackbone(plan)).plan("Who is older, Ann or Bob?")
    assert made.tree.node(3).call is None
    assert made.tree.node(3).references == (1, 2)


@pytest.mark.parametrize(
    "text",
    ["\n" * 150_000, "1. Given answers of [1]" + " [2] = Search(" * 10_000, "1. Given answers of [1]" * 10_000],
    ids=["empty lines", "operators", "beginnings"],
)
def test_a_long_answer_that_is_no_plan_is_refused_at_once(text: str) -> None:
    made = planner(FakeBackbone(text, text)).plan(QUESTION)
    assert made.origin == "fallback"


TYPED = (
    "0. Which was published first, Emma or Dracula? = Answer(work)\n"
    '1. When was Emma published? = Relate("Emma (novel)", "publication date")\n'
    '2. When was Dracula published? = Relate("Dracula", "publication date")\n'
    '3. Which was published first? = Compare([1], [2], "earlier")'
)
TYPED_AS = "which came first emma or dracula"


def test_the_plan_tells_the_question_as_understood_and_the_answer_it_expects() -> None:
    plan = planner(FakeBackbone(TYPED)).plan(TYPED_AS)
    assert (plan.origin, plan.attempts, plan.problems) == ("model", 1, ())
    assert plan.tree.question == "Which was published first, Emma or Dracula?"
    assert str(plan.tree.expects.type) == "work"  # type: ignore[union-attr]
    assert plan.compact.splitlines()[0] == TYPED.splitlines()[0]
    last = plan.tree.node(3)
    assert last.operation is not None and last.operation.references == (1, 2)


def test_the_question_alone_is_a_plan_that_was_chosen() -> None:
    plan = planner(FakeBackbone("0. Who wrote Emma? = Answer(person)")).plan("who wrote emma")
    assert (plan.origin, plan.tree.is_direct, plan.problems) == ("model", True, ())


def test_a_yes_no_plan_that_leaves_out_its_last_look_up_gets_it() -> None:
    question = "Was the director of Jaws born in Paris?"
    steps = 'Who directed Jaws? = Relate("Jaws", "director")\n2. Is [1] Paris? = Is([1], "Paris", "same")'
    plan = planner(FakeBackbone(f"0. {question} = Answer(yes/no)\n1. {steps}")).plan(question)
    assert 'Relate([1], "place of birth")' in plan.compact


def test_what_is_no_question_has_no_steps() -> None:
    plan = planner(FakeBackbone("0. Hallo! = Answer(nothing)")).plan("hello")
    assert plan.tree.expects is not None and plan.tree.expects.type == "nothing"
    assert plan.tree.question == "hello"


@pytest.mark.parametrize("question", ["What is the padlock code of the shed?", "How many hens may I keep?"])
def test_english_that_the_model_takes_for_another_language_is_looked_up(question: str) -> None:
    plan = planner(FakeBackbone(f"0. {question} = Answer(language)")).plan(question)
    assert (plan.tree.is_direct, plan.tree.expects, plan.tree.question) == (True, None, question)
    foreign = planner(FakeBackbone("0. Wer schrieb Hamlet? = Answer(language)")).plan("Wer schrieb Hamlet?")
    assert foreign.tree.expects is not None and foreign.tree.expects.type == "language"


def test_a_plan_of_another_question_is_sent_back() -> None:
    plan = planner(FakeBackbone("0. Who wrote Emma? = Answer(person)", GOOD)).plan("How deep is Lake Baikal?")
    assert "line 0" in plan.problems[0]


def test_a_misspelt_name_put_right_is_the_same_question() -> None:
    made = planner(FakeBackbone("0. Tell me about Grossglockner. = Answer(summary)")).plan("info on grossgglockner")
    assert (made.origin, made.problems) == ("model", ())


def test_copying_the_question_is_drafted() -> None:
    backbone = FakeBackbone(TYPED)
    planner(backbone).plan(TYPED_AS)
    assert backbone.lookup_texts[0][-1] == "0. Which came first emma or dracula = Answer("


def test_an_example_from_before_line_0_is_shown_with_one() -> None:
    backbone = FakeBackbone(GOOD)
    Planner(backbone, ExampleLibrary([Example(QUESTION, GOOD.strip())]), Limits()).plan("Who is the mother of Ann Lee?")
    shown = [message.content for message in backbone.prompts[0].messages if message.role == "assistant"]
    assert shown == [f"0. {QUESTION} = Answer(thing)\n{GOOD.strip()}"]


@pytest.mark.parametrize(
    "asked", ["Who is the father of Ann Lee?", "who is father of ann lee", "Who is the father of Ánn Lee ?"]
)
def test_a_plan_that_the_user_kept_is_taken_without_the_model(asked: str) -> None:
    kept = Example("Who is the father of Ann Lee?", '1. Who is Ann Lee? = Search("Ann Lee")')
    backbone = FakeBackbone()
    made = Planner(backbone, ExampleLibrary([], [kept]), Limits(), style="lean").plan(asked)
    assert (made.origin, made.attempts, made.compact) == ("example", 0, kept.plan)
    assert backbone.asked == []


@pytest.mark.parametrize(
    "asked", ["Who is the father of Ann Ley?", "Who is the mother of Ann Lee?", "Is Ann Lee the father of who?"]
)
def test_a_kept_plan_is_not_taken_for_another_question(asked: str) -> None:
    kept = Example("Who is the father of Ann Lee?", '1. Who is Ann Lee? = Search("Ann Lee")')
    backbone = FakeBackbone(GOOD, GOOD)
    assert Planner(backbone, ExampleLibrary([], [kept]), Limits()).plan(asked).origin != "example"


def test_a_kept_plan_larger_than_the_limits_is_planned_anew() -> None:
    backbone = FakeBackbone(GOOD)
    kept = Example(QUESTION, "\n".join(f'{i}. Who is Ann Lee? = Search("Ann Lee")' for i in range(1, 9)))
    made = Planner(backbone, ExampleLibrary([], [kept]), Limits(nodes=4)).plan(QUESTION)
    assert made.origin == "model"
