"""The files of a folder: which of them are wanted, and opening them without leaving the folder."""

from __future__ import annotations

import errno
import hashlib
import os
import re
import stat
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from atomr_local.errors import InputError, MissingPartError
from atomr_local.indexing.readers.documents.document import UnreadableError
from atomr_local.indexing.readers.known import known
from atomr_local.system.files import read_regular
from atomr_local.system.installation import add_extra

MOST_BYTES = 1 << 30  # of one file
_MOST_DEPTH = 64
_CHUNK = 1 << 20

_KNOWN = known("documents/kinds.toml")["folders"]
_OF_PROGRAMS = frozenset(_KNOWN["of_programs"])
_LEFT_OUT = [(what, re.compile(names, re.S)) for what, names in _KNOWN["left_out"].items()]
_BACKUP = re.compile(r"(.+)\.(?:bak|orig)", re.S | re.I)  # left out where the file itself is there
_KINDS_TOLD = 8
_GITIGNORE = ".gitignore"
_MOST_RULES, _LONGEST_RULE = 5_000, 1_000
_MOST_STARS = 4  # of a kind in a pattern: each further one takes fifty times as long
_Rule = Callable[[str], bool | None]  # whether a path is left out; None where no pattern is about it


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
    """A folder of documents, or a single one. What programs keep for themselves in it is left out.

    Attributes:
        exclude: patterns as in a .gitignore file; "!node_modules/" takes in what is left out by its name.
        hidden: take files and folders whose names begin with a dot.
        ocr: read scanned pages of PDF by OCR in these languages, as in "deu+eng".
        gitignore: leave out what the .gitignore files in it leave out.
    """

    root: Path
    exclude: tuple[str, ...] = ()
    hidden: bool = False
    ocr: str = ""
    gitignore: bool = False

    def files(self, left_out: Counter[str] | None = None) -> Iterator[FoundFile]:
        """The files, by path. Links are not followed; one that is broken or leads out of the folder is given with its
        problem.

        Args:
            left_out: counts those that are left out, by what they are, such as "files in node_modules".

        Raises:
            InputError: the folder is missing or cannot be read.
            MissingPartError: patterns are given, and the package that understands them is not installed.
        """
        excluded = _patterns(self.exclude, "--exclude")
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
        wanted = frozenset(one[1:].strip("/").rpartition("/")[2] for one in self.exclude if one.startswith("!"))
        walk = _Walk(root, excluded, wanted, self.hidden, left_out)
        yield from walk.below(root, "", [] if self.gitignore else None, 0)

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


@dataclass(frozen=True, slots=True)
class _Walk:
    root: Path
    excluded: _Rule
    wanted: frozenset[str]
    hidden: bool
    left_out: Counter[str] | None

    def below(self, folder: Path, prefix: str, rules: Sequence[_Rule] | None, depth: int) -> Iterator[FoundFile]:
        """What is in a folder; `rules` are those of the .gitignore files, the nearest last."""
        try:
            with os.scandir(folder) as entries:
                found = sorted(entries, key=lambda entry: os.fsencode(entry.name))
        except OSError as error:
            yield FoundFile(prefix or ".", folder, problem=f"the folder cannot be read: {_reason(error)}")
            return
        if rules is not None and any(one.name == _GITIGNORE and one.is_file(follow_symlinks=False) for one in found):
            try:
                rules = [*rules, _rule(folder, prefix)]
            except OSError as error:
                yield FoundFile(f"{prefix}{_GITIGNORE}", folder, problem=f"it leaves out nothing: {_reason(error)}")
        originals = {one.name for one in found}
        originals |= {one.name.rpartition(".")[0] for one in found if not _BACKUP.fullmatch(one.name)}
        for entry in found:
            path, place = f"{prefix}{spelled(entry.name)}", Path(entry.path)
            try:
                is_folder = entry.is_dir(follow_symlinks=False)
                if what := self._why_left_out(entry, f"{path}/" if is_folder else path, originals, rules or ()):
                    if self.left_out is not None:
                        self.left_out[what] += sum(len(files) for *_, files in os.walk(place)) if is_folder else 1
                elif is_folder and depth >= _MOST_DEPTH:
                    yield FoundFile(path, place, problem=f"folders are read {_MOST_DEPTH} deep only")
                elif is_folder:
                    yield from self.below(place, f"{path}/", rules, depth + 1)
                elif problem := self._problem(entry):
                    yield FoundFile(path, place, problem=problem)
                elif not entry.is_symlink():
                    status = entry.stat(follow_symlinks=False)
                    yield FoundFile(path, place, status.st_size, status.st_mtime_ns, status.st_ctime_ns)
            except (OSError, RuntimeError) as error:  # gone meanwhile, or a loop of links
                yield FoundFile(path, place, problem=f"it cannot be read: {_reason(error)}")

    def _problem(self, entry: os.DirEntry[str]) -> str:
        """Why what is no folder cannot be read; "" if it can, or is a link within the folder."""
        if not entry.is_symlink():
            return "" if entry.is_file() else "it is no regular file"
        if not Path(entry.path).exists():
            return "it is a broken link: what it leads to is not there"
        inside = Path(entry.path).resolve().is_relative_to(self.root)
        return "" if inside else "it is a link that leads out of the folder"

    def _why_left_out(self, entry: os.DirEntry[str], path: str, originals: set[str], rules: Sequence[_Rule]) -> str:
        """What it is that is left out; "" if it is not. `path` ends with "/" for a folder."""
        name, is_hidden = entry.name, entry.name[0] == "." and not self.hidden
        if name in self.wanted:
            pass
        elif path.endswith("/"):
            if (
                is_hidden
                or name in _OF_PROGRAMS
                or any(os.access(f"{entry.path}/{one}", os.F_OK) for one in _KNOWN["in_them"])
            ):
                return f"files in {spelled(name)}"
        elif what := next((what for what, names in _LEFT_OUT if names.fullmatch(name)), ""):
            return what
        elif (backup := _BACKUP.fullmatch(name)) is not None and backup[1] in originals:
            return "backup files"
        elif is_hidden:
            return "hidden files"
        if self.excluded(path):
            return "files that --exclude names"
        decided = (found for rule in reversed(rules) if (found := rule(path)) is not None)
        return f"files that {_GITIGNORE} names" if next(decided, False) else ""


def _rule(folder: Path, prefix: str) -> _Rule:
    """What the .gitignore file of the folder that is called so says of a path.

    Raises:
        OSError: it cannot be read, or has too many patterns.
    """
    lines = read_regular(folder / _GITIGNORE, _CHUNK).decode("utf-8-sig", "replace").splitlines()
    if len(lines) > _MOST_RULES:
        raise OSError(errno.EFBIG, f"it has more than {_MOST_RULES} patterns")
    rule = _patterns([line for line in lines if _is_pattern(line)], "--gitignore")
    return lambda path: rule(path.removeprefix(prefix))


def _is_pattern(line: str) -> bool:
    """Whether it is understood, and matched in little time. Git passes over what it does not understand too."""
    stars = Counter(len(run) == 1 for run in re.findall(r"\*+", line))
    if len(line) > _LONGEST_RULE or max(stars.values(), default=0) > _MOST_STARS:
        return False
    try:
        _patterns([line], "--gitignore")
    except InputError:
        return False
    return True


def told_left_out(left_out: Mapping[str, int]) -> str:
    """In words; "" where nothing is left out."""
    told = [f"{count} {what if count > 1 else what.replace('files', 'file', 1)}" for what, count in left_out.items()]
    more = sum([*left_out.values()][_KINDS_TOLD:])
    return f"{', '.join(told[:_KINDS_TOLD])}{f' and {more} more' if more else ''}"


def _reason(error: Exception) -> str:
    return str(getattr(error, "strerror", "") or error).lower()


def _patterns(lines: Sequence[str], option: str) -> _Rule:
    """What patterns as in a .gitignore file say of a path; one of a folder ends with "/"."""
    if not lines:
        return lambda _: None
    try:
        from pathspec import GitIgnoreSpec, PathSpec

        files = GitIgnoreSpec.from_lines(lines)
    except ImportError as error:
        raise MissingPartError(
            f"{option} needs the extra `documents`", hint=f"Install it with: {add_extra('documents')}"
        ) from error
    except (ValueError, re.error) as error:
        raise InputError(
            f"a pattern of {option} is not understood: {error}", hint="Write it as in .gitignore."
        ) from error
    folders = PathSpec(files.patterns)  # by the last pattern: the folders above it are not left out
    return lambda path: (folders if path.endswith("/") else files).check_file(path).include


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
