"""Estimates of sizes and times."""

from __future__ import annotations

import pytest

from atomr_local.fetching.estimates import duration, transfer_time, wikidata_slice


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0, "0 s"),
        (89, "89 s"),
        (90, "2 min"),
        (600, "10 min"),
        (7200, "2 h 0 min"),
        (12_000, "3 h 20 min"),
        (200_000, "2 d 7 h"),
    ],
)
def test_durations(seconds: float, words: str) -> None:
    assert duration(seconds) == words


def test_the_time_of_a_transfer() -> None:
    assert transfer_time(2_000_000_000) == "about 3 min at 10.0 MB/s, 33 min at 1 MB/s"
    assert transfer_time(2_000_000_000, 5_000_000) == "about 7 min at 5.0 MB/s, 33 min at 1 MB/s"
    assert transfer_time(2_000_000, 500_000) == "about 4 s at 500.0 kB/s"
    assert transfer_time(600_000_000, 0) == "about 60 s at 10.0 MB/s, 10 min at 1 MB/s"


def test_titles_and_a_low_rate_take_longer() -> None:
    requests, size, seconds = wikidata_slice(1000)
    assert (requests, size) == (40, 21_000_000)
    assert wikidata_slice(1000, 1000)[0] == 60
    assert wikidata_slice(1000, rate=0.1)[2] == 5 * seconds
