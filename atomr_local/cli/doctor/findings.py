"""The findings of `atomr doctor`, one per part."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from atomr_local.errors import AtomrError, MissingPartError
from atomr_local.system.installation import recompile_llama

if TYPE_CHECKING:
    from atomr_local.backbone.llama.probe.verdict import ProbeVerdict


@dataclass(frozen=True)
class Finding:
    """One part of the program and its state.

    Attributes:
        part: what was looked at.
        state: "ok", "missing" or "broken".
        detail: what was found, on one line.
        advice: what to do; empty when there is nothing to do.
        facts: what `--json` says beyond that; empty for most parts.
    """

    part: str
    state: str
    detail: str
    advice: str = ""
    facts: dict[str, Any] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """The finding for JSON; `facts` only where there are some."""
        return {name: value for name, value in asdict(self).items() if value or name != "facts"}


def looked_at(part: str, look: Callable[[], str]) -> Finding:
    """A finding from a look that gives the detail of a part that is in order, or raises an error of ours."""
    try:
        return Finding(part, "ok", look())
    except AtomrError as error:
        return broken(part, error)


def broken(part: str, error: AtomrError) -> Finding:
    """An error of ours as a finding."""
    state = "missing" if isinstance(error, MissingPartError) else "broken"
    return Finding(part, state, error.message, error.hint or f"Choose another {part} in the settings.")


def model_run(verdict: ProbeVerdict, model: Path) -> Finding:
    """What trying the model out has shown."""

    facts = {
        "way": asdict(verdict.way),
        "failed": [{"way": asdict(one.way), "ended": one.ended, "said": one.said} for one in verdict.failed],
    }
    if not verdict.failed:
        return Finding("model run", "ok", f"{model.name} was tried out here and runs", facts=facts)
    tried = "; ".join(f"{one.way}: {one.what}" for one in verdict.failed)
    detail = f"{model.name} runs here {verdict.way}, which may be slower. Tried before: {tried}"
    return Finding(
        "model run", "ok", detail, f"llama.cpp compiled again may run it as it is: {recompile_llama()}", facts
    )
