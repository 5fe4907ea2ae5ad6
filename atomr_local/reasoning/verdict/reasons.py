"""Explains in a sentence why a step found no answer.

A sentence names what the step asked for, which sources it searched, and what they had: a linked entity, a page, a
mention. It is made from a finished node of a trace and its evidence alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from rapidfuzz import fuzz

from atomr_local.language.names import base_key, name_key, split_qualifier, words
from atomr_local.reasoning.trace.schema import EvidenceTrace, NodeTrace
from atomr_local.sources.protocol import Evidence
from atomr_local.tree.nodes import REFERENCE

# Words that are at least this similar, in %, may be misspellings of one another.
_ALIKE = 80
_SHOWN = 3
_LONGEST = 80
_VERB = r"(?:is|are|was|were|am|be|do|does|did|has|have|had|can|could|will|would|shall|should|may|might|must)\b"
# "Who wrote Emma?": no auxiliary verb follows the question word, so the words can stay in this order in a clause.
_SUBJECT = re.compile(rf"who (?!{_VERB})[a-z].*|(?:what|which|how many) (?!.*\b{_VERB})[a-z].*", re.I)
# "What is the capital of Chad?": the verb goes to the end.
_COPULA = re.compile(r"(?P<wh>who|what) (?P<verb>is|are|was|were) (?P<rest>the [^,;:]+ of [^,;:]+)", re.I)


def step_reason(
    node: NodeTrace, nodes: Mapping[int, NodeTrace], evidence: Mapping[str, EvidenceTrace], *, clearly: bool = False
) -> str:
    """Why this node has no answer, or only an uncertain one.

    Args:
        nodes: all nodes of the trace, by id.
        evidence: all evidence of the trace, by id.
        clearly: an answer was found, but it is too uncertain: "nothing … clearly says" instead of "nothing … says".
    """
    found = [evidence[item] for item in node.evidence if item in evidence]
    if node.error is not None and not node.answers:
        return _failed(node, found)
    if node.reason and not node.answers:  # a computed step states itself what is missing
        return _sentence(node.reason)
    said = f"{'clearly ' if clearly else ''}{_says(node, nodes)}"
    if node.kind == "filter":
        return _filtered(node, nodes, clearly)
    if node.kind in {"search", "relate"}:
        return _looked_up(node, nodes, found, said)
    return _reasoned(node, nodes, found, said)


def _reasoned(node: NodeTrace, nodes: Mapping[int, NodeTrace], found: Sequence[EvidenceTrace], said: str) -> str:
    """The reason of a step that is not a look-up."""
    below = [nodes[i] for i in inputs(node, nodes)]
    if below and node.method != "direct_rag":
        given = _listed(f"“{_short(item.answer)}”" for item in _answered(node, nodes))
        if given or not found:
            return f"The answers of the earlier steps ({given or 'none'}) do not {_plural(said)}."
    if not found:
        where = places(node)
        return f"Nothing was found{f' {where}' if where else ''} for “{_short(node.resolved_question)}”."
    titles = _listed(dict.fromkeys(f"“{_short(item.title)}”" for item in found))
    return f"The evidence found ({titles}) does not {_plural(said)}."


def _answered(node: NodeTrace, nodes: Mapping[int, NodeTrace]) -> list[NodeTrace]:
    """The steps with an answer that this one is answered from. Of a method without a plan also those further below: its
    rounds have no answers of their own.
    """
    found: dict[int, NodeTrace] = {}
    left = inputs(node, nodes)
    while left:
        below = nodes[left.pop(0)]
        if below.id in found:
            continue
        found[below.id] = below
        if below.kind == "step":
            left += inputs(below, nodes)
    return [item for item in found.values() if item.answers]


def _plural(said: str) -> str:
    """ "clearly say who wrote Emma" for "clearly says who wrote Emma"."""
    return re.sub(r"\b(say|answer)s\b", r"\1", said, count=1)


def inputs(node: NodeTrace, nodes: Mapping[int, NodeTrace]) -> list[int]:
    """The ids of the nodes that this one is answered from: the ones it refers to, and its children.

    Steps that were added to a plan give another answer, which stands only where the node says that it is the best of
    several.
    """
    below = [item for item in nodes.values() if item.parent == node.id]
    planned = [item for item in below if item.kind != "step"]
    children = [item.id for item in (below if not planned or node.method == "aggregate" else planned)]
    return [i for i in dict.fromkeys((*node.refs, *children)) if i in nodes]


def named(node: NodeTrace, nodes: Mapping[int, NodeTrace]) -> tuple[str, ...]:
    """The names in the operator's first argument, with references replaced by answers."""
    if not node.arguments:
        return ()
    first = node.arguments[0]
    if isinstance(first, list):
        return tuple(answer for i in first if i in nodes for answer in nodes[i].answers)
    return (filled(str(first), nodes),)


def filled(text: str, nodes: Mapping[int, NodeTrace]) -> str:
    """The text with its references replaced by answers."""

    def answer(match: re.Match[str]) -> str:
        node = nodes.get(int(match[1]))
        return ", ".join(node.answers) if node is not None and node.answers else match[0]

    return REFERENCE.sub(answer, text)


def mentioned(name: str, found: Iterable[EvidenceTrace | Evidence], *, any_word: bool = False) -> bool:
    """Whether the evidence contains every capitalised word of the name, or with `any_word` one of them.

    A misspelt word counts too. Words in lower case describe something ("the lady who came up with Moomins") and may be
    worded differently, so one word is enough for a name that is all in lower case. A name without searchable words,
    such as initials, counts as mentioned.
    """
    name = split_qualifier(name)[0]
    proper = [word for word in re.findall(r"\w[\w'’]*", name) if word[:1].isupper() and len(word) > 1]
    least = 1 if proper else 2
    wanted = {word for text in (proper or [name]) for word in words(text) if len(word) > least}
    there = {word for item in found for word in words(f"{item.title} {item.text} {_rows(item)}")}
    has = [word in there or any(_alike(word, other) for other in there) for word in sorted(wanted)]
    return not has or (any(has) if any_word or not proper else all(has))


def places(node: NodeTrace) -> str:
    """Where the node searched: "in the text", "in the text or the graph", "on the web"; "" if it did not search."""
    names = {"text": "in the text", "graph": "in the graph", "web": "on the web"}
    asked = [place for name, place in names.items() if name in node.sources or _probed(node, name)]
    asked += [f"in {name}" for name in node.sources if name not in names]
    return _listed(asked, "or").replace("in the text or in the graph", "in the text or the graph")


def _probed(node: NodeTrace, name: str) -> bool:
    """Whether the graph was asked although its answer was not used."""
    return name == "graph" and (bool(node.linked) or "link" in node.signals)


def _rows(item: EvidenceTrace | Evidence) -> str:
    rows = item.locator.get("rows")
    if not isinstance(rows, list | tuple):
        return ""
    return " ".join(str(value) for row in rows if isinstance(row, Mapping) for value in row.values())


def _alike(word: str, other: str) -> bool:
    short, long = sorted((len(word), len(other)))
    return short > 3 and long - short < 3 and word[0] == other[0] and fuzz.ratio(word, other) >= _ALIKE


def _failed(node: NodeTrace, found: Sequence[EvidenceTrace]) -> str:
    assert node.error is not None
    others = "; the other evidence does not answer it" if found else ""
    message = node.error.get("message", "").rstrip(".")
    return f"“{_short(node.resolved_question)}” could not be looked up in every source: {message}{others}."


def _looked_up(node: NodeTrace, nodes: Mapping[int, NodeTrace], found: Sequence[EvidenceTrace], said: str) -> str:
    names = named(node, nodes)
    if not names:
        return f"“{_short(node.resolved_question)}” depends on a step that found nothing."
    asked = " ".join(item.question for item in nodes.values() if item.parent is None)
    whom = _listed(_with_article(_short(name), f"{node.resolved_question} {asked}") for name in names)
    keys = {key for name in (*names, *node.linked) for key in (name_key(name), base_key(name))}
    texts = [item for item in found if item.source != "graph"]
    page = any(item.source == "text" and base_key(item.title) in keys for item in found)
    if node.kind == "search":
        return f"Nothing {places(node) or 'available'} is about {whom}."
    if node.linked:
        place = "there or in its page" if page else "there or in the passages found" if texts else "there"
        near = _listed(map(_short, node.near[:_SHOWN]))
        nearest = f" The most similar properties in the graph: {near}." if near else ""
        return f"{_capital(whom)} {_is(names)} in the graph, but nothing {place} {said}.{nearest}"
    if page:
        return f"There is a page about {whom}, but nothing in it or in the other passages found {said}."
    if found and any(mentioned(name, found) for name in names):
        return f"{_capital(whom)} {_is(names)} mentioned in the evidence found, but none of it {said}."
    return f"Nothing {places(node) or 'available'} mentions {whom}."


def _filtered(node: NodeTrace, nodes: Mapping[int, NodeTrace], clearly: bool) -> str:
    names = named(node, nodes)
    condition = filled(str(node.arguments[-1]), nodes) if len(node.arguments) > 1 else node.resolved_question
    known = "clearly meets" if clearly else "is known to meet"
    whom = _listed(map(_short, names)) or "the earlier answers"
    return f"Of {whom}, none {known} the condition “{_short(condition)}”."


def _says(node: NodeTrace, nodes: Mapping[int, NodeTrace]) -> str:
    """ "says who wrote Emma", "says anything about “author”" or "answers “…”", whichever makes a correct sentence."""
    question = node.resolved_question or node.question
    inside = indirect(question)
    if inside and not REFERENCE.search(inside):
        return f"says {inside}"
    if node.kind == "relate" and len(node.arguments) > 1 and isinstance(node.arguments[1], str):
        return f"says anything about “{_short(filled(node.arguments[1], nodes))}”"
    return f"answers “{_short(question)}”"


def indirect(question: str) -> str:
    """The question as a clause: "who wrote Emma"; "" if it would need a change of word order that is not known here."""
    text = question.strip()
    text = text[:-1].rstrip() if text.endswith("?") else text
    if len(text) > _LONGEST or "?" in text or "\n" in text:
        return ""
    if match := _COPULA.fullmatch(text):
        return f"{match['wh'].lower()} {match['rest']} {match['verb'].lower()}"
    return text[:1].lower() + text[1:] if _SUBJECT.fullmatch(text) else ""


def _with_article(name: str, question: str) -> str:
    """ "the Louvre" if the question has the article."""
    return f"the {name}" if re.search(rf"(?<!\w)the {re.escape(name)}(?!\w)", question, re.IGNORECASE) else name


def _is(names: Sequence[str]) -> str:
    return "is" if len(names) == 1 else "are"


def _sentence(clause: str) -> str:
    return f"{_capital(clause.rstrip('.'))}."


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 1].rstrip()}…"


def _listed(texts: Iterable[str], word: str = "and") -> str:
    """ "a, b and c"; after the third only the number of the others: "a, b, c and 2 more"."""
    items = list(texts)
    if len(items) > _SHOWN:
        items = [*items[:_SHOWN], f"{len(items) - _SHOWN} more"]
    return f"{', '.join(items[:-1])} {word} {items[-1]}" if len(items) > 1 else "".join(items)
