"""What a strategy needs, and what it is not given, is refused before a model is loaded."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support.fake_embedder import FakeEmbedder
from support.plugins import module, offer

from atomr_local.assistant.assistant import Assistant
from atomr_local.assistant.session import Session
from atomr_local.errors import AtomrError, InputError, SettingsError
from atomr_local.indexing import store
from atomr_local.indexing.text_index.catalog import CATALOG
from atomr_local.indexing.text_index.index import build_text_index
from atomr_local.reasoning.planning.planner import fallback_tree
from atomr_local.settings.schema import load_settings
from atomr_local.strategies import registry
from atomr_local.strategies.registry import check_needs, check_sources

QUESTION = "Who painted it?"
NEEDY = """
class Needy:
    summary = "needy"
    needs = frozenset({{{needs}}})
    uses_sources = True
    revises = False

    def run(self, question, plan, origin, tools):
        raise AssertionError("it must not run")
"""


def needy(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, needs: str) -> None:
    module(tmp_path, monkeypatch, "needy_strategy", NEEDY.format(needs=needs))
    offer(monkeypatch, registry.ENTRY_POINTS, {"needy": "needy_strategy:Needy"})


@pytest.fixture
def no_loading(monkeypatch: pytest.MonkeyPatch) -> None:
    def load(*_: object) -> None:
        raise AssertionError("a part was loaded")

    monkeypatch.setattr(Session, "load", load)


@pytest.mark.parametrize(
    ("need", "source", "words"),
    [("graph", "graph", "a graph index"), ("pages", "text", "pages of a text index"), ("text", "text", "a text index")],
)
def test_a_source_that_is_off_is_told_before_anything_is_loaded(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, no_loading: None, need: str, source: str, words: str
) -> None:
    needy(monkeypatch, tmp_path, f'"{need}"')
    other = "text" if source == "graph" else "graph"
    told_first = f"needy needs {words}, and the source {source} is off"
    with (
        Assistant(load_settings(sources=(other,))) as assistant,
        pytest.raises(InputError, match=told_first) as told,
    ):
        assistant.ask(QUESTION, strategy="needy")
    assert "--sources" in told.value.hint


def test_an_index_that_is_not_there_is_told_before_anything_is_loaded(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, no_loading: None
) -> None:
    needy(monkeypatch, tmp_path, '"graph"')
    with Assistant(load_settings(graph_index="gone")) as assistant, pytest.raises(AtomrError, match="gone") as told:
        assistant.ask(QUESTION, strategy="needy")
    assert isinstance(told.value, InputError)
    assert "needy needs a graph index" in told.value.message


def test_an_index_of_an_earlier_version_does_not_have_the_pages(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, no_loading: None
) -> None:
    file = tmp_path / "corpus.jsonl"
    file.write_text(json.dumps({"id": "1", "title": "Hamlet", "text": "Hamlet is a play."}))
    build_text_index([file], "old", embedder=FakeEmbedder())
    needy(monkeypatch, tmp_path, '"pages"')
    check_needs(registry.find_strategy("needy"), ("text",), load_settings(text_index="old"))
    (store.index_path("text", "old") / CATALOG).unlink()
    with (
        Assistant(load_settings(text_index="old")) as assistant,
        pytest.raises(InputError, match=r"needs pages of a text index: .*no list of its articles") as told,
    ):
        assistant.ask(QUESTION, strategy="needy")
    assert told.value.hint == "Build the index again."
    needy(monkeypatch, tmp_path, '"text"')
    check_needs(registry.find_strategy("needy"), ("text",), load_settings(text_index="old"))


def test_without_any_source_that_can_be_asked_nothing_is_loaded(no_loading: None) -> None:
    nowhere = load_settings(text_index="gone", graph_index="lost")
    with Assistant(nowhere) as assistant:
        for name in ("atomr", "rag", "roht"):
            with pytest.raises(AtomrError, match="no text index named 'gone'") as told:
                assistant.ask(QUESTION, strategy=name)
            assert "Built: " in told.value.hint


def test_one_source_or_the_web_or_none_needed_will_do() -> None:
    rag = registry.find_strategy("rag")
    check_sources(rag, ("text", "graph"), load_settings(text_index="gone"), web=False)
    nowhere = load_settings(text_index="gone", graph_index="lost")
    check_sources(rag, ("text", "graph"), nowhere, web=True)
    check_sources(registry.find_strategy("closed-book"), ("text", "graph"), nowhere, web=False)


def test_what_is_needed_and_there_is_no_obstacle(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    needy(monkeypatch, tmp_path, '"graph", "pages"')
    check_needs(registry.find_strategy("needy"), ("text", "graph"), load_settings())


def test_a_plan_is_refused_before_anything_is_loaded(no_loading: None) -> None:
    with Assistant(load_settings()) as assistant, pytest.raises(InputError, match="rag does not run plans"):
        assistant.ask(QUESTION, plan=fallback_tree(QUESTION), strategy="rag")


def test_options_are_refused_before_anything_is_loaded_and_when_settings_change(no_loading: None) -> None:
    with Assistant(load_settings(strategies={"rag": {"topk": 1}})) as assistant:
        with pytest.raises(SettingsError, match="no option 'topk'"):
            assistant.ask(QUESTION, strategy="rag")
        with pytest.raises(SettingsError, match="no option 'topk'"):
            assistant.reconfigure(strategy="rag")
        assert assistant.settings.strategy == "atomr"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('needs = frozenset({"moon"})', "needs may hold"),
        ('needs = "graph"', "needs may hold"),
        ("needs = 3", "needs may hold"),
        ("options = dict", "options is no subclass"),
        ("run = None", "no method run"),
    ],
)
def test_what_a_package_says_of_its_strategy_is_checked(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, text: str, told: str
) -> None:
    run = "" if text.startswith("run") else "    def run(self, *_): ..."
    module(tmp_path, monkeypatch, "odd_strategy", f"class Odd:\n    summary = 'odd'\n    {text}\n{run}\n")
    offer(monkeypatch, registry.ENTRY_POINTS, {"odd": "odd_strategy:Odd"})
    with pytest.raises(SettingsError, match=told):
        registry.find_strategy("odd")
    assert list(registry.all_strategies()) == list(registry.STRATEGIES)


def test_a_strategy_of_the_earlier_protocol_keeps_working(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    module(
        tmp_path, monkeypatch, "old_strategy",
        "class Old:\n    name = 'old'\n    summary = 'as\\x1b[2J before'\n    uses_sources = False\n"
        "    revises = False\n    __slots__ = ()\n\n    def run(self, question, plan, origin, tools):\n        return plan\n",
    )  # fmt: skip
    offer(monkeypatch, registry.ENTRY_POINTS, {"old": "old_strategy:Old"})
    found = registry.find_strategy("old")
    assert (found.name, found.paper, found.needs, found.uses_sources, found.revises) == ("old", "", set(), False, False)
    assert found.takes_plans  # it got every plan before, and refused what it does not execute
    assert not found.options.model_fields
    assert "\x1b" not in found.summary


@pytest.mark.parametrize(
    ("source", "told"),
    [("moon", "there is no source named 'moon'"), ("web", "the source web only, and"), ("graph", "is off")],
)
def test_the_one_source_that_is_to_be_asked_is_checked_before_anything_is_loaded(
    no_loading: None, source: str, told: str
) -> None:
    options = {"self-ask": {"source": source}}
    with Assistant(load_settings(sources=("text",), strategies=options)) as assistant:
        with pytest.raises(AtomrError, match=told) as error:
            list(assistant.ask(QUESTION, strategy="self-ask"))
        assert "one of: all, text." in error.value.hint
        assert "self-ask" in error.value.message
