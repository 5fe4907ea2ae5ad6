"""Lists of English words that build on one another."""

from __future__ import annotations

from atomr_local.language.words import english, relation_words


def test_what_says_nothing_tells_no_entity_from_another_either() -> None:
    about = relation_words().about
    assert about > english().stop
    assert {"name", "called"} <= about
    assert not about & {"river", "film", "singer"}
