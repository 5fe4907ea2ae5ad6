"""Question → Atomic Reasoning Tree (AtomR, section 3.2), for small local models.

The model writes the compact notation under a grammar, after worked examples chosen for the question: first the question
as it understands it and the expected answer, then the steps, or none if one direct look-up is enough. A plan that
breaks a rule gets one repair attempt with the validator's message. After that the question falls back to a plan of one
node, answered by direct RAG.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import Literal

from atomr_local.backbone.protocol import Backbone, Generation, GenerationRequest, Message, Prompt
from atomr_local.backbone.structured_output import Grammar
from atomr_local.backbone.templates import Style, in_style, render
from atomr_local.cancellation import Cancellation
from atomr_local.errors import ModelError
from atomr_local.planning.answer_form import in_asked_form
from atomr_local.planning.asked_property import with_asked_property
from atomr_local.planning.confirmed_property import with_confirmed_property
from atomr_local.planning.examples import Example, ExampleLibrary
from atomr_local.planning.grammar import plan_grammar
from atomr_local.planning.line_logprobs import line_logprobs
from atomr_local.planning.shorthand import with_searches
from atomr_local.planning.superlatives import comparing_filters, with_comparisons
from atomr_local.tree.answer_types import ANSWER, NO_QUESTION, AnswerType, Expects
from atomr_local.tree.compact import parse_compact, to_compact
from atomr_local.tree.errors import TreeError
from atomr_local.tree.nodes import ROOT_ID, Node, Operator, Tree
from atomr_local.tree.nodes import Literal as TextArgument
from atomr_local.tree.validation import Limits, validate

_PACKAGE = "atomr_local.planning"
_EXAMPLES = 6
_SIMILAR = 3
# The size limit of a menu of examples. The prefix cache keeps it for all questions of its kind, so it costs little more
# than its memory.
_MENU_TOKENS = 1200
_MAX_TOKENS = 400
_WORD = re.compile(r"\w+", re.UNICODE)
# A misspelt word shares at least this many first letters with the word.
_ALIKE = 4
_DRAWS_TOGETHER = re.compile(r" *[0-9]+\. Given answers of \[[0-9]+\]")
_REFERENCE = re.compile(r"\[[0-9]+\]")
_OPERATOR = re.compile(r" = (?:Search|Relate|Filter)\(")


@dataclass(frozen=True)
class PlanningResult:
    """A plan and how it was made.

    A tree of the root alone is answered by one direct look-up; the model chose that if `origin` is "model". A plan that
    the user has kept for the question has the origin "example".

    Attributes:
        attempts: number of model calls.
        problems: why attempts were rejected, in order.
        confidence: exp of the mean token log-probability; None for a fallback.
        outline: the plan as the model wrote it, corrected, before Search steps were put in; None if it wrote none.
        lines: by node of the outline, the log-probabilities of the tokens of its line, as far as they are known.
    """

    tree: Tree
    origin: Literal["model", "fallback", "example"]
    attempts: int
    problems: tuple[str, ...] = ()
    confidence: float | None = None
    outline: Tree | None = None
    lines: Mapping[int, tuple[float, ...]] = field(default_factory=dict)

    @property
    def compact(self) -> str:
        return to_compact(self.tree)


def fallback_tree(question: str) -> Tree:
    """The plan of one node: the question itself, answered by direct RAG."""
    return Tree(Node(ROOT_ID, question))


def _words(text: str) -> set[str]:
    return {word.casefold() for word in _WORD.findall(text)}


def unfounded_names(tree: Tree, question: str) -> list[str]:
    """Complaints about Search names that share no word with the question: the model invented them."""
    asked = _words(question)
    complaints = []
    for node in tree.nodes():
        if node.call is None or node.call.operator is not Operator.SEARCH:
            continue
        name = node.call.arguments[0]
        if isinstance(name, TextArgument) and not name.references:
            words = _words(name.text)
            if words and not words & asked:
                complaints.append(f"step {node.id} searches for {name.text!r}, which the question does not name")
    return complaints


def _misread(tree: Tree, question: str) -> list[str]:
    """Complaints about a plan for another question than this one."""
    asked, understood = _words(question), _words(tree.question)
    nothing = tree.expects is not None and tree.expects.type in NO_QUESTION
    alike = {word[:_ALIKE] for word in asked} & {word[:_ALIKE] for word in understood}
    if asked and understood and not nothing and not alike:
        return [f"line 0 is {tree.question!r}, which shares no word with the question"]
    return unfounded_names(tree, question)


def _turns(example: Example) -> tuple[Message, Message]:
    plan = example.plan
    if not plan.startswith(f"{ROOT_ID}. "):  # kept from before plans had a line 0
        plan = f"{to_compact(Tree(Node(ROOT_ID, example.question, expects=Expects(AnswerType.THING))))}\n{plan}"
    return Message("user", example.question), Message("assistant", plan)


def _without_idle_operator(line: str) -> str:
    """The line of a plan, without the operator if the step combines several answers.

    Such a step has nothing to look up: the operator is a mistake of the model.
    """
    # Each expression scans the line once, because a server may send very long lines.
    begin = _DRAWS_TOGETHER.match(line)
    other = _REFERENCE.search(line, begin.end()) if begin is not None and line.endswith(")") else None
    operator = _OPERATOR.search(line, other.end()) if other is not None else None
    return line[: operator.start()] if operator is not None else line


@dataclass
class Planner:
    """Makes plans with a model.

    Attributes:
        shots: the most worked examples to show; in lean style none, because the adapter has learnt what they show.
    """

    backbone: Backbone
    examples: ExampleLibrary
    limits: Limits
    _: KW_ONLY
    seed: int = 0
    shots: int = _EXAMPLES
    style: Style = "full"

    def plan(
        self,
        question: str,
        *,
        on_text: Callable[[str], None] | None = None,
        on_call: Callable[[Prompt, Generation], None] | None = None,
        cancellation: Cancellation | None = None,
    ) -> PlanningResult:
        """Decompose the question.

        Args:
            on_text: receives the plan's text as the model writes it.
            on_call: receives each finished model call.

        Raises:
            ModelError: the model failed.
            Cancelled: the question was cancelled.
        """
        if (own := self.examples.kept(question)) is not None:
            plan = parse_compact(own.plan, question)  # checked when it was read
            if not any(problem.fatal for problem in validate(plan, self.limits)):
                return PlanningResult(plan, "example", 0)
        problems: list[str] = []
        prompt = self._prompt(question)
        grammar = Grammar(plan_grammar(question))
        similar = [example.plan for example in self.examples.select(question, _SIMILAR)]
        similar.append(f"0. {question[:1].upper()}{question[1:]} = {ANSWER}(")
        for attempt in (1, 2):
            request = GenerationRequest(
                prompt,
                _MAX_TOKENS,
                grammar,
                seed=self.seed,
                lookup_texts=tuple(similar),
                on_text=on_text,
                cancellation=cancellation,
            )
            made = self.backbone.generate(request)
            if on_call is not None:
                on_call(prompt, made)
            if made.finish == "length":
                outline, complaint = None, "the plan is too long; use fewer steps"
            else:
                outline, complaint = self._read(made.text, question)
            if outline is not None:
                return PlanningResult(
                    self._with_searches(outline),
                    "model",
                    attempt,
                    tuple(problems),
                    made.mean_probability,
                    outline,
                    line_logprobs(made, outline),
                )
            problems.append(complaint)
            prompt = self._repair(prompt, made.text, complaint)
            if not self._fits(prompt):
                break
        return PlanningResult(fallback_tree(question), "fallback", len(problems), tuple(problems))

    def _read(self, text: str, question: str) -> tuple[Tree | None, str]:
        try:
            tree = parse_compact("\n".join(map(_without_idle_operator, text.split("\n"))), question)
            tree = in_asked_form(with_confirmed_property(with_comparisons(with_asked_property(tree))), question)
        except TreeError as error:
            return None, str(error)
        complaints = [p.message for p in validate(tree, self.limits) if p.fatal] or _misread(tree, question)
        complaints += comparing_filters(tree)
        if complaints:
            return None, complaints[0]
        if tree.expects is not None and tree.expects.type in NO_QUESTION:
            return Tree(replace(tree.root, question=question)), ""  # nothing to understand: keep the user's words
        return tree, ""

    def _with_searches(self, tree: Tree) -> Tree:
        """The tree with its Search steps, unless it would be too large with them."""
        whole = with_searches(tree)
        return tree if any(p.fatal for p in validate(whole, self.limits)) else whole

    def _prompt(self, question: str) -> Prompt:
        template = in_style("plan", self.style)
        bare = render(_PACKAGE, template, (), question=question)
        room = self.backbone.info.context_tokens - _MAX_TOKENS - self.backbone.count_tokens(bare)
        if room < 0:
            raise ModelError(
                "the question is too long for the model's context window",
                hint="Ask a shorter question or use a larger model.",
            )
        if not self.shots or self.style == "lean":
            return bare

        def measure(example: Example) -> int:
            return self.backbone.count_tokens(Prompt((), _turns(example)))

        menu = self.examples.menu(question, self.shots, budget=min(_MENU_TOKENS, room), measure=measure)
        room -= sum(map(measure, menu))
        nearest = [one for one in self.examples.select(question, 1, budget=room, measure=measure) if one not in menu]
        prompt = render(_PACKAGE, template, tuple(turn for one in menu for turn in _turns(one)), question=question)
        # The most similar example is not part of the prefix that similar questions share.
        return Prompt(prompt.static, (*(turn for one in nearest for turn in _turns(one)), *prompt.dynamic))

    def _fits(self, prompt: Prompt) -> bool:
        return self.backbone.count_tokens(prompt) + _MAX_TOKENS <= self.backbone.info.context_tokens

    @staticmethod
    def _repair(prompt: Prompt, written: str, complaint: str) -> Prompt:
        asked = Message("user", f"That plan is not valid: {complaint}. Write the whole plan again, corrected.")
        return Prompt(prompt.static, (*prompt.dynamic, Message("assistant", written.strip()), asked))
