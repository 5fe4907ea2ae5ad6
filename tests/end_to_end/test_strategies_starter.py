"""The strategies on the starter's real parts, a question each. `scripts/bench/strategy_traces.py` asks more."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import cycle
from pathlib import Path

import pytest
from strategy_traces import FIXED, checked

from atomr_local import Assistant
from atomr_local.errors import MissingPartError
from atomr_local.settings.schema import load_settings
from atomr_local.strategies.registry import STRATEGIES, find_strategy

# Asked with every commit: a tree, plain retrieval, follow-ups, a chain, and a method that writes queries.
OFTEN = ("atomr", "rag", "self-ask", "cok", "detllm")
QUESTIONS = ("Where was the director of Metropolis born?", "Who was the father of Marie Curie?")


@pytest.fixture(scope="module")
def assistants(starter_home: Path) -> Iterator[dict[int, Assistant]]:
    """By the number of calls that may run side by side."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ATOMR_HOME", str(starter_home))
        opened = {many: Assistant.open(load_settings(llm={"parallel": many}, strategies=FIXED)) for many in (1, 2)}
        try:
            for assistant in opened.values():
                assistant.preload()
        except MissingPartError as error:
            pytest.skip(f"the starter is not installed: {error.message}")
        yield opened
        for assistant in opened.values():
            assistant.close()


@pytest.mark.parametrize(
    ("strategy", "question"),
    [
        pytest.param(strategy, question, marks=() if strategy in OFTEN else pytest.mark.nightly)
        for strategy, question in zip(STRATEGIES, cycle(QUESTIONS), strict=False)
    ],
)
def test_a_strategy_on_the_starter(assistants: dict[int, Assistant], strategy: str, question: str) -> None:
    """It ends within its limits; its trace replays, exports, reopens, cites what the index has, and comes again."""
    one = checked(assistants[1], assistants[2], strategy, question)
    assert one.problems == ()
    assert one.trace.totals.llm_calls >= 1
    assert one.trace.strategy == find_strategy(strategy).name
