"""Headers that end the process in llama.cpp are refused, and those that it runs are not."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support.script_loader import load_script

from atomr_local.errors import ModelError
from atomr_local.models.gguf import check_adapter, check_model

hostile = load_script("hostile_gguf")
f32, u32, text, texts, numbers = hostile.f32, hostile.u32, hostile.text, hostile.texts, hostile.numbers
U32, F32, I32 = hostile.U32, hostile.F32, hostile.I32
TOKENS = "tokenizer.ggml.tokens"
PLAIN = hostile.model()
ADAPTER = hostile.adapter()
A, B = "blk.0.attn_output.weight.lora_a", "blk.0.attn_output.weight.lora_b"


def written(folder: Path, file: Any, name: str = "file.gguf") -> Path:
    path = folder / name
    path.write_bytes(file.encode())
    return path


@pytest.mark.parametrize(
    "file",
    [PLAIN, hostile.model(tokenizer="llama"), hostile.model("qwen2"), hostile.model("qwen3"), hostile.model(experts=4)],
    ids=["gpt2", "spm", "qwen2", "qwen3", "experts"],
)
def test_sound_models_pass(tmp_path: Path, file: Any) -> None:
    assert check_model(written(tmp_path, file)).vocabulary.problem == ""


def test_lists_and_rare_keys_of_sound_models_pass(tmp_path: Path) -> None:
    file = (
        PLAIN.put("llama.attention.head_count", numbers([4, 4], U32))
        .put("llama.attention.head_count_kv", numbers([2, 1], I32))
        .put("llama.rope.scaling.type", text("yarn"))
        .put("llama.rope.scaling.factor", f32(32.0))
        .put("llama.attention.sliding_window_pattern", numbers([1, 0], hostile.BOOL))
        .put("llama.rope.dimension_sections", numbers([2, 3, 3, 0]))
        .put("general.alignment", u32(32))
        .put("llama.logit_scale", f32(-0.5))
    )
    check_model(written(tmp_path, file))
    # A recurrent block among others attends to nothing and has no such weights.
    hybrid = PLAIN.put("llama.attention.head_count_kv", numbers([2, 0], U32)).without_tensor("blk.1.attn_k.weight")
    check_model(written(tmp_path, hybrid))


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("llama.context_length", u32(1)),  # fewer outputs than sequences
        ("llama.context_length", u32(1 << 31)),
        ("llama.block_count", u32(513)),
        ("llama.block_count", u32(0)),
        ("llama.attention.layer_norm_rms_epsilon", f32(math.nan)),
        ("llama.attention.layer_norm_rms_epsilon", f32(-1.0)),
        ("llama.attention.layer_norm_rms_epsilon", text("small")),
        ("llama.rope.scaling.type", text("evil")),
        ("llama.rope.scaling.type", u32(1)),
        ("llama.rope.freq_base", f32(math.inf)),
        ("llama.rope.freq_base", f32(0.0)),
        ("llama.rope.dimension_count", u32(15)),
        ("llama.rope.dimension_count", u32(18)),
        ("llama.rope.dimension_sections", numbers([-1, 1 << 30, 5, 5])),
        ("llama.attention.head_count_kv", u32(3)),
        ("llama.attention.head_count_kv", u32(8)),
        ("llama.attention.head_count_kv", u32(0)),
        ("llama.attention.head_count", u32(65)),
        ("llama.attention.head_count", numbers([4], U32)),
        ("llama.attention.head_count", numbers([4, 3], U32)),
        ("llama.attention.head_count_kv", numbers([2, 0], U32)),
        ("llama.attention.key_length", u32(0)),
        ("llama.feed_forward_length", numbers([96, 1 << 31], U32)),
        ("llama.expert_count", u32(1025)),
        ("llama.expert_used_count", u32(2)),
        ("llama.expert_group_count", u32(2)),
        ("llama.nextn_predict_layers", u32(3)),
        ("llama.logit_scale", f32(math.nan)),
        ("llama.anything.new", u32((1 << 32) - 1)),
        ("llama.vocab_size", u32(0)),
        ("general.alignment", u32(8)),
        ("general.name", text("n" * 5000)),
        ("tokenizer.chat_template", text("x" * 300_000)),
        ("tokenizer.ggml.model", text("test")),
        ("tokenizer.ggml.pre", text("whitespace")),
        ("tokenizer.ggml.token_type", numbers([6] * 263)),
        ("tokenizer.ggml.token_type", numbers([1])),
        (TOKENS, texts([])),
        (TOKENS, texts(["a"] * 263)),
        (TOKENS, texts([f"a\0{number}" for number in range(263)])),  # llama.cpp reads up to the null byte
        (TOKENS, texts([*(f"t{number}" for number in range(261)), "", "[EMPTY_261]"])),
        (TOKENS, texts([*(f"t{number}" for number in range(262)), "a" * 70_000])),
    ],
)  # fmt: skip
def test_what_ends_the_process_is_refused(tmp_path: Path, key: str, value: Any) -> None:
    with pytest.raises(ModelError) as caught:
        check_model(written(tmp_path, PLAIN.put(key, value)))
    assert "file.gguf" in caught.value.message
    assert caught.value.hint
    assert len(caught.value.message) < 400


def test_the_message_names_the_key_and_the_value(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"llama\.attention\.layer_norm_rms_epsilon is nan"):
        check_model(written(tmp_path, PLAIN.put("llama.attention.layer_norm_rms_epsilon", f32(math.nan))))


def test_byte_fallback_without_bytes(tmp_path: Path) -> None:
    spoken = hostile.model(tokenizer="llama")
    tokens = [token if token != "<0xF0>" else "other" for token in spoken.values[TOKENS].content]
    types = [
        1 if token == "other" else kind
        for token, kind in zip(tokens, spoken.values["tokenizer.ggml.token_type"].content, strict=True)
    ]
    file = spoken.put(TOKENS, texts(tokens)).put("tokenizer.ggml.token_type", numbers(types))
    with pytest.raises(ModelError, match="the byte 0xf0"):
        check_model(written(tmp_path, file))


@pytest.mark.parametrize(
    ("name", "changed", "said"),
    [
        ("blk.0.attn_norm.weight", {"kind": 1, "data": bytes(128)}, "not stored as F32"),
        ("blk.0.attn_q.weight", {"kind": 26}, "whole numbers"),
        ("token_embd.weight", {"kind": 28, "data": bytes(64 * 263 * 8)}, "double precision"),
        ("token_embd.weight", {"kind": 15}, "type 15"),
        ("blk.0.attn_q.weight", {"offset": 32}, "its place"),
        ("blk.0.attn_q.weight", {"offset": (1 << 64) - 32}, "its place"),
    ],
)  # fmt: skip
def test_tensors_that_end_the_process_are_refused(tmp_path: Path, name: str, changed: Any, said: str) -> None:
    with pytest.raises(ModelError, match=said):
        check_model(written(tmp_path, PLAIN.with_tensor(name, **changed)))


def test_models_in_several_files(tmp_path: Path) -> None:
    count = hostile.Value(hostile.U16, 2)
    first = written(tmp_path, PLAIN.put("split.count", count), "m-00001-of-00002.gguf")
    with pytest.raises(ModelError, match=r"m-00002-of-00002\.gguf does not exist"):
        check_model(first)
    second = written(
        tmp_path,
        PLAIN.put("split.count", count).put("split.no", hostile.Value(hostile.U16, 1)),
        "m-00002-of-00002.gguf",
    )
    assert check_model(first).path == first
    with pytest.raises(ModelError, match="give the first one"):
        check_model(second)
    with pytest.raises(ModelError, match="is not called"):
        check_model(written(tmp_path, PLAIN.put("split.count", count)))
    with pytest.raises(ModelError, match="several"):
        check_model(written(tmp_path, PLAIN.put("split.count", hostile.Value(hostile.U16, 65535))))


@pytest.fixture
def model(tmp_path: Path) -> Any:
    return check_model(written(tmp_path, PLAIN, "model.gguf"))


def test_a_sound_adapter_passes(tmp_path: Path, model: Any) -> None:
    check_adapter(written(tmp_path, ADAPTER), model)
    check_adapter(written(tmp_path, ADAPTER.put("adapter.lora.alpha", None)), model)


@pytest.mark.parametrize(
    "value",
    [text("8"), u32(8), hostile.Value(hostile.F64, 8.0), f32(math.nan), f32(math.inf), f32(-1.0), numbers([8.0], F32)],
)
def test_alpha_is_a_number_in_single_precision(tmp_path: Path, model: Any, value: Any) -> None:
    if value.kind == hostile.ARRAY:
        value = numbers([8.0, 8.0], F32)
    with pytest.raises(ModelError, match="alpha") as caught:
        check_adapter(written(tmp_path, ADAPTER.put("adapter.lora.alpha", value)), model)
    assert caught.value.title == "Adapter not usable"


@pytest.mark.parametrize(
    ("name", "changed"),
    [
        (A, {"shape": (64, 5), "data": bytes(1280)}),  # another rank than its other half
        (A, {"shape": (64, 4, 2), "data": bytes(2048)}),
        (B, {"shape": (4, 64, 1, 3), "data": bytes(3072)}),
        (A, {"kind": 26}),
        (B, {"kind": 28, "data": bytes(2048)}),
    ],
)
def test_tensors_of_an_adapter_that_end_the_process(tmp_path: Path, model: Any, name: str, changed: Any) -> None:
    with pytest.raises(ModelError):
        check_adapter(written(tmp_path, ADAPTER.with_tensor(name, **changed)), model)


def test_an_embedding_is_not_adapted_where_the_model_writes_with_it(tmp_path: Path, model: Any) -> None:
    size = model.vocabulary.count
    pair = (
        hostile.Tensor("token_embd.weight.lora_a", (4, size), bytes(16 * size)),
        hostile.Tensor("token_embd.weight.lora_b", (4, 64), bytes(1024)),
    )
    path = written(tmp_path, replace(ADAPTER, tensors=pair))
    with pytest.raises(ModelError, match="writes with"):
        check_adapter(path, model)
    output = hostile.Tensor("output.weight", (64, size), bytes(256 * size))
    apart = check_model(written(tmp_path, replace(PLAIN, tensors=(*PLAIN.tensors, output)), "apart.gguf"))
    check_adapter(path, apart)
