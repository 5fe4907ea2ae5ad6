"""GBNF for the model's structured answers. Everything that varies is written as an escaped GBNF literal."""

from __future__ import annotations

import json
from collections.abc import Sequence

from atomr_local.backbone.gbnf import literal

_CHARACTER = r'char ::= [^"\\\x7F\x00-\x1F]'
_MAX_ANSWERS = 6


def one_of(texts: Sequence[str]) -> str:
    """A grammar for exactly one of the texts."""
    return "root ::= " + " | ".join(literal(text) for text in texts)


def answer(evidence: int, candidates: Sequence[str] | None = None) -> str:
    """A grammar for {"answer", "answers", "evidence"}: a JSON object on one line.

    Args:
        evidence: how many pieces of evidence there are; their numbers from 1 may be named.
        candidates: when given, the only answers allowed.
    """
    one = (
        " | ".join(literal(json.dumps(candidate, ensure_ascii=False)) for candidate in candidates)
        if candidates
        else r'"\"" char{1,90} "\""'
    )
    most = min(_MAX_ANSWERS, len(candidates)) if candidates else _MAX_ANSWERS
    number = " | ".join(f'"{i}"' for i in range(1, evidence + 1))
    numbers = f'(number (", " number){{0,{min(evidence, 4) - 1}}})?' if evidence else ""
    answers = rf'"], \"evidence\": [" {numbers} "]}}"'
    rules = [
        "root ::= known | unknown",
        rf'known ::= "{{\"answer\": \"" char{{1,90}} "\", \"answers\": [" one (", " one){{0,{most - 1}}} {answers}',
        r'unknown ::= "{\"answer\": \"Unknown\", \"answers\": [], \"evidence\": []}"',
        f"one ::= {one}",
        _CHARACTER,
    ]
    if evidence:
        rules.append(f"number ::= {number}")
    return "\n".join(rules)
