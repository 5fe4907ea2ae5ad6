"""Entities from a Wikibase API such as Wikidata's, fifty per request."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any
from urllib.parse import urlencode

import httpx

from atomr_local.fetching.client import Client, FetchError, Limiter, Passing, checked_url, retry_after, shown
from atomr_local.fetching.estimates import ENTITIES_A_REQUEST
from atomr_local.sanitize import sanitize_line

BATCH = ENTITIES_A_REQUEST
_MAXLAG = "5"  # seconds that the servers' copies may be behind; above, they ask robots to wait
_ANSWER_BYTES = 256 << 20
_ID = re.compile(r"[QP][1-9]\d{0,11}")
_LATER = ("maxlag", "ratelimited", "readonly", "internal_api_error", "failed-save", "timeout", "actionthrottled")
_UNKNOWN = ("no-such-entity", "invalid-entity-id")


class Wikibase:
    """See the module.

    Args:
        endpoint: address of its api.php.
        languages: of labels, descriptions and aliases.
        limiter: how many requests per second.
    """

    def __init__(self, client: Client, endpoint: str, languages: Sequence[str], limiter: Limiter) -> None:
        checked_url(endpoint)
        self._client = client
        self._endpoint = endpoint
        self._languages = "|".join(languages)
        self._limiter = limiter

    def entities(self, identifiers: Sequence[str], props: Sequence[str]) -> dict[str, dict[str, Any] | None]:
        """The entities of at most :data:`BATCH` ids; None for those that do not exist, the target for merged ones.

        Raises:
            FetchError: the API does not answer, or not with these entities.
        """
        asked = {"ids": "|".join(identifiers), "props": "|".join(props), "languages": self._languages}
        try:
            return self._client.persist(lambda: _entities_of(self._ask(asked, post=False), identifiers))
        except _Unknown:
            if len(identifiers) == 1:
                return {identifiers[0]: None}
        middle = len(identifiers) // 2
        return self.entities(identifiers[:middle], props) | self.entities(identifiers[middle:], props)

    def of_titles(self, site: str, titles: Sequence[str]) -> dict[str, str]:
        """The ids of the items whose page on `site` has one of these titles, at most :data:`BATCH`; by title.

        Raises:
            FetchError: as :meth:`entities`.
        """
        asked = {"sites": site, "titles": "|".join(titles), "props": "sitelinks", "sitefilter": site}

        def work() -> dict[str, str]:
            found = {}
            for entity in self._ask(asked, post=True).values():
                link = entity.get("sitelinks", {}) if isinstance(entity, dict) else {}
                title = link.get(site, {}).get("title") if isinstance(link, dict) else None
                identifier = str(entity.get("id")) if isinstance(entity, dict) else ""
                if isinstance(title, str) and title in titles and re.fullmatch(r"Q[1-9]\d{0,11}", identifier):
                    found[title] = identifier
            return found

        return self._client.persist(work)

    def _ask(self, asked: dict[str, str], *, post: bool) -> dict[str, Any]:
        """The "entities" of one answer."""
        asked = {"action": "wbgetentities", "format": "json", "maxlag": _MAXLAG, **asked}
        self._limiter.spend(1)
        if post:
            text, headers = self._client.body(self._endpoint, _ANSWER_BYTES, data=asked)
        else:
            text, headers = self._client.body(f"{self._endpoint}?{urlencode(asked)}", _ANSWER_BYTES)
        try:
            answer = json.loads(text)
        except (ValueError, RecursionError):
            raise Passing(f"{shown(self._endpoint)}: the answer is not JSON") from None
        if not isinstance(answer, dict):
            raise Passing(f"{shown(self._endpoint)}: the answer is not a JSON object")
        if "error" in answer:
            self._complain(answer["error"], headers)
        entities = answer.get("entities")
        if not isinstance(entities, dict) or not entities:
            raise Passing(f"{shown(self._endpoint)}: the answer contains no entities")
        return entities

    def _complain(self, error: Any, headers: httpx.Headers) -> None:
        code = str(error.get("code", "")) if isinstance(error, dict) else ""
        if code.startswith(_LATER):
            raise Passing(f"{shown(self._endpoint)}: {sanitize_line(code)[:40]}", retry_after(headers))
        if code in _UNKNOWN:
            raise _Unknown
        words = str(error.get("info", "")) if isinstance(error, dict) else ""
        raise FetchError(f"{shown(self._endpoint)} refuses: {sanitize_line(f'{code} {words}')[:200]}")


class _Unknown(Exception):
    """An id is none that the API knows, so that it answers for none of them."""


def _entities_of(answer: dict[str, Any], identifiers: Sequence[str]) -> dict[str, dict[str, Any] | None]:
    """What of the answer belongs to each id that was asked for.

    Raises:
        Passing: it lacks one.
    """
    merged = {}
    for entity in answer.values():
        redirect = entity.get("redirects") if isinstance(entity, dict) else None
        if isinstance(redirect, dict):
            merged[redirect.get("from")] = entity
    found: dict[str, dict[str, Any] | None] = {}
    for identifier in identifiers:
        entity = merged.get(identifier) or answer.get(identifier)
        if not isinstance(entity, dict):
            raise Passing(f"{identifier} is missing in the answer")
        if "missing" in entity:
            found[identifier] = None
            continue
        own = entity.get("id")
        if not isinstance(own, str) or not _ID.fullmatch(own) or own[0] != identifier[0]:
            raise Passing(f"something else came for {identifier}")
        if own != identifier and identifier not in merged:
            raise Passing(f"{sanitize_line(own)} came for {identifier}")
        found[identifier] = entity
    return found
