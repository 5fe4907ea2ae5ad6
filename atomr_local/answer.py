"""What a question came to, for programs and notebooks: a view of its trace."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Literal

from atomr_local.reasoning.confidence.words import NOT_FOUND, confidence_text
from atomr_local.reasoning.trace.schema import Basis, EvidenceTrace, Guess, NodeTrace, Status, Trace
from atomr_local.sanitize import sanitize
from atomr_local.sources.place_words import place_words

# Characters of a piece of evidence, and pieces; the trace has the rest.
_LONGEST, _MOST = 1200, 30


@dataclass(frozen=True, slots=True)
class Step:
    """A node of the tree with those below it.

    Attributes:
        node: question, answer, confidence, evidence ids and the rest, as the trace has them.
        children: in order.
    """

    node: NodeTrace
    children: tuple[Step, ...] = ()

    def walk(self) -> Iterator[Step]:
        """This step, then all below it, depth first."""
        yield self
        for child in self.children:
            yield from child.walk()


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer with what it rests on. All texts but the question come from the model and from sources: untrusted.

    Attributes:
        trace: all that happened; everything else is a view of it.
    """

    trace: Trace

    @property
    def question(self) -> str:
        return self.trace.question

    @property
    def text(self) -> str:
        """The answer as a sentence, or what is said where there is none."""
        return self.trace.answer

    @property
    def values(self) -> tuple[str, ...]:
        """The bare answers: names, numbers, dates; empty where there is none."""
        return tuple(self.trace.answers)

    @property
    def status(self) -> Status:
        """`answered`, `unknown`, `failed`, `cancelled` or `interrupted`."""
        return self.trace.status

    @property
    def confidence(self) -> float | None:
        """How likely the answer is right, 0 to 1, calibrated for the starter; None where there is none."""
        return self.trace.confidence

    @property
    def basis(self) -> Basis:
        """What it rests on: `evidence`, or what the `model` knows by itself."""
        return self.trace.basis

    @property
    def reason(self) -> str:
        """Why there is no answer."""
        return self.trace.reason

    @property
    def advice(self) -> tuple[str, ...]:
        """What could be done about that."""
        return tuple(self.trace.advice)

    @property
    def guess(self) -> Guess | None:
        """The best guess, where the answer is unknown."""
        return self.trace.guess

    @property
    def evidence(self) -> tuple[EvidenceTrace, ...]:
        """The pieces that a step of the tree cites, in the order in which they were found."""
        cited = {name for node in self.trace.nodes for name in node.cited}
        return tuple(item for item in self.trace.evidence if item.id in cited)

    @property
    def tree(self) -> Step | None:
        """The root of the tree; None where nothing was planned."""
        root = next((node for node in self.trace.nodes if node.parent is None), None)
        return self._step(root) if root is not None else None

    def export(self, form: Literal["markdown", "json"] = "markdown") -> str:
        """The answer as `atomr history export` writes it: Markdown, or the trace as JSON.

        Raises:
            ValueError: there is no such form.
        """
        from atomr_local.history.files.export import to_json, to_markdown, unkept

        if form == "markdown":
            return to_markdown([unkept(self.trace)])
        if form == "json":
            return to_json([unkept(self.trace)], several=False)
        raise ValueError(f"no form {form!r}: markdown or json")

    def __str__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        return _html(self)

    def _step(self, node: NodeTrace) -> Step:
        below = (other for other in self.trace.nodes if other.parent == node.id)
        return Step(node, tuple(self._step(other) for other in below))


def _html(answer: Answer) -> str:
    """A fragment without scripts, styles of its own or addresses to load from. Everything from outside is escaped."""
    numbers = {item.id: number for number, item in enumerate(answer.evidence[:_MOST], 1)}
    tree = answer.tree
    cited = tree.node.cited if tree is not None else ()
    parts = [f"<p><strong>{_text(answer.question)}</strong></p>", *_said(answer, _marks(cited, numbers))]
    if tree is not None:
        parts.append(f"<details open><summary>Tree</summary><ul>{_branch(tree, numbers)}</ul></details>")
    if numbers:
        pieces = "".join(_piece(item) for item in answer.evidence[:_MOST])
        left = len(answer.evidence) - len(numbers)
        more = f"<p>and {left} more</p>" if left else ""
        parts.append(f"<details><summary>Evidence ({len(answer.evidence)})</summary><ol>{pieces}</ol>{more}</details>")
    return f"<div>{''.join(parts)}</div>"


def _said(answer: Answer, marks: str) -> Iterator[str]:
    sure = confidence_text(answer.confidence)
    if answer.status != "unknown" or not answer.reason:
        yield f"<p>{_text(answer.text)}{marks}{f' <em>({escape(sure)})</em>' if sure else ''}</p>"
        return
    yield f"<p><strong>{escape(NOT_FOUND.capitalize())}.</strong> {_text(answer.reason)}</p>"
    if answer.advice:
        yield f"<ul>{''.join(f'<li>{_text(item)}</li>' for item in answer.advice)}</ul>"
    if answer.guess is not None and answer.guess.answers:
        sure = confidence_text(answer.guess.confidence)
        yield f"<p>A guess, not an answer: {_text(answer.guess.text)}{f' ({escape(sure)})' if sure else ''}{marks}</p>"


def _branch(step: Step, numbers: Mapping[str, int]) -> str:
    node = step.node
    found = "; ".join(node.answers) or node.answer
    said = f" → {_text(found)}" if found else ""
    below = "".join(_branch(child, numbers) for child in step.children)
    question = _text(node.resolved_question or node.question)
    return f"<li>{question}{said}{_marks(node.cited, numbers)}{f'<ul>{below}</ul>' if below else ''}</li>"


def _piece(item: EvidenceTrace) -> str:
    text = item.text if len(item.text) <= _LONGEST else f"{item.text[:_LONGEST]}…"
    where = ", ".join(filter(None, (item.source, place_words(item.locator))))
    return f"<li><strong>{_text(item.title)}</strong> ({_text(where)})<blockquote>{_text(text)}</blockquote></li>"


def _marks(cited: Sequence[str], numbers: Mapping[str, int]) -> str:
    return "".join(f" [{numbers[name]}]" for name in cited if name in numbers)


def _text(text: str) -> str:
    return escape(sanitize(text))
