"""Models and adapters by name, and `atomr models`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from support.gguf_files import gguf_bytes, lora_adapter

from atomr_local.cli.commands.models import models
from atomr_local.errors import ModelError
from atomr_local.models.catalog.find import find_adapter, find_model, list_models
from atomr_local.system import paths

TENSORS = {"w.weight": ((4, 2), bytes(32))}
PAIR = {"w.weight.lora_a": ((4, 1), bytes(16)), "w.weight.lora_b": ((1, 2), bytes(8))}


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ATOMR_HOME", str(tmp_path))
    for variable in ("ATOMR_MODEL", "ATOMR_ADAPTER", "ATOMR_EMBEDDER"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setattr(paths, "adapters_dir", lambda: tmp_path / "shipped")
    (tmp_path / "models" / "adapters").mkdir(parents=True)
    (tmp_path / "shipped").mkdir()
    return tmp_path


def add_model(home: Path, name: str = "tiny", title: str = "Tiny 1B") -> Path:
    path = home / "models" / f"{name}.gguf"
    path.write_bytes(gguf_bytes({"general.architecture": "llama", "general.name": title}, TENSORS))
    return path


def test_models_by_name_and_path(home: Path) -> None:
    path = add_model(home)
    assert find_model("tiny") == path
    assert find_model(str(path)) == path
    assert find_model("elsewhere/x.gguf") == Path("elsewhere/x.gguf")
    assert find_model("~/x.gguf") == Path.home() / "x.gguf"
    with pytest.raises(ModelError, match="no model named 'huge'") as caught:
        find_model("huge")
    assert "starter, tiny" in caught.value.hint


def test_the_starter_is_found(starter_file: Path) -> None:
    assert find_model("starter") == starter_file


def test_an_adapter_is_taken_for_the_model_that_its_card_names(home: Path) -> None:
    model, other = add_model(home), add_model(home, "other", "Other 2B")
    shipped = lora_adapter(home / "shipped" / "plans.gguf", PAIR)
    assert find_adapter("auto", model) is None  # no card
    shipped.with_suffix(".json").write_text(json.dumps({"base_model": "Tiny 1B"}))
    assert find_adapter("auto", model) == shipped
    assert find_adapter("auto", other) is None
    assert find_adapter("none", model) is None
    own = lora_adapter(home / "models" / "adapters" / "mine.gguf", PAIR)
    assert find_adapter("mine", model) == own
    assert find_adapter(str(own), other) == own
    with pytest.raises(ModelError, match="no adapter named 'theirs'") as caught:
        find_adapter("theirs", model)
    assert "plans, mine" in caught.value.hint


@pytest.mark.parametrize("card", ["", "[]", "{", '{"base_model": 3}', "[" * 100_000, '{"base_model": "\\ud800"}'])
def test_cards_that_are_none_are_passed_over(home: Path, card: str) -> None:
    model = add_model(home)
    lora_adapter(home / "shipped" / "plans.gguf", PAIR).with_suffix(".json").write_text(card)
    assert find_adapter("auto", model) is None


def test_the_list_shows_damaged_files_too(home: Path) -> None:
    add_model(home)
    (home / "models" / "broken.gguf").write_bytes(b"GGUF")
    lora_adapter(home / "models" / "adapters" / "mine.gguf", PAIR)
    found = {(entry.name, entry.kind): entry for entry in list_models()}
    assert found["tiny", "model"].header is not None
    assert "not a GGUF file" in found["broken", "model"].problem
    assert found["mine", "adapter"].header is not None


def test_models_list_and_path(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = add_model(home)
    adapter = lora_adapter(home / "shipped" / "plans.gguf", PAIR)
    adapter.with_suffix(".json").write_text(json.dumps({"base_model": "Tiny 1B"}))
    (home / "models" / "\x1b[31mred.gguf").write_bytes(b"no")
    monkeypatch.setenv("ATOMR_MODEL", "tiny")
    runner = CliRunner()
    rows = {row["name"]: row for row in json.loads(runner.invoke(models, ["list", "--json"]).stdout)}
    assert rows["tiny"]["default"] and rows["plans"]["default"]
    assert rows["tiny"]["path"] == str(path)
    assert rows["plans"]["kind"] == "adapter"
    shown = runner.invoke(models, ["list"]).stdout
    assert "\x1b" not in shown
    [line] = [line for line in shown.splitlines() if "tiny" in line]
    assert line.startswith("*")
    assert "unusable" in shown
    assert runner.invoke(models, ["path", "tiny"]).stdout == f"{path}\n"
    assert runner.invoke(models, ["path", "plans"]).stdout == f"{adapter}\n"
    assert isinstance(runner.invoke(models, ["path", "huge"]).exception, ModelError)
