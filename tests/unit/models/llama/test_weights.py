"""Prepared weights: the merge to the bit, the real starter with its adapter, and everything that cannot be made."""

from __future__ import annotations

import math
import os
import random
import re
import shutil
import struct
import subprocess
import sys
from collections import namedtuple
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.gguf_files import gguf_bytes, lora_adapter

from atomr_local.errors import ModelError
from atomr_local.models.catalog.find import adapter_card, find_adapter
from atomr_local.models.gguf import GgufHeader, check_model, read_header
from atomr_local.models.llama import LlamaBackbone, RunOptions
from atomr_local.models.llama import weights as preparation
from atomr_local.models.llama.engine import Engine, Part
from atomr_local.models.llama.weights import fingerprint, prepare, suited, worth_preparing
from atomr_local.models.protocol import Generation, GenerationRequest, Message, Prompt
from atomr_local.reasoning.planning.examples import ExampleLibrary
from atomr_local.reasoning.planning.planner import Planner
from atomr_local.tree.validation import Limits

gguf = pytest.importorskip("gguf")

WIDTH, RANK = 576, 4
WHOLE = gguf_bytes({"general.architecture": "llama"}, {"w.weight": ((4, 2), bytes(32))})
QUESTIONS = ("Who was the mother of the author of Frankenstein?", "Where was the director of the film Metropolis born?")
QUESTION = Prompt((), (Message("user", "What is the capital of France?"),))
Usage = namedtuple("Usage", "total used free")


@pytest.fixture(scope="module")
def starter(starter_file: Path) -> GgufHeader:
    return check_model(starter_file)


@pytest.fixture(scope="module")
def shipped(starter: GgufHeader) -> Path:
    adapter = find_adapter("auto", starter.path)
    if adapter is None:
        pytest.skip("no adapter ships for the starter")
    return adapter


@pytest.fixture(scope="module")
def prepared(starter: GgufHeader, shipped: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The starter with the shipped adapter; the cache that holds it."""
    cache = tmp_path_factory.mktemp("cache")
    prepare(starter, shipped, "Q8_0", cache / "weights")
    return cache


@pytest.fixture
def quantised(monkeypatch: pytest.MonkeyPatch) -> None:
    """llama.cpp writes a small whole file in place of prepared weights."""
    monkeypatch.setattr(preparation, "_quantise", lambda source, out, storage: out.write_bytes(WHOLE))


def floats(count: int, scale: float, seed: int) -> bytes:
    random_ = random.Random(seed)
    return struct.pack(f"<{count}f", *(random_.gauss(0, scale) for _ in range(count)))


def noise(path: Path) -> Path:
    """An adapter that changes one layer of the starter."""
    name = "blk.0.attn_output.weight"
    return lora_adapter(
        path,
        {
            f"{name}.lora_a": ((WIDTH, RANK), floats(WIDTH * RANK, 1 / math.sqrt(WIDTH), 1)),
            f"{name}.lora_b": ((RANK, WIDTH), floats(RANK * WIDTH, 0.5, 2)),
        },
    )


def leftovers(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.glob(".*"))


def answer(model: Path, adapter: Path | None, cache: Path | None) -> Generation:
    loaded = LlamaBackbone.load(model, adapter, RunOptions(context_tokens=512, storage="Q8_0", cache=cache))
    try:
        assert loaded.info.adapter == (adapter.stem if adapter else None)
        assert loaded.info.name == model.stem
        return loaded.generate(GenerationRequest(QUESTION, max_tokens=8))
    finally:
        loaded.close()


# The merge, on matrices of a few numbers.


def tiny(path: Path, tensors: dict[str, np.ndarray], **keys: Any) -> Path:
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_block_count(1)
    writer.add_array("tokenizer.ggml.tokens", ["a", "é"])
    writer.add_array("some.numbers", [1, 2, 3])
    writer.add_float32("some.float", 0.5)
    for key, value in keys.items():
        writer.add_uint32(f"general.{key}", value)
    for name, values in tensors.items():
        writer.add_tensor(name, values)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def factors(path: Path, name: str, first: np.ndarray, second: np.ndarray, alpha: float = 4.0) -> Path:
    pair = {"lora_a": first, "lora_b": second}
    tensors = {
        f"{name}.{side}": (tuple(reversed(values.shape)), values.astype("<f4").tobytes())
        for side, values in pair.items()
    }
    return lora_adapter(path, tensors, alpha=alpha)


def merged(model: Path, adapter: Path) -> Any:
    out = model.with_name("merged.gguf")
    preparation._merge(model, adapter, out)
    return gguf.GGUFReader(out)


def values(reader: Any) -> dict[str, np.ndarray]:
    return {tensor.name: np.array(tensor.data) for tensor in reader.tensors}


def matrices(kind: type = np.float32, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """W of 6 × 32, A of 2 × 32, B of 6 × 2."""
    draw = np.random.default_rng(seed).normal
    shapes = ((6, 32), (2, 32), (6, 2))
    first, second, third = (draw(size=shape).astype(np.float32) for shape in shapes)
    return first.astype(kind), second, third


@pytest.mark.parametrize("kind", [np.float16, np.float32])
@pytest.mark.parametrize(("alpha", "scale"), [(4.0, 2.0), (1.0, 0.5), (0.0, 1.0)])  # llama.cpp: no alpha, no scale
def test_the_merge_is_exact(tmp_path: Path, kind: type, alpha: float, scale: float) -> None:
    weights, first, second = matrices(kind)
    other = np.arange(64, dtype=np.float16).reshape(2, 32) / 7
    norm = np.linspace(0, 1, 32, dtype=np.float32)
    model = tiny(tmp_path / "m.gguf", {"w.weight": weights, "other.weight": other, "norm.weight": norm})
    made = values(merged(model, factors(tmp_path / "a.gguf", "w.weight", first, second, alpha)))
    expected = (weights.astype(np.float32) + np.float32(scale) * (second @ first)).astype(np.float16)
    np.testing.assert_array_equal(made["w.weight"], expected)
    np.testing.assert_array_equal(made["other.weight"], other)
    np.testing.assert_array_equal(made["norm.weight"], norm)  # not rounded to half precision
    assert made["norm.weight"].dtype == np.float32


def test_an_f32_matrix_that_nothing_changes_stays_f32(tmp_path: Path) -> None:
    weights, first, second = matrices()
    model = tiny(tmp_path / "m.gguf", {"w.weight": weights, "conv.weight": weights / 3})
    made = values(merged(model, factors(tmp_path / "a.gguf", "w.weight", first, second)))
    np.testing.assert_array_equal(made["conv.weight"], weights / 3)


def test_header_values_are_carried_over(tmp_path: Path) -> None:
    weights, first, second = matrices(np.float16)
    model = tiny(tmp_path / "m.gguf", {"w.weight": weights}, file_type=3, alignment=32)
    made = merged(model, factors(tmp_path / "a.gguf", "w.weight", first, second))
    header = read_header(tmp_path / "merged.gguf")
    assert (header.architecture, header.quantisation) == ("llama", "F16")
    assert header.values["some.float"] == 0.5
    assert made.fields["tokenizer.ggml.tokens"].contents() == ["a", "é"]
    assert made.fields["some.numbers"].contents() == [1, 2, 3]


W, A, B = matrices()


@pytest.mark.parametrize(
    ("model", "name", "first", "second"),
    [
        ({"w.weight": W}, "x.weight", A, B),  # the model lacks it
        ({"w.weight": W}, "w.weight", A[:, :31], B),
        ({"w.weight": W}, "w.weight", A, B[:5]),
        ({"w.weight": W}, "w.weight", A[:1], B),  # two ranks
        ({"w.weight": W[0]}, "w.weight", A, np.ones((32, 2), np.float32)),  # a vector: would be broadcast
        ({"w.weight": np.stack([W] * 6)}, "w.weight", A, B),  # experts
    ],
)
def test_what_does_not_fit_is_not_merged(
    tmp_path: Path, model: dict[str, np.ndarray], name: str, first: np.ndarray, second: np.ndarray
) -> None:
    path, folder = tiny(tmp_path / "m.gguf", model), tmp_path / "weights"
    with pytest.raises(ModelError, match="cannot be merged"):
        prepare(read_header(path), factors(tmp_path / "a.gguf", name, first, second), "Q8_0", folder)
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize("half", ["lora_a", "lora_b"])
def test_half_of_a_pair_is_not_merged(tmp_path: Path, half: str) -> None:
    side = {"lora_a": A, "lora_b": B}[half]
    adapter = lora_adapter(tmp_path / "a.gguf", {f"w.weight.{half}": (side.shape[::-1], side.tobytes())})
    model = tiny(tmp_path / "m.gguf", {"w.weight": W})
    with pytest.raises(ModelError, match="cannot be merged"):
        prepare(read_header(model), adapter, "Q8_0", tmp_path / "weights")


def test_what_the_gguf_package_does_not_understand_is_a_model_error(tmp_path: Path) -> None:
    weights, first, second = matrices(np.float16)
    model = tiny(tmp_path / "m.gguf", {"w.weight": weights, "whole.numbers": np.arange(4, dtype=np.int32)})
    adapter = factors(tmp_path / "a.gguf", "w.weight", first, second)
    with pytest.raises(ModelError, match="cannot be prepared"):
        prepare(read_header(model), adapter, "Q8_0", tmp_path / "weights")
    assert list((tmp_path / "weights").iterdir()) == []


def test_what_llama_cpp_cannot_quantise_is_a_model_error(tmp_path: Path) -> None:
    model = tmp_path / "m.gguf"
    model.write_bytes(gguf_bytes({"general.architecture": "no such"}, {"w.weight": ((32, 6), W.tobytes())}))
    with pytest.raises(ModelError, match="could not quantise"):
        prepare(read_header(model), None, "Q8_0", tmp_path / "weights")
    assert list((tmp_path / "weights").iterdir()) == []


# The real starter with the adapter that ships.


@pytest.mark.slow
def test_a_merged_model_says_what_the_model_with_its_adapter_says(
    starter: GgufHeader, shipped: Path, prepared: Path, tmp_path: Path
) -> None:
    [path] = (prepared / "weights").glob("*.gguf")
    assert read_header(path).quantisation == "Q8_0"
    assert read_header(path).parameters == starter.parameters
    assert leftovers(prepared / "weights") == []
    stored = prepare(starter, None, "Q8_0", tmp_path)
    rows = []
    for model, adapter in ((starter.path, shipped), (path, None), (starter.path, None), (stored, None)):
        engine = Engine(model, adapter, RunOptions(context_tokens=256, threads=0, batch_threads=0))
        tokens = engine.tokenize("<|im_start|>user\nWho wrote Hamlet?<|im_end|>\n<|im_start|>assistant\n", special=True)
        rows.append([])
        for token in tokens:
            [row] = engine.decode([Part(0, [token])], None)
            rows[-1].append(engine.logits(row).copy())
        engine.close()
    applied, merged_, bare, stored_otherwise = (np.array(each) for each in rows)
    away, without = np.abs(merged_ - applied).mean(), np.abs(bare - applied).mean()
    # What the adapter changes is there. llama.cpp rounds activations otherwise for other ways of storing weights:
    # the bare model stored as Q8_0 differs from its file as much.
    assert away < 0.1 * without
    assert away < 1.5 * np.abs(stored_otherwise - bare).mean()
    assert all(np.corrcoef(one, other)[0, 1] > 0.98 for one, other in zip(applied, merged_, strict=True))
    assert applied[-1].argmax() == merged_[-1].argmax()


@pytest.mark.slow
def test_plans_are_those_of_the_model_with_its_adapter(starter: GgufHeader, shipped: Path, prepared: Path) -> None:
    if adapter_card(shipped).get("prompts") != "lean":
        pytest.skip("the adapter is for another style of prompts")
    known = set((prepared / "weights").iterdir())
    plans = []
    for cache in (prepared, None):
        loaded = LlamaBackbone.load(starter.path, shipped, RunOptions(context_tokens=1024, storage="Q8_0", cache=cache))
        planner = Planner(loaded, ExampleLibrary.shipped(), Limits(), style="lean")
        # What is asked of whom; which of two wordings a question has may turn on a rounding.
        plans.append([re.findall(r"= (.+)", planner.plan(question).compact) for question in QUESTIONS])
        loaded.close()
    assert plans[0] == plans[1]
    assert set((prepared / "weights").iterdir()) == known  # used, not made again


def test_a_prepared_file_is_used_again_and_another_made_for_another_adapter(
    starter: GgufHeader, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[Path] = []

    def quantise(source: Path, out: Path, storage: str) -> None:
        calls.append(source)
        out.write_bytes(WHOLE)

    monkeypatch.setattr(preparation, "_quantise", quantise)
    monkeypatch.setattr(preparation, "_merge", lambda model, adapter, out: out.write_bytes(b"merged"))
    folder, adapter = tmp_path / "weights", noise(tmp_path / "a.gguf")
    first = prepare(starter, adapter, "Q8_0", folder)
    os.utime(first, (1000, 1000))
    assert prepare(starter, adapter, "Q8_0", folder) == first
    assert len(calls) == 1
    assert first.stat().st_mtime > 1000  # used just now
    assert prepare(starter, adapter, "Q4_0", folder) != first
    assert prepare(starter, None, "Q8_0", folder) != first
    assert calls[-1] == starter.path  # nothing to merge
    adapter.write_bytes(adapter.read_bytes() + bytes(32))
    assert prepare(starter, adapter, "Q8_0", folder) != first
    assert len(calls) == 4
    assert leftovers(folder) == []


def test_the_files_used_last_are_kept(starter: GgufHeader, tmp_path: Path, quantised: None) -> None:
    folder = tmp_path / "weights"
    folder.mkdir()
    for number in range(5):
        path = folder / f"{number}.gguf"
        path.touch()
        os.utime(path, (1000 + number, 1000 + number))
    (folder / "of somebody.txt").touch()
    made = prepare(starter, None, "Q8_0", folder)
    assert {path.name for path in folder.iterdir()} == {"3.gguf", "4.gguf", made.name, "of somebody.txt"}


@pytest.mark.parametrize("content", [b"", WHOLE[:-1], b"no GGUF file"])
def test_a_damaged_file_is_made_again(starter: GgufHeader, tmp_path: Path, quantised: None, content: bytes) -> None:
    made = prepare(starter, None, "Q8_0", tmp_path)
    made.write_bytes(content)
    assert prepare(starter, None, "Q8_0", tmp_path) == made
    assert made.read_bytes() == WHOLE


@pytest.mark.parametrize("at", [0.5, 0.999])
def test_one_flipped_bit_in_the_weights_is_found_told_and_mended(
    starter: GgufHeader, tmp_path: Path, quantised: None, at: float
) -> None:
    """The header stays in order: nothing but the digest shows it."""
    told: list[str] = []
    made = prepare(starter, None, "Q8_0", tmp_path, told.append)
    assert told == [] and preparation.is_whole(made)
    content = bytearray(WHOLE)
    content[int(at * len(content))] ^= 4
    made.write_bytes(content)
    read_header(made)
    assert not preparation.is_whole(made)
    again = prepare(starter, None, "Q8_0", tmp_path, told.append)
    assert again.read_bytes() == WHOLE and preparation.is_whole(again)
    assert len(told) == 1 and "damaged" in told[0]
    assert prepare(starter, None, "Q8_0", tmp_path, told.append) == again
    assert len(told) == 1


def test_damaged_weights_that_cannot_be_made_anew_are_not_used(
    starter: GgufHeader, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, quantised: None
) -> None:
    made = prepare(starter, None, "Q8_0", tmp_path)
    made.write_bytes(WHOLE[:-1] + b"x")
    monkeypatch.setattr(preparation.shutil, "disk_usage", lambda path: Usage(1 << 40, 1 << 40, 1 << 20))
    with pytest.raises(ModelError, match="no room"):
        prepare(starter, None, "Q8_0", tmp_path)


def test_weights_that_two_processes_made_differently_are_both_whole(
    starter: GgufHeader, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, quantised: None
) -> None:
    one = prepare(starter, None, "Q8_0", tmp_path)
    monkeypatch.setattr(preparation, "_kept", lambda *_: None)  # not seen yet by the other
    monkeypatch.setattr(preparation, "_quantise", lambda source, out, storage: out.write_bytes(WHOLE + bytes(32)))
    other = prepare(starter, None, "Q8_0", tmp_path)
    assert one != other
    assert preparation.prepared_files(tmp_path) == sorted((one, other))
    assert preparation.is_whole(one) and preparation.is_whole(other)


def test_what_a_killed_process_left_is_deleted_in_time(starter: GgufHeader, tmp_path: Path, quantised: None) -> None:
    died = subprocess.Popen([sys.executable, "-c", ""])
    died.wait()
    running = f".making-{os.getppid()}-x"
    for name in (f".making-{died.pid}-x", running):
        (tmp_path / name).mkdir()
        (tmp_path / name / "merged.gguf").touch()
    os.utime(tmp_path / running, (1000, 1000))  # how old something is says nothing where a clock was set
    prepare(starter, None, "Q8_0", tmp_path)
    assert leftovers(tmp_path) == [running]


def test_fingerprints(tmp_path: Path) -> None:
    path, other = tmp_path / "a", tmp_path / "b"
    path.write_bytes(b"x")
    shutil.copy2(path, other)
    names = {fingerprint("q", files=(path, None)), fingerprint("q", files=(other,)), fingerprint(files=(path,))}
    assert len(names) == 3
    assert fingerprint("q", files=(path,)) in names  # no file, no difference
    os.utime(path, ns=(1, 1))
    assert fingerprint("q", files=(path,)) not in names
    assert all(len(name) == 32 and int(name, 16) >= 0 for name in names)


# What cannot be prepared.


def no_room(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(preparation.shutil, "disk_usage", lambda path: Usage(1 << 40, 1 << 40, 1 << 20))


def not_writable(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder.parent.mkdir(parents=True, exist_ok=True)
    folder.write_text("a file in the way")


def read_only(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> str:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(preparation.tempfile, "mkdtemp", refuse)


def no_package(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "gguf", None)


def full_on_the_way(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def add(writer: Any, *_: object) -> None:
        Path(writer.path).write_bytes(b"a part")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(gguf.GGUFWriter, "add_tensor", add)


def refused(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(preparation.library(), "llama_model_quantize", lambda *_: 1)
    monkeypatch.setattr(preparation, "_merge", lambda model, adapter, out: out.touch())


@pytest.fixture(scope="module")
def applied(starter: GgufHeader, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Generation]:
    """An adapter, and what the model says with it."""
    adapter = noise(tmp_path_factory.mktemp("adapter") / "noise.gguf")
    return adapter, answer(starter.path, adapter, None)


@pytest.mark.slow
@pytest.mark.parametrize("trouble", [no_room, not_writable, read_only, no_package, full_on_the_way, refused])
def test_trouble_is_a_model_error_and_loading_applies_the_adapter(
    starter: GgufHeader, applied: tuple[Path, Generation], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, trouble: Any
) -> None:
    (adapter, expected), cache = applied, tmp_path / "cache"
    trouble(cache / "weights", monkeypatch)
    with pytest.raises(ModelError):
        prepare(starter, adapter, "Q8_0", cache / "weights")
    assert answer(starter.path, adapter, cache).tokens == expected.tokens
    if (cache / "weights").is_dir():
        assert list((cache / "weights").iterdir()) == []


def test_what_is_worth_preparing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tiny(tmp_path / "m.gguf", {"w.weight": W})
    model, adapter = replace(read_header(path), quantisation="Q4_K_M"), tmp_path / "a.gguf"
    fast = [replace(model, quantisation=name) for name in ("Q8_0", "Q4_0")]
    large = replace(model, parameters=preparation.MOST_PARAMETERS + 1)
    monkeypatch.setattr(preparation.library(), "llama_supports_gpu_offload", lambda: False)
    assert worth_preparing(model, None)
    assert worth_preparing(model, adapter)
    assert worth_preparing(replace(model, parameters=preparation.MOST_PARAMETERS), None)
    assert [worth_preparing(one, None) for one in fast] == [False, False]  # as fast as it can be
    assert [worth_preparing(one, adapter) for one in fast] == [True, True]
    assert not worth_preparing(large, None)
    assert not worth_preparing(large, adapter)
    half = replace(model, quantisation="F16")
    assert [worth_preparing(half, None, storage) for storage in ("F16", "Q8_0")] == [False, True]
    monkeypatch.setattr(preparation.library(), "llama_supports_gpu_offload", lambda: True)
    assert not worth_preparing(model, adapter)
    assert not worth_preparing(model, adapter, gpu_layers=3)
    assert worth_preparing(model, adapter, gpu_layers=0)


def test_a_processor_that_converts_f16_stores_it_and_others_q8_0(monkeypatch: pytest.MonkeyPatch) -> None:
    for told, expected in ((b"CPU : AVX = 1 | F16C = 1 | FMA = 1 | ", "F16"), (b"CPU : NEON = 1 | ", "Q8_0")):
        monkeypatch.setattr(preparation.library(), "llama_print_system_info", lambda told=told: told)
        assert suited("auto") == expected
        assert suited("Q4_0") == "Q4_0"
