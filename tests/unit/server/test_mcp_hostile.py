"""A hostile client over standard input and output: what is no message, too much, not there, or not its own."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.mcp_process import McpProcess, mcp_process, notification, request

pytest.importorskip("mcp", reason="the extra mcp is not installed")

from atomr_local.server.mcp import LONGEST_MESSAGE, BoundedLines

SUN = {"question": "What shines?", "strategy": "closed-book"}

NO_MESSAGES = [
    b"", b" ", b"hello", b"{", b"{}", b"[]", b"null", b"true", b"1e999", b"NaN", b'"text"', b"[" * 100_000,
    b'{"a":' * 50_000, b"\xff\xfe\x00", b"\x00", b"\xed\xa0\x80", b'{"jsonrpc":"2.0"}', b'{"jsonrpc":"1.0","id":1,"method":"ping"}',
    b'{"jsonrpc":"2.0","id":{"a":1},"method":"ping"}', b'{"jsonrpc":"2.0","id":[1],"method":"ping"}',
    b'{"jsonrpc":"2.0","id":null,"method":"ping"}', b'{"jsonrpc":"2.0","id":1,"method":7}',
    b'{"jsonrpc":"2.0","id":1,"method":"ping","params":[1]}', b'{"jsonrpc":"2.0","id":1' + b"9" * 5000 + b',"method":"ping"}',
    b'[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","id":2,"method":"ping"}]',
    b'{"jsonrpc":"2.0","id":99,"result":{}}', b'{"jsonrpc":"2.0","id":"x","error":{"code":1,"message":"x"}}',
    b'{"jsonrpc":"2.0","method":"no/such"}', b'{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":[]}}',
]  # fmt: skip


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[McpProcess]:
    with mcp_process(tmp_path_factory.mktemp("home")) as made:
        yield made


def works(server: McpProcess, name: str) -> bool:
    """Whether the server still does what it should."""
    return server.call(f"works {name}", "ask", **SUN)["structuredContent"]["values"] == ["the sun"]  # type: ignore[no-any-return]


def test_what_is_no_message_is_passed_over(server: McpProcess) -> None:
    server.send(*NO_MESSAGES)
    assert works(server, "after nonsense")
    assert not any("Traceback" in line for line in server.told)


@pytest.mark.parametrize(
    ("method", "parameters"),
    [
        ("no/such", {}),
        ("", {}),
        ("tools/call", {}),
        ("tools/call", {"name": "no_such_tool", "arguments": {}}),
        ("tools/call", {"name": "ask", "arguments": "What?"}),
        ("tools/call", {"name": ["ask"], "arguments": SUN}),
        ("tools/call", {"name": "../ask", "arguments": SUN}),
        ("resources/read", {}),
        ("resources/read", {"uri": 7}),
        ("resources/read", {"uri": "x" * 100_000}),
        ("resources/subscribe", {"uri": "atomr://trace/1"}),
        ("subscriptions/listen", {"notifications": {"toolsListChanged": True}}),
        ("prompts/get", {"name": "__class__"}),
        ("completion/complete", {"ref": {"type": "ref/prompt", "name": "x"}, "argument": {"name": "a", "value": "b"}}),
        ("logging/setLevel", {"level": "all"}),
        ("initialize", {"protocolVersion": 7}),
    ],
)
def test_what_is_not_offered_is_an_error(server: McpProcess, method: str, parameters: dict[str, object]) -> None:
    name = f"{method} {str(parameters)[:60]}"
    server.ask(name, method, **parameters)
    told = server.answer(name)
    assert "error" in told or told["result"].get("isError") is True
    assert str(Path.home()) not in str(told) and "Traceback" not in str(told)


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("ask", {"question": "x" * 2001}),
        ("ask", {"question": "x" * 500_000}),
        ("ask", {"question": ["What?"]}),
        ("ask", {"question": {"$ref": "x"}}),
        ("ask", {"question": "What?", "strategy": "x" * 100_000}),
        ("ask", {"question": "What?", "strategy": "../rag"}),
        ("ask", {}),
        ("search_text", {"query": "lake", "limit": 10**30}),
        ("search_text", {"query": "lake", "limit": -1}),
        ("search_text", {"query": "lake", "limit": "many"}),
        ("search_text", {"query": "\u0000"}),
        ("read_page", {"title": "x" * 501}),
        ("find_entity", {"name": ""}),
        ("query_graph", {"sparql": "SELECT * WHERE {" * 5000}),
        ("query_graph", {"sparql": "ASK { ?s ?p ?o }", "limit": 501}),
    ],
)
def test_arguments_have_bounds(server: McpProcess, tool: str, arguments: dict[str, object]) -> None:
    told = server.call(f"{tool} {str(arguments)[:60]} {len(str(arguments))}", tool, **arguments)
    assert told["isError"] is True
    assert len(str(told)) < 5000, "an error does not repeat what was sent"


@pytest.mark.parametrize(
    "uri",
    [
        "atomr://trace/../../etc/passwd", "atomr://trace/..%2f..%2fetc%2fpasswd", "atomr://page/..%2f..%2fetc%2fpasswd",
        "atomr://page/%2e%2e%2f%2e%2e%2fetc%2fpasswd", "atomr://page/..%252f..%252fetc%252fpasswd",
        "atomr://page/%2fetc%2fpasswd", "atomr://page/C:%5cWindows", "atomr://entity/..%2f..%2fsettings.toml",
        "atomr://page/%00", "atomr://trace/", "atomr://", "file:///etc/passwd", "http://127.0.0.1/", "/etc/passwd",
        "atomr://trace/00000000000000000000000000000000",
    ],
)  # fmt: skip
def test_no_resource_leads_to_a_file(server: McpProcess, uri: str) -> None:
    server.ask(uri, "resources/read", uri=uri)
    told = server.answer(uri)
    assert "error" in told, told
    assert "root:" not in str(told)


def test_cancelling_what_is_not_there_harms_nothing(server: McpProcess) -> None:
    for number in (99, "99", None, [1], {"a": 1}, -1, 10**30, "hello", True, 1.5):
        server.send(notification("notifications/cancelled", requestId=number, reason="x"))
    server.send(notification("notifications/cancelled"))
    assert works(server, "after cancelling nothing")


def test_a_cancelled_request_frees_its_place_and_is_not_answered(tmp_path: Path) -> None:
    with mcp_process(tmp_path, "endless") as server:
        for number in range(4):
            server.ask(f"ask {number}", "tools/call", name="ask", arguments=SUN)
        server.send(*(notification("notifications/cancelled", requestId=f"ask {number}") for number in range(4)))
        for number in range(4):  # were the places still taken, these would wait, and the last ones be refused
            server.ask(f"again {number}", "tools/call", name="ask", arguments=SUN)
        server.ask("tools", "tools/list")
        assert server.answer("tools")["result"]["tools"]
        time.sleep(0.5)
        assert not any(str(name).startswith("ask") for name in server.answers)


def test_a_message_that_is_too_long_is_passed_over_and_told(server: McpProcess) -> None:
    assert works(server, "before")
    before = server.memory
    server.send(request("long", "tools/call", name="ask", arguments={"question": "x" * (100 << 20)}))
    assert works(server, "after")
    assert server.memory - before < 40
    assert "long" not in server.answers
    assert any("was passed over" in line for line in server.told)


def test_a_flood_of_requests_is_answered_within_bounds(tmp_path: Path) -> None:
    with mcp_process(tmp_path, "endless") as server:
        assert server.call("first", "search_text", query="lake")["structuredContent"]["passages"]
        before = server.memory
        numbers = range(1000)
        server.send(*(request(number, "tools/call", name="ask", arguments=SUN) for number in numbers))
        server.ask("list", "tools/list")
        assert server.answer("list")["result"]["tools"]
        assert server.call("last", "search_text", query="lake")["structuredContent"]["passages"]
        full = [server.answer(number) for number in numbers[100:]]
        assert all("waiting already" in str(answer["result"]["content"]) for answer in full)
        assert server.memory - before < 60


def test_the_rest_of_a_line_that_is_too_long_is_cut() -> None:
    for sent, kept, times in (
        (b"12345\n12345\n", b"12345\n12345\n", 0),
        (b"123456\n1\n", b"12345\n1\n", 1),
        (b"x" * 100_000 + b"\n" + b"y" * 100_000 + b"\nz", b"xxxxx\nyyyyy\nz", 2),
        (b"\n\n123456", b"\n\n12345", 1),
        (b"", b"", 0),
    ):
        reading, writing = os.pipe()
        cut: list[int] = []

        def send(sent: bytes = sent, writing: int = writing) -> None:
            with os.fdopen(writing, "wb") as pipe:
                pipe.write(sent)

        sender = threading.Thread(target=send)
        sender.start()
        with os.fdopen(reading, "rb") as given:
            assert BoundedLines(given.fileno(), 5, lambda cut=cut: cut.append(1)).readall() == kept
        sender.join()
        assert len(cut) == times
    assert LONGEST_MESSAGE == 1 << 20
