"""The build of an index from folders of documents: the files that are new or changed are read, the others are kept.

A build from nothing and a sync are the same work. What was read is listed file by file, so that a run that was killed
goes on with the files that are not listed, whatever has changed in the folders since.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from importlib.util import find_spec
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

from atomr_local.errors import InputError
from atomr_local.indexing import store
from atomr_local.indexing.builds import publishing
from atomr_local.indexing.builds.ledger import read_ledger
from atomr_local.indexing.builds.publishing import LEDGER
from atomr_local.indexing.readers.base import Article, Section, encodable
from atomr_local.indexing.readers.documents.document import UnreadableError
from atomr_local.indexing.readers.documents.folder import Folder, FoundFile, digest_of, spelled, told_left_out
from atomr_local.indexing.readers.documents.kinds import KNOWN, MARKDOWN
from atomr_local.indexing.readers.documents.pdf_ocr import check_languages
from atomr_local.indexing.readers.documents.process import PARSERS, DocumentParser
from atomr_local.indexing.text_index.build import ArticleSelection, TextBuild, TextBuildProgress
from atomr_local.indexing.text_index.catalog import content_hash
from atomr_local.indexing.text_index.chunking import CHUNKER
from atomr_local.indexing.text_index.document_catalog import (
    DocumentCatalog,
    ListedDocument,
    listed_documents,
    text_bytes_of,
)
from atomr_local.indexing.text_index.index import (
    EMBEDDED_AT_ONCE,
    BuildOrder,
    Progress,
    Vectors,
    changeable,
    fresh_settings,
    now,
)
from atomr_local.indexing.text_index.shards import Shard
from atomr_local.indexing.text_index.table import SEARCHED, VECTOR, PassageTable
from atomr_local.indexing.text_index.vectors import REUSED
from atomr_local.language.names import name_key
from atomr_local.system.cancellation import Cancellation

if TYPE_CHECKING:
    from atomr_local.indexing.embedding.embedder import Embedder


# Raised when a parser gives another text for the same file: the files are then read again.
_VERSION = 8
# Letters before the first heading that names the document; one further down names a part of it.
_TITLE_WITHIN = 2_000
# Letters from which on two files of the same text are one document, whatever their names say.
_TELLING = 500
_COPY = re.compile(KNOWN["copies"]["files"], re.I | re.X)
_COPIES = re.compile(KNOWN["copies"]["folders"], re.I)
_REASONS_TOLD = 3
_MOST_NOTES = 20
# Nanoseconds within which a system may give two changes of a file one time.
_ONE_TICK = 20_000_000


def reader_identity(ocr: str = "") -> str:
    """What reads documents here: the versions of the parsers and of the cutting, and which packages are there.

    Args:
        ocr: the languages of OCR.
    """
    needed = sorted({parser.needs for parser in PARSERS.values() if parser.needs})
    found = ",".join(name for name in needed if find_spec(name) is not None)
    return f"{_VERSION}:{CHUNKER}:{found}{f':{ocr}' if ocr else ''}"


_Prefixed = tuple[int, str, FoundFile]


def prefixed(folders: Sequence[Folder], left_out: Counter[str] | None = None) -> list[_Prefixed]:
    """The files of all folders: the number of the folder, the path that stands for the file, and the file.

    Args:
        left_out: as of :meth:`Folder.files`.

    Raises:
        InputError: a folder cannot be read, or two files would stand under one path.
    """
    found: list[_Prefixed] = []
    seen: set[str] = set()
    names = root_names([folder.root for folder in folders])
    for number, folder in enumerate(folders):
        alone = folder.root.is_file()
        for file in folder.files(left_out):
            path = encodable(names[number] if alone and names[number] else f"{names[number]}/{file.path}".lstrip("/"))
            if path in seen:
                raise InputError(
                    f"two of the inputs have a file {path}",
                    hint="Build an index for each, or give the folder above them.",
                )
            seen.add(path)
            found.append((number, path, file))
    return found


def root_names(roots: Sequence[Path]) -> list[str]:
    """What stands before the paths of each root's files, "" of a single root; of a root that is a file, its path.

    That is its own name, and for roots of the same name as much of what is above them as tells them apart.
    """
    if len(roots) < 2:
        return [""] * len(roots)
    parts = [[part for part in root.resolve().parts if part != root.resolve().anchor] or ["root"] for root in roots]

    def ending(number: int) -> str:
        for length in range(1, len(parts[number]) + 1):
            tail = parts[number][-length:]
            if all(other == parts[number] or other[-length:] != tail for other in parts):
                break
        return "/".join(spelled(part) for part in tail)

    return [ending(number) for number in range(len(parts))]


def _differs(folders: Sequence[Folder], found: Sequence[_Prefixed], listed: Sequence[ListedDocument]) -> bool:
    """Whether anything that was found in the folders is not as it is listed, or has to be looked at to know that."""
    return {path for _, path, _ in found} != {one.path for one in listed} or not all(_as_listed(folders, found, listed))


def _as_listed(
    folders: Sequence[Folder], found: Iterable[_Prefixed], listed: Iterable[ListedDocument]
) -> Iterator[bool]:
    """Whether each file is as it is listed, as far as that is known without reading it."""
    reader, known = reader_identity(folders[0].ocr), {one.path: one for one in listed}
    for number, path, file in found:
        if (one := known.get(path)) is None or one.root != number:
            yield False
        elif file.problem or not (one.digest or one.stamp):
            yield one.problem == (file.problem or _why_closed(folders[number], file))
        else:
            yield (one.stamp, one.size, one.reader) == (stamp_of(file), file.size, reader)


def _texts(folders: Sequence[Folder], found: Sequence[_Prefixed], listed: Iterable[ListedDocument]) -> list[int]:
    """About how many bytes of text are read of each file: none of one that is as it is listed."""
    same = _as_listed(folders, found, listed)
    return [0 if next(same) else text_bytes_of(folders[number], file) for number, _, file in found]


def _rank(path: str) -> tuple[bool, int]:
    """The order in which files are read. Of files with the same text the first is the original: none that is called a
    copy, if there is another, and then one in fewer folders."""
    *folders, name = PurePosixPath(path).parts
    copied = _COPY.search(PurePosixPath(name).stem) or any(map(_COPIES.fullmatch, folders))
    return bool(copied), len(folders)


def _told_by(path: str, documents: Sequence[dict[str, Any]]) -> str:
    """Stands for all that a file tells: the same for a file and its copy. Of a short text that is titled by a heading
    or its name, the name belongs to it, but for what makes it the name of a copy."""
    told, stem, titled = hashlib.sha256(), PurePosixPath(path).stem, True
    for one in documents:
        headings = [heading for *_, heading in one["sections"]]
        title = one["title"] if name_key(one["title"]) not in map(name_key, [stem, *headings[:1]]) else ""
        titled = titled and bool(title)
        told.update(json.dumps([title, headings, one["details"], one["fields"]], sort_keys=True).encode())
        told.update(re.sub(r"\s+", " ", one["text"]).encode())
    if not titled and sum(len(one["text"]) for one in documents) < _TELLING:
        told.update(name_key(_COPY.sub("", stem)).encode())
    return told.hexdigest()


def _why_closed(folder: Folder, file: FoundFile) -> str | None:
    """Why the file cannot be opened; None if it can."""
    try:
        os.close(folder.open(file))
    except UnreadableError as error:
        return str(error)
    return None


@dataclass
class DocumentsBuild(TextBuild):
    """One run over the files of `folders`."""

    folders: tuple[Folder, ...] = ()
    _before: PassageTable | None = field(default=None, init=False)  # of the base
    _left_out: Counter[str] = field(default_factory=Counter, init=False)

    def _new_catalog(self, directory: Path) -> DocumentCatalog:
        return DocumentCatalog(directory)

    @property
    def _documents(self) -> DocumentCatalog:
        assert isinstance(self._catalog, DocumentCatalog)
        return self._catalog

    def _open(self) -> None:
        super()._open()
        if self.state.stage != "reading" and _differs(self.folders, self._walked(), self._documents.documents()):
            # The run before was killed at its end, and the folders have changed since.
            self._commit(stage="reading")

    def _walked(self) -> list[_Prefixed]:
        """The files of the folders; what is left out of these is counted."""
        self._left_out.clear()
        return prefixed(self.folders, self._left_out)

    @property
    def left_out(self) -> dict[str, int]:
        """What is left out of the folders, as of :meth:`Folder.files`; the most first."""
        return {what: count for what, count in self._left_out.most_common() if count}

    def _read(self) -> None:
        found = sorted(self._walked(), key=lambda one: _rank(one[1]))
        texts = _texts(self.folders, found, self._documents.documents())
        self._total, self._size_before = sum(texts), store.directory_size(self.ledger.directory)
        self._originals: dict[str, str] = {}  # by what they tell
        self._reader = reader_identity(self.folders[0].ocr)
        self._require_space()
        for article in self._documents.orphans():
            self._take_out(article)
        self.state.done = 0
        stage = "embedding" if self.vectors else "reading"
        self._report(stage)
        parser = DocumentParser(ocr=self.folders[0].ocr)
        try:
            for (number, path, file), text in zip(found, texts, strict=True):
                self.cancellation.check()
                self._file(parser, number, path, file)
                self.state.done += text
                self._report(stage)
        finally:
            parser.close()
        self._take_out_all_but({path for _, path, _ in found})
        self._flush()
        listed = self._documents.documents()
        self.state.articles = sum(len(document.articles) for document in listed)
        if not self.state.articles:
            raise self._nothing(listed)

    def _take_out_all_but(self, present: set[str]) -> None:
        documents = self._documents.documents()
        # A mailbox "in" has an article "in/1", and so has a folder "in" with a file "1" that takes its place.
        kept = {article for document in documents if document.path in present for article in document.articles}
        for document in documents:
            if document.path not in present:
                for article in document.articles:
                    if article not in kept:
                        self._take_out(article)
                self._documents.drop_document(document.path)

    def _file(self, parser: DocumentParser, number: int, path: str, file: FoundFile) -> None:
        known = self._documents.document(path)
        same = known if known is not None and known.reader == self._reader else None
        stamp = stamp_of(file)
        if same and stamp and (same.stamp, same.size) == (stamp, file.size) and self._stays(same, number, stamp):
            return
        handle = None
        texts: list[dict[str, Any]] = []
        digest = problem = ""
        try:
            if file.problem:
                raise UnreadableError(file.problem)
            _let_a_tick_pass(file)
            handle = self.folders[number].open(file)
            before = os.fstat(handle)
            digest = digest_of(handle)
            if same and same.digest == digest and self._stays(same, number, stamp):
                return
            texts = parser.read(handle, PurePosixPath(file.path).name, self.cancellation)
            after = os.fstat(handle)
            if (before.st_size, before.st_mtime_ns) != (after.st_size, after.st_mtime_ns):
                stamp = ""
                raise UnreadableError("it was changed while it was read")
        except UnreadableError as error:
            problem, texts = str(error), []
        finally:
            if handle is not None:
                os.close(handle)
        found = ListedDocument(path, number, file.size, stamp if digest else "", digest, self._reader, problem)
        if texts:
            told = _told_by(path, texts)
            original = self._originals.setdefault(told, path)
            found = replace(found, tells=told, original=original if original != path else "")
        self._take_file(known, found, [] if found.original else texts)

    def _stays(self, known: ListedDocument, number: int, stamp: str) -> bool:
        """Whether a file that did not change need not be read: it is no copy, or still one of another."""
        original = self._originals.get(known.tells, known.path)
        if known.original and original == known.path:
            return False
        if known.tells:
            self._originals[known.tells] = original
        now = replace(known, root=number, stamp=stamp, original=original if original != known.path else "")
        if now.original and not known.original:
            for article in known.articles:
                self._take_out(article)
            now = replace(now, articles=[], aliases=[], notes=[])
        if now != known:
            self._list(now)
        return True

    def _take_file(self, known: ListedDocument | None, found: ListedDocument, texts: list[dict[str, Any]]) -> None:
        """Take in what was read of a file, and take out what it held before and holds no more."""
        before = known.articles if known is not None else []
        same = self._documents.with_digest(found.digest) if found.digest and texts else []
        self._remember_vectors([*before, *(article for one in same for article in one.articles)])
        # Listed again when it is taken in whole: what a killed run took in of it in part is then known for that.
        self._documents.drop_document(found.path)
        articles, notes, aliases = [], [], []
        for i, text in enumerate(texts):
            identifier = found.path if i == 0 and len(texts) == 1 else f"{found.path}/{i + 1}"
            article = article_of(identifier, found.path, text)
            self._take(article, None, 0, 0)
            self._documents.put_places(article.id, found.path, text["place_kind"] or "", text["places"])
            articles.append(article.id)
            notes += text["notes"]
            aliases += [(encodable(name), article.title) for name in text["aliases"]]
        for gone in set(before) - set(articles):
            self._take_out(gone)
        if texts:
            kept = list(dict.fromkeys(notes))[:_MOST_NOTES]
            found = replace(found, notes=kept, articles=articles, aliases=aliases)
        self._list(found)

    def _list(self, document: ListedDocument) -> None:
        self.state.seq += 1
        self._documents.put_document(replace(document, reader=self._reader, seq=self.state.seq))

    def _take_out(self, article: str) -> None:
        self.state.seq += 1
        self._replace(self._documents.take_out(self.state.seq, article))

    def _is_news(self, article: Article, number: int, parts: int) -> bool:
        """As of other builds; a file that changed between two runs of one build replaces what it was in the first."""
        known = self._documents.find(article.id)
        digest = content_hash(article)
        self.state.seq += 1
        self._documents.add(self.state.seq, article, digest, parts)
        if known is None:
            return True
        if known.hash == digest and known.passages == parts:
            return False
        self._replace(known.passage_ids())
        return True

    def _remember_vectors(self, articles: list[str]) -> None:
        """Look up the vectors of these articles' passages: what stays the same is not embedded again."""
        if articles and self.base is not None:
            self._before = self._before or PassageTable(self.base, self.embedder.dimensions)
            self.known.remember(self._before.vectors(list(dict.fromkeys(articles)), REUSED))

    def _write(self, shards: Sequence[Shard]) -> None:
        super()._write(shards)
        if self.vectors:  # another file may have the same text
            self.known.remember({row[SEARCHED]: row[VECTOR] for shard in shards for row in shard.rows})

    def _report(self, stage: str) -> None:
        done = self._total if stage == "indexing" else min(self.state.done, self._total)
        self.progress(TextBuildProgress(stage, self.state.passages, done, self._total))

    def _nothing(self, listed: list[ListedDocument]) -> InputError:
        (self.ledger.directory / LEDGER).unlink(missing_ok=True)
        roots = ", ".join(str(folder.root) for folder in self.folders)
        if not listed:
            others = told_left_out(self.left_out)
            return InputError(
                f"no documents in {roots}: there are no files{others and f' but those left out: {others}'}",
                hint="Nothing was changed. Hidden files are left out unless the index is built with --hidden.",
            )
        why = "; ".join(f"{document.path}: {document.problem}" for document in listed[:_REASONS_TOLD])
        more = f"; and {len(listed) - _REASONS_TOLD} more" if len(listed) > _REASONS_TOLD else ""
        return InputError(f"no documents in {roots}: nothing can be read: {why}{more}", hint="Nothing was changed.")


def article_of(identifier: str, path: str, document: dict[str, Any]) -> Article:
    """The article of a parsed document (:class:`Document` in JSON)."""
    title = encodable(document["title"] or _title_of(path, document))
    sections: list[Section] = []
    stack: list[tuple[int, str]] = []
    for start, level, heading in document["sections"]:
        while stack and stack[-1][0] >= level:
            stack.pop()
        stack.append((level, heading))
        names = [name for _, name in stack]
        # The heading that is the title stands before every passage already.
        names = names[1:] if names[0] == title else names
        sections.append(Section(start, encodable(" > ".join(names))))
    metadata: dict[str, Any] = {"file": path}
    metadata |= {str(key): encodable(str(value)) for key, value in document["details"].items()}
    if fields := document["fields"]:
        metadata["fields"] = {encodable(label): [encodable(value) for value in fields[label]] for label in fields}
    # Of headings that follow each other without words between them, the last: its path names the others.
    last = tuple({section.start: section for section in sections}.values())
    return Article(identifier, title, document["text"], metadata=metadata, sections=last)


def _title_of(path: str, document: dict[str, Any]) -> str:
    """The first heading, if it names the document, or the name of the file."""
    name = PurePosixPath(path)
    # The readers of texts have told which heading is the title; a heading of a sheet is none.
    for start, _, heading in document["sections"][:1] if document["place_kind"] not in {"cells", "line"} else ():
        if heading and start <= _TITLE_WITHIN:
            return str(heading)
    if name.parent.suffix == ".textbundle":
        return name.parent.stem
    is_note = name.suffix.casefold() in MARKDOWN  # which programs for notes call what they are about
    return name.name if document["place_kind"] == "line" and not is_note else name.stem


def stamp_of(file: FoundFile) -> str:
    """What changes with every change of the file; "" if it has to be looked at."""
    return f"{file.modified}:{file.changed}" if file.modified and not file.problem else ""


def _let_a_tick_pass(file: FoundFile) -> None:
    """Wait until a change that follows what is read now gets another time than the last one."""
    since = time.time_ns() - max(file.modified, file.changed)
    if 0 <= since < _ONE_TICK:
        time.sleep((_ONE_TICK - since) / 1e9)


def report_of(documents: Sequence[ListedDocument], most: int) -> dict[str, Any]:
    """What the manifest says about the files: how many were read, which were not and why, what was lost, and which are
    copies of others."""
    unread = [[document.path, document.problem] for document in documents if document.problem]
    lossy = [[document.path, "; ".join(document.notes)] for document in documents if document.notes]
    copies = [[one.path, f"it is a copy of {one.original}"] for one in documents if one.original]
    told: dict[str, Any] = {"copies": {"count": len(copies), "samples": copies[:most]}} if copies else {}
    return told | {
        "files": len(documents) - len(unread) - len(copies),
        "bytes": sum(document.size for document in documents),
        "unread": {"count": len(unread), "samples": unread[:most]},
        "lossy": {"count": len(lossy), "samples": lossy[:most]},
    }


def folders_of(settings: dict[str, Any]) -> tuple[Folder, ...]:
    """The folders that an index follows, from its manifest's settings; () if it follows none."""
    found = settings.get("folders")
    if not isinstance(found, dict):
        return ()
    try:
        given = bool(found["hidden"]), str(found.get("ocr", "")), bool(found.get("gitignore"))
        return tuple(Folder(Path(str(root)), tuple(map(str, found["exclude"])), *given) for root in found["roots"])
    except (KeyError, TypeError):
        return ()


def _settings(folders: Sequence[Folder]) -> dict[str, Any]:
    """The folders as :func:`folders_of` reads them."""
    first = folders[0]
    roots = [str(folder.root.absolute()) for folder in folders]
    told = {"roots": roots, "exclude": list(first.exclude), "hidden": first.hidden}
    told |= {name: value for name in ("ocr", "gitignore") if (value := getattr(first, name))}
    return {"format": "documents", "folders": told}


# Text indexes of folders of documents: built, and brought up to date.

_UNREAD_KEPT = 1_000  # files whose problem the manifest tells


@dataclass(frozen=True)
class SyncReport:
    """What a sync changed, by the paths of files.

    Attributes:
        moved: (from, to) of files with the same content under another path.
        copies: (copy, original) of files that are copies now, and were not before.
        lost: files that are in the index no more because they, or a folder above them, cannot be read any more.
        unread: (path, reason) of all files and folders that could not be read.
        newly_unread: those of them that did not stand there with this reason before.
    """

    manifest: store.Manifest
    added: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    moved: tuple[tuple[str, str], ...] = ()
    copies: tuple[tuple[str, str], ...] = ()
    lost: tuple[str, ...] = ()
    unread: tuple[tuple[str, str], ...] = ()
    newly_unread: tuple[tuple[str, str], ...] = ()

    @property
    def quiet(self) -> bool:
        """Whether nothing changed."""
        told = (self.added, self.changed, self.removed, self.moved, self.copies, self.lost, self.newly_unread)
        return not any(told)


def build_documents_index(
    roots: Sequence[Path],
    name: str,
    *,
    embedder: Embedder,
    exclude: Sequence[str] = (),
    hidden: bool = False,
    ocr: str = "",
    gitignore: bool = False,
    vectors: Vectors = "auto",
    progress: Progress | None = None,
    tell: Callable[[str], None] | None = None,
    cancellation: Cancellation | None = None,
) -> store.Manifest:
    """Build the text index `name` from folders of documents, replacing an older one when all is done.

    A build that was stopped goes on with the files that it has not read. Files that cannot be read are left out; the
    manifest's settings ("documents") say which, and why.

    Args:
        roots: folders, or single documents.
        exclude, hidden, ocr, gitignore: as of :class:`Folder`.
        vectors: as of :func:`build_text_index`; a sync leaves the index in the state that it is in, but for much new
            text, which is embedded later.

    Raises:
        InputError: a folder cannot be read, or there is no document in any; the old index stays as it was. Or OCR does
            not know a language.
        KnowledgeIndexError: the index cannot be written, or another process builds it.
        MissingPartError: patterns are given, and the extra `documents` is not installed; or OCR is wanted without its
            program.
        Cancelled: `cancellation` was thrown.
    """
    store.check_name(name)
    folders = tuple(Folder(Path(root), tuple(exclude), hidden, ocr, gitignore) for root in roots)
    prefixed(folders)  # what is wrong with them is told before anything is loaded
    settings = _settings(folders)
    order = BuildOrder(name, "build", embedder, settings, vectors, [], None, progress, tell, cancellation)
    return _carried_out(order, folders)


def sync_documents_index(
    name: str,
    *,
    embedder: Embedder,
    roots: Sequence[Path] = (),
    progress: Progress | None = None,
    tell: Callable[[str], None] | None = None,
    cancellation: Cancellation | None = None,
) -> SyncReport:
    """Bring the text index `name` up to date with its folders. It can be searched meanwhile as it was.

    Files that did not change are not read; passages whose text did not change are not embedded again.

    Args:
        roots: where the folders were moved to, in their order; the index follows these from now on.

    Raises:
        InputError: a folder is gone or has no document any more, or less than half of the files were moved to `roots`;
            the index stays as it was.
        KnowledgeIndexError: the index follows no folder, is not whole, cannot be written, or another process builds it.
        Cancelled: `cancellation` was thrown.
    """
    directory, manifest = changeable(name, embedder, follows_folder=True)
    folders = folders_of(manifest.settings)
    before = listed_documents(directory)
    if not roots and (gone := next((folder.root for folder in folders if not folder.root.exists()), None)):
        hint = f"Nothing was changed. Was it moved? Then: atomr text move {name} FOLDER"
        raise InputError(f"{gone} cannot be read: it is not there", hint=hint)
    unfinished = read_ledger(publishing.unfinished_path("text", name)) is not None
    if roots:
        folders = _moved(folders, roots, before, name)
    elif not (unfinished or _differs(folders, prefixed(folders), before)):
        publishing.clear_leftovers("text", name)
        return SyncReport(manifest, unread=_unread(before))
    base, settings = (directory, manifest), _settings(folders)
    order = BuildOrder(name, "sync", embedder, settings, "auto", [], base, progress, tell, cancellation)
    return _compared(_carried_out(order, folders), before, listed_documents(store.index_path("text", name)))


def _moved(
    folders: Sequence[Folder], roots: Sequence[Path], listed: Sequence[ListedDocument], name: str
) -> tuple[Folder, ...]:
    """The folders at their new places, where at least half of the files that are listed lie, by name and size."""
    if len(roots) != len(folders):
        raise InputError(
            f"the index {name} follows {len(folders)} folders, and {len(roots)} new places are given",
            hint=f"Give the new place of each, in this order: {', '.join(str(folder.root) for folder in folders)}",
        )
    new = tuple(replace(folder, root=Path(root)) for folder, root in zip(folders, roots, strict=True))
    known = {(PurePosixPath(one.path).name, one.size) for one in listed if one.digest}
    same = len(known & {(PurePosixPath(path).name, file.size) for _, path, file in prefixed(new)})
    if 2 * same < len(known):
        raise InputError(
            f"{', '.join(map(str, roots))}: {same} of the {len(known)} files of the index {name} are there",
            hint="Give the folder that they were moved to. For other files, build another index: "
            "atomr text build FOLDER --name NAME",
        )
    return new


def _carried_out(order: BuildOrder, folders: tuple[Folder, ...]) -> store.Manifest:
    if folders[0].ocr:
        check_languages(folders[0].ocr)

    def described(build: TextBuild) -> tuple[list[store.InputFile], dict[str, Any]]:
        listed = listed_documents(build.ledger.directory)
        inputs = []
        for number, folder in enumerate(folders):
            own = [document for document in listed if document.root == number]
            content = json.dumps([[document.path, document.size, document.digest] for document in own]).encode()
            size, digest = sum(document.size for document in own), hashlib.sha256(content).hexdigest()
            inputs.append(store.InputFile(str(folder.root.absolute()), size, digest))
        told: dict[str, Any] = {"documents": report_of(listed, _UNREAD_KEPT), "last_sync": now()}
        assert isinstance(build, DocumentsBuild)
        told["documents"] |= {"left_out": build.left_out} if build.left_out else {}
        return inputs, fresh_settings(build) | told

    make = partial(DocumentsBuild, files=[], selection=ArticleSelection(), folders=folders)

    def is_large() -> bool:
        listed = listed_documents(order.base[0]) if order.base is not None else []
        return sum(_texts(folders, prefixed(folders), listed)) > EMBEDDED_AT_ONCE

    return order.carried_out(make, described, is_large)


def _compared(manifest: store.Manifest, before: list[ListedDocument], after: list[ListedDocument]) -> SyncReport:
    old = {document.path: document for document in before}
    new = {document.path: document for document in after}
    gone = [path for path in old if path not in new]
    added = [path for path in new if path not in old]
    by_digest = {old[path].digest: path for path in gone if old[path].digest}
    moved = []
    for path in list(added):
        origin = by_digest.pop(new[path].digest, None)
        if origin is not None:
            moved.append((origin, path))
            added.remove(path)
            gone.remove(origin)
    changed = [
        path
        for path, document in new.items()
        if path in old and (old[path].digest, old[path].problem) != (document.digest, document.problem)
    ]
    unread = _unread(after)
    closed = tuple(path for path, _ in unread if path.endswith("/"))
    return SyncReport(
        manifest,
        added=tuple(path for path in added if not (new[path].problem or new[path].original)),
        changed=tuple(path for path in changed if not new[path].problem),
        removed=tuple(path for path in gone if not path.startswith(closed) and not path.endswith("/")),
        moved=tuple(moved),
        copies=tuple(
            (path, document.original)
            for path, document in new.items()
            if document.original and not (path in old and old[path].original)
        ),
        lost=(
            *(path for path in changed if new[path].problem and not old[path].problem),
            *(path for path in gone if path.startswith(closed) and not old[path].problem),
        ),
        unread=unread,
        newly_unread=tuple(one for one in unread if one not in set(_unread(before))),
    )


def _unread(documents: Sequence[ListedDocument]) -> tuple[tuple[str, str], ...]:
    return tuple((document.path, document.problem) for document in documents if document.problem)
