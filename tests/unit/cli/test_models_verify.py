"""`atomr models verify` and `atomr doctor` find damage in everything that answers rest on."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from support.command_line import Atomr
from support.gguf_files import gguf_bytes

from atomr_local.errors import MissingPartError, ModelError
from atomr_local.models.catalog import find as record
from atomr_local.models.catalog import find as starter
from atomr_local.models.catalog.find import adapter_card, require_whole, sha256_of, verify_embedder, verify_model
from atomr_local.models.gguf import read_header
from atomr_local.models.llama import weights as preparation
from atomr_local.models.llama.engine import RunOptions
from atomr_local.models.llama.prefix_cache import Snapshots
from atomr_local.models.llama.weights import prepare
from atomr_local.system import paths

CONTENT = gguf_bytes({"general.architecture": "llama"}, {"w.weight": ((4, 2), bytes(32))})


def rows_of(atomr: Atomr, *arguments: str, status: int) -> tuple[list[dict[str, str]], str]:
    """What is printed as JSON, and what is told beside."""
    out, err = atomr(*arguments, "--json", status=status)
    return json.loads(out), err


def flip(path: Path, at: int = -1) -> None:
    content = bytearray(path.read_bytes())
    content[at] ^= 1
    path.write_bytes(content)


@pytest.fixture
def weights(own_home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(preparation, "_quantise", lambda source, out, storage: out.write_bytes(CONTENT))
    monkeypatch.setattr(preparation, "worth_preparing", lambda *_: True)
    model = own_home / "m.gguf"
    model.write_bytes(CONTENT)
    return prepare(read_header(model), None, "Q8_0", own_home / "cache" / "weights")


@pytest.fixture
def read_prompt(own_home: Path) -> Path:
    Snapshots(100, own_home / "cache" / "prefixes" / "model", 10_000).put((1, 2, 3), b"state")
    return next((own_home / "cache" / "prefixes").rglob("*.prefix"))


@pytest.mark.slow
def test_damage_in_the_cache_is_found(atomr: Atomr, weights: Path, read_prompt: Path) -> None:
    rows, _ = rows_of(atomr, "models", "verify", status=0)
    assert {row["name"].split()[0] for row in rows if not row["problem"]} >= {"prepared", "read"}
    flip(weights)
    flip(read_prompt)
    rows, _ = rows_of(atomr, "models", "verify", status=1)
    assert sorted(row["name"].split()[0] for row in rows if row["problem"]) == ["prepared", "read"]
    findings, _ = rows_of(atomr, "doctor", status=1)
    broken = {item["part"].split()[0]: item for item in findings if item["state"] == "broken"}
    assert str(weights) in broken["prepared"]["detail"] and "rebuilds it" in broken["prepared"]["advice"]
    assert "1 of 1" in broken["read"]["detail"]
    rows, told = rows_of(atomr, "models", "verify", "--repair", status=0)
    assert "deleted" in told
    assert not weights.exists() and not read_prompt.exists()
    rows, _ = rows_of(atomr, "models", "verify", status=0)


def test_what_to_do_is_told(atomr: Atomr, weights: Path) -> None:
    flip(weights)
    told = atomr("models", "verify", status=1)
    assert "damaged: its content is not what was written" in told.out
    assert "rebuilds it" in told.err and "--repair" in told.err


def test_the_shipped_adapter_has_the_checksum_of_its_card(tmp_path: Path) -> None:
    [adapter] = paths.adapters_dir().glob("*.gguf")
    assert adapter_card(adapter)["sha256"] == sha256_of(adapter)
    for path in (adapter, adapter.with_suffix(".json")):
        shutil.copy(path, tmp_path / path.name)
    copy = tmp_path / adapter.name
    assert verify_model(copy).problem == ""
    flip(copy, 1_000_000)
    assert "card" in verify_model(copy).problem
    with pytest.raises(ModelError, match="is damaged"):
        require_whole(copy)


def test_the_starter_is_compared_with_the_list_of_its_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    try:
        model, embedder = starter.starter_model_path(), starter.starter_embedder_path()
    except MissingPartError as error:
        pytest.skip(f"no starter: {error.message}")
    assert "what was installed" in verify_model(model).note
    assert "fits what was installed" in verify_embedder(embedder).note
    digests = starter.installed_digests()
    assert model.resolve() in digests
    # As if the installed bytes were others: the package's files are not this test's to damage.
    wrong = dict.fromkeys(digests, "0" * 64)
    monkeypatch.setattr(record, "installed_digests", lambda: wrong)
    assert "listed by its package" in verify_model(model).problem
    assert "not the one that was installed" in verify_embedder(embedder).problem
    with pytest.raises(ModelError, match="is damaged") as caught:
        require_whole(model)
    assert "pip install" in caught.value.hint


def test_a_missing_file_of_the_embedder_is_damage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "config.json").write_text("{}")
    known = {path.resolve(): sha256_of(tmp_path / "config.json") for path in [tmp_path / "config.json"]}
    monkeypatch.setattr(record, "installed_digests", lambda: {**known, tmp_path.resolve() / "gone.json": "0" * 64})
    assert "gone.json" in verify_embedder(tmp_path).problem


def test_a_card_or_list_that_is_no_such_thing_is_no_checksum(tmp_path: Path) -> None:
    model = tmp_path / "m.gguf"
    model.write_bytes(CONTENT)
    for card in ("[1]", '{"sha256": 5}', '{"sha256": "zz"}', "[" * 100_000, "\0", '{"sha256": null}'):
        model.with_suffix(".json").write_text(card)
        assert verify_model(model).note == "its header and length fit; no checksum is recorded"


def test_a_damaged_model_is_not_loaded_where_its_checksum_is_known(
    own_home: Path, atomr: Atomr, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = own_home / "m.gguf"
    model.write_bytes(CONTENT)
    known = record.ModelRecord("https://example.org/m.gguf", "none", len(CONTENT), sha256_of(model), True, "2026-01-01")
    record.record_path(model).write_bytes(known.text())
    flip(model)
    ask = ["ask", "Who wrote Emma?", "--strategy", "closed-book", "--model", str(model)]
    assert "is damaged: its SHA-256" in atomr(*ask, status=1).err

    def reached(*_: object, **__: object) -> None:
        raise ModelError("the model is about to be tried out")

    # Prepared weights are read in its place, and have a checksum of their own.
    monkeypatch.setattr("atomr_local.models.llama.probe.working_way", reached)
    kept = own_home / "cache" / "weights"
    kept.mkdir(parents=True)
    name = preparation.fingerprint(preparation.VERSION, "Q8_0", files=(model, None))
    options = RunOptions(storage="auto", cache=own_home / "cache")
    assert not preparation.is_prepared(model, None, options)
    (kept / f"{name}.{'0' * 32}.gguf").touch()
    assert preparation.is_prepared(model, None, options)
    assert not preparation.is_prepared(model, None, RunOptions(cache=own_home / "cache"))
    assert not preparation.is_prepared(model, model, options)
    assert "about to be tried out" in atomr(*ask, status=1).err
