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
from support.starter_parts import embedder_directory

from atomr_local.errors import MissingPartError, ModelError
from atomr_local.indexing.embedding.bert import BertEncoder, Unsuited, WordTable, read_shape
from atomr_local.indexing.embedding.embedder import SentenceEmbedder, embedder_identity


@pytest.fixture(scope="module")
def directory() -> Path:
    return embedder_directory()


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
    texts = ["short", *TEXTS, "a text that is a good deal longer than the first one"]
    together = embedder.encode(texts * 3)
    assert np.allclose(together, embedder.encode(texts[::-1] * 3)[::-1], atol=1e-5)
    for text, vector in zip(texts, together, strict=False):
        assert np.allclose(embedder.encode([text])[0], vector, atol=1e-5)


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
def test_cut_weights_are_told_plainly(directory: Path, copied: Path, keep: int) -> None:
    (copied / "model.safetensors").unlink()
    with (directory / "model.safetensors").open("rb") as stream:
        (copied / "model.safetensors").write_bytes(stream.read(keep))
    with pytest.raises(ModelError, match=str(copied)) as caught:
        SentenceEmbedder(copied).encode(["a"])
    assert "model.safetensors is damaged" in caught.value.message, "told without waiting for torch"
    assert caught.value.hint


@pytest.mark.slow
def test_damaged_configuration_is_told_plainly(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=str(tmp_path)):
        SentenceEmbedder(model_folder(tmp_path, config="{")).encode(["a"])


@pytest.mark.slow
def test_a_model_folder_cannot_name_code_to_import(copied: Path) -> None:
    (copied / "modules.json").write_text(
        '[{"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer"},'
        ' {"idx": 1, "name": "1", "path": "x", "type": "antigravity.Module"}]'
    )
    with pytest.raises(ModelError, match=r"antigravity\.Module"):
        SentenceEmbedder(copied).encode(["a"])
    assert "antigravity" not in sys.modules


# Run by onnxruntime: the vectors of sentence-transformers, without torch.

TEXTS = [
    "Lake Como: a lake of glacial origin in Lombardy",
    "",
    "ÉCOLE normale, 東京, naïve — 😀\x00\t",
    "who directed it?",
    "word " * 700,
    "x" * 300,
]


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


# The table of words of an encoder: rows of a mapped file, whose pages do not stay in memory.

_ROWS, _WIDTH = 4096, 384


def resident(file: Path) -> int:
    """KiB of the file that are in this process's memory."""
    found, inside = 0, False
    for line in Path("/proc/self/smaps").read_text(encoding="utf-8").splitlines():
        if "-" in line.split(" ", 1)[0]:
            inside = line.endswith(str(file))
        elif inside and line.startswith("Rss:"):
            found += int(line.split()[1])
    return found


@pytest.mark.skipif(sys.platform != "linux", reason="the figures are Linux's")
def test_what_was_read_is_let_go(tmp_path: Path) -> None:
    file = tmp_path / "table"
    values = np.random.default_rng(1).random((_ROWS, _WIDTH), dtype=np.float32)
    values.tofile(file)
    mapped = np.asarray(np.memmap(file, dtype="<f4", mode="r", shape=values.shape))
    numbers = np.arange(0, _ROWS, 7)
    assert np.array_equal(mapped[numbers], values[numbers])
    assert resident(file) > 4000, "without the table all of it stays"
    table = WordTable(mapped)
    assert len(table) == _ROWS
    for _ in range(2):
        assert np.array_equal(table.rows(numbers), values[numbers])
        assert resident(file) == 0


def test_a_table_in_memory_is_read_as_it_is() -> None:
    values = np.eye(3, dtype=np.float32)
    assert np.array_equal(WordTable(values).rows(np.array([[2, 0]])), values[[[2, 0]]])
