"""Downloads one file as `NAME.part`; renames it to `NAME` when length and checksum match.

`NAME.part.json` beside the part says of which file it is the beginning. An interrupted run resumes from there, and only
with bytes that the server says are of the same file.
"""

from __future__ import annotations

import errno
import fcntl
import hashlib
import json
import os
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urljoin, urlsplit

import httpx

from atomr_local.errors import InputError, ModelError
from atomr_local.fetching.client import Client, FetchError, Missing, Passing, checked_url, header_length, shown
from atomr_local.indexing.builds.space import RESERVE, free_space, human_size
from atomr_local.models.catalog.find import ModelRecord, read_record, record_path, sha256_of
from atomr_local.models.gguf import GgufHeader, check_model
from atomr_local.system.files import put, sync_directory

DIGESTS = {"sha256": 64, "sha1": 40, "md5": 32}
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,199}")
_RANGE = re.compile(r"bytes (?:(\d{1,18})-(\d{1,18})|\*)/(\d{1,18}|\*)")
_CHUNK = 1 << 18
_RESTARTS = 3  # new beginnings: wrong bytes in the end, or a file that changed meanwhile

Progress = Callable[[str, int, int], None]


@dataclass(frozen=True, slots=True)
class RemoteFile:
    """A file and what is published about it.

    Attributes:
        name: under which it is kept; never taken from the server unchecked.
        size: bytes.
        algorithm: sha256, sha1 or md5; empty if no checksum is published: then only the length can be checked.
        digest: hexadecimal, lower case.
    """

    url: str
    name: str
    size: int
    algorithm: str
    digest: str

    def __post_init__(self) -> None:
        checked_url(self.url)
        if not _NAME.fullmatch(self.name):
            raise FetchError(f"{self.name[:80]!r} is not a valid file name")
        if self.size <= 0:
            raise FetchError(f"{shown(self.url)}: the server says that it is empty")
        if self.algorithm and not re.fullmatch(rf"[0-9a-f]{{{DIGESTS[self.algorithm]}}}", self.digest):
            raise FetchError(f"{shown(self.url)}: what is published as its {self.algorithm} is none")


def remaining(file: RemoteFile, directory: Path) -> int:
    """Bytes still to download, estimated without reading existing files."""
    if (directory / file.name).exists():
        return 0
    part = directory / f"{file.name}.part"
    return file.size - min(file.size, part.stat().st_size if part.exists() else 0)


def require_room(directory: Path, wanted: int) -> None:
    """Make sure that `wanted` bytes beside a reserve are free.

    Raises:
        FetchError: they are not.
    """
    free = free_space(directory)
    if free < wanted + RESERVE:
        raise FetchError(
            f"the disk of {directory} is too full: {human_size(free)} are free, "
            f"{human_size(wanted + RESERVE)} are needed",
            hint="Free some space, or choose another directory with --to.",
        )


def download(client: Client, file: RemoteFile, directory: Path, progress: Progress = lambda *_: None) -> Path:
    """Fetch the file into `directory`, continuing from what an earlier run left; nothing is done where it is there.

    Args:
        progress: is given "fetching" or "verifying", bytes done and bytes in all.

    Raises:
        FetchError: see its message. A part stays, to continue from, unless its bytes are known to be wrong.
        KeyboardInterrupt: passed on; the part stays.
    """
    target = directory / file.name
    with part_of(target):
        return _Download(client, file, target, progress).run()


class _Download:
    """The work on one part, which this process holds alone."""

    def __init__(self, client: Client, file: RemoteFile, target: Path, progress: Progress) -> None:
        self._client = client
        self._file = file
        self._target = target
        self._part = target.with_name(f"{target.name}.part")
        self._notes = target.with_name(f"{target.name}.part.json")
        self._progress = progress
        self._restarts = 0

    def run(self) -> Path:
        if self._target.exists():
            if self._target.stat().st_size != self._file.size or not self._is_right(self._target):
                raise FetchError(
                    f"{self._target} already exists and differs from the published file",
                    hint="Move it away, then run the same command again.",
                )
            self._part.unlink(missing_ok=True)
            return self._target
        while True:
            if self._length() != self._file.size:
                self._client.persist(self._request, self._length)
            if self._is_right(self._part):
                break
            self._begin_anew(f"the {self._file.algorithm} of {self._file.name} is not the published one")
        self._part.replace(self._target)
        self._notes.unlink(missing_ok=True)
        sync_directory(self._target.parent)
        return self._target

    def _length(self) -> int:
        return self._part.stat().st_size

    def _request(self) -> None:
        """One request that brings the part to its full length.

        Raises:
            Passing: it did not; what came is kept.
        """
        validator = self._validator()
        begin = self._length()
        unsure = not self._file.algorithm and not _if_range(validator or {})
        if begin and (validator is None or begin > self._file.size or unsure):
            self._empty()
            begin = 0
        require_room(self._part.parent, self._file.size - begin)
        headers = {"accept-encoding": "identity"}
        if begin:
            headers["range"] = f"bytes={begin}-"
            if if_range := _if_range(validator or {}):
                headers["if-range"] = if_range
        with self._client.open(self._file.url, headers=headers, accepted=(200, 206, 416)) as response:
            if response.headers.get("content-encoding", "identity") != "identity":
                raise Passing(f"{shown(self._file.url)}: the server sends it recoded")
            self._check_length(response, begin)
            if begin and response.status_code == 206 and _changed(validator or {}, response):
                self._begin_anew(f"{self._file.name} has changed on the server")
                raise Passing(f"{self._file.name} has changed on the server")
            if response.status_code == 200:
                begin = 0  # the server knows no ranges, or the file is another one now
            if not begin:
                self._empty()
                self._note(response)
            self._receive(response, begin)

    def _check_length(self, response: httpx.Response, begin: int) -> None:
        """Make sure that the answer is what was asked for, of a file as long as is published."""
        said: int | None = None
        if response.status_code == 200:
            length = response.headers.get("content-length", "")
            said = int(length) if length.isdecimal() and length.isascii() else None
        else:
            match = _RANGE.fullmatch(response.headers.get("content-range", ""))
            if match is not None and match[3] != "*":
                said = int(match[3])
            if response.status_code == 416 or match is None or match[1] is None or int(match[1]) != begin:
                if begin:
                    self._begin_anew("the server does not give the rest of the file")
                raise Passing(f"{shown(self._file.url)}: the server does not give the part that was asked for")
        if said is not None and said != self._file.size:
            if begin:
                self._begin_anew(f"{self._file.name} has another length now")
            raise Passing(f"{shown(self._file.url)}: {said} bytes are offered where {self._file.size} are published")

    def _receive(self, response: httpx.Response, begin: int) -> None:
        done = begin
        with self._part.open("r+b") as stream:
            stream.seek(begin)
            try:
                for chunk in response.iter_raw():
                    if done + len(chunk) > self._file.size:
                        raise Passing(f"{shown(self._file.url)}: more bytes came than are published")
                    stream.write(chunk)
                    done += len(chunk)
                    self._client.limiter.spend(len(chunk))
                    self._progress("fetching", done, self._file.size)
            finally:
                stream.flush()
                os.fsync(stream.fileno())
        if done < self._file.size:
            raise Passing(f"{shown(self._file.url)}: the answer ended {self._file.size - done} bytes early")

    def _begin_anew(self, why: str) -> None:
        """Drop the part: what it holds is of no use.

        Raises:
            FetchError: that happened too often.
        """
        self._restarts += 1
        self._empty()
        if self._restarts >= _RESTARTS:
            raise FetchError(
                f"{why}, {self._restarts} times in a row; nothing of it was kept",
                hint="The published checksum and the file do not belong together: try again in some hours.",
            )
        self._client.notify(f"{why}: starting over")

    def _empty(self) -> None:
        os.truncate(self._part, 0)
        self._notes.unlink(missing_ok=True)

    def _note(self, response: httpx.Response) -> None:
        """Write down whose beginning the part will be, before its first byte."""
        notes = asdict(self._file) | _tags(response)
        put(self._notes, json.dumps(notes).encode())

    def _validator(self) -> dict[str, str] | None:
        """What is known of the file whose beginning the part is; None if it is of another file or of none."""
        try:
            notes = json.loads(self._notes.read_bytes())
        except (OSError, ValueError):
            return None
        known = ("size", "algorithm", "digest")
        if not isinstance(notes, dict) or any(notes.get(key) != getattr(self._file, key) for key in known):
            return None
        return {key: str(notes.get(key) or "") for key in ("etag", "last_modified")}

    def _is_right(self, path: Path) -> bool:
        if not self._file.algorithm:
            return path.stat().st_size == self._file.size
        digest = hashlib.new(self._file.algorithm, usedforsecurity=False)
        done = 0
        with path.open("rb") as stream:
            while chunk := stream.read(4 * _CHUNK):
                digest.update(chunk)
                done += len(chunk)
                self._progress("verifying", done, self._file.size)
        return done == self._file.size and digest.hexdigest() == self._file.digest


def _tags(response: httpx.Response) -> dict[str, str]:
    """What a server says of the state of a file."""
    return {key: response.headers.get(key.replace("_", "-"), "") for key in ("etag", "last_modified")}


def _if_range(validator: dict[str, str]) -> str:
    """A weak tag does not promise the same bytes."""
    etag = validator.get("etag", "")
    return etag if etag and not etag.startswith("W/") else validator.get("last_modified", "")


def _changed(validator: dict[str, str], response: httpx.Response) -> bool:
    """Whether an answer is of another file than the part; a server that says nothing is believed until the checksum."""
    now = _tags(response)
    return any(now[key] and validator[key] and now[key] != validator[key] for key in now)


@contextmanager
def part_of(target: Path) -> Iterator[None]:
    """`NAME.part`, made where it is not there, for this process alone. An empty one is removed again.

    Raises:
        FetchError: another process has it, or something cannot be written.
    """
    part = target.with_name(f"{target.name}.part")
    with writing(target):
        target.parent.mkdir(parents=True, exist_ok=True)
        with part.open("ab") as stream:
            try:
                fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise FetchError(f"another process is fetching {part}", hint="Wait until it has ended.") from None
            try:
                yield
            finally:
                with suppress(OSError):
                    if part.stat().st_size == 0:
                        part.unlink()


@contextmanager
def writing(target: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        full = error.errno in (errno.ENOSPC, errno.EDQUOT)
        reason = "the disk is full" if full else error.strerror or str(error)
        raise FetchError(
            f"{target} cannot be written: {reason}",
            hint="Free some space and run the same command again to resume." if full else "Check the disk.",
        ) from error


# Downloads a model: published metadata, the file, and the record kept beside it.

_MODELS_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
# Hugging Face's headers about a large file, in the redirect to where it is kept.
_LINKED_DIGEST, _LINKED_SIZE = "x-linked-etag", "x-linked-size"
_FETCHED = ".fetched"  # after the name of a file that is whole, but not yet looked into


@dataclass(frozen=True, slots=True)
class RemoteModel:
    """A model on a server; `file.algorithm` is empty if it publishes no checksum."""

    name: str
    licence: str
    file: RemoteFile

    def target(self, directory: Path) -> Path:
        return directory / f"{self.name}.gguf"


def name_of(url: str) -> str:
    """What the model at an address is to be called: the last part of the address.

    Raises:
        FetchError: it is not an address that can be downloaded from.
        InputError: it is none of a GGUF file.
    """
    last = _last_part(url)
    if not last.endswith(".gguf"):
        raise InputError(f"{shown(url)} is not the address of a GGUF file", hint="Its path ends in .gguf.")
    return checked_name(last.removesuffix(".gguf"))


def _last_part(url: str) -> str:
    return unquote(checked_url(url).path.rpartition("/")[2])


def checked_name(name: str) -> str:
    """A name that a model file may have.

    Raises:
        InputError: it may not.
    """
    if not _MODELS_NAME.fullmatch(name):
        raise InputError(
            f"{name[:80]!r} is not a valid model name", hint="Letters, digits, '.', '_' and '-': see --name."
        )
    return name


def direct(url: str) -> str:
    """The address of the file itself, of that of the page that shows it on Hugging Face.

    Raises:
        FetchError: it is not an address that can be downloaded from.
    """
    parts = checked_url(url)
    if parts.hostname == "huggingface.co" and "/blob/" in parts.path:
        return parts._replace(path=parts.path.replace("/blob/", "/resolve/", 1), query="").geturl()
    return url


def look_up(client: Client, url: str, name: str, licence: str = "") -> RemoteModel:
    """Ask the server for length and checksum; nothing is fetched.

    Raises:
        FetchError: it does not answer, refuses, or does not say how long the file is.
    """
    return RemoteModel(name, licence, _published(client, url, f"{name}.gguf{_FETCHED}"))


def _published(client: Client, url: str, name: str, sha256: str = "") -> RemoteFile:
    """What the server says of a file, under the name that it is to have; `sha256` counts more than the server's."""
    headers = client.head(url, enough=lambda answer: bool(published_digest(answer)))
    found = published_digest(headers)
    length = str(headers.get(_LINKED_SIZE if found else "content-length", ""))
    digest = sha256 or found
    return RemoteFile(url, name, header_length(url, length), "sha256" if digest else "", digest)


def published_digest(headers: httpx.Headers) -> str:
    """The SHA-256 in the headers; "" if there is none."""
    tag = headers.get(_LINKED_DIGEST, "").strip().removeprefix("W/").strip('"').lower()
    return tag if re.fullmatch(r"[0-9a-f]{64}", tag) else ""


def is_there(model: RemoteModel, directory: Path) -> bool:
    """Whether the model available under this name is the one that the server has, judged by what is known."""
    target = model.target(directory)
    if not target.is_file() or target.stat().st_size != model.file.size:
        return False
    if model.file.algorithm:
        return sha256_of(target) == model.file.digest
    record = read_record(target)
    return record is not None and record.url == model.file.url and sha256_of(target) == record.sha256


def pull(client: Client, model: RemoteModel, directory: Path, progress: Progress = lambda *_: None) -> GgufHeader:
    """Download the model, or resume; a model of this name is replaced once all is checked.

    Raises:
        FetchError: see its message; what was fetched stays, to continue from.
        ModelError: what came is no model; it is removed.
    """
    target = model.target(directory)
    fetched = download(client, model.file, directory, progress)
    try:
        check_model(fetched)
    except ModelError as error:
        fetched.unlink(missing_ok=True)
        raise ModelError(
            f"what {shown(model.file.url)} gives is not a usable model: {error.message}",
            hint="It was removed. Choose another file; a model in several parts cannot be used.",
        ) from error
    record = ModelRecord(
        url=shown(model.file.url),
        licence=model.licence,
        size=model.file.size,
        sha256=model.file.digest or sha256_of(fetched),
        published=bool(model.file.algorithm),
        fetched_at=datetime.now(UTC).isoformat(timespec="seconds"),
    )
    with writing(target):
        record_path(target).unlink(missing_ok=True)  # never beside another file than its own
        fetched.replace(target)
        put(record_path(target), record.text())
    return check_model(target)


# The file of an index on a server: its name, length and checksum.

_SUFFIX = ".tar.zst"
_FILE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,149}")


def look_up_index_file(client: Client, url: str, sha256: str = "") -> RemoteFile:
    """Ask the server for length and checksum; nothing is fetched.

    Args:
        sha256: the checksum that its maker published, in hexadecimal digits; it counts more than the server's.

    Raises:
        InputError: it is not the address of an exported index.
        FetchError: the server does not answer, refuses, or does not say how long the file is.
    """
    url = direct(url)
    name = _last_part(url)
    if not name.endswith(_SUFFIX) or not _FILE_NAME.fullmatch(name):
        raise InputError(
            f"{shown(url)} is not the address of an exported index",
            hint=f"Its path ends in a name such as wiki{_SUFFIX}.",
        )
    return _published(client, url, name, sha256)


# The files of a Wikipedia: a Wikimedia dump, or Parquet files of the data set wikimedia/wikipedia.

DATASET = "wikimedia/wikipedia"
LANGUAGE = re.compile(r"[a-z]{2,12}(?:-[a-z]{1,12}){0,3}")
# A Wikipedia in Wikidata's words, such as simplewiki.
SITE = re.compile(r"[a-z][a-z0-9_]{1,40}")
DATE = re.compile(r"20\d{6}")
_RUNS_TRIED = 6
_PAGES = 50
# Languages whose dumps are named otherwise.
_WIKIS = {"be-tarask": "be_x_old", "nb": "no"}


def dump_files(client: Client, base: str, language: str, date: str, max_size: int) -> list[RemoteFile]:
    """The files of the newest whole dump, or of the one of `date`; at most `max_size` bytes unless that is 0.

    Raises:
        FetchError: there is no such dump, or not even its first part is as small.
    """
    wiki = _WIKIS.get(language, language).replace("-", "_") + "wiki"
    name = re.compile(rf"{wiki}-(20\d{{6}})-pages-articles-multistream(\d*)\.xml(?:-p(\d+)p(\d+))?\.bz2")
    root = f"{base}/{wiki}"
    lists = (
        (algorithm, {file: digest for file, digest in sums.items() if name.fullmatch(file)})
        for algorithm, sums in _sums(client, root, wiki, date)
    )
    algorithm, found = next((entry for entry in lists if entry[1]), ("", {}))
    if not found:
        raise FetchError(f"{root}: no dump with a list of checksums", hint="Is the language right, and the date?")

    def order(file: str) -> tuple[int, int]:
        match = name.fullmatch(file)
        return (int(match[2] or 0), int(match[3] or 0)) if match else (0, 0)

    def remote(file: str) -> RemoteFile:
        url = f"{root}/{file.split('-')[1]}/{file}"
        return RemoteFile(url, file, client.size(url), algorithm, found[file])

    files = sorted(found, key=order)
    if order(files[0]) == (0, 0):  # the whole in one file
        whole = remote(files[0])
        if not max_size or whole.size <= max_size or len(files) == 1:
            return fitting([whole], max_size)
        files = files[1:]
    return fitting(map(remote, files), max_size)


def _sums(client: Client, root: str, wiki: str, date: str) -> Iterator[tuple[str, dict[str, str]]]:
    """Lists of checksums, with their algorithm, most likely first: file name → digest. A dump may be unfinished."""

    def listed(directory: str, label: str) -> Iterator[tuple[str, dict[str, str]]]:
        for algorithm in ("sha1", "md5"):
            try:
                text = client.document(f"{root}/{directory}/{wiki}-{label}-{algorithm}sums.txt")
            except Missing:
                continue
            yield algorithm, parse_sums(text)

    if date:
        yield from listed(date, date)
        return
    yield from listed("latest", "latest")
    try:
        index = client.document(f"{root}/").decode("utf-8", "replace")
    except Missing:
        return
    for run_date in sorted(set(re.findall(r'href="(20\d{6})/?"', index)), reverse=True)[:_RUNS_TRIED]:
        yield from listed(run_date, run_date)


def parse_sums(text: bytes) -> dict[str, str]:
    """The lines of sha1sum and md5sum: name → digest. What is no such line is skipped."""
    found = {}
    for line in text.decode("utf-8", "replace").splitlines():
        match = re.fullmatch(r"([0-9A-Fa-f]{32}|[0-9A-Fa-f]{40})[ \t]+\*?([A-Za-z0-9._-]+)", line.strip())
        if match:
            found[match[2]] = match[1].lower()
    return found


def parquet_files(client: Client, base: str, language: str, date: str, max_size: int) -> list[RemoteFile]:
    """The data set's files of a language, of its newest date or of `date`; at most `max_size` bytes unless that is 0.

    All are of one revision, so that a change of the data set meanwhile does no harm.

    Raises:
        FetchError: there are none, their list is not whole, or not even the first is as small.
    """
    api = f"{base}/api/datasets/{DATASET}"
    about = _json(client, api)[0]
    revision = about.get("sha") if isinstance(about, dict) else None
    if not isinstance(revision, str) or not re.fullmatch(r"[0-9a-f]{40}", revision):
        raise FetchError(f"{api}: no revision is told", hint="Is the address right?")
    if not date:
        form = re.compile(rf"(20\d{{6}})\.{re.escape(language)}")
        paths = [form.fullmatch(str(entry.get("path"))) for entry in _tree(client, f"{api}/tree/{revision}")]
        date = max((match[1] for match in paths if match), default="")
        if not date:
            raise FetchError(f"the data set {DATASET} has no language {language!r}", hint="Such as simple, en or de.")
    folder = f"{date}.{language}"
    name = re.compile(rf"{re.escape(folder)}/train-(\d{{5}})-of-(\d{{5}})\.parquet")
    found: dict[int, RemoteFile] = {}
    of = 0
    for entry in _tree(client, f"{api}/tree/{revision}/{folder}"):
        match = name.fullmatch(str(entry.get("path")))
        if match is None:
            continue
        lfs = entry.get("lfs")
        digest = str(lfs.get("oid", "")).removeprefix("sha256:") if isinstance(lfs, dict) else ""
        size = lfs.get("size") if isinstance(lfs, dict) else None
        url = f"{base}/datasets/{DATASET}/resolve/{revision}/{match[0]}"
        local = f"wikipedia-{folder}-{match[1]}-of-{match[2]}.parquet"
        found[int(match[1])] = RemoteFile(url, local, size if isinstance(size, int) else 0, "sha256", digest)
        of = int(match[2])
    if not found or sorted(found) != list(range(of)):
        raise FetchError(f"{api}: the list of the files of {folder} is incomplete", hint="Is the date right?")
    return fitting((found[number] for number in range(of)), max_size)


def _tree(client: Client, url: str) -> Iterator[dict[str, Any]]:
    """The entries of a folder, page by page."""
    for _ in range(_PAGES):
        entries, following = _json(client, url)
        if not isinstance(entries, list):
            raise FetchError(f"{shown(url)}: no list of files", hint="Is the address right?")
        yield from (entry for entry in entries if isinstance(entry, dict))
        if not following:
            return
        if urlsplit(following)[:2] != urlsplit(url)[:2]:
            raise FetchError(f"{shown(url)}: its next page is on another server")
        url = following
    raise FetchError(f"{shown(url)}: more than {_PAGES} pages of files")


def _json(client: Client, url: str) -> tuple[Any, str]:
    """A JSON document, and the address of the page after it or ""."""
    text, headers = client.persist(lambda: client.body(url, 32 << 20))
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        raise FetchError(f"{shown(url)}: no JSON", hint="Is the address right?") from None
    match = re.search(r'<([^<>]+)>\s*;\s*rel="next"', headers.get("link", ""))
    return data, urljoin(url, match[1]) if match else ""


def fitting(files: Iterable[RemoteFile], max_size: int) -> list[RemoteFile]:
    """The first of the files that together are no larger than `max_size`; all where that is 0.

    Raises:
        FetchError: the first one is larger.
    """
    taken: list[RemoteFile] = []
    total = 0
    for file in files:
        total += file.size
        if max_size and total > max_size:
            if not taken:
                raise FetchError(
                    f"{file.name} has {human_size(file.size)}, more than the {human_size(max_size)} that are wanted",
                    hint="Raise --max-size, or try the other --kind.",
                )
            break
        taken.append(file)
    return taken
