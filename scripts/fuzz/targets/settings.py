"""The settings file: settings within their bounds, or one error; changed and saved it stays readable."""

from __future__ import annotations

import os
from collections.abc import Iterator

from atomr_local.errors import SettingsError
from atomr_local.settings.file import save_settings
from atomr_local.settings.schema import Settings, load_settings, origins
from fuzz.properties import as_file, expect, repeated

INSTRUMENTED = ("atomr_local.settings.schema", "atomr_local.settings.file", "atomr_local.settings.schema", "tomllib")
DICTIONARY = (
    b'model = "', b'adapter = "', b'sources = ["text"]', b"top_k = ", b"filter_overlap = ", b"[limits]\n",
    b"nodes = ", b"[llm]\n", b"context_tokens = ", b"[endpoint]\n", b'url = "http://u:p@h/v1"', b'api_key = "',
    b"timeout = ", b"[ui]\n", b"[ui.keys]\n", b'"ask.send" = "f5"', b"[web]\n", b"enabled = true", b"[means]\n", b"[features]\n",
    b"[history]\n", b"keep = false", b"inf", b"nan", b"-", b"1e999", b"0x", b"1979-05-27T07:32:00Z", b"'''", b'"""',
    b"[[", b"]]", b"{", b"}", b"a.b.c = ", b"\\u0000", b"\\ud800", b"\\U0010ffff", b"\n", b"#", b"9" * 40, b"[",
    b"{a=", b".a", b"_",
)  # fmt: skip


def seeds() -> Iterator[bytes]:
    yield (
        b'model = "starter"  # mine\nsources = ["text", "graph"]\ntop_k = 5\n\n[limits]\nnodes = 20\n\n[endpoint]\nurl = "http://127.0.0.1:1/v1"\n'
        b'api_key = "k"\n\n[ui]\ntheme = "nord"\n[ui.keys]\n"ask.send" = "f5,ctrl+n"\n\n[llm]\nweights = "Q4_0"\ntimeout = 1.5\n'
    )
    yield repeated(b"[", 30_000, head=b"a = ")
    yield repeated(b"{a=", 10_000, head=b"a = ")
    yield repeated(b"a.", 20_000, tail=b"b = 1\n")
    yield repeated(b"9", 5_000, head=b"top_k = ")
    yield repeated(b"9", 400, head=b"filter_overlap = ")
    yield repeated(b"9", 400, head=b"[endpoint]\ntimeout = ")
    yield b"web.enabled = true\nhistory = { keep = false }\nfilter_overlap = 0.25\n"


def check(data: bytes) -> None:
    Settings.file = as_file(data, "config.toml")
    for name in [name for name in os.environ if name.startswith("ATOMR_") and name != "ATOMR_HOME"]:
        del os.environ[name]
    try:
        settings = load_settings()
        origins()
    except SettingsError as error:
        expect(len(error.message) < 2_000, "messages are short", len(error.message))
        return
    expect(1 <= settings.top_k <= 50 and 0 <= settings.filter_overlap <= 1, "numbers are bounded")
    expect(2 <= settings.limits.nodes <= 400 and settings.endpoint.timeout > 0, "limits are bounded")
    try:
        save_settings({"top_k": 7, "limits.nodes": None, "ui.theme": "nord"})
    except SettingsError:
        expect(as_file_is(data), "a refused change changes nothing")
        return
    again = load_settings()
    expect(again.top_k == 7 and again.ui.theme == "nord" and again.limits.nodes == 40, "what is saved is read")
    expect(again.model == settings.model and again.sources == settings.sources, "everything else stays")


def as_file_is(data: bytes) -> bool:
    """Whether the settings file holds this still."""
    return Settings.file is not None and Settings.file.read_bytes() == data
