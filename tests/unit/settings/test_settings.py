"""Settings: precedence, and errors that name the key or the file."""

from __future__ import annotations

from pathlib import Path

import pytest

from atomr_local.errors import SettingsError
from atomr_local.settings.schema import load_settings, origins


def write(home: Path, text: str) -> None:
    (home / "config.toml").write_text(text, encoding="utf-8")


def test_defaults_are_offline_and_local() -> None:
    settings = load_settings()
    assert settings.web.enabled is False
    assert settings.endpoint.url == ""
    assert settings.sources == ("text", "graph")
    assert settings.model == "starter"


def test_file_is_under_environment_is_under_overrides(own_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(own_home, 'model = "file"\ntop_k = 4\nstrategy = "rag"\n[limits]\nnodes = 10\ndepth = 3\n')
    assert load_settings().model == "file"
    monkeypatch.setenv("ATOMR_MODEL", "environment")
    monkeypatch.setenv("ATOMR_TOP_K", "5")
    monkeypatch.setenv("ATOMR_LIMITS__NODES", "20")
    settings = load_settings()
    assert (settings.model, settings.top_k, settings.strategy) == ("environment", 5, "rag")
    assert (settings.limits.nodes, settings.limits.depth) == (20, 3)  # one key overridden, its neighbour kept
    settings = load_settings(model="line", limits={"nodes": 30}, strategy=None)
    assert (settings.model, settings.top_k, settings.strategy) == ("line", 5, "rag")
    assert (settings.limits.nodes, settings.limits.depth) == (30, 3)


def test_an_empty_environment_variable_is_no_setting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ATOMR_MODEL", "")
    assert load_settings().model == "starter"


def test_a_wrong_override_and_a_wrong_environment_variable_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(SettingsError, match="colour"):
        load_settings(colour="red")
    monkeypatch.setenv("ATOMR_TOP_K", "few")
    with pytest.raises(SettingsError, match="top_k"):
        load_settings()


@pytest.mark.parametrize("name", ["ATOMR_SOURCES", "ATOMR_LIMITS", "ATOMR_WEB"])
def test_an_environment_variable_that_is_not_json_is_a_settings_error(
    monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv(name, "text,graph")
    with pytest.raises(SettingsError, match=name.removeprefix("ATOMR_").lower()):
        load_settings()


@pytest.mark.parametrize("content", [b"model = ", b"\xff\xfe", b"[[[", b"model = 1\nmodel = 2\n"])
def test_a_file_that_is_not_toml_is_named(own_home: Path, content: bytes) -> None:
    (own_home / "config.toml").write_bytes(content)
    with pytest.raises(SettingsError, match=r"config\.toml"):
        load_settings()


def test_a_directory_in_place_of_the_file_is_an_error_and_not_a_crash(own_home: Path) -> None:
    (own_home / "config.toml").mkdir()
    with pytest.raises(SettingsError, match="cannot be read"):
        load_settings()


def test_the_api_key_is_not_in_the_settings_representation() -> None:
    assert "hush" not in repr(load_settings(endpoint={"api_key": "hush"}))


def test_keys_of_the_terminal_ui_are_ids_with_keys(own_home: Path) -> None:
    write(own_home, '[ui]\ntheme = "atomr-light"\n[ui.keys]\n"history.delete" = "ctrl+d,f8"\n')
    settings = load_settings()
    assert settings.ui.keys == {"history.delete": "ctrl+d,f8"}
    assert (settings.ui.theme, settings.ui.tree_share, settings.ui.first_run_done) == ("atomr-light", 50, False)


@pytest.mark.parametrize("entry", ['"a.b" = ""', '"a.b" = "ctrl d"', '"a.b" = "f1,"', '" " = "f1"'])
def test_a_key_that_is_none_is_refused(own_home: Path, entry: str) -> None:
    write(own_home, f"[ui.keys]\n{entry}\n")
    with pytest.raises(SettingsError, match=r"ui\.keys"):
        load_settings()


def test_origins_tell_who_set_what(own_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert origins() == {}
    write(own_home, 'model = "x"\ntop_k = 4\n[limits]\nnodes = 10\n[ui.keys]\n"a.b" = "f5"\n')
    monkeypatch.setenv("ATOMR_TOP_K", "5")
    monkeypatch.setenv("ATOMR_LIMITS__DEPTH", "4")
    assert origins() == {
        "model": "settings file",
        "top_k": "environment",
        "limits.nodes": "settings file",
        "limits.depth": "environment",
        "ui.keys": "settings file",
    }


def test_origins_of_a_variable_that_is_no_json_are_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ATOMR_UI__KEYS", "f5")
    with pytest.raises(SettingsError, match="JSON"):
        origins()
