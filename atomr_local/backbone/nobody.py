"""A backbone where no model is wanted."""

from __future__ import annotations

from atomr_local.backbone.protocol import BackboneInfo, Generation, GenerationRequest, Prompt
from atomr_local.errors import ModelError

_CONTEXT = 4096


class Nobody:
    """Answers nothing: for work on sources that must not ask a model."""

    info = BackboneInfo("no model", None, _CONTEXT)

    def count_tokens(self, prompt: Prompt) -> int:
        return sum(len(message.content) for message in prompt.messages) // 4

    def generate(self, request: GenerationRequest) -> Generation:
        raise ModelError("this work goes without a model, and a step needs one")

    def close(self) -> None: ...
