"""Fit the confidence of an adapter: how likely an answer with given signals is right.

    scripts/calibrate.py --adapter models/adapters/NAME.gguf --set questions.jsonl … --rows rows.jsonl
    scripts/calibrate.py --adapter models/adapters/NAME.gguf --set questions.jsonl … --rows rows.jsonl --part 1/2
    scripts/calibrate.py --adapter models/adapters/NAME.gguf --rows rows.jsonl --ablate

A set is FILE[:INDEX][@SOURCE[+SOURCE]], such as natural.jsonl, held_back.jsonl:2wiki or held_back.jsonl:2wiki@text.
Without INDEX every question is asked of the index that its line names as "corpus"; without sources of the text, and of
the graph of that name where there is one. Lines are {"question", "answers" or "answer", "answerable"?, "corpus"?,
"kind"?}; to a question with `answerable: false` every answer is wrong.

Each question is answered by the tree and by direct RAG; their signals and whether they are right are kept in the
rows. With --rows alone they are fitted anew without asking.
With --part several processes may share the questions; nothing is fitted then.
The report is cross-validated; at the bound `accept`, right answers declined and wrong ones given are fewest. Use
questions that the adapter was not trained on and that nothing is reported on.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

from atomr_local.models.catalog.find import sha256_of
from atomr_local.reasoning.confidence import FEATURES, Calibration
from training.calibration import fitting
from training.calibration.rows import QuestionSet, Row, measured
from training.files import read_lines

_ENOUGH = 100  # answers, for a share of them to mean something
WAYS = ("tree", "direct", "step")


def report(rows: list[Row], made: list[fitting.Outcome], folded: Any, accept: float) -> dict[str, Any]:
    """Print what the cross-validation says, and give back what the card keeps of it."""
    answerable = sum(row["answerable"] for row in rows)
    print(f"{len(rows)} questions, {answerable} with an answer; ways: {dict(Counter(row['way'] for row in rows))}")
    print(f"{'':12s}{fitting.HEADER}")
    for way in WAYS[:2]:
        print(f"{way:12s}{fitting.of_way(folded, way)}")
    whole = fitting.of_outcomes(made)
    print(f"{'decided':12s}{whole}")
    right = [o for o in made if o.right]
    lost = sum(o.confidence < accept for o in right) / max(1, len(right))
    wrong = [o for o in made if o.row["answerable"] and not o.right]
    without = [o for o in made if not o.row["answerable"]]

    def declined(some: list[fitting.Outcome]) -> float:
        return sum(not o.answered or o.confidence < accept for o in some) / max(1, len(some))

    print(
        f"accept {accept:.3f}: right answers lost {100 * lost:.1f}%, wrong ones declined {100 * declined(wrong):.1f}%, "
        f"unanswerable ones declined {100 * declined(without):.1f}% of {len(without)}"
    )
    for kind in sorted({row["mix"] for row in rows}):
        print(f"  {kind:32s}{fitting.of_outcomes([o for o in made if o.row['mix'] == kind])}")
    return {
        "auroc": round(whole.auroc, 3),
        "ece": round(whole.ece, 3),
        "coverage_at_90": round(100 * whole.coverage_at_90, 1),
        "right_lost": round(100 * lost, 1),
        "unanswerable_declined": round(100 * declined(without), 1),
    }


def ablate(rows: list[Row], sure: float, folds: int, seed: int) -> None:
    """Print what each signal is worth: by itself, and AUROC of the whole without it."""
    base = fitting.of_outcomes(fitting.outcomes(fitting.cross_validated(rows, folds=folds, seed=seed), sure))
    print(f"\nall signals: AUROC {base.auroc:.3f}, ECE {base.ece:.3f}, coverage at 90% {100 * base.coverage_at_90:.1f}")
    print(f"{'signal':12s}{'alone: tree':>12s}{'direct':>8s}   without it: AUROC, change, ECE")
    groups = [frozenset({name}) for name in FEATURES] + [
        frozenset({"reading", "leaves"}),
        frozenset({"verify", "verified"}),
    ]
    for group in groups:
        by_itself = [fitting.alone(rows, way, *group) if len(group) == 1 else None for way in WAYS[:2]]
        if len(group) == 1 and not any(by_itself):
            continue
        folded = fitting.cross_validated(rows, group, folds=folds, seed=seed)
        left = fitting.of_outcomes(fitting.outcomes(folded, sure))
        shown = "".join(f"{'–' if value is None else f'{value:.3f}':>8s}" for value in by_itself)
        print(f"{'+'.join(sorted(group)):16s}{shown}   {left.auroc:.3f} {left.auroc - base.auroc:+.3f} {left.ece:.3f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--adapter", type=Path, required=True)
    parser.add_argument("--set", action="append", default=[], metavar="FILE[:INDEX][@SOURCES]")
    parser.add_argument("--limit", type=int, default=100_000, help="questions of each set at most")
    parser.add_argument("--rows", type=Path, help="what is measured is kept here, and what is there is not asked again")
    parser.add_argument(
        "--part", default="1/1", metavar="K/N", help="measure every N-th question from the K-th on, no more"
    )
    parser.add_argument("--ablate", action="store_true", help="print what each signal is worth")
    parser.add_argument("--isotonic", action="store_true", help="make the probabilities monotone shares as well")
    parser.add_argument("--dry-run", action="store_true", help="leave the card as it is")
    parser.add_argument("--folds", type=int, default=5)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    rows = read_lines(given.rows) if given.rows and given.rows.exists() else []
    known = {(row["mix"], row["question"]) for row in rows}
    part, parts = map(int, given.part.split("/"))
    sets = [QuestionSet.parse(item) for item in given.set]
    for row in measured(given.adapter, sets, given.limit, known, part - 1, parts):
        rows.append(row)
        told = " ".join(f"{way}:{'+' if row[way]['right'] else '-'}" for way in WAYS[:2] if row[way])
        print(f"{row['mix']} {row['way']} {told} {row['question']!r}", flush=True)
        if given.rows:
            with given.rows.open("a", encoding="utf-8") as stream:
                stream.write(json.dumps(row) + "\n")
    if parts > 1:
        return
    if not rows:
        raise SystemExit("no rows: give --set, or --rows with a file that holds some")
    folded = fitting.cross_validated(rows, folds=given.folds, seed=given.seed)
    sure = fitting.best_sure(folded)
    made = fitting.outcomes(folded, sure)
    accept = fitting.accepted((o.confidence, o.right) for o in made if o.answered)
    kept = report(rows, made, folded, accept)
    if given.ablate:
        ablate(rows, sure, given.folds, given.seed)
    fitted = fitting.calibration(rows, sure=sure)
    if given.isotonic:
        fitted = monotone(fitted, folded)
    models = {way: model for way in WAYS if (model := fitting.written(getattr(fitted, way))) is not None}
    entry = {
        "model": models,
        "sure": sure,
        "accept": round(accept, 3),
        "questions": len(rows),
        "cross_validated": kept,
    }
    if given.dry_run:
        print(json.dumps(entry, indent=1))
        return
    card_path = given.adapter.with_suffix(".json")
    card = json.loads(card_path.read_text("utf-8"))
    before = card.get("calibration", {})  # calibrate_pointing.py has a part of it
    card["calibration"] = before | entry | {"model": before.get("model", {}) | models}
    card["sha256"] = sha256_of(given.adapter)
    card_path.write_text(json.dumps(card, indent=1) + "\n", encoding="utf-8")
    print(f"sure {sure}, accept {accept:.3f}: written to {card_path}")


def monotone(fitted: Calibration, folded: Any) -> Calibration:
    """With knots by the probabilities that the cross-validation gave."""
    pairs: dict[str, list[tuple[float, bool]]] = {"tree": [], "direct": []}
    for row, by in folded:
        for way, told in pairs.items():
            model = getattr(by, way)
            if model is not None:
                told += [(model.probability(s), right) for s, right, _ in fitting.samples([row], way)]

    def known(way: str) -> Any:
        model, told = getattr(fitted, way), pairs[way]
        return fitting.isotonic(model, told) if model is not None and len(told) >= _ENOUGH else model

    return replace(fitted, tree=known("tree"), direct=known("direct"))
