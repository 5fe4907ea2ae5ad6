"""The files of a folder: which of them are wanted, and opening them without leaving the folder."""

from __future__ import annotations

import errno
import hashlib
import os
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from atomr_local.errors import InputError, MissingPartError
from atomr_local.indexing.readers.documents.document import UnreadableError
from atomr_local.system.installation import add_extra

MOST_BYTES = 1 << 30  # of one file
_MOST_DEPTH = 64
_CHUNK = 1 << 20


@dataclass(frozen=True, slots=True)
class FoundFile:
    """A file of the folder.

    Attributes:
        path: below the folder, with "/" between its parts; bytes that are no UTF-8 are spelled out.
        place: where it is.
        size: in bytes.
        modified, changed: nanoseconds since 1970, of its content, and of it or its name and permissions.
        problem: why it cannot be read, as a clause; "" if nothing is known to be wrong.
    """

    path: str
    place: Path
    size: int = 0
    modified: int = 0
    changed: int = 0
    problem: str = ""


@dataclass(frozen=True)
class Folder:
    """A folder of documents, or a single one.

    Attributes:
        exclude: patterns as in a .gitignore file.
        hidden: take files and folders whose names begin with a dot.
    """

    root: Path
    exclude: tuple[str, ...] = ()
    hidden: bool = False

    def files(self) -> Iterator[FoundFile]:
        """The files, by path. Links are not followed; one that leads out of the folder is given with its problem.

        Raises:
            InputError: the folder is missing or cannot be read.
            MissingPartError: patterns are given, and the package that understands them is not installed.
        """
        excluded = _excluded(self.exclude)
        try:
            root = self.root.resolve(strict=True)
            if not root.is_dir():
                status = root.stat()
                yield FoundFile(spelled(root.name), root, status.st_size, status.st_mtime_ns, status.st_ctime_ns)
                return
            os.scandir(root).close()
        except OSError as error:
            raise InputError(
                f"{self.root} cannot be read: {error.strerror or error}", hint="Is it there, and may you read it?"
            ) from error
        yield from _below(root, root, "", excluded, self.hidden, 0)

    def open(self, file: FoundFile) -> int:
        """A descriptor of the file, at its beginning; nothing but a regular file of the folder is opened.

        Raises:
            UnreadableError: it cannot be opened, or was exchanged for something else.
        """
        try:
            handle = os.open(file.place, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_NOFOLLOW | os.O_CLOEXEC)
        except OSError as error:
            reason = "it is a link now" if error.errno == errno.ELOOP else str(error.strerror or error).lower()
            raise UnreadableError(f"it cannot be opened: {reason}") from error
        try:
            status = os.fstat(handle)
            if not stat.S_ISREG(status.st_mode) or not _is_inside(handle, self.root.resolve()):
                raise UnreadableError("it is no regular file of the folder any more")
            if status.st_size > MOST_BYTES:
                raise UnreadableError(f"it is larger than {MOST_BYTES >> 20} MiB")
        except BaseException:
            os.close(handle)
            raise
        return handle


def digest_of(handle: int) -> str:
    """SHA-256 of an open file, which stands at its beginning afterwards.

    Raises:
        UnreadableError: it cannot be read.
    """
    digest = hashlib.sha256()
    try:
        while chunk := os.read(handle, _CHUNK):
            digest.update(chunk)
        os.lseek(handle, 0, os.SEEK_SET)
    except OSError as error:
        raise UnreadableError(f"it cannot be read: {error.strerror}") from error
    return digest.hexdigest()


def _below(root: Path, folder: Path, prefix: str, excluded: Any, hidden: bool, depth: int) -> Iterator[FoundFile]:
    try:
        with os.scandir(folder) as entries:
            found = sorted(entries, key=lambda entry: os.fsencode(entry.name))
    except OSError as error:
        yield FoundFile(prefix or ".", folder, problem=f"the folder cannot be read: {_reason(error)}")
        return
    for entry in found:
        path = f"{prefix}{spelled(entry.name)}"
        if (entry.name.startswith(".") and not hidden) or excluded(path):
            continue
        try:
            if entry.is_symlink():
                target = Path(entry.path).resolve()
                if not target.is_relative_to(root):
                    yield FoundFile(path, Path(entry.path), problem="it is a link that leads out of the folder")
            elif entry.is_dir():
                if excluded(f"{path}/"):
                    continue
                if depth >= _MOST_DEPTH:
                    yield FoundFile(path, Path(entry.path), problem=f"folders are read {_MOST_DEPTH} deep only")
                    continue
                yield from _below(root, Path(entry.path), f"{path}/", excluded, hidden, depth + 1)
            elif entry.is_file():
                status = entry.stat(follow_symlinks=False)
                yield FoundFile(path, Path(entry.path), status.st_size, status.st_mtime_ns, status.st_ctime_ns)
            else:
                yield FoundFile(path, Path(entry.path), problem="it is no regular file")
        except (OSError, RuntimeError) as error:  # gone meanwhile, or a loop of links
            yield FoundFile(path, Path(entry.path), problem=f"it cannot be read: {_reason(error)}")


def _reason(error: Exception) -> str:
    return str(getattr(error, "strerror", "") or error).lower()


def _excluded(patterns: Sequence[str]) -> Any:
    """Whether a path is excluded; one of a folder ends with "/"."""
    if not patterns:
        return lambda _: False
    try:
        from pathspec import GitIgnoreSpec
    except ImportError as error:
        raise MissingPartError(
            "--exclude needs the extra `documents`", hint=f"Install it with: {add_extra('documents')}"
        ) from error
    try:
        spec = GitIgnoreSpec.from_lines(patterns)
    except ValueError as error:
        raise InputError(
            f"a pattern of --exclude is not understood: {error}", hint="Write it as in .gitignore."
        ) from error
    return spec.match_file


def spelled(name: str) -> str:
    """A name of a file as text; bytes that are no UTF-8 are spelled out."""
    return os.fsencode(name).decode("utf-8", "backslashreplace")


def _is_inside(handle: int, root: Path) -> bool:
    """Whether the open file lies in the folder, or is it; True where the system does not tell."""
    try:
        real = Path(f"/proc/self/fd/{handle}").readlink()
    except OSError:
        return True
    return real.is_relative_to(root)
