#!/usr/bin/env python3
"""The reader alone on SQuAD 2.0: what it finds, and whether it knows what is not there.

    scripts/bench/reading.py --data ../shared/data/reading/squad2_part.jsonl --adapter models/adapters/NAME.gguf

Asks questions about the one passage that they were asked of: as many with an answer there as without. Only articles
held back from training are used: the last five titles in file order, or those of --titles. Prints F1 and exact match
of the questions with an answer (a declined one counts 0), of guesses too; how many of each kind are declined; how well
the null score, the verification, the reading's confidence and a logistic combination of them (cross-validated) tell
answerable from unanswerable ones; and what declining by that combination comes to.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from atomr_lab.evaluation.metrics import score_answer
from atomr_lab.evaluation.report import auroc

from atomr_local.assistant.session import Session
from atomr_local.reasoning import confidence as names
from atomr_local.reasoning.asking.asking import Asking
from atomr_local.reasoning.confidence import FEATURES
from atomr_local.reasoning.reading.answer_formats import Reading
from atomr_local.reasoning.reading.reader import Reader
from atomr_local.reasoning.trace.events import Event, ModelCalled
from atomr_local.reasoning.trace.recorder import Recorder
from atomr_local.settings.schema import load_settings
from atomr_local.sources.protocol import Evidence, SourceName
from atomr_local.system.cancellation import Cancellation

HELD_BACK = 5
_WHOLE = 1000  # words: no passage of the set has more
_MOST_LOST = 0.15  # of the answerable questions, by declining


def chosen(path: Path, titles: Sequence[str], limit: int, seed: int) -> list[dict[str, Any]]:
    """At most `limit` questions with an answer and as many without, of the held-back articles."""
    rows = [json.loads(line) for line in path.read_text("utf-8").splitlines() if line.strip()]
    kept = set(titles) or set(list(dict.fromkeys(row["title"] for row in rows))[-HELD_BACK:])
    missing = kept - {row["title"] for row in rows}
    if missing:
        raise SystemExit(f"no such articles: {', '.join(sorted(missing))}")
    picked: list[dict[str, Any]] = []
    for without in (False, True):
        of_kind = [row for row in rows if row["title"] in kept and bool(row["unanswerable"]) is without]
        picked += random.Random(seed).sample(of_kind, min(limit, len(of_kind)))
    return picked


class Bench:
    """A reader on a loaded model, and what its calls took."""

    def __init__(self, parts: Session, task: str, words: int) -> None:
        self.calls: list[ModelCalled] = []
        self._recorder = Recorder("reading", "bench", {}, self._see)
        self._settings = load_settings(limits={"evidence_tokens": 3000, "passage_words": words})
        self._parts = parts
        self._task = task

    def _reader(self) -> Reader:
        """A reader for one question: its calls are limited."""
        parts = self._parts
        assert parts.backbone is not None
        asking = Asking(parts.backbone, self._recorder, Cancellation(), self._settings, parts.skills.style)
        return Reader(asking, verify=parts.skills.verifies, span_reader=parts.span_reader)

    def _see(self, event: Event) -> None:
        if isinstance(event, ModelCalled):
            self.calls.append(event)

    def read(self, row: dict[str, Any]) -> dict[str, Any]:
        """One question read: its answer or guess, and the signals of what was read."""
        found = [Evidence(SourceName.TEXT, row["title"].replace("_", " "), row["context"], 1.0, "", {}, "e1")]
        reader = self._reader()
        ask = reader.from_evidence if self._task == "read" else reader.whole
        before = len(self.calls)
        first = ask(None, row["question"], found)
        unknown = self.calls[before].completion.watched[:1]
        guessed = first if first.answers else reader.whole(None, row["question"], found, guess=True)
        guessed = reader.checked(None, guessed)
        gold = [] if row["unanswerable"] else row["answers"]
        score = score_answer(_text(guessed), gold)
        told = guessed.signals | {names.GUESS: float(not first.answers)}
        return {
            "question": row["question"],
            "answerable": bool(gold),
            "answer": _text(first),
            "guess": _text(guessed),
            "f1": score.f1 if gold else 0.0,
            "em": score.em if gold else 0.0,
            "signals": told,
            "unknown": math.exp(unknown[0]) if unknown and not math.isnan(unknown[0]) else None,
        }


def _text(reading: Reading) -> str:
    return ", ".join(reading.answers)


def percent(values: Sequence[float]) -> float:
    return 100 * sum(values) / len(values) if values else 0.0


def combined(rows: Sequence[dict[str, Any]], folds: int = 5) -> list[float]:
    """P(there is an answer) of each, by logistic models over the signals fitted on the others."""
    import numpy as np
    from sklearn.impute import SimpleImputer
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import StratifiedKFold, cross_val_predict
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    right = [row["answerable"] for row in rows]
    if min(right.count(True), right.count(False)) < folds:
        return [0.5] * len(rows)
    known = [name for name in FEATURES if any(name in row["signals"] for row in rows)]
    signals = [[FEATURES[n](row["signals"][n]) if n in row["signals"] else np.nan for n in known] for row in rows]
    model = make_pipeline(SimpleImputer(add_indicator=True), StandardScaler(), LogisticRegression())
    split = StratifiedKFold(folds, shuffle=True, random_state=0)
    found = cross_val_predict(model, np.array(signals), right, cv=split, method="predict_proba")
    return [float(probability) for probability in found[:, 1]]


def report(rows: Sequence[dict[str, Any]]) -> None:
    with_, without = [r for r in rows if r["answerable"]], [r for r in rows if not r["answerable"]]
    declined, well = percent([not r["answer"] for r in with_]), percent([not r["answer"] for r in without])
    print(f"{len(with_)} with an answer, {len(without)} without")
    print(f"F1 {percent([r['f1'] * bool(r['answer']) for r in with_]):.1f}, ", end="")
    print(f"EM {percent([r['em'] * bool(r['answer']) for r in with_]):.1f}; ", end="")
    print(f"of guesses F1 {percent([r['f1'] for r in with_]):.1f}, EM {percent([r['em'] for r in with_]):.1f}")
    print(f"declined as read: {declined:.1f}% of the answerable, {well:.1f}% of the unanswerable")
    print("AUROC (answerable against not):")
    for name, sign in ((names.NULL, -1), (names.VERIFY, 1), (names.READING, 1), (names.ANSWERABLE, 1), (names.SPAN, 1)):
        told = [(sign * r["signals"][name], r["answerable"]) for r in rows if name in r["signals"]]
        if told:
            print(f"  {name:10s} {auroc(told):.3f} (of {len(told)})")
    told = [(-r["unknown"], r["answerable"]) for r in rows if r.get("unknown") is not None]
    if told:
        print(f"  {'p(Unknown)':10s} {auroc(told):.3f} (of {len(told)})")
    probabilities = combined(rows)
    print(f"  {'combined':10s} {auroc([(p, r['answerable']) for p, r in zip(probabilities, rows, strict=True)]):.3f}")
    ordered = sorted(p for p, r in zip(probabilities, rows, strict=True) if r["answerable"])
    if not ordered:
        return
    bound = ordered[int(_MOST_LOST * len(ordered))]
    kept = [r["f1"] for p, r in zip(probabilities, rows, strict=True) if r["answerable"] and p >= bound]
    away = [p < bound for p, r in zip(probabilities, rows, strict=True) if not r["answerable"]]
    lost = 100 - 100 * len(kept) / len(with_)
    print(f"declined by the combination under {bound:.2f}: {lost:.1f}% of the answerable, ", end="")
    print(f"{percent(away):.1f}% of the unanswerable; F1 {sum(kept) / len(with_) * 100:.1f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="a file in the form of SQuAD 2.0, a question a line")
    parser.add_argument("--adapter", default="", help="default: the settings'")
    parser.add_argument("--model", default="", help="default: the settings'")
    parser.add_argument("--titles", nargs="*", default=[], help="articles to ask about; default: the last five")
    parser.add_argument("--limit", type=int, default=120, help="questions of each kind")
    parser.add_argument(
        "--task", choices=("read", "answer"), default="read", help="a look-up's prompt, or direct RAG's"
    )
    parser.add_argument("--words", type=int, default=_WHOLE, help="of a passage shown; default: all")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--rows", type=Path, help="write what was read here, a question a line")
    given = parser.parse_args()
    named = {key: value for key, value in (("adapter", given.adapter), ("model", given.model)) if value}
    parts = Session(load_settings(**named))
    parts.load((), lambda _: None)
    try:
        bench = Bench(parts, given.task, given.words)
        started = time.perf_counter()
        rows = [bench.read(row) for row in chosen(given.data, given.titles, given.limit, given.seed)]
        seconds = time.perf_counter() - started
    finally:
        parts.close()
    if given.rows:
        given.rows.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    report(rows)
    checks = [call.completion for call in bench.calls if call.purpose == "verify"]
    if checks:
        read = sum(made.evaluated_tokens for made in checks) / len(checks)
        took = sum(made.seconds for made in checks) / len(checks)
        print(f"{len(checks)} verifications, {read:.1f} tokens read and {took:.3f} s each")
    print(f"{seconds / len(rows):.2f} s a question")


if __name__ == "__main__":
    main()
