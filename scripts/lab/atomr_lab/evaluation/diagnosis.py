"""Diagnosis of a wrong answer: the first step of its trace that departs from the gold chain.

The rules are deterministic and read only the question's gold fields and the trace. For a reasoning tree, hop after
hop of the gold chain in the order in which the tree ran them:

    form        the answer has the gold value in another form (a date written otherwise): wrong by the scorer only
    error       the question failed, with a message
    planning    the plan is the fallback, or some hop has no operator leaf of its own that names the hop's relation
                (a Relate: in its arguments after the head) and leads back, through its references, to the entity
                in the question that the chain starts from
    linking     the hop's node gave another value, and the Search that it refers to gave another entity than the head
    retrieval   … and the node's evidence holds neither the fact nor the gold page about the head
    reading     … although it was there
    reasoning   every hop was answered rightly, the steps that combine them were not
    declined    the guess is right, and was not given as the answer
    answered    the question has no answer, and one was given

A hop counts as answered when its leaf, or a parent that the leaf answers to, gives the gold tail. A tree that grew, and
a plan without operators, are judged by the rules of the steps (below): `step`, `stopped`, `retrieval`, `reading`,
`final`. Where a data set has no chain, and for strategies without a tree: `retrieval` when the evidence lacks the gold
answer (for yes, no and choices among things named in the question: lacks a gold page), else `reading`. A strategy that
retrieved nothing can only be wrong from the model's own knowledge: `model`.

Relation wordings are those of the program's own property vocabulary; a paraphrase outside it counts as planning.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property
from typing import Any

from atomr_lab.evaluation.datasets import GoldFact, Question
from atomr_lab.evaluation.metrics import exact_match, same_value
from atomr_local.language.literals import parse_date
from atomr_local.language.names import answer_key, base_key, name_key
from atomr_local.language.properties import property_table
from atomr_local.language.words import number_words
from atomr_local.tree.nodes import ROOT_ID

# A trace as the rules of diagnosis read it.

_OPERATORS = ("search", "relate", "filter")


class SeenTrace:
    """A trace's nodes, looked up by id."""

    def __init__(self, trace: Mapping[str, Any]) -> None:
        self.trace = trace
        self.nodes: dict[int, Mapping[str, Any]] = {node["id"]: node for node in trace["nodes"]}
        self._evidence: dict[str, Mapping[str, Any]] = {piece["id"]: piece for piece in trace["evidence"]}

    @property
    def is_tree(self) -> bool:
        # The single-call strategies record a root alone, which they too call a fallback plan.
        return self.trace["strategy"] == "atomr" or bool(self.operator_leaves)

    @property
    def retrieved(self) -> bool:
        return any(self.trace["totals"]["retrievals"].values())

    @cached_property
    def children(self) -> dict[int, list[int]]:
        below: dict[int, list[int]] = {}
        for node in self.nodes.values():
            if node["parent"] is not None:
                below.setdefault(node["parent"], []).append(node["id"])
        return below

    @cached_property
    def execution_order(self) -> list[int]:
        """Ids, children before parents and earlier siblings first, as `Tree.bottom_up` has them."""

        def walk(node_id: int) -> Iterator[int]:
            for child in self.children.get(node_id, ()):
                yield from walk(child)
            yield node_id

        return list(walk(ROOT_ID)) if ROOT_ID in self.nodes else sorted(self.nodes)

    @cached_property
    def operator_leaves(self) -> list[int]:
        return [node_id for node_id in self.execution_order if self.nodes[node_id]["kind"] in _OPERATORS]

    def own_text(self, node_id: int) -> str:
        """What the plan says at this node. A root's question is left out: it names everything."""
        node = self.nodes[node_id]
        arguments = [argument for argument in node["arguments"] if isinstance(argument, str)]
        return name_key(" | ".join(arguments if node_id == ROOT_ID else [node["question"], *arguments]))

    def relation_text(self, node_id: int) -> str:
        """Where the plan names the relation: a Relate's arguments after the head, elsewhere anywhere."""
        node = self.nodes[node_id]
        if node["kind"] != "relate":
            return self.own_text(node_id)
        return name_key(" | ".join(argument for argument in node["arguments"][1:] if isinstance(argument, str)))

    def sources_of(self, node_id: int) -> list[int]:
        """The node, and all that it rests on: its references, their children, and so on."""
        found: list[int] = []
        waiting = [node_id]
        while waiting:
            current = waiting.pop(0)
            if current in found or current not in self.nodes:
                continue
            found.append(current)
            waiting.extend(self.nodes[current]["refs"])
            if current != node_id:
                waiting.extend(self.children.get(current, ()))
        return found

    def and_parents(self, node_id: int) -> list[int]:
        """The node and its ancestors below the root."""
        line = [node_id]
        while (parent := self.nodes[line[-1]]["parent"]) not in (None, ROOT_ID):
            line.append(parent)
        return line

    def evidence(self, node_ids: Sequence[int] | None = None) -> list[Mapping[str, Any]]:
        """The evidence of these nodes, or all of it."""
        if node_ids is None:
            return list(self._evidence.values())
        named = dict.fromkeys(name for node_id in node_ids for name in self.nodes[node_id]["evidence"])
        return [self._evidence[name] for name in named if name in self._evidence]


# The stages at which a wrong answer can go wrong, and what is said of one.


class Stage(StrEnum):
    """Where a wrong answer went wrong; :mod:`.diagnosis` has the rules."""

    PLANNING = "planning"
    STEP = "step"
    STOPPED = "stopped"
    LINKING = "linking"
    RETRIEVAL = "retrieval"
    READING = "reading"
    REASONING = "reasoning"
    FINAL = "final"
    FORM = "form"
    MODEL = "model"
    DECLINED = "declined"
    ANSWERED = "answered"
    ERROR = "error"


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """`node` is the trace's node at fault, where one is; `reason` says in one line what was seen."""

    stage: Stage
    reason: str
    node: int | None = None

    def to_dict(self) -> dict[str, Any]:
        return {"stage": str(self.stage), "node": self.node, "reason": self.reason}


def count_stages(diagnoses: Sequence[Diagnosis]) -> dict[str, int]:
    """How many wrong answers went wrong at each stage, every stage named."""
    counted = Counter(diagnosis.stage for diagnosis in diagnoses)
    return {str(stage): counted[stage] for stage in Stage}


# The gold reasoning chain of a question, compared with a trace.
#
# Data sets write one entity in several ways: in the question ("The Charm Of La Boheme"), as the page title, and as the
# head of a fact ("The Charm of La Bohème (German: Zauber der Boheme"). A hop here carries all of them.


# The longest of a month's names is the one that is no abbreviation.
_MONTHS = {number: name for name, number in sorted(number_words().months.items(), key=lambda named: len(named[0]))}


@dataclass(frozen=True)
class Hop:
    """One gold fact.

    Attributes:
        heads: every way in which the head is written.
        pages: titles of the gold pages about the head.
        relation: wordings of the relation, as keys.
        tails: every way in which the tail is written.
        start: keys of the entity in the question that the chain sets out from.
        previous: index of the hop whose tail is this one's head; None if the head stands in the question.
    """

    heads: tuple[str, ...]
    pages: tuple[str, ...]
    relation: frozenset[str]
    tails: tuple[str, ...]
    start: frozenset[str]
    previous: int | None

    def told_by(self, answers: Iterable[str]) -> bool:
        """Whether one of the answers is the hop's tail."""
        return any(same_name(answer, tail) for answer in answers for tail in self.tails)

    def stands_in(self, title: str, text: str) -> bool:
        """Whether a piece of evidence holds the fact: it is the head's page, or names head and tail."""
        if any(name_key(title) == name_key(page) for page in self.pages):
            return True
        names_head = any(base_key(title) == base_key(head) or mentions(text, head) for head in self.heads)
        return names_head and any(mentions(text, tail) for tail in self.tails)


def same_name(one: str, other: str) -> bool:
    """Whether two texts are one value or one name, parenthetical qualifiers aside."""
    return same_value(one, other) or base_key(one) == base_key(other)


def mentions(text: str, value: str) -> bool:
    """Whether the value stands in the text as whole words; a date in any usual order."""
    padded = f" {name_key(text)} "
    return any(f" {form} " in padded for form in _forms(value))


def gold_hops(question: str, facts: Sequence[GoldFact], gold_titles: Sequence[str]) -> list[Hop]:
    """The chain of a question, in the data set's order.

    A hop continues from the earlier hop whose tail has its head's name. Else it sets out from the question if its head
    is written there; if not, from the earlier hop with the nearest tail that nothing continues from yet.
    """
    asked = name_key(question)
    in_question = [title for title in gold_titles if f" {base_key(title)} " in f" {asked} "]
    claimed = {base_key(fact.head) for fact in facts}
    spare = [title for title in in_question if base_key(title) not in claimed]
    hops: list[Hop] = []
    continued: set[int] = set()
    for fact in facts:
        pages = tuple(title for title in gold_titles if base_key(title) == base_key(fact.head))
        previous = next((index for index, hop in enumerate(hops) if hop.told_by([fact.head])), None)
        if previous is None and f" {base_key(fact.head)} " not in f" {asked} ":
            previous = _nearest(fact, hops, continued)
            if previous is None:
                pages = pages or tuple(spare)
        heads = tuple(dict.fromkeys((fact.head, *pages)))
        if previous is None:
            start = frozenset(base_key(head) for head in heads)
        else:
            continued.add(previous)
            start = hops[previous].start
            heads = tuple(dict.fromkeys((*heads, *hops[previous].tails)))
            tails = tuple(dict.fromkeys((*hops[previous].tails, *heads)))
            hops[previous] = replace(hops[previous], tails=tails)
        hops.append(Hop(heads, pages, _wordings(fact.relation), (fact.tail,), start, previous))
    return hops


def _nearest(fact: GoldFact, hops: Sequence[Hop], continued: set[int]) -> int | None:
    waiting = [index for index in range(len(hops)) if index not in continued]
    head = set(name_key(fact.head).split())
    for index in waiting:
        if any(head & set(name_key(tail).split()) for tail in hops[index].tails):
            return index
    return waiting[-1] if waiting else None


def _wordings(relation: str) -> frozenset[str]:
    known = property_table().by_label.get(name_key(relation))
    wordings = (relation, *known.names, *known.inverse) if known else (relation,)
    return frozenset(name_key(wording) for wording in wordings)


def _forms(value: str) -> set[str]:
    forms = {name_key(value), base_key(value)}
    date = parse_date(value, bare_year=False)
    if date is None or date.month is None:
        return forms
    name, year, month = _MONTHS[date.month], date.year, date.month
    if date.day is None:
        return forms | {f"{name} {year}", f"{year:04d} {month:02d}"}
    return forms | {
        f"{date.day} {name} {year}",
        f"{name} {date.day} {year}",
        f"{name} {date.day:02d} {year}",
        f"{year:04d} {month:02d} {date.day:02d}",
    }


# Diagnosis of a wrong answer that was found step by step, or on a plan in words: no operators say what a step is for.
#
# A step asks for a hop of the gold chain if its question, thought or the input of its action names the hop's head,
# unless it names the relation of another hop and not this one's. It tells the hop if its answers or its thought name
# the tail. Hop after hop, in the data set's order:
#
#     step        no step asks for it, though steps were taken (a wrong follow-up, sentence, action or sub-question)
#     stopped     … and none was taken after the one that told the hop before; or the method took no step at all
#     retrieval   a step asks for it, and no evidence holds the fact or is the gold page about the head
#     reading     … although it was there
#     final       every hop was told, and the final answer is not right
#
# Where a data set has no chain: `final` if a step told the gold answer; `reading` if the evidence holds it; else
# `retrieval`, or `step` if a gold page was not found that no step and not the question names.

_Node = Mapping[str, Any]
# Shorter wordings of relations, such as "in" and "from", stand in most questions.
_TELLING = 4


def diagnose_steps(question: Question, seen: SeenTrace) -> Diagnosis:
    """The first hop that was not asked for, not found or not read; the final answer if there is none."""
    steps = [node for key, node in sorted(seen.nodes.items()) if key != ROOT_ID]
    if not steps:
        return Diagnosis(Stage.STOPPED, "no step was taken", ROOT_ID)
    if not seen.retrieved:
        return Diagnosis(Stage.MODEL, "answered without retrieval")
    if question.evidences:
        hops = gold_hops(question.question, question.evidences, question.gold_titles)
        return _diagnose_hops(question, hops, steps, seen)
    return _diagnose_answer(question, steps, seen)


def _diagnose_hops(question: Question, hops: Sequence[Hop], steps: Sequence[_Node], seen: SeenTrace) -> Diagnosis:
    last = -1  # id of the last step that told a hop
    for hop in hops:
        told = [node["id"] for node in steps if _tells(node, hop.tails, question.question)]
        if told:
            last = max(last, told[0])
            continue
        if all(mentions(question.question, tail) for tail in hop.tails[:1]):
            continue  # whatever is written names it: nothing can be told from that
        what = f"{hop.heads[0]!r} → {hop.tails[0]!r}"
        others = [other for other in hops if other is not hop]
        asking = [node["id"] for node in steps if _asks(node, hop.heads) and not _asks_another(node, hop, others)]
        asking = asking or [node["id"] for node in steps if _thinks_of(node, hop.heads)]
        if not asking and hop.previous is None and _root_searched(steps, seen):
            asking = [ROOT_ID]
        if not asking:
            later = [node["id"] for node in steps if node["id"] > last]
            if last >= 0 and not later:
                return Diagnosis(Stage.STOPPED, f"no step after this one, and none has asked for {what}", last)
            return Diagnosis(Stage.STEP, f"no step asks for {what}", later[0] if later else None)
        if not any(hop.stands_in(piece["title"], piece["text"]) for piece in seen.evidence()):
            return Diagnosis(Stage.RETRIEVAL, f"nothing about {what} was found", asking[0])
        return Diagnosis(Stage.READING, f"the evidence says {what}, no step does", asking[0])
    return Diagnosis(Stage.FINAL, "every hop was told, the final answer is another", ROOT_ID)


def _diagnose_answer(question: Question, steps: Sequence[_Node], seen: SeenTrace) -> Diagnosis:
    gold = question.answers[0]
    closed = answer_key(gold) in {"yes", "no"} or mentions(question.question, gold)
    if not closed:
        told = [node["id"] for node in steps if _tells(node, question.answers, question.question)]
        if told:
            return Diagnosis(Stage.FINAL, f"this step says {gold!r}, the final answer is another", told[-1])
        texts = [f"{piece['title']} | {piece['text']}" for piece in seen.evidence()]
        if any(mentions(text, answer) for text in texts for answer in question.answers):
            return Diagnosis(Stage.READING, f"the evidence holds {gold!r}")
    found = {name_key(piece["title"]) for piece in seen.evidence()}
    missing = [title for title in question.gold_titles if name_key(title) not in found]
    unasked = [title for title in missing if not _stands(question.question, title)]
    unasked = [
        title for title in unasked if not any(_asks(node, [title]) or _thinks_of(node, [title]) for node in steps)
    ]
    if unasked:
        return Diagnosis(Stage.STEP, f"no step asks for {unasked[0]!r}")
    if missing:
        return Diagnosis(Stage.RETRIEVAL, f"the page {missing[0]!r} was not found")
    if closed and question.gold_titles:
        return Diagnosis(Stage.READING, "every gold page was found")
    return Diagnosis(Stage.RETRIEVAL, f"the evidence does not hold {gold!r}")


def _tells(node: _Node, answers: Iterable[str], question: str) -> bool:
    """Whether the step says one of these: as its answer, or in its thought if the question does not say it already."""
    return any(
        any(exact_match(given, answer) or mentions(given, answer) for given in node["answers"])
        or (not mentions(question, answer) and mentions(node.get("thought") or "", answer))
        for answer in answers
    )


def _root_searched(steps: Iterable[_Node], seen: SeenTrace) -> bool:
    """Whether the whole question was searched for, too: it has evidence that no step found."""
    found = {name for node in steps for name in node["evidence"]}
    return not found.issuperset(seen.nodes[ROOT_ID]["evidence"] if ROOT_ID in seen.nodes else ())


def _asks(node: _Node, names: Iterable[str]) -> bool:
    """Whether the step's question or action names one of these."""
    action = node.get("action") or {}
    asked = (node["question"], node.get("resolved_question"), action.get("input"))
    return any(_stands(str(text or ""), name) for name in names for text in asked)


def _asks_another(node: _Node, hop: Hop, others: Iterable[Hop]) -> bool:
    """Whether the step names the relation of another hop and not this one's."""
    question = node.get("resolved_question") or node["question"]
    if not question.rstrip().endswith("?"):
        return False  # a sentence tells one hop and leads to the next
    asked = f" {name_key(question)} "
    if any(f" {wording} " in asked for wording in hop.relation):
        return False
    wordings = {wording for other in others for wording in other.relation - hop.relation}
    return any(f" {wording} " in asked for wording in wordings if len(wording) >= _TELLING)


def _thinks_of(node: _Node, names: Iterable[str]) -> bool:
    return any(_stands(node.get("thought") or "", name) for name in names)


def _stands(text: str, name: str) -> bool:
    return bool(base_key(name)) and f" {base_key(name)} " in f" {name_key(text)} "


def diagnose(question: Question, trace: Mapping[str, Any]) -> Diagnosis | None:
    """The stage at which the trace (`atomr.trace/1` as JSON) went wrong; None if the answer is exactly right, or
    where the question has no answer and was declined. Where it was declined otherwise, its guess is diagnosed."""
    given = ", ".join(trace["answers"])
    if not question.gold:
        return Diagnosis(Stage.ANSWERED, f"{given!r} to a question without an answer") if given else None
    guessed = given or ", ".join((trace.get("guess") or {}).get("answers") or ())
    if any(exact_match(guessed, gold) for gold in question.answers):
        return None if given else Diagnosis(Stage.DECLINED, f"the guess {guessed!r} is right: {trace['reason']}")
    return _diagnose_wrong(question, trace, guessed)


def _diagnose_wrong(question: Question, trace: Mapping[str, Any], predicted: str) -> Diagnosis:
    if trace["status"] == "failed":
        return Diagnosis(Stage.ERROR, (trace["warnings"] or ["no message"])[-1])
    if any(same_value(predicted, gold) for gold in question.answers):
        return Diagnosis(Stage.FORM, f"{predicted!r} is {question.answers[0]!r} in another form")
    seen = SeenTrace(trace)
    if seen.is_tree and trace["plan"]["origin"] == "fallback":
        problems = trace["plan"]["problems"]
        return Diagnosis(Stage.PLANNING, "no valid plan" + (f": {problems[-1]}" if problems else ""))
    if seen.is_tree and question.evidences:
        return _diagnose_chain(question, seen)
    if not seen.is_tree and (len(seen.nodes) > 1 or trace["plan"]["origin"] == "steps"):
        return diagnose_steps(question, seen)
    return _diagnose_whole(question, seen)


def _diagnose_chain(question: Question, seen: SeenTrace) -> Diagnosis:
    hops = gold_hops(question.question, question.evidences, question.gold_titles)
    leaves: list[int] = []
    for hop in hops:
        leaf = _leaf_for(hop, seen, leaves)
        if leaf is None:
            start = " / ".join(sorted(hop.start))
            return Diagnosis(
                Stage.PLANNING,
                f"no operator of its own asks for {hop.heads[0]!r} → {hop.tails[0]!r} (starting from {start!r})",
            )
        leaves.append(leaf)
    for leaf, hop in sorted(zip(leaves, hops, strict=True), key=lambda pair: seen.execution_order.index(pair[0])):
        failed = _diagnose_hop(hop, leaf, seen)
        if failed is not None:
            return failed
    return Diagnosis(Stage.REASONING, "every hop is right, the answer made of them is not", ROOT_ID)


def _leaf_for(hop: Hop, seen: SeenTrace, taken: Sequence[int]) -> int | None:
    """The first free operator leaf that asks for the hop; a Search only where no Relate or Filter does."""
    asking = [leaf for leaf in seen.operator_leaves if _asks_for(hop, leaf, seen)]
    proper = [leaf for leaf in asking if seen.nodes[leaf]["kind"] != "search"]
    return next((leaf for leaf in proper or asking if leaf not in taken), None)


def _asks_for(hop: Hop, leaf: int, seen: SeenTrace) -> bool:
    own = f" {seen.relation_text(leaf)} "
    if not any(f" {wording} " in own for wording in hop.relation):
        return False
    behind = " ".join(seen.own_text(node_id) for node_id in seen.sources_of(leaf))
    return any(f" {start} " in f" {behind} " for start in hop.start)


def _diagnose_hop(hop: Hop, leaf: int, seen: SeenTrace) -> Diagnosis | None:
    line = seen.and_parents(leaf)
    if any(hop.told_by(seen.nodes[node_id]["answers"]) for node_id in line):
        return None
    for source in seen.sources_of(leaf)[1:]:
        node = seen.nodes[source]
        if node["kind"] == "search" and source in seen.nodes[leaf]["refs"] and not _links(node, hop, seen):
            said = ", ".join(node["answers"]) or "Unknown"
            return Diagnosis(Stage.LINKING, f"Search gave {said!r} for {hop.heads[0]!r}", source)
    evidence = seen.evidence(line)
    given = ", ".join(seen.nodes[leaf]["answers"]) or "Unknown"
    if not any(hop.stands_in(piece["title"], piece["text"]) for piece in evidence):
        return Diagnosis(Stage.RETRIEVAL, f"nothing about {hop.heads[0]!r} → {hop.tails[0]!r} was found", leaf)
    return Diagnosis(Stage.READING, f"read {given!r} where the evidence says {hop.tails[0]!r}", leaf)


def _links(search: Mapping[str, Any], hop: Hop, seen: SeenTrace) -> bool:
    """Whether the Search gave the hop's head: its name, and, where it cites pages, not only others of that name."""
    if not any(same_name(answer, head) for answer in search["answers"] for head in hop.heads):
        return False
    qualified = [answer for answer in search["answers"] if "(" in answer]
    known = {name_key(name) for name in (*hop.heads, *hop.pages)}
    if hop.pages and qualified and len(qualified) == len(search["answers"]):
        return any(name_key(answer) in known for answer in qualified)
    cited = [piece for piece in seen.evidence() if piece["id"] in search["cited"] and piece["source"] == "text"]
    namesakes = [piece for piece in cited if any(same_name(piece["title"], head) for head in hop.heads)]
    return not (hop.pages and namesakes) or any(name_key(piece["title"]) in known for piece in namesakes)


def _diagnose_whole(question: Question, seen: SeenTrace) -> Diagnosis:
    if not seen.retrieved:
        return Diagnosis(Stage.MODEL, "answered without retrieval")
    evidence = seen.evidence()
    gold = question.answers[0]
    closed = answer_key(gold) in {"yes", "no"} or mentions(question.question, gold)
    if closed and question.gold_titles:
        found = {name_key(piece["title"]) for piece in evidence}
        missing = [title for title in question.gold_titles if name_key(title) not in found]
        if missing:
            return Diagnosis(Stage.RETRIEVAL, f"the page {missing[0]!r} was not found")
        return Diagnosis(Stage.READING, "every gold page was found")
    if any(
        mentions(f"{piece['title']} | {piece['text']}", answer) for piece in evidence for answer in question.answers
    ):
        return Diagnosis(Stage.READING, f"the evidence holds {gold!r}")
    return Diagnosis(Stage.RETRIEVAL, f"the evidence does not hold {gold!r}")
