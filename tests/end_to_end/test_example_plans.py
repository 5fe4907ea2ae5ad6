"""The shipped examples keep to the grammar that the model writes under, by llama.cpp's own reading of it."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from atomr_local.models.catalog.find import starter_model_path
from atomr_local.models.llama.engine import library
from atomr_local.models.llama.scheduler import compiled_grammar
from atomr_local.reasoning.planning.examples import Example, ExampleLibrary, check_example
from atomr_local.reasoning.planning.planner import plan_grammar, unfounded_names
from atomr_local.tree.calls import AnswerType
from atomr_local.tree.compact import parse_compact
from atomr_local.tree.operations import Operation
from atomr_local.tree.validation import check


@pytest.fixture(scope="module")
def vocabulary() -> Iterator[Any]:
    """The starter's vocabulary without its weights; all that a grammar needs of an engine."""
    import numpy as np

    api = library()
    parameters = api.llama_model_default_params()
    parameters.vocab_only = True
    model = api.llama_model_load_from_file(str(starter_model_path()).encode(), parameters)
    assert model
    vocab = api.llama_model_get_vocab(model)
    markers = np.zeros(api.llama_vocab_n_tokens(vocab), dtype=bool)
    yield SimpleNamespace(api=api, vocab=vocab, markers=markers)
    api.llama_model_free(model)


def left_over(vocabulary: Any, grammar: str, text: str) -> str | None:
    """What the grammar does not let through of `text`: from the first token on that it rejects; None: nothing."""
    import numpy as np

    api, vocab = vocabulary.api, vocabulary.vocab
    data = text.encode()
    tokens = (api.llama_token * (len(data) + 1))()
    count = api.llama_tokenize(vocab, data, len(data), tokens, len(tokens), False, False)
    assert count > 0
    piece = bytearray(256)
    done = 0
    with compiled_grammar(vocabulary, grammar) as follower:
        assert follower is not None
        for token in tokens[:count]:
            if not follower.allowed(np.array([token]))[0]:
                return data[done:].decode(errors="replace")
            follower.accept(token)
            buffer = (api.ctypes.c_char * len(piece)).from_buffer(piece)
            done += api.llama_token_to_piece(vocab, token, buffer, len(piece), 0, False)
        return None if follower.allowed(np.array([api.llama_vocab_eos(vocab)]))[0] else "(no end)"


def shipped() -> list[Example]:
    known = ExampleLibrary.shipped()
    return sorted(known.select("Who?", len(known)), key=lambda example: example.question)


def test_every_shipped_example_is_in_the_language_of_its_grammar(vocabulary: Any) -> None:
    examples = shipped()
    assert len(examples) >= 80
    for example in examples:
        assert check_example(example.question, example.plan) == example
        assert unfounded_names(parse_compact(example.plan, example.question), example.question) == []
        assert left_over(vocabulary, plan_grammar(example.question), f"{example.plan}\n") is None, example.question


def test_examples_show_every_operation_and_kind_of_answer() -> None:
    trees = [parse_compact(example.plan, example.question) for example in shipped()]
    shown = {node.operation.operation for tree in trees for node in tree.nodes() if node.operation is not None}
    assert shown == set(Operation)
    expected = {tree.expects.type for tree in trees if tree.expects is not None}
    assert expected >= set(AnswerType) - {AnswerType.EVENT}
    assert any(tree.is_direct for tree in trees)
    assert all(tree.expects is not None for tree in trees)


ASKED = "who is the father of ann lee and when did emma appear"
LINE_0 = "0. Who is the father of Ann Lee? = Answer(person)"


@pytest.mark.parametrize(
    "plan",
    [
        LINE_0,
        f"{LINE_0}\n",
        "0. Who is it? = Answer(place, several)",
        "0. ann = Answer(nothing)",
        f'{LINE_0}\n1. Who? = Relate("Ann Lee", "father")',
        f'{LINE_0}\n1. Who? = Relate("ann Lee (singer)", "father")\n',
        f'{LINE_0}\n1. a = Relate("Emma", "date")\n2. b = Compare([1], "earlier")\n3. Which of [1] and [2] fit?',
        f'{LINE_0}\n1. a = Relate("Emma", "x")\n2. [1] b = Relate([1], "x")\n3. c = Is([2], [1], "among")'
        '\n4. d = Difference([2], [1], "years")\n5. e = Select([1], [2], "same")\n6. f = Each([1], [3], [5])'
        '\n7. g = Top([1], [2], "larger", "3")\n8. h = Convert([4], "km²")\n9. i = Is([1], "Emma", "same")'
        "\n10. j = Any([3], [9])",
        f'{LINE_0}\n1. a\n 3. b = Relate("Emma", "x")\n 4. c = Relate([3], "y")\n2. d = Is([1], "1900", "earlier")',
        f'{LINE_0}\n1. a = Relate("Emma", "x")\n2. b\n 4. b = Relate([1], "x")\n 5. c = Count([4])\n3. Is [1] like [2]?',
    ],
)
def test_plans_in_the_language(vocabulary: Any, plan: str) -> None:
    assert left_over(vocabulary, plan_grammar(ASKED), plan) is None
    check(parse_compact(plan, ASKED))


@pytest.mark.parametrize(
    ("question", "plan"),
    [
        (
            'who illustrated the fable by the writer of "Out of My Mind"?',
            '0. Who illustrated the fable by the writer of "Out of My Mind"? = Answer(person)\n'
            '1. Who wrote "Out of My Mind"? = Relate("Out of My Mind", "author")\n'
            '2. Which fable did [1] write? = Relate([1], "fable")',
        ),
        (
            "Who starred in Support Your Local Sheriff! and in ...Earth to the Dandy... too?",
            '0. Who? = Answer(person)\n1. a = Relate("Support Your Local Sheriff!", "x")\n'
            '2. b = Relate("...Earth to the Dandy...", "x")',
        ),
        (
            "who was the governor of the state where baraboo is located when the circus there opened",
            '0. Who? = Answer(person)\n1. a = Relate("Baraboo", "state")\n2. b = Relate("Baraboo", "opening")\n'
            '3. c = Relate([1], "governor in [2]")\n4. d = Relate("Baraboo", "governor in [2] there")',
        ),
        ("is e=mc2 of Einstein?", '0. Is e=mc2 of Einstein? = Answer(yes/no)\n1. a = Relate("Einstein", "formula")'),
        ("What is [1] in C#?", "0. What is [1] in C#? = Answer(phrase)"),
    ],
)
def test_what_names_and_questions_may_hold(vocabulary: Any, question: str, plan: str) -> None:
    assert left_over(vocabulary, plan_grammar(question), plan) is None
    assert parse_compact(plan, question)


@pytest.mark.parametrize(
    ("plan", "left"),
    [
        ('1. Who is Ann Lee? = Search("Ann Lee")', "1."),
        ("0. Who? = Answer(animal)", "animal"),
        (f'{LINE_0}\n1. Who? = Search("Zog")', "Zog"),
        (f'{LINE_0}\n1. Who? = Relate("Ann Emma", "x")', "Emma"),
        (f'{LINE_0}\n1. Who? = Search("Ann Lee"', "(no end)"),
        (f"{LINE_0}\n1. Which of these fit?", "(no end)"),
        (f'{LINE_0}\n1. a = Relate("Emma", "x")\n2. b = Count([2])', "2])"),
        (f'{LINE_0}\n1. a = Relate("Emma", "x")\n2. b = Compare([1], "older")', "older"),
        (f'{LINE_0}\n1. a = Relate("Emma", "x")\n2. b = Union([1])', "Union"),
        (f'{LINE_0}\n1. a = Relate("Emma", "x")\n2. b = Sum([1], [1])', ", [1])"),
        (f'{LINE_0}\n1. a\n 3. b = Relate("Emma", "x")\n3. c = Relate([1], "y")', "3. c"),
        ('0. hm = Answer(nothing)\n1. a = Relate("Emma", "x")', "1. a"),
    ],
)
def test_what_is_not_in_the_language_is_found(vocabulary: Any, plan: str, left: str) -> None:
    found = left_over(vocabulary, plan_grammar(ASKED), plan)
    assert found is not None
    # Tokens do not end where words do.
    assert (
        left in found if left == "(no end)" else plan.index(left) - 6 <= len(plan) - len(found) <= plan.index(left) + 3
    )
