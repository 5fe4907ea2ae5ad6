"""Saving settings: what is not changed stays as it stands, what could not be read again is never written."""

from __future__ import annotations

import stat
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from atomr_local.errors import SettingsError
from atomr_local.settings.file import changed_settings, save_settings
from atomr_local.settings.schema import load_settings
from atomr_local.system import paths

MINE = """# my settings
top_k = 5  # enough

# the model
[llm]
threads = 2 # of eight

[endpoint]
api_key = "s3cret"
"""


@pytest.fixture
def file() -> Path:
    path = paths.config_file()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(MINE, encoding="utf-8")
    return path


def test_one_value_changes_and_every_comment_stays(file: Path) -> None:
    assert save_settings({"llm.threads": 4}) == file
    assert file.read_text() == MINE.replace("threads = 2 #", "threads = 4 #")
    assert load_settings().llm.threads == 4


def test_new_values_of_every_kind_are_read_back(file: Path) -> None:
    changes = {"web.enabled": True, "model": 'a "b"\\c', "sources": ("graph",), "filter_overlap": 0.25, "llm.seed": 7}
    save_settings(changes)
    settings = load_settings()
    assert (settings.web.enabled, settings.model, settings.sources) == (True, 'a "b"\\c', ("graph",))
    assert (settings.filter_overlap, settings.llm.seed, settings.llm.threads) == (0.25, 7, 2)
    text = file.read_text()
    assert settings.endpoint.api_key == "s3cret"
    assert all(line in text for line in ("# my settings", "# enough", "# the model", "# of eight"))


def test_an_option_of_a_strategy_is_saved_and_taken_out_by_its_dotted_key(file: Path) -> None:
    save_settings({"strategies.self-ask.source": "web", "strategies.rag.top_k": 5})
    assert load_settings().strategies == {"self-ask": {"source": "web"}, "rag": {"top_k": 5}}
    save_settings({"strategies.rag.top_k": None})
    assert load_settings().strategies == {"self-ask": {"source": "web"}, "rag": {}}
    save_settings({"strategies": None})
    assert load_settings().strategies == {}
    assert tomllib.loads(file.read_text()) == tomllib.loads(MINE)


@pytest.mark.parametrize("key", ["strategies.rag", "strategies.rag.", "strategies..top_k"])
def test_what_is_no_option_of_a_strategy_is_not_written(file: Path, key: str) -> None:
    with pytest.raises(SettingsError, match="there is no setting"):
        save_settings({key: 5})
    assert file.read_text() == MINE


def test_none_takes_a_value_out_and_its_default_comes_back(file: Path) -> None:
    save_settings({"top_k": None, "llm.threads": None, "llm.seed": None, "web.enabled": None})
    assert (load_settings().top_k, load_settings().llm.threads) == (3, 0)
    assert "s3cret" in file.read_text()
    assert "top_k" not in tomllib.loads(file.read_text())


def test_the_file_and_its_directory_are_made_for_nobody_else_to_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ATOMR_HOME", str(tmp_path / "new" / "home"))
    path = save_settings({"top_k": 4})
    assert path.read_text() == "top_k = 4\n"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_groups_written_in_other_ways_are_changed_where_they_stand(file: Path) -> None:
    file.write_text("web.enabled = false\nlimits = { nodes = 10 } # few\r\n[llm]\nseed = 1\n", newline="")
    save_settings({"web.enabled": True, "limits.nodes": 20, "web.region": "de-de", "top_k": 9})
    settings = load_settings()
    assert (settings.web.enabled, settings.web.region, settings.limits.nodes) == (True, "de-de", 20)
    assert (settings.top_k, settings.llm.seed) == (9, 1)
    assert b"# few\r\n" in file.read_bytes()


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"nope": 1}, "no setting 'nope'"),
        ({"llm": {"threads": 1}}, "no setting 'llm'"),
        ({"llm.nope": 1}, "no setting 'llm.nope'"),
        ({"llm.threads.x": 1}, "no setting 'llm.threads.x'"),
        ({"top_k.x": 1}, "no setting 'top_k.x'"),
        ({"": 1}, "no setting ''"),
        ({"llm.threads": -1}, "llm.threads: "),
        ({"top_k": "many"}, "top_k: "),
        ({"sources": ["library"]}, "sources.0: "),
        ({"model": object()}, "model: "),
        ({"top_k": 4, "llm.threads": 9999}, "llm.threads: "),
    ],
)
def test_what_is_not_usable_is_refused_and_nothing_is_written(file: Path, changes: dict[str, Any], told: str) -> None:
    with pytest.raises(SettingsError) as refused:
        save_settings(changes)
    assert told in refused.value.message
    assert file.read_text() == MINE
    assert [path.name for path in file.parent.iterdir()] == [file.name]


def test_a_refused_secret_is_not_told(file: Path) -> None:
    with pytest.raises(SettingsError) as refused:
        save_settings({"endpoint.api_key": {"hush": "s3cret2"}})
    assert "s3cret2" not in f"{refused.value.message} {refused.value.hint}"


def test_the_environment_neither_helps_nor_hinders(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ATOMR_TOP_K", "0")  # unusable, and none of the file's business
    save_settings({"llm.threads": 4})
    monkeypatch.setenv("ATOMR_TOP_K", "7")
    with pytest.raises(SettingsError, match="top_k"):
        save_settings({"top_k": -1})
    assert load_settings().llm.threads == 4


def test_a_read_only_file_stays_and_the_message_names_it(file: Path) -> None:
    file.chmod(0o444)
    with pytest.raises(SettingsError, match=r"config\.toml cannot be written") as refused:
        save_settings({"top_k": 4})
    assert refused.value.hint == "Make the file and its directory writable."  # there is no session on a command line
    assert file.read_text() == MINE


def test_a_directory_that_cannot_be_made_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("ATOMR_HOME", str(tmp_path / "file" / "home"))
    with pytest.raises(SettingsError, match=r"config\.toml cannot be"):
        save_settings({"top_k": 4})


@pytest.mark.parametrize("content", [b"top_k = ", b"\xff\xfe", b"llm = 3\n"])
def test_a_file_that_is_no_settings_file_is_not_overwritten(file: Path, content: bytes) -> None:
    file.write_bytes(content)
    with pytest.raises(SettingsError):
        save_settings({"llm.threads": 4})
    assert file.read_bytes() == content


def test_a_link_stays_a_link_and_permissions_stay(file: Path, tmp_path: Path) -> None:
    real = tmp_path / "dotfiles.toml"
    real.write_text("top_k = 2\n")
    real.chmod(0o640)
    file.unlink()
    file.symlink_to(real)
    save_settings({"top_k": 6})
    assert file.is_symlink() and real.read_text() == "top_k = 6\n"
    assert stat.S_IMODE(real.stat().st_mode) == 0o640


def test_settings_in_force_change_by_name_and_none_brings_the_files_value_back(file: Path) -> None:
    settings = changed_settings(load_settings(top_k=9), {"llm": {"threads": 6}, "web": {"enabled": True}})
    assert (settings.top_k, settings.llm.threads, settings.web.enabled) == (9, 6, True)
    settings = changed_settings(settings, {"top_k": None, "llm": {"threads": None}})
    assert (settings.top_k, settings.llm.threads) == (5, 2)
    with pytest.raises(SettingsError, match=r"llm\.threads"):
        changed_settings(settings, {"llm": {"threads": -1}})
    with pytest.raises(SettingsError, match="nope"):
        changed_settings(settings, {"nope": 1})


@pytest.mark.slow
def test_settings_that_several_processes_save_at_once_are_all_kept(file: Path) -> None:
    script = (
        "import sys\nfrom atomr_local.settings.file import save_settings\n"
        "for i in range(8):\n    save_settings({sys.argv[1]: i + 2})\n"
    )
    keys = ("top_k", "llm.threads", "limits.nodes")
    running = [subprocess.Popen([sys.executable, "-c", script, key]) for key in keys]
    assert [process.wait() for process in running] == [0, 0, 0]
    settings = load_settings()
    assert (settings.top_k, settings.llm.threads, settings.limits.nodes) == (9, 9, 9)
