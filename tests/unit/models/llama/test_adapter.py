"""LoRA adapters on the real starter model, made byte by byte."""

from __future__ import annotations

import math
import random
import struct
from pathlib import Path

import pytest
from support.gguf_files import lora_adapter

from atomr_local.errors import ModelError
from atomr_local.models.llama import LlamaBackbone, RunOptions
from atomr_local.models.protocol import Generation, GenerationRequest, Message, Prompt

WIDTH, RANK = 576, 4
QUESTION = Prompt((), (Message("user", "What is the capital of France?"),))

pytestmark = pytest.mark.slow  # it loads the starter again and again


def floats(count: int, scale: float, seed: int) -> bytes:
    random_ = random.Random(seed)
    return struct.pack(f"<{count}f", *(random_.gauss(0, scale) for _ in range(count)))


def adapter(path: Path, scale: float) -> Path:
    """Rank 4 on the attention outputs; a `scale` of 0 changes nothing."""
    tensors = {}
    for layer in range(30):
        name = f"blk.{layer}.attn_output.weight"
        tensors[f"{name}.lora_a"] = ((WIDTH, RANK), floats(WIDTH * RANK, 1 / math.sqrt(WIDTH), layer))
        tensors[f"{name}.lora_b"] = ((RANK, WIDTH), floats(RANK * WIDTH, scale, 100 + layer))
    return lora_adapter(path, tensors)


def answer(model: Path, adapter: Path | None) -> Generation:
    backbone = LlamaBackbone.load(model, adapter, RunOptions(context_tokens=512))
    try:
        assert backbone.info.adapter == (adapter.stem if adapter else None)
        return backbone.generate(GenerationRequest(QUESTION, max_tokens=8))
    finally:
        backbone.close()


def test_a_zero_adapter_changes_nothing_and_another_does(starter_file: Path, tmp_path: Path) -> None:
    plain = answer(starter_file, None)
    assert answer(starter_file, adapter(tmp_path / "zero.gguf", 0.0)).tokens == plain.tokens
    assert answer(starter_file, adapter(tmp_path / "noise.gguf", 0.5)).tokens != plain.tokens


def test_what_is_no_adapter_is_refused(starter_file: Path, tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="not a LoRA adapter") as caught:
        LlamaBackbone.load(starter_file, starter_file)
    assert caught.value.title == "Adapter not usable"
    with pytest.raises(ModelError, match="does not exist"):
        LlamaBackbone.load(starter_file, tmp_path / "none.gguf")


def test_an_adapter_that_llama_cpp_refuses_gives_its_reason(
    starter_file: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """Half of a pair: the header is in order, the adapter is not."""
    half = {"blk.0.attn_output.weight.lora_a": ((WIDTH, RANK), bytes(4 * WIDTH * RANK))}
    with pytest.raises(ModelError, match="lora") as caught:
        LlamaBackbone.load(starter_file, lora_adapter(tmp_path / "half.gguf", half), RunOptions(context_tokens=512))
    assert caught.value.title == "Adapter not usable"
    assert capfd.readouterr() == ("", "")
