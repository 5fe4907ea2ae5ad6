"""The questions of before that the question box offers."""

from __future__ import annotations

import pytest
from support.history_fakes import ESCAPES, a_trace

from atomr_local.assistant.history.database import HistoryError
from atomr_local.assistant.history.store import History, history_file, recall


def test_nothing_kept_is_nothing_and_begins_no_file() -> None:
    assert recall() == []
    assert not history_file().parent.exists()


def test_different_questions_the_latest_first_clean_and_on_one_line() -> None:
    with History.open() as history:
        for question in ("Old?", "Who   wrote\nit?", "old?", f"New {ESCAPES}?", "  "):
            history.record(a_trace(question))
        history.record(a_trace("Imported?"), origin="imported")
    assert recall() == ["New ?", "old?", "Who wrote it?"]
    assert recall(2) == ["New ?", "old?"]
    assert recall(0) == []


@pytest.mark.parametrize(
    ("containing", "found"),
    [
        ("", ["100% of ÉTÉ_x?", "Who is Mary Shelley?", "Who was he?"]),
        ("who", ["Who is Mary Shelley?", "Who was he?"]),
        ("y sh", ["Who is Mary Shelley?"]),
        ("été_", ["100% of ÉTÉ_x?"]),
        ("%", ["100% of ÉTÉ_x?"]),
        ("' OR 1", []),
    ],
)
def test_those_that_contain_a_text(containing: str, found: list[str]) -> None:
    with History.open() as history:
        for question in reversed(["100% of ÉTÉ_x?", "Who is Mary Shelley?", "Who was he?"]):
            history.record(a_trace(question))
    assert recall(10, containing) == found


def test_a_foreign_file_is_told() -> None:
    history_file().parent.mkdir(parents=True)
    history_file().mkdir()
    with pytest.raises(HistoryError):
        recall()
