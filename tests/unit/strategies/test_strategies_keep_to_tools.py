"""Strategies reach model and sources through their tools alone."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from support.fake_parts import FakeBackbone, FakeSource, toolbox
from support.places import ROOT

from atomr_local.models.templates import Style
from atomr_local.strategies.shared.tasks import Tasks
from atomr_local.strategies.shared.trained import TrainedTasks, tasks_of

FOLDER = ROOT / "atomr_local" / "strategies"
STRATEGIES = sorted(file for file in FOLDER.rglob("*.py") if file.name != "protocol.py")  # that one makes the tools
# Of a backbone or a source; `generate` is also what `tools.asking` offers.
FORBIDDEN = {"backbone", "_backbone", "sources", "_sources", "count_tokens", "retrieve"}
NAMES = {"Backbone", "GenerationRequest", "KnowledgeSource", "SourceTools", "open_source"}


def breaches(text: str) -> list[str]:
    """What of a module's text touches a backbone or a source."""
    found = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Attribute):
            of_asking = (isinstance(node.value, ast.Attribute) and node.value.attr == "asking") or (
                isinstance(node.value, ast.Name) and node.value.id == "asking"
            )
            if not of_asking and (node.attr in FORBIDDEN or node.attr == "generate"):
                found.append(node.attr)
        elif isinstance(node, ast.ImportFrom):
            found += [alias.name for alias in node.names if alias.name in NAMES]
            if (node.module or "").startswith(("atomr_local.models.llama", "atomr_local.models.openai")):
                found.append(node.module or "")
        elif isinstance(node, ast.Constant) and node.value in FORBIDDEN:  # getattr(tools, "backbone")
            found.append(str(node.value))
    return found


@pytest.mark.parametrize("file", STRATEGIES, ids=lambda file: str(file.relative_to(FOLDER)))
def test_no_strategy_touches_a_backbone_or_a_source(file: Path) -> None:
    assert breaches(file.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    "text",
    [
        "tools.backbone.generate(request)",
        "tools.reader.backbone",
        "tools.retriever.sources['text']",
        "source.retrieve(request, cancellation)",
        "tools.planner._backbone",
        "from atomr_local.models.protocol import GenerationRequest",
        "getattr(tools, 'backbone')",
    ],
)
def test_a_breach_is_seen(text: str) -> None:
    assert breaches(text)


def retrievals(text: str) -> list[str]:
    """The ways in which a module asks the sources."""
    attributes = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Attribute)]
    of_retriever = [
        node for node in attributes if getattr(node.value, "attr", getattr(node.value, "id", "")) == "retriever"
    ]
    return [node.attr for node in of_retriever if node.attr in {"ask", "everywhere"}]


def test_written_queries_go_to_the_sources_one_way() -> None:
    """Where nothing of a passage can leave; `single` asks the user's own question."""
    asking = {str(file.relative_to(FOLDER)): retrievals(file.read_text(encoding="utf-8")) for file in STRATEGIES}
    assert {name: found for name, found in asking.items() if found} == {
        "shared/tools.py": ["ask"],
        "single.py": ["everywhere"],
    }


def test_asking_may_generate() -> None:
    assert breaches("tools.asking.generate(0, 'plan', prompt, None, 10)") == []


def test_the_toolbox_hands_out_neither_backbone_nor_sources() -> None:
    backbone, source = FakeBackbone(), FakeSource("text")
    handed_out = vars(toolbox("Who?", backbone, source))
    assert not {"backbone", "sources", "style", "verifies", "span_reader"} & set(handed_out)
    assert not any(value in (backbone, source) for value in handed_out.values())


def styles(text: str) -> list[str]:
    """What of a module's text asks in which style the model writes, or has it fill in a form."""
    names = {"lean", "writer", "style"}
    return [node.attr for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Attribute) and node.attr in names]


def test_methods_know_no_prompt_style() -> None:
    """The tasks do, and the loop whose rounds are forms; `dsp` keeps its worked examples by model and style."""
    found = {str(file.relative_to(FOLDER)): set(styles(file.read_text(encoding="utf-8"))) for file in STRATEGIES}
    assert {name: known for name, known in found.items() if known} == {
        "dsp.py": {"style"},
        "shared/loop.py": {"writer"},
        "shared/tasks.py": {"writer"},
        "shared/trained.py": {"lean"},
    }


@pytest.mark.parametrize(("style", "tasks"), [("full", Tasks), ("lean", TrainedTasks)])
def test_the_tasks_are_chosen_by_the_style_of_the_model(style: Style, tasks: type[Tasks]) -> None:
    assert type(tasks_of("Who?", toolbox("Who?", FakeBackbone(), style=style))) is tasks
