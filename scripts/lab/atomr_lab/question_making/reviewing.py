"""Decisions of a person about made questions: kept beside the file, one line each, in the order they were taken.

questions.reviews.jsonl    every decision; the last one about a question counts
questions.accepted.jsonl   the questions that were accepted, in their present words
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from io import FileIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

from atomr_lab.evaluation.datasets import read_records
from atomr_lab.evaluation.report import plan_structure
from atomr_lab.evaluation.runs import append_line, cut_torn_line
from atomr_lab.question_making.hops import Composed, Hop, Line, revised_fields
from atomr_lab.question_making.knowledge import Knowledge, Nearness, Pages, Property, answer_leak, leaks
from atomr_lab.question_making.making import ABOUT_FILE, SCHEMA, Wanted
from atomr_local.errors import AtomrError, Cancelled, InputError, KnowledgeIndexError, SourceError
from atomr_local.indexing.starter import ensure_index
from atomr_local.indexing.store import STARTER, IndexKind, index_names, index_path, read_manifest, resolve
from atomr_local.language.literals import parse_date
from atomr_local.language.names import name_key, split_qualifier
from atomr_local.page_facts.wordings import known_property
from atomr_local.reasoning.asking.forms import Form
from atomr_local.reasoning.asking.forms import Line as FormLine
from atomr_local.sources.graph.knowledge_graph import KnowledgeGraph, bound
from atomr_local.sources.protocol import Evidence
from atomr_local.system.files import locked, read_text, write_output
from atomr_local.system.sanitize import sanitize_line
from atomr_local.tree.nodes import Literal as TreeLiteral
from atomr_local.tree.nodes import Operator, Tree

if TYPE_CHECKING:
    from atomr_local.reasoning.ranking import Ranking
    from atomr_local.settings.schema import Settings
    from atomr_local.strategies.protocol import QuestionContext


Verdict = Literal["accepted", "revised", "rejected"]
VERDICTS: tuple[Verdict, ...] = get_args(Verdict)
# Grounds that reviewers of such questions give (DivKnowQA); any other words will do.
GROUNDS = ("circular", "bridge leaks", "answer leaks", "meaning changed", "not true", "badly worded")


@dataclass(frozen=True, slots=True)
class Decision:
    """What a person decided. `question` and `answers`: as they are to be, for "revised"."""

    id: str
    verdict: Verdict
    reason: str = ""
    question: str = ""
    answers: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        told: dict[str, Any] = {"id": self.id, "verdict": self.verdict}
        if self.reason:
            told["reason"] = self.reason
        if self.verdict == "revised":
            told |= {"question": self.question, "answers": list(self.answers)}
        return told


@dataclass
class Review:
    """A review under way.

    Attributes:
        lines: the questions.
        decisions: by id, the last one about each.
    """

    path: Path
    lines: Sequence[Line]
    stream: FileIO
    decisions: dict[str, Decision] = field(default_factory=dict)

    def decide(self, decision: Decision) -> None:
        """Keep a decision; it is on the disk when this returns."""
        append_line(self.stream, decision.to_dict())
        self.decisions[decision.id] = decision

    @property
    def place(self) -> int:
        """Where to go on: the first question without a decision; the number of questions if there is none."""
        return next((at for at, line in enumerate(self.lines) if line.id not in self.decisions), len(self.lines))

    def counts(self) -> dict[str, int]:
        ids = {line.id for line in self.lines}
        made = [decision.verdict for one, decision in self.decisions.items() if one in ids]
        return {verdict: made.count(verdict) for verdict in VERDICTS} | {"open": len(ids) - len(made)}

    def accepted(self) -> list[dict[str, Any]]:
        """The lines that were accepted, those that were revised in their new words; see :func:`revised_fields`."""
        found = []
        for line in self.lines:
            decision = self.decisions.get(line.id)
            if decision is not None and decision.verdict == "accepted":
                found.append(dict(line.fields))
            elif decision is not None and decision.verdict == "revised":
                found.append(revised_fields(line, decision.question, decision.answers))
        return found

    def write_accepted(self) -> Path:
        """Write the accepted questions beside the file.

        Raises:
            InputError: it cannot be written.
        """
        file = accepted_file(self.path)
        write_output(file, "".join(json.dumps(line, ensure_ascii=True) + "\n" for line in self.accepted()))
        return file


def reviews_file(path: Path) -> Path:
    return path.with_name(f"{path.name.removesuffix('.jsonl')}.reviews.jsonl")


def accepted_file(path: Path) -> Path:
    return path.with_name(f"{path.name.removesuffix('.jsonl')}.accepted.jsonl")


@contextmanager
def reviewing(path: Path, lines: Sequence[Line]) -> Iterator[Review]:
    """The review of a file's questions, going on where it was left.

    Raises:
        InputError: the decisions cannot be read or written, or another review of the file is open.
    """
    file = reviews_file(path)
    try:
        if file.exists() and not file.is_file():
            raise InputError(f"{file} is not a regular file", hint="Remove it.")
        with locked(file.with_name(f".{file.name}.lock"), path, "another review"):
            cut_torn_line(file)
            with file.open("ab", buffering=0) as stream:
                yield Review(path, lines, stream, _decisions(file))
    except OSError as error:
        raise InputError(f"{error.filename or file} cannot be written: {error.strerror or error}") from error


def revision_problem(line: Line, question: str, answers: Sequence[str]) -> str:
    """Why a revised question is no good; "" if nothing speaks against it."""
    if not question.strip() or not any(answer.strip() for answer in answers):
        return "a question and an answer are needed"
    names = line.fields.get("bridge")
    if leaked := leaks(question, map(str, names) if isinstance(names, list) else [hop.head for hop in line.hops[1:]]):
        return f"the question names the bridge, {leaked}"
    if line.form == "short" and (leaked := answer_leak(question, answers)):
        return f"the question says its answer, {leaked}"
    return ""


def _decisions(file: Path) -> dict[str, Decision]:
    found = {}
    for record in read_records(file):
        verdict = record.text("verdict")
        if verdict not in VERDICTS:
            raise record.error(f'"verdict" is none of {", ".join(VERDICTS)}')
        revised = verdict == "revised"
        found[record.text("id")] = Decision(
            record.text("id"),
            verdict,
            record.text("reason", empty=True) if "reason" in record.fields else "",
            record.text("question") if revised else "",
            record.texts("answers") if revised else (),
        )
    return found


# Other words for a question, by a model that can: kept only if it still asks the same.

_QUESTION = "Rephrased"
_TOKENS = 80
_LONGEST = 300
_FORM = Form("atomr_lab.question_making", "rephrase", (FormLine(_QUESTION, _TOKENS),))


class Rephrasing:
    """Has the model rephrase questions, one after the other.

    Args:
        tools: gives the tools for one question.
        read_plan: plans a question.
    """

    def __init__(self, tools: Callable[[str], QuestionContext], read_plan: Callable[[str], Tree]) -> None:
        self._tools, self._read_plan = tools, read_plan

    def __call__(self, made: Composed) -> str:
        """Other words for the question; "" if none pass the checks."""
        try:
            [written] = self._tools(made.question).writer.write(None, "rephrase", _FORM, question=made.question)
            text = sanitize_line(written[_QUESTION])
            return text if problem_with(text, made) == "" and same_hops(self._read_plan(text), made) else ""
        except Cancelled:
            raise
        except AtomrError:  # the question in our words will do
            return ""


def problem_with(text: str, made: Composed) -> str:
    """Why a text is no other wording of the question; "" if it is one, as far as its words tell."""
    if not text.endswith("?") or len(text) > _LONGEST or text.count("?") > 1:
        return "it is not one question"
    if name_key(text) == name_key(made.question):
        return "it is the same question"
    asked = f" {name_key(text)} "
    for name in (made.candidate.first.head, made.value):
        if name and f" {name_key(split_qualifier(name)[0])} " not in asked:
            return f"it does not name {name}"
    if leaked := leaks(text, made.candidate.names):
        return f"it names {leaked}"
    if made.form != "yes/no" and (leaked := answer_leak(text, made.answers)):
        return f"it says {leaked}"
    return ""


def same_hops(tree: Tree, made: Composed) -> bool:
    """Whether a plan has the operators of the gold plan, and its relations in their order."""
    gold = made.plan
    if plan_structure(tree).digest != plan_structure(gold).digest:
        return False
    own, wanted = relations(tree), relations(gold)
    return len(own) == len(wanted) and all(_alike(one, other) for one, other in zip(own, wanted, strict=True))


def relations(tree: Tree) -> list[str]:
    """What the plan's Relates ask for, in the order of the chain: a step comes after what it refers to."""
    calls = {node.id: node.call for node in tree.nodes() if node.call is not None}
    related = {i: call for i, call in calls.items() if call.operator is Operator.RELATE}
    ordered = sorted(related, key=lambda i: (_depth(tree, i), i))
    return [
        " ".join(argument.text for argument in related[i].arguments[1:] if isinstance(argument, TreeLiteral))
        for i in ordered
    ]


def _depth(tree: Tree, node_id: int, seen: frozenset[int] = frozenset()) -> int:
    """How many steps lie before a node, along its references and what its references consist of."""
    if node_id in seen:
        return 0
    node = tree.node(node_id)
    before = [*(node.call.references if node.call is not None else ()), *(child.id for child in node.children)]
    return 1 + max((_depth(tree, one, seen | {node_id}) for one in before), default=0)


def _alike(one: str, other: str) -> bool:
    known = known_property(other)
    wordings = {name_key(other), *(map(name_key, known.names) if known is not None else ())}
    return name_key(one) in wordings


# Which questions the indexes still support: whether each fact stands where its line says.


@dataclass(frozen=True, slots=True)
class Unsupported:
    """A question whose facts are no longer as they were. Untrusted."""

    line: Line
    problems: tuple[str, ...]


def unsupported(lines: Iterable[Line], knowledge: Knowledge) -> Iterator[Unsupported]:
    """The questions that the indexes no longer support, each with what is missing.

    What the web said is not looked for again.
    """
    for line in lines:
        problems = tuple(problem for hop in line.hops for problem in _problems(hop, knowledge))
        if problems:
            yield Unsupported(line, problems)


def _problems(hop: Hop, knowledge: Knowledge) -> Iterator[str]:
    if hop.source == "text":
        yield from _in_passage(hop, knowledge)
    elif hop.source == "graph":
        yield from _in_graph(hop, knowledge)


def _in_passage(hop: Hop, knowledge: Knowledge) -> Iterator[str]:
    for identifier in hop.evidence:
        passage = knowledge.passages.with_ids([identifier]).get(identifier)
        if passage is None:
            yield f"the passage {identifier} is gone"
        elif name_key(passage.title) != name_key(hop.head):
            yield f"the passage {identifier} is of the page {passage.title!r}, not {hop.head!r}"
        elif not any(
            fact.relation == hop.relation and fact.value == hop.tail for fact in knowledge.facts(passage)
        ) and not (hop.span and passage.text[hop.span[0] : hop.span[1]] == hop.tail):
            yield f"the passage {identifier} no longer says {hop.relation}: {hop.tail}"


def _in_graph(hop: Hop, knowledge: Knowledge) -> Iterator[str]:
    """The entity of the triples must have these values of the relation, and no others."""
    subject = hop.evidence[0].partition("> ")[0].removeprefix("<")
    found = _properties(subject, knowledge)
    now = next((prop for prop in found if prop.label == hop.relation), None)
    if now is None:
        yield f"the graph has no {hop.relation} of {hop.head}"
        return
    told, known = ({_key(value): value for value in values} for values in (hop.tails, now.values))
    if gone := told.keys() - known.keys():
        yield f"the graph no longer says {hop.relation} of {hop.head}: {told[min(gone)]}"
    elif more := known.keys() - told.keys():
        yield f"the graph says another {hop.relation} of {hop.head}: {known[min(more)]}"


def _key(value: str) -> str:
    """Equal for equal values, a date in any form."""
    date = parse_date(value, bare_year=False)
    return str(date) if date is not None else name_key(value)


def _properties(subject: str, knowledge: Knowledge) -> list[Property]:
    try:
        bound(subject)
    except SourceError:  # the file is not ours
        return []
    return knowledge.properties(subject)


# Opens the indexes and describes what a run is made of.

_ABOUT_BYTES = 16 << 20


def open_knowledge(text_index: str, graph_index: str) -> Knowledge:
    """The indexes with these names; "" stands for the only one that there is.

    Raises:
        KnowledgeIndexError: there is no such whole index, or more than one to choose from.
    """
    name = resolve("text", text_index)
    if len(index_names(name)) > 1:
        raise KnowledgeIndexError(
            f"{name!r} names several text indexes", hint="Questions are made from one: --text-index NAME."
        )
    text = ensure_index("text", name)
    graph = ensure_index("graph", resolve("graph", graph_index))
    return Knowledge(Pages(text), KnowledgeGraph(graph))


def description(settings: Settings, wanted: Wanted, *, rephrase: bool) -> dict[str, Any]:
    """What decides the questions, for make.json. How many are wanted is left out, so that a run can be extended."""
    return {
        "schema": SCHEMA,
        "seed": wanted.seed,
        "bridges": list(wanted.bridges),
        "forms": list(wanted.forms),
        "pages": wanted.pages,
        "per_relation": wanted.per_relation,
        "rephrase": rephrase,
        "indexes": {
            "text": _described("text", resolve("text", settings.text_index)),
            "graph": _described("graph", resolve("graph", settings.graph_index)),
        },
        "model": settings.endpoint.model if settings.endpoint.url else settings.model,
        "adapter": settings.adapter,
    }


def _described(kind: IndexKind, name: str) -> dict[str, Any]:
    if name == STARTER:  # built on first use, perhaps by this very run
        return {"name": name}
    manifest = read_manifest(index_path(kind, name))
    return {"name": name, "counts": manifest.counts, "inputs": [item.sha256 for item in manifest.inputs]}


def index_names_beside(path: Path) -> dict[str, str]:
    """Names of the indexes that a file's questions were made from, by kind, where its directory still says so."""
    try:
        indexes = json.loads(read_text(path.with_name(ABOUT_FILE), _ABOUT_BYTES))["indexes"]
        return {kind: name for kind in ("text", "graph") if isinstance(name := indexes[kind]["name"], str)}
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return {}


def nearness_by(ranking: Ranking) -> Nearness:
    """Names ordered by the embedder of the text index."""
    from atomr_local.system.cancellation import Cancellation

    def nearest(name: str, others: Sequence[str]) -> list[str]:
        items = [Evidence("text", other, other, 0.0, name, {}) for other in others]
        ordered = ranking.ranked(name, items, len(items), Cancellation())
        return [item.text for item in ordered] or list(others)

    return nearest
