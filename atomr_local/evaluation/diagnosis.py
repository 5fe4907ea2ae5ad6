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
a plan without operators, are judged by the rules of :mod:`.step_diagnosis`: `step`, `stopped`, `retrieval`, `reading`,
`final`. Where a data set has no chain, and for strategies without a tree: `retrieval` when the evidence lacks the gold
answer (for yes, no and choices among things named in the question: lacks a gold page), else `reading`. A strategy that
retrieved nothing can only be wrong from the model's own knowledge: `model`.

Relation wordings are those of the program's own property vocabulary; a paraphrase outside it counts as planning.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from atomr_local.evaluation.datasets import Question
from atomr_local.evaluation.gold_chain import Hop, gold_hops, mentions, same_name
from atomr_local.evaluation.metrics import exact_match, same_value
from atomr_local.evaluation.seen_trace import SeenTrace
from atomr_local.evaluation.stages import Diagnosis, Stage
from atomr_local.evaluation.step_diagnosis import diagnose_steps
from atomr_local.language.answer_key import answer_key
from atomr_local.language.names import name_key
from atomr_local.tree.nodes import ROOT_ID


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
