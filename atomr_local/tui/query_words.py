"""A graph query as a person would say it, such as "father of Alexandre Dumas fils"."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from atomr_local.language.properties import PROPERTY, property_table
from atomr_local.sanitize import sanitize_line

_LONGEST = 120
_PREPOSITION = re.compile(r"\b(?:as|at|by|for|from|in|into|of|on|over|through|to|with)$")
_ALL_OF_IT = re.compile(r"<[^<>\s]+> \?property \?value\b")
_RELATION = re.compile(r"<[^<>\s]+> \?relation <[^<>\s]+>")
_PROPERTY = re.compile(r"<http://www\.wikidata\.org/prop/(?:direct/|statement/)?(P\d+)>")


def query_in_words(locator: Mapping[str, Any], title: str, text: str) -> str:
    """What the query of a piece of evidence asked, on one line, sanitised; the sketch that it was made of if it was.

    Args:
        title: of the piece, the thing that was asked about.
        text: of the piece; its first sentence names the property as the index does.
    """
    sparql, name = str(locator.get("sparql", "")), sanitize_line(title)
    if sketch := sanitize_line(str(locator.get("sketch", ""))[:2_000]):
        said = sketch
    elif _ALL_OF_IT.search(sparql):
        said = f"everything about {name}"
    elif _RELATION.search(sparql):
        said = f"how {name} is related to another"
    elif label := _label_before(name, sanitize_line(text)):
        said = _of(label, name)
    elif label := _label_after(name, sanitize_line(text)):
        said = f"what has {name} as its {label}"
    else:
        labels = list(dict.fromkeys(property_labels(sparql).values()))
        said = _of(", ".join(labels), name) if labels else f"a query about {name}"
    return said if len(said) <= _LONGEST else f"{said[: _LONGEST - 1]}…"


def _of(label: str, name: str) -> str:
    """ "father of Emma", but "Emma: shares border with", which has its own preposition."""
    return f"{name}: {label}" if _PREPOSITION.search(label) else f"{label} of {name}"


def property_labels(sparql: str) -> dict[str, str]:
    """The labels of the query's properties, by P-number, as far as the program knows them."""
    known = property_table().by_iri
    found = ((number, known.get(PROPERTY + number)) for number in dict.fromkeys(_PROPERTY.findall(sparql)))
    return {number: item.label for number, item in found if item is not None}


def _label_before(name: str, text: str) -> str:
    """The property in "name — property: value."; "" if the text does not begin like that."""
    start, _, rest = text.partition(" — ")
    label, colon, _ = rest.partition(": ")
    return label if start == name and colon else ""


def _label_after(name: str, text: str) -> str:
    """The property in "value — property: name."; "" if the text is not like that."""
    if not text.endswith((f": {name}.", "more")) or " — " not in text:
        return ""
    label, colon, rest = text.partition(" — ")[2].partition(": ")
    return label if colon and rest.startswith(name) else ""
