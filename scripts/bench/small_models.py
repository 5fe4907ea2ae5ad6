#!/usr/bin/env python3
"""The tables of docs/small-models.md: every row is a run of `atomr eval run`, resumed where it stopped.

    scripts/bench/small_models.py --data DIR --home HOME --out DIR [--groups main bare] [--limit 100]

Asks the development split, the last fifth of each question set by file order. HOME holds the text indexes 2wiki,
hotpot, musique and the graph index 2wiki. `main`: every strategy with the adapter; `bare`: without the adapter. Prints
one Markdown table, differences paired by question against plain RAG. `ablation.py` beside it switches the features off.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from atomr_lab.evaluation.metrics import mean_interval

SETS = {
    "2wiki": ("2wiki_train500", 400, 100),
    "hotpot": ("hotpot_train100", 80, 20),
    "musique": ("musique_train100", 80, 20),
}


@dataclass(frozen=True)
class Row:
    """One run: on a question set, with a strategy, sources and an adapter."""

    questions: str
    strategy: str
    sources: str = "text"
    adapter: str = "auto"

    @property
    def name(self) -> str:
        parts = [self.questions, self.strategy, self.sources.replace(",", "+")]
        return "-".join([*parts, "bare"] if self.adapter == "none" else parts)


def rows(groups: list[str]) -> list[tuple[Row, Row | None]]:
    """The runs, each with the one that it is compared with."""
    made: list[tuple[Row, Row | None]] = []
    for group in groups:
        adapter = "none" if group == "bare" else "auto"
        for name in SETS:
            rag = Row(name, "rag", adapter=adapter)
            made += [(rag, None), (Row(name, "atomr", adapter=adapter), rag)]
            if name == "2wiki":
                made += [(Row(name, "atomr", sources, adapter), rag) for sources in ("text,graph", "graph")]
            made += [(Row(name, strategy, adapter=adapter), rag) for strategy in ("closed-book", "cot")]
    return made


def run(row: Row, given: argparse.Namespace) -> Path:
    stem, offset, count = SETS[row.questions]
    out: Path = given.out / row.name
    environment = os.environ | {"ATOMR_HOME": str(given.home), "ATOMR_ADAPTER": row.adapter}
    if row.adapter == "auto" and given.adapter:
        environment["ATOMR_ADAPTER"] = given.adapter
    command = [
        sys.executable, "-m", "atomr_local", "eval", "run", "--questions",
        str(given.data / "qa" / f"{stem}_questions.jsonl"), "--offset", str(offset), "--limit",
        str(min(count, given.limit)), "--strategy", row.strategy, "--sources", row.sources, "--text-index",
        row.questions, "--graph-index", "2wiki", "--out", str(out),
    ]  # fmt: skip
    print(f"== {row.name}", file=sys.stderr, flush=True)
    subprocess.run(command, env=environment, check=True, stdout=subprocess.DEVNULL)
    return out


def scores(out: Path) -> dict[str, dict[str, float]]:
    lines = (out / "predictions.jsonl").read_text("utf-8").splitlines()
    return {item["id"]: item for item in map(json.loads, lines)}


def shown(values: list[float]) -> str:
    interval = mean_interval(values)
    return f"{interval.value:.1f} [{interval.low:.1f}, {interval.high:.1f}]"


def table_line(row: Row, base: Row | None, out: Path) -> str:
    found = scores(out / row.name)
    cells = [
        row.name,
        str(len(found)),
        shown([r["em"] for r in found.values()]),
        shown([r["f1"] for r in found.values()]),
    ]
    cells.append(f"{sum(r['seconds'] for r in found.values()) / max(len(found), 1):.1f}")
    if base is not None and (out / base.name / "predictions.jsonl").exists():
        other = scores(out / base.name)
        pairs = [found[key]["f1"] - other[key]["f1"] for key in found if key in other]
        cells.append(f"{shown(pairs)} against {base.name}")
    else:
        cells.append("")
    return f"| {' | '.join(cells)} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--home", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--groups", nargs="+", choices=["main", "bare"], default=["main"])
    parser.add_argument("--only", help="only the rows whose name holds this")
    parser.add_argument("--adapter", default="", help="instead of the one that ships")
    parser.add_argument("--limit", type=int, default=100)
    parser.add_argument("--table", action="store_true", help="only print what is there")
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    wanted = [(row, base) for row, base in rows(given.groups) if not given.only or given.only in row.name]
    if not given.table:
        for row, _ in wanted:
            run(row, given)
    print("| run | n | EM | F1 | seconds a question | F1, paired difference |\n|---|---|---|---|---|---|")
    for row, base in wanted:
        if (given.out / row.name / "predictions.jsonl").exists():
            print(table_line(row, base, given.out))


if __name__ == "__main__":
    main()
