"""What is answered to two hundred questions: answers, verdicts, guesses, and the places that are cited."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from atomr_local import Assistant
from atomr_local.assistant.asked import Answer
from atomr_local.indexing.text_index.documents import build_documents_index
from atomr_local.indexing.text_index.index import build_text_index
from atomr_local.reasoning.confidence import confidence_text
from atomr_local.reasoning.trace.telling import passages_of
from atomr_local.sources.document_places import place_words
from frozen_parts.cases import Case, Run
from frozen_parts.replaying import digest
from frozen_parts.telling import Masks, lines_of
from frozen_parts.worlds import ROOT, SHARED, SHARED_TEXTS, Models, case, home, is_starter_here, masks, models

_OWN = ROOT / "scripts" / "training_questions"
_STARTER_NUMBER = 100
_DOCUMENTS_NUMBER = 45
_QA = {"2wiki_dev2": 16, "hotpot_dev2": 12, "musique_dev2": 12}
_QA_ARTICLES = 160  # of each set, beside those that answer
# No questions, questions that lack something, and odd ways to ask.
_ODD = (
    "hello",
    "What is the capital?",
    "Where was he born?",
    "Marie Curie",
    "Tell me a joke",
    "Is the Nile longer than the Amazon, and who measured it?",
)
_COLLECTION = (
    "How many files mention honey?",
    "Which notes mention honey but not bees?",
    "Which files are about travel?",
    "How many CSV files do I have?",
    "What is the average price in expenses?",
    "How many files are in the reports folder?",
    "What is in this collection?",
    "Which files mention zebras?",
    "How many emails mention the report?",
    "What does the report say about the roof of the mill?",
    "who is the owner of invoice 2",
    "What should I do when I see a swarm in a tree?",
    "When was the mill inspected?",
    "what is the total of the expenses",
    "Who wrote the mail about honey?",
)
# Of an answer: what holds texts of the passages, or the question.
_TEXTS = ("question", "understood as", "passages", "plan", "cited")
_SAVED = 10  # questions, after which a recording keeps what it has
_EDITED = 1_700_000_000  # when the files of a made folder were last changed


@dataclass(frozen=True)
class _Set:
    """Questions, and the settings that they are asked with."""

    name: str
    questions: Sequence[str]
    settings: Mapping[str, Any]

    @property
    def is_shared(self) -> bool:
        """Whether the texts are from ../shared, of which nothing is copied into the project."""
        return self.name.startswith("qa/")


def cases(run: Run) -> Iterator[Case]:
    if missing := is_starter_here():
        for name in ("starter/", "folder/", "collection/", "qa/"):
            run.skipped[name] = missing
        return
    hidden = masks(run)
    with home(run.scratch / "home"), models(run, "questions", ("lean", SHARED_TEXTS)) as known:
        for asked in _sets(run, known["lean"]):
            used = known[SHARED_TEXTS if asked.is_shared else "lean"]
            with used.assistant(**asked.settings) as assistant:
                for number, question in enumerate(asked.questions, 1):
                    name = f"{asked.name}/{number:03d}" if asked.is_shared else f"{asked.name}/{question}"
                    yield _asked(name, used, hidden, assistant, question)
                    if run.recording and (number % _SAVED == 0 or number == len(asked.questions)):
                        run.tell(f"questions: {number} of {asked.name}, {used.backbone.asked} replies asked for")
                        used.save()


def _sets(run: Run, used: Models) -> Iterator[_Set]:
    starter = {"text_index": "starter", "graph_index": "starter"}
    yield _Set("starter", (*_starter_questions(), *_ODD), starter)
    folder = run.scratch / "folder"
    shutil.copytree(_OWN / "documents_dev", folder)
    _same_times(folder)
    build_documents_index([folder], "folder", embedder=used.embedder, vectors="now")
    yield _Set("folder", _document_questions(), {"text_index": "folder", "sources": ("text",)})
    _build_collection(run.scratch / "collection", used)
    yield _Set("collection", _COLLECTION, {"text_index": "collection", "sources": ("text",)})
    for name, number in _QA.items():
        file = SHARED / "qa" / f"{name}_questions.jsonl"
        if not file.is_file():
            run.skipped[f"qa/{name}/"] = f"{file.parent} is not here"
            continue
        asked = _records(file)[:number]
        articles = run.scratch / f"{name}.jsonl"
        _write_articles(SHARED / "qa" / f"{name}_corpus.jsonl", articles, asked)
        # One of them without vectors: its searches embed what they find.
        build_text_index(
            [articles], name, embedder=used.embedder, vectors="later" if name.startswith("musique") else "now"
        )
        texts = [str(one["question"]) for one in asked]
        yield _Set(f"qa/{name}", texts, {"text_index": name, "sources": ("text",)})


def _records(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


def _starter_questions() -> list[str]:
    """The starter's own, then those of the development set, of all kinds by turns."""
    own = [str(one["question"]) for one in _records(ROOT / "indexes" / "pocket" / "questions.jsonl")]
    others = [one for one in _records(_OWN / "natural_dev.jsonl") if one["corpus"] == "starter"]
    none = [str(one["question"]) for one in _records(_OWN / "natural_dev.jsonl") if one["corpus"] == "none"]
    kinds: dict[str, list[str]] = {}
    for one in others:
        kinds.setdefault(str(one["kind"]), []).append(str(one["question"]))
    turns = [found[i] for i in range(len(others)) for found in kinds.values() if i < len(found)]
    wanted = _STARTER_NUMBER - len(own) - len(_ODD) - 6
    return list(dict.fromkeys([*own, *turns[:wanted], *none[::4]]))


def _document_questions() -> list[str]:
    asked = [str(one["question"]) for one in _records(_OWN / "documents_dev.jsonl")]
    step = len(asked) / _DOCUMENTS_NUMBER
    return list(dict.fromkeys(asked[int(number * step)] for number in range(_DOCUMENTS_NUMBER)))


def _same_times(folder: Path) -> None:
    for file in sorted(folder.rglob("*")):
        os.utime(file, (_EDITED, _EDITED))


def _build_collection(folder: Path, used: Models) -> None:
    """The folder that the tests have."""
    from support.small_collection import FILES

    for path, text in FILES.items():
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    _same_times(folder)
    build_documents_index([folder], "collection", embedder=used.embedder, vectors="now")


def _write_articles(corpus: Path, file: Path, asked: Sequence[Mapping[str, Any]]) -> None:
    """The articles that answer the questions, and a fixed part of the others."""
    gold = {str(title) for one in asked for title in one["gold_titles"]}
    others, kept = 0, []
    for line in corpus.read_text(encoding="utf-8").splitlines():
        is_gold = json.loads(line)["title"] in gold
        if is_gold or others < _QA_ARTICLES:
            others += not is_gold
            kept.append(f"{line}\n")
    file.write_text("".join(kept), encoding="utf-8")


def _asked(name: str, used: Models, hidden: Masks, assistant: Assistant, question: str) -> Case:
    def lines() -> tuple[str, ...]:
        found = told(assistant.answer(question))
        if used.style == SHARED_TEXTS:
            found |= {key: digests(found[key]) for key in _TEXTS}
        return lines_of(found, hidden)

    return case(name, lines, used)


def digests(value: Any) -> Any:
    """The value with a digest in the place of each text."""
    if isinstance(value, dict):
        return {key: digests(inside) for key, inside in value.items()}
    if isinstance(value, list):
        return [digests(inside) for inside in value]
    return digest(value) if isinstance(value, str) and value else value


def told(answer: Answer) -> dict[str, Any]:
    """What a person is told."""
    trace = answer.trace
    heading, shown = passages_of(trace)
    guess = answer.guess
    return {
        "question": trace.question,
        "understood as": trace.understood_as,
        "status": trace.status,
        "answer": trace.answer,
        "answers": trace.answers,
        "kind": trace.answer_kind,
        "confidence": trace.confidence,
        "in words": confidence_text(trace.confidence),
        "basis": trace.basis,
        "reason": trace.reason,
        "advice": list(answer.advice),
        "guess": [guess.answers, guess.confidence, guess.basis] if guess is not None else None,
        "passages": [heading, *([one.source, *one.lines] for one in shown)],
        "plan": [trace.plan.origin, trace.plan.compact],
        "steps": [[node.id, node.method, node.outcome, node.answers, node.reason] for node in trace.nodes],
        "cited": [[item.source, item.title, place_words(item.locator), item.text] for item in answer.evidence],
        "warnings": trace.warnings,
        "calls": trace.totals.llm_calls,
    }
