"""Fetching uses the environment's proxies only if asked to, and tells no secret of an address."""

from __future__ import annotations

import http.server
import threading
from pathlib import Path
from typing import ClassVar

import pytest
from support.loaded_modules import cli, loaded_by

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


# What can reach the net is loaded by the commands that fetch, and by nothing else.

NETWORK = (
    "httpx",
    "ddgs",
    "atomr_local.fetching.client",
    "atomr_local.fetching.download",
)


def network_loaded_by(code: str, home: Path) -> list[str]:
    return loaded_by(code, NETWORK, {"ATOMR_HOME": str(home), "PATH": ""})


@pytest.mark.parametrize(
    "code",
    [
        "import atomr_local",
        cli("--help"),
        cli("models", "pull"),
        cli("models", "list"),
        "import atomr_local.tui.app, atomr_local.tui.screens.library.downloads, atomr_local.tui.app",
    ],
    ids=["import", "help", "the catalogue", "models at hand", "terminal UI"],
)
def test_nothing_of_the_net_is_loaded(code: str, own_home: Path) -> None:
    assert network_loaded_by(code, own_home) == []


def test_this_test_would_see_it(own_home: Path) -> None:
    assert "httpx" in network_loaded_by(cli("fetch", "--help"), own_home)
