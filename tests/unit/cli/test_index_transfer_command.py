"""`atomr indexes export`, `import` and `pull`, the last against a server on this machine that misbehaves."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import support.faulty_server as faulty
from support.faulty_server import FaultyServer

from atomr_local.cli import downloads as index_file
from atomr_local.cli.main import main
from atomr_local.fetching.client import Client
from atomr_local.indexing import store
from atomr_local.indexing.graph_index.index import build_graph_index
from atomr_local.system import paths

PATH = "/indexes/facts.tar.zst"


@pytest.fixture(autouse=True)
def _home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ATOMR_HOME", str(tmp_path / "home"))

    def impatient(**given: object) -> Client:
        return Client(sleep=lambda _: None, timeout=60, tries=3, **given)  # type: ignore[arg-type]

    monkeypatch.setattr(index_file, "Client", impatient)


@pytest.fixture
def server() -> Iterator[FaultyServer]:
    with faulty.faulty_server() as found:
        yield found


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """An exported index, and what the command printed."""
    home = tmp_path_factory.mktemp("maker")
    facts = home / "facts.jsonl"
    facts.write_text('{"s": "Como", "p": "country", "o": "Italy"}\n')
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ATOMR_HOME", str(home))
        build_graph_index([facts], "facts")
        assert run("indexes", "export", "facts", str(home / "facts.tar.zst"), "--licence", "CC0 \x1b[2J") == 0
        assert run("indexes", "export", "facts", str(home / "facts.tar.zst")) == 1
        assert run("indexes", "export", "none", str(home / "none.tar.zst")) == 1
        assert run("indexes", "export", "facts", str(home / "x.tar.zst"), "--kind", "text") == 1
    return home / "facts.tar.zst", hashlib.sha256((home / "facts.tar.zst").read_bytes()).hexdigest()


def run(*arguments: str) -> int:
    try:
        main(list(arguments))
    except SystemExit as ended:
        return int(ended.code or 0)
    return 0


def test_import_tells_what_it_is_and_where_it_is_from(
    exported: tuple[Path, str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("indexes", "import", str(exported[0]), "--name", "theirs") == 0
    told = capsys.readouterr()
    assert re.search(r"graph index facts, built .* licence CC0 .*; from not stated", told.err)
    assert "\x1b" not in told.err
    assert told.out == "theirs: 2 entities, 1 triples, 1 properties, checked\n"
    assert run("indexes", "list") == 0
    assert "imported" in capsys.readouterr().out
    assert run("graph", "find", "Como", "--graph-index", "theirs") == 0
    assert "Como" in capsys.readouterr().out
    assert run("indexes", "import", str(exported[0]), "--name", "theirs") == 1
    assert "--replace" in capsys.readouterr().err
    assert run("indexes", "import", str(exported[0]), "--name", "../x") == 1


def test_a_private_index_is_written_for_others_only_if_it_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    facts = tmp_path / "facts.jsonl"
    facts.write_text('{"s": "Como", "p": "country", "o": "Italy"}\n')
    build_graph_index([facts], "mine")
    assert run("indexes", "private", "mine") == 0
    file = tmp_path / "mine.tar.zst"
    assert run("indexes", "export", "mine", str(file)) == 1
    assert "--share-private" in capsys.readouterr().err
    assert not file.exists()
    assert run("indexes", "export", "mine", str(file), "--share-private") == 0


def test_pull_resumes_checks_and_leaves_no_file(
    exported: tuple[Path, str], server: FaultyServer, capsys: pytest.CaptureFixture[str]
) -> None:
    body = exported[0].read_bytes()
    server.files[PATH] = body
    server.faults[PATH] = [faulty.breaks_after(1000)]
    assert run("indexes", "pull", server.url + PATH, "--sha256", exported[1], "--yes") == 0
    assert "bytes=1000-" in [headers.get("range") for _, _, headers in server.requests]
    manifest = store.read_manifest(store.index_path("graph", "facts"))
    assert manifest.settings["imported"]["file"] == server.url + PATH
    assert not list(paths.downloads_dir().iterdir())
    assert "facts: 2 entities" in capsys.readouterr().out


def test_pull_refuses_what_is_not_what_was_published(
    exported: tuple[Path, str], server: FaultyServer, capsys: pytest.CaptureFixture[str]
) -> None:
    server.files[PATH] = exported[0].read_bytes()
    assert run("indexes", "pull", server.url + PATH, "--sha256", "0" * 64, "--yes") == 1
    assert "is not the published one" in capsys.readouterr().err
    assert run("indexes", "pull", server.url + PATH, "--sha256", "abc", "--yes") == 2
    assert run("indexes", "pull", server.url + "/x.zip", "--yes") == 1
    assert run("indexes", "pull", server.url + PATH) == 1, "nobody is there to ask"
    server.files[PATH] = b"\x28\xb5\x2f\xfd" + bytes(100)
    capsys.readouterr()
    assert run("indexes", "pull", server.url + PATH, "--yes") == 1
    told = capsys.readouterr().err
    assert "No checksum is known" in told
    assert "no index that can be imported" in told
    assert not store.list_indexes()
