#!/usr/bin/env python3
"""Draw a reliability diagram of finished runs: of the answers given with some confidence, how many were right?

    scripts/bench/reliability.py RUN ... [--out docs/img/reliability.svg] [--title TEXT]

RUN is a directory of `atomr eval run`; several are taken together. Counted are all guesses with a confidence, answered
or declined; to a question without an answer every guess is wrong. Each of ten bins of equal width shows the share of
right guesses with its 95% Wilson interval against their mean confidence; under it stands how many there are.
The caption gives the expected calibration error over the bins and the AUROC (`atomr_lab/evaluation/report.py`).

    scripts/bench/reliability.py runs/natural/*/atomr
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path

from atomr_lab.evaluation.report import Judged, auroc, calibration_error, is_right
from atomr_lab.evaluation.runs import RunDirectory, write_file

from atomr_local.errors import AtomrError, InputError
from atomr_local.system.sanitize import sanitize_line

BINS = 10
OUT = Path("docs/img/reliability.svg")
_Z = 1.959963984540054  # of 95%, two-sided
_LEFT, _TOP, _SIDE, _COUNTS, _WIDTH, _HEIGHT = 64, 52, 340, 70, 440, 560
_STYLE = """
  svg { color: #1f2328; background: #ffffff; font: 13px system-ui, -apple-system, "Segoe UI", sans-serif; }
  .ink { stroke: currentColor; fill: none; } .thin { stroke-opacity: .18; }
  .even { stroke-dasharray: 5 4; opacity: .55; }
  .bar { fill: #0969da; fill-opacity: .45; } .dot { fill: #0969da; } .reach { stroke: #0969da; stroke-width: 2; }
  text { fill: currentColor; } .small { font-size: 11px; opacity: .75; } .head { font-size: 15px; font-weight: 600; }
  @media (prefers-color-scheme: dark) {
    svg { color: #e6edf3; background: #0d1117; }
    .bar, .dot { fill: #58a6ff; } .reach { stroke: #58a6ff; }
  }
"""


@dataclass(frozen=True)
class Bin:
    """Guesses whose confidence lies in one part of 0 to 1.

    Attributes:
        confidence: their mean.
        share: of right ones; low, high: its 95% Wilson interval.
    """

    start: float
    end: float
    n: int
    right: int
    confidence: float
    share: float
    low: float
    high: float


def wilson(right: int, n: int) -> tuple[float, float]:
    """The 95% score interval of a share (Wilson, 1927); `n` at least 1."""
    share = right / n
    spread = _Z * math.sqrt(share * (1 - share) / n + _Z * _Z / (4 * n * n))
    middle, scale = share + _Z * _Z / (2 * n), 1 + _Z * _Z / n
    return max(0.0, (middle - spread) / scale), min(1.0, (middle + spread) / scale)


def judged(runs: Sequence[Path]) -> list[tuple[float, bool]]:
    """Confidence of every guess of the runs, and whether it is right.

    Raises:
        InputError: a directory holds no run or a damaged one, or no guess has a confidence.
    """
    told = []
    for path in runs:
        run = RunDirectory(path)
        run.description()
        told += [
            (item.confidence, is_right(item))
            for item in run.predictions()
            if item.guess and item.confidence is not None
        ]
    if not told:
        raise InputError("none of the runs holds an answer with a confidence")
    return told


def bins_of(told: Judged) -> list[Bin]:
    """The bins that hold something, from the lowest confidence on."""
    parts: list[list[tuple[float, bool]]] = [[] for _ in range(BINS)]
    for confidence, correct in told:
        parts[min(int(confidence * BINS), BINS - 1)].append((confidence, correct))
    found = []
    for number, part in enumerate(parts):
        if part:
            n, right = len(part), sum(correct for _, correct in part)
            mean = sum(confidence for confidence, _ in part) / n
            found.append(Bin(number / BINS, (number + 1) / BINS, n, right, mean, right / n, *wilson(right, n)))
    return found


def caption(told: Judged) -> str:
    right = sum(correct for _, correct in told)
    figures = [f"{len(told)} guesses, {right} right", f"ECE {calibration_error(told):.3f}"]
    if 0 < right < len(told):
        figures.append(f"AUROC {auroc(told):.3f}")
    return " · ".join(figures)


def svg(told: Judged, *, title: str) -> str:
    """The diagram as a document of its own, in light and dark."""
    found = bins_of(told)
    spoken = "; ".join(f"{b.start:.1f} to {b.end:.1f}: {b.right} of {b.n} right" for b in found)
    below = caption(told)
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" width="{_WIDTH}" '
        f'height="{_HEIGHT}" role="img" aria-labelledby="title desc">',
        f'<title id="title">{escape(sanitize_line(title))}</title>',
        f'<desc id="desc">Share of right guesses by confidence. {escape(below)}. {escape(spoken)}.</desc>',
        f"<style>{_STYLE}</style>",
        f'<text class="head" x="{_LEFT}" y="24">{escape(sanitize_line(title))}</text>',
        f'<text class="small" x="{_LEFT}" y="42">{escape(below)}</text>',
        *_axes(),
        *(line for item in found for line in _point(item)),
        *_counts(found),
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


def _x(value: float) -> str:
    return f"{_LEFT + value * _SIDE:.1f}"


def _y(value: float) -> str:
    return f"{_TOP + (1 - value) * _SIDE:.1f}"


def _axes() -> Iterator[str]:
    for tick in (0, 0.2, 0.4, 0.6, 0.8, 1):
        yield f'<path class="ink thin" d="M{_x(tick)} {_y(0)}V{_y(1)}M{_x(0)} {_y(tick)}H{_x(1)}"/>'
        yield f'<text class="small" x="{_x(tick)}" y="{_TOP + _SIDE + 16}" text-anchor="middle">{tick:g}</text>'
        yield f'<text class="small" x="{_LEFT - 8}" y="{float(_y(tick)) + 4:.1f}" text-anchor="end">{tick:g}</text>'
    yield f'<path class="ink" d="M{_x(0)} {_y(1)}V{_y(0)}H{_x(1)}"/>'
    yield f'<path class="ink even" d="M{_x(0)} {_y(0)}L{_x(1)} {_y(1)}"/>'
    yield _upright("share of right guesses", _TOP + _SIDE / 2)


def _upright(text: str, y: float) -> str:
    return f'<text x="18" y="{y}" text-anchor="middle" transform="rotate(-90 18 {y})">{text}</text>'


def _point(item: Bin) -> Iterator[str]:
    x, y = _x(item.confidence), _y(item.share)
    yield f'<path class="reach" d="M{x} {_y(item.low)}V{_y(item.high)}"/>'
    yield f'<circle class="dot" cx="{x}" cy="{y}" r="5"/>'


def _counts(found: Sequence[Bin]) -> Iterator[str]:
    """How many are in each bin, as bars under the diagram."""
    floor = _TOP + _SIDE + 40 + _COUNTS
    most = max(item.n for item in found)
    for item in found:
        height = max(1.0, _COUNTS * item.n / most * 0.8)
        left, width = _LEFT + item.start * _SIDE + 2, (item.end - item.start) * _SIDE - 4
        yield f'<rect class="bar" x="{left:.1f}" y="{floor - height:.1f}" width="{width:.1f}" height="{height:.1f}"/>'
        middle = left + width / 2
        yield f'<text class="small" x="{middle:.1f}" y="{floor - height - 4:.1f}" text-anchor="middle">{item.n}</text>'
    yield f'<path class="ink" d="M{_x(0)} {floor}H{_x(1)}"/>'
    yield f'<text x="{_LEFT + _SIDE / 2}" y="{floor + 22}" text-anchor="middle">confidence</text>'
    yield _upright("guesses", floor - _COUNTS / 2)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", nargs="+", type=Path, metavar="RUN")
    parser.add_argument("--out", type=Path, default=OUT)
    parser.add_argument("--title", default="How often is it right?")
    given = parser.parse_args(arguments)
    try:
        told = judged(given.runs)
        given.out.parent.mkdir(parents=True, exist_ok=True)
        write_file(given.out, svg(told, title=given.title))
    except (AtomrError, OSError) as error:
        print(error, file=sys.stderr)
        return 1
    print(f"{caption(told)}: {given.out}")
    for item in bins_of(told):
        low, high = 100 * item.low, 100 * item.high
        print(
            f"{item.start:.2f}–{item.end:.2f}  n {item.n:4d}  mean confidence {item.confidence:.2f}  "
            f"right {100 * item.share:5.1f}% [{low:.1f}, {high:.1f}]"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
