from __future__ import annotations

import time
from dataclasses import dataclass

import pytest

from atomr_local.cli import progress as progress_module
from atomr_local.cli.output import note
from atomr_local.cli.progress import Pace, build_progress, report_lost, report_skipped


@dataclass
class State:
    stage: str
    passages: int
    done: int
    total: int = 1000


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def test_rate_and_remaining_time_count_from_where_this_run_began() -> None:
    clock = Clock()
    pace = Pace(clock)
    assert (pace.share, pace.rate, pace.remaining, str(pace)) == (0.0, None, None, "")
    pace.take("embedding", 500, 1000, 5_000)  # done by an earlier run
    assert (pace.rate, pace.remaining, str(pace)) == (None, None, "")
    clock.now += 10
    pace.take("embedding", 600, 1000, 5_400)
    assert (pace.share, pace.rate, pace.remaining) == (0.6, 40.0, 40.0)
    assert str(pace) == "40/s, about 40 s left"
    clock.now += 1
    pace.take("indexing", 1000, 1000, 5_400)
    assert (pace.rate, pace.remaining, str(pace)) == (None, None, "")


def test_plain_lines_when_not_a_terminal(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock()
    monkeypatch.setattr(progress_module.time, "monotonic", clock)
    with build_progress("text") as show:
        for step in range(9):
            show(State("embedding", 100 * step, 100 * step))
            clock.now += 10
        show(State("indexing", 900, 1000))
    out, err = capsys.readouterr()
    assert out == ""
    assert err.splitlines() == [
        "embedding …",
        "embedding: 30%, 300 passages, 10/s, about 70 s left",
        "embedding: 60%, 600 passages, 10/s, about 40 s left",
        "indexing …",
    ]


def test_long_silence_is_told_to_a_pipe(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress_module, "line_every", lambda: 0.0)
    monkeypatch.setattr(progress_module, "_SHORTEST_WAIT", 0.01)
    with build_progress("text") as show:
        show(State("reading", 0, 0))
        until = time.monotonic() + 30
        while "reading: still at it" not in (told := capsys.readouterr().err) and time.monotonic() < until:
            time.sleep(0.02)
    assert "reading: still at it" in told


def test_what_is_told_beside_the_bar_has_a_line_of_its_own(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")
    with build_progress("text") as show:
        show(State("embedding", 100, 1))
        note("it\x1b[2J goes on")
    _, err = capsys.readouterr()
    assert "embedding" in err, "there is a bar"
    before, _, after = err.partition("it goes on")
    assert before.rpartition("\x1b[2K")[2].strip() == "", "the bar is wiped away before"
    assert after.startswith("\n")
    assert "\x1b[2J" not in err


@pytest.mark.parametrize(
    ("count", "kinds", "lines"),
    [
        (0, [], []),
        (1, ["line"], ["1 line was skipped:", "  a:7: torn"]),
        (4, ["line", "line"], ["4 lines were skipped, such as:", "  a:7: torn", "  b:7: torn"]),
        (1, ["page"], ["1 page was skipped:", "  a, page 7: torn"]),
        (9, ["entry"], ["9 entries were skipped, such as:", "  a, entry 7: torn"]),
        (9, ["row", "line"], ["9 records were skipped, such as:", "  a, row 7: torn", "  b:7: torn"]),
    ],
)
def test_skipped_records_are_called_what_the_reader_counts(
    count: int, kinds: list[str], lines: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    of = dict(zip("ab", kinds, strict=False))
    report_skipped({"count": count, "samples": [[file, 7, "torn"] for file in of]}, lambda file: of[file])
    assert capsys.readouterr().err.splitlines() == lines


def test_what_limits_left_out_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    report_lost({})
    report_lost(None)
    assert capsys.readouterr().err == ""
    report_lost({"tables": 1, "table rows": 20})
    assert capsys.readouterr().err.endswith("too large: 20 table rows, 1 tables\n")
