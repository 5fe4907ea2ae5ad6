"""The settings screen, driven by keys and mouse, with the real settings, file and environment."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest
from support.tui.hostile import assert_harmless, hostile, one_line
from support.tui.screens import ALL_SIZES
from support.tui.settings_form import OFFERED, Form, enter, settle, shown
from textual.widgets import Checkbox, Input, OptionList, TextArea

from atomr_local.errors import InputError, SettingsError
from atomr_local.settings.file import save_settings
from atomr_local.settings.schema import Settings, load_settings
from atomr_local.tui.background import ErrorScreen
from atomr_local.tui.screens.dialogs import UnsavedChanges
from atomr_local.tui.screens.settings.editor import Picker
from atomr_local.tui.screens.settings.form import Choices, SettingChoice
from atomr_local.tui.screens.settings.screen import SettingsScreen


def on_file(home: Path) -> dict[str, Any]:
    path = home / "config.toml"
    return tomllib.loads(path.read_text(encoding="utf-8")) if path.exists() else {}


@pytest.mark.slow
@pytest.mark.parametrize("size", [ALL_SIZES[0], ALL_SIZES[-1]])
async def test_every_setting_has_a_row_with_its_description(size: tuple[int, int]) -> None:
    async with shown(size=size) as (app, pilot):
        groups = {name for name, info in Settings.model_fields.items() if hasattr(info.annotation, "model_fields")}
        keys: set[str] = set()
        for group in ["general", *Settings.model_fields]:
            if group != "general" and group not in groups:
                continue
            await app.form.go(group)
            await pilot.pause()
            for row in app.there().values():
                assert row.region.right <= size[0]
                assert row.entry.field.description
                assert " ".join(row.entry.field.description.split()[:2]) in row.render().plain
            keys |= app.there().keys()
        assert set(Settings.model_fields) - groups == {key for key in keys if "." not in key}
        assert {key.partition(".")[0] for key in keys if "." in key} == groups
        assert keys == app.form.entries.keys()
        assert "^s Save" in app.shown()


@pytest.mark.slow
async def test_only_the_section_shown_is_mounted_and_what_was_entered_stays_in_the_others(own_home: Path) -> None:
    async with shown(size=(80, 24)) as (app, pilot):
        assert app.there().keys() == {key for key in app.form.entries if "." not in key}
        await enter(pilot, "top_k", "many")
        await enter(pilot, "limits.nodes", "50")
        assert app.there().keys() == {key for key in app.form.entries if key.startswith("limits.")}
        assert "2 not saved, 1 not usable" in app.shown()
        assert "general *" in app.shown()
        row = await app.row("top_k")
        await pilot.pause()
        assert (row.query_one(Input).value, row.entry.problem) == ("many", "expected a whole number")
        assert "✗ expected a whole number" in app.shown()
        await app.form.go("limits")
        await pilot.press("ctrl+s")  # shows what is wrong, wherever it is
        await pilot.pause()
        assert app.form.focused is app.there()["top_k"].query_one(Input)
        await enter(pilot, "top_k", "3")
        assert "general *" not in app.shown()
        await pilot.press("ctrl+s")
        await pilot.pause()
        assert on_file(own_home) == {"limits": {"nodes": 50}}


@pytest.mark.slow
async def test_only_what_was_changed_is_saved_and_told(own_home: Path) -> None:
    (own_home / "config.toml").write_text("# mine\nmodel = 'starter'\n", encoding="utf-8")
    async with shown() as (app, pilot):
        await enter(pilot, "top_k", "7")
        (await app.row("web.enabled")).query_one(Checkbox).value = True
        await enter(pilot, "limits.nodes", "50")
        await enter(pilot, "limits.nodes", "40")  # as it was
        await pilot.pause()
        assert "2 not saved" in app.shown()
        await pilot.press("ctrl+s")
        await pilot.pause()
        assert app.closed == [{"top_k": 7, "web.enabled": True}]
        assert on_file(own_home) == {"model": "starter", "top_k": 7, "web": {"enabled": True}}
        assert "# mine" in (own_home / "config.toml").read_text(encoding="utf-8")
        assert load_settings().web.enabled


@pytest.mark.slow
async def test_a_wrong_value_is_told_under_its_field_and_not_saved(own_home: Path) -> None:
    async with shown() as (app, pilot):
        row = await app.row("top_k")
        for key, text, told in [
            ("top_k", "0", "greater than or equal to 1"),
            ("top_k", "51", "less than or equal to 50"),
            ("top_k", "many", "expected a whole number"),
            ("top_k", "", "expected a number"),
            ("filter_overlap", "nan?", "expected a number"),
            ("web.region", "x; rm", "match pattern"),
        ]:
            if row.entry.field.key != key:
                row = await app.row(key)
            row.query_one(Input).value = text
            await pilot.pause()
            assert told in row.entry.problem
            assert "✗" in app.shown()
            row.query_one(Input).value = row.entry.field.show(row.entry.field.default)
            await pilot.pause()
            assert row.entry.problem == ""
            assert "✗" not in app.shown()
        row.query_one(Input).value = "x; rm"
        await pilot.press("ctrl+s")
        await pilot.pause()
        assert app.closed == []
        assert on_file(own_home) == {}
        assert app.form.focused is app.there()["web.region"].query_one(Input)


@pytest.mark.slow
async def test_origins_are_shown_and_the_environment_said_to_win(
    own_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (own_home / "config.toml").write_text("filter_overlap = 0.6\ntop_k = 4\n", encoding="utf-8")
    monkeypatch.setenv("ATOMR_TOP_K", "5")
    async with shown(strategy="rag") as (app, pilot):
        about = {
            key: (await app.row(key)).render().plain for key in ("top_k", "filter_overlap", "strategy", "llm.seed")
        }
        assert "set by ATOMR_TOP_K in the environment, which wins over what is saved here" in about["top_k"]
        assert "1 to 50" in about["top_k"]
        assert "from: settings file" in about["filter_overlap"]
        assert "from: command line" in about["strategy"]
        assert "from" not in about["llm.seed"].partition("(")[2]
        await enter(pilot, "top_k", "9")
        await pilot.press("ctrl+s")
        await pilot.pause()
        assert on_file(own_home)["top_k"] == 9
        assert app.closed == [{"top_k": None}]  # the environment's value stays in force
        assert load_settings().top_k == 5


@pytest.mark.slow
async def test_back_to_the_default_takes_the_setting_out_of_the_file(own_home: Path) -> None:
    (own_home / "config.toml").write_text("top_k = 4\nsources = ['text']\nstrategy = 'atomr'\n", encoding="utf-8")
    async with shown() as (app, pilot):
        row = await app.row("top_k")
        await pilot.press("ctrl+d")
        assert row.query_one(Input).value == "3"
        row = await app.row("sources")
        await pilot.pause()
        await pilot.click(row, offset=(row.region.width - 4, 0))
        await pilot.pause()
        assert all(switch.value for switch in row.query(Checkbox))
        await pilot.press("ctrl+s")
        await pilot.pause()
        assert app.closed == [{"top_k": None, "sources": None}]
        assert on_file(own_home) == {"strategy": "atomr"}


@pytest.mark.slow
async def test_what_is_at_hand_is_offered_and_something_else_can_be_typed(own_home: Path) -> None:
    saved: dict[str, Any] = {}
    async with shown(saved.update) as (app, pilot):
        model = await app.row("model")
        assert model.query_one(Picker).value == "starter"
        assert not model.query(Input)
        await pilot.press("enter", "end", "enter")  # the last: another…
        await pilot.pause()
        assert app.form.focused is model.query_one(Input)
        await pilot.press(*"nowhere")
        assert "no model named 'nowhere'" in model.entry.problem
        model = await enter(pilot, "model", str(own_home / "absent.gguf"))
        assert "there is no file" in model.entry.problem
        (own_home / "there.gguf").write_bytes(b"GGUF")
        model = await enter(pilot, "model", str(own_home / "there.gguf"))
        assert model.entry.problem == ""
        strategy = await app.row("strategy")
        await pilot.pause()
        await pilot.click(strategy, offset=(30, 0))
        choices = app.screen.query_one(OptionList)
        choices.highlighted = next(n for n in range(choices.option_count) if "rag" in str(choices.options[n].prompt))
        await pilot.press("enter")
        await pilot.pause()
        await pilot.press("ctrl+s")
        await pilot.pause()
        assert saved == {"model": str(own_home / "there.gguf"), "strategy": "rag"}


@pytest.mark.slow
async def test_keys_are_a_table_and_checked_line_by_line(own_home: Path) -> None:
    async with shown() as (app, pilot):
        row = await app.row("ui.keys")
        lines = row.query_one(TextArea)
        for text, told in [
            ("history.delete", "line 1: write it as id = key"),
            ("app.help = f2\napp.help = f3", "line 2: app.help stands in an earlier line"),
            ("history.delte = f8", "did you mean history.delete?"),
            ("app.help = contrl+h", "there is no key 'contrl+h'"),
            ("app.help =", "line 1: the key is missing"),
        ]:
            lines.load_text(text)
            await pilot.pause()
            assert told in row.entry.problem
        lines.load_text("history.delete = ctrl+d,f8\n\napp.help=question_mark")
        await pilot.pause()
        assert row.entry.problem == ""
        await pilot.press("ctrl+s")
        await pilot.pause()
        assert load_settings().ui.keys == {"history.delete": "ctrl+d,f8", "app.help": "question_mark"}


@pytest.mark.slow
async def test_options_of_strategies_are_lines_checked_by_the_strategy(own_home: Path) -> None:
    file = own_home / "config.toml"
    file.write_text("# mine\n[strategies.gone]\nx = 1\n", encoding="utf-8")
    async with shown() as (app, pilot):
        row = await app.row("strategies")
        lines = row.query_one(TextArea)
        assert lines.text == "gone.x = 1"
        for text, told in [
            ("rag.top_k", "line 1: write it as NAME.OPTION = VALUE"),
            ("top_k = 3", "top_k: write it as NAME.OPTION = VALUE"),
            ("rag.top_k =", "line 1: the VALUE is missing"),
            ("rag.topk = 3", "there is no option 'topk'. Options of rag: top_k (whole number, 1 to 50, or none)"),
            ("rag.top_k = 99", "expected at most 50"),
            ("rag.top_k = many", "expected a whole number"),
        ]:
            lines.load_text(text)
            await pilot.pause()
            assert told in row.entry.problem
        lines.load_text("gone.x = 1\nrag.top_k = 7")
        await pilot.pause()
        assert row.entry.problem == ""
        await pilot.press("ctrl+s")
        await pilot.pause()
        assert load_settings().strategies == {"gone": {"x": 1}, "rag": {"top_k": 7}}
        assert file.read_text(encoding="utf-8").startswith("# mine\n")


@pytest.mark.slow
async def test_a_key_for_what_there_is_not_is_told_and_hinders_nothing(own_home: Path) -> None:
    file = own_home / "config.toml"
    file.write_text('top_k = 4\n[ui.keys]\n"web.togle" = "f12"\n', encoding="utf-8")
    async with shown() as (app, pilot):
        await enter(pilot, "top_k", "7")
        row = await app.row("ui.keys")
        await pilot.pause()
        assert "⚠ web.togle: nothing has this id; did you mean web.toggle?" in app.shown()
        assert not row.entry.changed
        row.query_one(TextArea).load_text("web.toggel = f12")
        await pilot.pause()
        assert "✗ web.toggel: nothing has this id" in app.shown()
        row.query_one(TextArea).load_text("web.togle = f12")
        await pilot.pause()
        await pilot.press("ctrl+s")
        await pilot.pause()
        assert load_settings().top_k == 7
        assert load_settings().ui.keys == {"web.togle": "f12"}


@pytest.mark.slow
async def test_a_secret_is_never_shown(own_home: Path) -> None:
    (own_home / "config.toml").write_text("[endpoint]\napi_key = 'hunter2'\n", encoding="utf-8")
    async with shown() as (app, pilot):
        await pilot.press(*"api_key", "enter")
        await pilot.pause()
        row = app.there()["endpoint.api_key"]
        assert "set; what is typed here replaces it" in app.shown()
        await pilot.press(*"swordfish")
        assert "hunter2" not in app.shown()
        assert "swordfish" not in app.shown()
        assert row.entry.changed
        row.query_one(Input).value = ""
        await pilot.pause()
        assert not row.entry.changed
        row.query_one(Input).value = "swordfish"
        await pilot.pause()
        await pilot.press("ctrl+s")
        await pilot.pause()
        assert load_settings().endpoint.api_key == "swordfish"


@pytest.mark.slow
async def test_the_search_leaves_what_has_the_words() -> None:
    async with shown(size=(80, 24)) as (app, pilot):
        await pilot.press(*"threads llm")
        await pilot.pause()
        assert list(app.there()) == ["llm.threads", "llm.batch_threads"]
        await pilot.press("enter")
        assert app.form.focused is app.there()["llm.threads"].query_one(Input)
        await pilot.press("ctrl+f")
        app.form.query_one("#settings-search", Input).value = "no such words"
        await pilot.pause()
        assert "No setting has these words." in app.shown()
        app.form.query_one("#settings-search", Input).value = "e"
        await pilot.pause()
        found = sum(entry.field.found_by("e") for entry in app.form.entries.values())
        assert len(app.there()) == 12
        app.form.query_one("#settings-form").scroll_end(animate=False)
        await pilot.pause()
        assert f"{found - 12} more have these words." in app.shown()
        app.form.query_one("#settings-search", Input).value = ""
        await pilot.pause()
        assert app.there().keys() == {key for key in app.form.entries if "." not in key}


@pytest.mark.parametrize(("key", "closed"), [("d", {}), ("s", {"top_k": 7})])
async def test_escape_asks_when_something_is_not_saved(key: str, closed: dict[str, int], own_home: Path) -> None:
    async with shown(size=(80, 24)) as (app, pilot):
        await enter(pilot, "top_k", "7")
        await pilot.press("escape")
        assert isinstance(app.screen, UnsavedChanges)
        assert "One change is not saved." in app.shown()
        await pilot.press("escape")
        assert app.screen is app.form
        await pilot.press("escape", key)
        await pilot.pause()
        assert app.closed == [closed]
        assert on_file(own_home) == closed


@pytest.mark.slow
async def test_a_file_that_cannot_be_written_is_told_and_nothing_is_lost() -> None:
    def refuse(changes: dict[str, Any]) -> None:
        raise SettingsError("the file cannot be written")

    async with shown(refuse, size=(80, 24)) as (app, pilot):
        await enter(pilot, "top_k", "7")
        await pilot.press("ctrl+s")
        await pilot.pause()
        assert isinstance(app.screen, ErrorScreen)
        assert "the file cannot be written" in app.shown()
        await pilot.press("escape")
        assert app.closed == []
        assert app.form.entries["top_k"].changed


@pytest.mark.slow
async def test_what_is_at_hand_cannot_be_told() -> None:
    def fail() -> Choices:
        raise InputError("the models cannot be listed")

    app = Form()
    app.form = SettingsScreen(load_settings(), save_settings, find=fail)
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        assert isinstance(app.screen, ErrorScreen)
        await pilot.press("escape")
        await pilot.pause()
        assert app.there()["model"].query_one(Input).value == "starter"


@pytest.mark.slow
async def test_hostile_values_and_choices_are_shown_harmless(own_home: Path) -> None:
    def toml(tag: str) -> str:
        return json.dumps(one_line(tag)).replace("\\u007f", "")

    (own_home / "config.toml").write_text(
        f"model = {toml('zmodelz')}\n[endpoint]\nurl = {toml('zurlz')}\n"
        f"[ui]\ntheme = {toml('zthemez')}\n[ui.keys]\n{toml('zidz')} = 'f5'\n",
        encoding="utf-8",
    )
    app = Form()
    app.form = SettingsScreen(
        load_settings(),
        save_settings,
        find=lambda: {**OFFERED, "text_index": (SettingChoice(hostile("zofferedz"), hostile("zaboutz")),)},
    )
    async with app.run_test(size=(200, 50)) as pilot:
        await settle(pilot)
        assert_harmless(app, "zmodelz")
        for group, part in (("endpoint", "@click=app.quit]y[]"), ("ui", "zidz[b]")):
            await app.form.go(group)
            await pilot.pause()
            assert_harmless(app)
            assert part in app.shown(), "as text"
        (await app.row("text_index")).query_one(Picker).focus()
        await pilot.press("enter")
        await pilot.pause()
        assert_harmless(app, "zofferedz")
        await pilot.press("escape", "escape")
        await pilot.pause()
        assert app.closed == [{}]  # what was only shown is not a change


@pytest.mark.slow
async def test_the_sections_are_gone_through_by_key() -> None:
    async with shown() as (app, pilot):
        groups = list(dict.fromkeys(entry.field.group for entry in app.form.entries.values()))
        await pilot.press("ctrl+pagedown")
        assert app.form._row_in_focus().entry.field.group == groups[1]
        await pilot.press("ctrl+pageup", "ctrl+pageup")
        assert app.form._row_in_focus().entry.field.group == groups[-1]
        await pilot.click("#settings-sections", offset=(3, 1))
        await pilot.pause()
        assert app.form._row_in_focus().entry.field.group == groups[1]
