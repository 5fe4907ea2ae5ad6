"""Settings by the names of earlier versions: read, noted, and out of the way of what is saved."""

from __future__ import annotations

from pathlib import Path

import pytest
from atomr_lab.evaluation.runs import writing

from atomr_local.cli.main import main
from atomr_local.errors import InputError, SettingsError
from atomr_local.settings.file import changed_settings, save_settings
from atomr_local.settings.schema import load_settings, notes, origins, renamed


def test_an_old_group_is_read_from_file_environment_and_call(own_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (own_home / "config.toml").write_text("[means]\nbeam = false\nguess = false\n")
    monkeypatch.setenv("ATOMR_MEANS__GUESS", "true")
    monkeypatch.setenv("ATOMR_MEANS__VERIFY", "false")
    features = load_settings(means={"rival": False}).features
    assert (features.beam, features.guess, features.verify, features.rival) == (False, True, False, False)
    assert origins() == {
        "features.beam": "settings file",
        "features.guess": "environment",
        "features.verify": "environment",
    }
    monkeypatch.setenv("ATOMR_MEANS", '{"decline": false}')
    assert not load_settings().features.decline
    assert not changed_settings(load_settings(), {"means": {"symbolic": False}}).features.symbolic


def test_todays_name_counts_where_both_are_given(own_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (own_home / "config.toml").write_text("means.beam = false\nmeans.rival = false\nfeatures.beam = true\n")
    monkeypatch.setenv("ATOMR_MEANS__GUESS", "false")
    monkeypatch.setenv("ATOMR_FEATURES__GUESS", "true")
    features = load_settings().features
    assert (features.beam, features.rival, features.guess) == (True, False, True)
    assert renamed({"means": 3, "top_k": 4}) == {"features": 3, "top_k": 4}


def test_a_wrong_value_under_an_old_name_is_told_by_the_new_one(own_home: Path) -> None:
    for text in ("means.beem = 1", "means.beam = 7", "means = 3"):
        (own_home / "config.toml").write_text(text)
        with pytest.raises(SettingsError, match="usable: features"):
            load_settings()


def test_what_is_saved_goes_before_an_old_name(own_home: Path) -> None:
    file = own_home / "config.toml"
    file.write_text("[means]  # mine\nbeam = false\nrival = false\n")
    save_settings({"features.beam": None})
    assert load_settings().features.beam
    assert file.read_text() == "[means]  # mine\nrival = false\n"
    save_settings({"means.rival": True})
    assert load_settings().features.rival
    assert "means" not in file.read_text()


def test_the_user_is_told_the_new_names(
    own_home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert notes(["ATOMR_FEATURES__BEAM", "ATOMR_MEANSX", "MEANS__BEAM"], ["features"]) == []
    (own_home / "config.toml").write_text("[means]\nbeam = false\n")
    monkeypatch.setenv("ATOMR_MEANS__RIVAL", "false")
    with pytest.raises(SystemExit) as stop:
        main(["config", "path"])
    assert not stop.value.code
    assert capsys.readouterr().err.splitlines() == [
        "The settings group [means] is now [features]; the old name is still read.",
        "The environment variable ATOMR_MEANS__RIVAL is now ATOMR_FEATURES__RIVAL; the old name is still read.",
    ]


def test_a_run_that_was_begun_under_an_old_name_resumes(tmp_path: Path) -> None:
    with writing(tmp_path / "run", {"settings": {"means": {"beam": False}}}):
        pass
    with writing(tmp_path / "run", {"settings": {"features": {"beam": False}}}) as writer:
        assert writer.done == frozenset()
    with (
        pytest.raises(InputError, match=r"features\.beam was false"),
        writing(tmp_path / "run", {"settings": {"features": {"beam": True}}}),
    ):
        pass
