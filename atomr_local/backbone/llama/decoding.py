"""Decoding of one request on a slot: evaluates its prompt, then chooses its output token by token."""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from atomr_local.backbone.llama.chat.encoder import EncodedPrompt
from atomr_local.backbone.llama.engine import AbortFlag, Engine, Part
from atomr_local.backbone.llama.prefix_cache import GRID_TOKENS, PrefixCache
from atomr_local.backbone.llama.prompt_lookup import MOST_DRAFTED, PromptLookup
from atomr_local.backbone.llama.sampling import Sampler, compiled_grammar, log_probabilities
from atomr_local.backbone.llama.snapshots import Snapshots
from atomr_local.backbone.output import OutputText
from atomr_local.backbone.protocol import Finish, Generation, GenerationRequest
from atomr_local.errors import Cancelled, ModelError


@dataclass(frozen=True, slots=True, eq=False)
class EncodedRequest:
    """A request in the model's terms.

    Attributes:
        lookup: token sequences for prompt-lookup decoding; without any nothing is guessed, so that parallel calls fill
            batches alike.
        watch: tokens whose probability is wanted.
        task: the task whose adapter is applied; "" for none.
    """

    request: GenerationRequest
    prompt: EncodedPrompt
    output: OutputText
    flag: AbortFlag
    lookup: tuple[tuple[int, ...], ...]
    watch: tuple[int | None, ...]
    task: str = ""


class Slot:
    """A sequence of the engine, with a prefix cache of its own; used on the engine's thread only.

    Attributes:
        task: the task whose adapter computes it; "" for none.
    """

    def __init__(self, engine: Engine, number: int, snapshots: Snapshots) -> None:
        self.number = number
        self.task = ""
        self._engine = engine
        self._row = 0
        self._snapshots = snapshots
        self.cache = PrefixCache(self, GRID_TOKENS, snapshots)

    def serve(self, task: str) -> None:
        """Compute what follows with the adapter of a task. What was computed otherwise is not reused."""
        if task != self.task:
            self.task = task
            self.trim(0)
            self.cache = PrefixCache(self, GRID_TOKENS, None if task else self._snapshots)

    def forget(self, grid: int = GRID_TOKENS) -> None:
        """Clear the prefix cache, then evaluate in batches of `grid` tokens."""
        self.cache.clear()
        self.cache = PrefixCache(self, grid, self._snapshots)

    @property
    def can_trim(self) -> bool:
        return self._engine.can_trim

    @property
    def context_tokens(self) -> int:
        return self._engine.context_tokens

    def decode(self, tokens: Sequence[int], flag: AbortFlag) -> None:
        """Append tokens and compute the logits after the last one."""
        [self._row] = self._engine.decode([Part(self.number, tokens)], flag, self.task)

    def logits(self) -> Any:
        """The logits of this slot's own last `decode`, if nothing has been decoded since."""
        return self._engine.logits(self._row)

    def trim(self, length: int) -> bool:
        return self._engine.trim(self.number, length)

    def save(self) -> Any:
        return self._engine.save(self.number)

    def restore(self, state: Any) -> bool:
        return self._engine.restore(self.number, state)


class Decoding:
    """A request that is decoded on a slot. The result depends on nothing but the request.

    Attributes:
        result: None until the text is complete.
    """

    def __init__(self, engine: Engine, slot: Slot, call: EncodedRequest) -> None:
        self.slot = slot
        self.call = call
        self.result: Generation | None = None
        self._engine = engine
        self._started = time.perf_counter()
        self._open = contextlib.ExitStack()
        self._evaluated = 0
        self._remaining = call.request.max_tokens
        self._held = len(call.prompt.tokens)  # tokens of the sequence that are right
        self._draft: tuple[int, ...] = ()
        self._index = 0  # where in the slot's last batch the token stands that is written on from
        self._watching = bool(call.watch)
        self._watched = (math.nan,) * len(call.watch)
        self._lookup: PromptLookup | None = None
        if call.lookup and call.request.temperature <= 0 and engine.can_trim:
            self._lookup = PromptLookup([*call.lookup, call.prompt.tokens[call.prompt.static :]])

    def begin(self) -> tuple[int, ...]:
        """Read the prompt and choose the first token.

        Returns:
            the tokens to be evaluated next, the chosen one and its draft; empty when the text is complete.

        Raises:
            Cancelled: the flag was set.
            ModelError: the grammar is invalid, or the model failed.
        """
        request, prompt = self.call.request, self.call.prompt
        gbnf = request.output.gbnf if request.output is not None else None
        grammar = self._open.enter_context(compiled_grammar(self._engine, gbnf))
        self._evaluated = self.slot.cache.evaluate(prompt.tokens, prompt.static, self.call.flag, prompt.continued)
        self._sampler = Sampler(request.temperature, request.seed, grammar)
        return self.advance(lambda _: self.slot.logits())

    def advance(self, logits: Callable[[int], Any]) -> tuple[int, ...]:
        """Choose what follows the tokens evaluated last.

        Args:
            logits: index among the tokens that this call last gave back → their logits.

        Returns and raises the same as :meth:`begin`.
        """
        call, engine = self.call, self._engine
        while True:
            if call.flag.is_set:
                raise Cancelled()
            row = logits(self._index)
            if self._watching and call.output.text == call.request.watch_after:
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
            if self._lookup is not None:
                self._lookup.add(token)
                if self._index < len(self._draft) and token == self._draft[self._index]:
                    self._index += 1  # drafted rightly: what follows it has been evaluated
                    continue
                if self._index < len(self._draft) and not self.slot.trim(self._held - 1):
                    raise ModelError("the model could not take tokens back")
                self._draft = self._lookup.draft(min(MOST_DRAFTED, self._remaining - 1))
            self._index = 0
            return (token, *self._draft)

    def close(self) -> None:
        """Free the grammar. Idempotent."""
        self._open.close()

    def _end(self, finish: Finish) -> tuple[int, ...]:
        text, tokens = self.call.output.finish()
        seconds = time.perf_counter() - self._started
        submitted = len(self.call.prompt.tokens)
        self.result = Generation(text, tokens, finish, submitted, self._evaluated, seconds, self._watched)
        return ()
