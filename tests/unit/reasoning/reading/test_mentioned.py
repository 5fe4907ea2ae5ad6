"""How much of what a question asks about its evidence mentions at all."""

from __future__ import annotations

import pytest

from atomr_local.reasoning.reading.checks import mentioned_share
from atomr_local.sources.protocol import Evidence, SourceName

PAGE = Evidence(SourceName.TEXT, "Rosa Ferrer", "Rosa Ferrer painted The Harbour in 1931.", 1.0, "q", {})


@pytest.mark.parametrize(
    ("question", "share"),
    [
        ("Who painted The Harbour?", 1.0),
        ("Who sculpted The Harbour?", 0.5),
        ("Who paints harbours?", 1.0),
        ("Which prize did Ada Lind win?", 0.0),
    ],
)
def test_the_share_of_telling_words(question: str, share: float) -> None:
    assert mentioned_share(question, [PAGE]) == pytest.approx(share)


def test_a_question_of_small_words_tells_nothing() -> None:
    assert mentioned_share("Who was it?", [PAGE]) is None
