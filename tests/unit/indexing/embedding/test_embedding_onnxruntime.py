"""The embedder run by onnxruntime: the vectors of sentence-transformers, without torch."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from atomr_local.errors import MissingPartError, ModelError
from atomr_local.indexing.embedding.bert import BertEncoder, Unsuited, read_shape
from atomr_local.indexing.embedding.embedder import SentenceEmbedder
from atomr_local.models.catalog.find import starter_embedder_path

pytest.importorskip("onnxruntime")

TEXTS = [
    "Lake Como: a lake of glacial origin in Lombardy",
    "",
    "ÉCOLE normale, 東京, naïve — 😀\x00\t",
    "who directed it?",
    "word " * 700,
    "x" * 300,
]


@pytest.fixture(scope="module")
def directory() -> Path:
    try:
        return starter_embedder_path()
    except MissingPartError as error:
        pytest.skip(f"no embedder: {error}")


@pytest.fixture
def copied(directory: Path, tmp_path: Path) -> Path:
    folder = tmp_path / "model"
    shutil.copytree(directory, folder, ignore=shutil.ignore_patterns("*.safetensors", "*.bin", "*.onnx"))
    (folder / "model.safetensors").symlink_to(directory / "model.safetensors")
    return folder


def change(file: Path, **values: Any) -> None:
    file.write_text(json.dumps({**json.loads(file.read_text()), **values}))


@pytest.mark.slow
def test_the_vectors_are_those_of_sentence_transformers(directory: Path) -> None:
    light = SentenceEmbedder(directory, runtime="onnxruntime")
    torch = SentenceEmbedder(directory, runtime="torch")
    assert np.allclose(light.encode(TEXTS), torch.encode(TEXTS), atol=1e-5)
    assert light.dimensions == torch.dimensions
    assert light.identity == torch.identity
    assert light.backend.startswith("onnxruntime ")
    assert light.backend.endswith(" float32")
    assert torch.backend.startswith("torch ")
    assert torch.backend.endswith(" float32")


def test_a_query_loads_no_torch_and_opens_no_socket(directory: Path) -> None:
    code = f"""
import socket, sys
from pathlib import Path
def refuse(*_, **__):
    raise AssertionError("a socket")
socket.socket = socket.create_connection = socket.getaddrinfo = refuse
from atomr_local.indexing.embedding.embedder import SentenceEmbedder
SentenceEmbedder(Path({str(directory)!r})).encode(["where is the lake?"])
print(*{{"torch", "transformers", "sentence_transformers", "huggingface_hub"}} & set(sys.modules))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300, check=True)
    assert done.stdout.strip() == ""
    assert done.stderr == ""


@pytest.mark.slow
def test_a_vector_does_not_depend_on_its_company(directory: Path) -> None:
    embedder = SentenceEmbedder(directory, runtime="onnxruntime")
    together = embedder.encode(TEXTS * 3)
    for text, vector in zip(TEXTS, together, strict=False):
        assert np.allclose(embedder.encode([text])[0], vector, atol=1e-5)


def test_half_a_surrogate_pair_is_read_as_a_replacement(directory: Path) -> None:
    embedder = SentenceEmbedder(directory)
    assert np.array_equal(embedder.encode(["a \ud800 b"]), embedder.encode(["a ? b"]))


@pytest.mark.parametrize(
    ("file", "values"),
    [
        ("config.json", {"model_type": "mpnet"}),
        ("config.json", {"hidden_act": "relu"}),
        ("config.json", {"position_embedding_type": "relative_key"}),
        ("config.json", {"num_hidden_layers": "6"}),
        ("config.json", {"num_attention_heads": 7}),
        ("config.json", {"num_attention_heads": 0}),
        ("config.json", {"layer_norm_eps": None}),
        ("sentence_bert_config.json", {"do_lower_case": True}),
        ("sentence_bert_config.json", {"max_seq_length": 1 << 40}),
        ("sentence_bert_config.json", {"modality_config": {}}),
        ("config_sentence_transformers.json", {"default_prompt_name": "query"}),
        ("1_Pooling/config.json", {"pooling_mode_max_tokens": True}),
        ("1_Pooling/config.json", {"pooling_mode_mean_tokens": False}),
    ],
)
def test_other_kinds_of_model_are_left_to_torch(copied: Path, file: str, values: dict[str, Any]) -> None:
    assert read_shape(copied).width == 384
    change(copied / file, **values)
    with pytest.raises(Unsuited):
        read_shape(copied)


@pytest.mark.parametrize("file", ["config.json", "modules.json", "sentence_bert_config.json", "1_Pooling/config.json"])
@pytest.mark.parametrize("text", [None, "{", "[]", "3", "[" * 100_000])
def test_configuration_of_another_form_is_left_to_torch(copied: Path, file: str, text: str | None) -> None:
    (copied / file).unlink()
    if text is not None:
        (copied / file).write_text(text)
    with pytest.raises(Unsuited):
        read_shape(copied)


@pytest.mark.parametrize("version", ["1.31.0", "1.31.1", "1.40", "2.0.0"])
def test_a_version_that_opens_sockets_is_left_alone(
    copied: Path, monkeypatch: pytest.MonkeyPatch, version: str
) -> None:
    monkeypatch.setattr("importlib.metadata.version", lambda _: version)
    with pytest.raises(Unsuited, match=version):
        BertEncoder(copied, 1)


@pytest.mark.slow
def test_pooling_by_the_first_token(copied: Path) -> None:
    change(copied / "1_Pooling/config.json", pooling_mode_mean_tokens=False, pooling_mode_cls_token=True)
    light = SentenceEmbedder(copied, runtime="onnxruntime").encode(TEXTS)
    assert np.allclose(light, SentenceEmbedder(copied, runtime="torch").encode(TEXTS), atol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize(
    "break_it",
    [
        lambda folder: change(folder / "config.json", num_hidden_layers=7),
        lambda folder: change(folder / "config.json", hidden_size=192),
        lambda folder: (folder / "tokenizer.json").write_text("{"),
    ],
    ids=["a layer too many", "another width", "no tokenizer"],
)
def test_what_onnxruntime_cannot_run_is_told_once_and_left_to_torch(
    copied: Path, monkeypatch: pytest.MonkeyPatch, break_it: Callable[[Path], None]
) -> None:
    class FakeTorch:
        backend, dimensions = "fake", 1

        def __init__(self, directory: Path) -> None:
            pass

        def encode(self, texts: list[str]) -> Any:
            return np.ones((len(texts), 1), dtype=np.float32)

    monkeypatch.setattr("atomr_local.indexing.embedding.embedder._TorchRuntime", FakeTorch)
    break_it(copied)
    told: list[str] = []
    embedder = SentenceEmbedder(copied, tell=told.append)
    assert embedder.encode(["a"]).shape == embedder.encode(["b"]).shape == (1, 1)
    assert len(told) == 1
    assert "torch" in told[0]
    with pytest.raises(ModelError, match=str(copied)):
        SentenceEmbedder(copied, runtime="onnxruntime").encode(["a"])


@pytest.mark.slow
def test_without_onnxruntime_torch_runs_it_in_silence(directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    told: list[str] = []
    embedder = SentenceEmbedder(directory, tell=told.append)
    assert embedder.backend.startswith("torch ")
    assert told == []


def test_a_tokenizer_with_more_words_than_the_weights(copied: Path) -> None:
    file = copied / "tokenizer.json"
    tokenizer = json.loads(file.read_text())
    tokenizer["model"]["vocab"] |= {f"[more{i}]": 30_522 + i for i in range(5)}
    file.write_text(json.dumps(tokenizer))
    with pytest.raises(Unsuited, match="tokenizer"):
        BertEncoder(copied, 1)


def test_cut_weights_are_told_without_waiting_for_torch(directory: Path, tmp_path: Path, copied: Path) -> None:
    (copied / "model.safetensors").unlink()
    with (directory / "model.safetensors").open("rb") as stream:
        (copied / "model.safetensors").write_bytes(stream.read(1_000_000))
    with pytest.raises(ModelError, match=r"model\.safetensors is damaged") as caught:
        SentenceEmbedder(copied).encode(["a"])
    assert caught.value.hint
