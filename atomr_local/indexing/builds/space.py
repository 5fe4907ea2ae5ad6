"""Checks free disk space before and during a build, so that it stops before the disk is full."""

from __future__ import annotations

import errno
import shutil
from pathlib import Path

from atomr_local.errors import KnowledgeIndexError
from atomr_local.indexing.foreign_errors import library_line

# Kept free for everything else on the disk, at most and at least; bytes. A small index needs no large reserve.
RESERVE = 200_000_000
_LEAST_RESERVE = 10_000_000
_RESERVE_SHARE = 10  # times what is to be written
# What libraries write of a full or failing disk when they give no error number.
CHECK_DISK = "Check the disk"
_FULL = ("no space left", "os error 28)", "disk is full", "disk full", "quota exceeded")
_NO_PLACE = (errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOTDIR, errno.EEXIST)
_BROKEN = ("input/output error", "disk i/o error", "os error 5)")


def free_space(directory: Path) -> int:
    """Bytes free for this user on the disk of `directory`, or of its nearest parent that exists."""
    place = directory
    while not place.exists() and place != place.parent:
        place = place.parent
    return shutil.disk_usage(place).free


def require_space(directory: Path, wanted: int, what: str) -> None:
    """Make sure that `wanted` bytes beside the reserve are free for `what`.

    Raises:
        KnowledgeIndexError: they are not.
    """
    free = free_space(directory)
    # Where it is not known how much more comes, it may be much.
    reserve = min(RESERVE, max(_LEAST_RESERVE, _RESERVE_SHARE * wanted)) if wanted else RESERVE
    if free < wanted + reserve:
        raise KnowledgeIndexError(
            f"the disk of {directory.parent} is too full for {what}: {human_size(free)} are free, about "
            f"{human_size(wanted + reserve)} are needed",
            hint=f"Free some space and {_again(something_done(directory))}",
        )


def write_error(what: str, error: BaseException, *, resumable: bool = False) -> KnowledgeIndexError:
    """A failed write of `what` in words; `resumable` tells whether the same command continues from what is kept."""
    number, text = getattr(error, "errno", None), str(error)
    full = number in (errno.ENOSPC, errno.EDQUOT) or any(mark in text.casefold() for mark in _FULL)
    broken = number == errno.EIO or any(mark in text.casefold() for mark in _BROKEN)
    again = _again(resumable)
    reason = str(getattr(error, "strerror", None) or library_line(error))
    if full or broken:
        reason = "the disk is full" if full else "the disk reports an input/output error"
    if full:
        hint = f"Free some space and {again}"
    elif number in _NO_PLACE:
        hint = f"Make sure that this user may write there, then {again}"
    else:
        hint = f"{CHECK_DISK}, then {again}"
    return KnowledgeIndexError(f"{what} cannot be written: {reason}", hint=hint)


def something_done(directory: Path) -> bool:
    """Whether a build in `directory` has got so far that the same command continues from there."""
    from atomr_local.indexing.builds.ledger import read_ledger

    ledger = read_ledger(directory)
    return ledger is not None and bool(ledger.state)


def _again(goes_on: bool) -> str:
    return "run the same command again" + (": it resumes where it stopped." if goes_on else ".")


def human_size(size: int) -> str:
    """Bytes as people read them: 512 B, 3.4 MB."""
    amount = float(size)
    for unit in ("B", "kB", "MB", "GB"):
        if abs(amount) < 1000:
            return f"{amount:.0f} {unit}" if unit == "B" else f"{amount:.1f} {unit}"
        amount /= 1000
    return f"{amount:.1f} TB"
