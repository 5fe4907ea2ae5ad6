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
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path

import httpx

from atomr_local.fetching.client import Client, FetchError, Passing, checked_url, shown
from atomr_local.indexing.builds.space import RESERVE, free_space, human_size
from atomr_local.output_files import put, sync_directory

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
    with writing(target):
        directory.mkdir(parents=True, exist_ok=True)
        with held(directory / f"{file.name}.part"):
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
        notes = asdict(self._file) | {
            "etag": response.headers.get("etag", ""),
            "last_modified": response.headers.get("last-modified", ""),
        }
        put(self._notes, json.dumps(notes).encode())

    def _validator(self) -> dict[str, str] | None:
        """What is known of the file whose beginning the part is; None if it is of another file or of none."""
        try:
            notes = json.loads(self._notes.read_bytes())
        except (OSError, ValueError):
            return None
        same = isinstance(notes, dict) and all(
            notes.get(key) == getattr(self._file, key) for key in ("size", "algorithm", "digest")
        )
        if not same:
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


def _if_range(validator: dict[str, str]) -> str:
    """A weak tag does not promise the same bytes."""
    etag = validator.get("etag", "")
    return etag if etag and not etag.startswith("W/") else validator.get("last_modified", "")


def _changed(validator: dict[str, str], response: httpx.Response) -> bool:
    """Whether an answer is of another file than the part; a server that says nothing is believed until the checksum."""
    now = {"etag": response.headers.get("etag", ""), "last_modified": response.headers.get("last-modified", "")}
    return any(now[key] and validator[key] and now[key] != validator[key] for key in now)


@contextmanager
def held(part: Path) -> Iterator[None]:
    """The part, made where it is not there, for this process alone. An empty one is removed again."""
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
