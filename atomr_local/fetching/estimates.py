"""How long things take, in words: estimates, and said to be such wherever they are shown."""

from __future__ import annotations

from atomr_local.indexing.space import human_size

SLOW, FAST = 1_000_000, 10_000_000  # bytes per second: connections that the time is told for


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
