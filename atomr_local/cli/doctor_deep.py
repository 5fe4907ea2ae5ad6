"""`atomr doctor --deep`: checks that take seconds or more. A new one is a function in `CHECKS`.

A check takes the settings and yields findings as it makes them; an error of ours that it raises becomes a finding.
It imports what it needs inside, so that `atomr doctor --help` stays light.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

from atomr_local.cli.findings import Finding, broken
from atomr_local.errors import AtomrError

if TYPE_CHECKING:
    from atomr_local.settings import Settings

Check = Callable[["Settings"], Iterable[Finding]]


def deep_findings(settings: Settings) -> Iterator[Finding]:
    """The findings of all deep checks, each as soon as it is made."""
    for name, check in CHECKS.items():
        try:
            yield from check(settings)
        except AtomrError as error:
            yield broken(name, error)


def _processor(_settings: Settings) -> Iterator[Finding]:
    from atomr_local.backbone.processor import read_processor

    processor = read_processor()
    features = ", ".join(processor.features) or "none of those that speed a model up"
    facts = {"model": processor.model, "features": list(processor.features), "machine": processor.machine}
    yield Finding("processor", "ok", f"{processor.model} ({processor.machine}): {features}", facts=facts)


# What is checked → the check. Run in this order.
CHECKS: dict[str, Check] = {
    "processor": _processor,
}
