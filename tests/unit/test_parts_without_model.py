"""Looking things up while the language model is still being loaded, or cannot be."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.fake_parts import FakeBackbone, reply
from support.served_parts import PagesSource

from atomr_local.assistant import session as module
from atomr_local.assistant.assistant import Assistant
from atomr_local.assistant.session import Session, quiet
from atomr_local.errors import AtomrError, ModelError
from atomr_local.indexing.graph_index.index import build_graph_index
from atomr_local.settings.schema import load_settings
from atomr_local.sources.registry import open_source


class Held:
    """The loading of a model, which lasts until it is let go on."""

    def __init__(self) -> None:
        self.begun, self.go_on = threading.Event(), threading.Event()
        self.times = 0
        self.opened: list[str] = []

    def load(self, parts: Session) -> None:
        self.times += 1
        self.begun.set()
        assert self.go_on.wait(60)
        parts.backbone = FakeBackbone(reply("the sun"))  # type: ignore[assignment]


@pytest.fixture
def held(monkeypatch: pytest.MonkeyPatch) -> Iterator[Held]:
    made = Held()

    def opened(name: str, tools: object) -> object:
        made.opened.append(name)
        return PagesSource() if name == "text" else open_source(name, tools)  # type: ignore[arg-type]

    monkeypatch.setattr(Session, "_load_backbone", lambda self, *_: made.load(self))
    monkeypatch.setattr(module, "open_source", opened)
    yield made
    made.go_on.set()


@pytest.fixture
def assistant(tmp_path: Path) -> Iterator[Assistant]:
    facts = tmp_path / "facts.jsonl"
    facts.write_text(json.dumps({"s": "Ann Lee", "p": "father", "o": "Bob Lee"}) + "\n", encoding="utf-8")
    build_graph_index([facts], "mine")
    # No file is looked for: the tests need no model.
    with Assistant(load_settings(graph_index="mine", endpoint={"url": "http://127.0.0.1:9/v1", "model": "x"})) as made:
        yield made


def on_thread(work: object) -> tuple[threading.Thread, list[BaseException]]:
    errors: list[BaseException] = []

    def run() -> None:
        try:
            work()  # type: ignore[operator]
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    return thread, errors


def test_look_ups_do_not_wait_for_the_model(assistant: Assistant, held: Held) -> None:
    loading, errors = on_thread(assistant.preload)
    assert held.begun.wait(30)
    found: list[object] = []

    def look() -> None:
        found.append(assistant.lookups.search_text("lake")[0].title)
        found.append(assistant.lookups.find_entity("Ann Lee")[0].entity.text)
        found.append(assistant.lookups.relate("Ann Lee", "father").values[0].text)
        found.append(assistant.query_graph("ASK { ?s ?p ?o }").rows)

    looking, failed = on_thread(look)
    looking.join(60)
    assert not failed
    assert found[:3] == ["Como", "Ann Lee", "Bob Lee"]
    assert found[3] == [("yes",)]
    assert loading.is_alive() and assistant.parts.backbone is None
    held.go_on.set()
    loading.join(30)
    assert not errors and assistant.parts.backbone is not None
    assert sorted(held.opened) == ["graph", "text"], "no source is opened twice"


def test_the_model_is_loaded_once_for_all_who_want_it(assistant: Assistant, held: Held) -> None:
    threads = [on_thread(lambda: assistant.parts.load(("text",), quiet)) for _ in range(4)]
    assert held.begun.wait(30)
    held.go_on.set()
    for thread, errors in threads:
        thread.join(30)
        assert not errors
    assert (held.times, held.opened) == (1, ["text"])


def test_closing_waits_for_the_model_and_frees_it(assistant: Assistant, held: Held) -> None:
    loading, _ = on_thread(assistant.preload)
    assert held.begun.wait(30)
    closing, errors = on_thread(assistant.close)
    closing.join(0.2)
    assert closing.is_alive()
    held.go_on.set()
    loading.join(30)
    closing.join(30)
    assert not errors and assistant.parts.backbone is None and not assistant.parts.sources


def test_an_error_of_the_model_is_told_to_who_wants_it_alone(
    assistant: Assistant, held: Held, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(_parts: Session, *_: object) -> None:
        raise ModelError("no such model")

    monkeypatch.setattr(Session, "_load_backbone", broken)
    with pytest.raises(ModelError, match="no such model"):
        assistant.preload()
    assert assistant.lookups.search_text("lake")
    assert held.opened == ["text", "graph"]


def test_a_model_that_is_missing_is_told_before_indexes_are_opened(held: Held) -> None:
    with Assistant(load_settings(model="nowhere.gguf")) as assistant, pytest.raises(AtomrError):
        assistant.preload()
    assert not held.opened and not held.times
