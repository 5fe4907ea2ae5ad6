"""A line of a file of questions: the question with its answers, both facts and the gold plan, as JSON.

`atomr eval run` reads the same file as questions and as plans: "id", "question", "answers", "type", "evidences",
"gold_titles" and "plan" are those of its formats.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, cast, get_args

from atomr_lab.evaluation.datasets import DatasetRecord, id_of, read_records
from atomr_lab.evaluation.diagnosis import mentions
from atomr_lab.evaluation.metrics import same_value
from atomr_local.errors import InputError
from atomr_local.language.literals import parse_date
from atomr_local.language.names import split_qualifier
from atomr_local.page_facts.wordings import Wording, mention, wording_of
from atomr_local.reasoning.planning.coverage import search_for
from atomr_local.tree.compact import parse_compact, to_compact
from atomr_local.tree.errors import TreeError
from atomr_local.tree.nodes import Literal as TreeLiteral
from atomr_local.tree.nodes import Node, Operator, OperatorCall, References, Tree
from atomr_local.tree.operations import Operation, OperationCall
from atomr_local.tree.validation import Limits, validate

# A question of two hops: the facts that it is made of, and where they stand.

Source = Literal["text", "graph", "web"]
Bridge = Literal["text-graph", "graph-text", "graph-web", "text-web"]
Form = Literal["short", "yes/no", "count"]
SOURCES: tuple[Source, ...] = get_args(Source)
BRIDGES: tuple[Bridge, ...] = get_args(Bridge)
WEB_BRIDGES: tuple[Bridge, ...] = ("graph-web", "text-web")
FORMS: tuple[Form, ...] = get_args(Form)


@dataclass(frozen=True, slots=True)
class Hop:
    """One fact. All texts are untrusted.

    Attributes:
        head: the name of what the fact is about, as its source writes it.
        relation: the label of the relation.
        tails: what the source says; several only where they are counted.
        evidence: what it stands in: ids of passages, triples as N-Triples writes them, or addresses of web pages.
        said: the sentence or the triples, for people to read.
        span: where in the passage the tail stands; None outside text.
        answers: other names of the tail that are as right.
    """

    source: Source
    head: str
    relation: str
    tails: tuple[str, ...]
    evidence: tuple[str, ...]
    said: str
    span: tuple[int, int] | None = None
    answers: tuple[str, ...] = ()

    @property
    def tail(self) -> str:
        return self.tails[0]

    def to_dict(self) -> dict[str, Any]:
        """The hop as a line of questions holds it."""
        told: dict[str, Any] = {
            "source": self.source,
            "head": self.head,
            "relation": self.relation,
            "tails": list(self.tails),
            "evidence": list(self.evidence),
            "said": self.said,
        }
        return told | ({"span": list(self.span)} if self.span else {})


@dataclass(frozen=True, slots=True)
class Candidate:
    """Two facts that share an entity: the tail of the first is the head of the second.

    Attributes:
        names: every name of the bridge that its sources know.
        bridge_key: what is the same for the same bridge.
        counted: the number of the second hop's tails is asked for.
        doubt: why it is not clear which entity is meant; "" if it is.
    """

    first: Hop
    second: Hop
    names: tuple[str, ...]
    bridge_key: str
    counted: bool = False
    doubt: str = ""

    @property
    def bridge(self) -> Bridge:
        return cast(Bridge, f"{self.first.source}-{self.second.source}")

    @property
    def sides(self) -> tuple[Source, Source]:
        return self.first.source, self.second.source

    @property
    def answers(self) -> tuple[str, ...]:
        """The right answers, any of which will do."""
        if self.counted:
            return (str(len(self.second.tails)),)
        return tuple(dict.fromkeys((self.second.tail, *self.second.answers)))

    @property
    def id(self) -> str:
        """The same for the same facts, in every run."""
        parts = [self.bridge, str(self.counted)]
        for hop in (self.first, self.second):
            parts += [hop.head, hop.relation, *hop.tails]
        return "x" + hashlib.blake2b("\x1f".join(parts).encode("utf-8", "replace"), digest_size=6).hexdigest()


def hop_of(given: object) -> Hop:
    """The hop that :meth:`Hop.to_dict` wrote.

    Raises:
        ValueError: it is none, in words.
    """
    if not isinstance(given, dict):
        raise ValueError("a hop is not an object")
    texts = {name: given.get(name) for name in ("source", "head", "relation", "said")}
    for name, value in texts.items():
        if not isinstance(value, str):
            raise ValueError(f'"{name}" of a hop is {"missing" if value is None else "not a string"}')
    if texts["source"] not in SOURCES:
        raise ValueError(f'"source" of a hop is none of {", ".join(SOURCES)}')
    lists = {name: given.get(name) for name in ("tails", "evidence")}
    for name, value in lists.items():
        if not isinstance(value, list) or not value or not all(isinstance(item, str) for item in value):
            raise ValueError(f'"{name}" of a hop is not a list of strings with at least one')
    span = given.get("span")
    if span is not None and not (
        isinstance(span, list) and len(span) == 2 and all(type(place) is int and place >= 0 for place in span)
    ):
        raise ValueError('"span" of a hop is not a pair of places')
    return Hop(
        cast(Source, texts["source"]),
        str(texts["head"]),
        str(texts["relation"]),
        tuple(cast("list[str]", lists["tails"])),
        tuple(cast("list[str]", lists["evidence"])),
        str(texts["said"]),
        (span[0], span[1]) if span else None,
    )


# From a candidate to a question: its words, its answers and its gold plan.


# Numbers of the plan's nodes.
_BRIDGE, _ANSWER, _LAST, _SEARCH, _RELATE = 1, 2, 3, 4, 5


@dataclass(frozen=True, slots=True)
class Composed:
    """A question made of a candidate.

    Attributes:
        form: short, yes/no or count.
        value: the value that a yes/no question asks to be confirmed; "" for others.
    """

    candidate: Candidate
    form: Form
    question: str
    answers: tuple[str, ...]
    value: str = ""

    @property
    def plan(self) -> Tree:
        return gold_plan(self.candidate, self.question, self.value)

    @property
    def compact(self) -> str:
        return to_compact(self.plan)

    @property
    def evidences(self) -> list[list[str]]:
        """The chain as [head, relation, tail]; of what is counted, the first."""
        return [[hop.head, hop.relation, hop.tail] for hop in (self.candidate.first, self.candidate.second)]

    @property
    def gold_titles(self) -> list[str]:
        return [hop.head for hop in (self.candidate.first, self.candidate.second) if hop.source == "text"]


def composed(candidate: Candidate) -> Composed:
    """The question for the second fact's value, or for the number of its values."""
    first, second = _wordings(candidate)
    described = first.description.replace("{x}", mention(candidate.first.head))
    if candidate.counted:
        return Composed(candidate, "count", second.count.replace("{x}", described), candidate.answers)
    return Composed(candidate, "short", second.asks(described), candidate.answers)


def confirming(candidate: Candidate, value: str, *, right: bool) -> Composed | None:
    """The question whether `value` is the second fact's value; None where its relation has no wording for it."""
    first, second = _wordings(candidate)
    if not second.yes_no or candidate.counted:
        return None
    question = confirmation(second, first.description.replace("{x}", mention(candidate.first.head)), value)
    return Composed(candidate, "yes/no", question, ("yes" if right else "no",), value)


def confirmation(wording: Wording, x: str, value: str) -> str:
    """The question whether `value` is the relation's value."""
    date = parse_date(value)
    when = f"{'on' if date is not None and date.day is not None else 'in'} {value}"
    slots = {"{x}": x, "{value}": value, "{when}": when}
    return re.sub(r"\{(?:x|value|when)\}", lambda slot: slots[slot[0]], wording.yes_no)


def gold_plan(candidate: Candidate, question: str, value: str = "") -> Tree:
    """The plan that answers the question: the bridge from the name, the values from the bridge."""
    first, second = _wordings(candidate)
    asked, search = search_for(candidate.first.head)
    bridge = Node(
        _BRIDGE,
        first.asks(mention(candidate.first.head)),
        children=(
            Node(_SEARCH, asked, search),
            Node(_RELATE, first.asks(f"[{_SEARCH}]"), _relate(_SEARCH, first.relation)),
        ),
    )
    wanted = second.question or f"What is the {second.relation} of {{x}}?"
    steps = [bridge, Node(_ANSWER, wanted.replace("{x}", f"[{_BRIDGE}]"), _relate(_BRIDGE, second.relation))]
    answer = References((_ANSWER,))
    if candidate.counted:
        steps.append(Node(_LAST, f"How many are [{_ANSWER}]?", operation=OperationCall(Operation.COUNT, (answer,))))
    if value:
        same = OperationCall(Operation.IS, (answer, TreeLiteral(value)), ("same",))
        steps.append(Node(_LAST, f"Is [{_ANSWER}] the same as {value}?", operation=same))
    return Tree(Node(0, question, children=tuple(steps)))


def _relate(node_id: int, relation: str) -> OperatorCall:
    return OperatorCall(Operator.RELATE, (References((node_id,)), TreeLiteral(relation)))


def _wordings(candidate: Candidate) -> Sequence[Wording]:
    found = [wording_of(hop.relation) for hop in (candidate.first, candidate.second)]
    if None in found:
        raise ValueError("a candidate's relation has no wording")
    return [wording for wording in found if wording is not None]


@dataclass(frozen=True, slots=True)
class Line:
    """A question as a file holds it. All texts are untrusted.

    Attributes:
        form: short, yes/no or count.
        bridge: "text-graph" and so on.
        hops: both facts; none in a question whose revision they do not answer.
        plan: the gold plan in compact notation; "" where there are no hops.
        fields: the whole line.
    """

    id: str
    question: str
    answers: tuple[str, ...]
    form: str
    bridge: str
    hops: tuple[Hop, ...]
    plan: str
    fields: dict[str, Any]

    @property
    def relations(self) -> tuple[str, ...]:
        return tuple(hop.relation for hop in self.hops)

    @property
    def bridge_key(self) -> str:
        return str(self.fields.get("bridge_key") or next((hop.head for hop in self.hops[1:]), self.id))


def line_of(made: Composed, *, worded: str = "", rephrased: bool = False) -> dict[str, Any]:
    """The line of a question. `worded`: the question in other words than our tables'."""
    candidate = made.candidate
    return {
        "id": candidate.id,
        "question": worded or made.question,
        "answers": list(made.answers),
        "type": made.form,
        "kind": candidate.bridge,
        "hops": [candidate.first.to_dict(), candidate.second.to_dict()],
        "bridge": list(candidate.names),
        "bridge_key": candidate.bridge_key,
        "evidences": made.evidences,
        "gold_titles": made.gold_titles,
        "plan": made.compact,
    } | ({"rephrased": True} if rephrased else {})


def read_lines(path: Path) -> Iterator[Line]:
    """The questions of a file.

    Raises (while iterating):
        InputError: naming the file and line of what is wrong, a repeated id included.
    """
    seen: set[str] = set()
    for record in read_records(path):
        line = line_in(record)
        if line.id in seen:
            raise record.error(f"the id {line.id!r} occurs twice", hint="Give each question an id of its own.")
        seen.add(line.id)
        yield line


def questions_of(path: Path) -> list[Line]:
    """All questions of a file.

    Raises:
        InputError: as :func:`read_lines`, or there is none.
    """
    lines = list(read_lines(path))
    if not lines:
        raise InputError(f"{path} contains no questions", hint="Make some with `atomr questions make`.")
    return lines


def line_in(record: DatasetRecord) -> Line:
    """The question that a line of a file describes.

    Raises:
        InputError: something is missing or is not what it should be.
    """
    bare = "without_plan" in record.fields and record.fields.get("plan") is None
    hops = () if bare else _hops(record)
    form, bridge = record.text("type"), record.text("kind")
    for name, value, known in (("type", form, FORMS), ("kind", bridge, BRIDGES)):
        if value not in known:
            raise record.error(f'"{name}" is none of {", ".join(known)}')
    question = record.text("question")
    plan = "" if bare else _plan(record, question)
    names = record.fields.get("bridge")
    if names is not None and not (isinstance(names, list) and all(isinstance(name, str) for name in names)):
        raise record.error('"bridge" is not a list of strings')
    answers = record.texts("answers")
    return Line(id_of(record), question, answers, form, bridge, hops, plan, record.fields)


def _hops(record: DatasetRecord) -> tuple[Hop, ...]:
    hops = record.fields.get("hops")
    if not isinstance(hops, list) or len(hops) != 2:
        raise record.error(
            f'"hops" is {"missing" if hops is None else "not a list of two"}',
            hint="Name a file that `atomr questions make` has written.",
        )
    try:
        return tuple(map(hop_of, hops))
    except ValueError as error:
        raise record.error(str(error)) from error


def _plan(record: DatasetRecord, question: str) -> str:
    plan = record.text("plan")
    try:
        problems = validate(parse_compact(plan, question), Limits())
    except TreeError as error:
        raise record.error(f"the plan is not valid: {error}") from error
    if problems:
        raise record.error(f"the plan is not valid: {problems[0].message}")
    return plan


# What is left of a question that a person has revised: its gold plan and facts only where they still answer it.

_POSSESSIVE = re.compile(r"['’]s?(?=\s)")
# As `atomr eval run` reads a question without plan and chain.
_WITHOUT: dict[str, Any] = {"plan": None, "hops": None, "evidences": [], "gold_titles": []}


def revised_fields(line: Line, question: str, answers: Sequence[str]) -> dict[str, Any]:
    """The line in its new words: "revised_from" is the question as it was. Where the gold plan does not hold any more,
    the line has neither plan nor facts, and "without_plan" says why."""
    fields = {**line.fields, "question": question, "answers": list(answers), "revised_from": line.question}
    if reason := outdated(line, question, answers):
        fields |= _WITHOUT | {"without_plan": reason}
    return fields


def outdated(line: Line, question: str, answers: Sequence[str]) -> str:
    """Why the gold plan of a question does not answer its revision; "" if it does, as far as words tell, or if there is
    none.

    It does if its answer is still one of the answers, in any form, and the question still names what the plan sets out
    from and the value that it compares.
    """
    if not line.plan:
        return ""
    if not any(same_value(answer, line.answers[0]) for answer in answers):
        return f"the answer was {line.answers[0]}"
    wordings = question, _POSSESSIVE.sub("", question)
    missing = next((name for name in _named(line) if not any(mentions(text, name) for text in wordings)), "")
    return f"the question does not name {missing}" if missing else ""


def _named(line: Line) -> Iterator[str]:
    yield split_qualifier(line.hops[0].head)[0]
    for node in parse_compact(line.plan, line.question).nodes():
        call = node.operation
        if call is not None and call.operation is Operation.IS:
            yield from (argument.text for argument in call.operands if isinstance(argument, TreeLiteral))
