"""atomr-local: an offline-first local assistant whose answers can be checked.

from atomr_local import Assistant
with Assistant.open() as assistant:
    for event in assistant.ask("..."):
        ...
    trace = assistant.last_trace
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from atomr_local.assistant import Assistant

__all__ = ["Assistant", "__version__"]
__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    if name == "Assistant":  # loaded on first use: importing the package stays light
        from atomr_local.assistant import Assistant

        return Assistant
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
