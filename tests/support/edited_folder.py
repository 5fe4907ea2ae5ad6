"""A folder of documents that is edited at random, and all that an index of it holds."""

from __future__ import annotations

import os
import random
import shutil
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from atomr_local.indexing import store
from atomr_local.indexing.text_index.catalog import CatalogReader
from atomr_local.indexing.text_index.document_catalog import Places, listed_documents
from atomr_local.indexing.text_index.documents import build_documents_index
from atomr_local.indexing.text_index.table import TABLE, VECTOR, connect
from atomr_local.indexing.text_index.vectors import vector_state
from support.fake_embedder import FakeEmbedder

SENTENCE = "This sentence is about the {} and it says a little more than nothing about it. "
_FOLDERS = ("", "sub", "deep/er")
_MESSAGE = "From a@example.org Thu Jan  1 00:00:00 2026\nFrom: a@example.org\nSubject: {}\n\n{}\n\n"


def index_content(name: str) -> list[Any]:
    """All that a text index of a folder holds, in an order that does not tell in which it came in."""
    directory = store.index_path("text", name)
    manifest = store.read_manifest(directory)
    rows = connect(directory).open_table(TABLE).to_arrow().to_pylist()
    with closing(Places(directory)) as places, closing(CatalogReader(directory)) as catalog:
        held: list[Any] = sorted(
            (
                row["id"], row["title"], row["section"], row["text"], row["start"], row["end"], row["metadata"],
                None if row[VECTOR] is None else tuple(round(float(x), 4) for x in row[VECTOR]),
                str(places.locate(row["article"], row["start"], row["end"])),
            )
            for row in rows
        )  # fmt: skip
        held += sorted((known.id, known.title, known.passages) for known in catalog.articles())
        documents = listed_documents(directory)
        names = sorted({name for document in documents for name, _ in document.aliases})
        held += [(name, sorted(catalog.targets(name, 100))) for name in names]
    held += [(one.path, one.digest, one.problem, tuple(one.articles), tuple(one.notes)) for one in documents]
    return [*held, sorted(manifest.counts.items()), vector_state(manifest).completeness]


def same_as_fresh(root: Path, name: str = "mine") -> None:
    """Check that an index of the folder is that of a fresh build."""
    held = index_content(name)
    build_documents_index([root], "fresh", embedder=FakeEmbedder())
    assert held == index_content("fresh")


def permissions_hold(folder: Path) -> bool:
    """Whether a file whose permission is taken cannot be read; not so for most superusers."""
    probe = folder / ".probe"
    probe.write_text("x")
    probe.chmod(0)
    try:
        probe.read_text()
    except PermissionError:
        return True
    finally:
        probe.unlink()
    return False


@dataclass
class EditedFolder:
    """Makes random edits below `root`. `made` counts them, `kinds` those of each kind."""

    root: Path
    chance: random.Random
    made: int = 0
    kinds: Counter[str] = field(default_factory=Counter)

    def told(self) -> str:
        """How many edits of each kind were made."""
        return ", ".join(f"{count} {kind.removeprefix('_').replace('_', ' ')}" for kind, count in self.kinds.items())

    def begin(self) -> None:
        """The first files."""
        self.root.mkdir(parents=True)
        self._permissions = permissions_hold(self.root)
        for number in range(5):
            self._write(self.root / f"first{number}.{('md', 'txt', 'csv', 'py', 'mbox')[number]}")

    def edit(self, count: int) -> None:
        kinds: list[Callable[[], None]] = [
            self._add, self._add, self._append, self._append, self._same_size, self._rename, self._rename_folder,
            self._remove, self._copy, self._break, self._exchange,
        ]  # fmt: skip
        if self._permissions:
            kinds += [self._take_permission, self._give_permission]
        for _ in range(count):
            self.made += 1
            kind = self._add if len(self._files()) < 3 else self.chance.choice(kinds)
            kind()
            self.kinds[kind.__name__] += 1

    def _files(self) -> list[Path]:
        return sorted(path for path in self.root.rglob("*") if path.is_file() and os.access(path, os.R_OK))

    def _any(self) -> Path:
        return self.chance.choice(self._files())

    def _new(self) -> Path:
        end = self.chance.choice(["md", "txt", "py", "csv", "mbox", "html"])
        target = self.root / self.chance.choice(_FOLDERS) / f"f{self.made}.{end}"
        target.parent.mkdir(parents=True, exist_ok=True)
        return target

    def _text(self) -> str:
        about, much = self.chance.randrange(50), self.chance.randrange(1, 9)
        return "\n\n".join(SENTENCE.format(about) * much for _ in range(self.chance.randrange(1, 4)))

    def _write(self, target: Path) -> None:
        text, number = self._text(), self.chance.randrange(100)
        written = {
            ".md": f"---\naliases: [Name {number}]\n---\n\n# Title {number}\n\n{text}\n\n## Part\n\n{text}",
            ".csv": "what,how many\n" + "".join(f"thing {i},{number}\n" for i in range(number)),
            ".mbox": "".join(_MESSAGE.format(f"Message {i}", text) for i in range(number % 4 + 1)),
            ".html": f"<html><head><title>Page {number}</title></head><body><h1>Part</h1><p>{text}</p></body></html>",
        }.get(target.suffix, text)
        target.write_text(written)

    def _add(self) -> None:
        self._write(self._new())

    def _append(self) -> None:
        with self._any().open("a") as stream:
            stream.write(f"\n\n{self._text()}")

    def _same_size(self) -> None:
        """As a program does that keeps size and time of the file."""
        file = self._any()
        status, content = file.stat(), file.read_bytes()
        file.write_bytes(content.replace(b"nothing", b"tidings").replace(b"sentence", b"SENTENCE"))
        os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns))

    def _rename(self) -> None:
        self._any().rename(self._new())

    def _rename_folder(self) -> None:
        found = sorted(path for path in self.root.iterdir() if path.is_dir())
        if found:
            self.chance.choice(found).rename(self.root / f"folder{self.made}")

    def _remove(self) -> None:
        self._any().unlink()

    def _copy(self) -> None:
        shutil.copy(self._any(), self._new())

    def _break(self) -> None:
        self._any().write_bytes(self.chance.choice([b"\x00\x01" * 30, b"", b"%PDF-1.4 broken"]))

    def _exchange(self) -> None:
        """A folder takes the place of a file."""
        file = self._any()
        file.unlink()
        file.mkdir()
        for name in ("1", "2"):
            (file / name).write_text(self._text())

    def _take_permission(self) -> None:
        self._any().chmod(0)

    def _give_permission(self) -> None:
        for path in self.root.rglob("*"):
            path.chmod(0o700 if path.is_dir() else 0o600)
