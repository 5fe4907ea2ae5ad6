"""Copies of the settings that killed writes left: removed at the next start, and nothing else is."""

from __future__ import annotations

import hashlib
import os
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from support.places import PYTHONPATH

from atomr_local.settings import schema as settings
from atomr_local.settings.file import save_settings
from atomr_local.settings.schema import load_settings

DEAD = 2**31  # no process has this number
SECRET = '[endpoint]\napi_key = "k3y-of-mine"\n'
KILLED = """
import os, signal, sys
from pathlib import Path
from atomr_local.settings import file as settings_file
Path.replace = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
settings_file.save_settings({"endpoint.api_key": "k3y-of-mine"})
"""


@pytest.fixture(autouse=True)
def first_start(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settings, "_cleaned", set())


def test_a_killed_write_leaves_nothing_behind_the_next_start(own_home: Path) -> None:
    (own_home / "config.toml").write_text("top_k = 4\n")
    environment = {**os.environ, "ATOMR_HOME": str(own_home), "PYTHONPATH": PYTHONPATH}
    killed = subprocess.run([sys.executable, "-c", KILLED], env=environment, check=False)
    assert killed.returncode == -signal.SIGKILL
    left = [path for path in own_home.iterdir() if path.name != "config.toml"]
    assert len(left) == 1 and "k3y-of-mine" in left[0].read_text()
    assert stat.S_IMODE(left[0].stat().st_mode) == 0o600
    assert load_settings().top_k == 4
    assert [path.name for path in own_home.iterdir()] == ["config.toml"]


def test_a_copy_at_work_and_the_files_of_others_stay(own_home: Path) -> None:
    digest = hashlib.sha256(b"config.toml").hexdigest()[:16]
    other = hashlib.sha256(b"other.toml").hexdigest()[:16]
    kept = [
        own_home / f".atomr-{digest}-{os.getpid()}-01234567.partial",
        own_home / f".atomr-{other}-{DEAD}-01234567.partial",
        own_home / "tmpabc_0123",
        own_home / "config.toml.bak",
    ]
    for path in kept:
        path.write_text(SECRET)
    load_settings()
    assert all(path.exists() for path in kept)


def test_copies_beside_the_file_that_a_link_leads_to_are_found(own_home: Path, tmp_path: Path) -> None:
    real = tmp_path / "dotfiles"
    real.mkdir()
    (real / "atomr.toml").write_text("top_k = 4\n")
    (own_home / "config.toml").unlink(missing_ok=True)
    (own_home / "config.toml").symlink_to(real / "atomr.toml")
    digest = hashlib.sha256(b"atomr.toml").hexdigest()[:16]
    (real / f".atomr-{digest}-{DEAD}-01234567.partial").write_text(SECRET)
    load_settings()
    assert [path.name for path in real.iterdir()] == ["atomr.toml"]


@pytest.mark.parametrize(("mode", "change", "wanted"), [
    (0o644, {"endpoint.api_key": "k3y-of-mine"}, 0o600),
    (0o644, {"endpoint.url": "https://user:k3y-of-mine@host/v1"}, 0o600),
    (0o644, {"endpoint.url": "https://host/v1?api_key=k3y-of-mine"}, 0o600),
    (0o644, {"endpoint.url": "https://host/v1"}, 0o644),
    (0o644, {"top_k": 5}, 0o644),
    (0o200, {"endpoint.api_key": "k3y-of-mine"}, 0o200),
])  # fmt: skip
def test_a_file_of_secrets_is_nobody_elses_to_read(own_home: Path, mode: int, change: dict, wanted: int) -> None:
    file = own_home / "config.toml"
    file.write_text("top_k = 4\n")
    file.chmod(mode)
    if not os.access(file, os.R_OK):
        pytest.skip("only root reads such a file")
    save_settings(change)
    assert stat.S_IMODE(file.stat().st_mode) == wanted
    assert all(str(value) in file.read_text() for value in change.values())


def test_saving_something_else_keeps_secrets_as_they_are(own_home: Path) -> None:
    save_settings({"endpoint.url": "https://user:k3y-of-mine@host/v1?a=b", "endpoint.api_key": ""})
    save_settings({"top_k": 5})
    assert load_settings().endpoint.url == "https://user:k3y-of-mine@host/v1?a=b"
    save_settings({"endpoint.url": load_settings().endpoint.url})
    assert load_settings().endpoint.url == "https://user:k3y-of-mine@host/v1?a=b"
