"""The log file: levels, what never enters it, and that a log which cannot be written disturbs nothing."""

from __future__ import annotations

import logging
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

import pytest

from atomr_local.cli.main import main
from atomr_local.errors import InputError
from atomr_local.reasoning.trace.events import Event, QuestionAsked, WarningRaised
from atomr_local.reasoning.trace.recorder import logged
from atomr_local.system import paths
from atomr_local.system.log_file import LogLevel, log_error, start_logging

LOG = logging.getLogger("atomr_local.test")
Capture = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def _no_log_afterwards(tmp_path: Path) -> Iterator[None]:
    yield
    start_logging("off", tmp_path / "unused")
    package = logging.getLogger("atomr_local")
    package.setLevel(logging.NOTSET)
    package.propagate = True


def write_all() -> None:
    for level in ("debug", "info", "warning", "error"):
        getattr(LOG, level)(f"at {level}")


@pytest.mark.parametrize(("level", "lines"), [("off", 0), ("error", 1), ("warning", 2), ("info", 3), ("debug", 4)])
def test_a_level_holds_what_is_as_grave_or_graver(level: LogLevel, lines: int, tmp_path: Path, capfd: Capture) -> None:
    file = tmp_path / "state" / "atomr.log"
    start_logging(level, file)
    write_all()
    assert len(file.read_text().splitlines() if file.exists() else []) == lines
    assert capfd.readouterr() == ("", "")


def test_the_file_is_its_owners_alone_and_old_files_are_few(tmp_path: Path) -> None:
    file = tmp_path / "state" / "atomr.log"
    start_logging("info", file)
    for _ in range(6):
        LOG.info("x" * (1 << 20))
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert sorted(path.name for path in file.parent.iterdir()) == ["atomr.log", *(f"atomr.log.{n}" for n in (1, 2, 3))]


def test_a_log_that_cannot_be_written_disturbs_nothing(tmp_path: Path, capfd: Capture) -> None:
    (tmp_path / "state").write_text("a file, where the directory should be")
    start_logging("debug", tmp_path / "state" / "atomr.log")
    write_all()
    assert capfd.readouterr() == ("", "")


def test_libraries_do_not_write_into_it(tmp_path: Path) -> None:
    file = tmp_path / "atomr.log"
    start_logging("debug", file)
    logging.getLogger("httpx").error("https://example.org/?key=secret")
    assert not file.exists()


def test_an_errors_text_is_logged_at_debug_alone(tmp_path: Path) -> None:
    file = tmp_path / "atomr.log"
    for level, held in (("error", False), ("info", False), ("debug", True)):
        file.unlink(missing_ok=True)
        start_logging(level, file)  # type: ignore[arg-type]
        try:
            raise InputError("the private text")
        except InputError as error:
            log_error(error)
        written = file.read_text()
        assert "InputError" in written
        assert ("the private text" in written) is held


def test_events_are_passed_on_and_logged_without_the_question(tmp_path: Path) -> None:
    file = tmp_path / "atomr.log"
    start_logging("info", file)
    passed: list[Event] = []
    sent = [
        QuestionAsked(question="Who is it?", strategy="atomr", settings={}),
        WarningRaised(message="nobody knows Who"),
    ]
    for event in sent:
        logged(passed.append)(event)
    assert passed == sent
    assert "strategy atomr" in file.read_text()
    assert "Who" not in file.read_text()


def test_the_command_line_sets_the_level(monkeypatch: pytest.MonkeyPatch, capfd: Capture) -> None:
    def atomr(*arguments: str) -> int:
        with pytest.raises(SystemExit) as stop:
            main([*arguments])
        return int(stop.value.code or 0)

    assert atomr("config", "path") == 0
    assert not paths.log_file().exists()  # at the default, what goes well leaves no trace
    assert atomr("--log-level", "info", "config", "path") == 0
    assert paths.log_file().read_text().count("config") == 1
    monkeypatch.setenv("ATOMR_LOG_LEVEL", "debug")
    assert atomr("history", "show", "99") == 1
    assert "Traceback" in paths.log_file().read_text()
    assert atomr("--log-level", "loud", "config", "path") == 2
    assert "Traceback" not in "".join(capfd.readouterr())


def test_the_levels_of_the_command_line_are_those_of_the_log() -> None:
    from atomr_local.cli.main import atomr

    (option,) = [parameter for parameter in atomr.params if parameter.name == "log_level"]
    assert tuple(option.type.choices) == get_args(LogLevel)  # type: ignore[attr-defined]
