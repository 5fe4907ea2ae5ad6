"""Estimates of sizes and times, in words."""

from __future__ import annotations

from atomr_local.indexing.builds.space import human_size

ENTITIES_A_REQUEST = 50  # of Wikidata's API, at most
# Experience with articles of Wikipedia: they point to about as many other items; a line takes some 15 kB of the
# article's item and 6 kB of the others, an answer about two seconds.
_LINKED = 1.0
_BYTES, _LINKED_BYTES = 15_000, 6_000
_ANSWER_SECONDS = 2.0
SLOW, FAST = 1_000_000, 10_000_000  # bytes per second: the connections that times are estimated for


def duration(seconds: float) -> str:
    """As in "45 s", "12 min", "3 h 20 min", "2 d 4 h"."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    if minutes < 60:
        return f"{minutes} min"
    if minutes < 48 * 60:
        return f"{minutes // 60} h {minutes % 60} min"
    return f"{minutes // 1440} d {minutes % 1440 // 60} h"


def transfer_time(size: int, rate: float = 0) -> str:
    """How long it takes to fetch `size` bytes, in words; `rate` is the user's limit in bytes per second or 0."""
    if rate and rate <= SLOW:
        return f"about {duration(size / rate)} at {human_size(int(rate))}/s"
    fast = min(rate or FAST, FAST)
    return f"about {duration(size / fast)} at {human_size(int(fast))}/s, {duration(size / SLOW)} at 1 MB/s"


def wikidata_slice(count: int, titles: int = 0, rate: float = 2.0) -> tuple[int, int, float]:
    """Requests, bytes on disk and seconds that a slice of Wikidata about `count` entities takes, roughly.

    Args:
        titles: how many of them are first to be found by their title.
        rate: requests a second at most.
    """
    asked = -(-titles // ENTITIES_A_REQUEST) + -(-count // ENTITIES_A_REQUEST)
    requests = asked + round(count * _LINKED / ENTITIES_A_REQUEST)
    return requests, round(count * (_BYTES + _LINKED * _LINKED_BYTES)), requests * max(_ANSWER_SECONDS, 1 / rate)
