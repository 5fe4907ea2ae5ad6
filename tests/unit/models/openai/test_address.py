"""An endpoint's address: taken apart, refused in words that hold no secret, and never followed with credentials."""

from __future__ import annotations

import asyncio
import base64
import traceback

import httpx
import pytest

from atomr_local.errors import ModelError
from atomr_local.models.openai.address import CredentialsTransport, checked_endpoint

CANARY = "cAn4ry7Wx2Qz"


@pytest.mark.parametrize(
    ("url", "plain", "host", "loopback"),
    [
        ("http://127.0.0.1:8080/v1/", "http://127.0.0.1:8080/v1", "127.0.0.1:8080", True),
        ("http://localhost/v1", "http://localhost/v1", "localhost", True),
        ("http://LOCALHOST.:80/v1", "http://localhost./v1", "localhost.", True),
        ("http://[::1]:8080", "http://[::1]:8080", "[::1]:8080", True),
        ("HTTPS://API.Example.ORG/V1", "https://api.example.org/V1", "api.example.org", False),
        ("https://api.example.org:8443/v1", "https://api.example.org:8443/v1", "api.example.org:8443", False),
        ("https://bücher.example./v1", "https://xn--bcher-kva.example./v1", "xn--bcher-kva.example.", False),
        ("http://192.168.1.7:11434/v1", "http://192.168.1.7:11434/v1", "192.168.1.7:11434", False),
    ],
)
def test_usable_addresses(url: str, plain: str, host: str, loopback: bool) -> None:
    address = checked_endpoint(url)
    assert (address.url, address.host, address.loopback) == (plain, host, loopback)
    assert not address.authorization and not address.query


@pytest.mark.parametrize("user", ["user:pa%40ss%2Fw", "user:pa@ss%2Fw", "user:pa%40ss%2fw"])
def test_user_and_password_become_basic_authentication(user: str) -> None:
    address = checked_endpoint(f"https://{user}@host/v1")
    wanted = base64.b64encode(b"user:pa@ss/w").decode()
    assert address.authorization.reveal() == f"Basic {wanted}"
    assert address.url == "https://host/v1"
    assert address.hide(f"{wanted} pa@ss/w pa%40ss%2Fw") == "… … …"


def test_key_and_query_are_told_apart_from_the_address() -> None:
    address = checked_endpoint(f"https://host/v1?api_key={CANARY}&v=2", "k3y-of-mine")
    assert (address.url, address.query.reveal()) == ("https://host/v1", f"api_key={CANARY}&v=2")
    assert address.authorization.reveal() == "Bearer k3y-of-mine"
    assert CANARY not in repr(address) and "k3y" not in repr(address)


@pytest.mark.parametrize(
    "url",
    [
        f"user:{CANARY}@host/v1", f"ftp://u:{CANARY}@host/", f"https://u:{CANARY}/x@host/v1", f"https://u:12/{CANARY}@host/v1",
        f"https://u:{CANARY}#x@host/v1", f"https://u:{CANARY}?x@host/v1", f"https://u:{CANARY}@ho st/", f"https://u:{CANARY}@/v1",
        f"https://u:{CANARY}@[::g]/", f"https://u:{CANARY}@host:99999/v1", f"https://u:{CANARY}@host:0/", f"https://host/v1#{CANARY}",
        f"https://host/v1?next=https://u:{CANARY}@other/", f"https://u:{CANARY}@ｌocal/", f"https://u:{CANARY}\x00@host/",
        f"http://u:{CANARY}@10.0.0.1/v1", f"http://api.example.org/v1?key={CANARY}", f"http://localhost.example.org/?k={CANARY}",
    ],
)  # fmt: skip
def test_addresses_that_are_refused_do_not_tell_their_secrets(url: str) -> None:
    with pytest.raises(ModelError, match=r"endpoint\.url") as refused:
        checked_endpoint(url)
    assert refused.value.hint
    assert CANARY not in "".join(traceback.format_exception(refused.value)) + refused.value.hint


def test_a_key_goes_unencrypted_only_to_this_machine_or_where_it_is_allowed() -> None:
    with pytest.raises(ModelError, match="unencrypted") as refused:
        checked_endpoint("http://10.0.0.1/v1", CANARY)
    assert "allow_unencrypted_credentials" in refused.value.hint and CANARY not in str(refused.value)
    for address in (
        checked_endpoint("http://10.0.0.1/v1", CANARY, unencrypted=True),
        checked_endpoint("http://127.0.0.1/v1", CANARY),
        checked_endpoint("https://10.0.0.1/v1", CANARY),
    ):
        assert address.authorization
    assert not checked_endpoint("http://10.0.0.1/v1").authorization  # nothing to hide


def test_a_user_and_a_key_at_once_are_refused() -> None:
    with pytest.raises(ModelError, match=r"endpoint\.api_key"):
        checked_endpoint("https://user:pass@host/v1", CANARY)


@pytest.mark.parametrize("key", ["a\r\nHost: elsewhere", "schlüssel", "a\x00"])
def test_keys_that_are_none(key: str) -> None:
    with pytest.raises(ModelError, match="api_key") as refused:
        checked_endpoint("https://host/v1", key)
    assert key not in str(refused.value)


class Seen(httpx.AsyncBaseTransport):
    def __init__(self) -> None:
        self.requests: list[httpx.Request] = []

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        self.requests.append(request)
        return httpx.Response(302, headers={"location": "https://elsewhere.example/v1"})


def test_only_the_wire_sees_the_credentials(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(0)
    transport = CredentialsTransport(checked_endpoint(f"https://host/v1?api_key={CANARY}", "k3y-of-mine"))
    transport._inner = seen = Seen()

    async def ask(url: str) -> httpx.Response:
        async with httpx.AsyncClient(transport=transport, follow_redirects=True, max_redirects=1) as client:
            return await client.get(url)

    with pytest.raises(httpx.TooManyRedirects) as error:
        asyncio.run(ask("https://host/v1/models"))
    first, *others = seen.requests
    assert first.headers["authorization"] == "Bearer k3y-of-mine"
    assert str(first.url) == f"https://host/v1/models?api_key={CANARY}"
    assert others and all("authorization" not in other.headers and CANARY not in str(other.url) for other in others)
    told = caplog.text + repr(error.value.request) + str(error.value.request.url) + str(error.value.request.headers.raw)
    assert "https://host/v1/models" in told
    assert CANARY not in told and "k3y-of-mine" not in told


@pytest.mark.parametrize(
    ("variables", "url", "proxied"),
    [
        ({"HTTPS_PROXY": "http://proxy.example:3128"}, "https://host/v1", True),
        ({"ALL_PROXY": "proxy.example:3128"}, "https://host/v1", True),
        ({"HTTPS_PROXY": "http://proxy.example:3128", "NO_PROXY": "host"}, "https://host/v1", False),
        ({"HTTP_PROXY": "http://proxy.example:3128"}, "http://127.0.0.1/v1", False),
        ({}, "https://host/v1", False),
    ],
)
def test_proxies_are_used_only_if_asked_for(
    monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], url: str, proxied: bool
) -> None:
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)

    def pool(use_proxy: bool) -> str:
        return type(CredentialsTransport(checked_endpoint(url), use_proxy=use_proxy)._inner._pool).__name__

    assert pool(False) == "AsyncConnectionPool"
    assert (pool(True) == "AsyncHTTPProxy") is proxied


def test_a_proxy_that_is_none_is_told_without_its_password(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("https_proxy", "no_proxy", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HTTPS_PROXY", f"gopher://user:{CANARY}@proxy.example")
    with pytest.raises(ModelError, match="proxy") as refused:
        CredentialsTransport(checked_endpoint("https://host/v1"), use_proxy=True)
    assert CANARY not in "".join(traceback.format_exception(refused.value))
