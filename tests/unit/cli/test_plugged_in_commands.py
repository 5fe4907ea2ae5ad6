"""Commands that other packages offer."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner
from support.plugins import module, offer

from atomr_local.cli.main import atomr
from atomr_local.system.plugins import COMMAND_GROUP

GREET = """
import click

@click.command()
@click.argument("name")
def greet(name):
    \"\"\"Greet somebody.\"\"\"
    click.echo(f"Hello, {name}")

not_a_command = "text"
"""


@pytest.fixture(autouse=True)
def greeting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module(tmp_path, monkeypatch, "greeting", GREET)
    parts = {
        "greet": "greeting:greet",
        "broken": "no_such_module:it",
        "wrong": "greeting:not_a_command",
        "ask": "greeting:greet",
    }
    offer(monkeypatch, COMMAND_GROUP, parts)


def test_it_runs_and_is_listed_with_its_first_line() -> None:
    assert CliRunner().invoke(atomr, ["greet", "Ada"]).output == "Hello, Ada\n"
    listed = CliRunner().invoke(atomr, ["--help"]).output
    assert "greet       Greet somebody." in listed


def test_one_that_cannot_be_loaded_is_told_and_takes_nothing_else_away() -> None:
    listed = CliRunner().invoke(atomr, ["--help"])
    assert listed.exit_code == 0
    assert "the command 'broken' cannot be loaded: ModuleNotFoundError" in " ".join(listed.output.split())
    assert "the command 'wrong' cannot be loaded: TypeError: str, not Command" in " ".join(listed.output.split())
    failed = CliRunner().invoke(atomr, ["broken"])
    assert failed.exit_code != 0
    assert "Update or remove the package" in str(getattr(failed.exception, "hint", ""))


def test_it_replaces_no_command_of_the_program() -> None:
    assert "Answer one question." in CliRunner().invoke(atomr, ["--help"]).output
    assert "Hello" not in CliRunner().invoke(atomr, ["ask", "Ada"]).output


def test_a_slip_is_corrected_to_its_name() -> None:
    assert "Did you mean 'greet'?" in CliRunner().invoke(atomr, ["greeet"]).output
