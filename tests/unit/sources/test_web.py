from __future__ import annotations

import contextlib
import http.server
import os
import socket
import subprocess
import sys
import threading
import time
import urllib.parse
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta

import pytest
from ddgs.engines.duckduckgo import Duckduckgo
from ddgs.exceptions import DDGSException, RatelimitException, TimeoutException

from atomr_local.errors import Cancelled, SourceError
from atomr_local.sources import web
from atomr_local.sources.protocol import Request, SourceName
from atomr_local.sources.web import WebSource, safe_url
from atomr_local.system.cancellation import Cancellation

ROW = {"title": "Lake Como", "href": "https://example.org/como", "body": "A lake in Italy."}


def ask(search: Callable, top_k: int = 3, query: str = "lake como", cancellation: Cancellation | None = None):
    source = WebSource(enabled=True, search=search)
    return source.retrieve(Request(query, query, top_k=top_k), cancellation or Cancellation()).evidence


def failing(error: Exception) -> Callable:
    def search(query: str, count: int) -> list:
        raise error

    return search


def test_off_means_no_import_and_no_socket() -> None:
    program = """
import socket, sys
def refused(*args, **kwargs): raise AssertionError("a socket was opened")
socket.socket = socket.create_connection = socket.getaddrinfo = refused
from atomr_local.system.cancellation import Cancellation
from atomr_local.errors import WebDisabledError
from atomr_local.sources.protocol import Request
from atomr_local.sources.web import WebSource
try:
    WebSource(enabled=False).retrieve(Request("a", "a"), Cancellation())
except WebDisabledError as error:
    assert error.hint
else:
    raise AssertionError("not refused")
assert not {"ddgs", "primp", "lxml"} & set(sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", program], check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_results_become_evidence_with_address_and_time() -> None:
    (found,) = ask(lambda query, count: [ROW])
    assert (found.source, found.title, found.text, found.query) == (
        SourceName.WEB, "Lake Como", "A lake in Italy.", "lake como",
    )  # fmt: skip
    assert found.locator["url"] == "https://example.org/como"
    assert datetime.now(UTC) - datetime.fromisoformat(found.locator["retrieved_at"]) < timedelta(minutes=1)


def test_order_top_k_and_one_piece_per_address() -> None:
    rows = [{**ROW, "href": f"https://example.org/{i // 2}"} for i in range(20)]
    found = ask(lambda query, count: rows, top_k=4)
    assert [item.locator["url"][-1] for item in found] == ["0", "1", "2", "3"]
    assert [item.score for item in found] == sorted((item.score for item in found), reverse=True)


def test_the_query_is_one_clean_bounded_line() -> None:
    seen = []
    ask(lambda query, count: seen.append(query) or [], query="a\x1b[2J\n\u202eb " + "x" * 5000)
    assert seen[0].startswith("a b xxx")
    assert len(seen[0]) == 400


@pytest.mark.parametrize("query", ["", " \n", "\x1b[2J"])
def test_an_empty_query_asks_nobody(query: str) -> None:
    assert ask(failing(AssertionError("searched")), query=query) == ()


def test_hostile_rows() -> None:
    rows = [
        {
            "title": "a\x1b]0;owned\x07b\u202e",
            "href": "https://example.org/1",
            "body": "c\x00\x9b2Jd\r\n\u2028e" + "x" * 9999,
        },
        {"title": None, "href": "https://example.org/2", "body": None},
        {"href": "javascript:alert(1)", "title": "t", "body": "b"},
        {"href": None},
        {"href": 7},
        {},
    ]
    first, second = ask(lambda query, count: rows, top_k=10)
    assert (first.title, first.text[:3], len(first.text)) == ("ab", "cd ", 1000)
    assert (second.title, second.text) == ("https://example.org/2", "")


@pytest.mark.parametrize(
    "url",
    [
        "javascript:alert(1)", "JaVaScRiPt:alert(1)", "file:///etc/passwd", "data:text/html,x", "ftp://example.org/",
        "//example.org/", "example.org", "", "https://", "https:///path", "http://[::1", "https://user:secret@example.org/",
        "https://example.org\\@evil.org/", "https://example.org/a b", "https://example.org/" + "x" * 5000, "\x00", "http:",
    ],
)  # fmt: skip
def test_addresses_that_are_refused(url: str) -> None:
    assert safe_url(url) is None


def test_addresses_that_pass() -> None:
    for url in (
        "https://example.org/a?b=c#d",
        "http://example.org:8080/",
        "https://example.org/~user@home",
        "https://xn--bcher-kva.example/",
    ):
        assert safe_url(url) == url
    assert safe_url("https://example.org/\x1b[2Ja\u202e") == "https://example.org/a"


def test_cancelled_while_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(web, "_BACK_OFF", 300.0)
    cancellation = Cancellation()
    timer = threading.Timer(0.2, cancellation.cancel)
    timer.start()
    started = time.monotonic()
    with pytest.raises(Cancelled):
        ask(failing(RatelimitException("202")), cancellation=cancellation)
    assert time.monotonic() - started < 60
    timer.join()


def test_cancelled_before_and_during_the_search() -> None:
    cancellation = Cancellation()
    with pytest.raises(Cancelled):
        ask(lambda query, count: cancellation.cancel() or [ROW], cancellation=cancellation)
    with pytest.raises(Cancelled):
        ask(failing(AssertionError("searched")), cancellation=cancellation)


@pytest.mark.parametrize(
    ("error", "message", "hint"),
    [
        (TimeoutException("timed out"), "within 10 seconds", ""),
        (DDGSException("ConnectError: \x1b[31mrefused\n" + "x" * 999), "web search was skipped", ""),
        (
            DDGSException(
                "DNSError: DNSError('error sending request for url (https://html.duckduckgo.com/html/): Query {"
            ),
            "^No network: web search was skipped$",
            "html.duckduckgo.com",
        ),
        (ValueError("Document is empty"), "Document is empty", ""),
    ],
)
def test_failures_are_told_plainly(error: Exception, message: str, hint: str) -> None:
    with pytest.raises(SourceError, match=message) as caught:
        ask(failing(error))
    assert caught.value.hint and hint in caught.value.hint
    assert len(caught.value.message) < 300


PAGE = """<html><body>
<div class="body"><h2>Lake Como</h2><a href="https://example.org/como">A lake in <b>Lombardy</b>.</a></div>
<div class="body"><h2>Advert</h2><a href="https://duckduckgo.com/y.js?ad=1">Buy a lake.</a></div>
<div class="body"><h2>Bad</h2><a href="javascript:alert(1)">Click.</a></div>
<div class="body"><h2>Bellagio</h2><a href="https://example.org/bellagio">A town on Lake Como.</a></div>
</body></html>"""


ENDLESS = "endless"


class StandInEngine(http.server.BaseHTTPRequestHandler):
    """Answers on loopback in the place of the search engine; `answers` holds (status, page) in order."""

    answers: list[tuple[int, str]]
    seen: list[dict[str, list[str]]]
    speaks: threading.Event

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        self.seen.append(urllib.parse.parse_qs(body))
        self.speaks.wait(60)
        status, page = self.answers.pop(0)
        self.send_response(status)
        if 300 <= status < 400:
            self.send_header("Location", page)
            page = ""
        if page == ENDLESS:
            with contextlib.suppress(OSError):
                self.send_header("Content-Type", "text/html")
                self.end_headers()
                while True:
                    self.wfile.write(b"<div>" * 10_000)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(page.encode())))
        with contextlib.suppress(OSError):  # the one who asked may have left
            self.end_headers()
            self.wfile.write(page.encode())

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch) -> Iterator[type[StandInEngine]]:
    handler = type("Handler", (StandInEngine,), {"answers": [], "seen": [], "speaks": threading.Event()})
    handler.speaks.set()
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = False  # closing waits for them, so that none outlives its test
    monkeypatch.setattr(Duckduckgo, "search_url", f"http://127.0.0.1:{server.server_port}/html/")
    monkeypatch.setattr(web, "_BACK_OFF", 0.01)
    monkeypatch.setattr(web, "_own", lambda host: host == "127.0.0.1")
    for name in ("DDGS_PROXY", "HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    yield handler
    handler.speaks.set()
    server.shutdown()
    server.server_close()


def ask_engine(timeout: float = 60.0, region: str = "it-it", use_proxy: bool = False):
    source = WebSource(enabled=True, timeout=timeout, region=region, use_proxy=use_proxy)
    return source.retrieve(Request("lake como", "lake como", top_k=3), Cancellation()).evidence


def test_a_result_page_through_ddgs(engine: type[StandInEngine]) -> None:
    engine.answers.append((200, PAGE))
    found = ask_engine()
    assert [(item.title, item.text, item.locator["url"]) for item in found] == [
        ("Lake Como", "A lake in Lombardy.", "https://example.org/como"),
        ("Bellagio", "A town on Lake Como.", "https://example.org/bellagio"),
    ]
    assert [(query["q"], query["l"]) for query in engine.seen] == [(["lake como"], ["it-it"])]


def test_the_engines_own_rate_limit_is_known_as_one(engine: type[StandInEngine]) -> None:
    engine.answers += [(202, "<html>wait</html>"), (200, PAGE)]
    assert len(ask_engine()) == 2
    engine.answers += [(202, ""), (429, "")]
    with pytest.raises(SourceError, match="rate limit") as caught:
        ask_engine()
    assert caught.value.hint
    assert len(engine.seen) == 4, "it waits once"


@pytest.mark.parametrize(
    "page", ["", "<html><body>No results.</body></html>", "plain text", "<div class='body'></div>"]
)
def test_pages_without_results(engine: type[StandInEngine], page: str) -> None:
    engine.answers.append((200, page))
    assert ask_engine() == ()


def test_a_page_that_is_none_and_a_server_error(engine: type[StandInEngine]) -> None:
    engine.answers += [(200, "<!---->"), (500, PAGE)]
    with pytest.raises(SourceError, match="the web search failed"):
        ask_engine()
    with pytest.raises(SourceError, match="status 500"):
        ask_engine()


@pytest.mark.slow
def test_a_silent_engine(engine: type[StandInEngine]) -> None:
    engine.answers.append((200, PAGE))
    engine.speaks.clear()
    with pytest.raises(SourceError, match="did not answer within 1 seconds"):
        ask_engine(timeout=1.0)


@pytest.mark.parametrize(
    "target",
    [
        "http://localhost:1/", "http://[::1]:1/", "http://169.254.169.254/latest/meta-data", "http://2130706433/",
        "https://example.org/", "ftp://127.0.0.1/", "//0.0.0.0/", "http://user@127.0.0.1/",
    ],
)  # fmt: skip
def test_the_engine_cannot_lead_elsewhere(engine: type[StandInEngine], target: str) -> None:
    engine.answers.append((302, target))
    with pytest.raises(SourceError, match="refused"):
        ask_engine()
    assert len(engine.seen) == 1


def test_an_endless_result_page_is_cut_short(engine: type[StandInEngine]) -> None:
    engine.answers.append((200, ENDLESS))
    with pytest.raises(SourceError, match="longer than"):
        ask_engine()


def test_an_engine_at_a_private_address_is_not_contacted(
    engine: type[StandInEngine], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(web, "_own", lambda host: False)
    with pytest.raises(SourceError, match="not a public address"):
        ask_engine()
    assert engine.seen == []


def test_no_one_listens(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as silent:  # bound, so that nobody else gets the port, and not listening
        silent.bind(("127.0.0.1", 0))
        monkeypatch.setattr(web, "_own", lambda host: host == "127.0.0.1")
        monkeypatch.setattr(Duckduckgo, "search_url", f"http://127.0.0.1:{silent.getsockname()[1]}/")
        with pytest.raises(SourceError, match="No network: web search was skipped") as caught:
            ask_engine()
    assert "connection" in caught.value.hint


def test_the_real_engine_answers() -> None:
    try:
        socket.create_connection(("html.duckduckgo.com", 443), timeout=3).close()
    except OSError as error:
        pytest.skip(f"no network: {error}")
    try:
        found = ask_engine(region="wt-wt")
    except SourceError as error:
        if not any(told in error.message for told in ("rate limit", "skipped", "did not answer")):
            raise
        pytest.skip(f"the engine cannot be had: {error}")
    assert found
    assert all(item.locator["url"].startswith("http") for item in found)


@pytest.mark.parametrize("name", ["HTTP_PROXY", "http_proxy", "ALL_PROXY", "DDGS_PROXY"])
def test_a_proxy_of_the_environment_is_used_only_if_asked_for(
    engine: type[StandInEngine], monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    for other in ("NO_PROXY", "no_proxy"):
        monkeypatch.delenv(other, raising=False)
    with socket.socket() as nobody:  # bound, and not listening
        nobody.bind(("127.0.0.1", 0))
        address = f"http://user:s3cret-of-mine@127.0.0.1:{nobody.getsockname()[1]}"
        monkeypatch.setenv(name, address)
        engine.answers.append((200, PAGE))
        assert len(ask_engine()) == 2
        assert os.environ[name] == address
        with pytest.raises(SourceError) as caught:
            ask_engine(use_proxy=True)
    assert len(engine.seen) == 1
    assert "s3cret" not in f"{caught.value} {caught.value.hint}"
