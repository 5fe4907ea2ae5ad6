from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

from atomr_local.errors import MissingPartError, ModelError
from atomr_local.indexing.embedding.embedder import SentenceEmbedder, embedder_identity
from atomr_local.models.catalog.find import starter_embedder_path


@pytest.fixture(scope="module")
def directory() -> Path:
    try:
        return starter_embedder_path()
    except MissingPartError as error:
        pytest.skip(f"no embedder: {error}")


@pytest.fixture(scope="module")
def embedder(directory: Path) -> SentenceEmbedder:
    return SentenceEmbedder(directory)


def model_folder(tmp_path: Path, weights: bytes = b"w" * 100, config: str = "{}") -> Path:
    (tmp_path / "model.safetensors").write_bytes(weights)
    (tmp_path / "config.json").write_text(config)
    return tmp_path


def test_unit_vectors_of_the_declared_length(embedder: SentenceEmbedder) -> None:
    vectors = embedder.encode(["a lake", "", "x" * 10_000, "é😀\x00"])
    assert vectors.shape == (4, embedder.dimensions)
    assert vectors.dtype == np.float32
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)


def test_like_meanings_lie_close(embedder: SentenceEmbedder) -> None:
    lake, water, law = embedder.encode(
        ["the deepest lake of Italy", "a body of water near Milan", "a paragraph of tax law"]
    )
    assert lake @ water > lake @ law


def test_order_and_company_change_nothing(embedder: SentenceEmbedder) -> None:
    texts = ["short", "a text that is a good deal longer than the other one"]
    assert np.allclose(embedder.encode(texts), embedder.encode(texts[::-1])[::-1], atol=1e-5)
    assert np.allclose(embedder.encode(texts)[0], embedder.encode(texts[:1])[0], atol=1e-5)


def test_no_texts(embedder: SentenceEmbedder) -> None:
    assert embedder.encode([]).shape == (0, embedder.dimensions)


def test_the_identity_names_the_model_not_its_place(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    first, second = model_folder(tmp_path / "a"), model_folder(tmp_path / "b")
    assert embedder_identity(first) == embedder_identity(second)
    for weights, config in ((b"v" * 100, "{}"), (b"w" * 101, "{}"), (b"w" * 100, '{"a": 1}')):
        assert embedder_identity(model_folder(tmp_path / "b", weights, config)) != embedder_identity(first)


def test_a_folder_without_a_model(tmp_path: Path) -> None:
    for folder in (tmp_path, tmp_path / "absent"):
        with pytest.raises(MissingPartError, match=str(folder)) as caught:
            SentenceEmbedder(folder)
        assert caught.value.hint


@pytest.mark.parametrize("keep", [0, 1000, 1_000_000])
def test_cut_weights_are_told_plainly(directory: Path, tmp_path: Path, keep: int) -> None:
    folder = tmp_path / "model"
    shutil.copytree(directory, folder, ignore=shutil.ignore_patterns("*.safetensors", "*.bin", "*.onnx"))
    with (directory / "model.safetensors").open("rb") as stream:
        (folder / "model.safetensors").write_bytes(stream.read(keep))
    with pytest.raises(ModelError, match=str(folder)):
        SentenceEmbedder(folder).encode(["a"])


@pytest.mark.slow
def test_damaged_configuration_is_told_plainly(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=str(tmp_path)):
        SentenceEmbedder(model_folder(tmp_path, config="{")).encode(["a"])


@pytest.mark.slow
def test_a_model_folder_cannot_name_code_to_import(directory: Path, tmp_path: Path) -> None:
    folder = tmp_path / "model"
    shutil.copytree(directory, folder, ignore=shutil.ignore_patterns("*.safetensors", "*.bin", "*.onnx"))
    (folder / "model.safetensors").symlink_to(directory / "model.safetensors")
    (folder / "modules.json").write_text(
        '[{"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer"},'
        ' {"idx": 1, "name": "1", "path": "x", "type": "antigravity.Module"}]'
    )
    with pytest.raises(ModelError, match=r"antigravity\.Module"):
        SentenceEmbedder(folder).encode(["a"])
    import sys

    assert "antigravity" not in sys.modules
