"""Model calls on behalf of one question: fitted to the context window, recorded, counted and cancellable.

The reader (closed tasks) and the writer (forms) stand on it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from atomr_local.errors import CallLimitError, ModelError
from atomr_local.language.names import comparable
from atomr_local.language.sentences import first_words, sentences, size_in_words
from atomr_local.language.words import english, first_letters
from atomr_local.models.protocol import (
    Backbone,
    BackboneInfo,
    Generation,
    GenerationRequest,
    Prompt,
    StructuredOutput,
)
from atomr_local.models.templates import Style
from atomr_local.reasoning.trace.events import ModelCalled, TextGenerated
from atomr_local.reasoning.trace.recorder import Recorder
from atomr_local.settings.schema import Settings
from atomr_local.sources.protocol import Evidence
from atomr_local.system.cancellation import Cancellation

# Calls over the limit with which a strategy may conclude from what it has.
CALLS_TO_CONCLUDE = 8


class Asking:
    """Calls the backbone for one question. Thread-safe.

    Attributes:
        style: of prompts and answers; an adapter's card says which one it was trained on.
    """

    def __init__(
        self,
        backbone: Backbone,
        recorder: Recorder,
        cancellation: Cancellation,
        settings: Settings,
        style: Style = "full",
    ) -> None:
        self._backbone = backbone
        self._recorder = recorder
        self._cancellation = cancellation
        self._lock = threading.Lock()
        self._used = 0
        self._concluding = 0
        self.settings = settings
        self.style: Style = style

    @property
    def info(self) -> BackboneInfo:
        return self._backbone.info

    @property
    def lean(self) -> bool:
        """Whether the model was trained on short prompts of closed tasks: it reads with those, and fills no forms."""
        return self.style == "lean"

    @property
    def calls_left(self) -> int:
        """Calls before :class:`CallLimitError`."""
        with self._lock:
            return max(0, self._allowed - self._used)

    def spares(self, calls: int) -> bool:
        """Whether so many calls are left for what only makes an answer surer; those to conclude with are not."""
        with self._lock:
            return self.settings.limits.calls - self._used >= calls

    @property
    def _allowed(self) -> int:
        return self.settings.limits.calls + (CALLS_TO_CONCLUDE if self._concluding else 0)

    @contextmanager
    def concluding(self) -> Iterator[None]:
        """Inside, a few calls over the limit are allowed: the strategy concludes from what it has."""
        with self._lock:
            self._concluding += 1
        try:
            yield
        finally:
            with self._lock:
                self._concluding -= 1

    def count_tokens(self, prompt: Prompt) -> int:
        return self._backbone.count_tokens(prompt)

    def has_room(self, prompt: Prompt, answer_tokens: int) -> bool:
        """Whether the context window holds the prompt and the answer."""
        return self.count_tokens(prompt) + answer_tokens <= self.info.context_tokens

    def count_call(self) -> None:
        """Count a call that is made elsewhere, such as the planner's; it is never refused."""
        with self._lock:
            self._used += 1

    def generate(
        self,
        node_id: int | None,
        purpose: str,
        prompt: Prompt,
        output: StructuredOutput | None,
        max_tokens: int,
        *,
        temperature: float = 0.0,
        draw: int = 0,
        stop: tuple[str, ...] = (),
        watch: tuple[str, ...] = (),
        watch_after: str = "",
        silent: bool = False,
        task: str = "",
    ) -> Generation:
        """One call. Its text is streamed and the whole of it recorded.

        Args:
            temperature: 0 is greedy.
            draw: number of a sample; each has a seed of its own.
            silent: not streamed: one of several samples of a step that are written side by side.
            task: see :class:`GenerationRequest`.

        Raises:
            CallLimitError: the question has used up its calls.
            ModelError: the model failed.
            Cancelled: the question was cancelled.
        """
        self._cancellation.check()
        self._reserve()
        request = GenerationRequest(
            prompt,
            max_tokens,
            output,
            stop,
            temperature,
            self.settings.llm.seed + draw,
            watch=watch,
            watch_after=watch_after,
            task=task,
            on_text=None if silent else lambda text: self._recorder.emit(TextGenerated(node_id=node_id, text=text)),
            cancellation=self._cancellation,
        )
        completion = self._backbone.generate(request)
        self._recorder.emit(
            ModelCalled(node_id=node_id, purpose=purpose, prompt=shown_prompt(prompt), completion=completion)
        )
        return completion

    def _reserve(self) -> None:
        with self._lock:
            if self._used >= self._allowed:
                raise CallLimitError(self.settings.limits.calls)
            self._used += 1

    def fit(
        self, render: Callable[[Sequence[Evidence]], Prompt], evidence: Sequence[Evidence], answer_tokens: int
    ) -> tuple[list[Evidence], Prompt, tuple[str, ...]]:
        """The evidence that fits, the prompt with it, and notes about evidence left out (the weakest, last, first).

        Args:
            render: makes the prompt with this evidence.
            answer_tokens: room kept for the answer.

        Raises:
            ModelError: the prompt does not fit even without evidence.
        """
        shown = list(evidence)
        bare = self.count_tokens(render([]))
        while True:
            prompt = render(shown)
            tokens = self.count_tokens(prompt)
            room = tokens + answer_tokens <= self.info.context_tokens
            if room and (tokens - bare <= self.settings.limits.evidence_tokens or len(shown) <= 1):
                break
            if not shown:
                raise ModelError(
                    f"the question needs {tokens} prompt tokens, the model's context window has "
                    f"{self.info.context_tokens}",
                    hint="Ask a shorter question, or set llm.context_tokens higher.",
                )
            shown.pop()
        dropped = tuple(f"{item.id} left out of the prompt: no room" for item in evidence[len(shown) :])
        return shown, prompt, dropped


def shown_prompt(prompt: Prompt) -> str:
    """The prompt as one text, for people."""
    return "\n\n".join(f"{message.role}: {message.content}" for message in prompt.messages)


# Extractive compression: cuts a passage to the sentences that matter for a question.
#
# Extractive and query-focused: sentences are ranked by the word stems that they share with the question, without those
# of the title. Question words are expanded by words that express the answer ("father": "son of"). The first sentence,
# which says what the page is about, gets a bonus. The chosen sentences keep their order.

_FIRST_SENTENCE = 0.5
GAP = "…"


def word_budgets(words: int, count: int, *, whole: bool) -> list[int]:
    """Words of each of `count` passages, best first.

    The first passage answers most look-ups, so the others get half of `words`: on 2Wiki's hops the answer stays in
    96.4% of the prompts with 77% of the words (`scripts/measure_cutting.py`). A passage read alone gets twice as many.
    A whole question (`whole`) needs several passages equally, so each gets seven tenths.
    """
    if count == 1:
        return [2 * words]
    if whole:
        return [max(words * 7 // 10, 1)] * count
    return [words if index == 0 else max(words // 2, 1) for index in range(count)]


def content_stems(text: str) -> set[str]:
    """The stems of the words that say something by themselves."""
    return {first_letters(word) for word in comparable(text) if word not in english().stop}


def relevance(
    question: str, title: str, pieces: Sequence[str], weights: Mapping[str, float] | None = None
) -> list[float]:
    """How much each piece of a passage has of what the question asks for, beside what the title says.

    Args:
        weights: by stem; 1 for the others.
    """
    weigh = weights or {}
    asked = {word for word in comparable(question) if word not in english().stop}
    wanted = {first_letters(word) for word in asked} - content_stems(title)
    widened = {first_letters(told) for word in asked for told in english().told_by.get(word, ())} - wanted
    found = map(content_stems, pieces)
    return [sum(weigh.get(stem, 1.0) for stem in stems & wanted) + 0.7 * bool(stems & widened) for stems in found]


def cut_passage(question: str, title: str, text: str, budget: int) -> str:
    """At most about `budget` words of the text: its best sentences for the question, with gaps marked.

    A single sentence over the budget is cut after the last word that fits.
    """
    if size_in_words(text) <= budget:
        return text
    pieces = [text[begin:end] for begin, end in sentences(text)]
    pieces = [piece for piece in pieces if piece.strip()]
    scores = relevance(question, title, pieces)
    if scores:
        scores[0] += _FIRST_SENTENCE
    kept: set[int] = set()
    room = budget
    for index in sorted(range(len(pieces)), key=lambda i: (-scores[i], i)):
        size = size_in_words(pieces[index])
        if size <= room:
            kept.add(index)
            room -= size
        elif not kept:
            return first_words(pieces[index], budget)
    parts: list[str] = []
    for index in sorted(kept):
        if index and index - 1 not in kept and parts:
            parts.append(GAP)
        parts.append(pieces[index].strip())
    return " ".join(parts)
