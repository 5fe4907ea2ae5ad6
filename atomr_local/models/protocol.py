"""The protocol of every language model. Reasoning knows models only through this file."""

from __future__ import annotations

import codecs
import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from atomr_local.errors import ModelError
from atomr_local.models.gbnf import literal
from atomr_local.system.cancellation import Cancellation

# Structured output: a grammar, a choice or a JSON schema.
#
# A backbone uses the form that its model or server understands: llama.cpp takes `gbnf`, a server without grammars may
# take `json_schema`.


@dataclass(frozen=True, slots=True)
class Grammar:
    """A text of a grammar.

    Attributes:
        gbnf: with a rule named `root`.
        json_schema: a schema that all texts of the grammar fulfil; or of an object that says the same, which whoever
            reads the text understands as well; None if there is neither.
    """

    gbnf: str
    json_schema: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Choice:
    """Exactly one of the options."""

    options: tuple[str, ...]
    json_schema: None = None  # an option is plain text

    @property
    def gbnf(self) -> str:
        return "root ::= " + " | ".join(map(literal, self.options))


@dataclass(frozen=True, slots=True)
class JsonSchema:
    """A JSON text that fulfils a schema."""

    json_schema: Mapping[str, Any]

    @property
    def gbnf(self) -> str:
        """The schema as llama.cpp understands it. Imports llama_cpp."""
        from llama_cpp.llama_grammar import json_schema_to_gbnf

        return str(json_schema_to_gbnf(json.dumps(self.json_schema)))


StructuredOutput = Grammar | Choice | JsonSchema

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
    """The output of one call.

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
    """The identity of a model, and its context.

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


# Generated bytes to text: complete characters, stop texts, and fragments as soon as they are final.


class OutputText:
    """Collects the tokens of one completion.

    Attributes:
        stopped: a stop text has been met; everything from it on has been dropped.
        stop: the stop text that was met; empty while none was.
    """

    def __init__(self, stop: tuple[str, ...], on_text: Callable[[str], None] | None) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
        self._stop = tuple(text for text in stop if text)
        self._on_text = on_text
        self._tokens: list[Token] = []
        self._text = ""
        self._sent = 0
        self.stopped = False
        self.stop = ""

    @property
    def text(self) -> str:
        """The text so far, without an unfinished character."""
        return self._text

    def add(self, data: bytes, logprob: float) -> None:
        """One more token, whose `data` may end within a character."""
        fragment = self._decoder.decode(data)
        self._tokens.append(Token(fragment, logprob))
        start = max(0, len(self._text) - max(map(len, self._stop), default=0))
        self._text += fragment
        found = [(at, text) for text in self._stop if (at := self._text.find(text, start)) >= 0]
        if found:
            at, self.stop = min(found)
            self._cut(at)
            self.stopped = True
        self._send(len(self._text) - (0 if self.stopped else self._held_back()))

    def finish(self) -> tuple[str, tuple[Token, ...]]:
        """The text and its tokens, whose texts joined are the text. Bytes of an unfinished character are dropped."""
        self._send(len(self._text))
        return self._text, tuple(self._tokens)

    def _cut(self, length: int) -> None:
        self._text = self._text[:length]
        surplus = sum(len(token.text) for token in self._tokens) - length
        while surplus > 0:
            token = self._tokens.pop()
            surplus -= len(token.text)
        if surplus < 0:
            self._tokens.append(Token(token.text[:-surplus], token.logprob))

    def _held_back(self) -> int:
        """Characters at the end that may be the beginning of a stop text."""
        longest = 0
        for text in self._stop:
            for size in range(min(len(text) - 1, len(self._text)), longest, -1):
                if self._text.endswith(text[:size]):
                    longest = size
                    break
        return longest

    def _send(self, end: int) -> None:
        if end > self._sent:
            fragment, self._sent = self._text[self._sent : end], end
            if self._on_text is not None:
                self._on_text(fragment)


# Wraps a model on another machine: announces each call before it is made.


def announced(backbone: Backbone, what: str, leaves: Callable[[str, str], None]) -> Backbone:
    """The model as it is, or one that tells `leaves` what goes to which machine if that is another one."""
    host = backbone.info.host
    return backbone if host is None else _AnnouncedBackbone(backbone, lambda: leaves(what, host))


class _AnnouncedBackbone:
    def __init__(self, inner: Backbone, announce: Callable[[], None]) -> None:
        self._inner = inner
        self._announce = announce
        self.count_tokens: Callable[[Prompt], int] = inner.count_tokens
        self.close = inner.close

    @property
    def info(self) -> BackboneInfo:
        return self._inner.info

    def generate(self, request: GenerationRequest) -> Generation:
        self._announce()
        return self._inner.generate(request)


# A backbone where no model is wanted.

_CONTEXT = 4096


class Nobody:
    """Answers nothing: for work on sources that must not ask a model."""

    info = BackboneInfo("no model", None, _CONTEXT)

    def count_tokens(self, prompt: Prompt) -> int:
        return sum(len(message.content) for message in prompt.messages) // 4

    def generate(self, request: GenerationRequest) -> Generation:
        raise ModelError("this work goes without a model, and a step needs one")

    def close(self) -> None: ...
