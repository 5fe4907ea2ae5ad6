"""About how much text there is in files, before they are read: for the room that an index needs, and for progress."""

from __future__ import annotations

import mimetypes
import os
from collections.abc import Iterable, Sequence
from pathlib import PurePosixPath

from atomr_local.indexing.readers.documents.document import MOST_TEXT, UnreadableError
from atomr_local.indexing.readers.documents.folder import MOST_BYTES, Folder, FoundFile
from atomr_local.indexing.readers.documents.kinds import document_kind
from atomr_local.indexing.readers.documents.mail import MOST_MAILBOX

# Of documents that hold more than their text: how much of them is text, about.
_SHARE_OF_PACKED = 0.1
_PACKED = (".pdf", ".docx", ".pptx", ".xlsx", ".odt", ".ods", ".odp", ".epub")
_PACKED_KINDS = frozenset({"pdf", "docx", "pptx", "xlsx", "epub", "opendocument"})
_MEDIA = ("image/", "audio/", "video/", "font/")
_LOOKED_INTO = 1 << 20  # bytes from which on a file's name is not believed


def text_bytes(folders: Sequence[Folder], found: Iterable[tuple[int, str, FoundFile]]) -> int:
    """About how many bytes of text there are in these files (:func:`documents_build.prefixed`)."""
    return sum(text_bytes_of(folders[number], file) for number, _, file in found)


def text_bytes_of(folder: Folder, file: FoundFile) -> int:
    """Of one file, by its name; of a large one by how its content begins. 0 of what is not read."""
    if file.problem or file.size > MOST_BYTES:
        return 0
    kind = ""
    if (mimetypes.guess_type(file.path)[0] or "").startswith(_MEDIA):
        return 0
    if file.size > _LOOKED_INTO:
        try:
            kind = _kind(folder, file)
        except (UnreadableError, OSError):
            return 0
    packed = kind in _PACKED_KINDS if kind else PurePosixPath(file.path).suffix.casefold() in _PACKED
    most = MOST_MAILBOX if kind == "mbox" else MOST_TEXT
    return min(int(file.size * (_SHARE_OF_PACKED if packed else 1.0)), most)


def _kind(folder: Folder, file: FoundFile) -> str:
    """The kind of the document.

    Raises:
        UnreadableError: it is not read.
        OSError: it cannot be.
    """
    with os.fdopen(folder.open(file), "rb") as stream:
        return document_kind(stream, PurePosixPath(file.path).name)
