"""Wraps a model on another machine: announces each call before it is made."""

from __future__ import annotations

from collections.abc import Callable

from atomr_local.backbone.protocol import Backbone, BackboneInfo, Generation, GenerationRequest, Prompt


class AnnouncedBackbone:
    """The backbone `inner`; `announce` is called before every generation."""

    def __init__(self, inner: Backbone, announce: Callable[[], None]) -> None:
        self._inner = inner
        self._announce = announce
        self.count_tokens: Callable[[Prompt], int] = inner.count_tokens
        self.close = inner.close

    @property
    def info(self) -> BackboneInfo:
        return self._inner.info

    def generate(self, request: GenerationRequest) -> Generation:
        self._announce()
        return self._inner.generate(request)
