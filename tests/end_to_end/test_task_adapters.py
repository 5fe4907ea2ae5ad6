"""An adapter for one task: its calls are computed with it, all others as if it were not there, to the bit."""

from __future__ import annotations

import math
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from atomr_local.errors import MissingPartError
from atomr_local.models.catalog.find import find_adapter, starter_model_path
from atomr_local.models.llama import LlamaBackbone, RunOptions
from atomr_local.models.protocol import Generation, GenerationRequest, Message, Prompt

pytestmark = pytest.mark.slow
STATIC = (Message("system", "Plan."),)
QUESTIONS = tuple(f"Where was the director of {name} born?" for name in ("Metropolis", "Vertigo", "Alien"))


@pytest.fixture(scope="module")
def files() -> tuple[Path, Path]:
    try:
        model = starter_model_path()
    except MissingPartError as error:
        pytest.skip(f"no starter model: {error.message}")
    adapter = find_adapter("auto", model)
    if adapter is None:
        pytest.skip("no adapter ships for the starter")
    return model, adapter


@pytest.fixture(scope="module")
def both(files: tuple[Path, Path]) -> Iterator[LlamaBackbone]:
    """The bare model, with the adapter for one task."""
    backbone = LlamaBackbone.load(files[0], None, RunOptions(context_tokens=512, task_adapters={"next": files[1]}))
    yield backbone
    backbone.close()


def asked(backbone: LlamaBackbone, question: str, task: str = "") -> Generation:
    prompt = Prompt(STATIC, (Message("user", question),))
    return backbone.generate(GenerationRequest(prompt, 24, task=task))


def same(one: Generation, other: Generation) -> bool:
    pairs = zip(one.tokens, other.tokens, strict=True)
    return one.text == other.text and all(math.isclose(a.logprob, b.logprob, rel_tol=0) for a, b in pairs)


def alone(model: Path, adapter: Path | None) -> list[Generation]:
    backbone = LlamaBackbone.load(model, adapter, RunOptions(context_tokens=512))
    told = [asked(backbone, question) for question in QUESTIONS]
    backbone.close()
    return told


def test_each_call_is_computed_with_its_own_adapter(files: tuple[Path, Path], both: LlamaBackbone) -> None:
    """Also where the same prompt comes again for another task: nothing that is kept of it is reused."""
    bare, adapted = alone(files[0], None), alone(*files)
    assert [one.text for one in bare] != [one.text for one in adapted]
    for question, without, with_it in zip(QUESTIONS, bare, adapted, strict=True):
        assert same(asked(both, question), without)
        assert same(asked(both, question, "next"), with_it)
        assert same(asked(both, question), without)


def test_calls_side_by_side_are_as_alone(both: LlamaBackbone) -> None:
    calls = [(question, task) for question in QUESTIONS for task in ("", "next")]
    expected = [asked(both, *call) for call in calls]
    with ThreadPoolExecutor(len(calls)) as pool:
        told = list(pool.map(lambda call: asked(both, *call), calls))
    assert all(same(one, other) for one, other in zip(told, expected, strict=True))


def test_a_task_without_an_adapter_is_computed_without(both: LlamaBackbone) -> None:
    assert same(asked(both, QUESTIONS[0], "no such task"), asked(both, QUESTIONS[0]))
