from __future__ import annotations

from pathlib import Path

import pytest

from atomr_local.cli.main import main
from atomr_local.errors import SettingsError
from atomr_local.settings.schema import Settings, load_settings, unknown_variables


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("nosuch = 1", "nosuch: there is no such setting"),
        ('modle = "x"', "modle: there is no such setting (did you mean model?)"),
        ("threads = 2", "threads: there is no such setting (did you mean llm.threads?)"),
        ("llm.thread = 2", "llm.thread: there is no such setting (did you mean llm.threads"),
        ('sources = "text"', """sources: 'text' is not usable, expected a list, such as ["text"]"""),
        ("sources = []\ntop_k = 0", "top_k: 0 is not usable, expected at least 1"),
        ('top_k = "many"', "top_k: 'many' is not usable, expected a whole number"),
        ('web.enabled = "perhaps"', "web.enabled: 'perhaps' is not usable, expected true or false"),
        ('llm.weights = "Q9"', "llm.weights: 'Q9' is not usable, expected 'auto', 'F16', 'Q8_0', 'Q4_0' or 'file'"),
        ('web.region = "x"', "web.region: 'x' is not usable, expected a text of the form ^[a-z]{2}-[a-z]{2}$"),
        ("web = 3", "web: 3 is not usable, expected a table of settings"),
        ("endpoint.api_key = 7", "endpoint.api_key: expected a text"),
        ("sources = ['encyclopedia']", "sources"),
        ("[limits]\nnods = 3", "limits.nods"),
        ("[limits]\nreferences = -1", "limits.references"),
        ("filter_overlap = 2.0", "filter_overlap"),
        ('ui.keys = {ask = "a b"}', "not a key"),
    ],
)
def test_what_is_wrong_is_told_in_plain_words(own_home: Path, line: str, told: str) -> None:
    (own_home / "config.toml").write_text(line)
    with pytest.raises(SettingsError) as caught:
        load_settings()
    assert told in caught.value.message and str(own_home / "config.toml") in caught.value.hint
    assert "should be" not in caught.value.message and "Value error" not in caught.value.message


def test_variables_that_are_no_setting_are_told_and_passed_over(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    good = ["ATOMR_HOME", "ATOMR_CONTACT", "ATOMR_KILLS", "ATOMR_TOP_K", "ATOMR_LLM__THREADS", "ATOMR_LIMITS", "PATH"]
    assert unknown_variables(Settings, good) == []
    monkeypatch.setenv("ATOMR_MODLE", "x")
    with pytest.raises(SystemExit) as stop:
        main(["config", "path"])
    assert not stop.value.code
    told = "The environment variable ATOMR_MODLE is not a setting (did you mean ATOMR_MODEL?); it is ignored.\n"
    assert capsys.readouterr().err == told


def test_config_show_tells_where_values_come_from(
    own_home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    import json

    (own_home / "config.toml").write_text("llm.threads = 2\ntop_k = 4")
    monkeypatch.setenv("ATOMR_TOP_K", "7")
    with pytest.raises(SystemExit):
        main(["config", "show"])
    out, err = capsys.readouterr()
    assert json.loads(out)["top_k"] == 7
    place = (own_home / "config.toml").resolve()
    assert err.splitlines() == [f"llm.threads comes from {place}.", "top_k comes from the environment."]
    with pytest.raises(SystemExit):
        main(["config", "show", "--origins"])
    shown = json.loads(capsys.readouterr().out)
    assert shown["llm.threads"] == {"value": 2, "origin": "settings file"}
    assert shown["top_k"] == {"value": 7, "origin": "environment"}
    assert shown["model"]["origin"] == "default"
