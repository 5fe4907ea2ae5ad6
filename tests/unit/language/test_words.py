"""Lists of English words that build on one another."""

from __future__ import annotations

import pytest

from atomr_local.language.words import english, singular, singulars


def test_what_says_nothing_tells_no_entity_from_another_either() -> None:
    about = english().in_descriptions
    assert about > english().stop
    assert {"name", "called"} <= about
    assert not about & {"river", "film", "singer"}


@pytest.mark.parametrize(
    ("plural", "one"),
    [("films", "film"), ("cities", "city"), ("churches", "church"), ("boxes", "box"), ("sizes", "size"), ("IDs", "ID")],
)
def test_the_singular_of_a_regular_plural(plural: str, one: str) -> None:
    assert singular(plural) == one


@pytest.mark.parametrize("word", ["glass", "status", "basis", "film", "us", "s", "", "people"])
def test_what_is_no_regular_plural_stays(word: str) -> None:
    assert singular(word) == word


def test_what_a_word_may_be_the_plural_of() -> None:
    assert singulars("heroes") == ["heroe", "hero"] and singulars("parties") == ["party", "partie"]
    assert singulars("American films") == ["American film"]
    for word in ("his", "part", "glass", ""):
        assert singulars(word) == []
