"""Explains in a sentence why a step found no answer.

A sentence names what the step asked for, which sources it searched, and what they had: a linked entity, a page, a
mention. It is made from a finished node of a trace and its evidence alone.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from atomr_local.language.names import alike, base_key, name_key, names_in, split_qualifier, words
from atomr_local.language.question import read_question
from atomr_local.language.sentences import sentences
from atomr_local.language.words import english
from atomr_local.reasoning.asking.asking import content_stems, relevance
from atomr_local.reasoning.reading.checks import about
from atomr_local.reasoning.trace.schema import NodeTrace, Trace
from atomr_local.sources.protocol import Evidence, SourceName
from atomr_local.tree.nodes import REFERENCE

_SHOWN = 3
_LONGEST = 80


def step_reason(
    node: NodeTrace, nodes: Mapping[int, NodeTrace], evidence: Mapping[str, Evidence], *, clearly: bool = False
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
    if node.off_subject:
        return _of_another(node, nodes, evidence)
    said = f"{'clearly ' if clearly else ''}{_says(node, nodes)}"
    if not all(map(is_phrase, named(node, nodes))):
        return f"Nothing found {'clearly ' if clearly else ''}answers “{_short(node.resolved_question)}”."
    if node.kind == "filter":
        return _filtered(node, nodes, clearly)
    told = _looked_up if node.kind in {"search", "relate"} else _reasoned
    return told(node, nodes, found, said)


def _reasoned(node: NodeTrace, nodes: Mapping[int, NodeTrace], found: Sequence[Evidence], said: str) -> str:
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


def is_phrase(text: str) -> bool:
    """Whether the text names or describes something, so that a sentence can be about it: not "The", "number of"."""
    found = words(text)
    if not found or text.isupper():  # the key of the WHO is a word that says nothing
        return True
    small = text.rsplit(maxsplit=1)[-1].islower() and found[-1] in english().stop
    return not small and any(word not in english().stop for word in found)


def filled(text: str, nodes: Mapping[int, NodeTrace]) -> str:
    """The text with its references replaced by answers."""

    def answer(match: re.Match[str]) -> str:
        node = nodes.get(int(match[1]))
        return ", ".join(node.answers) if node is not None and node.answers else match[0]

    return REFERENCE.sub(answer, text)


def mentioned(name: str, found: Iterable[Evidence], *, any_word: bool = False) -> bool:
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
    has = [word in there or any(alike(word, other) for other in there) for word in sorted(wanted)]
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


def _rows(item: Evidence) -> str:
    rows = item.locator.get("rows")
    if not isinstance(rows, list | tuple):
        return ""
    return " ".join(str(value) for row in rows if isinstance(row, Mapping) for value in row.values())


def _failed(node: NodeTrace, found: Sequence[Evidence]) -> str:
    assert node.error is not None
    others = "; the other evidence does not answer it" if found else ""
    message = node.error.get("message", "").rstrip(".")
    return f"“{_short(node.resolved_question)}” could not be looked up in every source: {message}{others}."


def _looked_up(node: NodeTrace, nodes: Mapping[int, NodeTrace], found: Sequence[Evidence], said: str) -> str:
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
        return f"The evidence found mentions {whom}, but none of it {said}."
    return f"Nothing {places(node) or 'available'} mentions {whom}."


def _of_another(node: NodeTrace, nodes: Mapping[int, NodeTrace], evidence: Mapping[str, Evidence]) -> str:
    """ "The passage is about Cosima Wagner, not Richard Wagner." """
    steps = [node, *(item for item in nodes.values() if item.kind == "relate")]
    names = next(filter(None, (named(item, nodes) for item in steps)), ()) or tuple(
        names_in([node.resolved_question.rstrip("?")])
    )
    cited = [evidence[item] for item in node.cited if item in evidence]
    told = about((*names, *node.linked), node.answers, cited, [evidence[i] for i in node.evidence if i in evidence])
    asked = _listed(map(_short, names), "or") or "the one asked about"
    if told.subject is False and told.whom:
        return f"The {told.where} is about {_short(told.whom)}, not {asked}."
    return f"The passage is not about {asked}."


def _filtered(node: NodeTrace, nodes: Mapping[int, NodeTrace], clearly: bool) -> str:
    names = named(node, nodes)
    condition = filled(str(node.arguments[-1]), nodes) if len(node.arguments) > 1 else node.resolved_question
    known = "clearly meets" if clearly else "is known to meet"
    whom = _listed(map(_short, names)) or "the earlier answers"
    return f"Of {whom}, none {known} the condition “{_short(condition)}”."


def _says(node: NodeTrace, nodes: Mapping[int, NodeTrace]) -> str:
    """ "says who wrote Emma", "says anything about “author”" or "answers “…”", whichever makes a correct sentence."""
    question = node.resolved_question or node.question
    inside = read_question(question).clause
    if inside and not REFERENCE.search(inside):
        return f"says {inside}"
    if node.kind == "relate" and len(node.arguments) > 1 and isinstance(node.arguments[1], str):
        about = filled(node.arguments[1], nodes)
        if is_phrase(about):
            return f"says anything about “{_short(about)}”"
    return f"answers “{_short(question)}”"


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


# The passages closest to a question, with the sentences of each that tell most.

MOST_PASSAGES = 3
MOST_SENTENCES = 3
# A sentence tells if it has at least this share of what the passage's best one has.
_TELLS = 0.5


def also_close(trace: Trace, root: NodeTrace) -> tuple[dict[str, Any], ...]:
    """The passages for the field `closest` beside an answer from the user's own documents: where else it may stand.

    () for an answer from articles, which one page rarely tells alone, and for one that a rule computed.
    """
    by_id = {item.id: item for item in trace.evidence}
    used = {*root.cited, *(quote["evidence"] for quote in root.quotes)}
    if root.method == "computed" or not any("file" in by_id[name].locator for name in used if name in by_id):
        return ()
    return closest(trace, lambda item: item.id not in used and "file" in item.locator)


def closest(trace: Trace, shown: Callable[[Evidence], bool] = lambda _: True) -> tuple[dict[str, Any], ...]:
    """The passages for the trace's field `closest`, best first; () if none was found.

    What a step quotes comes first, then what was found for the question as asked, then for its steps. A sentence counts
    by the words that it shares with the question, rare ones for more (IDF over the passages found).

    Args:
        shown: which passages may be among them.
    """
    passages = _in_order(trace)
    chosen = [item for item in passages if shown(item)][:MOST_PASSAGES]
    if not chosen:
        return ()
    question = trace.understood_as or trace.question
    held = Counter(stem for item in passages for stem in content_stems(f"{item.title} {item.text}"))
    weights = {stem: math.log(1.0 + len(passages) / count) for stem, count in held.items()}
    quoted: dict[str, list[list[int]]] = {}
    for quote in _quotes(trace):
        quoted.setdefault(quote["evidence"], []).append(list(quote["span"]))
    return tuple(
        {
            "evidence": item.id,
            "spans": sorted(quoted.get(item.id, [])[:MOST_SENTENCES]) or _telling(question, item, weights),
        }
        for item in chosen
    )


def _in_order(trace: Trace) -> list[Evidence]:
    """The passages, each text once."""
    by_id = {item.id: item for item in trace.evidence if item.source != SourceName.GRAPH and item.text.strip()}
    nodes = sorted(trace.nodes, key=lambda node: node.parent is not None)
    names = [quote["evidence"] for quote in _quotes(trace)] + [name for node in nodes for name in node.evidence]
    first = {" ".join(by_id[name].text.split()): by_id[name] for name in reversed(names) if name in by_id}
    return sorted(first.values(), key=lambda item: names.index(item.id))


def _quotes(trace: Trace) -> Iterator[Mapping[str, Any]]:
    """What the steps quote, that of the whole question first."""
    for node in sorted(trace.nodes, key=lambda node: node.parent is not None):
        yield from node.quotes


def _telling(question: str, item: Evidence, weights: Mapping[str, float]) -> list[list[int]]:
    """The sentences that tell most of the question, in the order of the text; at least the best one."""
    spans = [span for begin, end in sentences(item.text) if (span := _trimmed(item.text, begin, end))]
    scores = relevance(question, item.title, [item.text[begin:end] for begin, end in spans], weights)
    best = sorted(range(len(spans)), key=lambda at: -scores[at])
    told = [at for at in best[1:MOST_SENTENCES] if scores[at] > 0 and scores[at] >= _TELLS * scores[best[0]]]
    return [_with_list(item.text, *spans[at]) for at in sorted([best[0], *told])]


def _with_list(text: str, begin: int, end: int) -> list[int]:
    """The span; of a sentence that opens a list, with the lines of the list."""
    if not text[begin:end].endswith(":"):
        return [begin, end]
    block = text.find("\n\n", end)
    return [begin, len(text.rstrip()) if block < 0 else block]


def _trimmed(text: str, begin: int, end: int) -> tuple[int, int] | None:
    """The span without white space at its ends; None if nothing is left."""
    piece = text[begin:end]
    begin += len(piece) - len(piece.lstrip())
    return (begin, begin + len(piece.strip())) if piece.strip() else None
