"""How OpenMP threads wait."""

from __future__ import annotations

import os

import pytest

from atomr_local.system import threads


def test_a_bounded_spin_unless_the_user_chose(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("GOMP_SPINCOUNT", "OMP_WAIT_POLICY"):
        monkeypatch.setenv(name, "x")
        monkeypatch.delenv(name)
    threads.prepare_threads()
    assert os.environ["GOMP_SPINCOUNT"] == "1000"
    monkeypatch.setenv("GOMP_SPINCOUNT", "7")
    threads.prepare_threads()
    assert os.environ["GOMP_SPINCOUNT"] == "7"
    monkeypatch.delenv("GOMP_SPINCOUNT")
    monkeypatch.setenv("OMP_WAIT_POLICY", "passive")
    threads.prepare_threads()
    assert "GOMP_SPINCOUNT" not in os.environ


def test_threads_are_those_asked_for_or_those_there_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "available_cores", lambda: 24)
    assert (threads.generation_threads(3), threads.batch_threads(5)) == (3, 5)
    assert (threads.generation_threads(), threads.batch_threads()) == (8, 24)


def test_cores_are_those_of_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    assert 1 <= threads.available_cores() <= (os.cpu_count() or 1)
    monkeypatch.setattr(threads, "_quota", lambda: 1)
    assert threads.available_cores() == 1
