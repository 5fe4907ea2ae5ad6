"""Whether a line of natural questions holds: its plan parses, is valid, comes back the same, and obeys the grammar."""

from __future__ import annotations

import re
from typing import Any

from atomr_local.models.gbnf import first_form, last_forms
from atomr_local.reasoning.planning.coverage import with_searches
from atomr_local.tree.compact import parse_compact, to_compact
from atomr_local.tree.errors import TreeError
from atomr_local.tree.validation import validate

_NAME = re.compile(r'(?:Search|Relate)\("((?:[^"\\]|\\.)*)"')
_KIND = re.compile(r" \([^()]*\)$")


def problem(line: dict[str, Any]) -> str:
    """What is wrong with the line; "" where nothing is."""
    try:
        tree = parse_compact(line["plan"])
    except TreeError as error:
        return f"not read: {error}"
    if tree.question != line["understood"]:
        return "line 0 is not the question as understood"
    if to_compact(tree, with_root=True) != line["plan"]:
        return "comes back otherwise"
    for one in (tree, with_searches(tree)):
        problems = validate(one)
        if problems:
            return f"not valid: {problems[0].message}"
    for written in _NAME.findall(line["plan"]):
        if not is_run(written, line["question"]):
            return f"a name that is no run of the question's words: {written}"
    if any("\ue000" <= character <= "\uf8ff" for character in f"{line['question']}{line['plan']}"):
        return "a mark was left"
    return ""


def is_run(name: str, question: str) -> bool:
    """Whether the name, its kind aside, is a run of the question's words, each as typed or with a capital."""
    wanted = _KIND.sub("", name).split()
    words = question.split()
    for start in range(len(words) - len(wanted) + 1):
        run = zip(wanted, words[start : start + len(wanted)], strict=True)
        if all(_alike(*pair, first=i == 0, last=i + 1 == len(wanted)) for i, pair in enumerate(run)):
            return bool(wanted)
    return False


def _alike(wanted: str, word: str, *, first: bool, last: bool) -> bool:
    """Whether the grammar of plans may write the word so."""
    begun = {word, first_form(word)} if first else {word}
    forms = {form for one in begun for form in last_forms(one)} | begun if last else begun
    return wanted in forms | {_large(form) for form in forms}


def _large(word: str) -> str:
    place = next((i for i, character in enumerate(word) if character.isalnum()), 0)
    return word[:place] + word[place : place + 1].upper() + word[place + 1 :]
