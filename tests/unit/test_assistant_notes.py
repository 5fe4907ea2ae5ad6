"""What a part has to say, such as that the embedder runs more slowly than it could, reaches the person who asks."""

from __future__ import annotations

import pytest
from support.fake_parts import FakeBackbone, FakeSource

from atomr_local.assistant.assistant import Assistant
from atomr_local.errors import MissingPartError
from atomr_local.indexing.embedding import bert as embedding_bert
from atomr_local.models.catalog.find import find_embedder
from atomr_local.reasoning.trace.events import Finished, WarningRaised
from atomr_local.settings.schema import load_settings


def test_a_slower_embedder_is_told_once_as_a_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    try:
        find_embedder("starter")
    except MissingPartError as error:
        pytest.skip(f"no embedder: {error}")

    def broken(*_: object) -> None:
        raise RuntimeError("no such instruction")

    class Torch:
        backend, dimensions = "torch", 2

        def __init__(self, _: object) -> None: ...

    monkeypatch.setattr(embedding_bert, "BertEncoder", broken)
    monkeypatch.setattr("atomr_local.indexing.embedding.embedder._TorchRuntime", Torch)
    with Assistant(load_settings(), FakeBackbone("The sun.", "The sun.")) as assistant:  # type: ignore[arg-type]
        source = FakeSource("text")
        assistant.parts.sources = {source.name: source}
        assert assistant.parts.embedder().dimensions == 2
        for expected in (["onnxruntime cannot run the embedder (no such instruction)"], []):
            events = list(assistant.ask("What shines?", strategy="closed-book"))
            notes = [event.message.partition(";")[0] for event in events if isinstance(event, WarningRaised)]
            assert notes == expected
            finished = events[-1]
            assert isinstance(finished, Finished)
            assert [message.partition(";")[0] for message in finished.trace.warnings] == expected
