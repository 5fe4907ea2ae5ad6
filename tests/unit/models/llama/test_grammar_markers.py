"""Under a grammar the model cannot write the markers of turns: they have no text, and what follows is another turn."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np

from atomr_local.models.llama.engine import Engine, library
from atomr_local.models.llama.scheduler import GrammarMatcher

MARKERS = np.array([False, True, False, True])


def all_goes(api: Any) -> SimpleNamespace:
    """A grammar that lets every token through, as llama.cpp's do with markers for their letters."""
    return SimpleNamespace(
        llama_token_data=api.llama_token_data,
        llama_token_data_array=api.llama_token_data_array,
        llama_sampler_apply=lambda _sampler, _candidates: None,
    )


def test_no_grammar_lets_a_marker_through() -> None:
    matcher = GrammarMatcher(SimpleNamespace(api=all_goes(library()), markers=MARKERS), None)  # type: ignore[arg-type]
    assert matcher.allowed(np.arange(4)).tolist() == [True, False, True, False]
    assert matcher.allowed(np.array([3])).tolist() == [False]


def test_what_ends_a_turn_is_no_such_marker() -> None:
    api = SimpleNamespace(llama_vocab_is_control=lambda _vocab, token: token in {1, 2})
    engine = SimpleNamespace(api=api, vocab=None, n_vocab=4, is_end=lambda token: token == 2)
    assert Engine.markers.func(engine).tolist() == [False, True, False, False]  # type: ignore[arg-type]
