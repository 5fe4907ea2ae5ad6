"""Diagnosis of a wrong answer that was found step by step, or on a plan in words: no operators say what a step is for.

A step asks for a hop of the gold chain if its question, thought or the input of its action names the hop's head, unless
it names the relation of another hop and not this one's. It tells the hop if its answers or its thought name the tail.
Hop after hop, in the data set's order:

    step        no step asks for it, though steps were taken (a wrong follow-up, sentence, action or sub-question)
    stopped     … and none was taken after the one that told the hop before; or the method took no step at all
    retrieval   a step asks for it, and no evidence holds the fact or is the gold page about the head
    reading     … although it was there
    final       every hop was told, and the final answer is not right

Where a data set has no chain: `final` if a step told the gold answer; `reading` if the evidence holds it; else
`retrieval`, or `step` if a gold page was not found that no step and not the question names.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from atomr_local.evaluation.datasets import Question
from atomr_local.evaluation.gold_chain import Hop, gold_hops, mentions
from atomr_local.evaluation.metrics import exact_match
from atomr_local.evaluation.seen_trace import SeenTrace
from atomr_local.evaluation.stages import Diagnosis, Stage
from atomr_local.language.answer_key import answer_key
from atomr_local.language.names import base_key, name_key
from atomr_local.tree.nodes import ROOT_ID

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
