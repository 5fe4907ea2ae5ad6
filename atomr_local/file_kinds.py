"""What a file is by its first bytes, whatever its name says."""

from __future__ import annotations

from dataclasses import dataclass

HEAD = 512  # bytes that are enough to tell
_UNPACK = "Unpack it first; gzip, bzip2, xz, Zstandard and 7-Zip are read as they are."
_ARTICLES = "Articles are read from Parquet as it is (--format auto); for anything else, convert it to JSON lines."
_CONVERT = "Convert it to JSON lines, one object a line, in UTF-8."
_SAVE = "Save it as UTF-8."


@dataclass(frozen=True, slots=True)
class FileKind:
    """A kind of file that is no text in UTF-8.

    Attributes:
        name: with its article, such as "a Parquet file".
        advice: what to do, so that it can be read.
        packed: the name of the program or format that unpacks it; "" where it is not packed.
    """

    name: str
    advice: str
    packed: str = ""


def _packed(name: str) -> FileKind:
    return FileKind(f"packed with {name}", _UNPACK, name)


# The longest beginning first where one begins like another.
_BEGINNINGS: tuple[tuple[bytes, FileKind], ...] = (
    (b"PAR1", FileKind("a Parquet file", _ARTICLES)),
    (b"ARROW1", FileKind("an Arrow or Feather file", _CONVERT)),
    (b"ORC", FileKind("an ORC file", _CONVERT)),
    (b"Obj\x01", FileKind("an Avro file", _CONVERT)),
    (b"SQLite format 3\x00", FileKind("an SQLite database", _CONVERT)),
    (b"\x89HDF\r\n\x1a\n", FileKind("an HDF5 file", _CONVERT)),
    (b"ZIM\x04", FileKind("a ZIM file", "Build a text index of it: `atomr text build` reads ZIM as it is.")),
    (b"GGUF", FileKind("a GGUF model", "Models belong into the setting `model` or into `atomr models`.")),
    (b"%PDF-", FileKind("a PDF document", "`atomr text build` reads it as a document: --format documents.")),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", FileKind("an old Office document", _CONVERT)),
    (b"\x89PNG\r\n\x1a\n", FileKind("a PNG image", "Give a file of text.")),
    (b"\xff\xd8\xff", FileKind("a JPEG image", "Give a file of text.")),
    (b"7z\xbc\xaf\x27\x1c", _packed("7-Zip")),
    (b"PK\x03\x04", _packed("Zip")),
    (b"Rar!\x1a\x07", _packed("RAR")),
    (b"\xfd7zXZ\x00", _packed("xz")),
    (b"\x28\xb5\x2f\xfd", _packed("Zstandard")),
    (b"\x1f\x8b", _packed("gzip")),
    (b"BZh", _packed("bzip2")),
    (b"\xff\xfe\x00\x00", FileKind("text in UTF-32", _SAVE)),
    (b"\x00\x00\xfe\xff", FileKind("text in UTF-32", _SAVE)),
    (b"\xff\xfe", FileKind("text in UTF-16", _SAVE)),
    (b"\xfe\xff", FileKind("text in UTF-16", _SAVE)),
)
_TAR_AT, _TAR = 257, b"ustar"
# Documents that are Zip archives, by the names of their first files.
_IN_ZIP: tuple[tuple[bytes, FileKind], ...] = (
    (b"mimetypeapplication/epub+zip", FileKind("an EPUB book", _CONVERT)),
    (b"mimetypeapplication/vnd.oasis.opendocument", FileKind("an OpenDocument file", _CONVERT)),
    (b"[Content_Types].xml", FileKind("an Office document", _CONVERT)),
)
_ZIP_NAME_AT = 30


def kind_of(head: bytes) -> FileKind | None:
    """What begins with these bytes, :data:`HEAD` of them or more; None for text, and for what we do not know."""
    if head.startswith(b"PK\x03\x04"):
        for beginning, kind in _IN_ZIP:
            if head[_ZIP_NAME_AT:].startswith(beginning):
                return kind
    for beginning, kind in _BEGINNINGS:
        if head.startswith(beginning) and (len(beginning) > 3 or b"\x00" in head or not _is_text(head)):
            return kind
    return _packed("tar") if head[_TAR_AT:].startswith(_TAR) else None


def _is_text(head: bytes) -> bool:
    """Whether it can be UTF-8, but for a character that is cut off at the end."""
    try:
        head.decode("utf-8")
    except UnicodeDecodeError as error:
        return error.end == len(head) and error.reason == "unexpected end of data"
    return True
