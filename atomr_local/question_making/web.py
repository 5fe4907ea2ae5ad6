"""What the web says of an entity, in the set phrases that pages say it in. Only with web search on."""

from __future__ import annotations

from collections.abc import Iterator

from atomr_local.cancellation import Cancellation
from atomr_local.language.names import base_key
from atomr_local.page_facts.stated import PageFact, stated_facts
from atomr_local.sources.protocol import KnowledgeSource, Request

_RESULTS = 5


class WebSearch:
    """Searches the web for names and reads facts in what it says. Each name is searched once.

    Args:
        source: the web as a source; it tells what is about to be sent.
    """

    def __init__(self, source: KnowledgeSource, cancellation: Cancellation) -> None:
        self._source, self._cancellation = source, cancellation
        self._known: dict[str, list[tuple[PageFact, str]]] = {}

    def facts(self, name: str) -> list[tuple[PageFact, str]]:
        """Facts of the entity, each with the address that states it.

        Raises:
            SourceError: the search failed.
            Cancelled: the user interrupted.
        """
        if name not in self._known:
            self._known[name] = list(self._search(name))
        return self._known[name]

    def _search(self, name: str) -> Iterator[tuple[PageFact, str]]:
        found = self._source.retrieve(Request(name, name, top_k=_RESULTS), self._cancellation)
        relations: set[str] = set()
        for item in found.evidence:
            address = item.locator.get("url")
            about = base_key(item.title)
            if not isinstance(address, str) or not f"{about} ".startswith(f"{base_key(name)} "):
                continue
            for fact in stated_facts(name, item.text):
                if fact.relation not in relations:
                    relations.add(fact.relation)
                    yield fact, address
