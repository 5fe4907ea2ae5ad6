"""Wraps a model on another machine: announces each call before it is made."""

from __future__ import annotations

from collections.abc import Callable

from atomr_local.backbone.protocol import Backbone, BackboneInfo, Generation, GenerationRequest, Prompt


def announced(backbone: Backbone, what: str, leaves: Callable[[str, str], None]) -> Backbone:
    """The model as it is, or one that tells `leaves` what goes to which machine if that is another one."""
    host = backbone.info.host
    return backbone if host is None else _AnnouncedBackbone(backbone, lambda: leaves(what, host))


class _AnnouncedBackbone:
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
