"""A model on another machine: each call to it is announced before it is made."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from atomr_local.backbone.protocol import Backbone, BackboneInfo, Completion, Prompt
from atomr_local.cancellation import Cancellation


class AnnouncedBackbone:
    """The backbone `inner`, with `announce` called before every call of it. See the protocol for the methods."""

    def __init__(self, inner: Backbone, announce: Callable[[], None]) -> None:
        self._inner = inner
        self._announce = announce

    @property
    def info(self) -> BackboneInfo:
        return self._inner.info

    def count_tokens(self, prompt: Prompt) -> int:
        return self._inner.count_tokens(prompt)

    def complete(
        self,
        prompt: Prompt,
        *,
        max_tokens: int,
        grammar: str | None = None,
        stop: tuple[str, ...] = (),
        temperature: float = 0.0,
        seed: int = 0,
        on_text: Callable[[str], None] | None = None,
        cancellation: Cancellation | None = None,
        drafts: Sequence[str] = (),
        watch: Sequence[str] = (),
        watch_after: str = "",
    ) -> Completion:
        self._announce()
        return self._inner.complete(
            prompt,
            max_tokens=max_tokens,
            grammar=grammar,
            stop=stop,
            temperature=temperature,
            seed=seed,
            on_text=on_text,
            cancellation=cancellation,
            drafts=drafts,
            watch=watch,
            watch_after=watch_after,
        )

    def close(self) -> None:
        self._inner.close()
