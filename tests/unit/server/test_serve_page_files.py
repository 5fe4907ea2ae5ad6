"""The files of the page: a fixed list, how they are served, and what must never stand in them."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from support.asgi_calls import Call
from support.fake_parts import FakeBackbone
from unit.server.conftest import Serve

from atomr_local.reasoning.confidence import confidence_levels, confidence_symbol, confidence_word
from atomr_local.server import app
from atomr_local.server.routes import PAGE_FILES, page_words
from atomr_local.system.credentials import Secret

STATIC = Path(app.__file__).with_name("static")
SCRIPTS = sorted(name for name in PAGE_FILES if name.endswith(".js"))
# What would read a text as markup or as a program.
SINKS = re.compile(
    r"innerHTML|outerHTML|insertAdjacentHTML|setHTML|srcdoc|document\.write|createContextualFragment|DOMParser|"
    r"\beval\b|\bFunction\(|javascript:|\.style\b|cssText|importScripts|new Worker|set(?:Timeout|Interval)\(\s*[\"'`]|\.on[a-z]+ *="
)


async def get(serve: Serve, path: str, *, method: str = "GET", token: str = "", **headers: str) -> Call:
    server = serve(FakeBackbone(), token=Secret(token))
    given = {name.replace("_", "-"): value for name, value in headers.items()}
    return await Call(server, method, path, headers=given).done()


def test_the_list_is_what_there_is() -> None:
    assert {file.name for file in STATIC.iterdir()} == set(PAGE_FILES)


@pytest.mark.parametrize("name", [*PAGE_FILES, "words.json"])
async def test_a_file_is_served_with_its_type_and_kept_by_the_browser(serve: Serve, name: str) -> None:
    path = "/" if name == "index.html" else f"/page/{name}"
    call = await get(serve, path)
    assert call.status == 200
    assert call.headers["content-type"] == PAGE_FILES.get(name, "application/json")
    assert call.headers["cache-control"] == "no-cache"
    if name != "words.json":
        assert call.body == (STATIC / name).read_bytes()
    tag = call.headers["etag"]
    for given in (tag, f'"other", W/{tag}', "*"):
        again = await get(serve, path, if_none_match=given)
        assert (again.status, again.body, again.headers["etag"]) == (304, b"", tag)
        assert "content-security-policy" in again.headers
    assert (await get(serve, path, if_none_match='"other"')).status == 200
    head = await get(serve, path, method="HEAD")
    assert (head.status, head.headers["content-length"]) == (200, str(len(call.body)))


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS"])
async def test_the_page_is_only_read(serve: Serve, method: str) -> None:
    call = await get(serve, "/", method=method)
    assert (call.status, set(call.headers["allow"].split(", "))) == (405, {"GET", "HEAD"})


@pytest.mark.parametrize(
    "path",
    [
        "/index.html", "/page", "/page/", "/page/index.html", "/page/app.py", "/page/../app.py", "/page/%2e%2e/app.py",
        "/page/..%2fapp.py", "/page//app.js", "/page/APP.JS", "/page/app.js%00", "/page/\\app.js", "/static/app.js",
        "//etc/passwd", "/page/__init__.py", "/favicon.ico",
    ],
)  # fmt: skip
async def test_no_other_address_leads_to_a_file(serve: Serve, path: str) -> None:
    call = await get(serve, path)
    assert call.status == 404
    assert call.json["error"]["message"] == "there is nothing at this address"


async def test_the_page_comes_without_the_token_and_holds_nothing_of_the_server(serve: Serve) -> None:
    token = "correct-horse-battery-staple"
    for path in ("/", "/page/app.js", "/page/calls.js", "/page/words.json"):
        call = await get(serve, path, token=token)
        assert call.status == 200
        assert token.encode() not in call.body
    assert (await get(serve, "/api/server", token=token)).status == 401


async def test_the_policy_allows_only_what_the_page_is_made_of(serve: Serve) -> None:
    call = await get(serve, "/")
    policy = dict(part.strip().split(" ", 1) for part in call.headers["content-security-policy"].split(";"))
    assert policy == {
        "default-src": "'none'", "script-src": "'self'", "style-src": "'self'", "img-src": "'self'", "connect-src": "'self'",
        "base-uri": "'none'", "form-action": "'none'", "frame-ancestors": "'none'",
        "require-trusted-types-for": "'script'", "trusted-types": "'none'",
    }  # fmt: skip
    assert call.headers["x-content-type-options"] == "nosniff"
    assert call.headers["referrer-policy"] == "no-referrer"
    assert call.headers["x-frame-options"] == "DENY"


async def test_a_page_of_another_site_may_not_frame_or_read_it(serve: Serve) -> None:
    assert (await get(serve, "/", host="evil.example")).status == 421
    assert (await get(serve, "/", origin="http://evil.example")).status == 403
    assert (await get(serve, "/")).headers["cross-origin-resource-policy"] == "same-origin"


@pytest.mark.parametrize("name", SCRIPTS)
def test_no_script_reads_a_text_as_markup_or_program(name: str) -> None:
    text = (STATIC / name).read_text()
    assert not SINKS.findall(text)
    assert not re.findall(r"https?://(?!\S*\$)", text)  # nothing of another host
    for module in re.findall(r"(?:from|import) +\"([^\"]+)\"", text):
        assert module.removeprefix("./") in PAGE_FILES


def test_a_sink_would_be_seen() -> None:
    for line in (
        "x.innerHTML = y",
        "eval(x)",
        "x.onclick = y",
        'setTimeout("x")',
        "new Function(x)",
        "x.style.color = y",
    ):
        assert SINKS.search(line), line


def test_the_markup_has_no_inline_script_or_style_and_asks_nobody_else() -> None:
    html = (STATIC / "index.html").read_text()
    assert not re.findall(r"\son[a-z]+ *=|\sstyle *=|<style|javascript:", html)
    assert all(re.search(r'src="/page/[a-z]+\.js"></script>', tag) for tag in re.findall(r"<script.*", html))
    assert not re.findall(r"(?:src|href|action)=\"(?!/page/|#)", html)
    named = re.findall(r'(?:src|href)="/page/([^"]+)"', html)
    assert named and set(named) <= set(PAGE_FILES)
    css = (STATIC / "style.css").read_text()
    assert not re.findall(r"url\(|@import|expression\(", css)
    assert "<script" not in (STATIC / "icon.svg").read_text()


def test_what_scripts_look_for_is_in_the_markup() -> None:
    ids = re.findall(r'\sid="([^"]+)"', (STATIC / "index.html").read_text())
    assert len(ids) == len(set(ids))
    scripts = "".join((STATIC / name).read_text() for name in SCRIPTS)
    wanted = set(re.findall(r'(?:byId|getElementById)\("([^"]+)"\)', scripts))
    assert wanted - {"guess"} <= set(ids)  # this one is made by a script
    labels = re.findall(r'(?:for|aria-labelledby|aria-describedby)="([^"]+)"', (STATIC / "index.html").read_text())
    assert set(labels) <= set(ids)


async def test_the_words_are_those_of_the_program(serve: Serve) -> None:
    assert (await get(serve, "/page/words.json")).json == json.loads(json.dumps(page_words()))
    for least, word, sign in confidence_levels():
        assert (confidence_word(least), confidence_symbol(least)) == (word, sign)
