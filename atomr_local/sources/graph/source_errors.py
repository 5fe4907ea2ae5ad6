"""Errors of the graph as errors of a source."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from atomr_local.errors import AtomrError, Cancelled, QueryError, SourceError


@contextlib.contextmanager
def source_errors() -> Iterator[None]:
    """Turns other errors of the program into errors of the source."""
    try:
        yield
    except (SourceError, QueryError, Cancelled):
        raise
    except AtomrError as error:
        raise SourceError(error.message, hint=error.hint) from error
