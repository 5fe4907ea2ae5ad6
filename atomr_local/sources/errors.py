"""Errors of the libraries and of other rooms, raised as errors of a source."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from atomr_local.errors import AtomrError, Cancelled, QueryError, SourceError
from atomr_local.indexing.builds.ledger import damage_hint
from atomr_local.indexing.foreign_errors import library_line, panics_as_errors
from atomr_local.indexing.store import IndexKind


@contextmanager
def source_errors() -> Iterator[None]:
    """Turns other errors of the program into errors of the source."""
    try:
        yield
    except (SourceError, QueryError, Cancelled):
        raise
    except AtomrError as error:
        raise SourceError(error.message, hint=error.hint) from error


@contextmanager
def library_errors(
    told: str,
    kind: IndexKind,
    directory: Path,
    *,
    raised: type[AtomrError] = SourceError,
    caught: tuple[type[Exception], ...] = (Exception,),  # LanceDB raises plain RuntimeError and ValueError for damage
) -> Iterator[None]:
    """Turns what the libraries under an index raise into errors of the program.

    Args:
        told: what cannot be done, as a clause.
        directory: of the index.
    """
    try:
        with panics_as_errors():
            yield
    except AtomrError:
        raise
    except caught as error:
        raise raised(f"{told}: {library_line(error, directory)}", hint=damage_hint(kind, directory)) from error
