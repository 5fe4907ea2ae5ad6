"""Plans made from published decompositions and questions, and our own questions. The records here are made by hand."""

from __future__ import annotations

import json
import random

import pytest
from training.data import own_questions
from training.files import QUESTIONS
from training.plans import composed as compose
from training.plans import published

from atomr_local.tree.compact import parse_compact
from atomr_local.tree.validation import Limits, validate

LABELS = {"P36": {"label": "capital"}, "P138": {"label": "named after"}}


def rubq(question: str, *properties: str, tag: str = "1-hop") -> dict[str, object]:
    return {"question_eng": question, "question_props": list(properties), "tags": [tag]}


def broken(question: str, *steps: str, operators: str) -> dict[str, str]:
    told = " ;".join(f"return {step}" for step in steps)
    return {"question_text": question, "decomposition": told, "operators": str(operators.split())}


def test_a_question_of_one_hop_becomes_one_look_up() -> None:
    asked = "Which city is the capital of Upper Egypt?"
    assert published.rubq_plan(rubq(asked, "wdt:P36"), LABELS) == f'1. {asked} = Relate("Upper Egypt", "capital")'


@pytest.mark.parametrize(
    "item",
    [
        rubq("Which city is the capital of Upper Egypt?", "wdt:P36", tag="2-hop"),
        rubq("Which city is the capital of Upper Egypt?", "wdt:P1"),  # a property without a label
        rubq("Which city is the capital of Upper Egypt?", "wdt:P36", "wdt:P138"),
        rubq("After whom is Loch ness named?", "wdt:P138"),  # the name goes on in small letters
        rubq("what is the capital?", "wdt:P36"),
        rubq('What is the capital of "Upper Egypt"?', "wdt:P36"),
        {},
    ],
)
def test_questions_whose_entity_or_relation_is_not_sure_are_left_out(item: dict[str, object]) -> None:
    assert published.rubq_plan(item, LABELS) is None


def test_a_chain_of_a_decomposition_becomes_a_tree() -> None:
    row = broken(
        "Which rivers cross the country that uses the Polish Zloty and flow into the Baltic?",
        "the  country that uses the Polish Zloty",
        "rivers of #1",
        "#2 that flows into the Baltic",
        "the name of #3",
        operators="select project filter project",
    )
    assert published.break_plan(row) == (
        '1. What is the country that uses the Polish Zloty? = Relate("Polish Zloty", "country that uses")\n'
        '2. What is the rivers of [1]? = Relate([1], "rivers")\n'
        '3. Which of [2] flows into the Baltic? = Filter([2], "flows into the Baltic")'
    )


@pytest.mark.parametrize(
    "row",
    [
        broken("Who is older, Ann or Bob?", "Ann", "Bob", "#1 older than #2", operators="select select comparative"),
        broken("Where was Ann Lee born?", "where was Ann Lee born", operators="select"),
        broken("Which river is long?", "long river", operators="select"),  # no name
        broken("Which river of Peru?", "river of Chile", operators="select"),  # a name from elsewhere
        broken("Which river of Peru?", "river of Peru", operators="select project"),
    ],
)
def test_other_decompositions_are_left_out(row: dict[str, str]) -> None:
    assert published.break_plan(row) is None


def test_a_subject_is_put_as_a_description_and_the_plan_finds_it_first() -> None:
    names = {kind: [f"The {kind.title()}"] for kind in ("film", "song", "book", "person", "place", "organisation")}
    hops = set()
    for seed in range(60):
        put = compose.compose(
            "What does Ann Lee sing?", "Ann Lee", "genre", "person", names, 2 + seed % 3, random.Random(seed)
        )
        assert put is not None
        question, plan = put
        tree = parse_compact(plan, question)
        assert not validate(tree, Limits())
        lines = plan.splitlines()
        hops.add(len(lines))
        assert "Ann Lee" not in question and "Ann Lee" not in plan and "{}" not in question + plan
        assert lines[-1] == f'{len(lines)}. What does [{len(lines) - 1}] sing? = Relate([{len(lines) - 1}], "genre")'
        name = next(one for ones in names.values() for one in ones if f'Relate("{one}"' in lines[0])
        assert name in question
    assert hops == {2, 3, 4}


@pytest.mark.parametrize(
    ("question", "kind", "hops"),
    [
        ("What does Bob sing?", "person", 2),  # another subject
        ("What does Ann Lee sing with Ann Lee?", "person", 2),
        ("What did the actress Ann Lee sing?", "person", 2),  # no description can stand there
        ("What does Ann Lee sing?", "star", 2),  # nothing describes a star
        ("What does Ann Lee sing?", "person", 1),
    ],
)
def test_what_cannot_be_composed(question: str, kind: str, hops: int) -> None:
    names = {"person": ["Bob"], "film": ["Jaws"]}
    assert compose.compose(question, "Ann Lee", "genre", kind, names, hops, random.Random(0)) is None


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("Jaws is a 1975 American thriller film directed by Steven Spielberg.", "film"),
        ("Ann Lee (born 3 May 1901 in York) was a painter.", "person"),
        ("York is a city in England.", "place"),
        ("The York Company is a company based in York, a city in England.", "organisation"),
        ("Yesterday is a song by Ann Lee.", "song"),
        ("Nothing that tells.", None),
    ],
)
def test_kinds_of_articles(text: str, kind: str | None) -> None:
    assert compose.kind_of(text) == kind


def test_our_own_questions_hold_valid_plans_that_name_what_the_question_names() -> None:
    files = [QUESTIONS / f"{name}.jsonl" for name in (*own_questions.OWN, own_questions.HELD_BACK)]
    lines = [json.loads(line) for path in files for line in path.open(encoding="utf-8")]
    assert len(lines) > 2000
    for item in lines:
        plan = item["plan"] if "plan" in item else f"1. {item['question']} = {item['operation']}"
        assert not validate(parse_compact(plan, item["question"]), Limits()), item["question"]
        assert item["kind"] == "plan" or own_questions.authored_titles(item)
