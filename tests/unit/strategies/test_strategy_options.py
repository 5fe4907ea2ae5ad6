"""Options of strategies: from settings file, environment and code to the strategy, checked where it is found."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import pytest
from pydantic import Field
from support.fake_parts import FakeBackbone, FakeSource, entity, passages, reply, rows, toolbox

from atomr_local.errors import SettingsError
from atomr_local.reasoning.ranking import Ranking
from atomr_local.settings.schema import Settings, load_settings
from atomr_local.sources.protocol import Evidence
from atomr_local.strategies.options import (
    NoOptions,
    StrategyOptions,
    checked_options,
    described,
    options_of,
)
from atomr_local.strategies.registry import STRATEGIES, find_strategy
from atomr_local.strategies.single import RagOptions
from atomr_local.system.cancellation import Cancellation

QUESTION = "Who painted it?"


class Options(StrategyOptions):
    rounds: int = Field(7, ge=1, le=20, description="Rounds.")
    share: float = Field(0.5, ge=0, description="Share.")
    first: Literal["act", "cot"] = Field("act", description="What comes first.")
    deep: bool = Field(False, description="Deep.")
    name: str = Field("", description="Name.")
    most: int | None = Field(None, ge=1, description="Most.")


class Fake:
    name = "fake"
    options: type[StrategyOptions] = Options


def file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, text: str) -> None:
    path = tmp_path / "settings.toml"
    path.write_text(text, encoding="utf-8")
    monkeypatch.setattr(Settings, "file", path)


def test_values_are_read_as_what_they_are_also_from_texts() -> None:
    given = {"rounds": "3", "share": "0.25", "first": "cot", "deep": "true", "most": "2"}
    assert checked_options(Fake(), given) == Options(rounds=3, share=0.25, first="cot", deep=True, most=2)


@pytest.mark.parametrize("word", ["none", " None "])
def test_none_in_words_is_none_where_an_option_can_be_none_and_a_text_elsewhere(word: str) -> None:
    assert checked_options(Fake(), {"most": word, "name": word}) == Options(most=None, name=word)


@pytest.mark.parametrize(
    ("option", "value", "told"),
    [
        ("rounds", 0, "expected at least 1"),
        ("rounds", "many", "expected a whole number"),
        ("rounds", "none", "expected a whole number"),
        ("share", "nan", "expected"),
        ("share", "inf", "expected"),
        ("first", "read", "expected 'act' or 'cot'"),
        ("deep", "perhaps", "expected true or false"),
        ("most", 0, "expected at least 1"),
        ("name", "x" * 5000, "at most 4096 characters"),
    ],
)
def test_a_bad_value_is_refused_with_what_there_is(option: str, value: object, told: str) -> None:
    with pytest.raises(SettingsError, match=rf"strategies\.fake\.{option}: ") as refused:
        checked_options(Fake(), {option: value})
    assert told in refused.value.message
    assert len(refused.value.message) < 200
    assert "rounds (whole number, 1 to 20)" in refused.value.hint
    assert "first (act, cot)" in refused.value.hint


def test_an_unknown_option_is_refused_with_those_that_exist() -> None:
    with pytest.raises(SettingsError, match=r"strategies\.rag: there is no option 'topk'") as refused:
        checked_options(find_strategy("rag"), {"topk": 1})
    assert "top_k" in refused.value.hint
    with pytest.raises(SettingsError, match="there is no option") as refused:
        checked_options(find_strategy("cot"), {"top_k": 1})
    assert refused.value.hint == "The strategy cot has no options."


def test_options_come_from_the_settings_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    file(monkeypatch, tmp_path, "[strategies.rag]\ntop_k = 5\n")
    assert options_of(find_strategy("rag"), load_settings()) == RagOptions(top_k=5)


def test_the_environment_wins_over_the_file_and_a_given_value_over_both(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    file(monkeypatch, tmp_path, "[strategies.rag]\ntop_k = 5\n\n[strategies.other]\nx = 1\n")
    monkeypatch.setenv("ATOMR_STRATEGIES__RAG__TOP_K", "7")
    settings = load_settings()
    assert options_of(find_strategy("rag"), settings) == RagOptions(top_k=7)
    assert settings.strategies["other"] == {"x": 1}
    given = load_settings(strategies={"rag": {"top_k": 9}})
    assert options_of(find_strategy("rag"), given) == RagOptions(top_k=9)


def test_a_strategy_that_is_not_installed_may_have_options(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    file(monkeypatch, tmp_path, '[strategies.gone]\nx = 1\nname = "y"\n')
    assert options_of(find_strategy("rag"), load_settings()) == RagOptions()


@pytest.mark.parametrize(
    "text",
    ["strategies = 3", "[strategies]\nrag = 3", "[strategies.rag]\ntop_k = [1]", "[strategies.rag.top_k]\nx = 1"],
)
def test_what_is_no_table_of_options_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, text: str) -> None:
    file(monkeypatch, tmp_path, text)
    with pytest.raises(SettingsError, match=r"strategies: .*expected"):
        load_settings()


def test_options_that_are_not_set_are_the_defaults_and_those_of_another_strategy_an_error() -> None:
    assert RagOptions.of(NoOptions()) == RagOptions()
    assert RagOptions.of(RagOptions(top_k=2)).top_k == 2
    with pytest.raises(TypeError, match="RagOptions"):
        RagOptions.of(Options())


def test_rag_retrieves_as_many_as_its_option_says() -> None:
    text = FakeSource("text", {QUESTION: passages(("Ann", "Ann painted it."))})
    for options, top_k in ((RagOptions(top_k=6), 6), (RagOptions(), 4), (None, 4)):
        backbone = FakeBackbone(reply("Ann", evidence=[1]))
        find_strategy("rag").run(QUESTION, None, "model", toolbox(QUESTION, backbone, text, options=options, top_k=4))
        assert text.requests[-1].top_k == top_k


class LongestFirst(Ranking):
    def ranked(self, question: str, evidence: Sequence[Evidence], k: int, cancellation: Cancellation) -> list[Evidence]:
        return sorted(evidence, key=lambda item: -len(item.text))[:k]


@pytest.mark.parametrize(("options", "first"), [(None, "short"), (RagOptions(ranking=True), "long")])
def test_rag_ranks_evidence_of_several_sources_if_it_is_told_to(options: RagOptions | None, first: str) -> None:
    text = FakeSource("text", {QUESTION: passages(("short", "Ann."))})
    graph = FakeSource("graph", {QUESTION: rows("long", entity("Bob, who painted many other things"))})
    backbone = FakeBackbone(reply("Ann", evidence=[1]))
    tools = toolbox(QUESTION, backbone, text, graph, options=options, ranking=LongestFirst())
    result = find_strategy("rag").run(QUESTION, None, "model", tools)
    assert len(result.evidence) == 2
    [cited] = [item for item in result.evidence if item.id in result.cited]
    assert cited.title == first


def test_rag_leaves_the_order_of_one_source_alone() -> None:
    text = FakeSource("text", {QUESTION: passages(("short", "Ann."), ("long", "Ann painted it and more."))})
    tools = toolbox(
        QUESTION, FakeBackbone(reply("Ann", evidence=[1])), text,
        options=RagOptions(ranking=True), ranking=LongestFirst(),
    )  # fmt: skip
    assert find_strategy("rag").run(QUESTION, None, "model", tools).cited == ["e1"]


@pytest.mark.parametrize("name", list(STRATEGIES))
def test_every_option_has_a_default_and_a_meaning(name: str) -> None:
    options = find_strategy(name).options
    assert options.model_config["extra"] == "forbid"
    defaults: dict[str, Any] = options().model_dump()
    for option in described(options):
        assert option["description"] and option["values"]
        assert option["default"] == defaults[option["name"]]
