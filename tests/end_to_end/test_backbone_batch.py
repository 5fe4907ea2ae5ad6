"""Calls side by side on the real starter model: the same answers, each with its own grammar and switch."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from atomr_local.errors import Cancelled, ModelError
from atomr_local.models.catalog.find import find_adapter
from atomr_local.models.llama import LlamaBackbone, RunOptions
from atomr_local.models.llama.engine import AbortFlag, Part
from atomr_local.models.protocol import Generation, GenerationRequest, Grammar, Message, Prompt
from atomr_local.system.cancellation import Cancellation

QUESTIONS = (
    "What is the capital of France?",
    "Name three large rivers of Africa and say where each of them ends.",
    "Who wrote Hamlet?",
    "Count from one to ten in words.",
    "What is water made of?",
    "Why is the sky blue?",
)
YES = 'root ::= "yes" | "no"'


@pytest.fixture(scope="module", params=["as it is", "Q8_0", "F16"])
def backbone(
    request: pytest.FixtureRequest, starter_model: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[LlamaBackbone]:
    if request.param != "as it is":
        cache = tmp_path_factory.mktemp("cache")
        loaded = LlamaBackbone.load(
            starter_model,
            find_adapter("auto", starter_model),
            RunOptions(context_tokens=512, storage=request.param, cache=cache),
        )
        assert list((cache / "weights").glob("*.gguf"))
    else:
        loaded = LlamaBackbone.load(starter_model, None, RunOptions(context_tokens=512))
    yield loaded
    loaded.close()


def prompt(question: str) -> Prompt:
    return Prompt((Message("system", "You answer in one short sentence."),), (Message("user", question),))


def ask(backbone: LlamaBackbone, question: str, grammar: str = "", **options: Any) -> Generation:
    output = Grammar(grammar) if grammar else None
    return backbone.generate(GenerationRequest(prompt(question), max_tokens=24, output=output, **options))


def wait_for(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 120
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.001)


def widths(backbone: LlamaBackbone, monkeypatch: pytest.MonkeyPatch, calls: int) -> list[int]:
    """Collects how many sequences each batch holds; the first is evaluated when all calls have come."""
    decode, seen = backbone._engine.decode, list[int]()

    def watched(parts: Sequence[Part], flag: AbortFlag | None, task: str = "") -> list[int]:
        if not seen:
            wait_for(lambda: len(backbone._scheduler._calls) == calls)
        seen.append(len(parts))
        return decode(parts, flag, task)

    monkeypatch.setattr(backbone._engine, "decode", watched)
    return seen


def test_side_by_side_is_token_for_token_and_bit_for_bit_one_at_a_time(
    backbone: LlamaBackbone, monkeypatch: pytest.MonkeyPatch
) -> None:
    alone = [ask(backbone, question) for question in QUESTIONS]
    backbone._scheduler.forget()
    seen = widths(backbone, monkeypatch, len(QUESTIONS))
    with ThreadPoolExecutor(len(QUESTIONS)) as pool:
        together = list(pool.map(lambda question: ask(backbone, question), QUESTIONS))
    assert [one.tokens for one in together] == [one.tokens for one in alone]  # texts and log-probabilities
    # Six calls, four sequences; with a kernel of its own for one row, a batch each.
    assert max(seen) == (4 if backbone._scheduler._batching else 1)


def test_a_drafted_call_beside_others_changes_nothing(backbone: LlamaBackbone) -> None:
    drafts = ("The capital of France is Paris.", "Africa has three large rivers: the Nile")
    jobs = [(QUESTIONS[0], drafts), (QUESTIONS[1], ()), (QUESTIONS[1], drafts), (QUESTIONS[3], ())]
    alone = [ask(backbone, question, lookup_texts=given) for question, given in jobs]
    backbone._scheduler.forget()
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(lambda job: ask(backbone, job[0], lookup_texts=job[1]), jobs))
    assert [one.tokens for one in together] == [one.tokens for one in alone]


def test_each_call_has_its_own_grammar_and_temperature(backbone: LlamaBackbone) -> None:
    with ThreadPoolExecutor(4) as pool:
        futures = [
            pool.submit(ask, backbone, QUESTIONS[0], grammar=YES),
            pool.submit(ask, backbone, QUESTIONS[0]),
            pool.submit(ask, backbone, QUESTIONS[5], temperature=1.0, seed=3),
            pool.submit(ask, backbone, QUESTIONS[0], grammar='root ::= "x" root'),
        ]
        constrained, free, drawn, endless = (future.result() for future in futures)
    assert constrained.text in {"yes", "no"}
    assert free.tokens == ask(backbone, QUESTIONS[0]).tokens
    assert drawn.tokens == ask(backbone, QUESTIONS[5], temperature=1.0, seed=3).tokens
    assert set(endless.text) == {"x"} and endless.finish == "length"


def test_a_cancelled_or_broken_call_leaves_the_others_alone(backbone: LlamaBackbone) -> None:
    expected = ask(backbone, QUESTIONS[1])
    cancellation, written = Cancellation(), threading.Event()

    def first_words(_: str) -> None:
        written.set()
        cancellation.cancel()

    def breaks(_: str) -> None:
        raise ValueError("a listener's own")

    with ThreadPoolExecutor(4) as pool:
        kept = pool.submit(ask, backbone, QUESTIONS[1])
        stopped = pool.submit(ask, backbone, QUESTIONS[3], on_text=first_words, cancellation=cancellation)
        broken = pool.submit(ask, backbone, QUESTIONS[5], on_text=breaks)
        malformed = pool.submit(ask, backbone, QUESTIONS[2], grammar="root ::= (")
        assert kept.result().tokens == expected.tokens
        with pytest.raises(Cancelled):
            stopped.result()
        with pytest.raises(ValueError, match="a listener's own"):
            broken.result()
        with pytest.raises(ModelError, match="grammar"):
            malformed.result()
    assert ask(backbone, QUESTIONS[1]).tokens == expected.tokens


def test_closing_while_several_run(starter_model: Path) -> None:
    loaded = LlamaBackbone.load(starter_model, None, RunOptions(context_tokens=512))
    started, scheduler = threading.Event(), loaded._scheduler

    def closing() -> bool:
        with scheduler.lock:
            return scheduler._closed

    def hold(_: str) -> None:  # none comes to its end before
        started.set()
        wait_for(closing)

    with ThreadPoolExecutor(4) as pool:
        futures = [
            pool.submit(ask, loaded, question, grammar='root ::= "x" root', on_text=hold) for question in QUESTIONS
        ]
        assert started.wait(120)
        loaded.close()
        for future in futures:
            error = future.exception()
            assert error is None or isinstance(error, (Cancelled, ModelError))
        assert any(future.exception() is not None for future in futures)


def test_what_was_read_of_prompts_is_kept_from_one_start_to_the_next(starter_model: Path, tmp_path: Path) -> None:
    def run(cache: Path | None) -> Generation:
        loaded = LlamaBackbone.load(starter_model, None, RunOptions(context_tokens=512, storage="Q8_0", cache=cache))
        try:
            return ask(loaded, QUESTIONS[0])
        finally:
            loaded.close()

    cold = run(tmp_path)
    [state] = (tmp_path / "prefixes").glob("*/*.prefix")
    warm = run(tmp_path)
    assert warm.tokens == cold.tokens
    assert warm.evaluated_tokens < cold.evaluated_tokens
    state.write_bytes(state.read_bytes()[:-1] + b"?")  # damaged: found out, deleted, read anew
    again = run(tmp_path)
    assert again.tokens == cold.tokens
    assert again.evaluated_tokens == cold.evaluated_tokens
    assert run(tmp_path).evaluated_tokens == warm.evaluated_tokens
