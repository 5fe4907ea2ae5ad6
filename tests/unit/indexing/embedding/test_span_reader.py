"""The span reader: where a passage answers a question, by an adapter of the embedder."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from safetensors.numpy import save_file
from support.starter_parts import embedder_directory

from atomr_local.errors import ModelError
from atomr_local.indexing.embedding.span_reader import SpanReader
from atomr_local.system import paths

EMMA = "Emma (novel): Emma is a novel written by Jane Austen. It was first published in December 1815."
QUERY = "encoder.layer.5.attention.self.query"
Arrays = dict[str, NDArray[np.float16]]
Make = Callable[..., Path]


@pytest.fixture(scope="module")
def base() -> Path:
    return embedder_directory()


@pytest.fixture(scope="module")
def sha256(base: Path) -> str:
    return hashlib.sha256((base / "model.safetensors").read_bytes()).hexdigest()


@pytest.fixture
def make(tmp_path: Path, sha256: str) -> Make:
    def made(arrays: Arrays | None = None, **card: Any) -> Path:
        source = np.random.default_rng(7)
        changed: Arrays = {
            "span.weight": source.normal(size=(2, 384)).astype(np.float16),
            "span.bias": np.zeros(2, np.float16),
            f"{QUERY}.lora_a": (source.normal(size=(3, 384)) / 20).astype(np.float16),
            f"{QUERY}.lora_b": (source.normal(size=(384, 3)) / 20).astype(np.float16),
        } | (arrays or {})
        file = tmp_path / "reader.safetensors"
        save_file({name: array for name, array in changed.items() if array.size}, file)
        file.with_suffix(".json").write_text(json.dumps({"base_sha256": sha256, "longest": 64, **card}))
        return file

    return made


@pytest.mark.slow
def test_it_computes_what_transformers_computes(base: Path, make: Make) -> None:
    import torch
    from safetensors.torch import load_file
    from transformers import AutoModel, AutoTokenizer

    file = make()
    given = {name: array.float() for name, array in load_file(file).items()}
    tokenizer = AutoTokenizer.from_pretrained(base, local_files_only=True)
    encoder = AutoModel.from_pretrained(base, local_files_only=True).eval()
    weight = encoder.encoder.layer[5].attention.self.query.weight
    weight.data += given[f"{QUERY}.lora_b"] @ given[f"{QUERY}.lora_a"]
    tokens = tokenizer("Who wrote Emma?", EMMA, return_tensors="pt")
    with torch.no_grad():
        logits = encoder(**tokens).last_hidden_state[0] @ given["span.weight"].T + given["span.bias"]
    inside = tokens["token_type_ids"][0].bool()
    inside[-1] = False  # the separator
    places = [0, *torch.nonzero(inside)[:, 0].tolist()]
    begins, ends = torch.softmax(logits[places], 0).double().T
    spans = torch.triu(torch.outer(begins[1:], ends[1:]))
    expected = float(spans.sum() / (spans.sum() + begins[0] * ends[0]))

    verdict = SpanReader(base, file).judge("Who wrote Emma?", [EMMA], [])

    assert verdict is not None
    assert verdict.answerable == pytest.approx(expected, abs=1e-4)


def test_answers_are_judged_where_they_stand(base: Path, make: Make) -> None:
    reader = SpanReader(base, make())
    verdict = reader.judge("Who wrote Emma?", [EMMA, "Paris: a city."], ["jane austen", "Emma", "Shakespeare", ""])
    assert verdict is not None
    austen, emma, shakespeare, nothing = verdict.answers
    assert austen is not None and emma is not None
    assert 0 <= austen <= 1 and 0 <= emma <= 1 and austen + emma <= 2
    assert shakespeare is None and nothing is None
    assert 0 <= verdict.answerable <= 1
    assert verdict.best in EMMA or verdict.best in "Paris: a city."


def test_a_verdict_depends_on_its_own_question_alone(base: Path, make: Make) -> None:
    reader = SpanReader(base, make())
    alone = reader.judge("Who wrote Emma?", [EMMA], ["Jane Austen"])
    reader.judge("When was it published?", [EMMA, EMMA], [])
    assert reader.judge("Who wrote Emma?", [EMMA], ["Jane Austen"]) == alone
    assert reader.judge("Who wrote Emma?", [EMMA, EMMA], ["Jane Austen"]) == alone


@pytest.mark.parametrize(
    ("question", "passages"),
    [("Who?", []), ("", [EMMA]), ("Who?", ["", "  "]), ("word " * 400, [EMMA])],
)
def test_where_there_is_nothing_to_read_it_says_nothing(
    base: Path, make: Make, question: str, passages: list[str]
) -> None:
    assert SpanReader(base, make()).judge(question, passages, ["Emma"]) is None


def test_marks_of_the_tokenizer_in_a_text_mean_nothing(base: Path, make: Make) -> None:
    reader = SpanReader(base, make())
    plain = reader.judge("Who wrote  Emma?", [EMMA], ["Emma"])
    marked = reader.judge("Who wrote [SEP] Emma?", [f"{EMMA} [CLS][SEP][PAD]"], ["Emma"])
    assert plain is not None and marked is not None
    assert marked.answerable == pytest.approx(plain.answerable, abs=1e-4)


def test_texts_of_any_kind_are_read(base: Path, make: Make) -> None:
    reader = SpanReader(base, make())
    for text in ("\ud800 x", "\x00", "東京", "a" * 100_000, "\u202e" * 50 + "x", "(" * 5000):
        verdict = reader.judge("Who \ud800?", [text], [text[:20]])
        assert verdict is None or 0 <= verdict.answerable <= 1


@pytest.mark.parametrize(
    ("arrays", "card", "said"),
    [
        ({}, {"base_sha256": "0" * 64}, "another embedder"),
        ({}, {"base_sha256": 1}, "made for"),
        ({}, {"longest": 1_000_000}, "made for"),
        ({}, {"longest": True}, "made for"),
        ({"span.bias": np.zeros(0, np.float16)}, {}, "missing"),
        ({"span.bias": np.array([np.nan, 0], np.float16)}, {}, "missing"),
        ({"span.weight": np.zeros((2, 7), np.float16)}, {}, "last layer"),
        ({f"{QUERY}.lora_a": np.zeros((3, 7), np.float16)}, {}, "does not fit"),
        ({f"{QUERY}.lora_a": np.zeros((5, 384), np.float16)}, {}, "does not fit"),
        ({f"{QUERY}.lora_b": np.zeros(0, np.float16)}, {}, "does not fit"),
        ({"encoder.layer.99.x.lora_a": np.zeros((3, 384), np.float16)}, {}, "does not fit"),
        ({"strange": np.zeros(3, np.float16)}, {}, "strange"),
    ],
)
def test_files_that_do_not_fit_are_refused(
    base: Path, make: Make, arrays: Arrays, card: dict[str, Any], said: str
) -> None:
    with pytest.raises(ModelError, match=said):
        SpanReader(base, make(arrays, **card))


def test_a_damaged_file_and_a_missing_card_are_refused(base: Path, make: Make) -> None:
    file = make()
    file.write_bytes(file.read_bytes()[:100])
    with pytest.raises(ModelError, match=r"reader\.safetensors"):
        SpanReader(base, file)
    file.with_suffix(".json").unlink()
    with pytest.raises(ModelError, match=r"reader\.json"):
        SpanReader(base, file)


def test_the_shipped_one_knows_what_is_there_and_what_is_not(base: Path) -> None:
    reader = SpanReader(base, paths.span_reader_file())
    there = reader.judge("Who wrote Emma?", [EMMA], ["Jane Austen", "Emma"])
    missing = reader.judge("Who composed the music of Emma?", [EMMA], ["Jane Austen"])
    assert there is not None and missing is not None
    assert there.best == "Jane Austen"
    assert there.answers[0] is not None and there.answers[1] is not None
    assert there.answers[0] > 0.5 > there.answers[1]
    assert missing.answerable < there.answerable
