"""Copies of the settings that killed writes left: removed at the next start, and nothing else is."""

from __future__ import annotations

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
from atomr_local.settings.leftovers import clean, copy_beside
from atomr_local.settings.schema import load_settings

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


def aged(path: Path, text: str = SECRET, mode: int = 0o600) -> Path:
    path.write_text(text)
    path.chmod(mode)
    os.utime(path, (1_000_000_000, 1_000_000_000))
    return path


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


def test_a_copy_at_work_stays(own_home: Path) -> None:
    file = own_home / "config.toml"
    with copy_beside(file) as (copy, stream):
        stream.write(b"top_k = 4\n")
        stream.flush()
        assert clean(file, lambda _: True) == []
        assert copy.exists()
    assert list(own_home.iterdir()) == []


def test_what_earlier_versions_left_is_removed_and_what_others_wrote_stays(own_home: Path) -> None:
    aged(own_home / "tmpabc_0123")
    kept = [
        aged(own_home / "tmpabcdefgh", "a note of mine"),
        aged(own_home / "tmpabcdefgi", "colour = 'red'\n"),
        aged(own_home / "tmpabcdefgj", SECRET, 0o644),
        aged(own_home / "tmpabcdefgk", ""),
        aged(own_home / "tmpabcdefghij"),
        aged(own_home / ".other.toml.0123456789abcdef.part"),
        aged(own_home / "config.toml.bak"),
    ]
    young = own_home / "tmpabcdefgl"
    young.write_text(SECRET)
    young.chmod(0o600)
    (own_home / ".config.toml.0123456789abcdef.part").symlink_to(kept[0])
    os.mkfifo(own_home / ".config.toml.0123456789abcdee.part")
    before = set(own_home.iterdir())
    load_settings()
    assert before - set(own_home.iterdir()) == {own_home / "tmpabc_0123"}
    assert all(path.exists() for path in kept)


def test_copies_beside_the_file_that_a_link_leads_to_are_found(own_home: Path, tmp_path: Path) -> None:
    real = tmp_path / "dotfiles"
    real.mkdir()
    (real / "atomr.toml").write_text("top_k = 4\n")
    (own_home / "config.toml").unlink(missing_ok=True)
    (own_home / "config.toml").symlink_to(real / "atomr.toml")
    (real / ".atomr.toml.0123456789abcdef.part").write_text(SECRET)
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
