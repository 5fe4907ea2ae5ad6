"""Imports libraries that would otherwise go online when they are imported."""

from __future__ import annotations

import contextlib
import logging
import os
import socket
from typing import Any


def import_without_sockets() -> None:
    """Import urllib3, which lancedb and sentence-transformers pull in, without its probe: a socket bound to [::1]."""
    had = socket.has_ipv6
    socket.has_ipv6 = False
    try:
        with contextlib.suppress(ImportError):
            import urllib3  # noqa: F401
    finally:
        socket.has_ipv6 = had


def import_sentence_transformers() -> Any:
    """sentence_transformers with torch, configured to stay offline and quiet.

    Raises:
        ImportError: it is not installed.
    """
    # The hub is probed even for a local directory unless this is set before the import.
    os.environ["HF_HUB_OFFLINE"] = os.environ["TRANSFORMERS_OFFLINE"] = "1"
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")
    import_without_sockets()
    import sentence_transformers
    from transformers.utils import logging as transformers_logging

    logging.getLogger("sentence_transformers").setLevel(logging.ERROR)
    transformers_logging.set_verbosity_error()  # type: ignore[no-untyped-call]
    transformers_logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    return sentence_transformers
