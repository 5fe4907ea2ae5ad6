"""Secrets stay: a canary in every place that may hold a credential is in nothing that the program writes or prints.

The program runs as a process of its own against a server that fails in many ways, several of which send back what they
were sent. Everything is searched: output, logs at their most talkative, tracebacks with the values of variables, the
history with its compressed traces, exports, cache, and every other file below its home.
"""

from __future__ import annotations

import base64
import json
import os
import sqlite3
import subprocess
import sys
import urllib.parse
import urllib.request
import zlib
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.places import PYTHONPATH, TESTS

CANARY = "cAn4ry7Wx2QzT/9"  # with a character that addresses write otherwise
QUOTED = urllib.parse.quote(CANARY, safe="")
MODES = [
    "plain",
    "unauthorised",
    "echo401",
    "echo500",
    "echotext",
    "echostream",
    "echoanswer",
    "echoprotocol",
    "elsewhere",
]
# What one process does, one command after another: starting Python for each would take a minute.
SESSION = """
import logging, os, sys, traceback
logging.basicConfig(level=0, stream=sys.stderr)
from rich.console import Console
from rich.traceback import Traceback
from atomr_local.cli.main import main
from atomr_local.models.openai import OpenAIBackbone
from atomr_local.errors import AtomrError
from atomr_local.settings.schema import load_settings
from atomr_local.settings.file import save_settings
from atomr_local.tui.background import internal_error

def atomr(*arguments):
    print("$", *arguments, flush=True)
    try:
        main(list(arguments))
    except SystemExit as stop:
        print("status", stop.code, flush=True)

def session(place, *modes):
    for number, mode in enumerate(modes):
        os.environ["ATOMR_ENDPOINT__URL"] = place.replace("MODE", mode)
        atomr("ask", "Who wrote Emma?", "--strategy", "closed-book", *(["--json"] if number % 2 else []))
    for arguments in (["config", "show"], ["config", "show", "--origins"], ["doctor"], ["doctor", "--json"],
                      ["plan", "Who?"], ["history", "list"], ["history", "show", "1"], ["history", "show", "1", "--json"],
                      ["history", "export", "--all"], ["history", "export", "--all", "--format", "json"],
                      ["history", "export", "1", "--out", os.environ["ATOMR_HOME"] + "/export.md"]):
        atomr(*arguments)

def crash(url, key, settings):
    backbone = OpenAIBackbone(url, "tiny", key)
    held = (backbone._address, backbone._client.headers, settings.endpoint.model_dump(), settings.model_dump(mode="json"))
    raise RuntimeError(f"{settings!r} {settings} {url!r} {key} {held}")

session(*sys.argv[1:])
try:
    crash(load_settings().endpoint.url, load_settings().endpoint.api_key, load_settings())
except Exception as error:
    traceback.print_exc()
    print(internal_error(error))
    for frame in error.__traceback__.tb_next, error.__traceback__.tb_next.tb_next:
        if frame is not None:  # as Textual tells of a crash; the outermost frame is this script's, with what it was given
            told = Traceback.from_exception(type(error), error, frame, show_locals=True, locals_max_string=None)
            Console(file=sys.stderr, width=400).print(told)
for change in ({"top_k": "many"}, {"endpoint.timeout": -1}, {"endpoint.api_key": {"x": "y"}}):
    try:
        save_settings(change)
    except AtomrError as error:
        traceback.print_exc()
"""


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    script = TESTS / "support" / "openai_server.py"
    process = subprocess.Popen([sys.executable, str(script)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    yield f"127.0.0.1:{int(process.stdout.readline())}"
    process.terminate()
    process.wait(60)
    process.stdout.close()


def forms() -> list[bytes]:
    """The canary as it may be written: as it is, percent-encoded, in JSON, in Basic authentication."""
    texts = [CANARY, QUOTED, QUOTED.lower(), json.dumps(CANARY)[1:-1].replace("/", "\\/")]
    pairs = [f"{CANARY}:{CANARY}", f"user:{CANARY}", f"{CANARY}:"]
    texts += [base64.b64encode(pair.encode()).decode() for pair in pairs]
    return [text.encode() for text in texts]


def contents(home: Path) -> Iterator[tuple[str, bytes]]:
    """Every file below the home but the settings, with the texts that the history keeps compressed."""
    for file in home.rglob("*"):
        if file.is_file() and file.name != "config.toml":
            yield file.name, file.read_bytes()
    with sqlite3.connect(home / "history" / "history.sqlite") as history:
        for number, encoding, trace in history.execute("SELECT id, encoding, trace FROM questions"):
            yield f"question {number}", zlib.decompress(trace) if encoding == "zlib" else bytes(trace)


PLACES = {
    "key in the environment": ("http://SERVER/MODE/v1", {"ATOMR_ENDPOINT__API_KEY": CANARY}, ""),
    "key in the settings file": ("http://SERVER/MODE/v1", {}, f'[endpoint]\napi_key = "{CANARY}"\n'),
    "user and password in the address": (f"http://{QUOTED}:{QUOTED}@SERVER/MODE/v1", {}, ""),
    "key in the query": (f"http://SERVER/MODE/v1?api_key={QUOTED}", {}, ""),
}


@pytest.mark.parametrize(
    "place",
    [pytest.param(place, marks=pytest.mark.nightly if number > 1 else ()) for number, place in enumerate(PLACES)],
)
def test_a_canary_is_found_nowhere(own_home: Path, server: str, place: str) -> None:
    url, variables, text = PLACES[place]
    (own_home / "config.toml").write_text(text)
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith("ATOMR_")},
        "ATOMR_HOME": str(own_home),
        "PYTHONPATH": PYTHONPATH,
        "ATOMR_ENDPOINT__URL": url.replace("SERVER", server).replace("MODE", "plain"),
        **variables,
    }
    done = subprocess.run(
        [sys.executable, "-c", SESSION, url.replace("SERVER", server), *MODES],
        env=environment,
        capture_output=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr.decode()[-2000:]
    assert done.stdout.count(b"status 0") >= 10, done.stdout.decode()[-2000:]  # it did work
    assert b"RuntimeError" in done.stderr and b"atomr_local" in done.stderr
    places = [("output", done.stdout), ("errors", done.stderr), *contents(own_home)]
    assert len(places) > len(MODES)
    found = [
        (name, data[max(0, at - 200) : at + 60])
        for name, data in places
        for form in forms()
        if (at := data.find(form)) >= 0
    ]
    assert found == []
    assert "…".encode() in done.stdout


def test_a_redirect_is_not_followed(own_home: Path, server: str) -> None:
    """After the sessions above: nobody has come to where the server redirects to."""
    with urllib.request.urlopen(f"http://{server}/trapped") as answer:
        assert json.load(answer) == 0


def test_another_machine_is_named_before_anything_is_sent_and_no_secret_goes_there_unencrypted(own_home: Path) -> None:
    def ask(url: str) -> subprocess.CompletedProcess[str]:
        environment = {**os.environ, "PYTHONPATH": PYTHONPATH, "ATOMR_ENDPOINT__URL": url}
        command = [sys.executable, "-m", "atomr_local", "ask", "Who wrote Emma?", "--strategy", "closed-book"]
        return subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=120)

    asked = ask(f"https://user:{QUOTED}@endpoint.invalid/v1")
    assert asked.returncode == 1
    first, *rest = asked.stderr.splitlines()
    assert first == "Questions and evidence leave this machine → endpoint.invalid (endpoint.url in the settings)."
    assert any("https://endpoint.invalid/v1" in line for line in rest)
    refused = ask(f"http://user:{QUOTED}@endpoint.invalid/v1")
    assert refused.returncode == 1
    assert "unencrypted" in refused.stderr and "nothing answers" not in refused.stderr
    assert QUOTED not in asked.stderr + refused.stderr + asked.stdout + refused.stdout
