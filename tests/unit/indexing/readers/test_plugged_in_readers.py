"""Article formats of other packages: the documentation's worked example, and packages that fail."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner
from support import plugins
from support.plugins import module, offer

from atomr_local.cli.commands.text import build
from atomr_local.errors import InputError, SettingsError
from atomr_local.indexing.readers import detect as formats
from atomr_local.indexing.readers.base import Article
from atomr_local.indexing.readers.detect import detect_text_format, open_articles, record_kind
from atomr_local.indexing.readers.lines import Skipped

LISTED = "#articles\nid,title,text\n1,Paris,Paris is a city.\n2,,nothing\n3,Rome,Rome is a city.\n"


@pytest.fixture
def example(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    module(tmp_path, monkeypatch, "listed_articles", plugins.example("reader"))
    offer(monkeypatch, formats.ENTRY_POINTS, {"listed": "listed_articles:listed_format"})
    file = tmp_path / "articles.list"
    file.write_text(LISTED)
    return file


@pytest.mark.parametrize("format", ["auto", "listed"])
def test_the_worked_example_is_recognised_and_read(example: Path, format: str) -> None:
    skipped = Skipped()
    articles = [item for item in open_articles(example, format).records(skipped) if isinstance(item, Article)]
    assert [(item.title, item.record) for item in articles] == [("Paris", 1), ("Rome", 3)]
    assert [item.record for item in open_articles(example, format).records(Skipped(), after=1)] == [3]
    assert record_kind(example) == "row" and formats.format_names()[-1] == "listed"


def test_the_command_takes_a_format_of_a_package_and_refuses_others(example: Path) -> None:
    run = CliRunner().invoke(build, [str(example), "--name", "mine", "--format", "csw"])
    assert run.exit_code == 2 and "'csw' is not one of 'auto'" in run.output
    run = CliRunner().invoke(build, [str(example.with_name("absent.list")), "--name", "mine", "--format", "listed"])
    assert "is not one of" not in run.output and run.exit_code == 1


def test_files_of_our_formats_stay_ours(example: Path, tmp_path: Path) -> None:
    file = tmp_path / "articles"
    file.write_bytes(b"PAR1 and so on")
    assert detect_text_format(file) == "parquet"
    file.write_bytes(b'{"id": "1"}\n')
    assert detect_text_format(file) == "jsonl"


def test_a_package_that_fails_is_an_error_when_named_and_stops_no_detection(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    failing = "from atomr_local.indexing.readers.detect import ArticleFormat\n"
    failing += "def made():\n    return ArticleFormat('row', lambda head: 1 / 0, None)\n"
    module(tmp_path, monkeypatch, "failing_format", failing)
    values = {"absent": "no_such_module:made", "wrong": "builtins:dict", "failing": "failing_format:made"}
    offer(monkeypatch, formats.ENTRY_POINTS, values)
    file = tmp_path / "articles"
    file.write_bytes(b'{"id": "1"}\n')
    assert detect_text_format(file) == "jsonl"
    with pytest.raises(SettingsError, match="'absent' cannot be loaded: ModuleNotFoundError"):
        open_articles(file, "absent")
    with pytest.raises(SettingsError, match="'wrong' cannot be loaded: TypeError: dict, not ArticleFormat"):
        open_articles(file, "wrong")


def test_no_package_replaces_a_format_of_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    offer(monkeypatch, formats.ENTRY_POINTS, {"jsonl": "no_such_module:made"})
    assert formats.find_format("jsonl") is formats.FORMATS["jsonl"]
    with pytest.raises(InputError, match="no format named 'nothing'") as told:
        formats.find_format("nothing")
    assert "mediawiki" in told.value.hint
