"""Whole transcripts of strategies against a scripted OpenAI-compatible server, which knows grammars and
log-probabilities (mode `scripted`) or does not (mode `scriptedplain`)."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import httpx

from atomr_local.models.openai import OpenAIBackbone
from atomr_local.reasoning.trace.schema import Trace
from atomr_local.strategies.registry import find_strategy
from support.fake_pages import FakePages
from support.fake_parts import FakeSource, passages, toolbox
from support.places import PYTHONPATH, TESTS

QUESTION = "Where was the director of Emma Road born?"
FILM, BIRTH = ("Emma Road", "Emma Road is a film by Ann Lee."), ("Ann Lee", "Ann Lee was born in York.")
FOUND = {
    QUESTION: passages(FILM),
    "Who directed Emma Road?": passages(FILM),
    "Where was Ann Lee born?": passages(BIRTH),
    "Emma Road was directed by Ann Lee.": passages(BIRTH),
}
PLAN = (
    f"0. {QUESTION} = Answer(place)\n"
    '1. Who directed Emma Road? = Relate("Emma Road", "director")\n'
    '2. Where was [1] born? = Relate([1], "place of birth")'
)


def scripted_server() -> Iterator[str]:
    """The address of the server while it runs."""
    script = TESTS / "support" / "openai_server.py"
    environment = {**os.environ, "PYTHONPATH": PYTHONPATH}
    process = subprocess.Popen([sys.executable, str(script)], stdout=subprocess.PIPE, text=True, env=environment)
    assert process.stdout is not None
    yield f"http://127.0.0.1:{int(process.stdout.readline())}"
    process.terminate()
    process.wait(120)
    process.stdout.close()


def pages() -> FakePages:
    source = FakePages({title: text.split("; ") for title, text in (FILM, BIRTH)})
    source.found = dict(FOUND)
    return source


def transcript(
    server: str,
    mode: str,
    strategy: str,
    *replies: tuple[str, float],
    sources: tuple[FakeSource, ...] = (),
    **options: Any,
) -> Trace:
    """The trace of the strategy's run, with these replies and their log-probabilities; all of them are asked for.

    Args:
        sources: by default the pages alone.
    """
    script = [{"text": text, "logprob": logprob} for text, logprob in replies]
    assert httpx.post(f"{server}/script", json=script).json() == len(script)
    backbone = OpenAIBackbone(f"{server}/{mode}/v1", "tiny", "", 60.0)
    chosen: dict[str, Any] = {"llm": {"parallel": 1}}
    try:
        method = find_strategy(strategy)
        tools = toolbox(QUESTION, backbone, *(sources or (pages(),)), options=method.options(**options), **chosen)
        method.run(QUESTION, None, "model", tools)
    finally:
        backbone.close()
    assert httpx.get(f"{server}/script").json() == 0
    return tools.recorder.trace
