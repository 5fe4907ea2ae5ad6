"""`atomr config set`, `unset` and `edit`: what they write, what they refuse, and that nothing is lost."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from atomr_local.cli.commands.config import config
from atomr_local.errors import InputError, SettingsError
from atomr_local.settings.schema import load_settings
from atomr_local.system import paths


def run(*arguments: str, typed: str | None = None) -> Result:
    return CliRunner().invoke(config, list(arguments), input=typed)


def written() -> str:
    return paths.config_file().read_text(encoding="utf-8")


def editor(monkeypatch: pytest.MonkeyPatch, place: Path, *programs: str) -> None:
    """EDITOR puts the first of these Python expressions of `text` in its place, the next time the next."""
    turns = place / "turns"
    script = place / "editor.py"
    script.write_text(
        "import pathlib, sys\n"
        f"programs = [{', '.join(f'lambda text: {program}' for program in programs)}]\n"
        f"turns = pathlib.Path({str(turns)!r})\n"
        "turn = len(turns.read_text()) if turns.exists() else 0\n"
        "turns.write_text('x' * (turn + 1))\n"
        "file = pathlib.Path(sys.argv[1])\n"
        "text = file.read_text()\n"
        "file.write_text(programs[turn](text))\n",
        encoding="utf-8",
    )
    monkeypatch.delenv("VISUAL", raising=False)
    monkeypatch.setenv("EDITOR", f"{sys.executable} {script}")


@pytest.mark.parametrize(
    ("key", "value", "line"),
    [
        ("top_k", "5", "top_k = 5"),
        ("sources", "text,graph", 'sources = ["text", "graph"]'),
        ("sources", '["graph"]', 'sources = ["graph"]'),
        ("web.enabled", "yes", "enabled = true"),
        ("model", "5", 'model = "5"'),
        ("text_index", "wiki,notes", 'text_index = "wiki,notes"'),
        ("strategies.rag.top_k", "7", "top_k = 7"),
    ],
)
def test_set_writes_the_value_that_is_meant(key: str, value: str, line: str) -> None:
    done = run("set", key, value)
    assert done.exit_code == 0, done.exception
    assert line in written()
    load_settings()


@pytest.mark.parametrize(
    ("key", "value", "told"),
    [
        ("top_k", "many", "top_k"),
        ("nothing.here", "1", "no setting"),
        ("web", "true", "no setting"),
        ("top_k", "0", "top_k"),
    ],
)
def test_set_refuses_what_cannot_be_used_and_changes_nothing(key: str, value: str, told: str) -> None:
    run("set", "top_k", "4")
    before = written()
    done = run("set", key, value)
    assert isinstance(done.exception, SettingsError)
    assert told in str(done.exception)
    assert written() == before


def test_unset_brings_the_default_back_and_keeps_comments() -> None:
    paths.config_file().parent.mkdir(parents=True, exist_ok=True)
    paths.config_file().write_text('# mine\ntop_k = 9\nstrategy = "rag"\n', encoding="utf-8")
    assert run("unset", "top_k").exit_code == 0
    assert written() == '# mine\nstrategy = "rag"\n'
    assert isinstance(run("unset", "nothing").exception, SettingsError)


def test_what_the_environment_sets_is_said_to_hold(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ATOMR_TOP_K", "9")
    assert "The environment sets top_k as well" in run("set", "top_k", "5").stderr


def test_edit_saves_what_the_editor_wrote(own_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run("set", "top_k", "4")
    editor(monkeypatch, own_home, "text.replace('4', '6') + '# note'")
    assert run("edit").exit_code == 0
    assert written() == "top_k = 6\n# note"


def test_edit_gives_a_wrong_text_back_to_the_editor(own_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run("set", "top_k", "4")
    editor(monkeypatch, own_home, "text.replace('4', 'many')", "text.replace('many', '7')")
    done = run("edit", typed="y\n")
    assert done.exit_code == 0, done.exception
    assert "not valid TOML" in done.stderr
    assert written() == "top_k = 7\n"


def test_edit_given_up_leaves_the_file(own_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run("set", "top_k", "4")
    editor(monkeypatch, own_home, "'top_k = 0'")
    assert isinstance(run("edit", typed="n\n").exception, SettingsError)
    assert written() == "top_k = 4\n"


def test_edit_without_a_change_writes_nothing(own_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    editor(monkeypatch, own_home, "text")
    assert "Nothing was changed." in run("edit").stderr
    assert not paths.config_file().exists()


def test_edit_without_an_editor_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("VISUAL", raising=False)
    monkeypatch.setenv("EDITOR", "/nowhere/editor")
    done = run("edit")
    assert isinstance(done.exception, InputError)
    assert "Set EDITOR" in str(done.exception.hint)
