"""Lines of a plain or packed file in UTF-8, whatever its encoding, with the position in the file on disk."""

from __future__ import annotations

import bz2
import codecs
import gzip
import io
import lzma
import os
import re
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, TypeVar, cast

from atomr_local.errors import InputError, MissingPartError
from atomr_local.indexing.readers.known import known
from atomr_local.system.files import HEAD, FileKind, kind_of, open_regular
from atomr_local.system.installation import add_extra
from atomr_local.system.sanitize import sanitize_line

# Text files of any encoding as UTF-8: by byte order mark, by XML declaration, or by the zeros of UTF-16.

# The longer first: the mark of UTF-32 begins with that of UTF-16.
_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_DECLARATION = re.compile(rb"""<\?xml\s[^>]{0,80}?\bencoding\s*=\s*["']([A-Za-z][\w.:-]{0,39})["']""")
# Without a mark, text that begins with two ASCII characters shows its encoding by where the zeros are.
_ZEROS = re.compile(rb"(?P<le>[\t\n\r -~]\x00[\t\n\r -~]\x00)|(?P<be>\x00[\t\n\r -~]\x00[\t\n\r -~])")
# As editors and Python take it from a comment in the first lines.
_CODING = re.compile(rb"(?:[^\n]*\n)?[^\n]{0,200}?\bcoding[:=][ \t]*([-\w.]{1,40})")
# Encodings of text alone: the codecs of Python hold others, such as one that unpacks.
_TEXT = re.compile(
    r"utf-(?:7|8|16|32).*|ascii|iso8859-\d+|iso2022_\w+|cp\d+|koi8-\w|mac-\w+|gb\w+|hz|big5\w*|shift_\w+|euc_\w+|tis-620|johab"
)
_LOOKED_AT = 256
_BLOCK = 1 << 16


def encoding_of(head: bytes) -> tuple[str, int]:
    """The encoding of a text that begins so, UTF-8 where nothing says other, and the length of its mark in bytes."""
    for mark, name in _MARKS:
        if head.startswith(mark):
            return name, len(mark)
    if zeros := _ZEROS.match(head):
        return ("utf-16-le" if zeros["le"] else "utf-16-be"), 0
    declared = _DECLARATION.match(head.lstrip()[:_LOOKED_AT])
    return (text_encoding(declared[1]) if declared else "") or "utf-8", 0


_KNOWN = known("encodings.toml")
_CODE_PAGE = re.compile(r"(?:windows|win|cp|ibm|ms)-?(\d{3,5}|31j)")
_BIDI = re.compile(r"(iso-8859-[68])-[ie]")


def text_encoding(declared: bytes | str) -> str:
    """The codec of an encoding that a text in ASCII characters declares; "" if there is none."""
    label = declared if isinstance(declared, str) else declared.decode("ascii", "replace")
    label = label.strip().casefold().replace("_", "-")
    while label.startswith("x-"):
        label = label[2:]
    if page := _CODE_PAGE.fullmatch(label):
        label = f"cp{page[1].replace('31j', '932')}"
    label = _KNOWN["labels"].get(label, _BIDI.sub(r"\1", label))
    try:
        name = codecs.lookup(label).name
    except (LookupError, ValueError):
        return ""
    # UTF-16 that can be read as ASCII is none, whatever is declared.
    return name if _TEXT.fullmatch(name) and not name.startswith(("utf-16", "utf-32")) else ""


def decoded(data: bytes, declared: str = "") -> str:
    """A whole text, lines ending in a line feed; what cannot be decoded becomes the replacement character.

    A byte order mark tells the encoding. Otherwise a text that can be UTF-8 is UTF-8, whatever it declares: programs
    copy a declaration along when they convert the text.

    Args:
        declared: the label of its encoding, as a page or the header of a mail gives it; "" if there is none.
    """
    name, mark = encoding_of(data[:_BLOCK])
    data = data[mark:]
    if not mark and not name.startswith(("utf-16", "utf-32")):
        name = _encoding_in(data, declared or ("" if name == "utf-8" else name))
    text = data.decode(name, "replace")
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _encoding_in(data: bytes, declared: str) -> str:
    name = text_encoding(declared)
    if data.isascii():  # of encodings such as ISO-2022-JP too
        return name or "utf-8"
    try:
        codecs.getincrementaldecoder("utf-8")().decode(data)  # the last character may be cut off
        return "utf-8"
    except UnicodeDecodeError:
        pass
    if not name and declared.casefold().startswith(("utf-16", "utf-32")):
        return codecs.lookup(declared).name
    if not name and (comment := _CODING.match(data[:_BLOCK])):
        name = text_encoding(comment[1])
    for codec in (_KNOWN["as_browsers"].get(name, name) or "utf-8", "utf-8"):
        if _mostly_fits(data, codec):
            return codec
    return _likeliest(data)


def _mostly_fits(data: bytes, codec: str) -> bool:
    """Whether few of the characters that are not ASCII are damaged."""
    text = data.decode(codec, "replace")
    return 4 * text.count("\ufffd") <= len(text) - len(text.encode("ascii", "ignore"))


_WESTERN = [frozenset(letters) for letters in _KNOWN["western"]["letters"]]
_SIGNS = frozenset(_KNOWN["western"]["signs"])
_POWER = re.compile(r"(?<=[m\d])[¹²³]")


def _likeliest(data: bytes) -> str:
    """The likeliest encoding of a text that declares none and is no UTF-8."""
    first = re.search(rb"[^\x00-\x7f]", data)
    start = max(0, first.start() - _BLOCK // 2) if first else 0
    sample = data[start : start + _BLOCK]
    western = _POWER.sub("", sample.decode("cp1252", "replace"))
    others = {character for character in western if not character.isascii()} - _SIGNS
    letters = {character for character in western if character.isalpha()}
    if any({letter.lower() for letter in others} <= language for language in _WESTERN) and len(letters) > len(others):
        return "cp1252"
    try:
        from charset_normalizer import from_bytes
    except ImportError:
        return "cp1252"
    best = from_bytes(sample).best()
    return best.encoding if best is not None else "cp1252"


def is_text(head: bytes) -> bool:
    """Whether a file that begins so is text."""
    name, mark = encoding_of(head)
    if mark:
        return True
    if name.startswith(("utf-16", "utf-32")):
        head = head[: len(head) & ~3].decode(name, "replace").encode("utf-8", "replace")
    if b"\x00" in head:
        return False
    odd = sum(byte < 32 and byte not in b"\t\n\r\f\x1b" for byte in head)
    return odd * 50 <= len(head)


def as_utf8(stream: BinaryIO) -> tuple[BinaryIO, int]:
    """The stream from its beginning in UTF-8, without a byte order mark, and the bytes of a mark that were read.

    What is no character of its encoding becomes U+FFFD. A stream in UTF-8 is given back as it is.
    """
    head = cast(Any, stream).peek(_LOOKED_AT)[:_LOOKED_AT]
    name, mark = encoding_of(head)
    stream.read(mark)
    if name in {"utf-8", "ascii"}:
        return stream, mark
    return _transcoded(stream, name), mark


def head_as_utf8(head: bytes) -> bytes:
    """The beginning of a text in UTF-8."""
    name, mark = encoding_of(head)
    if name == "utf-8":
        return head[mark:]
    return codecs.getincrementaldecoder(name)("replace").decode(head[mark:]).encode("utf-8", "replace")


class _Pulled(io.RawIOBase):
    """A stream of what `read` gives: at most as many bytes as it is asked for, and none at the end."""

    def __init__(self, read: Callable[[int], bytes], close: Callable[[], None]) -> None:
        self._read, self._close = read, close

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        found = self._read(len(buffer))
        buffer[: len(found)] = found
        return len(found)

    def close(self) -> None:
        if not self.closed:
            self._close()
        super().close()


def _buffered(read: Callable[[int], bytes], close: Callable[[], None], size: int) -> BinaryIO:
    """A stream as :class:`_Pulled`, with lines found in C: `readline` of gzip takes longer than what a line is for."""
    return cast(BinaryIO, io.BufferedReader(_Pulled(read, close), size))


def _transcoded(stream: BinaryIO, encoding: str) -> BinaryIO:
    decoder = codecs.getincrementaldecoder(encoding)("replace")
    left, ended = b"", False

    def read(size: int) -> bytes:
        nonlocal left, ended
        while not left and not ended:
            block = stream.read(_BLOCK)
            ended = not block
            left = decoder.decode(block, ended).encode("utf-8", "replace")
        found, left = left[:size], left[size:]
        return found

    return _buffered(read, stream.close, _BLOCK)


# Unpacks files, each by its first bytes, one block at a time.

READ_PACKED = ("gzip", "bzip2", "xz", "Zstandard", "7-Zip")  # by their names in file_kinds
_STANDARD: dict[bytes, Callable[..., Any]] = {b"\x1f\x8b": gzip.open, b"BZh": bz2.open, b"\xfd7zXZ\x00": lzma.open}
_ZSTANDARD, _SEVEN_ZIP = b"\x28\xb5\x2f\xfd", b"7z\xbc\xaf\x27\x1c"
_BUFFER = 1 << 20
_PIPE = 1 << 16


def _zstandard(raw: BinaryIO) -> BinaryIO:
    import pyarrow as pa

    stream = pa.CompressedInputStream(pa.PythonFile(raw, mode="r"), "zstd")

    def read(size: int) -> bytes:
        try:
            return bytes(stream.read(size))
        except OSError as error:
            if "Truncated" in str(error):
                raise EOFError from error
            raise

    return _buffered(read, lambda: None, _BUFFER)


def _seven_zip(raw: BinaryIO) -> BinaryIO:
    """The one file of an archive. The library gives what it unpacks to a writer, so it runs in a thread of its own."""
    archive = _archive_of_one(raw)
    source, sink = os.pipe()
    failure: Exception | None = None
    unpacked, into = os.fdopen(source, "rb", buffering=0), os.fdopen(sink, "wb", buffering=0)

    def unpack() -> None:
        nonlocal failure
        try:
            archive.extract(factory=_factory(into.write))
        except BrokenPipeError:
            pass  # whoever reads has closed it
        except Exception as error:
            failure = error
        finally:
            with suppress(OSError):
                into.close()

    def read(size: int) -> bytes:
        found = unpacked.read(min(size, _PIPE)) or b""
        if not found and failure is not None:
            raise OSError(f"a damaged 7-Zip file: {failure}") from failure
        return found

    def close() -> None:
        unpacked.close()
        thread.join()

    thread = threading.Thread(target=unpack, daemon=True)
    thread.start()
    return _buffered(read, close, _BUFFER)


def _archive_of_one(raw: BinaryIO) -> Any:
    """A 7-Zip archive, whose only file is not locked.

    Raises:
        MissingPartError, OSError, InputError: as of :func:`decompressed`.
    """
    try:
        import py7zr
    except ImportError as error:
        raise MissingPartError(
            "reading 7-Zip files needs the package py7zr",
            hint=f"Unpack the file first, or install the package: {add_extra('7z')}",
        ) from error
    try:
        archive = py7zr.SevenZipFile(raw)
        names = [item.filename for item in archive.list() if not item.is_directory]
        locked = archive.needs_password()
    except Exception as error:  # of many kinds, without a common base
        raise OSError(f"a damaged 7-Zip file: {error}") from error
    if locked or len(names) != 1:
        what = "is locked with a password" if locked else f"holds {len(names)} files"
        raise InputError(
            f"{getattr(raw, 'name', 'the file')}: the 7-Zip archive {what}",
            hint="Unpack it first, and give the files in it.",
        )
    return archive


def _factory(put: Callable[[bytes], int | None]) -> Any:
    """What makes the library's writer of a file."""
    from py7zr.io import Py7zIO, WriterFactory

    class Writer(Py7zIO):  # type: ignore[misc]
        written = 0

        def write(self, data: bytes | bytearray) -> int:
            rest = memoryview(bytes(data))
            while rest:
                rest = rest[put(bytes(rest[:_PIPE])) or 0 :]
            self.written += len(data)
            return len(data)

        def read(self, size: int | None = None) -> bytes:
            return b""

        def seek(self, offset: int, whence: int = 0) -> int:
            return offset

        def flush(self) -> None:
            """Nothing is kept."""

        def size(self) -> int:
            return self.written

    class Factory(WriterFactory):  # type: ignore[misc]
        def create(self, filename: str) -> Any:
            return Writer()

    return Factory()


def decompressed(raw: BinaryIO) -> BinaryIO:
    """The content of a file that stands at its beginning, unpacked where it is packed.

    Raises (here or while it is read):
        EOFError: the packed file is cut short.
        OSError, zlib.error, lzma.LZMAError: it is damaged.
        InputError: an archive that does not hold one file alone.
        MissingPartError: reading this kind needs a package that is not installed.
    """
    head = raw.read(6)
    raw.seek(0)
    for beginning, opened in _STANDARD.items():
        if head.startswith(beginning):
            stream = opened(raw)
            return _buffered(stream.read1, stream.close, _PIPE)  # what stands before damage comes before the error
    if head.startswith(_ZSTANDARD):
        return _zstandard(raw)
    if head.startswith(_SEVEN_ZIP):
        return _seven_zip(raw)
    return cast(BinaryIO, io.BufferedReader(cast(io.RawIOBase, raw), _BUFFER))


MAX_LINE = 16 * 1024 * 1024
_SAMPLES = 5
_WHOLE_FILES = 100
_TRIAL = 200
T = TypeVar("T")


@dataclass
class Skipped:
    """Lines that could not be used: how many, and the first few as (file, line number, reason).

    Line 0 is the whole file: far more of these are kept, because each is one of the user's inputs.
    """

    count: int = 0
    samples: list[tuple[str, int, str]] = field(default_factory=list)

    @classmethod
    def restored(cls, data: dict[str, Any]) -> Skipped:
        """What a ledger kept, by the names of the fields. Raises KeyError, TypeError or ValueError where it is none."""
        samples = [(str(file), int(line), str(reason)) for file, line, reason in data["samples"]]
        return cls(int(data["count"]), samples)

    def add(self, path: Path, line: int, reason: str) -> None:
        self.count += 1
        if len(self.samples) < (_SAMPLES if line else _WHOLE_FILES):
            self.samples.append((str(path), line, sanitize_line(reason)[:200]))


class FileReader:
    """A file read from its beginning, unpacked, and how far it has been read.

    Attributes:
        after: lines (or what the reader counts) up to this number are skipped (resuming).
        position: bytes read so far of the file as it lies on disk (compressed bytes of a compressed file).
    """

    def __init__(self, path: Path, after: int = 0) -> None:
        self.path = path
        self.after = after
        self._raw: BinaryIO | None = None
        self._read = 0
        self._start: int | None = None  # where the text begins, in a plain file in UTF-8

    @property
    def position(self) -> int:
        if self._raw is not None and not self._raw.closed:
            self._read = self._raw.tell()
        return self._read

    def _opened(self, stack: ExitStack) -> BinaryIO:
        """The unpacked stream in UTF-8; closed with `stack`."""
        raw = stack.enter_context(open_regular(self.path))
        self._raw = raw
        packed = raw.peek(6).startswith((*_STANDARD, _ZSTANDARD, _SEVEN_ZIP))
        unpacked = stack.enter_context(decompressed(raw))
        stream, mark = as_utf8(unpacked)
        self._start = mark if stream is unpacked and not packed else None
        return stack.enter_context(stream)


class LineReader(FileReader):
    """Iterates over (line number from 1, line as bytes) of one file.

    Where `after` is not 0, the file has shown before that it is what it claims.

    Raises (while iterating):
        InputError: the file cannot be opened, is truncated or damaged, or has a line over 16 MiB.
    """

    _taken: int | None = None
    """Bytes of the lines given so far; None where the file is packed and only blocks of it can be counted."""

    @property
    def position(self) -> int:
        return super().position if self._taken is None else self._taken

    def __iter__(self) -> Iterator[tuple[int, bytes]]:
        number = 0
        with reading(self.path, lambda: f"after line {number}"), ExitStack() as stack:
            stream = self._opened(stack)
            self._taken = self._start
            while line := stream.readline(MAX_LINE + 1):
                number += 1
                if self._taken is not None:
                    self._taken += len(line)
                if len(line) > MAX_LINE:
                    raise InputError(f"{self.path}, line {number}: longer than {MAX_LINE >> 20} MiB")
                if number > self.after:
                    yield number, line.rstrip(b"\r\n")


def parsed(
    lines: LineReader,
    skipped: Skipped,
    parse: Callable[[bytes], T],
    texts: Iterable[tuple[int, bytes]] | None = None,
    *,
    claim: str,
    hint: str | Callable[[bytes], str],
    may_be_empty: bool,
) -> Iterator[tuple[int, T]]:
    """What `parse` makes of each filled line, with its number; where it raises ValueError, the line is skipped.

    Args:
        texts: what stands on the lines, with their numbers, where it is not the whole of them.
        claim: what to say of a file that holds none, before the reason of its first line: "not facts: ".
        hint: what to do then, or what gives it for the first filled line.

    Raises:
        InputError: none of the first 200 filled lines is usable, or the file is empty where it may not be.
    """
    # Whoever goes on after a line has read a usable one before it.
    usable, filled = lines.after > 0, 0
    first: tuple[int, str] | None = None
    beginning = b""
    for number, line in texts or lines:
        if not line.strip():
            continue
        filled += 1
        try:
            found = parse(line)
        except ValueError as error:
            skipped.add(lines.path, number, str(error))
            if first is None:
                first, beginning = (number, str(error)), line
            if not usable and filled >= _TRIAL:
                break
            continue
        usable = True
        yield number, found
    if not usable and not (may_be_empty and first is None):
        if first is not None and (kind := kind_in(lines.path)):
            raise InputError(f"{lines.path}: {claim}{kind.name}", hint=kind.advice)
        place, reason = first or (1, "the file is empty")
        advice = hint if isinstance(hint, str) else hint(beginning)
        raise InputError(f"{lines.path}, line {place}: {claim}{reason}", hint=advice)


def kind_in(path: Path) -> FileKind | None:
    """What the file is, or what is packed in it, where that is no text; None if it can be text.

    Raises:
        InputError: the file cannot be read.
    """
    with reading(path, lambda: "after line 0"), open_regular(path) as raw:
        head = raw.read(HEAD)
        kind = kind_of(head)
        if kind is not None and kind.packed in READ_PACKED:
            raw.seek(0)
            head = decompressed(raw).read(HEAD)
            kind = kind_of(head)
        return None if encoding_of(head)[0] != "utf-8" else kind


@contextmanager
def reading(path: Path, place: Callable[[], str]) -> Iterator[None]:
    """Errors of opening, reading and unpacking, with the file name and `place` ("after line 7").

    Raises:
        InputError: there was one.
    """
    try:
        yield
    except (EOFError, gzip.BadGzipFile) as error:
        raise InputError(f"{path}, {place()}: the compressed file is cut short") from error
    except IsADirectoryError as error:
        raise InputError(f"{path} is a directory", hint="Give the files in it.") from error
    except (FileNotFoundError, PermissionError) as error:
        raise InputError(f"{path} cannot be read: {error.strerror}") from error
    except OSError as error:
        raise InputError(f"{path}, {place()}: cannot be read: {error.strerror or error}") from error
    except Exception as error:  # zlib.error is no OSError
        if type(error).__module__ == "zlib" or isinstance(error, lzma.LZMAError):
            raise InputError(f"{path}, {place()}: the compressed file is damaged") from error
        raise
