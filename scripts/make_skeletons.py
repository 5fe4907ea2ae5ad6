#!/usr/bin/env python3
"""Measure how often the graph answers questions of an operator skeleton rightly, for the scheduler of `roht`.

    scripts/make_skeletons.py --questions FILE --graph-index NAME --rows ROWS.jsonl [--limit N]
    scripts/make_skeletons.py --rows ROWS.jsonl --table [--note TEXT] [--to FILE]

FILE is a question set in the form of 2WikiMultihopQA, with `evidences`; without them only whole questions are judged.
Only its first four fifths are asked, never the development part. The first form asks them of the graph alone and adds
a line for each to ROWS, and goes on where it stopped. ROWS can take several sets, one after the other. The second
adds up the lines and writes the table of the model to FILE, beside those of other models: by default
models/skeletons.json in the program's data folder, which `roht` reads before the tables that ship. (Those are
atomr_local/strategies/roht/skeletons.json.)

The whole question counts as right if the graph's answer is a gold answer, a single look-up of its plan if it is the
object or the subject of a fact that the question's evidence has with the look-up's name. Other steps are not judged.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from atomr_lab.evaluation.metrics import same_value
from training.files import Line, read_lines
from training.splits import training_part

from atomr_local.assistant.assistant import Assistant
from atomr_local.errors import AtomrError
from atomr_local.language.names import base_key, name_key, words
from atomr_local.reasoning.trace.events import Finished
from atomr_local.reasoning.trace.schema import NodeTrace, Trace
from atomr_local.settings.schema import load_settings
from atomr_local.system import paths
from atomr_local.tree.compact import parse_compact
from atomr_local.tree.natural import skeleton
from atomr_local.tree.nodes import ROOT_ID

_OF_GRAPH = ("graph", "children", "computed")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--questions", type=Path)
    parser.add_argument("--graph-index")
    parser.add_argument("--rows", type=Path, required=True)
    parser.add_argument("--limit", type=int, default=400)
    parser.add_argument("--table", action="store_true")
    parser.add_argument("--note", default="")
    parser.add_argument("--to", type=Path, metavar="FILE")
    given = parser.parse_args()
    if given.table:
        write_table(read_lines(given.rows), given.note, given.to or paths.skeletons_file())
        return 0
    if given.questions is None or given.graph_index is None:
        parser.error("--questions and --graph-index are needed to ask")
    known = {row["question"] for row in read_lines(given.rows)} if given.rows.exists() else set[str]()
    records = [row for row in training_part(read_lines(given.questions))[: given.limit] if row["question"] not in known]
    settings = load_settings(
        sources=("graph",),
        graph_index=given.graph_index,
        strategies={"roht": {"scheduler": False}},
        features={"guess": False},
    )
    with Assistant.open(settings) as assistant, given.rows.open("a", encoding="utf-8") as rows:
        assistant.preload()  # so that every trace names the model
        for number, record in enumerate(records, 1):
            try:
                trace = asked(assistant, str(record["question"]))
            except AtomrError as error:
                print(f"\n{record['question']!r}: {error.message}", file=sys.stderr)
                continue
            rows.write(json.dumps({"question": record["question"], **row_of(trace, record)}, ensure_ascii=False) + "\n")
            rows.flush()
            print(f"\r{number} of {len(records)}", end="", file=sys.stderr)
    return 0


def asked(assistant: Assistant, question: str) -> Trace:
    for event in assistant.ask(question, strategy="roht", sources=("graph",)):
        if isinstance(event, Finished):
            if event.trace.status == "failed":
                raise AtomrError("; ".join(event.trace.warnings) or f"{question!r} failed")
            return event.trace
    raise AssertionError("a question ends with Finished")


def row_of(trace: Trace, record: Line) -> dict[str, Any]:
    """The model, and for each question that the graph answered its skeleton and whether the answer was right."""
    tree = parse_compact(trace.plan.compact, trace.question)
    judged = []
    for node in trace.nodes:
        # Over the graph alone the answer from the parts is the graph's, too, and of equal answers the surer one stays.
        told = sorted(node.candidates, key=lambda one: one["origin"] != "graph")
        answer = told[0]["answer"] if told and told[0]["origin"] in _OF_GRAPH else None
        kind = skeleton(tree, tree.node(node.id))
        single = node.id == ROOT_ID or tree.node(node.id).call is not None
        if answer is None or not kind or not single:
            continue  # what is told of a question between is in no set
        gold = list(map(str, record["answers"])) if node.id == ROOT_ID else step_gold(node, record)
        if gold:
            judged.append([kind, any(same_value(answer, one) for one in gold)])
    return {"model": trace.settings["model"], "adapter": trace.settings["adapter"], "judged": judged}


def step_gold(node: NodeTrace, record: Line) -> list[str]:
    """What the evidence says of the names in the step's question; empty where it names none of them."""
    text = f" {' '.join(words(node.resolved_question))} "
    found = []
    for head, _, tail in record.get("evidences") or ():
        for name, other in ((head, tail), (tail, head)):
            if f" {name_key(name)} " in text or f" {base_key(name)} " in text:
                found.append(str(other))
    return found


def write_table(rows: list[Line], note: str, file: Path) -> None:
    """Add up the rows and put the tables of their models into the file."""
    known = json.loads(file.read_text("utf-8"))["tables"] if file.exists() else []
    tables = {(one["model"], one["adapter"]): one for one in known}
    for key in dict.fromkeys((row["model"], row["adapter"]) for row in rows):
        own = [row for row in rows if (row["model"], row["adapter"]) == key]
        answered, right = Counter(kind for kind, _ in pairs(own)), Counter(kind for kind, good in pairs(own) if good)
        skeletons = {kind: {"answered": count, "right": right[kind]} for kind, count in answered.most_common()}
        about = {"model": key[0], "adapter": key[1], "questions": len(own), "note": note}
        tables[key] = {**about, "skeletons": skeletons}
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps({"tables": list(tables.values())}, indent=1, ensure_ascii=False) + "\n", "utf-8")


def pairs(rows: list[Line]) -> Iterator[tuple[str, bool]]:
    for row in rows:
        yield from ((kind, bool(good)) for kind, good in row["judged"])


if __name__ == "__main__":
    raise SystemExit(main())
