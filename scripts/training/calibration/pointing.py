"""Fit how likely a pointed reading is right, and from which probability on it needs no plan.

    scripts/calibrate_pointing.py --adapter models/adapters/NAME.gguf --folders FOLDERS --home HOME --rows ROWS

FOLDERS holds a folder of documents for each collection of `training_questions/documents_calibration.jsonl`, whose
README tells where they come from, and HOME a text index of each, named as its folder. Nothing was trained on these
documents. A question without an answer has no right one. Only the pointed reading is asked for. What is measured is
kept in the rows and not asked again; correct there what a reader calls right and the grader does not ("judged").
An answer is given from the bound on at which right answers declined and wrong ones given are fewest. The report is
cross-validated: each collection by a model fitted on the others.
"""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from atomr_lab.evaluation.report import auroc, calibration_error

from atomr_local.reasoning.confidence import LogisticModel
from training.calibration import fitting
from training.data.pointing import placed
from training.files import QUESTIONS, Line, read_lines
from training.grading import is_right

if TYPE_CHECKING:
    from atomr_local.assistant.assistant import Assistant
    from atomr_local.strategies.protocol import QuestionContext


def document_questions(folders: Path) -> list[Line]:
    """The questions on the folders that are there, each with the text that answers it and the index that holds it.

    Raises:
        ValueError: a document is not the one that its questions were written on.
    """
    made = []
    for row in read_lines(QUESTIONS / "documents_calibration.jsonl"):
        corpus = row["key"].split("/")[0]
        if not (folders / corpus).is_dir():
            continue
        with (folders / row["key"]).open(encoding="utf-8", newline="") as stream:
            text = stream.read()
        parts = placed(row, text)
        if parts is None:
            raise ValueError(
                f"{folders / row['key']} is another version: {row['question']!r} is not answered where it was"
            )
        quote = " ".join(text[start:end] for part in parts for start, end in part)
        made.append(row | {"quote": quote, "corpus": corpus, "answerable": row["kind"] != "n"})
    return made


@contextmanager
def question_over_text(assistant: Assistant, question: str) -> Iterator[QuestionContext]:
    """What a strategy is given for the question, over the text source alone."""
    from atomr_local.assistant.session import question_context
    from atomr_local.reasoning.trace.recorder import Recorder
    from atomr_local.system.cancellation import Cancellation

    recorder = Recorder(question, "atomr", {}, lambda _event: None)
    sources = assistant.parts.chosen(("text",), False, recorder.leaves)
    tools = question_context(assistant.parts, sources, recorder, Cancellation())
    try:
        yield tools
    finally:
        tools.close()
        assistant.parts.release(sources)


def measured(rows: list[Line], adapter: Path, known: set[str]) -> Iterator[Line]:
    from atomr_local.assistant.assistant import Assistant
    from atomr_local.reasoning.answer_selection import whole_signals
    from atomr_local.reasoning.confidence import GUESS
    from atomr_local.strategies.shared.first_reading import pointed_alone
    from atomr_local.tree.nodes import ROOT_ID

    for corpus in dict.fromkeys(row["corpus"] for row in rows):
        mine = [row for row in rows if row["corpus"] == corpus and row["question"] not in known]
        if not mine:
            continue
        with Assistant.open(text_index=corpus, sources=("text",), adapter=str(adapter)) as assistant:
            assistant.preload()
            for row in mine:
                with question_over_text(assistant, row["question"]) as tools:
                    result = pointed_alone(row["question"], tools)
                    tools.operators.guess_pointed(ROOT_ID, row["question"], result)
                right = row["answerable"] and is_right(row, result.texts, result.quoted)
                yield {
                    "question": row["question"], "corpus": corpus, "kind": row["kind"], "answerable": row["answerable"],
                    "answer": list(result.texts), "right": bool(right),
                    "signals": whole_signals(row["question"], result) if result.values else {},
                    "guess": GUESS in result.signals,
                }  # fmt: skip


def fitted(rows: list[Line]) -> tuple[LogisticModel, list[tuple[float, Line]]]:
    """The model, and the probability of each row with an answer by the model of the other collections."""
    given = [row for row in rows if row["answer"]]

    def learn(some: list[Line]) -> LogisticModel:
        model = fitting.fit([(row["signals"], row["right"], 1.0) for row in some], frozenset({"guess"}))
        if model is None:
            raise SystemExit("too few answers to fit anything")
        return model

    crossed = []
    for corpus in dict.fromkeys(row["corpus"] for row in given):
        model = learn([row for row in given if row["corpus"] != corpus])
        crossed += [(model.probability(row["signals"]), row) for row in given if row["corpus"] == corpus]
    return learn(given), crossed


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--adapter", type=Path, required=True)
    parser.add_argument("--folders", type=Path, required=True)
    parser.add_argument("--home", type=Path, required=True)
    parser.add_argument("--rows", type=Path, required=True)
    parser.add_argument(
        "--accept", type=float, help="give answers from this probability on, instead of the bound found"
    )
    parser.add_argument("--settled", type=float, default=0.6, help="from this probability on no plan is made")
    parser.add_argument("--dry-run", action="store_true")
    given = parser.parse_args()
    os.environ["ATOMR_HOME"] = str(given.home)
    rows: list[Line] = read_lines(given.rows) if given.rows.exists() else []
    for made in measured(document_questions(given.folders), given.adapter, {row["question"] for row in rows}):
        rows.append(made)
        with given.rows.open("a", encoding="utf-8") as stream:
            stream.write(json.dumps(made, ensure_ascii=False) + "\n")
    model, crossed = fitted(rows)
    accept = given.accept
    if accept is None:
        accept = fitting.accepted((probability, bool(row["right"])) for probability, row in crossed)
    report(rows, crossed, accept)
    if given.dry_run:
        return
    path = given.adapter.with_suffix(".json")
    card: dict[str, Any] = json.loads(path.read_text("utf-8"))
    card["calibration"]["model"]["pointed"] = fitting.written(model)
    card["calibration"]["settled"] = given.settled
    card["calibration"]["accept_pointed"] = accept
    card["calibration"]["pointed_questions"] = len(rows)
    path.write_text(json.dumps(card, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def report(rows: list[Line], crossed: list[tuple[float, Line]], accept: float) -> None:
    judged = [(p, bool(row["right"])) for p, row in crossed]
    answerable = [row for row in rows if row["answerable"]]
    lost = [p < accept for p, right in judged if right]
    kept = {row["question"] for p, row in crossed if p >= accept}
    without = [row for row in rows if not row["answerable"]]
    print(
        f"{len(rows)} questions; right of the answerable {sum(row['right'] for row in answerable)}/{len(answerable)}; "
        f"AUROC of what is answered {auroc(judged):.3f}, ECE {calibration_error(judged):.3f}; at {accept}: "
        f"right lost {sum(lost)}/{len(lost)}, unanswerable declined "
        f"{sum(row['question'] not in kept for row in without)}/{len(without)}, wrong of all "
        f"{sum(p >= accept and not right for p, right in judged)}/{len(rows)}"
    )
