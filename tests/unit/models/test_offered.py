"""The catalogue of what can be downloaded."""

from __future__ import annotations

from pathlib import Path

import pytest

from atomr_local.errors import InputError
from atomr_local.models.catalog.offered import Catalogue, catalogue, offered_model
from atomr_local.system import paths


def test_the_shipped_catalogue() -> None:
    found = catalogue()
    names = [item.name for item in found.model]
    assert len(set(names)) == len(names) >= 5
    assert all(item.licence and 100e6 < item.size < 10e9 for item in found.model)
    model = offered_model(names[0])
    assert model.url("https://hub.example/") == f"https://hub.example/{model.repository}/resolve/main/{model.file}"
    assert {"simple", "en"} <= {item.language for item in found.wikipedia}


def test_an_unknown_model_names_those_offered() -> None:
    with pytest.raises(InputError, match="no model 'gpt'") as caught:
        offered_model("gpt")
    assert "qwen2.5-0.5b-instruct" in caught.value.hint


@pytest.mark.parametrize(
    "text",
    ["[[model", 'hub = "x"\n[[model]]\nname = "../evil"', 'hub = "x"\nother = 1', "\0"],
)
def test_a_damaged_catalogue(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    file = tmp_path / "catalog.toml"
    monkeypatch.setattr(paths, "catalogue_file", lambda: file)
    with pytest.raises(InputError, match=r"catalog\.toml cannot be used"):
        catalogue()  # it is not there
    file.write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=r"catalog\.toml cannot be used"):
        catalogue()


def test_a_share_of_a_wikipedia_is_less_of_everything() -> None:
    english = next(item for item in catalogue().wikipedia if item.language == "en")
    assert english.download_bytes("dump", None) == english.download_bytes("dump", 10**9) == english.dump
    assert english.download_bytes("parquet", 10_000) < english.parquet / 10
    assert english.download_bytes("parquet", 3_000_000) > english.parquet / 3
    assert english.build_seconds(10_000) * 2 == pytest.approx(english.build_seconds(20_000), rel=0.01)
    assert english.index_bytes(10**9) == english.index_bytes(None)
    simple = next(item for item in catalogue().wikipedia if item.language == "simple")
    assert simple.download_bytes("parquet", 100) <= simple.parquet


def test_the_catalogue_takes_no_file_elsewhere() -> None:
    entry = {"name": "x", "repository": "a/b", "licence": "l", "parameters": "1B", "size": 1, "about": ""}
    for file in ("../x.gguf", "x.bin", "a/b.gguf"):
        with pytest.raises(ValueError, match="file"):
            Catalogue.model_validate({"hub": "https://h", "model": [entry | {"file": file}]})
