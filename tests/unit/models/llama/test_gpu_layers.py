"""Layers on a GPU: how many are asked for, and the processor where that fails. The library is the real one, which has no
GPU here; a stand-in before it says that it has one, notes what is asked for, and refuses."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from atomr_local.errors import ModelError
from atomr_local.models.llama import engine as engines
from atomr_local.models.llama import engine as libraries
from atomr_local.models.llama.backbone import LlamaBackbone
from atomr_local.models.llama.engine import Engine, RunOptions, library

ROOM = 5  # layers that the stand-in's GPU has room for


class Card:
    """llama_cpp with a GPU: loads at most `room` layers of a model there, and a context only if `context` says so."""

    def __init__(self, *, room: int = 1000, context: bool = True, offload: bool = True) -> None:
        self._real = library()
        self._room, self._context, self._offload = room, context, offload
        self.layers: list[int] = []
        self.settings: list[tuple[bool, int]] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)

    def llama_supports_gpu_offload(self) -> bool:
        return self._offload

    def llama_model_load_from_file(self, path: bytes, parameters: Any) -> Any:
        self.layers.append(parameters.n_gpu_layers)
        wanted = 30 if parameters.n_gpu_layers < 0 else parameters.n_gpu_layers
        return None if wanted > self._room else self._real.llama_model_load_from_file(path, parameters)

    def llama_init_from_model(self, model: Any, settings: Any) -> Any:
        self.settings.append((settings.op_offload, settings.flash_attn_type))
        if self.layers[-1] and not self._context:
            return None
        return self._real.llama_init_from_model(model, settings)


@pytest.fixture
def card(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Card]:
    def put_in(**what: Any) -> Card:
        made = Card(**what)
        monkeypatch.setattr(libraries, "library", lambda *_: made)
        monkeypatch.setattr(engines, "library", lambda *_: made)
        return made

    return put_in


def opened(model: Path, **given: Any) -> tuple[int, list[str]]:
    """The layers that are on the GPU in the end, and what the user is told."""
    told: list[str] = []
    engine = Engine(
        model, None, RunOptions(context_tokens=128, threads=1, batch_threads=1, **given), notify=told.append
    )
    try:
        tokens = engine.tokenize("Who?", special=False)
        engine.decode([engines.Part(0, tokens)], None)  # it works, wherever it runs
        return engine.gpu_layers, told
    finally:
        engine.close()


@pytest.mark.parametrize(
    ("what", "wanted", "used"),
    [
        ({}, {}, -1),
        ({}, {"gpu_layers": 3}, 3),
        ({}, {"gpu_layers": 0}, 0),
        ({"room": ROOM}, {"gpu_layers": ROOM}, ROOM),
        ({"offload": False}, {"gpu_layers": 20}, 0),
    ],
    ids=["all", "some", "none", "as many as fit", "a library without a GPU"],
)
def test_the_wanted_layers_go_to_the_gpu(
    starter_file: Path, card: Callable[..., Card], what: Any, wanted: Any, used: int
) -> None:
    found = card(**what)
    assert opened(starter_file, **wanted) == (used, [])
    assert found.layers == [used]


def test_none_wanted_means_that_long_batches_stay_on_the_processor_too(
    starter_file: Path, card: Callable[..., Card]
) -> None:
    found = card()
    disabled = library().LLAMA_FLASH_ATTN_TYPE_DISABLED
    opened(starter_file, gpu_layers=0)
    opened(starter_file)
    assert found.settings[0] == (False, disabled)
    assert found.settings[1][0]
    assert found.settings[1][1] != disabled


@pytest.mark.parametrize("what", [{"room": ROOM}, {"context": False}], ids=["model", "context"])
@pytest.mark.parametrize(("layers", "words"), [(-1, "all layers"), (20, "20 layers")])
def test_what_cannot_be_loaded_there_runs_on_the_processor_with_a_warning(
    starter_file: Path, card: Callable[..., Card], what: Any, layers: int, words: str
) -> None:
    found = card(**what)
    used, [told] = opened(starter_file, gpu_layers=layers)
    assert used == 0
    assert found.layers == [layers, 0]
    assert f"{starter_file.name} cannot be loaded with {words} on the GPU" in told
    assert "it runs on the processor" in told
    assert "llm.gpu_layers" in told


def test_where_the_processor_cannot_load_it_either_there_is_its_error_and_no_warning(
    starter_file: Path, card: Callable[..., Card]
) -> None:
    found, told = card(room=-1), list[str]()
    with pytest.raises(ModelError, match="cannot be loaded"):
        Engine(starter_file, None, RunOptions(context_tokens=128, threads=1, batch_threads=1), notify=told.append)
    assert found.layers == [-1, 0]
    assert told == []


def test_the_backbone_hands_both_on(starter_file: Path, card: Callable[..., Card]) -> None:
    card(room=ROOM)
    told: list[str] = []
    backbone = LlamaBackbone.load(
        starter_file, None, RunOptions(context_tokens=512, gpu_layers=8, parallel=1), notify=told.append
    )
    backbone.close()
    assert len(told) == 1
    assert "8 layers" in told[0]
