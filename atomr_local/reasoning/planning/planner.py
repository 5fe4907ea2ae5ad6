"""The plan grammar for one question: everything that it allows is valid.

A plan is line 0, with the question as understood and the expected answer, and optionally steps. A step is a look-up
(`Relate("Hamlet (1948 film)", "director")`, `Filter([1], "condition")`), a typed operation over earlier steps, or a
question that is broken down into look-ups of its own. The last step may be a question over earlier steps. A name is a
run of words of the question, each as typed or with a capital first letter, so that the model cannot invent names. It
may be followed by a description in parentheses.

A grammar cannot count, but plans are small, so the numbering is unrolled. Nodes are numbered breadth first: the numbers
below a step begin after the last one of the top level, so the first of them determines the size of the top level.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import Literal

from atomr_local.errors import ModelError
from atomr_local.language.question import read_question
from atomr_local.language.question_kind import leaning
from atomr_local.models.gbnf import first_form, last_forms, literal
from atomr_local.models.protocol import Backbone, Generation, GenerationRequest, Grammar, Message, Prompt
from atomr_local.models.templates import Style, in_style, render
from atomr_local.reasoning.confidence import logprobs_between
from atomr_local.reasoning.planning.coverage import searched_name, with_searches
from atomr_local.reasoning.planning.examples import Example, ExampleLibrary
from atomr_local.reasoning.planning.plan_repairs import comparing_filters, repaired
from atomr_local.system.cancellation import Cancellation
from atomr_local.tree.calls import ANSWER, NO_QUESTION, AnswerType, Expects
from atomr_local.tree.compact import parse_compact, to_compact
from atomr_local.tree.errors import TreeError, unescape
from atomr_local.tree.nodes import REFERENCE, ROOT_ID, Node, Tree
from atomr_local.tree.operations import CONDITIONS, DIRECTIONS, PARTS, RELATIONS, Operation
from atomr_local.tree.validation import Limits, validate

# Steps of a plan that breaks none of them down, and of one that does; steps below one step.
STEPS = 10
TOP_LEVEL = 6
SUB_STEPS = 3
_QUESTION_CHARACTERS = 180
_TEXT_CHARACTERS = 80
_KIND_CHARACTERS = 40
_REFERENCES_IN_QUESTION = 6
_MOST_WORDS = 120
_NEVER_IN_NAMES = str.maketrans(dict.fromkeys('"\\[]'))
_ORDERED = (Operation.COMPARE, Operation.SORT)
_ON_SETS = (Operation.ALL, Operation.ANY, Operation.UNION, Operation.INTERSECT, Operation.EACH)
_ON_AMOUNTS = (Operation.SUM, Operation.AVERAGE)
_ON_PAIRS = (Operation.RATIO, Operation.EXCEPT)

_FIXED = rf"""
char ::= [^\[\]\r\n="\\\x00-\x1F\x7F]
begin ::= [^\[\]\r\n="\\\x00-\x20\x7F]
asked ::= [^\[\]\r\n=\\\x00-\x1F\x7F]
asking ::= [^\[\]\r\n=\\\x00-\x20\x7F]
piece ::= asked{{0,{_QUESTION_CHARACTERS}}}
words ::= char{{0,{_TEXT_CHARACTERS}}}
text ::= "\"" begin char{{0,{_TEXT_CHARACTERS}}} "\""
unit ::= "\"" [^\[\]\r\n="\\\x00-\x20\x7F] [^\[\]\r\n="\\\x00-\x1F\x7F]{{0,24}} "\""
number ::= "\"" [1-9] [0-9]? "\""
kind ::= " (" [^()\[\]\r\n="\\\x00-\x20\x7F] [^()\[\]\r\n="\\\x00-\x1F\x7F]{{0,{_KIND_CHARACTERS}}} ")"
word ::= [^\r\n=\\\x00-\x20\x7F] [^\r\n\\\x00-\x20\x7F]*
loose ::= "[" [1-9] [0-9]? "]"
loose-list ::= loose (", " loose){{0,5}}
"""


def plan_grammar(question: str) -> str:
    """The GBNF grammar (rule `root`) of the plans for the question as typed."""
    rules = _PlanGrammar(question).rules
    return "\n".join(f"{name} ::= {body}" for name, body in rules.items()) + _FIXED


class _PlanGrammar:
    """The rules for one question, by name. Methods that add a rule return its name.

    In their arguments, `known` is the number of top-level steps answered before, and `first` the next free number.
    """

    def __init__(self, question: str) -> None:
        self.rules: dict[str, str] = {}
        most = 2 * len(question.split()[:_MOST_WORDS]) + 10
        asking = " | ".join(literal(str(one)) for one in AnswerType if one not in NO_QUESTION)
        asking_nothing = " | ".join(literal(str(one)) for one in AnswerType if one in NO_QUESTION)
        self.rules["root"] = (
            f'"0. " word (" " word){{0,{most}}} " = Answer("'
            f' ((({asking}) ", several"? ")" ("\\n" step-1?)?) | (({asking_nothing}) ")" "\\n"?))'
        )
        listed = (("direction", DIRECTIONS), ("condition", CONDITIONS), ("relation", RELATIONS), ("part", PARTS))
        for name, words in listed:
            self.rules[name] = " | ".join(literal(f'"{word}"') for word in words)
        for place in range(1, STEPS + 1):
            self._flat_step(place)
        self._add("loose-operation", _operation("loose", "loose-list", 'loose (", " loose){1,5}', 'loose ", " loose'))
        self._names(question)

    def _add(self, name: str, body: str) -> str:
        self.rules.setdefault(name, body)
        return name

    def _flat_step(self, place: int) -> None:
        """The step at this place if no earlier step is broken down, and what may follow."""
        after = f'("\\n" step-{place + 1}?)?' if place < STEPS else '"\\n"?'
        choices = [f'" = " {self._call(place - 1)} {after}']
        for size in range(max(place, 2), TOP_LEVEL + 1):
            choices += self._broken_down(size, place, size + 1)
        self.rules[f"step-{place}"] = self._line(place, choices, may_end=place > 1)

    def _step(self, size: int, place: int, first: int) -> str:
        """The rule for top-level step `place` of `size` and what follows."""
        name = f"step-{place}-of-{size}-at-{first}"
        if name not in self.rules:
            self.rules[name] = ""
            after = f'"\\n" {self._step(size, place + 1, first)}' if place < size else '"\\n"?'
            choices = [f'" = " {self._call(place - 1)} {after}', *self._broken_down(size, place, first)]
            self.rules[name] = self._line(place, choices, may_end=place == size)
        return name

    def _line(self, place: int, choices: Sequence[str], *, may_end: bool) -> str:
        """A top-level step with what may follow its question; `may_end`: the question may be all."""
        asked = f'"{place}. " {self._question(place - 1)}'
        return f"{asked} ({' | '.join(choices)})" + (f' | {asked} "\\n"?' if may_end else "")

    def _broken_down(self, size: int, place: int, first: int) -> list[str]:
        """What may follow the question of step `place` of `size` if it is broken down."""
        if place == size > 2:  # the last step combines the earlier ones; breaking it down makes small models ramble
            return []
        choices = []
        lines = ""
        for count in range(1, SUB_STEPS + 1):
            number = first + count - 1
            lines += f' "\\n {number}. " {self._below(place - 1, first, count - 1)}'
            behind = f'"\\n" {self._step(size, place + 1, number + 1)}' if place < size else '"\\n"?'
            choices.append(f"{lines} {behind}")
        return choices

    def _below(self, known: int, first: int, beside: int) -> str:
        """A step below another: its question and its look-up; `beside`: number of earlier steps below the parent."""
        if not beside:
            return self._add(f"below-{known}", f'{self._question(known)} " = " {self._lookup(known)}')
        numbers = [*range(1, known + 1), *range(first, first + beside)]
        reference = self._add(f"reference-{known}-{first}-{beside}", _any_of(numbers))
        body = f'{_asked(reference)} " = " ({_lookups(reference)} | loose-operation)'
        return self._add(f"below-{known}-{first}-{beside}", body)

    def _reference(self, known: int) -> str:
        return self._add(f"reference-{known}", _any_of(range(1, known + 1)))

    def _question(self, known: int) -> str:
        return self._add(f"question-{known}", _asked(self._reference(known)) if known else "asking piece")

    def _lookup(self, known: int) -> str:
        return self._add(f"lookup-{known}", _lookups(self._reference(known) if known else ""))

    def _call(self, known: int) -> str:
        """The call of a top-level step."""
        name = f"call-{known}"
        if name not in self.rules:
            self.rules[name] = lookup = self._lookup(known)
            if known:
                several, pair = (self._list(known, 2), self._pair(known)) if known > 1 else ("", "")
                operation = _operation(self._reference(known), self._list(known, 1), several, pair)
                self.rules[name] = f"{lookup} | {operation}"
        return name

    def _list(self, known: int, least: int) -> str:
        """References to at least `least` (1 or 2) of the known steps, ascending, each once."""
        names = [f"list-{first}-of-{known}" for first in range(1, known + 1)]
        later = [" | ".join(names[first:]) for first in range(1, known + 1)]
        for first in range(known, 0, -1):
            more = later[first - 1]
            self._add(names[first - 1], f'"[{first}]"' + (f' (", " ({more}))?' if more else ""))
        choices = names if least == 1 else [f'"[{first}], " ({later[first - 1]})' for first in range(1, known)]
        return self._add(f"list-{known}-least-{least}", " | ".join(choices))

    def _pair(self, known: int) -> str:
        numbers = range(1, known + 1)
        choices = (f'"[{one}], " ({_any_of([other for other in numbers if other != one])})' for one in numbers)
        return self._add(f"pair-{known}", " | ".join(choices))

    def _names(self, question: str) -> None:
        """`name`: any run of the question's words, optionally followed by a description in parentheses."""
        starts: list[str] = []
        words = question.translate(_NEVER_IN_NAMES).split()[:_MOST_WORDS]
        for index, word in enumerate(words):
            more = f"name-{index + 1}" if index + 1 < len(words) else ""
            own = self._add(f"name-{index}", _word(word, more))
            if any(map(str.isalnum, word)):
                bare = first_form(word)
                starts.append(self._add(f"{own}-bare", _word(bare, more)) if bare != word else own)
        self._add("name", f"({' | '.join(starts)}) kind?" if starts else "begin char{0,60}")


def _any_of(numbers: Sequence[int]) -> str:
    return " | ".join(f'"[{number}]"' for number in numbers)


def _asked(reference: str) -> str:
    """A question that may refer to answers by the rule `reference`."""
    return f"(asking | {reference}) piece ({reference} piece){{0,{_REFERENCES_IN_QUESTION}}}"


def _lookups(reference: str) -> str:
    """Look-ups of names or of answers that the rule `reference` refers to; "": of names alone."""
    names = '"Search(\\"" name "\\"" (", " text)? ")"'
    if not reference:
        return f'"Relate(\\"" name "\\", " text ")" | {names}'
    # The relation may depend on an earlier step: Relate([1], "governor in [2]").
    text = f'"\\"" (begin | {reference}) words ({reference} words){{0,2}} "\\""'
    heads = f'"Relate(\\"" name "\\", " | ("Relate(" | "Filter(" | "Search(") {reference} ", "'
    return f'({heads}) {text} ")" | {names}'


def _operation(one: str, some: str, several: str, pair: str) -> str:
    """Every typed operation, given the rules for one reference, one or more, two or more, and two ("": impossible)."""

    def named(*operations: Operation) -> str:
        return "(" + " | ".join(literal(f"{operation}(") for operation in operations) + ")"

    choices = [
        f'{named(*_ORDERED)} {some} ", " direction ")"',
        f'{named(Operation.TOP)} {some} ", " direction ", " number ")"',
        f'{named(Operation.SELECT)} {some} ", " text ", " condition ")"',
        f'{named(Operation.IS)} {one} ", " text ", " relation ")"',
        f'{named(*_ON_AMOUNTS)} {some} ")"',
        f'{named(Operation.COUNT)} {one} ")"',
        f'{named(Operation.PART)} {one} ", " part ")"',
        f'{named(Operation.CONVERT)} {one} ", " unit ")"',
    ]
    if pair:
        choices += [
            f'{named(*_ON_SETS)} {several} ")"',
            f'{named(Operation.SELECT)} {several} ", " condition ")"',
            f'{named(Operation.IS)} {pair} ", " relation ")"',
            f'{named(*_ON_PAIRS)} {pair} ")"',
            f'{named(Operation.DIFFERENCE)} {pair} (", " unit)? ")"',
        ]
    return " | ".join(choices)


def _word(word: str, more: str) -> str:
    lasts = last_forms(word)
    closed = word.rstrip(',;:"”’»)]')
    if closed.endswith(("!", "...", "…")) or (more and closed.endswith(("?", "."))):  # as names may end
        lasts.append(closed)
    choices = [form for last in lasts for form in _as_written(last)]
    terminals = [literal(form) for form in dict.fromkeys(choices)]
    if more:
        going_on = " | ".join(literal(f"{form} ") for form in _as_written(word))
        terminals.append(f"({going_on}) {more}")
    return " | ".join(terminals)


def _as_written(word: str) -> tuple[str, ...]:
    """The word as typed, and with a capital first letter."""
    for place, character in enumerate(word):
        if character.isalnum():
            large = word[:place] + character.upper() + word[place + 1 :]
            return (word,) if large == word else (word, large)
    return (word,)


# How surely the model wrote each line of a plan.

_LINE = re.compile(r" *[0-9]{1,4}\. +(?P<question>\S.*?)(?: = [A-Za-z]\w*\(.*)?")


def line_logprobs(made: Generation, tree: Tree) -> dict[int, tuple[float, ...]]:
    """By node of the tree, the log-probabilities of the tokens of the line that the model wrote for it.

    Nodes are found by their words, for a corrected plan may have other numbers; one that the model did not write is
    missing. Empty if the model gives no log-probabilities.
    """
    if any(math.isnan(token.logprob) for token in made.tokens):
        return {}
    if "".join(token.text for token in made.tokens) != made.text:
        return {}
    written: dict[str, list[tuple[int, int]]] = {}
    at = 0
    for line in made.text.split("\n"):
        if match := _LINE.fullmatch(line.rstrip()):
            written.setdefault(_words(unescape(match["question"].strip())), []).append((at, at + len(line)))
        at += len(line) + 1
    found = {}
    for node in tree.nodes():
        if places := written.get(_words(node.question)):
            found[node.id] = logprobs_between(made, *places.pop(0))
    return found


def decompositions(tree: Tree, lines: Mapping[int, Iterable[float]]) -> dict[int, float]:
    """By node with children, the mean log-probability of the tokens of its children's lines, as far as they are known.

    This is ProbTree's measure of how surely a question was decomposed (section 3.1).
    """
    means = {}
    for node in tree.nodes():
        tokens = [token for child in node.children for token in lines.get(child.id, ())]
        if tokens:
            means[node.id] = sum(tokens) / len(tokens)
    return means


def _words(question: str) -> str:
    return REFERENCE.sub("[]", " ".join(question.split()))


# Question → Atomic Reasoning Tree (AtomR, section 3.2), for small local models.
#
# The model writes the compact notation under a grammar, after worked examples chosen for the question: first the
# question as it understands it and the expected answer, then the steps, or none if one direct look-up is enough. A plan
# that breaks a rule gets one repair attempt with the validator's message. After that the question falls back to a plan
# of one node, answered by direct RAG.

_PACKAGE = "atomr_local.reasoning.planning"
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


def _words_of(text: str) -> set[str]:
    return {word.casefold() for word in _WORD.findall(text)}


def unfounded_names(tree: Tree, question: str) -> list[str]:
    """Complaints about Search names that share no word with the question: the model invented them."""
    asked = _words_of(question)
    complaints = []
    for node in tree.nodes():
        words = _words_of(name := searched_name(node))
        if words and not words & asked:
            complaints.append(f"step {node.id} searches for {name!r}, which the question does not name")
    return complaints


def _misread(tree: Tree, question: str) -> list[str]:
    """Complaints about a plan for another question than this one."""
    asked, understood = _words_of(question), _words_of(tree.question)
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
                whole = with_searches(outline)  # unless it would be too large with them
                return PlanningResult(
                    outline if any(problem.fatal for problem in validate(whole, self.limits)) else whole,
                    "model",
                    attempt,
                    tuple(problems),
                    made.mean_probability,
                    outline,
                    line_logprobs(made, outline),
                )
            problems.append(complaint)
            asked = Message("user", f"That plan is not valid: {complaint}. Write the whole plan again, corrected.")
            prompt = Prompt(prompt.static, (*prompt.dynamic, Message("assistant", made.text.strip()), asked))
            if self.backbone.count_tokens(prompt) + _MAX_TOKENS > self.backbone.info.context_tokens:
                break
        return PlanningResult(fallback_tree(question), "fallback", len(problems), tuple(problems))

    def _read(self, text: str, question: str) -> tuple[Tree | None, str]:
        try:
            tree = parse_compact("\n".join(map(_without_idle_operator, text.split("\n"))), question)
            tree = repaired(tree, read_question(question))
        except TreeError as error:
            return None, str(error)
        complaints = [p.message for p in validate(tree, self.limits) if p.fatal] or _misread(tree, question)
        complaints += comparing_filters(tree)
        if complaints:
            return None, complaints[0]
        if tree.expects is not None and tree.expects.type in NO_QUESTION:
            if tree.expects.type is AnswerType.LANGUAGE and leaning(question) != "language":
                return fallback_tree(question), ""  # it is English after all: looked up as a whole
            return Tree(replace(tree.root, question=question)), ""  # nothing to understand: keep the user's words
        return tree, ""

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
