"""Chooses the next token: greedy or seeded, with or without a grammar."""

from __future__ import annotations

import contextlib
import ctypes
import math
from collections.abc import Iterator, Sequence
from typing import Any

from atomr_local.backbone.llama.engine import Engine
from atomr_local.backbone.llama.library import quiet_c_stderr
from atomr_local.errors import ModelError

_FIRST_CANDIDATES = 64


class GrammarMatcher:
    """A compiled GBNF grammar and its state for one output."""

    def __init__(self, engine: Engine, sampler: Any) -> None:
        self._api = engine.api
        self._sampler = sampler
        self._markers = engine.markers

    def allowed(self, tokens: Any) -> Any:
        """Which of `tokens`, an integer array (n,), may come next: booleans (n,).

        llama.cpp takes a marker such as <|im_start|> for its letters; the output would not show it, and what the model
        writes after it is another turn.
        """
        import numpy as np

        count = len(tokens)
        data = np.zeros(count, dtype=[("id", np.int32), ("logit", np.float32), ("p", np.float32)])
        data["id"] = tokens
        pointer = ctypes.cast(data.ctypes.data, ctypes.POINTER(self._api.llama_token_data))
        candidates = self._api.llama_token_data_array(data=pointer, size=count, selected=-1, sorted=False)
        self._api.llama_sampler_apply(self._sampler, ctypes.byref(candidates))
        return np.isfinite(data["logit"]) & ~self._markers[tokens]  # the sampler sets what it rejects to minus infinity

    def accept(self, token: int) -> None:
        self._api.llama_sampler_accept(self._sampler, token)


@contextlib.contextmanager
def compiled_grammar(engine: Engine, text: str | None) -> Iterator[GrammarMatcher | None]:
    """The grammar ready to use; None for no grammar.

    Raises:
        ModelError: the text is not a grammar with a rule `root`. It must be found out here: llama.cpp crashes
            when a malformed one is used, and takes an empty one for no grammar at all.
    """
    if text is None:
        yield None
        return
    source = text.encode("utf-8", "replace")
    handle = None
    if text.strip() and b"\0" not in source:
        with quiet_c_stderr():
            handle = engine.api.llama_sampler_init_grammar(engine.vocab, source, b"root")
    if not handle:
        raise ModelError(
            f"the output grammar cannot be parsed: {text[:80]!r}",
            title="Grammar not valid",
            hint="A grammar is GBNF with a rule named root.",
        )
    try:
        yield GrammarMatcher(engine, handle)
    finally:
        engine.api.llama_sampler_free(handle)


def log_probabilities(logits: Any, tokens: Sequence[int | None]) -> tuple[float, ...]:
    """Natural log-probabilities of tokens under the unconstrained model (temperature 1); nan for None.

    Raises:
        ModelError: the logits are not numbers.
    """
    normaliser = _normaliser(logits)
    return tuple(math.nan if token is None else min(0.0, float(logits[token]) - normaliser) for token in tokens)


def _normaliser(logits: Any) -> float:
    import numpy as np

    top = float(logits.max())
    if not np.isfinite(top):
        raise ModelError("the model computed no numbers: its weights or its adapter are damaged")
    return top + float(np.log(np.exp(logits - top).sum(dtype=np.float64)))


class Sampler:
    """Draws tokens from logits.

    A grammar is asked about the chosen token alone; only when that is rejected about others. With a vocabulary of
    50,000 that costs microseconds a token where masking every token costs tens of milliseconds, and the result
    is the same: the best allowed token, or a draw from the distribution restricted to the allowed tokens.
    """

    def __init__(self, temperature: float, seed: int, grammar: GrammarMatcher | None) -> None:
        import numpy as np

        self._np = np
        self._temperature = temperature
        self._random = np.random.default_rng(seed)
        self._grammar = grammar

    def choose(self, logits: Any) -> tuple[int | None, float]:
        """The next token and its natural log-probability under the unconstrained model (temperature 1).

        The token is None when the grammar allows none, not even the end.

        Raises:
            ModelError: the logits are not numbers.
        """
        np = self._np
        normaliser = _normaliser(logits)
        token: int | None = self._draw(logits)
        if self._grammar is not None:
            if not self._grammar.allowed(np.array([token]))[0]:
                token = self._draw_allowed(logits, self._grammar)
            if token is None:
                return None, 0.0
            self._grammar.accept(token)
        return token, min(0.0, float(logits[token]) - normaliser)

    def _draw(self, logits: Any) -> int:
        np = self._np
        if self._temperature <= 0:
            return int(logits.argmax())
        scaled = logits.astype(np.float64) / self._temperature
        cumulative = np.exp(scaled - scaled.max()).cumsum()
        drawn = int(np.searchsorted(cumulative, self._random.random() * cumulative[-1], side="right"))
        return min(drawn, len(logits) - 1)

    def _draw_allowed(self, logits: Any, grammar: GrammarMatcher) -> int | None:
        np = self._np
        if self._temperature <= 0:
            best = np.argpartition(logits, -_FIRST_CANDIDATES)[-_FIRST_CANDIDATES:]
            best = best[np.lexsort((best, -logits[best]))]
            allowed = grammar.allowed(best)
            if allowed.any():
                return int(best[allowed.argmax()])
        allowed = grammar.allowed(np.arange(len(logits)))
        if not allowed.any():
            return None
        return self._draw(np.where(allowed, logits, -np.inf))
