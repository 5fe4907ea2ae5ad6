"""What `calibrate.py` measures: questions answered in three ways, with the signals and whether each is right."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from atomr_lab.evaluation.metrics import same_value, score_answer
from atomr_lab.evaluation.report import RIGHT_F1

from atomr_local.assistant.assistant import Assistant
from atomr_local.indexing.store import STARTER, list_indexes
from atomr_local.reasoning.answer_selection import agree
from atomr_local.reasoning.trace.events import Finished
from atomr_local.reasoning.trace.schema import NodeTrace, Trace
from atomr_local.settings.schema import load_settings
from training.files import read_lines

Row = dict[str, Any]

_LOOKED_UP = {"search", "relate", "filter"}


@dataclass(frozen=True)
class QuestionSet:
    """A file of questions and what they are asked of.

    Attributes:
        index: only the questions on this index; None: all, each on the index that its line names as its corpus.
        sources: local sources; None: the text, and the graph of the same name where there is one.
    """

    path: Path
    index: str | None
    sources: tuple[str, ...] | None

    @classmethod
    def parse(cls, given: str) -> QuestionSet:
        """FILE[:INDEX][@SOURCE[+SOURCE]]."""
        rest, at, sources = given.partition("@")
        path, _, index = rest.partition(":")
        return cls(Path(path), index or None, tuple(sources.split("+")) if at else None)

    def groups(self, limit: int) -> dict[str, list[Row]]:
        """The first questions of the file, by index."""
        records = read_lines(self.path)
        if self.index is not None:
            records = [r for r in records if r.get("corpus", self.index) == self.index]
        groups: dict[str, list[Row]] = {}
        for record in records[:limit]:
            groups.setdefault(self.index or str(record["corpus"]), []).append(record)
        return groups

    def sources_of(self, index: str) -> tuple[str, ...]:
        if self.sources is not None:
            return self.sources
        graphs = {entry.name for entry in list_indexes() if entry.kind == "graph"} | {STARTER}
        return ("text", "graph") if index in graphs else ("text",)


def gold_of(record: Row) -> list[str]:
    """The answers that are right; none where there is no answer. All of a list together are one answer."""
    if record.get("answerable") is False or record.get("unanswerable") is True:
        return []
    answers = list(record["answers"]) if "answers" in record else [record["answer"]]
    together = [", ".join(answers)] if len(answers) > 1 else []
    return together if together and str(record.get("kind") or "").startswith("list") else answers + together


def judged(text: str, gold: list[str]) -> Row:
    """The answer with its token F1 and whether it counts as right (as `atomr eval` judges)."""
    f1 = score_answer(text, gold).f1 if gold and text else 0.0
    right = bool(text and gold) and (f1 >= RIGHT_F1 or any(same_value(text, one) for one in gold))
    return {"answer": text, "f1": f1, "right": right}


class Measuring:
    """Answers the questions of one index, with the model loaded once."""

    def __init__(self, adapter: Path, index: str, sources: tuple[str, ...]) -> None:
        self._adapter = adapter
        self._index = index
        self._sources = sources
        self._open = contextlib.ExitStack()

    def __enter__(self) -> Measuring:
        names_ = {"text_index": self._index} | ({"graph_index": self._index} if "graph" in self._sources else {})
        settings = load_settings(adapter=str(self._adapter), features={"rival": False, "pointing": False}, **names_)
        self._assistant = self._open.enter_context(Assistant.open(settings))
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()

    def row(self, record: Row) -> Row:
        """One question measured."""
        question, gold = record["question"], gold_of(record)
        tree = self._answered(question, "atomr")
        direct = self._answered(question, "rag").node(0)
        root = tree.node(0)
        row: Row = {
            "question": question,
            "index": self._index,
            "sources": list(self._sources),
            "kind": str(record.get("kind") or record.get("type") or ""),
            "answerable": bool(gold),
            "way": _way(root),
            "tree": judged(", ".join(root.answers), gold) | {"signals": root.signals},
            "direct": judged(", ".join(direct.answers), gold) | {"signals": direct.signals},
            "steps": [node.signals for node in tree.nodes if node.kind in _LOOKED_UP and node.answers],
        }
        row["direct"]["same"] = bool(direct.answers) and agree(root.answers, direct.answers)
        return row

    def _answered(self, question: str, strategy: str) -> Trace:
        for event in self._assistant.ask(question, strategy=strategy, sources=self._sources):
            if isinstance(event, Finished):
                if event.trace.status == "failed":
                    raise AssertionError("; ".join(event.trace.warnings))
                return event.trace
        raise AssertionError("a question ends with Finished")


def _way(root: NodeTrace) -> str:
    if not root.answers:
        return "nothing"
    return {"direct_rag": "direct", "closed_book": "memory"}.get(str(root.method), "tree")


def measured(
    adapter: Path, sets: list[QuestionSet], limit: int, known: set[tuple[str, str]], first: int = 0, every: int = 1
) -> Iterator[Row]:
    """Rows of the questions that are not known, by index, so that each is loaded once.

    Args:
        known: (mix of index and sources, question) of those that need not be asked.
        first, every: of each index only the questions first, first + every, first + 2 · every …
    """
    for given in sets:
        for index, records in given.groups(limit).items():
            sources = given.sources_of(index)
            mix = f"{index}@{'+'.join(sources)}"
            open_ = [record for record in records[first::every] if (mix, record["question"]) not in known]
            if not open_:
                continue
            with Measuring(adapter, index, sources) as measuring:
                for record in open_:
                    try:
                        yield measuring.row(record) | {"mix": mix}
                    except (KeyError, AssertionError) as error:
                        print(f"{record['question']!r}: {error}", file=sys.stderr)
