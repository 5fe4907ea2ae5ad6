"""The graph of 2WikiMultihopQA's training facts: every gold step is answered by Search and Relate alone."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from support.places import SHARED

from atomr_local.indexing import store
from atomr_local.indexing.graph_index.index import build_graph_index
from atomr_local.language.names import base_key
from atomr_local.sources.graph import GraphSource
from atomr_local.sources.protocol import Request, Value
from atomr_local.system.cancellation import Cancellation
from atomr_local.tree.nodes import Operator

_FACTS = SHARED / "kg" / "2wiki_train_triples.jsonl"
_QUESTIONS = SHARED / "qa" / "2wiki_train500_questions.jsonl"
pytestmark = pytest.mark.skipif(
    not (_FACTS.is_file() and _QUESTIONS.is_file()), reason="the 2WikiMultihopQA facts are not beside the project"
)


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GraphSource]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ATOMR_HOME", str(tmp_path_factory.mktemp("home")))
        manifest = build_graph_index([_FACTS], "2wiki")
        assert manifest.counts["entities"] > 1000
        opened = GraphSource.open(store.index_path("graph", "2wiki"))
        yield opened
        opened.close()


def questions() -> list[dict[str, Any]]:
    with _QUESTIONS.open(encoding="utf-8") as lines:
        return [json.loads(line) for line, _ in zip(lines, range(100), strict=False)]


def answered(source: GraphSource, name: str, relation: str, question: str = "") -> list[str]:
    search = Request(question, name, Operator.SEARCH, (Value(name),))
    heads = source.retrieve(search, Cancellation()).values
    if not heads:
        return []
    relate = Request("", f"{name} {relation}", Operator.RELATE, (heads[0], Value(relation)))
    return [value.text for value in source.retrieve(relate, Cancellation()).values]


def share(results: list[tuple[str, str, str, list[str]]]) -> float:
    """Share of exact answers; the misses are printed, for the report of a failing run."""
    misses = [result for result in results if result[3] != [result[2]]]
    for miss in misses:
        print("missed:", *miss)
    print(f"{len(results) - len(misses)} of {len(results)} exactly right")
    return 1 - len(misses) / len(results)


def test_gold_steps_as_the_evidence_words_them(source: GraphSource) -> None:
    steps = [step for question in questions() for step in question["evidences"]]
    assert len(steps) > 200
    assert share([(s, p, o, answered(source, s, p)) for s, p, o in steps]) >= 0.97


def test_first_steps_with_the_name_as_the_question_writes_it(source: GraphSource) -> None:
    results = []
    for question in questions():
        text, tails = question["question"], {o for _, _, o in question["evidences"]}
        for s, p, o in question["evidences"]:
            written = [
                text[start : start + len(title)]
                for title in {s, *question["gold_titles"]}
                if s not in tails
                and base_key(title) == base_key(s)
                and (start := text.casefold().find(title.casefold())) >= 0
            ]
            if written:
                name = max(written, key=len)
                results.append((name, p, o, answered(source, name, p, text)))
    assert len(results) > 120
    assert share(results) >= 0.97
