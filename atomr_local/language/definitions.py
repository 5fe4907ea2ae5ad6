"""What a question for a definition asks about: "Who was Marie Curie?", "What is a black hole?".

Retrieval evaluations call these definition questions (TREC 2003 question answering track). Their answer describes what
they name, so they need no steps.
"""

from __future__ import annotations

import re

from atomr_local.language.words import english

_IS = re.compile(
    r"(?:who(?:['’]s|\s+(?:is|was))\s+(?P<office>the\s+)?|(?:who|what)(?:['’]s|\s+(?:is|are|was|were))\s+)"
    r"(?:(?:an?|the)\s+)?(?P<topic>\S.*)",
    re.IGNORECASE,
)
_MEANS = re.compile(r"what\s+(?:does|do)\s+(?P<topic>\S.*?)\s+mean", re.IGNORECASE)
_EDGES = " \t?!.\"“”'‘’"
_MOST_CHARACTERS = 100


def defined_topic(question: str) -> str:
    """The name that the question wants described; "" if it asks for anything else.

    "Who is the president?" asks for a name, and "What is the capital of France?" for a value: descriptions of others.
    A function word may only stand inside a name, which capitals show ("Joan of Arc").
    """
    asked = question.strip(_EDGES)
    if len(asked) > _MOST_CHARACTERS or not (found := _IS.fullmatch(asked) or _MEANS.fullmatch(asked)):
        return ""
    topic = found["topic"].strip(_EDGES)
    parts = topic.split()
    said = [part for part in parts if part.casefold() not in english().stop]
    if not said:
        return ""  # "Who is he?"
    is_name = all(part[:1].isupper() for part in said)
    by_office = found.groupdict().get("office") is not None
    return topic if (is_name or said == parts) and not by_office else ""
