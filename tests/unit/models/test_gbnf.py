from __future__ import annotations

import itertools
import json
import re

import pytest

from atomr_local.models.gbnf import literal, word_runs


def language(rules: dict[str, str], rule: str) -> set[str]:
    """All texts of a rule built of terminals, names, sequences and alternatives."""
    texts: set[str] = set()
    for choice in rules[rule].split(" | "):
        parts = re.findall(r'"(?:[^"\\]|\\.)*"|[\w-]+', choice)
        options = [[json.loads(part)] if part[0] == '"' else sorted(language(rules, part)) for part in parts]
        texts.update("".join(chosen) for chosen in itertools.product(*options))
    return texts


def runs(*texts: str, longest: int = 10) -> set[str]:
    rules: dict[str, str] = {}
    word_runs(rules, "run", texts, longest=longest)
    return language(rules, "run") if "run" in rules else set()


def test_every_run_and_nothing_else() -> None:
    assert runs("a b c") == {"a", "b", "c", "a b", "b c", "a b c"}
    assert runs("a b", "c") == {"a", "b", "c", "a b"}


@pytest.mark.parametrize("longest", [1, 2, 3, 5])
def test_no_run_is_longer_than_asked(longest: int) -> None:
    words = ["a", "b", "c", "d", "e", "f", "g"]
    expected = {" ".join(words[i:j]) for i in range(7) for j in range(i + 1, min(i + longest, 7) + 1)}
    assert runs(" ".join(words), longest=longest) == expected


def test_punctuation_around_a_name_may_be_left_out() -> None:
    found = runs("(\"Ann's) J. Lee, Jr.")
    assert {"Ann", "Ann's", "J. Lee", "J.", "Lee, Jr.", "Jr."} <= found
    assert "Lee," not in found


def test_rules_for_a_run_refer_to_rules_that_are_there() -> None:
    rules: dict[str, str] = {}
    word_runs(rules, "run", ["one two (three four five six seven eight nine ten eleven twelve, thirteen"], longest=4)
    named = {name for body in rules.values() for name in re.findall(r"run-[\w-]+", body)}
    assert named <= rules.keys()


@pytest.mark.parametrize("text", ["", "   ", "?! ..", "…"])
def test_no_words_no_rule(text: str) -> None:
    assert runs(text) == set()


def test_terminals_escape_what_gbnf_reads() -> None:
    assert literal('a"\\\n') == '"a\\"\\\\\\u000A"'
    assert literal("🙂") == '"\\U0001F642"'
