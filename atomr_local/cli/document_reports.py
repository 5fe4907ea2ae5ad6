"""What a build or a sync of documents tells: counts, changes, files that could not be read and what was lost."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from atomr_local.sanitize import sanitize_line

if TYPE_CHECKING:
    from atomr_local.indexing.store import Manifest
    from atomr_local.indexing.text_index.documents import SyncReport

_SHOWN = 20
_CHANGES_SHOWN = 5


def show_counts(manifest: Manifest) -> None:
    """The size of an index, on standard output."""
    from atomr_local.indexing.builds.space import human_size

    counts = manifest.counts
    size = human_size(manifest.bytes)
    documents = manifest.settings.get("documents")
    of = _many(counts["articles"], "article")
    if isinstance(documents, dict):
        of = _many(documents.get("files", 0), "document")
    click.echo(f"{manifest.name}: {_many(counts['passages'], 'passage')} of {of}, {size}")


def report_documents(manifest: Manifest) -> None:
    """The size of an index of documents, and on standard error what could not be read, and why."""
    show_counts(manifest)
    documents = manifest.settings.get("documents", {})
    _list("could not be read", documents.get("unread", {}))
    _list("lost something", documents.get("lossy", {}))


def report_sync(report: SyncReport, *, only_news: bool = False) -> None:
    """What a sync changed.

    Args:
        only_news: do not tell again which files could not be read before.
    """
    if report.quiet:
        click.echo(f"{report.manifest.name}: nothing has changed")
    else:
        show_counts(report.manifest)
    moved = [f"{origin} → {path}" for origin, path in report.moved]
    for word, paths in (
        ("added", report.added), ("changed", report.changed), ("removed", report.removed), ("moved", moved),
        ("no longer readable, so left out", report.lost),
    ):  # fmt: skip
        if paths:
            more = f" and {len(paths) - _CHANGES_SHOWN} more" if len(paths) > _CHANGES_SHOWN else ""
            shown = ", ".join(map(sanitize_line, paths[:_CHANGES_SHOWN]))
            click.echo(f"  {len(paths)} {word}: {shown}{more}")
    unread = report.newly_unread if only_news else report.unread
    _list("could not be read", {"count": len(unread), "samples": unread})


def _list(what: str, found: dict[str, Any]) -> None:
    count = found.get("count", 0)
    if not count:
        return
    samples: Sequence[Sequence[str]] = found["samples"]
    click.echo(f"{_many(count, 'file')} {what}:", err=True)
    for path, reason in samples[:_SHOWN]:
        click.echo(f"  {sanitize_line(path)}: {sanitize_line(reason)}", err=True)
    if count > _SHOWN:
        reasons: dict[str, int] = {}
        for _, reason in samples[_SHOWN:]:
            reasons[reason] = reasons.get(reason, 0) + 1
        for reason, many in sorted(reasons.items(), key=lambda item: -item[1])[:_SHOWN]:
            click.echo(f"  and {_many(many, 'file')} more: {sanitize_line(reason)}", err=True)


def _many(count: int, word: str) -> str:
    return f"1 {word}" if count == 1 else f"{count} {word}s"
