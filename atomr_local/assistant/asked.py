"""One question: what it asks for, and what it came to."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Literal, TypedDict

from atomr_local.errors import InputError, PlanError
from atomr_local.reasoning.confidence import confidence_text
from atomr_local.reasoning.conversation import Conversation
from atomr_local.reasoning.revision import Revision
from atomr_local.reasoning.trace.schema import Basis, EvidenceTrace, Guess, NodeTrace, PlanOrigin, Status, Trace
from atomr_local.reasoning.trace.telling import GUESS, Part, ShownPassage, advice_texts, root_of, told_answer
from atomr_local.settings.schema import Settings, load_settings
from atomr_local.sources.document_places import place_words
from atomr_local.sources.privacy import check_private
from atomr_local.sources.protocol import SourceName, Within
from atomr_local.sources.registry import permitted
from atomr_local.sources.text_parts import parse_within
from atomr_local.strategies.options import StrategyOptions, options_of
from atomr_local.strategies.protocol import Strategy
from atomr_local.strategies.registry import (
    check_needs,
    check_only_source,
    check_plan,
    check_revision,
    check_sources,
    find_strategy,
)
from atomr_local.system.sanitize import sanitize, sanitize_line
from atomr_local.tree.compact import parse_compact
from atomr_local.tree.errors import TreeError
from atomr_local.tree.nodes import Tree
from atomr_local.tree.paper import load_json, parse_paper
from atomr_local.tree.validation import check

# What one question asks for: the question, plan, sources and strategy, checked before anything is loaded.

_LONGEST_QUESTION = 2000


class QuestionOptions(TypedDict, total=False):
    """What may be said beside a question; see :meth:`Assistant.ask`."""

    plan: Tree | None
    plan_origin: PlanOrigin
    strategy: str | None
    sources: Sequence[str] | None
    web: bool | None
    revision: Revision | None
    conversation: Conversation | None
    understood: str | None
    within: Sequence[str] | None


@dataclass(frozen=True, slots=True)
class Asked:
    """What one call of :meth:`Assistant.ask` asks for.

    Attributes:
        left_out: sources that it would use if it were not asked in a part of the text index.
    """

    question: str
    method: Strategy
    options: StrategyOptions
    plan: Tree | None
    origin: PlanOrigin
    sources: tuple[str, ...]
    web: bool
    revision: Revision | None
    conversation: Conversation | None
    understood: str | None
    within: Within | None = None
    left_out: tuple[str, ...] = ()

    @classmethod
    def checked(
        cls,
        question: str,
        settings: Settings,
        web_switch: bool,
        *,
        plan: Tree | None = None,
        plan_origin: PlanOrigin = "user",
        strategy: str | None = None,
        sources: Sequence[str] | None = None,
        web: bool | None = None,
        revision: Revision | None = None,
        conversation: Conversation | None = None,
        understood: str | None = None,
        within: Sequence[str] | None = None,
    ) -> Asked:
        """What is asked for; what is left out is as the settings and the switch for web search have it.

        Raises what :meth:`Assistant.ask` raises.
        """
        question = checked_question(question)
        web = web_switch if web is None else web
        understood = None if understood is None else checked_question(understood)
        method = find_strategy(strategy or settings.strategy)
        local = tuple(settings.sources if sources is None else load_settings(sources=tuple(sources)).sources)
        options = options_of(method, settings)
        part = _part(within, revision)
        left_out: tuple[str, ...] = ()
        if part is not None:
            if SourceName.TEXT not in local or not method.uses_sources:
                why = "the source text is off" if method.uses_sources else f"the strategy {method.name} uses no source"
                raise InputError(
                    f"a part of the text index cannot be asked: {why}", hint="Turn it on (--sources text)."
                )
            left_out = tuple(str(name) for name in permitted(local, web=web) if name != SourceName.TEXT)
            local, web = (SourceName.TEXT.value,), False
        if revision is not None:
            check_revision(method)
            plan = plan or revision.plan
            revision = revision.checked(plan, permitted(local, web=web))
        if plan is not None:
            check_plan(method)
            try:
                check(plan, settings.limits.of_plans())
            except TreeError as error:
                raise PlanError(str(error), hint="Correct the plan; `atomr tree check` says what is wrong.") from error
        check_needs(method, local, settings)
        check_sources(method, local, settings, web=web)
        check_only_source(method, options, permitted(local, web=web))
        earlier = [turn.settings for turn in conversation.turns] if conversation is not None else []
        earlier += [revision.base.settings] if revision is not None else []
        check_private(settings, local if method.uses_sources else (), web=web, earlier=earlier)
        return cls(
            question, method, options, plan, plan_origin, local, web, revision, conversation, understood, part, left_out
        )


def _part(given: Sequence[str] | None, revision: Revision | None) -> Within | None:
    """The part that is asked; a correction keeps to that of the answer, whose results it keeps.

    Raises:
        InputError: it cannot be read, or a correction names another one.
    """
    part = parse_within(given or ())
    if revision is None:
        return part
    kept = revision.base.settings.get("in")
    before = parse_within([str(one) for one in kept] if isinstance(kept, list) else ())
    if part is not None and part != before:
        raise InputError(
            "a correction is made in the part of the index that was asked",
            hint="Leave the part out, or ask the question again.",
        )
    return before


def given_plan(text: str, question: str) -> Tree:
    """The plan in a text: compact notation, the paper's JSON, a JSON line of a tree file, or a whole trace.

    Raises:
        TreeError: it is none of them.
    """
    data = load_json(text) if text.lstrip().startswith("{") else None
    if data is None:
        return parse_compact(text, question)
    if isinstance(data, dict) and isinstance(data.get("plan"), dict):  # a trace
        return parse_compact(str(data["plan"].get("compact", "")), question)
    return parse_paper(data.get("reasoning_tree", data) if isinstance(data, dict) else data, question)


def parse_plan(text: str, question: str) -> Tree:
    """The plan for the question that a text holds: compact notation, the published JSON, or the JSON of a trace.

    Raises:
        PlanError: it is none of them. Whether the plan keeps the rules and limits is checked when it is asked.
    """
    try:
        return given_plan(text, question)
    except TreeError as error:
        raise PlanError(str(error), hint="Give compact notation, the published JSON, or a trace.") from error


def checked_question(question: str) -> str:
    """The question on one line.

    Raises:
        InputError: it is empty or too long.
    """
    question = sanitize_line(question)
    if not question:
        raise InputError(
            "the question is empty", hint='Ask something, such as: atomr ask "What is the capital of Japan?"'
        )
    if len(question) > _LONGEST_QUESTION:
        raise InputError(
            f"the question has {len(question)} characters, more than {_LONGEST_QUESTION}", hint="Shorten it."
        )
    return question


# What a question came to, for programs and notebooks: a view of its trace.


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
        return tuple(advice_texts(self.trace.advised, self.trace.advice, "remote"))

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
        root = root_of(self.trace)
        return self._step(root) if root is not None else None

    def export(self, form: Literal["markdown", "json"] = "markdown") -> str:
        """The answer as `atomr history export` writes it: Markdown, or the trace as JSON.

        Raises:
            ValueError: there is no such form.
        """
        from atomr_local.assistant.history.export import to_json, to_markdown, unkept

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
    parts = [f"<p><strong>{_text(answer.question)}</strong></p>"]
    parts += (text for part in told_answer(answer.trace) for text in _blocks(part, _marks(cited, numbers)))
    if tree is not None:
        parts.append(f"<details open><summary>Tree</summary><ul>{_branch(tree, numbers)}</ul></details>")
    if numbers:
        pieces = "".join(_piece(item) for item in answer.evidence[:_MOST])
        left = len(answer.evidence) - len(numbers)
        more = f"<p>and {left} more</p>" if left else ""
        parts.append(f"<details><summary>Evidence ({len(answer.evidence)})</summary><ol>{pieces}</ol>{more}</details>")
    return f"<div>{''.join(parts)}</div>"


def _blocks(part: Part, marks: str) -> Iterator[str]:
    """A part of the answer; `marks`: of its citations."""
    sure = escape(confidence_text(part.confidence))
    end = f"{marks}{f' <em>({sure})</em>' if sure else ''}"
    match part.role:
        case "answer":
            yield f"<p>{_text(part.text)}{end}</p>"
        case "quotation":
            yield f"<blockquote>{_text(part.text).replace(chr(10), '<br>')}</blockquote>"
            yield f"<p>{_text(part.source)}{end}</p>"
        case "passages":
            yield f"<p><strong>{escape(part.text)}</strong></p>" if part.text else ""
            yield from map(_passage, part.passages)
        case "advice":
            yield f"<ul>{''.join(f'<li>{_text(item)}</li>' for item in part.items)}</ul>"
        case "guess":
            yield f"<p>{GUESS}: {_text(part.text)}{f' ({sure})' if sure else ''}{marks}</p>"
        case _:
            yield f"<p><strong>{part.lead}.</strong> {_text(part.text)}</p>"


def _passage(passage: ShownPassage) -> str:
    lines = "<br>".join(passage.marked(_text, "<mark>", "</mark>"))
    return f"<blockquote>{lines}<footer>{_text(passage.source)}</footer></blockquote>"


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
