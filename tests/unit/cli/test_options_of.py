"""Options declared once, as the fields of a class or in the signature of a command."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import ClassVar, Literal

import click
import pytest
from click.testing import CliRunner

from atomr_local.assistant.wishes import argument, command_of, flag, option, parameters
from atomr_local.cli.options import command


@parameters
class Shared:
    web: bool | None = option("Search the web.")


@parameters
class Wish:
    command: ClassVar = ("text", "build")
    inputs: tuple[Path, ...] = argument(metavar="INPUT...", required=True)
    format_: Literal["auto", "csv"] = option("Format.", default="auto")
    rows: int | None = option("Rows.", type=click.IntRange(min=1), metavar="N")
    shared: Shared
    exclude: tuple[str, ...] = option("Leave out.", "-x", "--exclude", metavar="PATTERN")
    names: list[str] = option("Names.", default="a,b", parse=lambda value: value.split(","))
    as_json: bool = flag("Print JSON.", "--json")


@pytest.fixture
def run() -> Callable[..., tuple[Wish, bool]]:
    got: list[tuple[Wish, bool]] = []

    @command()
    def made(wish: Wish, last: bool = flag("The last.")) -> None:
        got.append((wish, last))

    def call(*words: str) -> tuple[Wish, bool]:
        result = CliRunner().invoke(made, words)
        if result.exit_code:
            raise AssertionError(result.output)
        if not got:
            pytest.fail(result.output)
        return got[-1]

    return call


def test_what_is_not_given_is_the_default(run: Callable[..., tuple[Wish, bool]]) -> None:
    wish, last = run("one")
    assert not last
    assert wish == Wish(
        inputs=(Path("one"),), format_="auto", rows=None, shared=Shared(web=None), exclude=(), names=["a", "b"],
        as_json=False,
    )  # fmt: skip


def test_what_is_given_has_the_type_of_the_field(run: Callable[..., tuple[Wish, bool]]) -> None:
    words = "one two --format csv --rows 3 --no-web -x p --exclude q --names c --json --last"
    wish, last = run(*words.split())
    assert last
    assert wish == Wish(
        inputs=(Path("one"), Path("two")), format_="csv", rows=3, shared=Shared(web=False), exclude=("p", "q"),
        names=["c"], as_json=True,
    )  # fmt: skip


@pytest.mark.parametrize("words", ["", "one --format tsv", "one --rows 0"])
def test_what_does_not_fit_is_refused(run: Callable[..., tuple[Wish, bool]], words: str) -> None:
    with pytest.raises(AssertionError, match="Usage: "):
        run(*words.split())


def test_the_parameters_stand_in_the_order_of_the_fields_with_defaults_shown() -> None:
    @command(name="do")
    def made(wish: Wish) -> None:
        """Do it."""

    assert [item.name for item in made.params] == ["inputs", "format_", "rows", "web", "exclude", "names", "as_json"]
    told = CliRunner().invoke(made, ["--help"]).output
    assert "Usage: do [OPTIONS] INPUT..." in told
    assert "--format [auto|csv]    Format.  [default: auto]" in told
    assert "--web / --no-web       Search the web.\n" in told


def test_the_words_of_a_command_give_the_fields_that_they_were_made_of(run: Callable[..., tuple[Wish, bool]]) -> None:
    inputs, exclude = (Path("-one"), Path("two")), ("-p", "q r")
    words = command_of(Wish, inputs=inputs, format_="csv", rows=None, web=False, exclude=exclude, as_json=True)
    assert words[:2] == ("text", "build")
    assert "--rows" not in " ".join(words)
    wish, _ = run(*words[2:])
    assert (wish.inputs, wish.format_, wish.rows, wish.exclude, wish.as_json) == (inputs, "csv", None, exclude, True)
    assert wish.shared.web is False
    assert command_of(Wish, inputs=(Path("one"),), format_="auto", as_json=False)[2:] == ("--", "one")


def test_a_field_that_a_wish_does_not_have_is_refused() -> None:
    with pytest.raises(AssertionError, match="Wish has no colour"):
        command_of(Wish, colour="red")


def test_a_command_of_a_group_has_the_name_of_its_function() -> None:
    group = click.Group("all")

    @command(group)
    def list_() -> str:
        return "listed"

    @command(group)
    def from_text(
        *, number: int = argument(type=click.IntRange(min=1)), shared: Shared, as_json: bool = flag("JSON.", "--json")
    ) -> tuple[int, Shared, bool]:
        return number, shared, as_json

    assert sorted(group.commands) == ["from-text", "list"]
    assert [item.name for item in group.commands["from-text"].params] == ["number", "web", "as_json"]
    run = CliRunner().invoke(group, ["from-text", "3", "--web"], standalone_mode=False)
    assert run.return_value == (3, Shared(web=True), False)
    assert CliRunner().invoke(group, ["from-text", "0"]).exit_code == 2
