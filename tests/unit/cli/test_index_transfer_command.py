"""`atomr indexes export`, `import` and `pull`, the last against a server on this machine that misbehaves."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

import pytest
import support.faulty_server as faulty
from support.command_line import Atomr, exit_status
from support.faulty_server import FaultyServer
from support.homes import at_home

from atomr_local.indexing import store
from atomr_local.indexing.graph_index.index import build_graph_index
from atomr_local.system import paths

PATH = "/indexes/facts.tar.zst"
pytestmark = pytest.mark.usefixtures("no_waiting")


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """An exported index, and what the command printed."""
    home = tmp_path_factory.mktemp("maker")
    facts = home / "facts.jsonl"
    facts.write_text('{"s": "Como", "p": "country", "o": "Italy"}\n')
    with at_home(home):
        build_graph_index([facts], "facts")
        assert exit_status("indexes", "export", "facts", str(home / "facts.tar.zst"), "--licence", "CC0 \x1b[2J") == 0
        assert exit_status("indexes", "export", "facts", str(home / "facts.tar.zst")) == 1
        assert exit_status("indexes", "export", "none", str(home / "none.tar.zst")) == 1
        assert exit_status("indexes", "export", "facts", str(home / "x.tar.zst"), "--kind", "text") == 1
    return home / "facts.tar.zst", hashlib.sha256((home / "facts.tar.zst").read_bytes()).hexdigest()


def test_import_tells_what_it_is_and_where_it_is_from(exported: tuple[Path, str], atomr: Atomr) -> None:
    told = atomr("indexes", "import", str(exported[0]), "--name", "theirs")
    assert re.search(r"graph index facts, built .* licence CC0 .*; from not stated", told.err)
    assert "\x1b" not in told.err
    assert told.out == "theirs: 2 entities, 1 triples, 1 properties, checked\n"
    assert "imported" in atomr("indexes", "list").out
    assert "Como" in atomr("graph", "find", "Como", "--graph-index", "theirs").out
    assert "--replace" in atomr("indexes", "import", str(exported[0]), "--name", "theirs", status=1).err
    atomr("indexes", "import", str(exported[0]), "--name", "../x", status=1)


def test_pull_resumes_checks_and_leaves_no_file(atomr: Atomr, exported: tuple[Path, str], server: FaultyServer) -> None:
    body = exported[0].read_bytes()
    server.files[PATH] = body
    server.faults[PATH] = [faulty.breaks_after(1000)]
    printed = atomr("indexes", "pull", server.url + PATH, "--sha256", exported[1], "--yes")
    assert "bytes=1000-" in [headers.get("range") for _, _, headers in server.requests]
    manifest = store.read_manifest(store.index_path("graph", "facts"))
    assert manifest.settings["imported"]["file"] == server.url + PATH
    assert not list(paths.downloads_dir().iterdir())
    assert "facts: 2 entities" in printed.out


def test_pull_refuses_what_is_not_what_was_published(
    atomr: Atomr, exported: tuple[Path, str], server: FaultyServer
) -> None:
    server.files[PATH] = exported[0].read_bytes()
    err = atomr("indexes", "pull", server.url + PATH, "--sha256", "0" * 64, "--yes", status=1).err
    assert "is not the published one" in err
    atomr("indexes", "pull", server.url + PATH, "--sha256", "abc", "--yes", status=2)
    atomr("indexes", "pull", server.url + "/x.zip", "--yes", status=1)
    atomr("indexes", "pull", server.url + PATH, status=1)  # nobody is there to ask
    server.files[PATH] = b"\x28\xb5\x2f\xfd" + bytes(100)
    told = atomr("indexes", "pull", server.url + PATH, "--yes", status=1).err
    assert "No checksum is known" in told
    assert "no index that can be imported" in told
    assert not store.list_indexes()
