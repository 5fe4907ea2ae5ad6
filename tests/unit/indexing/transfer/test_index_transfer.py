"""An index handed on: what is written is what is taken in, and nothing of a file that is not what it says is kept."""

from __future__ import annotations

import hashlib
import io
import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import tarfile
from collections.abc import Callable
from contextlib import closing
from dataclasses import asdict, replace
from pathlib import Path

import pyarrow as pa
import pytest
from support.fake_embedder import FakeEmbedder
from support.homes import at_home
from support.places import PYTHONPATH

from atomr_local.errors import Cancelled, InputError, KnowledgeIndexError
from atomr_local.indexing import store
from atomr_local.indexing.builds import publishing
from atomr_local.indexing.graph_index.index import build_graph_index
from atomr_local.indexing.opening import opening_problem
from atomr_local.indexing.text_index.index import build_text_index
from atomr_local.indexing.transfer.archive import Provenance, schema_problem
from atomr_local.indexing.transfer.exporting import export_index, shareable
from atomr_local.indexing.transfer.importing import import_index, read_offer
from atomr_local.indexing.verify import verify_indexes
from atomr_local.system.cancellation import Cancellation

SAID = Provenance.now("CC0", "made for a test")
Member = tuple[tarfile.TarInfo, bytes]


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with an exported text index and an exported graph index."""
    home = tmp_path_factory.mktemp("maker")
    facts, corpus = home / "facts.jsonl", home / "corpus.jsonl"
    facts.write_text('{"s": "Como", "p": "country", "o": "Italy"}\nno fact\n')
    corpus.write_text(json.dumps({"id": "1", "title": "Como", "text": "A lake in Italy. " * 20}))
    with at_home(home):
        build_text_index([corpus], "mine", embedder=FakeEmbedder())
        build_graph_index([facts], "facts", linearise=True)
        for kind, name in (("text", "mine"), ("graph", "facts")):
            export_index(kind, name, home / f"{name}.tar.zst", SAID)  # type: ignore[arg-type]
    return home


@pytest.fixture(autouse=True)
def _home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ATOMR_HOME", str(tmp_path / "home"))


def members(file: Path) -> list[Member]:
    with pa.CompressedInputStream(pa.OSFile(str(file)), "zstd") as stream:
        data = io.BytesIO(stream.read())
    with tarfile.open(fileobj=data) as archive:
        return [(item, archive.extractfile(item).read()) for item in archive]  # type: ignore[union-attr]


def packed(path: Path, found: list[Member], format: int = tarfile.USTAR_FORMAT) -> Path:
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w", format=format) as archive:
        for item, content in found:
            archive.addfile(item, io.BytesIO(content))
    with pa.OSFile(str(path), "wb") as raw, pa.CompressedOutputStream(raw, "zstd") as stream:
        stream.write(data.getvalue())
    return path


def member(name: str, content: bytes = b"", type: bytes = tarfile.REGTYPE, link: str = "") -> Member:
    item = tarfile.TarInfo(name)
    item.size, item.type, item.linkname = len(content), type, link
    return item, content


def relisted(found: list[Member], change: Callable[[store.Manifest], store.Manifest] = lambda m: m) -> list[Member]:
    """The members with a list that is right for them, as a careful liar would make it."""
    recorded = publishing.parse_record(found[0][1].decode())
    manifest = change(store.parse_manifest(recorded.manifest, Path()))
    files = {
        item.name: publishing.FileDigest(len(content), hashlib.blake2b(content, digest_size=32).hexdigest())
        for item, content in found[2:]
    }
    document = publishing.document(files, json.dumps(asdict(manifest)))
    return [member(store.DIGESTS, document), *found[1:]]


def nothing_is_left() -> None:
    assert not store.list_indexes()
    assert not publishing.list_unfinished()


def refused(file: Path, told: str) -> InputError:
    """The error of importing the file, of which nothing is left."""
    with pytest.raises(InputError, match=told) as raised:
        import_index(file)
    nothing_is_left()
    return raised.value


@pytest.mark.parametrize("name", ["mine", "facts"])
def test_what_was_exported_is_imported_and_whole(built: Path, name: str) -> None:
    file = built / f"{name}.tar.zst"
    offer = read_offer(file)
    assert (offer.manifest.name, offer.said.licence, offer.said.source) == (name, "CC0", "made for a test")
    assert offer.embedder == ("fake:1" if name == "mine" else "")
    assert str(built) not in json.dumps(asdict(offer.manifest)), "nothing tells of the maker's directories"
    seen: list[tuple[str, int, int]] = []
    manifest = import_index(file, name="copy", progress=lambda *told: seen.append(told))
    assert seen[-1][1] == seen[-1][2] == offer.bytes
    assert manifest.name == "copy"
    assert manifest.counts == offer.manifest.counts
    said = manifest.settings["imported"]
    assert (said["file"], said["name"], said["provenance"]["licence"]) == (file.name, name, "CC0")
    [report] = verify_indexes("copy")
    assert (report.state, report.problems) == ("whole", [])
    assert not opening_problem(store.index_path(manifest.kind, "copy"))


def test_no_index_from_elsewhere_names_folders_of_this_machine(built: Path, tmp_path: Path) -> None:
    folders = {"roots": ["/etc"], "exclude": [], "hidden": True}
    found = relisted(
        members(built / "mine.tar.zst"), lambda m: replace(m, settings=m.settings | {"folders": folders, "asked": {}})
    )
    manifest = import_index(packed(tmp_path / "h.tar.zst", found))
    assert not {"folders", "asked"} & set(manifest.settings)
    assert not {"folders", "asked"} & set(shareable(replace(manifest, settings={"folders": folders})).settings)


def test_the_same_index_gives_the_same_file(built: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ATOMR_HOME", str(built))
    done = export_index("graph", "facts", tmp_path / "a.tar.zst", SAID)
    assert done.path.read_bytes() == (built / "facts.tar.zst").read_bytes()
    assert done.sha256 == hashlib.sha256(done.path.read_bytes()).hexdigest()
    with pytest.raises(InputError, match="already exists"):
        export_index("graph", "facts", tmp_path / "a.tar.zst", SAID)


def test_a_damaged_index_is_not_exported(built: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = tmp_path / "damaged"
    shutil.copytree(built / "indexes", home / "indexes")
    monkeypatch.setenv("ATOMR_HOME", str(home))
    names = store.index_path("graph", "facts") / "names.sqlite"
    data = bytearray(names.read_bytes())
    data[-1] ^= 1
    names.write_bytes(data)
    with pytest.raises(KnowledgeIndexError, match=r"names\.sqlite is not what was built"):
        export_index("graph", "facts", tmp_path / "b.tar.zst", SAID)
    assert [path.name for path in tmp_path.iterdir() if "tar" in path.name] == []


def test_an_index_of_the_same_name_is_replaced_only_when_told_to(built: Path) -> None:
    file = built / "facts.tar.zst"
    import_index(file)
    with pytest.raises(KnowledgeIndexError, match="already"):
        import_index(file)
    assert import_index(file, replace_index=True).name == "facts"


def changed(found: list[Member], place: int, content: bytes) -> list[Member]:
    return [member(item.name, content) if i == place else (item, old) for i, (item, old) in enumerate(found)]


HOSTILE: dict[str, tuple[Callable[[list[Member]], list[Member]], str]] = {
    "path out": (lambda f: [*f[:2], member("../../evil", b"x"), *f[2:]], "not a name"),
    "absolute": (lambda f: [*f[:2], member("/tmp/evil", b"x"), *f[2:]], "not a name"),
    "listed path out": (lambda f: relisted([*f, member("../evil", b"x")]), "not a name"),
    "unchecked": (lambda f: relisted([*f, member("vectors.sqlite", b"x")]), "not a name"),
    "hidden": (lambda f: relisted([*f, member(".profile", b"x")]), "not a name"),
    "link": (lambda f: [*f[:2], member(f[2][0].name, b"", tarfile.SYMTYPE, "/etc/passwd"), *f[3:]], "plain files"),
    "hard link": (lambda f: [*f[:2], member(f[2][0].name, b"", tarfile.LNKTYPE, "names.sqlite"), *f[3:]], "plain files"),
    "device": (lambda f: [*f[:2], member("oxigraph/CURRENT", b"", tarfile.CHRTYPE), *f[2:]], "plain files"),
    "directory": (lambda f: [*f[:2], member("oxigraph", b"", tarfile.DIRTYPE), *f[2:]], "plain files"),
    "one more": (lambda f: [*f, member("more", b"x")], "not on its list"),
    "twice": (lambda f: [*f[:3], f[2], *f[3:]], "not on its list, or twice"),
    "one less": (lambda f: f[:-1], "are missing"),
    "longer": (lambda f: changed(f, -1 % len(f), f[-1][1] + b"x"), "bytes long where"),
    "other bytes": (lambda f: changed(f, -1 % len(f), f[-1][1][:-1] + b"\0"), "another checksum"),
    "no list": (lambda f: f[1:], "digests.json is not where"),
    "list is no JSON": (lambda f: changed(f, 0, b"{"), "damaged"),
    "provenance": (lambda f: changed(f, 1, b'{"schema": 1, "licence": 5}'), "cannot be read"),
    "other kind": (lambda f: relisted(f, lambda m: replace(m, kind="text")), "has no passages.lance"),
    "bad name": (lambda f: relisted(f, lambda m: replace(m, name="../x")), "no valid name"),
    "more facts": (lambda f: relisted(f, lambda m: replace(m, counts=m.counts | {"triples": 10**6})), "facts are there"),
    "settings": (lambda f: relisted(f, lambda m: replace(m, settings={"skipped": 3})), "not of their types"),
}  # fmt: skip


@pytest.mark.parametrize("case", HOSTILE)
def test_nothing_of_a_hostile_file_is_kept(built: Path, tmp_path: Path, case: str) -> None:
    change, told = HOSTILE[case]
    assert refused(packed(tmp_path / "h.tar.zst", change(members(built / "facts.tar.zst"))), told).hint
    assert not list(tmp_path.rglob("*evil*"))
    assert not Path("/tmp/evil").exists()


@pytest.mark.parametrize("format", [tarfile.PAX_FORMAT, tarfile.GNU_FORMAT])
def test_headers_that_would_be_read_into_memory_are_refused(built: Path, tmp_path: Path, format: int) -> None:
    found = members(built / "facts.tar.zst")
    file = packed(tmp_path / "h.tar.zst", [*found[:2], member("a" * 5000, b"x"), *found[2:]], format)
    refused(file, "plain files")


SCHEMAS = {
    "trigger": "CREATE TRIGGER evil AFTER INSERT ON name BEGIN SELECT 1; END",
    "view": "CREATE VIEW evil AS SELECT * FROM name",
    "computed column": "CREATE TABLE evil(a TEXT, b TEXT GENERATED ALWAYS AS (upper(a)) VIRTUAL)",
    "expression": "CREATE INDEX evil ON name(upper(text))",
    "module": "CREATE VIRTUAL TABLE evil USING rtree(id, a, b)",
}


@pytest.mark.parametrize(("what", "sql"), SCHEMAS.items())
def test_a_database_that_would_run_something_is_refused(built: Path, tmp_path: Path, what: str, sql: str) -> None:
    found = members(built / "facts.tar.zst")
    place = next(i for i, (item, _) in enumerate(found) if item.name == "names.sqlite")
    names = tmp_path / "n.sqlite"
    names.write_bytes(found[place][1])
    with closing(sqlite3.connect(names)) as db:
        db.execute(sql)
        db.commit()
    assert what.rsplit(maxsplit=1)[-1] in schema_problem(names)
    file = packed(tmp_path / "h.tar.zst", relisted(changed(found, place, names.read_bytes())))
    refused(file, r"names\.sqlite: it has a")


def test_a_table_that_names_files_outside_is_refused(built: Path, tmp_path: Path) -> None:
    found = members(built / "mine.tar.zst")
    place = next(i for i, (item, _) in enumerate(found) if "/_versions/" in item.name)
    file = packed(tmp_path / "h.tar.zst", relisted(changed(found, place, found[place][1] + b"../../outside")))
    refused(file, "names files outside the index")


def test_a_bomb_is_refused_before_it_is_unpacked(built: Path, tmp_path: Path) -> None:
    found = members(built / "facts.tar.zst")
    recorded = publishing.parse_record(found[0][1].decode())
    files = {name: item for name, item in recorded.files.items() if name != store.MANIFEST}
    huge = files | {"names.sqlite": publishing.FileDigest(10**12, "0" * 64)}
    file = packed(
        tmp_path / "h.tar.zst", [member(store.DIGESTS, publishing.document(huge, recorded.manifest)), *found[1:]]
    )
    refused(file, "it would grow from")
    zeros = tmp_path / "z.tar.zst"
    with pa.OSFile(str(zeros), "wb") as raw, pa.CompressedOutputStream(raw, "zstd") as stream:
        for _ in range(64):
            stream.write(bytes(1 << 20))
    refused(zeros, r"digests\.json is not where it has to be")


@pytest.mark.parametrize("share", [0.0, 0.3, 0.9])
def test_a_file_that_is_cut_short_or_no_archive_is_told(built: Path, tmp_path: Path, share: float) -> None:
    data = (built / "facts.tar.zst").read_bytes()
    file = tmp_path / "h.tar.zst"
    file.write_bytes(data[: int(len(data) * share)])
    refused(file, "no index that can be imported")
    refused(tmp_path / "none.tar.zst", "cannot be read")


def test_a_stopped_import_leaves_nothing_and_can_be_repeated(built: Path) -> None:
    switch = Cancellation()
    with pytest.raises(Cancelled):
        import_index(built / "mine.tar.zst", progress=lambda *_: switch.cancel(), cancellation=switch)
    nothing_is_left()
    assert import_index(built / "mine.tar.zst").counts["articles"] == 1


def test_a_full_disk_is_told_before_anything_is_written(built: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("atomr_local.indexing.builds.space.free_space", lambda _: 1000)
    with pytest.raises(KnowledgeIndexError, match="too full"):
        import_index(built / "mine.tar.zst")
    nothing_is_left()


_KILLED = """
import os, signal, sys
from pathlib import Path
from atomr_local.indexing.transfer import importing

at = sys.argv[2]

def kill(*_):
    os.kill(os.getpid(), signal.SIGKILL)

def progress(_stage, done, total):
    if at == "unpacking" and done > total // 2:
        kill()

if at != "unpacking":
    setattr(importing, {"checking": "verify_index", "publishing": "_publish"}[at], kill)
importing.import_index(Path(sys.argv[1]), replace_index=True, progress=progress)
"""


@pytest.mark.parametrize("at", ["unpacking", "checking", "publishing"])
def test_an_import_that_is_killed_leaves_the_old_index_as_it_was_and_can_be_repeated(
    built: Path, tmp_path: Path, at: str
) -> None:
    old = tmp_path / "old.jsonl"
    old.write_text(json.dumps({"id": "1", "title": "Garda", "text": "Another lake."}) + "\n")
    build_text_index([old], "mine", embedder=FakeEmbedder())

    def content() -> dict[str, bytes]:
        return {path.name: path.read_bytes() for path in store.index_path("text", "mine").rglob("*") if path.is_file()}

    before = content()
    file = built / "mine.tar.zst"
    killed = subprocess.run(
        [sys.executable, "-c", _KILLED, str(file), at], env=os.environ | {"PYTHONPATH": PYTHONPATH}, check=False
    )
    assert killed.returncode == -signal.SIGKILL
    assert content() == before
    assert [entry.name for entry in store.list_indexes()] == ["mine"]
    assert import_index(file, replace_index=True).settings["imported"]["name"] == "mine"
    assert verify_indexes("mine")[0].state == "whole"
    assert not publishing.list_unfinished()
    assert {path.name for path in store.index_path("text", "mine").parent.iterdir()} == {"mine"}
