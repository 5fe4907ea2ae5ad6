#!/usr/bin/env python3
"""The `atomr` command with one rule of English switched off, to see what the rule is worth.

    scripts/bench/without_rule.py RULE ARGUMENT ...
    scripts/bench/without_rule.py countries eval run --questions questions.jsonl --out runs/without-countries

The rule's data is emptied, or its verdict is always "I cannot tell", before anything else of the program is loaded.
Nothing is written. `scripts/bench/ablation.py --rules` runs a question set with each of the rules off.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

# Stands for a list of words that goes into a regular expression: no text holds it.
_NEVER = ("\x00",)


def _answer_type() -> None:
    from atomr_local.language import question_kind as answer_type

    told = answer_type.expected_type
    unknown: dict[str, Any] = {"type": "thing", "probability": 0.0, "country": 0.0, "by_type": {}}
    _put(answer_type, "expected_type", cache(lambda question: replace(told(question), **unknown)))


def _several_answers() -> None:
    from atomr_local.language import question_kind as answer_type

    told = answer_type.expected_type
    one = cache(lambda question: replace(told(question), several=False))
    _put(answer_type, "expected_type", one)


def _no_question() -> None:
    from atomr_local.language import question_kind as is_question

    _put(is_question, "understands", lambda _: ("question", 1.0))


def _countries() -> None:
    from atomr_local.language import names as countries

    empty = countries._CountryTable({}, {}, {})
    _put(countries, "_table", lambda: empty)


def _conditions() -> None:
    from atomr_local.language import words

    known = words.condition_words()
    never: dict[str, Any] = dict.fromkeys(
        ("or_more", "or_less", "people", "superlatives", "prepositions", "participles", "having"), _NEVER
    )
    without = replace(known, comparisons=dict.fromkeys(known.comparisons, _NEVER), measures={}, **never)
    _put(words, "condition_words", lambda: without)


def _orders() -> None:
    from atomr_local.sources.graph.relate import values as ordering

    _put(ordering, "_words", dict)


def _repetition() -> None:
    from atomr_local.reasoning.verdict import judge as repetition

    _put(repetition, "repeats", lambda *_: False)


def _year_asked_for() -> None:
    from atomr_local.reasoning import answer_selection as selection

    _put(selection, "year_asked_for", lambda _, answer: answer)


def _words(**changed: Any) -> Callable[[], None]:
    def empty() -> None:
        from atomr_local.language import words

        without = replace(words.english(), **changed)
        _put(words, "english", lambda: without)

    return empty


def _relation_words(**changed: Any) -> Callable[[], None]:
    def empty() -> None:
        from atomr_local.language import words

        without = replace(words.relation_words(), **changed)
        _put(words, "relation_words", lambda: without)

    return empty


def _put(module: Any, name: str, value: Any) -> None:
    """Give the module this function; what imports it from there later gets it.

    Raises:
        AttributeError: the module has none of the name: the program has changed.
    """
    getattr(module, name)
    setattr(module, name, value)


def _every() -> None:
    for name, switch_off in RULES.items():
        if name != "every":
            switch_off()


# In this order all of them can be switched off in one process, too: the last but one loads the graph.
RULES: dict[str, Callable[[], None]] = {
    "answer_type": _answer_type,  # the type of answer that a question surely asks for
    "several_answers": _several_answers,  # whether it asks for several
    "no_question": _no_question,  # greetings, letters without sense, other languages
    "repetition": _repetition,  # an answer that repeats the question is none
    "year_asked_for": _year_asked_for,  # a date is shown as its year where a year is asked for
    "countries": _countries,  # countries, their other names and demonyms
    "told_by": _words(told_by={}),  # the words by which prose tells what is asked ("born": "birth")
    "kinds_counted": _words(kinds={}, among={}),  # nothing is a film and a book at once
    "conditions": _conditions,  # "at least", "larger than", "directed by"
    "relation_kinds": _relation_words(types=frozenset(), asked_for={}, belonging=frozenset()),  # "film director"
    "relation_stems": _relation_words(irregular={}, same={}),  # "wrote" and "written", "wife" and "spouse"
    "relation_classes": _relation_words(classes={}),  # which classes of the graph are of which type of answer
    "orders": _orders,  # "current", "first", "last" before a relation
    "every": _every,  # all of them at once
}


def main() -> None:
    if len(sys.argv) < 3 or sys.argv[1] not in RULES:
        sys.exit(f"{(__doc__ or '').strip()}\n\nRules: {', '.join(RULES)}")
    RULES[sys.argv.pop(1)]()
    from atomr_local.cli.main import main as atomr

    atomr()


if __name__ == "__main__":
    main()
