"""Who may ask the server: Host, Origin and token, and the headers of every answer."""

from __future__ import annotations

import pytest
from support.asgi_calls import Call
from support.fake_parts import FakeBackbone
from unit.server.conftest import Serve

from atomr_local.errors import InputError
from atomr_local.server.options import ServeOptions, check_address, checked_token
from atomr_local.system.credentials import Secret

TOKEN = "correct-horse-battery-staple"


async def status(server: object, path: str = "/api/indexes", method: str = "GET", **headers: str) -> int:
    given = {name.replace("_", "-"): value for name, value in headers.items()}
    return (await Call(server, method, path, headers=given).done()).status  # type: ignore[arg-type]


@pytest.mark.parametrize("host", ["127.0.0.1", "127.0.0.1:8420", "localhost:1", "LOCALHOST", "[::1]:8420", "127.8.9.1"])
async def test_this_machine_may_ask(serve: Serve, host: str) -> None:
    assert await status(serve(FakeBackbone()), host=host) == 200


@pytest.mark.parametrize(
    "host", ["evil.example", "127.0.0.1.evil.example", "192.168.1.7", "localhost.evil.example:8420", "atomr", "127.1"]
)
async def test_a_name_that_leads_here_is_refused(serve: Serve, host: str) -> None:
    assert await status(serve(FakeBackbone()), host=host) == 421


@pytest.mark.parametrize("host", ["", "a b", "127.0.0.1:999999", "user@localhost", "[::1", "localhost/x", "x" * 300])
async def test_a_host_that_cannot_be_read_is_refused(serve: Serve, host: str) -> None:
    assert await status(serve(FakeBackbone()), host=host) == 400


async def test_names_are_allowed_one_by_one(serve: Serve) -> None:
    assert await status(serve(FakeBackbone(), names=("atomr.lan",)), host="ATOMR.lan:80") == 200
    public = serve(FakeBackbone(), host="0.0.0.0", token=Secret(TOKEN))
    bearer = f"Bearer {TOKEN}"
    assert await status(public, host="192.168.1.7:8420", authorization=bearer) == 200
    assert await status(public, host="evil.example", authorization=bearer) == 421


@pytest.mark.parametrize(
    "origin",
    ["http://evil.example", "null", "http://127.0.0.1:3000", "https://evil.example/127.0.0.1", "127.0.0.1", ""],
)
async def test_pages_of_other_sites_are_refused(serve: Serve, origin: str) -> None:
    assert await status(serve(FakeBackbone()), origin=origin) == 403
    assert await status(serve(FakeBackbone()), "/health", origin=origin) == 403


async def test_our_own_page_may_ask(serve: Serve) -> None:
    server = serve(FakeBackbone())
    assert (
        await status(server, host="127.0.0.1:8420", origin="http://127.0.0.1:8420", sec_fetch_site="same-origin") == 200
    )
    assert await status(server, sec_fetch_site="cross-site") == 403
    assert await status(server, sec_fetch_site="same-site") == 403


async def test_a_page_cannot_send_a_body_undeclared(serve: Serve) -> None:
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", ""):
        assert await status(serve(FakeBackbone()), "/api/ask", "POST", content_type=kind) == 415


@pytest.mark.parametrize(
    "given",
    [
        "",
        TOKEN,
        "Bearer",
        "Bearer x",
        f"Basic {TOKEN}",
        f"Bearer {TOKEN}x",
        f"Bearer {TOKEN[:-1]}",
        "Bearer \xe9",
        f"Bearer {TOKEN.upper()}",
    ],
)
async def test_a_wrong_token_is_refused(serve: Serve, given: str) -> None:
    call = Call(serve(FakeBackbone(), token=Secret(TOKEN)), "GET", "/api/indexes", headers={"authorization": given})
    await call.done()
    assert (call.status, call.headers["www-authenticate"]) == (401, "Bearer")
    assert TOKEN.encode() not in call.body
    assert call.json["error"]["code"] == "invalid_api_key"


async def test_the_token_opens_all_and_health_needs_none(serve: Serve) -> None:
    server = serve(FakeBackbone(), token=Secret(TOKEN))
    assert await status(server, authorization=f"Bearer {TOKEN}") == 200
    assert await status(server, authorization=f"bearer  {TOKEN}") == 200
    assert await status(server, "/health") == 200
    assert TOKEN not in repr(server.options)


async def test_every_answer_has_the_headers(serve: Serve) -> None:
    server = serve(FakeBackbone())
    for path, headers in (
        ("/health", {}),
        ("/nowhere", {}),
        ("/api/search", {}),
        ("/health", {"host": "evil.example"}),
    ):
        call = await Call(server, "GET", path, headers=headers).done()
        assert "default-src 'none'" in call.headers["content-security-policy"]
        assert call.headers["x-content-type-options"] == "nosniff"
        assert call.headers["cache-control"] == "no-store"
        assert "access-control-allow-origin" not in call.headers


def test_other_machines_need_a_token() -> None:
    for host in ("0.0.0.0", "::", "192.168.1.7", "atomr.lan"):
        with pytest.raises(InputError, match="no token"):
            check_address(ServeOptions(host=host))
        check_address(ServeOptions(host=host, token=Secret(TOKEN)))
    for host in ("127.0.0.1", "localhost", "::1"):
        check_address(ServeOptions(host=host))


@pytest.mark.parametrize("text", ["", "short", "has a space in it, alas", "\x1b[31mred and long enough", "ä" * 20])
def test_a_token_that_cannot_be_used_is_not_shown(text: str) -> None:
    with pytest.raises(InputError) as told:
        checked_token(text)
    assert not text or text not in told.value.in_full()
