"""The protocol of every language model. Reasoning knows models only through this file."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, Protocol

from atomr_local.backbone.structured_output import StructuredOutput
from atomr_local.cancellation import Cancellation

Role = Literal["system", "user", "assistant"]
Finish = Literal["stop", "length", "cancelled"]


@dataclass(frozen=True, slots=True)
class Message:
    role: Role
    content: str


@dataclass(frozen=True, slots=True)
class Prompt:
    """A chat prompt, static part first.

    Attributes:
        static: instructions and worked examples, the same for many calls, so that the prefix cache can
            reuse their evaluation.
        dynamic: what is particular to this call.
        continued: turns that continue from an earlier call with the same static and dynamic part: what the model wrote
            there, and what it is asked next. The prefix cache then reads these turns only.
    """

    static: tuple[Message, ...]
    dynamic: tuple[Message, ...]
    continued: tuple[Message, ...] = ()

    @property
    def messages(self) -> tuple[Message, ...]:
        return self.static + self.dynamic + self.continued

    def going_on(self, written: str, asked: str) -> Prompt:
        """The next turn of this conversation: the model wrote `written` and is now asked `asked`."""
        turns = (Message("assistant", written), Message("user", asked))
        return Prompt(self.static, self.dynamic, (*self.continued, *turns))


@dataclass(frozen=True, slots=True)
class Token:
    text: str
    logprob: float


@dataclass(frozen=True, slots=True)
class GenerationRequest:
    """One call of a model.

    Attributes:
        output: what the text must look like unless it is cut at `max_tokens`; None: anything.
        stop: generation ends before the first of these texts.
        temperature: 0 is greedy and deterministic.
        lookup_texts: texts that resemble the output, for prompt-lookup decoding. They change the speed, never the
            output.
        watch: texts whose probability is wanted, where the output may begin with them. They do not change the output.
        watch_after: the watched place is where the output so far equals this text; by default its beginning.
        task: of the reader, for which the model may have an adapter of its own.
        on_text: called with each fragment as it is generated, on the model's thread.
        cancellation: ends the call early, also while the prompt is read.
    """

    prompt: Prompt
    max_tokens: int
    output: StructuredOutput | None = None
    stop: tuple[str, ...] = ()
    temperature: float = 0.0
    seed: int = 0
    lookup_texts: tuple[str, ...] = ()
    watch: tuple[str, ...] = ()
    watch_after: str = ""
    task: str = ""
    on_text: Callable[[str], None] | None = None
    cancellation: Cancellation | None = None

    def __post_init__(self) -> None:
        if self.max_tokens < 1:
            raise ValueError("max_tokens must be at least 1")


@dataclass(frozen=True, slots=True)
class Generation:
    """What the model wrote.

    Attributes:
        text: the whole output without end-of-turn markers.
        tokens: with natural log-probabilities under the unconstrained model; nan where a server does not report them.
        evaluated_tokens: prompt tokens that the model had to read; the others came from the prefix cache.
        seconds: wall time.
        watched: for each watched text the log-probability of its first token at the watched place; nan if unknown.
    """

    text: str
    tokens: tuple[Token, ...]
    finish: Finish
    prompt_tokens: int
    evaluated_tokens: int
    seconds: float
    watched: tuple[float, ...] = ()

    @property
    def generated_tokens(self) -> int:
        return len(self.tokens)

    @property
    def mean_probability(self) -> float | None:
        """exp of the mean token log-probability; None for an empty text or unknown log-probabilities."""
        if not self.tokens:
            return None
        mean = sum(token.logprob for token in self.tokens) / len(self.tokens)
        return None if math.isnan(mean) else math.exp(mean)


@dataclass(frozen=True, slots=True)
class BackboneInfo:
    """What a model is.

    Attributes:
        context_tokens: prompt and completion together may take this many tokens.
        host: the other machine that prompts are sent to; None: they stay on this one.
    """

    name: str
    adapter: str | None
    context_tokens: int
    host: str | None = None


class Backbone(Protocol):
    """A language model. Its methods may be called from any thread, also at the same time."""

    @property
    def info(self) -> BackboneInfo: ...

    def count_tokens(self, prompt: Prompt) -> int:
        """Tokens of the prompt with the chat template applied and the assistant's turn opened."""
        ...

    def generate(self, request: GenerationRequest) -> Generation:
        """Continue the prompt.

        Raises:
            ModelError: the prompt does not fit, the structured output is invalid, or the model failed.
            Cancelled: the request's `cancellation` was triggered.
        """
        ...

    def close(self) -> None: ...
