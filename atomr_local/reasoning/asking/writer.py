"""The writer: has the model fill a form, once or several times side by side."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from atomr_local.errors import ModelError
from atomr_local.language.sentences import first_words
from atomr_local.models.protocol import Generation, Message, Prompt
from atomr_local.models.templates import has_template, in_style, render
from atomr_local.reasoning.asking.asking import Asking, cut_passage, word_budgets
from atomr_local.reasoning.asking.forms import Form
from atomr_local.reasoning.confidence import mean_logprob
from atomr_local.reasoning.parallel import run_each
from atomr_local.sources.protocol import Evidence
from atomr_local.system.sanitize import sanitize_line

# Evidence as a prompt shows it: numbered passages, one a line, cut to what matters for the question.


# The most words of a title in a prompt. One in two thousand titles of Wikipedia has more.
_TITLE_WORDS = 10
_TITLE_CHARACTERS = 120


def shown_passages(
    question: str, passages: Sequence[tuple[str, str]], words: int, *, whole: bool, cut: bool = True
) -> list[tuple[str, str]]:
    """(title, text) of each passage for the prompt: one line, cut to what matters for the question."""
    shown = []
    for (title, text), budget in zip(passages, word_budgets(words, len(passages), whole=whole), strict=True):
        name, line = " ".join(sanitize_line(title)[:_TITLE_CHARACTERS].split()[:_TITLE_WORDS]), sanitize_line(text)
        shown.append((name, cut_passage(question, name, line, budget) if cut else first_words(line, budget)))
    return shown


def evidence_block(passages: Sequence[tuple[str, str]]) -> str:
    """Numbered passages, one a line."""
    return "\n".join(f"[{i}] {title}: {text}" for i, (title, text) in enumerate(passages, 1)) or "(no evidence)"


@dataclass(frozen=True, slots=True)
class FilledForm:
    """A filled field.

    Attributes:
        text: sanitised, on one line.
        logprob: mean natural log-probability of its tokens under the unconstrained model; None if unknown.
    """

    text: str
    logprob: float | None = None


@dataclass(frozen=True, slots=True)
class WrittenForm:
    """A form as the model has filled it.

    Attributes:
        fields: by label; those that could be read.
        dropped: notes about what was left out: evidence, worked examples, samples.
        problem: why a field could not be read, or None.
        shown: the evidence in the prompt; its numbers there are 1, 2, …
    """

    fields: Mapping[str, FilledForm]
    dropped: tuple[str, ...]
    problem: str | None
    shown: tuple[Evidence, ...]
    generation: Generation

    def __getitem__(self, label: str) -> str:
        """The field's text; "" if there is none."""
        filled = self.fields.get(label)
        return filled.text if filled is not None else ""

    def logprob(self, label: str) -> float | None:
        """The mean log-probability of the field's tokens; None if it is unknown or there is no such field."""
        filled = self.fields.get(label)
        return filled.logprob if filled is not None else None


def left_out(written: Sequence[WrittenForm]) -> list[str]:
    """The notes about what was left out, each once."""
    return list(dict.fromkeys(note for one in written for note in one.dropped))


def notes_of(written: Sequence[WrittenForm], what: str = "samples") -> list[str]:
    """What was left out, and how many of them, which are `what`, could not be read."""
    unread = sum(one.problem is not None for one in written)
    notes = left_out(written)
    return [*notes, f"{unread} of {len(written)} {what} could not be read"] if unread else notes


class Writer:
    """Has the model fill forms. Thread-safe."""

    def __init__(self, asking: Asking) -> None:
        self._asking = asking
        self._affordable: dict[tuple[str, str, tuple[str, ...]], int] = {}

    def write(
        self,
        node_id: int | None,
        purpose: str,
        form: Form,
        *,
        evidence: Sequence[Evidence] = (),
        turns: Sequence[tuple[str, str]] = (),
        draws: int = 1,
        temperature: float = 0.0,
        **slots: str | Sequence[str],
    ) -> list[WrittenForm]:
        """The form filled `draws` times, in a fixed order.

        Args:
            evidence: best first; cut to what matters for the slot `question`.
            turns: the conversation since the first filling: what the model wrote, and what it was told then.
            draws: samples, made side by side, each with a seed of its own. Without a temperature they would all be
                equal: then one call is made for all of them.
            temperature: 0 is greedy.
            slots: the template's slots. A text becomes one line; several become a line each.

        Raises:
            ModelError: the prompt does not fit even without evidence and examples, or the model failed.
            CallLimitError: the question has used up its calls.
            Cancelled: the question was cancelled.
        """
        filled = {name: _lines(given) for name, given in slots.items()}
        shown, prompt, notes = self._fitted(form, evidence, filled, turns)
        wanted = draws if temperature > 0 else min(draws, 1)
        made = min(wanted, max(1, self._asking.calls_left))  # the call itself says so if none is left
        if made < wanted:
            notes = (*notes, f"{wanted - made} of {wanted} samples left out: the question's model calls are used")

        def one(draw: int) -> WrittenForm:
            generation = self._asking.generate(
                node_id,
                purpose,
                prompt,
                form.grammar,
                form.most_tokens,
                temperature=temperature,
                draw=draw,
                stop=form.stop_texts,
                silent=draw > 0,
            )
            return _written(form, generation, shown, notes)

        written = run_each(one, range(made), self._asking.settings.llm.parallel)
        return written if temperature > 0 else written * draws

    def _fitted(
        self, form: Form, evidence: Sequence[Evidence], slots: dict[str, str], turns: Sequence[tuple[str, str]]
    ) -> tuple[list[Evidence], Prompt, tuple[str, ...]]:
        """The evidence that fits, the prompt, and notes: the weakest evidence goes first, then the last examples."""
        lean = in_style(form.template, "lean")
        is_lean = self._asking.lean and has_template(form.package, lean)
        template = lean if is_lean else form.template
        examples = () if is_lean else form.worked
        limits, cut = self._asking.settings.limits, self._asking.settings.features.cut_evidence

        def rendered(shown: Sequence[Evidence], number: int) -> Prompt:
            passages = [(item.title, item.text) for item in shown]
            about = slots.get("question", "")
            block = evidence_block(shown_passages(about, passages, limits.passage_words, whole=True, cut=cut))
            messages: tuple[Message, ...] = sum(examples[:number], ())
            prompt = render(form.package, template, messages, **slots | {"evidence": block})
            for written, told in turns:
                prompt = prompt.going_on(_lines(written.split("\n")), sanitize_line(told))
            return prompt

        most = 0
        if examples:
            key = (form.package, template, form.examples)
            if key not in self._affordable:
                self._affordable[key] = self._most_examples([rendered([], n) for n in range(len(examples) + 1)])
            most = self._affordable[key]
        for number in range(most, -1, -1):
            try:
                shown, prompt, notes = self._asking.fit(
                    lambda shown, number=number: rendered(shown, number),  # type: ignore[misc]
                    evidence,
                    form.most_tokens,
                )
            except ModelError:
                if not number:
                    raise
                continue
            if evidence and not shown and number:
                continue  # one piece of evidence is worth more than one example more
            break
        if number < len(examples):
            left = len(examples) - number
            notes = (*notes, f"{left} of {len(examples)} worked examples left out of the prompt: no room")
        return shown, prompt, notes

    def _most_examples(self, prompts: Sequence[Prompt]) -> int:
        """How many examples the budget holds; `prompts` have 0, 1, 2, … of them."""
        bare = self._asking.count_tokens(prompts[0])
        budget = self._asking.settings.limits.example_tokens
        number = 0
        while number + 1 < len(prompts) and self._asking.count_tokens(prompts[number + 1]) - bare <= budget:
            number += 1
        return number


def _lines(given: str | Sequence[str]) -> str:
    """A slot's text: nothing in it can begin a line of its own."""
    return sanitize_line(given) if isinstance(given, str) else "\n".join(map(sanitize_line, given))


def _written(form: Form, generation: Generation, shown: Sequence[Evidence], notes: tuple[str, ...]) -> WrittenForm:
    parsed = form.parse(generation.text)
    problem = parsed.problem
    if problem is not None and generation.finish == "length":
        problem = f"the output was cut: {problem}"
    fields = {label: FilledForm(read.text, _logprob(generation, read.place)) for label, read in parsed.fields.items()}
    return WrittenForm(MappingProxyType(fields), notes, problem, tuple(shown), generation)


def _logprob(generation: Generation, place: tuple[int, int] | None) -> float | None:
    if place is None or sum(len(token.text) for token in generation.tokens) != len(generation.text):
        return None
    mean = mean_logprob(generation, *place)
    return mean if math.isfinite(mean) else None
