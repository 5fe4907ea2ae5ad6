"""Downloads from a server that misbehaves: nothing wrong is ever accepted, and what is resumed is byte-equal."""

from __future__ import annotations

import errno
import gzip
import hashlib
import os
import random
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpcore
import httpx
import pytest
import support.faulty_server as faulty
from support.faulty_server import FaultyServer

from atomr_local.cli.downloads import checked_contact, contact_of, given_contact
from atomr_local.fetching import download as module
from atomr_local.fetching.client import (
    Client,
    FetchError,
    checked_url,
    redirected,
    retry_after,
)
from atomr_local.fetching.download import RemoteFile, download

BODY = random.Random(4).randbytes(300_000)
OTHER = random.Random(5).randbytes(300_000)
PATH = "/dump.bz2"


class Time:
    """A clock that only sleeping moves."""

    def __init__(self) -> None:
        self.now = 0.0
        self.slept: list[float] = []

    def clock(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds


pytestmark = pytest.mark.usefixtures("no_waiting")


@pytest.fixture
def server(server: FaultyServer) -> FaultyServer:
    server.files[PATH] = BODY
    return server


@pytest.fixture
def time() -> Time:
    return Time()


@pytest.fixture
def client(time: Time) -> Iterator[Client]:
    with Client(clock=time.clock, sleep=time.sleep, timeout=60, tries=4) as found:
        yield found


def remote(server: FaultyServer, body: bytes = BODY, path: str = PATH, algorithm: str = "sha256") -> RemoteFile:
    digest = hashlib.new(algorithm, body).hexdigest()
    return RemoteFile(server.url + path, "dump.bz2", len(body), algorithm, digest)


def ranges(server: FaultyServer) -> list[str | None]:
    return [headers.get("range") for _, _, headers in server.requests]


def only(directory: Path, *names: str) -> bool:
    return sorted(path.name for path in directory.iterdir()) == sorted(names)


@pytest.mark.parametrize("algorithm", ["sha256", "sha1", "md5"])
def test_a_whole_file_takes_one_request(
    server: FaultyServer, client: Client, tmp_path: Path, time: Time, algorithm: str
) -> None:
    path = download(client, remote(server, algorithm=algorithm), tmp_path / "new")
    assert path.read_bytes() == BODY
    assert only(tmp_path / "new", "dump.bz2")
    ((_, _, headers),) = server.requests
    assert headers["user-agent"].startswith("atomr-local/")
    assert time.slept == []


# What the server does in turn, and what it is asked for; None: whatever that is.
TROUBLE: dict[str, tuple[list[faulty.Fault | None], list[str | None] | None]] = {
    "the connection breaks again and again": (
        [faulty.breaks_after(100_000), faulty.breaks_after(50_000), faulty.breaks_after(0)],
        [None, "bytes=100000-", "bytes=150000-", "bytes=150000-"],
    ),
    "ranges are ignored": ([faulty.breaks_after(100_000), faulty.ignores_range], None),
    "the rest is of a file that has changed": (
        [faulty.other_file(OTHER, '"old"', 100_000), faulty.other_file(BODY, '"one"')], [None, "bytes=100000-", None]
    ),
    "a changed file is given whole, for the condition is heeded": (
        [faulty.other_file(OTHER, '"old"', 100_000)], [None, "bytes=100000-"]
    ),
    "glued files without tags fail the checksum": (
        [faulty.other_file(OTHER, "", 100_000), faulty.other_file(BODY, "")], [None, "bytes=100000-", None]
    ),
    "wrong bytes": ([faulty.wrong_bytes], [None, None]),
    "no length is told": ([faulty.without_length(cut=1000), None], [None, "bytes=299000-"]),
    "the rest is of another place": ([faulty.breaks_after(100_000), faulty.wrong_place], None),
    "there is no rest": ([faulty.breaks_after(100_000), faulty.status(416)], None),
    "the rest has another length": ([faulty.breaks_after(100_000), faulty.says_length(5)], None),
}  # fmt: skip


@pytest.mark.parametrize(("faults", "asked"), TROUBLE.values(), ids=TROUBLE)
def test_the_file_is_right_whatever_the_server_does(
    server: FaultyServer, client: Client, tmp_path: Path, faults: list[faulty.Fault | None],
    asked: list[str | None] | None,
) -> None:  # fmt: skip
    server.faults[PATH] = faults
    assert download(client, remote(server), tmp_path).read_bytes() == BODY
    assert asked is None or ranges(server) == asked


def test_another_run_goes_on(server: FaultyServer, client: Client, tmp_path: Path) -> None:
    server.faults[PATH] = [faulty.breaks_after(120_000), *[faulty.status(503)] * 3]
    with pytest.raises(FetchError, match="503") as caught:
        download(client, remote(server), tmp_path)
    assert "same command" in caught.value.hint
    assert only(tmp_path, "dump.bz2.part", "dump.bz2.part.json")
    server.requests.clear()
    assert download(client, remote(server), tmp_path).read_bytes() == BODY
    assert ranges(server) == ["bytes=120000-"]
    assert server.requests[0][2]["if-range"] == '"one"', "a rest is asked for on condition"
    assert only(tmp_path, "dump.bz2")


def test_breaking_it_off_leaves_what_can_be_gone_on_from(server: FaultyServer, client: Client, tmp_path: Path) -> None:
    def interrupt(_: str, done: int, __: int) -> None:
        if done > 100_000:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        download(client, remote(server), tmp_path, interrupt)
    kept = (tmp_path / "dump.bz2.part").stat().st_size
    assert 100_000 < kept < len(BODY)
    server.requests.clear()
    assert download(client, remote(server), tmp_path).read_bytes() == BODY
    assert ranges(server) == [f"bytes={kept}-"]


def test_a_whole_part_needs_no_request(server: FaultyServer, client: Client, tmp_path: Path) -> None:
    (tmp_path / "dump.bz2.part").write_bytes(BODY)
    assert download(client, remote(server), tmp_path).read_bytes() == BODY
    assert server.requests == []


@pytest.mark.parametrize("part", [OTHER[:1000], OTHER + b"more", OTHER], ids=["shorter", "longer", "as long"])
def test_a_part_of_unknown_origin_is_not_gone_on_from(
    server: FaultyServer, client: Client, tmp_path: Path, part: bytes
) -> None:
    (tmp_path / "dump.bz2.part").write_bytes(part)
    assert download(client, remote(server), tmp_path).read_bytes() == BODY
    assert ranges(server) == [None]


def test_bytes_that_stay_wrong_are_refused(server: FaultyServer, client: Client, tmp_path: Path) -> None:
    server.files[PATH] = OTHER
    with pytest.raises(FetchError, match="sha256"):
        download(client, remote(server), tmp_path)
    assert only(tmp_path)
    assert len(server.requests) == 3


@pytest.mark.parametrize(
    "fault",
    [
        faulty.says_length(len(BODY) + 500),
        faulty.says_length(len(BODY) - 500),
        faulty.without_length(extra=b"x"),
        faulty.without_length(cut=len(BODY)),
        faulty.recoded,
        faulty.status(206),
        faulty.status(416),
        faulty.wrong_place,
    ],
)
def test_a_server_that_lies_about_the_length_or_place_is_not_believed(
    server: FaultyServer, client: Client, tmp_path: Path, fault: faulty.Fault
) -> None:
    server.faults[PATH] = [fault] * 20
    with pytest.raises(FetchError):
        download(client, remote(server), tmp_path)
    assert not (tmp_path / "dump.bz2").exists()
    server.faults.clear()
    assert download(client, remote(server), tmp_path).read_bytes() == BODY


@pytest.mark.parametrize("value", ["", "soon", "-5", "Thu, 01 Jan 1970 00:00:00 GMT", "1e9", "٣"])
def test_an_unusable_retry_after_is_none(value: str) -> None:
    assert retry_after(httpx.Headers([(b"retry-after", value.encode())])) == 0


def test_a_gain_begins_the_count_anew(server: FaultyServer, client: Client, tmp_path: Path) -> None:
    server.faults[PATH] = [faulty.breaks_after(20_000)] * 12
    assert download(client, remote(server), tmp_path).read_bytes() == BODY
    assert len(server.requests) == 13


@pytest.mark.parametrize(
    ("faults", "told", "slept"),
    [
        ([faulty.status(429, ("retry-after", "77")), faulty.status(503)], "", [77, 4]),  # as the server asks
        ([faulty.status(429, ("retry-after", "99999"))], r"27\.8 hours", []),  # but not for days
        ([faulty.status(500)] * 9, r"500.*4 tries", [2, 4, 8]),
        ([faulty.status(400)], "400", []),
        ([faulty.status(403)], "403", []),
        ([faulty.status(404)], "404", []),
        ([faulty.status(451)], "451", []),
    ],
)
def test_how_long_is_waited_and_what_is_not_tried_again(
    server: FaultyServer,
    client: Client,
    tmp_path: Path,
    time: Time,
    faults: list[faulty.Fault],
    told: str,
    slept: list[float],
) -> None:
    server.faults[PATH] = [*faults]
    if told:
        with pytest.raises(FetchError, match=told):
            download(client, remote(server), tmp_path)
    else:
        assert download(client, remote(server), tmp_path).read_bytes() == BODY
    assert time.slept == slept


def test_nobody_there(client: Client, tmp_path: Path, time: Time) -> None:
    with faulty.faulty_server() as gone:
        file = remote(gone)
    with pytest.raises(FetchError, match="no connection"):
        download(client, file, tmp_path)
    assert len(time.slept) == 3
    assert only(tmp_path)


def test_follows_a_redirect_and_asks_the_first_address_again(
    server: FaultyServer, client: Client, tmp_path: Path
) -> None:
    server.files["/first"] = BODY
    server.faults["/first"] = [faulty.redirect("/dump.bz2?signed=1"), faulty.redirect("/dump.bz2?signed=2")]
    server.faults[PATH] = [faulty.breaks_after(100_000)]
    assert download(client, remote(server, path="/first"), tmp_path).read_bytes() == BODY
    assert [path for _, path, _ in server.requests] == [
        "/first", "/dump.bz2?signed=1", "/first", "/dump.bz2?signed=2"
    ]  # fmt: skip


def test_endless_redirects(server: FaultyServer, client: Client, tmp_path: Path) -> None:
    server.faults[PATH] = [faulty.redirect(PATH)] * 100
    with pytest.raises(FetchError, match="redirects"):
        download(client, remote(server), tmp_path)
    assert len(server.requests) == 6


@pytest.mark.parametrize(
    "to",
    [
        "http://localhost:{port}/x", "http://[::1]:{port}/x", "http://0.0.0.0:{port}/x", "https://10.0.0.1/x",
        "https://169.254.169.254/latest/meta-data", "http://example.org/x", "https://[::ffff:127.0.0.1]/x",
        "ftp://127.0.0.1/x", "file:///etc/passwd", "http://user@127.0.0.1/", "http://[", "",
    ],
)  # fmt: skip
def test_redirects_to_private_open_or_other_addresses_are_refused(
    server: FaultyServer, client: Client, tmp_path: Path, to: str
) -> None:
    server.faults[PATH] = [faulty.redirect(to.format(port=server.server_port))]
    with pytest.raises(
        FetchError, match=r"redirects to|not a public address|not encrypted|cannot be followed|not an address"
    ):
        download(client, remote(server), tmp_path)
    assert len(server.requests) == 1
    assert only(tmp_path)


def test_a_name_that_leads_to_a_private_address_is_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def resolve(host: str, port: int, **_: object) -> list[object]:
        asked.append(host)
        return [(2, 1, 6, "", ("127.0.0.1", port))]

    with Client(tries=1) as client:
        client._transport.network._resolve = resolve  # type: ignore[assignment]
        with pytest.raises(FetchError, match="not a public address") as caught:
            client.document("https://models.example/x")
        with pytest.raises(FetchError, match="not encrypted"):
            client.document("http://models.example/x")
    with Client(tries=1) as client, pytest.raises(FetchError, match="not a public address"):
        client.document("https://169.254.169.254/latest/meta-data")
    assert asked == ["models.example"]
    assert "--base-url" in str(caught.value.hint)


def test_a_server_that_the_user_named_need_not_be_public(server: FaultyServer) -> None:
    server.files["/x"] = b"here"
    address = f"http://mirror.example:{server.server_port}"
    with Client(tries=1, base_url=address) as client:
        client._transport.network._sockets.connect_tcp = (  # type: ignore[method-assign]
            lambda _host, port, *rest: httpcore.SyncBackend().connect_tcp("127.0.0.1", port, *rest)
        )
        assert client.document(f"{address}/x") == b"here"


def test_a_document_of_packed_nothing_is_not_unpacked(server: FaultyServer, client: Client) -> None:
    bomb = gzip.compress(b"0" * 50_000_000)
    server.files["/list"] = bomb
    server.faults["/list"] = [
        lambda handler, body: handler.send([("content-length", str(len(body))), ("content-encoding", "gzip")], body)
    ]
    with pytest.raises(FetchError, match="longer than 1000 bytes"):
        client.document(f"{server.url}/list", 1000)


def test_an_encrypted_address_does_not_redirect_to_an_open_one() -> None:
    def to(url: str) -> httpx.Response:
        return httpx.Response(302, headers={"location": url})

    secure = "https://example.org/a"
    assert redirected(secure, to("https://other.example/b"), posted=False) == "https://other.example/b"
    assert redirected("http://example.org/a", to(secure), posted=False) == secure
    for target in ("http://example.org/a", "https://127.0.0.1/", "https://localhost:8/"):
        with pytest.raises(FetchError, match="refused"):
            redirected(secure, to(target), posted=False)
    with pytest.raises(FetchError):
        redirected(secure, to("/b"), posted=True)


@pytest.mark.parametrize(
    "url", ["", "dumps", "ftp://a/b", "https://", "https://a b/", "https://a/\x1b[2J", "https://ä.de/"]
)
def test_addresses_that_are_none(url: str) -> None:
    with pytest.raises(FetchError):
        checked_url(url)


@pytest.mark.parametrize("name", ["", "../x", "a/b", ".hidden", "a b", "a\x00", "x" * 300])
def test_names_that_are_none(name: str) -> None:
    with pytest.raises(FetchError):
        RemoteFile("https://example.org/", name, 1, "md5", "0" * 32)


@pytest.mark.parametrize(("size", "digest"), [(0, "0" * 40), (-1, "0" * 40), (1, ""), (1, "0" * 39), (1, "g" * 40)])
def test_published_facts_that_are_none(size: int, digest: str) -> None:
    with pytest.raises(FetchError):
        RemoteFile("https://example.org/", "x", size, "sha1", digest)


def test_what_is_there_is_not_fetched_again(server: FaultyServer, client: Client, tmp_path: Path) -> None:
    (tmp_path / "dump.bz2").write_bytes(BODY)
    assert download(client, remote(server), tmp_path) == tmp_path / "dump.bz2"
    assert server.requests == []
    assert only(tmp_path, "dump.bz2")


@pytest.mark.parametrize("there", [OTHER, b"mine"], ids=["as long", "shorter"])
def test_what_is_there_and_differs_is_left_alone(
    server: FaultyServer, client: Client, tmp_path: Path, there: bytes
) -> None:
    (tmp_path / "dump.bz2").write_bytes(there)
    with pytest.raises(FetchError, match="already exists"):
        download(client, remote(server), tmp_path)
    assert (tmp_path / "dump.bz2").read_bytes() == there


def test_a_disk_without_room(
    server: FaultyServer, client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "free_space", lambda _: 200_100_000)
    with pytest.raises(FetchError, match="too full"):
        download(client, remote(server), tmp_path)
    assert server.requests == []


def test_a_disk_that_fills_up(
    server: FaultyServer, client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(module.os, "fsync", full)
        with pytest.raises(FetchError, match="disk is full"):
            download(client, remote(server), tmp_path)
    assert not (tmp_path / "dump.bz2").exists()
    assert download(client, remote(server), tmp_path).read_bytes() == BODY


def test_two_runs_do_not_write_one_part(server: FaultyServer, client: Client, tmp_path: Path) -> None:
    seen: list[str] = []

    def meanwhile(*_: Any) -> None:
        if not seen:
            with pytest.raises(FetchError) as caught:
                download(client, remote(server), tmp_path)
            seen.append(caught.value.message)

    assert download(client, remote(server), tmp_path, meanwhile).read_bytes() == BODY
    assert "another process" in seen[0]


@pytest.mark.parametrize(
    "contact", ["me+wiki@mail.example.org", "https://example.org/about.html", "http://a.example:8080/~me"]
)
def test_servers_are_told_the_contact(server: FaultyServer, tmp_path: Path, contact: str) -> None:
    with Client(contact=checked_contact(f" {contact}\n")) as client:
        client.document(server.url + PATH)
    ((_, _, headers),) = server.requests
    assert re.fullmatch(rf"atomr-local/\S+ \({re.escape(contact)}\) python-httpx/\S+ Python/\S+", headers["user-agent"])


@pytest.mark.parametrize(
    "contact",
    [
        "me",
        "me@",
        "@example.org",
        "a@b.c) x/1 (",
        "a@b.org\r\nx: y",
        "mé@example.org",
        "ftp://a.org",
        "a@" + "b." * 90 + "c",
    ],
)
def test_contacts_that_are_none(contact: str) -> None:
    with pytest.raises(FetchError, match="is not a contact") as caught:
        checked_contact(contact)
    assert "you@example.org" in caught.value.hint


def test_the_contact_is_of_the_option_else_of_the_environment(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("ATOMR_CONTACT", "env@example.org")
    assert given_contact("option@example.org") == "option@example.org"
    assert given_contact(None) == "env@example.org"
    assert capsys.readouterr().err == ""
    monkeypatch.delenv("ATOMR_CONTACT")
    assert contact_of(None) == ""
    assert "refuse requests without one" in capsys.readouterr().err


@pytest.mark.parametrize(("contact", "hint"), [("", "--contact"), ("me@example.org", "address right")])
def test_a_refusal_without_a_contact_may_be_for_want_of_one(server: FaultyServer, contact: str, hint: str) -> None:
    server.faults[PATH] = [faulty.status(403)]
    with Client(contact=contact) as client, pytest.raises(FetchError) as caught:
        client.document(server.url + PATH)
    assert hint in caught.value.hint


def test_keeps_to_the_rate(server: FaultyServer, time: Time, tmp_path: Path) -> None:
    with Client(clock=time.clock, sleep=time.sleep, rate=10_000) as slow:
        download(slow, remote(server), tmp_path)
    assert time.now == pytest.approx(len(BODY) / 10_000)


@pytest.mark.parametrize("seed", range(25))
def test_whatever_happens_the_file_is_right_or_not_there(
    server: FaultyServer, client: Client, tmp_path: Path, seed: int
) -> None:
    choice = random.Random(seed)
    faults = [
        faulty.breaks_after(choice.randrange(200_000)), faulty.ignores_range, faulty.wrong_bytes, faulty.wrong_place,
        faulty.other_file(OTHER, '"one"', 50_000), faulty.other_file(OTHER, '"two"'), faulty.status(500),
        faulty.status(416), faulty.says_length(choice.randrange(1, 600_000)), faulty.without_length(b"xyz"),
        faulty.without_length(cut=choice.randrange(300_000)), faulty.redirect(PATH), faulty.recoded,
    ]  # fmt: skip
    server.faults[PATH] = choice.choices(faults, k=8)
    for _ in range(8):
        try:
            download(client, remote(server), tmp_path)
        except FetchError:
            assert not (tmp_path / "dump.bz2").exists()
        else:
            break
    assert (tmp_path / "dump.bz2").read_bytes() == BODY
    assert only(tmp_path, "dump.bz2")
