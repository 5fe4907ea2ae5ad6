"""Reads documents in a child process with limits on time and memory, so that no file can stall or end a build."""

from __future__ import annotations

import importlib
import os
import signal
from collections.abc import Iterator
from typing import Any, BinaryIO, NamedTuple

from atomr_local.errors import MissingPartError
from atomr_local.indexing.readers.documents.document import Document, UnreadableError, told_error
from atomr_local.indexing.readers.documents.kinds import KNOWN, document_kind
from atomr_local.indexing.readers.documents.note_titles import name_note
from atomr_local.indexing.readers.documents.pdf_ocr import SECONDS
from atomr_local.system.cancellation import Cancellation
from atomr_local.system.installation import add_extra
from atomr_local.system.sandbox import Limits, Parent, Sandbox, message, processor_time

_MEMORY = 2 << 30
# A file may take so many times its processor time by the clock, on a machine with other work.
_PATIENCE = 20.0
# How libraries in C end where they get no memory.
_ABORTED = (-signal.SIGABRT, -signal.SIGTRAP, -signal.SIGILL, -signal.SIGSEGV)


class DocumentParser:
    """Open files → documents, each file within limits. Ends with :meth:`close`.

    Args:
        seconds: of processor time that a file may take, whatever its size.
        seconds_per_mib: what it may take beyond that for each MiB.
        memory: bytes of address space of the process.
        ocr: languages in which pages of a PDF without text are read by OCR; "" leaves them out.
    """

    def __init__(
        self, *, seconds: float = 20.0, seconds_per_mib: float = 5.0, memory: int = _MEMORY, ocr: str = ""
    ) -> None:
        self._ocr = ocr
        self._seconds, self._seconds_per_mib = seconds, seconds_per_mib
        self._child = Sandbox(
            f"{__name__}:serve",
            dict,
            Limits(memory=memory),
            unstarted=lambda why: MissingPartError(f"the process that reads documents {why}"),
            takes_files=True,
        )

    def read(self, handle: int, name: str, cancellation: Cancellation) -> list[dict[str, Any]]:
        """The documents in an open file, as :class:`Document` in JSON.

        Args:
            handle: its descriptor, at the beginning; the process gets a copy and opens nothing itself.
            name: of the file, without its folder.

        Raises:
            UnreadableError: it cannot be read; the message says why, as a clause.
            MissingPartError: no process can be started.
            Cancelled: `cancellation` was thrown.
        """
        self._child.start()
        limit = self._seconds + self._seconds_per_mib * os.fstat(handle).st_size / (1 << 20)
        patience = _PATIENCE * limit + (SECONDS if self._ocr else 0)
        limit += SECONDS / 10 if self._ocr else 0  # PDFium draws the pages
        self._child.send(message({"name": name, "seconds": limit, "ocr": self._ocr}), handle)
        answer = self._child.receive(patience, cancellation)
        if not isinstance(answer, dict):
            raise UnreadableError(self._why_ended(limit))
        if "error" in answer:
            raise UnreadableError(str(answer["error"]))
        return list(answer["documents"])

    def close(self) -> None:
        """End the process; the next file would start another."""
        self._child.close()

    def _why_ended(self, limit: float) -> str:
        end = self._child.ended()
        if end.late:
            return "reading it takes too long"
        if end.out_of_time:
            return f"reading it takes too long (more than {limit:.0f} s of processor time)"
        if end.status in _ABORTED:
            return "reading it takes too much memory, or fails over its damage"
        return f"reading it failed (exit status {end.status})"


def serve(_task: dict[str, Any], parent: Parent) -> None:
    """In the child process: answer each request by its "documents", or by an "error"."""
    for request in parent:
        with parent.file() as stream, processor_time(request["seconds"]):
            found: dict[str, Any]
            try:
                found = {
                    "documents": [document.as_json() for document in parse(stream, request["name"], request["ocr"])]
                }
            except UnreadableError as error:
                found = {"error": str(error)}
            except MemoryError:
                found = {"error": "reading it takes too much memory"}
            except RecursionError:
                found = {"error": "its parts are nested too deeply"}
            except Exception as error:  # a parser that fails over one file must not end the build
                found = {"error": f"it cannot be read: {type(error).__name__}: {told_error(error)}"}
        parent.send(found)


# Which parser reads which kind of document, and what it needs.

_HERE = "atomr_local.indexing.readers.documents"


class Parser(NamedTuple):
    """`module` and `function` read what is called `kind`, given the "name" of its file or the languages of "ocr" too.

    They need `needs`.
    """

    kind: str
    module: str
    function: str
    needs: str = ""
    given: str = ""


PARSERS = {kind: Parser(*row) for kind, row in KNOWN["parsers"].items()}


def parse(stream: BinaryIO, name: str, ocr: str = "") -> Iterator[Document]:
    """The documents in a file: one, or the messages of a mailbox.

    Args:
        name: of the file, without its folder.
        ocr: as of :class:`DocumentParser`.

    Raises:
        UnreadableError: it cannot be read; the message says why, as a clause.
    """
    kind = document_kind(stream, name)
    parser = PARSERS[kind]
    if parser.needs:
        try:
            importlib.import_module(parser.needs)
        except ImportError as error:
            raise UnreadableError(
                f"reading {parser.kind} needs the extra `documents`: {add_extra('documents')}"
            ) from error
    read = getattr(importlib.import_module(f"{_HERE}.{parser.module}"), parser.function)
    found = read(stream, {"name": name, "ocr": ocr}[parser.given]) if parser.given else read(stream)
    empty = True
    for document in [found] if isinstance(found, Document) else found:
        if document.text.strip():
            empty = False
            name_note(document, name, kind)
            yield document
    if empty:
        raise UnreadableError("it has no text")
