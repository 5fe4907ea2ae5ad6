"""What `network` contacts, and what of an answer it takes: a server here, and a resolver that lies."""

from __future__ import annotations

import threading

import httpcore
import pytest
from support.fake_resolver import Resolver

from atomr_local.system.network import (
    NotPublicError,
    PublicBackend,
    is_public,
    names_local_server,
    names_private,
    public_addresses,
)

PRIVATE = [
    "127.0.0.1", "127.9.9.9", "0.0.0.0", "10.1.2.3", "172.16.0.1", "192.168.1.1", "169.254.169.254", "100.64.0.1",
    "100.100.100.200", "224.0.0.1", "239.255.255.250", "240.0.0.1", "255.255.255.255", "192.0.2.1", "198.18.0.1",
    "168.63.129.16", "::1", "::", "fe80::1", "fe80::1%eth0", "fc00::1", "fd00:ec2::254", "fec0::1", "ff02::1",
    "::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:a9fe:a9fe", "64:ff9b::7f00:1", "64:ff9b::a9fe:a9fe", "::7f00:1",
    "2002:7f00:1::", "2002:c0a8:101::1", "2001:db8::1", "not an address", "", "1.2.3", "127.1",
]  # fmt: skip
PUBLIC = ["8.8.8.8", "151.101.1.69", "2606:4700::6810:84e5", "::ffff:8.8.8.8", "64:ff9b::808:808"]


@pytest.mark.parametrize("address", PRIVATE)
def test_what_is_not_public(address: str) -> None:
    assert not is_public(address)


@pytest.mark.parametrize("address", PUBLIC)
def test_what_is_public(address: str) -> None:
    assert is_public(address)


def test_hosts_that_are_written_as_private() -> None:
    for host in ("localhost", "LOCALHOST.", "a.localhost", "127.0.0.1", "[::1]", "::1", "10.0.0.1", "fe80::1%1"):
        assert names_private(host)
    for host in ("example.org", "8.8.8.8", "", None, "localhost.example.org"):
        assert not names_private(host)


def test_a_server_of_ones_own_is_no_metadata_service() -> None:
    for host in ("localhost", "127.0.0.1", "[::1]", "10.0.0.1", "192.168.1.5", "fd12::1"):
        assert names_local_server(host)
    for host in ("169.254.169.254", "fe80::1", "0.0.0.0", "224.0.0.1", "100.100.100.200", "fd00:ec2::254", "", None):
        assert not names_local_server(host)


def test_one_private_address_among_public_ones_is_enough_to_refuse() -> None:
    with pytest.raises(NotPublicError, match=r"10\.0\.0\.1"):
        public_addresses("evil.example", 443, 5, Resolver(["8.8.8.8", "10.0.0.1"]))


@pytest.mark.parametrize("host", ["2130706433", "0x7f000001", "127.1", "0177.0.0.1", "localhost", "0"])
def test_other_ways_to_write_this_machine_are_seen_through(host: str) -> None:
    with pytest.raises((NotPublicError, httpcore.ConnectError)):
        public_addresses(host, 80, 5)


def test_a_name_that_is_not_resolved_in_time() -> None:
    silent = threading.Event()
    with pytest.raises(httpcore.ConnectTimeout):
        public_addresses("slow.example", 80, 0.01, lambda *_, **__: silent.wait(60) and [])
    silent.set()


def test_a_second_connection_is_checked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    backend = PublicBackend(lambda _host: False, Resolver(["8.8.8.8"], ["127.0.0.1"]))
    monkeypatch.setattr(httpcore.SyncBackend, "connect_tcp", lambda *_, **__: httpcore.MockStream([]))
    backend.connect_tcp("rebind.example", 443, 5)
    with pytest.raises(NotPublicError):
        backend.connect_tcp("rebind.example", 443, 5)
