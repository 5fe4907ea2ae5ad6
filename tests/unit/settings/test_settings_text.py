"""Settings that are beyond all bounds: one clear error each, at once, before a parser sees them."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

import pytest

from atomr_local.cli.main import main
from atomr_local.errors import InputError, SettingsError
from atomr_local.reasoning.planning.examples import read_examples
from atomr_local.settings.file import save_settings
from atomr_local.settings.schema import check_bounds, load_settings, origins

BEYOND = {
    "a number of 5,000 digits": ("top_k = " + "9" * 5000, "number of 5000 characters"),
    "a date of 5,000 digits": ("top_k = 2020-01-01T00:00:00." + "9" * 5000, "characters"),
    "100,000 nested brackets": ("sources = " + "[" * 100_000, "more than 32 brackets"),
    "100,000 nested brackets, closed": ("sources = " + "[" * 100_000 + "]" * 100_000, "more than 32 brackets"),
    "nested over lines": ("sources = " + "[\n" * 1000, "line 33: more than 32 brackets"),
    "nested inline tables": ("limits = " + "{a=" * 50_000, "more than 32 brackets"),
    "a key of 50,000 dots": ("a" + ".a" * 50_000 + " = 1", "characters"),
    "a key of 50 dots": ("a" + ".a" * 50 + " = 1", "a key of more than 32 parts"),
    "a key of 50 quoted parts": ("a" + ' . "a b"' * 50 + " = 1", "a key of more than 32 parts"),
    "a table of 50 parts": ("[a" + ".a" * 50 + "]", "a key of more than 32 parts"),
    "a bracket after strings": ('model = "[[" # [[\n' + "x = " + "[" * 33, "line 2: more than 32 brackets"),
    "infinity": ("endpoint.timeout = inf", "expected a finite number"),
    "no number": ("web.timeout = nan", "expected a finite number"),
    "a large number": ("endpoint.timeout = 1e999", "expected a finite number"),
    "a long text": (f"model = '{'x' * 5000}'", "expected a text of at most 4096 characters"),
    "a date that is none": ("top_k = 2020-13-45", "not valid TOML"),
    "more than 1 MiB": ("# " + "x" * (1 << 20), "longer than 1 MiB"),
}


@pytest.mark.parametrize("name", BEYOND)
def test_a_file_beyond_all_bounds_is_one_error(own_home: Path, name: str) -> None:
    text, told = BEYOND[name]
    (own_home / "config.toml").write_text(text)
    with pytest.raises(SettingsError) as caught:
        load_settings()
    assert told in caught.value.message
    assert len(str(caught.value)) < 500 + len(str(own_home))
    with pytest.raises(SettingsError):
        save_settings({"top_k": 4})
    assert (own_home / "config.toml").read_text() == text


@pytest.mark.parametrize(
    "text",
    [
        '# [[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[\nmodel = "' + "[" * 100 + '"',
        "model = '''\n" + "[" * 100 + "\n'it''s'\n'''\ntop_k = 4",
        'model = """\n' + '[\\"""' * 50 + '\n"""',
        "model = '" + "a." * 1000 + "'",
        'model = "\\\\"  # "\n[limits]\nnodes = 10',
    ],
    ids=range(5),
)
def test_what_stands_in_quotes_and_comments_is_not_counted(own_home: Path, text: str) -> None:
    (own_home / "config.toml").write_text(text)
    load_settings()


LONG = {
    "quotes": '"' * 200_000,
    "apostrophes": "'" * 200_001,
    "backslashes": '"""' + "\\" * 200_001,
    "an open literal": "'''" + "' " * 200_000,
    "words": "a " * 200_000,
    "spaces": "a" + " " * 400_000 + "b",
    "dots and spaces": ". " * 16 + " " * 400_000,
}


@pytest.mark.parametrize("name", LONG)
def test_looking_takes_no_time_to_speak_of(name: str) -> None:
    with contextlib.suppress(SettingsError):
        check_bounds(LONG[name], "it")  # quadratic, it would take minutes


@pytest.mark.parametrize("kind", ["fifo", "/dev/zero", "/dev/null", "directory", "loop"])
def test_what_is_no_regular_file_is_one_error(own_home: Path, kind: str) -> None:
    for name in ("config.toml", "examples.jsonl"):
        file = own_home / name
        if kind == "fifo":
            os.mkfifo(file)
        elif kind == "directory":
            file.mkdir()
        else:
            file.symlink_to(name if kind == "loop" else kind)
    with pytest.raises(SettingsError, match=r"config\.toml cannot be read: "):
        load_settings()
    with pytest.raises(SettingsError, match=r"config\.toml cannot be "):
        save_settings({"top_k": 4})
    with pytest.raises(InputError, match=r"examples\.jsonl cannot be read: "):
        read_examples(own_home / "examples.jsonl")


@pytest.mark.parametrize(
    ("name", "value", "told"),
    [
        ("ATOMR_LIMITS", "[" * 60_000, "ATOMR_LIMITS, line 1: more than 32 brackets"),
        ("ATOMR_LIMITS", ' {"a":' * 10_000, "more than 32 brackets"),
        ("ATOMR_UI__KEYS", "[" * 60_000, "ATOMR_UI__KEYS, line 1: more than 32 brackets"),
        ("ATOMR_LIMITS", '{"nodes":' + "9" * 5000 + "}", "number of 500"),
        ("ATOMR_TOP_K", "9" * 5000, "top_k: "),
        ("ATOMR_MODEL", "x" * 70_000, "ATOMR_MODEL is longer than 65536"),
        ("ATOMR_LIMITS" + "__A" * 20_000, "1", "its name has too many parts"),
        ("ATOMR_ENDPOINT__TIMEOUT", "inf", "expected a finite number"),
    ],
    ids=range(8),
)
def test_environment_variables_beyond_all_bounds(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], name: str, value: str, told: str
) -> None:
    monkeypatch.setenv(name, value)
    with pytest.raises(SettingsError) as caught:
        load_settings()
    assert told in caught.value.message
    assert len(str(caught.value)) < 500
    if "A__A" not in name and "TOP_K" not in name and "TIMEOUT" not in name and "MODEL" not in name:
        with pytest.raises(SettingsError):
            origins()
    with pytest.raises(SystemExit) as stop:
        main(["config", "show"])
    assert stop.value.code == 1
    assert "Traceback" not in capsys.readouterr().err


@pytest.mark.parametrize(
    "command", [["config", "show"], ["config", "path"], ["history", "list"], ["ask", "Who wrote Emma?"]]
)
@pytest.mark.parametrize("home", ["loop", "~nobody-of-this-name/x"])
def test_a_home_that_leads_nowhere_is_one_error(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    home: str,
    command: list[str],
) -> None:
    (tmp_path / "loop").symlink_to("other")
    (tmp_path / "other").symlink_to("loop")
    monkeypatch.setenv("ATOMR_HOME", str(tmp_path / home) if home == "loop" else home)
    with pytest.raises(SystemExit) as stop:
        main(command)
    assert stop.value.code == 1
    assert "ATOMR_HOME" in capsys.readouterr().err
