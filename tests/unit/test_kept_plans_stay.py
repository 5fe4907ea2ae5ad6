"""A plan that the user has kept may quote a private index: it goes to no model elsewhere, and joins no other question."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from support.fake_parts import FakeBackbone, FakeSource

from atomr_local.assistant.assistant import Assistant
from atomr_local.reasoning.planning.examples import check_example, keep_example
from atomr_local.reasoning.trace.events import Finished
from atomr_local.settings.schema import load_settings
from atomr_local.system import paths

QUESTION = "Who rented the yellow boat of Ann Lee?"
ALIKE = "Who rented the green boat of Bob Ray?"
SECRET = "Rosa Quill"
KEPT = f'1. Which boat is it? = Search("Pier 7719, {SECRET}")\n2. Who rented [1]? = Relate([1], "tenant")'
MADE = '1. Which boat is it? = Search("boat of Ann Lee")\n2. Who rented [1]? = Relate([1], "tenant")'
REMOTE = {"url": "https://models.example.org/v1", "model": "m"}


@pytest.fixture(autouse=True)
def _kept() -> None:
    keep_example(paths.examples_file(), check_example(QUESTION, KEPT, ["notes"]))


def assistant(backbone: FakeBackbone, **settings: Any) -> Assistant:
    given = {"privacy": {"indexes": "notes"}, "text_index": "starter", "graph_index": "starter"} | settings
    return Assistant(load_settings(**given), backbone)  # type: ignore[arg-type]


@pytest.fixture
def backbone() -> Iterator[FakeBackbone]:
    backbone = FakeBackbone(MADE)
    yield backbone
    sent = [message.content for prompt in backbone.prompts for message in prompt.messages]
    assert not [text for text in sent if SECRET in text or ("yellow" in text and text != QUESTION)]


@pytest.mark.parametrize("question", [QUESTION, ALIKE])
def test_a_model_elsewhere_never_sees_it(backbone: FakeBackbone, question: str) -> None:
    with assistant(backbone, endpoint=REMOTE) as asks:
        made = asks.plan(question)
    assert made.origin == "model" and SECRET not in made.compact
    assert len(backbone.prompts) == 1


def test_a_model_on_this_machine_uses_it() -> None:
    with assistant(FakeBackbone()) as asks:
        made = asks.plan(QUESTION)
    assert made.origin == "example" and SECRET in made.compact


def test_a_model_elsewhere_sees_it_where_the_user_says_so() -> None:
    shared = {"indexes": "notes", "share": True}
    backbone = FakeBackbone(MADE)
    with assistant(backbone, endpoint=REMOTE, privacy=shared) as asks:
        assert asks.plan(QUESTION).origin == "example"
        asks.plan(ALIKE)
    assert any(SECRET in message.content for message in backbone.prompts[0].messages)


def test_a_question_that_reads_another_index_is_planned_anew_and_told_so() -> None:
    """Its words would go into the trace, which does not tell of the private index."""
    source = FakeSource("text")
    answers = ['{"answers": ["Ann"], "evidence": []}'] * 20
    with assistant(FakeBackbone(MADE, *answers), sources=["text"]) as asks:
        asks.parts.sources = {source.name: source}
        finished = list(asks.ask(QUESTION))[-1]
    assert isinstance(finished, Finished)
    assert finished.trace.plan is not None and SECRET not in finished.trace.plan.compact
    assert finished.trace.plan.origin == "model"
    assert [text for text in finished.trace.warnings if "plan that you kept for this question is not used" in text]
