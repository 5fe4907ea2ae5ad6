"""How surely each line of a plan was written."""

from __future__ import annotations

import math

import pytest

from atomr_local.models.protocol import Generation, Token
from atomr_local.reasoning.planning.planner import decompositions, line_logprobs
from atomr_local.tree.compact import parse_compact

TEXT = '0. Q?\n1. Who? = Relate("Emma", "author")\n2. Where is [1]?\n 3. What?'
PIECES = ("0. Q?\n", '1. Who? = Relate("Emma",', ' "author")', "\n2. Where", " is [1]?\n", " 3. What?")
LOGPROBS = (-9.0, -0.1, -0.3, -0.5, -0.7, -0.9)


def written(pieces: tuple[str, ...] = PIECES, logprobs: tuple[float, ...] = LOGPROBS) -> Generation:
    tokens = tuple(Token(text, logprob) for text, logprob in zip(pieces, logprobs, strict=True))
    return Generation(TEXT, tokens, "stop", 1, 1, 0.0)


def test_a_line_has_the_tokens_that_overlap_it() -> None:
    lines = line_logprobs(written(), parse_compact(TEXT))
    assert lines == {0: (-9.0,), 1: (-0.1, -0.3), 2: (-0.5, -0.7), 3: (-0.9,)}


def test_a_decomposition_is_the_mean_over_the_tokens_of_the_childrens_lines() -> None:
    tree = parse_compact(TEXT)
    means = decompositions(tree, line_logprobs(written(), tree))
    assert means == pytest.approx({0: (-0.1 - 0.3 - 0.5 - 0.7) / 4, 2: -0.9})


def test_corrected_plans_keep_what_was_written() -> None:
    """Other numbers, and a step that the model did not write."""
    tree = parse_compact("1. Who?\n5. Where is [1]?\n 6. What?\n7. And in feet?", "Q?")
    assert line_logprobs(written(), tree) == {0: (-9.0,), 1: (-0.1, -0.3), 5: (-0.5, -0.7), 6: (-0.9,)}


def test_without_log_probabilities_nothing_is_known() -> None:
    unknown = written(logprobs=(math.nan,) * 6)
    assert line_logprobs(unknown, parse_compact(TEXT)) == {}
    assert line_logprobs(written(("0. Q?",), (-0.1,)), parse_compact(TEXT)) == {}
