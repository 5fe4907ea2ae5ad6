"""What the terminal UI needs of the core: the assistant, seen as a protocol, so that tests can play one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from atomr_local.reasoning.conversation import Conversation
    from atomr_local.reasoning.revision import Revision
    from atomr_local.reasoning.trace.events import Event
    from atomr_local.reasoning.trace.schema import PlanOrigin, Trace
    from atomr_local.settings import Settings
    from atomr_local.tree.nodes import Tree


class Answerer(Protocol):
    """The assistant as the UI uses it."""

    @property
    def settings(self) -> Settings: ...

    @property
    def web_enabled(self) -> bool: ...

    def preload(self, on_stage: Callable[[str], None] | None = None) -> None: ...

    def ask(
        self,
        question: str,
        *,
        plan: Tree | None = None,
        plan_origin: PlanOrigin = "user",
        sources: Sequence[str] | None = None,
        revision: Revision | None = None,
        conversation: Conversation | None = None,
        understood: str | None = None,
    ) -> Iterator[Event]: ...

    def cancel(self) -> None: ...

    def stop_loading(self) -> None: ...

    def set_web(self, enabled: bool) -> None: ...

    def reconfigure(self, **changes: Any) -> None: ...

    def query_graph(self, sparql: str, *, timeout: float = 10.0, limit: int = 500) -> Any: ...

    def close(self) -> None: ...


@dataclass(frozen=True)
class Asked:
    """One thing to ask: a question, or a question with the plan and the changes that the user made.

    Attributes:
        again: the earlier form of the question, whose place in the conversation it takes.
        understood: how the user says that it is meant.
    """

    question: str
    plan: Tree | None = None
    origin: PlanOrigin = "user"
    revision: Revision | None = None
    again: Trace | None = None
    understood: str | None = None
