from __future__ import annotations

import os
import random
import shutil
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support.edited_folder import SENTENCE, EditedFolder, index_content, permissions_hold, same_as_fresh
from support.fake_embedder import FakeEmbedder
from support.processes import dead_process
from support.text_indexes import CountingEmbedder, completeness

from atomr_local.errors import Cancelled, InputError, KnowledgeIndexError
from atomr_local.indexing import store
from atomr_local.indexing.builds.ledger import read_ledger, rebuild_words
from atomr_local.indexing.builds.publishing import unfinished_path
from atomr_local.indexing.readers.documents.document import UnreadableError
from atomr_local.indexing.readers.documents.folder import Folder, FoundFile
from atomr_local.indexing.text_index import build as text_build
from atomr_local.indexing.text_index import documents
from atomr_local.indexing.text_index import documents as documents_build
from atomr_local.indexing.text_index.catalog import CatalogReader
from atomr_local.indexing.text_index.document_catalog import Places, listed_documents, text_bytes_of
from atomr_local.indexing.text_index.documents import SyncReport, build_documents_index, sync_documents_index
from atomr_local.indexing.text_index.filling import embed_text_index
from atomr_local.indexing.text_index.index import remove_from_text_index
from atomr_local.indexing.text_index.table import PassageTable
from atomr_local.indexing.text_index.vectors import count_vectors
from atomr_local.indexing.verify import verify_indexes
from atomr_local.sources.document_places import DocumentPlaces, file_path, page_at, place_words
from atomr_local.sources.protocol import Evidence
from atomr_local.system.cancellation import Cancellation


@pytest.fixture(autouse=True)
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text_build, "BATCH", 3)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    root = tmp_path / "notes"
    (root / "sub").mkdir(parents=True)
    (root / "bees.md").write_text(
        "---\ntitle: Bees\naliases: [Honey bees]\n---\n\nBees make honey.\n\n## Hives\n\nThey live in hives.\n"
    )
    (root / "sub" / "long.txt").write_text("\n\n".join(SENTENCE.format(f"river {i}") * 6 for i in range(8)))
    (root / "plain.txt").write_text("Lakes are deep.\n\nRivers are long.")
    return root


def build(root: Path, name: str = "mine", **options: Any) -> store.Manifest:
    return build_documents_index([root], name, embedder=options.pop("embedder", FakeEmbedder()), **options)


def sync(name: str = "mine", **options: Any) -> SyncReport:
    return sync_documents_index(name, embedder=options.pop("embedder", FakeEmbedder()), **options)


def test_a_folder_is_read_below_and_its_places_are_known(folder: Path) -> None:
    manifest = build(folder)
    assert manifest.counts == {"articles": 3, "passages": manifest.counts["passages"], "aliases": 1}
    assert manifest.settings["documents"]["files"] == 3
    assert [Path(item.path) for item in manifest.inputs] == [folder]
    report = next(item for item in verify_indexes("mine"))
    assert (report.state, report.problems, report.notes) == ("whole", [], [])
    directory = store.index_path("text", "mine")
    with closing(Places(directory)) as places:
        assert places.locate("bees.md", 0, 5) == {"file": "bees.md", "root": 0, "line": 6}
        assert places.locate("sub/long.txt", 0, 3_000) == {"file": "sub/long.txt", "root": 0, "line": [1, 11]}
        assert places.locate("other", 0, 5) == {}
    with closing(CatalogReader(directory)) as catalog:
        assert catalog.targets("honey bees") == ["Bees"]


def test_a_citation_names_the_place_and_the_file_is_found_again(folder: Path) -> None:
    manifest = build(folder)
    with closing(DocumentPlaces(store.index_path("text", "mine"), manifest)) as places:
        locator = {"passage": "bees.md#0", "span": [18, 30], "section": "Hives"}
        found = places.placed(Evidence("text", "Bees", "They live in hives.", 1.0, "q", locator))
    assert place_words(found.locator) == "bees.md, line 10, Hives"
    assert file_path(found.locator) == folder / "bees.md"
    assert page_at(dict(found.locator) | {"page": [3, 4]}) == 3
    across = dict(found.locator) | {"page": [3, 5], "page_starts": [[40, 4], [90, 5], "broken", [1], [0, "x"]]}
    assert [page_at(across, at) for at in (0, 39, 40, 200)] == [3, 3, 4, 5]
    assert file_path(dict(found.locator) | {"file": "../secret"}) is None


def test_what_cannot_be_read_is_listed_and_nothing_outside_is_read(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "secret.txt").write_text("The secret is 42.")
    (folder / "out").symlink_to(tmp_path / "secret.txt")
    (folder / "outdir").symlink_to(tmp_path)
    (folder / "twice").symlink_to(folder)
    (folder / ".hidden.txt").write_text("hidden")
    (folder / "empty.txt").write_text("")
    (folder / "picture").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(20))
    (folder / "a\x1b[31m\nb.txt").write_text("A name with control characters.")
    (folder / ("n" * 251 + ".txt")).write_text("A long name.")
    (folder / "b\x1b[31m\r\t\u202e\x7f\x9b.png").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(30))
    (folder / os.fsdecode(b"\xff.txt")).write_text("A name that is no text.")
    os.mkfifo(folder / "fifo")
    manifest = build(folder)
    unread = dict(manifest.settings["documents"]["unread"]["samples"])
    assert unread == {
        "out": "it is a link that leads out of the folder",
        "outdir": "it is a link that leads out of the folder",
        "empty.txt": "it is empty",
        "picture": "it is a PNG image",
        "b\x1b[31m\r\t\u202e\x7f\x9b.png": "it is a PNG image",
        "fifo": "it is no regular file",
    }
    assert manifest.settings["documents"]["files"] == 6
    assert "secret" not in str(index_content("mine"))
    assert "hidden" not in str(index_content("mine"))


def test_patterns_leave_files_out_and_hidden_ones_can_be_taken(folder: Path) -> None:
    pytest.importorskip("pathspec")
    (folder / ".hidden.txt").write_text("A hidden text.")
    manifest = build(folder, exclude=["sub/", "*.md", "!bees.md"], hidden=True)
    directory = store.index_path("text", "mine")
    assert [document.path for document in listed_documents(directory)] == [".hidden.txt", "bees.md", "plain.txt"]
    assert manifest.settings["folders"] == {
        "roots": [str(folder)],
        "exclude": ["sub/", "*.md", "!bees.md"],
        "hidden": True,
    }
    assert sync().quiet


@pytest.mark.parametrize("what", ["missing", "empty"])
def test_a_folder_without_documents_changes_nothing(folder: Path, what: str) -> None:
    build(folder)
    before = index_content("mine")
    shutil.rmtree(folder)
    if what == "empty":
        folder.mkdir()
    for command in (sync, lambda: build(folder)):
        with pytest.raises(InputError, match=r"cannot be read|no documents"):
            command()
    assert index_content("mine") == before
    assert read_ledger(unfinished_path("text", "mine")) is None


def test_a_sync_takes_in_what_is_new_changed_gone_and_moved(folder: Path) -> None:
    build(folder)
    (folder / "new.txt").write_text("Mountains are high.")
    (folder / "plain.txt").write_text("Lakes are deep.\n\nRivers are very long indeed.")
    (folder / "sub" / "long.txt").rename(folder / "moved.txt")
    (folder / "bees.md").unlink()
    report = sync()
    assert report.added == ("new.txt",)
    assert report.changed == ("plain.txt",)
    assert report.removed == ("bees.md",)
    assert report.moved == (("sub/long.txt", "moved.txt"),)
    same_as_fresh(folder)
    assert sync().quiet


def test_a_text_that_is_the_same_is_not_embedded_again(folder: Path) -> None:
    (folder / "titled.md").write_text("# Titled\n\n" + "\n\n".join(SENTENCE.format(f"hill {i}") * 6 for i in range(6)))
    build(folder)
    (folder / "titled.md").rename(folder / "sub" / "other.md")
    embedder = CountingEmbedder()
    sync(embedder=embedder)
    assert embedder.texts == []
    (folder / "sub" / "other.md").write_text(
        (folder / "sub" / "other.md").read_text() + "\n\n## End\n\n" + SENTENCE.format("end") * 5
    )
    sync(embedder=embedder)
    assert len(embedder.texts) == 1
    same_as_fresh(folder)


@pytest.mark.parametrize(
    ("taken", "lost", "told"),
    [
        ("bees.md", "bees.md", ("bees.md", "it cannot be opened: permission denied")),
        ("sub", "sub/long.txt", ("sub/", "the folder cannot be read: permission denied")),
    ],
)
def test_what_may_not_be_read_any_more_goes_and_comes_back(
    folder: Path, taken: str, lost: str, told: tuple[str, str]
) -> None:
    if not permissions_hold(folder):
        pytest.skip("this user may read everything")
    build(folder)
    (folder / taken).chmod(0)
    report = sync()
    assert report.unread == report.newly_unread == (told,)
    assert report.lost == (lost,)
    assert not (report.added or report.removed or report.changed)
    assert sync().quiet
    (folder / taken).chmod(0o700)
    report = sync()
    assert (report.added + report.changed, report.removed, report.lost) == ((lost,), (), ())


def test_an_index_of_a_folder_is_not_changed_by_hand(folder: Path) -> None:
    build(folder)
    with pytest.raises(KnowledgeIndexError, match="follows a folder"):
        remove_from_text_index("mine", ["Bees"])
    with pytest.raises(KnowledgeIndexError, match="there is no text index"):
        sync("none")


def test_a_stopped_sync_goes_on_and_readers_see_the_old_index(folder: Path) -> None:
    build(folder)
    before = index_content("mine")
    for i in range(6):
        (folder / f"n{i}.txt").write_text(SENTENCE.format(i) * 12)
    cancellation = Cancellation()
    with pytest.raises(Cancelled):
        sync(progress=lambda state: cancellation.cancel() if state.passages > 4 else None, cancellation=cancellation)
    assert index_content("mine") == before
    (folder / "n1.txt").write_text("Changed between two runs.")
    told: list[str] = []
    report = sync(tell=told.append)
    assert "resuming" in told[0]
    assert len(report.added) == 6
    same_as_fresh(folder)


def test_a_changed_file_of_which_a_part_was_taken_in_is_read_again(folder: Path) -> None:
    build(folder)
    with (folder / "sub" / "long.txt").open("a") as stream:
        stream.write("\n\n" + "\n\n".join(SENTENCE.format(f"sea {i}") * 6 for i in range(8)))
    cancellation = Cancellation()
    with pytest.raises(Cancelled):
        sync(progress=lambda state: cancellation.cancel() if state.passages else None, cancellation=cancellation)
    assert sync().changed == ("sub/long.txt",)
    same_as_fresh(folder)


@pytest.mark.parametrize("step", ["append", "check_indexed"])  # each step: test_shards.py
def test_a_folder_that_changes_after_a_run_was_killed_at_its_end_is_read_again(
    folder: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    build(folder)
    (folder / "new.txt").write_text("Mountains are high.")

    def killed(*_: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(PassageTable, step, killed)
        sync()
    left = read_ledger(unfinished_path("text", "mine"))
    assert left is not None
    assert left.state["stage"] == "merging"
    (folder / "new.txt").write_text("Mountains are lower than they were.")
    (folder / "plain.txt").unlink()
    report = sync()
    assert (report.added, report.removed) == (("new.txt",), ("plain.txt",))
    same_as_fresh(folder)
    assert sync().quiet


def test_what_a_run_left_that_was_killed_right_after_publishing_goes_with_the_next_sync(folder: Path) -> None:
    build(folder)
    directory = store.index_path("text", "mine")
    left = directory.with_name(f".mine.old-{dead_process()}-0a1b2c3d")
    shutil.copytree(directory, left)
    assert sync().quiet
    assert not left.exists()


def test_a_folder_takes_the_place_of_a_mailbox_and_gives_it_back(folder: Path) -> None:
    message = "From a@example.org Thu Jan  1 00:00:00 2026\nFrom: a@example.org\nSubject: {}\n\nLetter {}.\n\n"
    letters = "".join(message.format(i, i) for i in range(3))
    (folder / "in").write_text(letters)
    build(folder)
    assert [one.articles for one in listed_documents(store.index_path("text", "mine")) if one.path == "in"] == [
        ["in/1", "in/2", "in/3"]
    ]
    (folder / "in").unlink()
    (folder / "in").mkdir()
    for number in (1, 2):
        (folder / "in" / str(number)).write_text(f"Paper {number}.")
    sync()
    assert "Paper 2." in str(index_content("mine"))
    assert "Letter" not in str(index_content("mine"))
    shutil.rmtree(folder / "in")
    (folder / "in").write_text(letters)
    sync()
    same_as_fresh(folder)


def test_a_file_that_was_just_changed_is_read_a_tick_later(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    slept: list[float] = []
    monkeypatch.setattr(documents_build.time, "sleep", slept.append)
    now = 1_700_000_000 * 10**9
    monkeypatch.setattr(documents_build.time, "time_ns", lambda: now)
    for name, since in (("bees.md", 10**7), ("plain.txt", 10**10), ("sub/long.txt", -(10**9))):
        os.utime(folder / name, ns=(now, now - since))
    opens = Folder.files
    # The time of a change of names or permissions cannot be set.
    monkeypatch.setattr(Folder, "files", lambda self, *_: (replace(file, changed=0) for file in opens(self)))
    build(folder)
    assert slept == [pytest.approx(0.01)]


def test_a_file_that_cannot_be_opened_is_no_reason_to_publish_the_index_again(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opens = Folder.open

    def refuses(self: Folder, file: FoundFile) -> int:
        if file.path == "bees.md":
            raise UnreadableError("it cannot be opened: permission denied")
        return opens(self, file)

    with monkeypatch.context() as patch:
        patch.setattr(Folder, "open", refuses)
        build(folder)
        published = (store.index_path("text", "mine") / store.MANIFEST).stat().st_ino
        assert sync().unread == (("bees.md", "it cannot be opened: permission denied"),)
        assert (store.index_path("text", "mine") / store.MANIFEST).stat().st_ino == published
    assert sync().changed == ("bees.md",)


def test_a_folder_is_built_words_first_and_syncs_stay_in_the_state(folder: Path) -> None:
    embedder, told = CountingEmbedder(), list[str]()
    build(folder, embedder=embedder, vectors="later", tell=told.append)
    assert (embedder.texts, completeness(), told) == ([], "none", ["words first: the passages are embedded later"])
    (folder / "new.txt").write_text("Mountains are high.")
    sync(embedder=embedder)
    assert (embedder.texts, completeness()) == ([], "none")

    embed_text_index("mine", embedder=embedder, limit=3)
    (folder / "plain.txt").rename(folder / "sub" / "plain.txt")
    sync(embedder=embedder)
    assert (len(embedder.texts), completeness()) == (3, "part")
    assert embed_text_index("mine", embedder=embedder).missing == 0
    assert completeness() == "all"
    assert sync().quiet

    (folder / "more.txt").write_text("Valleys are low.")
    sync(embedder=embedder)
    assert (embedder.texts[-1], completeness()) == ("more.txt: Valleys are low.", "all")
    same_as_fresh(folder)
    (report,) = verify_indexes("mine")
    assert report.good, report.problems


def test_an_index_with_a_part_of_its_vectors_keeps_them_through_a_sync(folder: Path) -> None:
    build(folder, vectors="later")
    embedder = CountingEmbedder()
    made = embed_text_index("mine", embedder=embedder, limit=2)
    (folder / "new.txt").write_text("Mountains are high.")
    sync(embedder=embedder)
    assert made.embedded == count_vectors(store.index_path("text", "mine")) == len(embedder.texts) == 2
    build(folder, vectors="later", embedder=embedder)
    assert (count_vectors(store.index_path("text", "mine")), len(embedder.texts)) == (2, 2)


def test_a_large_folder_is_built_words_first(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "photo.jpg").write_bytes(b"\xff\xd8\xff\xe0" + bytes(50_000))
    monkeypatch.setattr(documents, "EMBEDDED_AT_ONCE", 20_000)
    build(folder)
    assert completeness() == "all"
    monkeypatch.setattr(documents, "EMBEDDED_AT_ONCE", 1_000)
    build(folder)
    assert completeness() == "none"
    entry = next(item for item in store.list_indexes() if item.name == "mine")
    assert rebuild_words(entry) == ([str(folder)], ["--name", "mine", "--vectors", "later"])
    build(folder, vectors="now")
    assert completeness() == "all"


@pytest.mark.slow
def test_random_edits_leave_the_index_of_a_fresh_build(tmp_path: Path) -> None:
    chance = random.Random(int(os.environ.get("ATOMR_SEED", "7")))
    edits = int(os.environ.get("ATOMR_EDITS", "24"))
    folder = EditedFolder(tmp_path / "edited", chance)
    folder.begin()
    build(folder.root)
    while folder.made < edits:
        folder.edit(chance.randrange(1, 8))
        cancellation, most = Cancellation(), chance.choice([5, 15, 10**9])

        def stop(state: Any, most: int = most, cancellation: Cancellation = cancellation) -> None:
            if state.passages >= most:
                cancellation.cancel()

        try:
            sync(progress=stop, cancellation=cancellation)
        except Cancelled:
            continue
    sync()
    same_as_fresh(folder.root)


def test_what_is_not_read_asks_for_no_space(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sparse = {"talk.mp4": 30 << 20, "disk.img": 30 << 20, "huge.txt": 2 << 30}
    for name, size in sparse.items():
        with (folder / name).open("wb") as stream:
            stream.truncate(size)
    (folder / "report.pdf").write_bytes(b"%PDF-1.7\n" + bytes(2 << 20))
    notes = sum((folder / name).stat().st_size for name in ("bees.md", "plain.txt", "sub/long.txt"))
    files = documents_build.prefixed([Folder(folder)])
    assert sum(text_bytes_of(Folder(folder), file) for *_, file in files) == notes + (9 + (2 << 20)) // 10
    seen: list[int] = []
    monkeypatch.setattr(text_build, "require_space", lambda _where, wanted, _what: seen.append(wanted))
    shares: list[tuple[int, int]] = []
    build(folder, progress=lambda state: shares.append((state.done, state.total)))
    assert max(seen) < 5_000_000
    assert shares[-1][0] == shares[-1][1] < 1_000_000
