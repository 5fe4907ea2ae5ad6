"""Whether two names may be of one person, place or thing."""

from __future__ import annotations

import pytest

from atomr_local.language.names import name_parts, same_name


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("Richard Wagner", "richard wagner", True),
        ("The Hobbit", "Hobbit (novel)", True),
        ("Caroline Kennedy", "Caroline Bouvier Kennedy", True),
        ("J. R. R. Tolkien", "John Ronald Reuel Tolkien", True),
        ("Sophie-Charlotte", "Sophie Charlotte", True),
        ("Micheal Jackson", "Michael Jackson", True),
        ("UN", "United Nations", True),
        ("Jane Austen's", "Jane Austen", True),
        ("The Who", "Who", True),
        ("Wagner", "Cosima Wagner", None),
        ("Richard Wagner", "Cosima Wagner", False),
        ("Philip III of Spain", "Philip IV of Spain", False),
        ("4th Earl of Harewood", "5th Earl of Harewood", False),
        ("", "Wagner", None),
        ("", "", True),
        ("王羲之", "王献之", False),
    ],
)
def test_names_are_compared_by_their_words(one: str, other: str, same: bool | None) -> None:
    assert same_name(one, other) is same
    assert same_name(other, one) is same


def test_a_name_of_small_words_keeps_them() -> None:
    assert name_parts("The Who (band)") == ["the", "who"]
    assert name_parts("Kingdom of Prussia") == ["kingdom", "prussia"]
    assert name_parts(" () ") == []
