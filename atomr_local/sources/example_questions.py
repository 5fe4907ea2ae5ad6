"""Questions that an index can answer, made from what it holds: shown where nothing was asked yet."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from itertools import islice, zip_longest

from atomr_local.indexing.store import STARTER
from atomr_local.language.names import name_key
from atomr_local.language.properties import KnownProperty, property_table
from atomr_local.sources.graph import GraphSource
from atomr_local.sources.graph.knowledge_graph import KnowledgeGraph
from atomr_local.sources.protocol import KnowledgeSource
from atomr_local.sources.several_texts import SeveralTexts
from atomr_local.sources.text import TextSource
from atomr_local.system.sanitize import sanitize_line

_PROPERTIES = 24  # the most used ones that are looked at
_STATEMENTS = 40  # of each
_MOST_VALUES = 3  # more make no short answer
_LONGEST_NAME = 48
_KINDS = {"person": "Who", "time": "What", "place": "What", "city": "What", "country": "What", "org": "What",
          "quantity": "What", "work": "What"}  # fmt: skip
# Wordings that make no "What is the … of X?": they are no nouns.
_NO_NOUN = re.compile(
    r"^(?:has|have|is|was|are|located|named|follow|shares|educated|employed|member|part|participa|instance|subclass|"
    r"nominated|based|derived|made|contains|said|different|owned|born|died|when|where|who|also)\w*\b|"
    r"\b(?:of|in|by|at|on|from|to|with|for|as|or)$"
)
_NO_SUBJECT = re.compile(r"^(?:List of|Lists of|Index of|Outline of|\d)|:|\bdisambiguation\b|^Q\d+$")


def example_questions(
    sources: Mapping[str, KnowledgeSource], index_names: Mapping[str, str], most: int = 8
) -> list[str] | None:
    """Questions made from what these sources hold, both in turn; None where only the starter's are among them.

    Args:
        index_names: of their indexes, by kind.
    """
    own = {kind: sources[kind] for kind, name in index_names.items() if name not in {"", STARTER} and kind in sources}
    if not own:
        return None
    graph, text = own.get("graph"), own.get("text")
    facts = graph_questions(graph.graph, most) if isinstance(graph, GraphSource) else []
    topics = text_questions(text.some_titles(8 * most), most) if isinstance(text, TextSource | SeveralTexts) else []
    turns = (item for pair in zip_longest(facts, topics) for item in pair if item is not None)
    return list(islice(turns, most))


def graph_questions(graph: KnowledgeGraph, most: int) -> list[str]:
    """Up to `most` questions of one step, each of another property and about another entity."""
    questions: dict[str, str] = {}  # by entity
    used = sorted(graph.properties.values(), key=lambda row: -row.uses)
    known = ((row.iri, _known(row.iri, row.label)) for row in used)
    asked = [(iri, prop) for iri, prop in known if prop is not None and prop.kind in _KINDS]
    for iri, prop in asked[:_PROPERTIES]:
        noun = next((name for name in (prop.label, *prop.names) if not _NO_NOUN.search(name)), "")
        head = _head(graph, iri, questions) if noun else ""
        if head:
            questions[head] = f"{_KINDS[prop.kind]} is the {noun} of {_name(graph.label(head))}?"
        if len(questions) >= most:
            break
    return list(questions.values())


def text_questions(titles: Iterable[str], most: int) -> list[str]:
    """Up to `most` questions after what articles of these titles are about."""
    names = dict.fromkeys(name for title in titles if (name := _name(title)))
    return [f"Who or what is {name}?" for name in islice(names, most)]


def _known(iri: str, label: str) -> KnownProperty | None:
    table = property_table()
    return table.by_iri.get(iri) or table.by_label.get(name_key(label))


def _head(graph: KnowledgeGraph, prop: str, taken: Iterable[str]) -> str:
    """The best known of the entities that have the property, with a name and few values; "" if there is none."""
    skipped = set(taken)
    found = dict.fromkeys(statement.subject for statement in graph.statements(prop=prop, limit=_STATEMENTS))
    rows = [row for iri in found if iri not in skipped and (row := graph.row(iri)) is not None and _name(row.label)]
    rows.sort(key=lambda row: (-row.sitelinks, -row.statements))
    few = (row.iri for row in rows if len(graph.statements(row.iri, prop, limit=_MOST_VALUES + 1)) <= _MOST_VALUES)
    return next(few, "")


def _name(label: str) -> str:
    """The name as a question holds it; "" if it reads like none."""
    name = sanitize_line(label[: 2 * _LONGEST_NAME])
    fits = 1 < len(name) <= _LONGEST_NAME and any(mark.isalpha() for mark in name) and "?" not in name
    return name if fits and not _NO_SUBJECT.search(name) else ""
