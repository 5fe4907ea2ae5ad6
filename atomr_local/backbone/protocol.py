"""What a language model backbone is: the wall between reasoning and concrete models."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

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
        continued: turns that go on from an earlier call with the same static and dynamic part: what the model wrote
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
class Completion:
    """What the model wrote.

    Attributes:
        text: the whole output, end-of-turn markers removed.
        tokens: each generated token with its natural log-probability under the unconstrained model; nan where
            a server does not tell.
        finish: why it ended.
        prompt_tokens: tokens submitted.
        evaluated_tokens: prompt tokens that the model really had to read (the rest came from the prefix cache).
        seconds: wall time.
        watched: for each watched text the natural log-probability of its first token at the watched place, under
            the unconstrained model; nan where that is not known.
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
        """exp of the mean token log-probability; None for an empty completion or where these are unknown."""
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
    """A language model. `complete` may be called from any thread; calls run one after the other."""

    @property
    def info(self) -> BackboneInfo: ...

    def count_tokens(self, prompt: Prompt) -> int:
        """Tokens of the prompt with the chat template applied and the assistant's turn opened."""
        ...

    def complete(
        self,
        prompt: Prompt,
        *,
        max_tokens: int,
        grammar: str | None = None,
        stop: tuple[str, ...] = (),
        temperature: float = 0.0,
        seed: int = 0,
        on_text: Callable[[str], None] | None = None,
        cancellation: Cancellation | None = None,
        drafts: Sequence[str] = (),
        watch: Sequence[str] = (),
        watch_after: str = "",
    ) -> Completion:
        """Continue the prompt.

        Args:
            grammar: GBNF with a rule `root`; the output then matches it unless cut at max_tokens.
            stop: generation ends before the first of these texts.
            temperature: 0 is greedy and deterministic.
            drafts: texts of the kind that the output will be, from which what comes next may be guessed; they
                change how long it takes, never what comes.
            watch: texts whose probability is asked for, where the output may begin with them; they change nothing
                of what comes.
            watch_after: the watched place is where the output so far is this text, instead of its beginning.
            on_text: called with each fragment as it is generated, on the model's thread.

        Raises:
            ModelError: the prompt does not fit, the grammar is invalid, or the model failed.
            Cancelled: `cancellation` was thrown, during prompt evaluation too.
        """
        ...

    def close(self) -> None: ...
