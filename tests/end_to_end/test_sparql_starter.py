"""Queries over the starter's graph: sketches as a capable model writes them, and what the starter model makes of them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from support.fake_parts import FakeBackbone, toolbox

from atomr_local import Assistant
from atomr_local.indexing import store
from atomr_local.reasoning.results import Result
from atomr_local.reasoning.trace.schema import PlanOrigin
from atomr_local.settings.schema import load_settings
from atomr_local.sources.graph import GraphSource
from atomr_local.sources.graph.sparql.process import run_query
from atomr_local.strategies.options import NoOptions, StrategyOptions
from atomr_local.strategies.protocol import Need, QuestionContext
from atomr_local.strategies.registry import STRATEGIES
from atomr_local.tree.nodes import Tree

ASKED = (
    ("How many moons does Mars have?", "count ?x: ?x | parent astronomical body | Mars", {"2"}),
    (
        "Which countries border Germany?",
        "select ?x: Germany | shares border with | ?x",
        {"Austria", "Belgium", "Czech Republic", "Denmark", "France", "Luxembourg", "Netherlands", "Poland", "Switzerland"},
    ),
    ("Does Germany border Poland?", "ask: Germany | shares border with | Poland", {"yes"}),
    (
        "Which film by Fritz Lang came out before 1930?",
        "select ?x: ?x | director | Fritz Lang; ?x | publication date | ?y where ?y < 1930 most ?y",
        {"Metropolis"},
    ),
)  # fmt: skip


@pytest.fixture
def graph(built_home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[GraphSource]:
    monkeypatch.setenv("ATOMR_HOME", str(built_home))
    opened = GraphSource.open(store.index_path("graph", "starter"))
    yield opened
    opened.close()


def test_sketches_over_the_starter_graph(graph: GraphSource) -> None:
    for question, sketch, answers in ASKED:
        tools = toolbox(question, FakeBackbone(f"Query: {sketch}"), graph)
        tools.steps.begin(question)
        assert tools.sparql is not None
        answer = tools.sparql.answer(0, question)
        assert {value.text for value in answer.values} == answers, answer
        [evidence] = tools.recorder.trace.evidence
        again = run_query(graph.graph.directory, evidence.locator["sparql"])
        assert [dict(row) for row in again.rows] == evidence.locator["rows"]


class _Asks:
    name, summary, paper = "asks-the-graph", "a query that the model sketches, for this test", ""
    needs: frozenset[Need] = frozenset({"graph"})
    options: type[StrategyOptions] = NoOptions
    uses_sources, revises, takes_plans = True, False, False

    def run(self, question: str, plan: Tree | None, origin: PlanOrigin, tools: QuestionContext) -> Result:
        assert tools.sparql is not None
        tools.steps.begin(question)
        with tools.steps.root(question) as root:
            answer = tools.sparql.answer(root.id, question)
            found = answer.queried.evidence if answer.queried is not None else None
            evidence = [found] if found is not None else []
            root.result = Result(answer.values, "sparql", evidence=evidence, cited=[item.id for item in evidence])
        return root.result


def test_what_the_starter_model_writes_runs_again_with_the_same_rows(
    built_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ATOMR_HOME", str(built_home))
    monkeypatch.setitem(STRATEGIES, _Asks.name, _Asks())
    asked = 0
    with Assistant.open(load_settings()) as assistant:
        directory = store.index_path("graph", "starter")
        for question in ("How many moons does Mars have?", "Which films did Akira Kurosawa direct?"):
            for _ in assistant.ask(question, strategy=_Asks.name):
                pass
            trace = assistant.last_trace
            assert trace is not None and trace.status in {"answered", "unknown"}, trace
            for evidence in trace.evidence:
                asked += 1
                again = run_query(directory, evidence.locator["sparql"])
                assert [dict(row) for row in again.rows] == evidence.locator["rows"]
                assert evidence.locator["sketch"]
    assert asked, "the model wrote a query for one of them"
