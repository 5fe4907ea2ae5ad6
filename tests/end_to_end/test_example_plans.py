"""The shipped examples keep to the grammar that the model writes under, by llama.cpp's own reading of it."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from atomr_local.backbone.engine import library
from atomr_local.backbone.sampling import compiled_grammar
from atomr_local.catalog.starter import starter_model_path
from atomr_local.planning.examples import Example, ExampleLibrary, check_example
from atomr_local.planning.grammar import plan_grammar
from atomr_local.planning.planner import unfounded_names
from atomr_local.tree.compact import parse_compact


@pytest.fixture(scope="module")
def vocabulary() -> Iterator[Any]:
    """The starter's vocabulary without its weights; all that a grammar needs of an engine."""
    api = library()
    parameters = api.llama_model_default_params()
    parameters.vocab_only = True
    model = api.llama_model_load_from_file(str(starter_model_path()).encode(), parameters)
    assert model
    yield SimpleNamespace(api=api, vocab=api.llama_model_get_vocab(model))
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
        assert unfounded_names(parse_compact(example.plan, example.question)) == []
        assert left_over(vocabulary, plan_grammar(example.question), f"{example.plan}\n") is None, example.question


def test_what_is_not_in_the_language_is_found(vocabulary: Any) -> None:
    grammar = plan_grammar("Who is the father of Ann Lee?")
    assert left_over(vocabulary, grammar, '1. Who is Zog? = Search("Zog")\n') == 'Zog")\n'
    assert left_over(vocabulary, grammar, '1. Who is Ann Lee? = Search("Ann Lee"') == "(no end)"
