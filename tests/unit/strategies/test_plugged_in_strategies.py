"""Strategies of other packages: the documentation's worked example, and packages that cannot be loaded."""

from __future__ import annotations

from pathlib import Path

import pytest
from support import plugins
from support.fake_parts import FakeBackbone, FakeSource, passages, toolbox
from support.plugins import module, offer

from atomr_local.cli.main import main
from atomr_local.errors import InputError, SettingsError
from atomr_local.settings.schema import load_settings
from atomr_local.strategies import registry
from atomr_local.strategies.options import options_of
from atomr_local.strategies.registry import check_needs, check_plan

QUESTION = "Who painted it?"


@pytest.fixture
def example(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module(tmp_path, monkeypatch, "best_title", plugins.example("strategy"))
    offer(monkeypatch, registry.ENTRY_POINTS, {"best-title": "best_title:BestTitle"})


def test_the_worked_example_answers(example: None) -> None:
    text = FakeSource("text", {QUESTION: passages(("Ann", "She painted it."))})
    tools = toolbox(QUESTION, FakeBackbone(), text)
    result = registry.find_strategy("best-title").run(QUESTION, None, "model", tools)
    assert result.texts == ("Ann",)
    assert tools.recorder.trace.node(0).cited == ["e1"]


def test_the_options_of_the_worked_example_are_shown_set_and_checked(
    example: None, capsys: pytest.CaptureFixture[str]
) -> None:
    found = registry.find_strategy("best-title")
    with pytest.raises(SystemExit) as ended:
        main(["strategies", "best-title"])
    assert not ended.value.code
    shown = capsys.readouterr().out
    assert "longest (whole number, 1 to 400; default 80)" in shown
    assert "needs         the text index" in shown
    settings = load_settings(strategies={"best-title": {"longest": 2}})
    text = FakeSource("text", {QUESTION: passages(("Ann", "She painted it."))})
    tools = toolbox(QUESTION, FakeBackbone(), text, options=options_of(found, settings))
    assert found.run(QUESTION, None, "model", tools).texts == ()
    with pytest.raises(SettingsError, match="expected at least 1"):
        options_of(found, load_settings(strategies={"best-title": {"longest": 0}}))
    with pytest.raises(InputError, match="needs a text index"):
        check_needs(found, ("graph",), settings)
    with pytest.raises(InputError, match="best-title does not run plans"):
        check_plan(found)


def test_strategies_of_packages_are_listed_after_ours(example: None) -> None:
    assert list(registry.all_strategies()) == [*registry.STRATEGIES, "best-title"]


def test_a_package_that_cannot_be_loaded_is_an_error_when_asked_for_and_hides_no_other(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    offer(monkeypatch, registry.ENTRY_POINTS, {"broken": "no_such_module:Strategy"})
    with pytest.raises(SettingsError, match="'broken' cannot be loaded: ModuleNotFoundError") as told:
        registry.find_strategy("broken")
    assert "no_such_module" in told.value.hint
    assert list(registry.all_strategies()) == list(registry.STRATEGIES)


def test_no_package_replaces_a_strategy_of_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    offer(monkeypatch, registry.ENTRY_POINTS, {"rag": "no_such_module:Rag"})
    assert registry.find_strategy("rag") is registry.STRATEGIES["rag"]
    assert list(registry.all_strategies()) == list(registry.STRATEGIES)


def test_an_unknown_name_is_an_error_that_names_those_of_packages(monkeypatch: pytest.MonkeyPatch) -> None:
    offer(monkeypatch, registry.ENTRY_POINTS, {"mine": "mine:Mine"})
    with pytest.raises(SettingsError) as told:
        registry.find_strategy("nobody's")
    assert "mine" in told.value.hint
