"""One call: its prompt read, then its output chosen token by token as the logits come."""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from atomr_local.backbone.llama.chat.encoder import EncodedPrompt
from atomr_local.backbone.llama.engine import AbortFlag, Engine
from atomr_local.backbone.llama.prompt_lookup import MOST_DRAFTED, Drafter
from atomr_local.backbone.llama.sampling import Sampler, compiled_grammar, log_probabilities
from atomr_local.backbone.llama.slot import Lane
from atomr_local.backbone.output import OutputText
from atomr_local.backbone.protocol import Completion, Finish
from atomr_local.errors import Cancelled, ModelError


@dataclass(frozen=True, slots=True, eq=False)
class Call:
    """What one call asks for, in the model's terms.

    Attributes:
        drafts: token sequences to draft from; none: nothing is drafted, so that calls side by side fill batches alike.
        watch: tokens whose probability is asked for.
        watch_after: where: behind this output.
    """

    prompt: EncodedPrompt
    max_tokens: int
    grammar: str | None
    temperature: float
    seed: int
    output: OutputText
    flag: AbortFlag
    drafts: tuple[tuple[int, ...], ...] = ()
    watch: tuple[int | None, ...] = ()
    watch_after: str = ""


class Generation:
    """A call that runs on a lane. What it computes depends on nothing but the call.

    Attributes:
        completion: the result, once there is one.
    """

    def __init__(self, engine: Engine, lane: Lane, call: Call) -> None:
        self.lane = lane
        self.call = call
        self.completion: Completion | None = None
        self._engine = engine
        self._started = time.perf_counter()
        self._open = contextlib.ExitStack()
        self._evaluated = 0
        self._remaining = call.max_tokens
        self._held = len(call.prompt.tokens)  # tokens of the sequence that are right
        self._draft: tuple[int, ...] = ()
        self._index = 0  # where in the last batch of this lane the token stands that is written on from
        self._watching = bool(call.watch)
        self._watched = (math.nan,) * len(call.watch)
        self._drafter: Drafter | None = None
        if call.drafts and call.temperature <= 0 and engine.can_trim:
            self._drafter = Drafter([*call.drafts, call.prompt.tokens[call.prompt.static :]])

    def begin(self) -> tuple[int, ...]:
        """Read the prompt and choose the first token.

        Returns:
            the tokens to be evaluated next, the chosen one and its draft; empty when the completion is there.

        Raises:
            Cancelled: the call's flag was set.
            ModelError: the grammar is invalid, or the model failed.
        """
        call = self.call
        grammar = self._open.enter_context(compiled_grammar(self._engine, call.grammar))
        prompt = call.prompt
        self._evaluated = self.lane.cache.evaluate(prompt.tokens, prompt.static, call.flag, prompt.continued)
        self._sampler = Sampler(call.temperature, call.seed, grammar)
        return self.advance(lambda _: self.lane.logits())

    def advance(self, logits: Callable[[int], Any]) -> tuple[int, ...]:
        """Choose what follows the tokens evaluated last.

        Args:
            logits: index among the tokens that this call last gave back → their logits.

        Returns, raises: as :meth:`begin`.
        """
        call, engine = self.call, self._engine
        while True:
            if call.flag.is_set:
                raise Cancelled()
            row = logits(self._index)
            if self._watching and call.output.text == call.watch_after:
                self._watched, self._watching = log_probabilities(row, call.watch), False
            token, logprob = self._sampler.choose(row)
            if token is None or engine.is_end(token):
                return self._end("stop")
            call.output.add(engine.token_bytes(token), logprob)
            self._remaining -= 1
            if call.output.stopped:
                return self._end("stop")
            if self._remaining == 0:
                return self._end("length")
            self._held += 1
            if self._drafter is not None:
                self._drafter.add(token)
                if self._index < len(self._draft) and token == self._draft[self._index]:
                    self._index += 1  # drafted rightly: what follows it has been evaluated
                    continue
                if self._index < len(self._draft) and not self.lane.trim(self._held - 1):
                    raise ModelError("the model could not take tokens back")
                self._draft = self._drafter.draft(min(MOST_DRAFTED, self._remaining - 1))
            self._index = 0
            return (token, *self._draft)

    def close(self) -> None:
        """Free the grammar. Idempotent."""
        self._open.close()

    def _end(self, finish: Finish) -> tuple[int, ...]:
        text, tokens = self.call.output.finish()
        seconds = time.perf_counter() - self._started
        submitted = len(self.call.prompt.tokens)
        self.completion = Completion(text, tokens, finish, submitted, self._evaluated, seconds, self._watched)
        return ()
