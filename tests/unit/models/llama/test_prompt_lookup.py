from __future__ import annotations

from atomr_local.models.llama.scheduler import PromptLookup


def after(lookup: PromptLookup, *tokens: int) -> PromptLookup:
    for token in tokens:
        lookup.add(token)
    return lookup


def test_what_followed_before_is_drafted() -> None:
    assert after(PromptLookup([[1, 2, 3, 4, 5, 6]]), 2, 3).draft(2) == (4, 5)
    assert after(PromptLookup([]), 7, 8, 9, 7, 8).draft(5) == (9, 7, 8)


def test_the_longer_match_goes_before_the_later_one() -> None:
    lookup = PromptLookup([[1, 2, 3, 4], [9, 2, 3, 5]])
    assert after(lookup, 1, 2, 3).draft(1) == (4,)


def test_the_latest_text_goes_first() -> None:
    assert after(PromptLookup([[2, 3, 4], [2, 3, 5]]), 2, 3).draft(1) == (5,)


def test_no_draft_runs_from_one_text_into_the_next() -> None:
    lookup = PromptLookup([[1, 2], [3, 4]])
    assert after(lookup, 1, 2).draft(3) == ()
    assert after(PromptLookup([[1, 2, 3], [4]]), 1, 2).draft(9) == (3,)


def test_nothing_known_nothing_drafted() -> None:
    assert PromptLookup([]).draft(4) == ()
    assert after(PromptLookup([[1, 2, 3]]), 8, 9).draft(4) == ()
    assert after(PromptLookup([[1, 2, 3]]), 1, 2).draft(0) == ()
    assert after(PromptLookup([[1, 2, 3]]), 1, 2).draft(-1) == ()
