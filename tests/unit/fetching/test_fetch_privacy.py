"""Fetching uses the environment's proxies only if asked to, and tells no secret of an address."""

from __future__ import annotations

import http.server
import threading
from typing import ClassVar

import pytest

from atomr_local.fetching.client import Client, FetchError, Passing, checked_url, shown
from atomr_local.fetching.download import direct


class Proxy(http.server.BaseHTTPRequestHandler):
    seen: ClassVar[list[str]] = []

    def do_GET(self) -> None:
        self.seen.append(self.path)
        self.send_response(404)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


@pytest.mark.parametrize("use_proxy", [False, True])
def test_a_proxy_of_the_environment_is_used_only_if_asked_for(monkeypatch: pytest.MonkeyPatch, use_proxy: bool) -> None:
    Proxy.seen.clear()
    for name in ("NO_PROXY", "no_proxy", "http_proxy"):
        monkeypatch.delenv(name, raising=False)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Proxy) as server:
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        monkeypatch.setenv("HTTP_PROXY", f"http://127.0.0.1:{server.server_port}")
        named = "http://nobody.invalid"
        client = Client(tries=1, sleep=lambda _: None, use_proxy=use_proxy, base_url=named)
        with client, pytest.raises((FetchError, Passing)):
            client.body("http://nobody.invalid/file", 10)
        server.shutdown()
    assert Proxy.seen == (["http://nobody.invalid/file"] if use_proxy else [])


@pytest.mark.parametrize(
    "url",
    [
        "https://user:s3cret@host/m.gguf",
        "https://host/m.gguf?token=s3cret",
        "https://user:s3cret/x@host/m.gguf",
        "s3cret@host",
    ],
)
def test_an_address_is_told_and_kept_without_secrets(url: str) -> None:
    assert "s3cret" not in shown(url)
    if "@" in url:
        with pytest.raises(FetchError) as caught:
            checked_url(url)
        assert "s3cret" not in str(caught.value)


@pytest.mark.parametrize("url", ["https://[::1", "https://host:port/x.gguf", "ftp://host/x.gguf", "https://a b/x.gguf"])
def test_a_model_at_no_address_is_an_error(url: str) -> None:
    with pytest.raises(FetchError, match="not an address"):
        direct(url)
