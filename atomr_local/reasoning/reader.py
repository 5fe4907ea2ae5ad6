"""The model's part in reasoning: fill a prompt, keep it inside the context window, get a structured answer back."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from atomr_local.backbone.protocol import Backbone, Completion, Prompt
from atomr_local.backbone.templates import render
from atomr_local.cancellation import Cancellation
from atomr_local.errors import ModelError
from atomr_local.reasoning import grammars
from atomr_local.reasoning.events import ModelCalled, TextGenerated
from atomr_local.reasoning.recorder import Recorder
from atomr_local.sanitize import sanitize_line
from atomr_local.sources.protocol import Evidence

_PACKAGE = "atomr_local.reasoning"
_ANSWER_TOKENS = 160
_THOUGHT_TOKENS = 120
_UNKNOWN = re.compile(r"unknown|none|n/?a|not (?:known|stated|mentioned|given)|no answer", re.IGNORECASE)


@dataclass(frozen=True)
class Reading:
    """A structured answer of the model.

    Attributes:
        answers: empty when the model says Unknown or its output could not be read.
        cited: the evidence that it says it used.
        confidence: exp of the mean token log-probability.
        dropped: evidence left out because the prompt would not fit, in words.
        problem: why the output could not be read, or None.
    """

    answers: tuple[str, ...] = ()
    cited: tuple[Evidence, ...] = ()
    confidence: float | None = None
    dropped: tuple[str, ...] = field(default=())
    problem: str | None = None


class Reader:
    """Asks the backbone on behalf of nodes and records every call."""

    def __init__(
        self,
        backbone: Backbone,
        recorder: Recorder,
        cancellation: Cancellation,
        *,
        seed: int = 0,
        evidence_tokens: int = 900,
        passage_words: int = 120,
    ) -> None:
        self._backbone = backbone
        self._recorder = recorder
        self._cancellation = cancellation
        self._seed = seed
        self._evidence_tokens = evidence_tokens
        self._passage_words = passage_words

    def from_evidence(self, node_id: int | None, question: str, evidence: Sequence[Evidence]) -> Reading:
        """Answer the question from evidence, best first."""
        return self._read(node_id, "read", "read", evidence, question=question)

    def select(self, node_id: int, candidates: Sequence[str], condition: str, evidence: Sequence[Evidence]) -> Reading:
        """Those of the candidates that satisfy the condition, by the evidence."""
        return self._read(
            node_id, "filter", "filter", evidence, candidates, listed=", ".join(candidates), condition=condition
        )

    def from_steps(self, node_id: int, question: str, steps: Sequence[tuple[str, str]]) -> Reading:
        """Answer the question from earlier questions and their answers."""
        lines = "\n".join(f"{i}. {asked} {answer}" for i, (asked, answer) in enumerate(steps, 1))
        return self._read(node_id, "combine", "combine", (), steps=lines, question=question)

    def from_memory(self, node_id: int | None, question: str) -> Reading:
        """Answer from the model's own knowledge."""
        return self._read(node_id, "closed book", "closed_book", (), question=question)

    def from_thoughts(self, node_id: int | None, question: str) -> Reading:
        """Chain of thought: think first, then answer from the thoughts (Wei et al., 2022)."""
        thinking = render(_PACKAGE, "think", question=question)
        thoughts = sanitize_line(self._complete(node_id, "think", thinking, None, _THOUGHT_TOKENS).text)
        return self._read(node_id, "conclude", "conclude", (), question=question, thoughts=thoughts)

    def choose(self, node_id: int, question: str, options: Sequence[str]) -> str:
        """One of the options (combinations of sources) for the question, each equally possible by the grammar."""
        prompt = render(_PACKAGE, "choose_sources", sources=max(options, key=len), question=question)
        chosen = self._complete(node_id, "choose sources", prompt, grammars.one_of(options), 16).text.strip()
        return chosen if chosen in options else max(options, key=len)

    def _read(
        self,
        node_id: int | None,
        purpose: str,
        template: str,
        evidence: Sequence[Evidence],
        candidates: Sequence[str] | None = None,
        **slots: str,
    ) -> Reading:
        shown, prompt, dropped = self._fit(template, evidence, slots)
        completion = self._complete(node_id, purpose, prompt, grammars.answer(len(shown), candidates), _ANSWER_TOKENS)
        return self._parse(completion, shown, dropped)

    def _fit(
        self, template: str, evidence: Sequence[Evidence], slots: dict[str, str]
    ) -> tuple[list[Evidence], Prompt, tuple[str, ...]]:
        """The prompt with as much of the evidence as fits, the weakest (last) left out first."""
        shown = list(evidence)
        bare = self._backbone.count_tokens(self._prompt(template, [], slots))
        while True:
            prompt = self._prompt(template, shown, slots)
            tokens = self._backbone.count_tokens(prompt)
            room = tokens + _ANSWER_TOKENS <= self._backbone.info.context_tokens
            if room and (tokens - bare <= self._evidence_tokens or len(shown) <= 1):
                break
            if not shown:
                raise ModelError(
                    f"the question needs {tokens} prompt tokens, the model's context window has "
                    f"{self._backbone.info.context_tokens}",
                    hint="Ask a shorter question, or set llm.context_tokens higher.",
                )
            shown.pop()
        dropped = tuple(f"{item.id} left out of the prompt: no room" for item in evidence[len(shown) :])
        return shown, prompt, dropped

    def _prompt(self, template: str, evidence: Sequence[Evidence], slots: dict[str, str]) -> Prompt:
        if template in {"read", "filter"}:
            lines = [f"[{i}] {self._passage(item)}" for i, item in enumerate(evidence, 1)]
            slots = slots | {"evidence": "\n".join(lines) or "(no evidence)"}
        return render(_PACKAGE, template, (), **slots)

    def _passage(self, item: Evidence) -> str:
        words = sanitize_line(item.text).split(" ")
        text = " ".join(words[: self._passage_words])
        return f"{sanitize_line(item.title)}: {text}"

    def _complete(
        self, node_id: int | None, purpose: str, prompt: Prompt, grammar: str | None, max_tokens: int
    ) -> Completion:
        completion = self._backbone.complete(
            prompt,
            max_tokens=max_tokens,
            grammar=grammar,
            seed=self._seed,
            on_text=lambda text: self._recorder.emit(TextGenerated(node_id=node_id, text=text)),
            cancellation=self._cancellation,
        )
        self._recorder.emit(
            ModelCalled(node_id=node_id, purpose=purpose, prompt=shown_prompt(prompt), completion=completion)
        )
        return completion

    @staticmethod
    def _parse(completion: Completion, shown: Sequence[Evidence], dropped: tuple[str, ...]) -> Reading:
        try:
            data = json.loads(completion.text)
            given = data["answers"] or [data["answer"]]
            answers = tuple(dict.fromkeys(text for item in given if (text := sanitize_line(str(item)))))
            numbers = [int(number) for number in data["evidence"]]
        except (ValueError, KeyError, TypeError):
            return Reading(dropped=dropped, problem="the model's output is not the JSON object asked for")
        if not answers or all(_UNKNOWN.fullmatch(text.strip(" .")) for text in answers):
            return Reading(confidence=completion.mean_probability, dropped=dropped)
        cited = tuple(shown[number - 1] for number in dict.fromkeys(numbers) if 1 <= number <= len(shown))
        return Reading(answers, cited, completion.mean_probability, dropped)


def shown_prompt(prompt: Prompt) -> str:
    """The prompt as one text, for people."""
    return "\n\n".join(f"{message.role}: {message.content}" for message in prompt.messages)
