"""The web source: DuckDuckGo through ddgs. Off by default; result pages are never fetched."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlsplit

from atomr_local.errors import SourceError, WebDisabledError
from atomr_local.sources.protocol import Evidence, Request, Retrieval, SourceName
from atomr_local.system.cancellation import Cancellation
from atomr_local.system.sanitize import sanitize_line

_BACK_OFF = 3.0
_LONGEST = 1000
_LONGEST_QUERY = 400
SEARCH_HOST = "html.duckduckgo.com"
# What the HTTP clients under ddgs say, each in its words, when the search engine cannot be reached at all.
_UNREACHED = re.compile(r"dns|connect(?:ion)?error|failed to lookup|name resolution|unreachable|refused", re.I)
_REFUSALS = (202, 403, 429)
_PAGE_BYTES = 4 << 20
_PAGE_TYPES = ("text/html", "application/xhtml+xml")


def _own(_host: str) -> bool:
    """Whether the engine is one of the user's own, which need not have a public address: never, but in tests."""
    return False


SearchFunction = Callable[[str, int], list[dict[str, Any]]]


class WebSource:
    """Web search as :class:`KnowledgeSource`. Thread-safe.

    Args:
        enabled: whether questions may leave this machine.
        timeout: seconds to wait for the search engine.
        region: DuckDuckGo region code.
        use_proxy: whether the proxies that the environment names are used (DDGS_PROXY before the others).
        leaves: told of each query just before it is sent: "web query", the host, the query.
        search: stands in for the search engine in tests: (query, count) → rows with title, href, body.
    """

    def __init__(
        self,
        *,
        enabled: bool,
        timeout: float = 10.0,
        region: str = "wt-wt",
        use_proxy: bool = False,
        leaves: Callable[[str, str, str], None] = lambda _what, _to, _query: None,
        search: SearchFunction | None = None,
    ) -> None:
        self._enabled = enabled
        self._timeout = timeout
        self._region = region
        self._use_proxy = use_proxy
        self._leaves = leaves
        self._search = search or self._duckduckgo

    @property
    def name(self) -> str:
        return SourceName.WEB

    def retrieve(self, request: Request, cancellation: Cancellation) -> Retrieval:
        """Search results for the request's query.

        Raises:
            WebDisabledError: web access is off.
            SourceError: no connection, time-out or rate limit.
        """
        if not self._enabled:
            raise WebDisabledError("web search was asked for while it is off", hint="Turn it on with --web.")
        cancellation.check()
        query = sanitize_line(request.query)[:_LONGEST_QUERY]
        if not query:
            return Retrieval()
        rows = self._rows(query, request.top_k, cancellation)
        cancellation.check()
        retrieved_at = datetime.now(UTC).isoformat(timespec="seconds")
        found = []
        seen = set()
        for rank, row in enumerate(rows):
            url = safe_url(str(row.get("href", "")))
            if url is None or url in seen:
                continue
            seen.add(url)
            found.append(
                Evidence(
                    source=SourceName.WEB,
                    title=sanitize_line(str(row.get("title") or ""))[:_LONGEST] or url,
                    text=sanitize_line(str(row.get("body") or ""))[:_LONGEST],
                    score=1.0 / (rank + 1),
                    query=query,
                    locator={"url": url, "retrieved_at": retrieved_at},
                )
            )
        return Retrieval(evidence=tuple(found[: request.top_k]))

    def close(self) -> None:
        """Nothing is kept open between searches."""

    def _rows(self, query: str, count: int, cancellation: Cancellation) -> list[dict[str, Any]]:
        from ddgs.exceptions import RatelimitException, TimeoutException

        for attempt in (1, 2):
            try:
                self._leaves("web query", SEARCH_HOST, query)
                return self._search(query, count)
            except RatelimitException as error:
                if attempt == 2:
                    raise SourceError(
                        "the search engine refuses more searches for now (rate limit)", hint="Wait some minutes."
                    ) from error
                cancellation.wait(_BACK_OFF)
                cancellation.check()
            except TimeoutException as error:
                raise SourceError(
                    f"the search engine did not answer within {self._timeout:g} seconds",
                    hint="Check the connection, or set web.timeout higher.",
                ) from error
            except SourceError:
                raise
            except Exception as error:  # DDGSException, or lxml's for a page that is none
                if _UNREACHED.search(str(error)):
                    raise SourceError(
                        "web search was skipped",
                        title="No network",
                        hint=f"Check the connection to {SEARCH_HOST}, or turn web search off.",
                    ) from error
                raise SourceError(
                    f"the web search failed: {sanitize_line(str(error))[:200]}", hint="Check the connection."
                ) from error
        return []

    def _duckduckgo(self, query: str, count: int) -> list[dict[str, Any]]:
        """One request to DuckDuckGo's engine alone.

        ddgs writes the request and reads the result page. The connection is :class:`PublicClient`'s. It looks like a
        browser's, as that of ddgs does; but that one follows redirects anywhere and reads answers of any length. The
        front end of ddgs is not used either: it takes the 202 of a rate limit for "no results", and asks other engines
        when it does not know the one named.
        """
        from ddgs.engines.duckduckgo import Duckduckgo
        from ddgs.exceptions import DDGSException, RatelimitException, TimeoutException

        from atomr_local.system.network import NotPublicError, PublicClient, TooMuchError

        def ask(url: str, data: dict[str, str] | None) -> str:
            host = urlsplit(url).hostname or ""
            client = PublicClient(
                [host],
                seconds=self._timeout,
                size=_PAGE_BYTES,
                types=_PAGE_TYPES,
                proxy=_environment_proxy(url) if self._use_proxy else None,
                own=_own,
            )
            try:
                page = client.page("POST", url, data)
            except TimeoutError as error:
                raise TimeoutException(str(error)) from error
            except (NotPublicError, TooMuchError) as error:
                raise SourceError(f"the web search failed: {error.message}", hint="Try again later.") from error
            except ConnectionError as error:
                raise DDGSException(f"ConnectError: {error}") from error
            if page.status in _REFUSALS:
                raise RatelimitException(f"status {page.status}")
            if page.status != 200:
                raise DDGSException(f"the search engine answered with status {page.status}")
            return page.text

        class Engine(Duckduckgo):  # type: ignore[misc]
            """ddgs' engine without its own HTTP client."""

            def __init__(self) -> None:
                self.results: list[Any] = []

            def request(self, method: str, url: str, data: dict[str, str] | None = None) -> str:
                return ask(url, data)

        rows = (Engine().search(query, region=self._region) or [])[:count]
        return [{"title": row.title, "href": row.href, "body": row.body} for row in rows]


def _environment_proxy(url: str) -> str | None:
    """The proxy that the environment names for an address; DDGS_PROXY, which ddgs reads, goes first."""
    from urllib.request import getproxies_environment, proxy_bypass

    if proxy := os.environ.get("DDGS_PROXY"):
        return proxy
    parts = urlsplit(url)
    if proxy_bypass(parts.netloc):
        return None
    proxies = getproxies_environment()
    return proxies.get(parts.scheme) or proxies.get("all")


def safe_url(text: str) -> str | None:
    """The address if it is plain http or https without credentials; else None."""
    url = sanitize_line(text)
    try:
        parts = urlsplit(url)
    except ValueError:
        return None
    if parts.scheme not in {"http", "https"} or not parts.hostname or "@" in parts.netloc or " " in url:
        return None
    return url if len(url) <= 2 * _LONGEST else None
