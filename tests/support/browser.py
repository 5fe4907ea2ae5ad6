"""A real Chromium, and a server for it in a thread of its own. Tests that need them are skipped where they are missing."""

from __future__ import annotations

import asyncio
import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, Page, Request

    from atomr_local.server.app import Server

_NAMES = ("chromium", "chromium-browser", "google-chrome-stable", "google-chrome")
_ARGUMENTS = [
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
]  # fmt: skip
_PATIENCE = 60_000  # milliseconds: machines may be busy
# Chromium drops keys that come before the first frame of a page is drawn, which no person can press.
_DRAWN = "() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done())))"


@contextmanager
def chromium() -> Iterator[Browser]:
    """The browser; without it, or without playwright, the test is skipped."""
    sync_api = pytest.importorskip(
        "playwright.sync_api", reason="playwright, which drives the browser, is not installed"
    )
    path = next(filter(None, map(shutil.which, _NAMES)), None)
    if path is None:
        pytest.skip("Chromium is not installed (Debian: apt-get install chromium)")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=_ARGUMENTS)
        try:
            yield browser
        finally:
            browser.close()


class Seen:
    """What a page did that it must not do, and what it asked the server."""

    def __init__(self, page: Page) -> None:
        self.problems: list[str] = []
        self.requests: list[Request] = []
        page.on("pageerror", lambda error: self.problems.append(f"error: {error}"))
        page.on("dialog", lambda dialog: (self.problems.append(f"dialog: {dialog.message}"), dialog.dismiss()))
        page.on("console", lambda told: self._console(told.type, told.text))
        page.on("request", lambda request: self.requests.append(request))  # noqa: PLW0108 - it keeps a mark on it

    def _console(self, kind: str, text: str) -> None:
        # That an answer had this status or did not come is what some tests are about.
        if kind in {"error", "warning"} and "Failed to load resource" not in text:
            self.problems.append(f"{kind}: {text}")

    def bodies(self, path: str) -> list[Any]:
        """The bodies that were sent to this address."""
        return [request.post_data_json for request in self.requests if urlsplit(request.url).path == path]

    def check(self, address: str) -> None:
        """Nothing was reported, such as a violation of the content security policy, and nobody else was asked."""
        assert not self.problems
        elsewhere = [r.url for r in self.requests if not r.url.startswith((f"{address}/", f"blob:{address}/"))]
        assert not elsewhere


@contextmanager
def opened(browser: Browser, address: str, **options: Any) -> Iterator[tuple[Page, Seen]]:
    """A page of a browser without a past, at `address`; at the end it is checked that it did nothing that it must not."""
    context: BrowserContext = browser.new_context(**({"viewport": {"width": 1280, "height": 900}} | options))
    context.set_default_timeout(_PATIENCE)
    page = context.new_page()
    seen = Seen(page)
    try:
        page.goto(f"{address}/")
        page.evaluate(_DRAWN)
        yield page, seen
        seen.check(address)
    finally:
        context.close()


def violations(page: Page) -> list[str]:
    """What axe finds on the page as it stands, each with the elements that it is about."""
    found = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe is not installed").Axe().run(page)
    return [f"{item['id']}: {[node['html'] for node in item['nodes']]}" for item in found.response["violations"]]


class RunningServer:
    """A server behind a socket, in a thread with an event loop of its own."""

    def __init__(self, application: Server) -> None:
        from atomr_local.server.app import listening_socket, uvicorn_server

        self._application = application
        self._listener = listening_socket("127.0.0.1", 0)
        self._server = uvicorn_server(application)
        self._thread = threading.Thread(target=asyncio.run, args=(self._serve(),), daemon=True)
        self._end: asyncio.Event | None = None
        self._begun = threading.Event()
        self._thread.start()
        assert self._begun.wait(30)

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self._listener.getsockname()[1]}"

    async def _serve(self) -> None:
        self._end = asyncio.Event()
        self._loop = asyncio.get_running_loop()
        serving = asyncio.create_task(self._server.serve(sockets=[self._listener]))
        while not self._server.started:
            await asyncio.sleep(0.01)
        self._begun.set()
        await self._end.wait()
        await self._application.stop()
        self._server.should_exit = True
        await serving

    def cut_off(self) -> None:
        """End all requests at once."""
        self._loop.call_soon_threadsafe(self._application.in_flight.cut_off)

    def stop(self) -> None:
        """End the server; a second time does nothing."""
        if self._thread.is_alive():
            assert self._end is not None
            self._loop.call_soon_threadsafe(self._end.set)
            self._thread.join(30)
