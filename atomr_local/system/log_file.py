"""The log file: what the program did and how long it took, without questions, evidence, prompts or answers.

Only records of this package are written. Libraries are left out, because some of them log addresses and texts.
"""

from __future__ import annotations

import logging
import os
from io import TextIOWrapper
from logging.handlers import RotatingFileHandler
from pathlib import Path
from typing import Literal

from atomr_local.errors import AtomrError

LogLevel = Literal["off", "error", "warning", "info", "debug"]

_LARGEST_FILE = 1 << 20  # bytes
_OLD_FILES = 3
_FORMAT = "%(asctime)s %(levelname)s [%(process)d] %(name)s: %(message)s"
logger = logging.getLogger("atomr_local")
logger.addHandler(logging.NullHandler())  # nothing is printed where no log was started


class _LogFile(RotatingFileHandler):
    def _open(self) -> TextIOWrapper:
        path = Path(self.baseFilename)
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        return os.fdopen(handle, "a", encoding="utf-8", errors="backslashreplace")

    def handleError(self, record: logging.LogRecord) -> None:
        """A log that cannot be written must not disturb the terminal or end the program."""


def start_logging(level: LogLevel, path: Path) -> None:
    """Write the package's records of this level and above to `path`. Replaces what an earlier call started.

    The file is created with the first record, readable by its owner only. Nothing is printed at any level.
    """
    for handler in logger.handlers[:]:
        if isinstance(handler, _LogFile):
            logger.removeHandler(handler)
            handler.close()
    logger.propagate = False
    if level == "off":
        logger.setLevel(logging.CRITICAL + 1)
        return
    handler = _LogFile(path, maxBytes=_LARGEST_FILE, backupCount=_OLD_FILES, delay=True)
    handler.setFormatter(logging.Formatter(_FORMAT))
    logger.addHandler(handler)
    logger.setLevel(level.upper())


def log_error(error: BaseException) -> None:
    """Log the kind of an error and where it was raised; at level debug also its message and traceback."""
    title = f" ({error.title})" if isinstance(error, AtomrError) else ""
    logger.error("%s%s in %s", type(error).__name__, title, _origin(error))
    logger.debug("Traceback of the error", exc_info=error)


def _origin(error: BaseException) -> str:
    """The last place in this package that the error passed, as `module:line`."""
    found, traceback = "unknown place", error.__traceback__
    while traceback is not None:
        module = traceback.tb_frame.f_globals.get("__name__", "")
        if module.partition(".")[0] == "atomr_local":
            found = f"{module}:{traceback.tb_lineno}"
        traceback = traceback.tb_next
    return found
