"""`atomr fetch wikipedia`, against a server laid out like Wikimedia's and one like Hugging Face."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
import random
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest
import support.faulty_server as faulty
from support.command_line import Atomr
from support.faulty_server import FaultyServer
from support.places import SCRIPTS

from atomr_local.assistant.wishes import WikipediaWish, size_of
from atomr_local.cli import fetch as module
from atomr_local.cli.commands import text
from atomr_local.cli.fetch import fetch_wikipedia, wikipedia
from atomr_local.errors import AtomrError
from atomr_local.fetching.client import Client, FetchError
from atomr_local.fetching.download import parse_sums

BODIES = [random.Random(number).randbytes(40_000) for number in range(4)]
REVISION = "0123456789" * 4
pytestmark = pytest.mark.usefixtures("no_waiting")


@pytest.fixture
def client() -> Iterator[Client]:
    with Client(sleep=lambda _: None, timeout=60, tries=3) as found:
        yield found


def dump(
    server: FaultyServer, date: str, files: dict[str, bytes], algorithm: str = "sha1", latest: bool = True
) -> None:
    """A dump of Simple English; `files` by the rest of their names."""
    named = {f"simplewiki-{date}-pages-articles-multistream{rest}": body for rest, body in files.items()}
    lines = [f"{hashlib.new(algorithm, body).hexdigest()}  {name}" for name, body in named.items()]
    lines.append("0" * 40 + f"  simplewiki-{date}-pages-meta-history.xml.7z")
    sums = "\n".join(lines).encode()
    server.files[f"/simplewiki/{date}/simplewiki-{date}-{algorithm}sums.txt"] = sums
    if latest:
        server.files[f"/simplewiki/latest/simplewiki-latest-{algorithm}sums.txt"] = sums
    for name, body in named.items():
        server.files[f"/simplewiki/{date}/{name}"] = body


def hub(server: FaultyServer, language: str, dates: list[str], bodies: list[bytes], **changes: Any) -> None:
    """The data set with the files of a language for each date."""
    api = "/api/datasets/wikimedia/wikipedia"
    server.files[api] = json.dumps({"id": "wikimedia/wikipedia", "sha": REVISION}).encode()
    folders = [{"type": "directory", "path": f"{date}.{language}", "size": 0} for date in dates]
    server.files[f"{api}/tree/{REVISION}"] = json.dumps([{"type": "file", "path": "README.md"}, *folders]).encode()
    for date in dates:
        entries = []
        for number, body in enumerate(bodies):
            path = f"{date}.{language}/train-{number:05}-of-{len(bodies):05}.parquet"
            lfs = {"oid": hashlib.sha256(body).hexdigest(), "size": len(body), "pointerSize": 134}
            entries.append({"type": "file", "oid": "0" * 40, "size": len(body), "path": path, "lfs": lfs} | changes)
            server.files[f"/datasets/wikimedia/wikipedia/resolve/{REVISION}/{path}"] = body
        server.files[f"{api}/tree/{REVISION}/{date}.{language}"] = json.dumps(entries).encode()


def arguments(options: list[str]) -> WikipediaWish:
    params = wikipedia.make_context("wikipedia", list(options)).params
    return WikipediaWish(**{one.name: params[one.name] for one in dataclasses.fields(WikipediaWish)})


def fetch(client: Client, server: FaultyServer, to: Path, *options: str, yes: bool = True) -> list[Path]:
    given = ["--base-url", server.url, "--to", str(to), *(["--yes"] if yes else []), *options]
    return fetch_wikipedia(client, arguments(given))


def there(to: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in to.iterdir()} if to.exists() else {}


def test_the_latest_dump(
    server: FaultyServer, client: Client, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    dump(server, "20261020", {".xml.bz2": BODIES[1]}, latest=False)
    dump(server, "20261101", {".xml.bz2": BODIES[0], "-index.txt.bz2": BODIES[2]})
    name = "simplewiki-20261101-pages-articles-multistream.xml.bz2"
    server.faults[f"/simplewiki/20261101/{name}"] = [faulty.breaks_after(10_000), faulty.wrong_bytes]
    assert fetch(client, server, tmp_path / "new") == [tmp_path / "new" / name]
    assert there(tmp_path / "new") == {name: BODIES[0]}
    told = capsys.readouterr()
    assert "40.0 kB" in told.err
    assert "10.0 MB/s" in told.err


def test_size_and_time_are_told_before_anything_is_fetched(
    server: FaultyServer, client: Client, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    dump(server, "20261101", {".xml.bz2": BODIES[0]})
    with pytest.raises(AtomrError, match="no terminal to confirm on"):
        fetch(client, server, tmp_path / "new", yes=False)
    assert "40.0 kB" in capsys.readouterr().err
    assert there(tmp_path / "new") == {}
    assert [method for method, path, _ in server.requests if path.endswith(".bz2")] == ["HEAD"]


def test_a_dump_under_way_is_passed_over(server: FaultyServer, client: Client, tmp_path: Path) -> None:
    dump(server, "20261101", {"-index.txt.bz2": BODIES[2]})
    dump(server, "20261020", {".xml.bz2": BODIES[1]}, latest=False)
    dump(server, "20261001", {".xml.bz2": BODIES[0]}, latest=False)
    dates = [f'<a href="{name}/">{name}/</a>' for name in ("20261001", "20261020", "20261101", "..", "latest")]
    server.files["/simplewiki/"] = "\n".join(dates).encode()
    fetch(client, server, tmp_path / "new")
    assert list(there(tmp_path / "new").values()) == [BODIES[1]]


def test_a_date_and_md5(server: FaultyServer, client: Client, tmp_path: Path) -> None:
    dump(server, "20261101", {".xml.bz2": BODIES[1]})
    dump(server, "20261001", {".xml.bz2": BODIES[0]}, "md5", latest=False)
    fetch(client, server, tmp_path / "new", "--date", "20261001")
    assert list(there(tmp_path / "new").values()) == [BODIES[0]]


PARTS = {
    ".xml.bz2": b"".join(BODIES), "10.xml-p900p999.bz2": BODIES[3], "2.xml-p100p199.bz2": BODIES[1],
    "2.xml-p200p299.bz2": BODIES[2], "1.xml-p1p99.bz2": BODIES[0],
}  # fmt: skip


@pytest.mark.parametrize(
    ("size", "bodies"), [("1GB", [b"".join(BODIES)]), ("130kB", BODIES[:3]), ("40000", BODIES[:1])]
)
def test_as_much_of_a_dump_as_fits(
    server: FaultyServer, client: Client, tmp_path: Path, size: str, bodies: list[bytes]
) -> None:
    dump(server, "20261101", PARTS)
    fetch(client, server, tmp_path / "new", "--max-size", size)
    assert sorted(there(tmp_path / "new").values()) == sorted(bodies)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--max-size", "39kB"], r"40\.0 kB, more than"),
        (["--language", "xyz"], "no dump"),
        (["--base-url", "ftp://x"], "not an address"),
    ],
)
def test_what_cannot_be_fetched(
    server: FaultyServer, client: Client, tmp_path: Path, options: list[str], told: str
) -> None:
    dump(server, "20261101", PARTS)
    with pytest.raises(FetchError, match=told):
        fetch(client, server, tmp_path / "new", *options)


def test_names_in_a_list_of_checksums_are_not_trusted() -> None:
    sums = parse_sums(b"\n".join([b"0" * 40 + b"  ../../x", b"1" * 40 + b" *a.bz2", b"oops", b"\xff", b"2" * 39]))
    assert sums == {"a.bz2": "1" * 40}


def test_parquet_of_the_newest_date(server: FaultyServer, client: Client, tmp_path: Path) -> None:
    hub(server, "simple", ["20220301", "20231101"], BODIES[:2])
    found = fetch(client, server, tmp_path / "new", "--kind", "parquet")
    names = [f"wikipedia-20231101.simple-0000{number}-of-00002.parquet" for number in range(2)]
    assert there(tmp_path / "new") == dict(zip(names, BODIES, strict=False))
    assert found == [tmp_path / "new" / name for name in names]


def test_parquet_as_much_as_fits_by_date(server: FaultyServer, client: Client, tmp_path: Path) -> None:
    hub(server, "en", ["20220301", "20231101"], BODIES)
    fetch(client, server, tmp_path / "new", "--kind=parquet", "--language=en", "--date=20220301", "--max-size=85kB")
    names = [f"wikipedia-20220301.en-0000{number}-of-00004.parquet" for number in range(2)]
    assert there(tmp_path / "new") == dict(zip(names, BODIES, strict=False))


def test_a_list_of_several_pages(server: FaultyServer, client: Client, tmp_path: Path) -> None:
    hub(server, "simple", ["20231101"], BODIES[:1])
    path = f"/api/datasets/wikimedia/wikipedia/tree/{REVISION}"
    second = server.files[path]

    def paged(handler: faulty.Handler, _: bytes) -> None:
        link = f'<{server.url}/second>; rel="next"'
        handler.send([("content-length", "2"), ("link", link)], b"[]")

    server.faults[path] = [paged]
    server.files["/second"] = second
    fetch(client, server, tmp_path / "new", "--kind", "parquet")
    assert list(there(tmp_path / "new").values()) == BODIES[:1]


@pytest.mark.parametrize(
    "changes",
    [
        {"lfs": None},
        {"lfs": {"oid": "0" * 40, "size": 40_000}},
        {"lfs": {"oid": "0" * 64}},
        {"path": "20231101.simple/../../train-00000-of-00001.parquet"},
        {"path": "20231101.simple/train-00001-of-00002.parquet"},
        {"lfs": {"oid": hashlib.sha256(b"").hexdigest(), "size": 40_000}},
        {"lfs": {"oid": hashlib.sha256(BODIES[0]).hexdigest(), "size": 39_999}},
    ],
)
def test_lists_that_do_not_hold(server: FaultyServer, client: Client, tmp_path: Path, changes: dict[str, Any]) -> None:
    hub(server, "simple", ["20231101"], BODIES[:1], **changes)
    with pytest.raises(FetchError):
        fetch(client, server, tmp_path / "new", "--kind", "parquet")
    assert not any(name.endswith(".parquet") for name in there(tmp_path / "new"))


@pytest.mark.parametrize("answer", [b"", b"<html>", b"[]", b'{"sha": "../x"}', b"[" * 100_000], ids=range(5))
def test_a_server_that_is_no_hub(server: FaultyServer, client: Client, tmp_path: Path, answer: bytes) -> None:
    server.files["/api/datasets/wikimedia/wikipedia"] = answer
    with pytest.raises(FetchError):
        fetch(client, server, tmp_path / "new", "--kind", "parquet")


@pytest.mark.parametrize(
    "options",
    [["--language", "../x"], ["--language", "EN"], ["--date", "1"], ["--max-size", "much"], ["--max-size", "0"]],
)
def test_wrong_usage(options: list[str]) -> None:
    with pytest.raises(click.UsageError) as caught:
        arguments(options)
    assert options[0] in caught.value.format_message()


@pytest.mark.parametrize(
    ("text", "size"), [("500MB", 500_000_000), ("1.5 g", 1_500_000_000), ("7", 7), ("2kb", 2000), ("", 0)]
)
def test_sizes(text: str, size: int) -> None:
    assert size_of(text) == size


@pytest.mark.parametrize("text", ["-1", " ", "1e3", "MB", "1 XB", "nan", "0MB"])
def test_sizes_that_are_none(text: str) -> None:
    with pytest.raises(click.BadParameter, match="is not a size"):
        size_of(text)


@pytest.mark.slow
def test_as_a_program(server: FaultyServer, tmp_path: Path) -> None:
    dump(server, "20261101", {".xml.bz2": BODIES[0]})

    def program(*options: str, **environment: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, str(SCRIPTS / "fetch_wikipedia.py"), "--base-url", server.url, "--yes", *options]
        inherited = {name: value for name, value in os.environ.items() if name != "ATOMR_CONTACT"}
        return subprocess.run(
            command, cwd=tmp_path, env=inherited | environment, capture_output=True, text=True, timeout=300, check=False
        )

    done = program(ATOMR_CONTACT="me@example.org")
    assert (done.returncode, done.stdout.split()[:3]) == (0, ["atomr", "text", "build"])
    assert list(there(tmp_path).values()) == BODIES[:1]
    assert "No contact" not in done.stderr
    assert all("(me@example.org)" in headers["user-agent"] for _, _, headers in server.requests)
    failed = program("--language", "xyz")
    assert (failed.returncode, failed.stdout) == (1, "")
    assert "No contact is given" in failed.stderr
    assert "Download failed" in failed.stderr
    assert "Traceback" not in failed.stderr


def test_fetched_and_built_at_once(
    server: FaultyServer, own_home: Path, monkeypatch: pytest.MonkeyPatch, atomr: Atomr
) -> None:
    hub(server, "simple", ["20231101"], BODIES[:1])
    built = []
    monkeypatch.setattr(text.build, "callback", lambda **given: built.append(given))
    command = ("fetch", "wikipedia", "--kind", "parquet", "--base-url", server.url, "--yes", "--limit", "2")
    atomr(*command, "--build", "towns")
    (given,) = built
    assert given["inputs"] == tuple((own_home / "downloads").glob("*.parquet"))
    assert (given["name"], given["limit"], given["format_"], given["add"]) == ("towns", 2, "auto", False)
    assert atomr(*command).out.endswith("--name wikipedia-simple --limit 2\n")


def test_a_name_that_is_none_is_told_before_anything_is_fetched(server: FaultyServer, atomr: Atomr) -> None:
    atomr("fetch", "wikipedia", "--base-url", server.url, "--yes", "--build", "../x", status=1)
    assert server.requests == []


def test_breaking_it_off_says_how_to_go_on(monkeypatch: pytest.MonkeyPatch, atomr: Atomr) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(module, "fetch_wikipedia", interrupted)
    assert "to resume" in atomr("fetch", "wikipedia", "--yes", status=130).err
