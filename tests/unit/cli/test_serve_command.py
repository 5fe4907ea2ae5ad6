"""`atomr serve` before it serves: what it refuses, and how it says so."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable
from importlib import import_module
from pathlib import Path

import pytest
from support.command_line import Atomr

import atomr_local

pytest.importorskip("starlette", reason="the extra serve is not installed")

from atomr_local.assistant.assistant import Assistant
from atomr_local.server.app import listening_socket

serve_command = import_module("atomr_local.cli.commands.serve")


@pytest.fixture
def serve(capsys: pytest.CaptureFixture[str]) -> Atomr:
    return Atomr(capsys, "serve")


def test_other_machines_need_a_token(serve: Atomr) -> None:
    told = serve.refused("--host", "0.0.0.0")
    assert "no token" in told and "--token-file" in told


def test_a_token_that_cannot_be_used_is_not_shown(
    serve: Atomr, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (file := tmp_path / "token").write_text("hunter2\n")
    told = serve.refused("--token-file", str(file))
    assert "fewer than 16" in told and "hunter2" not in told
    assert "cannot be read" in serve.refused("--token-file", str(tmp_path / "none"))
    assert "cannot be read" in serve.refused("--token-file", str(tmp_path))
    monkeypatch.setenv("ATOMR_SERVE_TOKEN", "swordfish")
    told = serve(status=1).err
    assert "fewer than 16" in told and "swordfish" not in told and "not a setting" not in told


def test_a_port_in_use_is_told(serve: Atomr) -> None:
    with listening_socket("127.0.0.1", 0) as taken:
        told = serve.refused("--port", str(taken.getsockname()[1]))
    assert "is in use" in told and "--port 0" in told


def test_a_slow_start_is_told_and_a_quick_one_is_not(serve: Atomr, monkeypatch: pytest.MonkeyPatch) -> None:
    opened = Assistant.open

    def slowly(**settings: object) -> Assistant:
        time.sleep(0.5)
        return opened(None, **settings)

    with listening_socket("127.0.0.1", 0) as taken:
        port = str(taken.getsockname()[1])
        monkeypatch.setattr(serve_command, "_SLOW_SECONDS", 60)
        assert "Starting" not in serve.refused("--port", port)
        for thread in threading.enumerate():
            if isinstance(thread, threading.Timer):
                thread.join(30)
                assert not thread.is_alive(), "it would tell later that the start is slow"
        monkeypatch.setattr(serve_command, "_SLOW_SECONDS", 0.01)
        monkeypatch.setattr(Assistant, "open", slowly)
        told = serve.refused("--port", port)
    assert told.startswith("Starting;") and "is in use" in told


def test_what_is_loaded_is_told(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def preload(self: Assistant, on_stage: Callable[[str], None]) -> None:
        on_stage("loading model")

    monkeypatch.setattr(Assistant, "preload", preload)
    with Assistant.open() as assistant:
        serve_command._preload(assistant)
    assert capsys.readouterr().err.splitlines() == ["Loading model.", "Ready: model and indexes are loaded."]


def test_a_private_index_is_not_served_to_other_machines(serve: Atomr, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ATOMR_SERVE_TOKEN", "correct-horse-battery-staple")
    monkeypatch.setenv("ATOMR_PRIVACY__INDEXES", "diary")
    told = serve.refused("--host", "0.0.0.0", "--port", "0", "--text-index", "diary")
    assert "private: diary" in told and "--share-private" in told


def test_wrong_values_are_wrong_usage(serve: Atomr) -> None:
    for wrong in (("--port", "70000"), ("--queue", "-1"), ("--timeout", "0"), ("--grace", "x")):
        serve.refused(*wrong, status=2)
    assert "no strategy" in serve.refused("--strategy", "magic", "--port", "0")


def test_a_missing_package_is_named(serve: Atomr, monkeypatch: pytest.MonkeyPatch) -> None:
    if (loaded := sys.modules.get("atomr_local.server")) is not None:
        monkeypatch.setattr(atomr_local, "server", loaded)  # what is imported here is not left behind
    for name in [name for name in sys.modules if name.startswith("atomr_local.server")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "starlette.responses", None)
    told = serve(status=1).err
    assert "starlette" in told and "[serve]" in told
