"""`atomr models pull|use|verify`, against a server laid out like Hugging Face."""

from __future__ import annotations

import hashlib
import json
import os
import tomllib
from pathlib import Path
from typing import Any

import pytest
import support.faulty_server as faulty
from support.command_line import Atomr
from support.faulty_server import FaultyServer
from support.gguf_files import gguf_bytes, lora_adapter

from atomr_local.fetching import download as fetching
from atomr_local.models.catalog.offered import catalogue

VALUES = {"general.architecture": "llama", "general.name": "Tiny 1B"}
MODEL = gguf_bytes(VALUES, {"w.weight": ((64, 500), os.urandom(128_000))})
OTHER = gguf_bytes(VALUES, {"w.weight": ((64, 500), os.urandom(128_000))})
OFFERED = catalogue().model[0]
PATH = f"/{OFFERED.repository}/resolve/main/{OFFERED.file}"
STORED = "/cdn/blob"
pytestmark = pytest.mark.usefixtures("no_waiting")


def hub(server: FaultyServer, body: bytes = MODEL, digest: str = "", size: int | None = None) -> None:
    """The model as the hub serves it: a redirect that tells of the file, to where it is kept."""
    digest = digest or hashlib.sha256(body).hexdigest()
    headers = [("x-linked-etag", f'"{digest}"'), ("x-linked-size", str(size or len(body))), ("location", STORED)]

    def told(handler: faulty.Handler, _: bytes) -> None:
        handler.send([("content-length", "0"), *headers], b"", 302)

    def page(handler: faulty.Handler) -> bytes:
        server.faults[PATH] = [told]
        if handler.command == "HEAD":
            told(handler, b"")
            raise ConnectionAbortedError
        return b""

    server.pages[PATH] = page
    server.files[STORED] = body


@pytest.fixture
def pull(capsys: pytest.CaptureFixture[str], server: FaultyServer) -> Atomr:
    return Atomr(capsys, "models", "pull", OFFERED.name, "--base-url", server.url, "--yes")


def at_hand(home: Path) -> list[str]:
    folder = home / "models"
    return sorted(path.name for path in folder.iterdir()) if folder.exists() else []


NAMES = [f"{OFFERED.name}.gguf", f"{OFFERED.name}.json"]


def test_a_model_of_the_catalogue(pull: Atomr, atomr: Atomr, server: FaultyServer, own_home: Path) -> None:
    hub(server)
    server.faults[STORED] = [faulty.breaks_after(50_000), faulty.wrong_bytes]
    told = pull("--use")
    file = own_home / "models" / NAMES[0]
    assert file.read_bytes() == MODEL
    assert at_hand(own_home) == NAMES
    record = json.loads(file.with_suffix(".json").read_text())
    assert record["sha256"] == hashlib.sha256(MODEL).hexdigest()
    assert (record["published"], record["licence"], record["size"]) == (True, OFFERED.licence, len(MODEL))
    assert told.out == f"{file}\n"
    assert f"licence {OFFERED.licence}" in told.err
    assert "10.0 MB/s" in told.err
    settings = tomllib.loads((own_home / "config.toml").read_text())
    assert settings["model"] == OFFERED.name
    assert "SHA-256 fit what was published" in atomr("models", "verify", OFFERED.name).out


def test_nothing_is_fetched_before_it_is_agreed_to(server: FaultyServer, own_home: Path, atomr: Atomr) -> None:
    hub(server)
    assert "no terminal to confirm on" in atomr("models", "pull", OFFERED.name, "--base-url", server.url, status=1).err
    assert [method for method, _, _ in server.requests] == ["HEAD"]
    assert at_hand(own_home) == []


def test_another_run_goes_on(atomr: Atomr, server: FaultyServer, own_home: Path, pull: Atomr) -> None:
    hub(server)
    server.faults[STORED] = [faulty.breaks_after(90_000), *[faulty.status(503)] * 2]
    assert "same command" in pull(status=1).err
    assert not (own_home / "models" / NAMES[0]).exists()
    server.requests.clear()
    assert f"{OFFERED.name} is partly downloaded" in atomr("models", "list").err
    assert server.requests == []
    assert f"{(len(MODEL) - 90_000) / 1000:.1f} kB to download into" in pull().err
    assert [h.get("range") for _, path, h in server.requests if path == STORED] == ["bytes=90000-"]
    assert at_hand(own_home) == NAMES


def test_what_is_there_is_not_fetched_again(server: FaultyServer, own_home: Path, pull: Atomr) -> None:
    hub(server)
    pull()
    server.requests.clear()
    assert "is up to date" in pull().err
    assert [method for method, _, _ in server.requests] == ["HEAD"]


def test_another_model_of_this_name_is_replaced_only_at_the_users_word(
    server: FaultyServer, own_home: Path, pull: Atomr
) -> None:
    hub(server)
    file = own_home / "models" / NAMES[0]
    file.parent.mkdir()
    file.write_bytes(OTHER)
    assert "--replace" in pull(status=1).err
    assert file.read_bytes() == OTHER
    server.faults[STORED] = [faulty.status(404)]
    pull("--replace", status=1)
    assert file.read_bytes() == OTHER  # until the new one is whole
    pull("--replace")
    assert file.read_bytes() == MODEL
    pull("--name", "second")
    assert "second.gguf" in at_hand(own_home)


@pytest.mark.parametrize(
    "body", [b"<html>" * 100, MODEL[:5000], lora_adapter], ids=["a page", "cut short", "an adapter"]
)
def test_what_is_no_model_is_removed(
    server: FaultyServer, own_home: Path, tmp_path: Path, pull: Atomr, body: object
) -> None:
    pair = {"w.weight.lora_a": ((4, 1), bytes(16)), "w.weight.lora_b": ((1, 2), bytes(8))}
    made = body if isinstance(body, bytes) else lora_adapter(tmp_path / "adapter.gguf", pair).read_bytes()
    hub(server, made)
    assert "not a usable model" in pull(status=1).err
    assert at_hand(own_home) == []


@pytest.mark.parametrize(
    ("given", "faults", "told"),
    [
        ({"digest": "0" * 64}, [], "sha256"),
        ({"size": 10**15 - 1}, [], "too full"),
        ({}, [faulty.status(401)], "login"),
        (None, [], "404"),
    ],
)
def test_what_is_not_taken(
    server: FaultyServer, own_home: Path, pull: Atomr, given: dict[str, Any] | None, faults: list[Any], told: str
) -> None:
    if given is not None:
        hub(server, **given)
    server.faults[STORED] = [*faults]
    assert told in pull(status=1).err
    assert at_hand(own_home) == []


def test_by_address_from_a_server_that_publishes_no_checksum(
    server: FaultyServer, own_home: Path, atomr: Atomr
) -> None:
    server.files["/files/tiny.gguf"] = MODEL
    server.faults["/files/tiny.gguf"] = [faulty.breaks_after(40_000)]
    url = f"{server.url}/files/tiny.gguf?download=true"
    assert "publishes no checksum" in atomr("models", "pull", url, "--yes").err
    assert (own_home / "models" / "tiny.gguf").read_bytes() == MODEL
    record = json.loads((own_home / "models" / "tiny.json").read_text())
    assert record["sha256"] == hashlib.sha256(MODEL).hexdigest()
    assert record["published"] is False
    assert record["url"] == f"{server.url}/files/tiny.gguf"
    atomr("models", "verify", "tiny")


def test_without_checksum_and_tag_it_is_begun_anew(atomr: Atomr, server: FaultyServer, own_home: Path) -> None:
    server.etag = ""
    server.files["/tiny.gguf"] = MODEL
    server.faults["/tiny.gguf"] = [faulty.breaks_after(40_000)]
    atomr("models", "pull", f"{server.url}/tiny.gguf", "--yes")
    assert [headers.get("range") for method, _, headers in server.requests if method == "GET"] == [None, None]
    assert (own_home / "models" / "tiny.gguf").read_bytes() == MODEL


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("no-such-model", "Offered:"),
        ("https://x.example/model.bin", "not the address of a GGUF file"),
        ("file:///etc/passwd.gguf", "not an address that can be downloaded from"),
        ("https://x.example/%2e%2e%2f.gguf", "is not a valid model name"),
        ("https://u:p@x.example/m.gguf", "not an address that can be downloaded from"),
    ],
)
def test_what_cannot_be_got(name: str, told: str, atomr: Atomr) -> None:
    assert told in atomr("models", "pull", name, "--yes", status=1).err


def test_the_address_of_the_page_is_that_of_the_file() -> None:
    page = "https://huggingface.co/a/b/blob/main/x.gguf"
    assert fetching.direct(page) == "https://huggingface.co/a/b/resolve/main/x.gguf"
    assert fetching.direct("https://x.example/blob/x.gguf") == "https://x.example/blob/x.gguf"


def test_the_catalogue_is_listed_without_a_name(atomr: Atomr) -> None:
    out = atomr("models", "pull").out
    assert all(item.name in out and item.licence in out for item in catalogue().model)


def test_a_damaged_model_is_found(pull: Atomr, own_home: Path, server: FaultyServer, atomr: Atomr) -> None:
    hub(server)
    pull()
    file = own_home / "models" / NAMES[0]
    file.write_bytes(MODEL[:-1] + bytes([MODEL[-1] ^ 1]))
    captured = atomr("models", "verify", "--json", status=1)
    rows = {row["name"]: row for row in json.loads(captured.out[captured.out.index("[") :])}
    assert "SHA-256 is not" in rows[OFFERED.name]["problem"]
    file.write_bytes(MODEL + b"x")
    assert "were fetched" in atomr("models", "verify", OFFERED.name, status=1).out
    file.with_suffix(".json").write_text('{"sha256": 1}')
    assert "no checksum is recorded" in atomr("models", "verify", OFFERED.name).out


def test_use_writes_what_exists(own_home: Path, atomr: Atomr) -> None:
    folder = own_home / "models"
    (folder / "adapters").mkdir(parents=True)
    (folder / "tiny.gguf").write_bytes(MODEL)
    pair = {"w.weight.lora_a": ((4, 1), bytes(16)), "w.weight.lora_b": ((1, 2), bytes(8))}
    lora_adapter(folder / "adapters" / "plans.gguf", pair)
    atomr("models", "use", "tiny")
    atomr("models", "use", "plans")
    assert tomllib.loads((own_home / "config.toml").read_text()) == {"model": "tiny", "adapter": "plans"}
    assert "no model named 'huge'" in atomr("models", "use", "huge", status=1).err
    elsewhere = own_home / "elsewhere.gguf"
    elsewhere.write_bytes(MODEL)
    atomr("models", "use", str(elsewhere))
    assert tomllib.loads((own_home / "config.toml").read_text())["model"] == str(elsewhere)
    elsewhere.write_bytes(b"nothing")
    atomr("models", "use", str(elsewhere), status=1)
