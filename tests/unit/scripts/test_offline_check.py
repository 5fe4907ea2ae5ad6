"""What `scripts/offline_check.py` counts as a socket."""

from __future__ import annotations

from support.script_loader import load_script

offline_check = load_script("offline_check")
outward = load_script("offline_servers").outward

TRACE = """\
41 socket(AF_INET6, SOCK_STREAM|SOCK_CLOEXEC, IPPROTO_IP) = 3
[pid   77] connect(3, {sa_family=AF_UNIX, sun_path="/var/run/nscd/socket"}, 110) = -1 ENOENT (No such file)
78 bind(4, {sa_family=AF_INET, sin_port=htons(0), sin_addr=inet_addr("127.0.0.1")}, 16 <unfinished ...>
78 <... bind resumed>) = 0
79 sendto(5, "x", 1, MSG_NOSIGNAL, NULL, 0) = 1
79 sendto(5, "x", 1, 0, {sa_family=AF_NETLINK, nl_pid=0, nl_groups=00000000}, 12) = 20
80 socketpair(AF_UNIX, SOCK_STREAM, 0, [3, 4]) = 0
80 +++ exited with 0 +++
"""


def test_every_family_counts_and_a_socketpair_does_not() -> None:
    calls = offline_check.socket_calls(TRACE)
    assert [call.split("(")[0].split()[-1] for call in calls] == ["socket", "connect", "bind", "sendto"]
    assert "AF_NETLINK" in calls[-1]


def test_a_clean_trace_is_clean() -> None:
    assert offline_check.socket_calls("80 socketpair(AF_UNIX, SOCK_STREAM, 0, [3, 4]) = 0\n") == []


def test_a_server_may_listen_on_this_machine_and_do_nothing_else() -> None:
    listens = [
        "7 socket(AF_INET, SOCK_STREAM|SOCK_CLOEXEC, IPPROTO_TCP) = 3",
        '7 bind(3, {sa_family=AF_INET, sin_port=htons(0), sin_addr=inet_addr("127.0.0.1")}, 16) = 0',
        "7 listen(3, 128) = 0",
        '[pid 8] accept4(3, {sa_family=AF_INET, sin_port=htons(1), sin_addr=inet_addr("127.0.0.1")}, [16], 0) = 4',
    ]
    others = [
        '7 bind(3, {sa_family=AF_INET, sin_port=htons(0), sin_addr=inet_addr("0.0.0.0")}, 16) = 0',
        '7 connect(4, {sa_family=AF_INET, sin_port=htons(80), sin_addr=inet_addr("127.0.0.1")}, 16) = 0',
        "7 socket(AF_INET, SOCK_DGRAM|SOCK_CLOEXEC, IPPROTO_IP) = 3",
        "7 socket(AF_INET6, SOCK_STREAM|SOCK_CLOEXEC, IPPROTO_TCP) = 3",
        "7 socket(AF_NETLINK, SOCK_RAW|SOCK_CLOEXEC, NETLINK_ROUTE) = 5",
        '7 sendto(3, "x", 1, 0, {sa_family=AF_INET, sin_port=htons(53), sin_addr=inet_addr("10.0.0.1")}, 16) = 1',
    ]
    assert outward([*listens, *others]) == others
