"""What may leave the machine under these settings, and who can read the secrets in them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from atomr_local.cli.output import note

if TYPE_CHECKING:
    from pathlib import Path

    from atomr_local.settings.schema import Settings


def announce_remote(settings: Settings) -> None:
    """Name the other machine that questions go to, before the first of them does."""
    if host := settings.endpoint.url.remote_host():
        note(f"Questions and evidence leave this machine → {host} (endpoint.url in the settings).")


def outgoing_data(settings: Settings) -> str:
    """What may leave the machine by these settings, and for where."""
    from atomr_local.sources.web import SEARCH_HOST

    remote = settings.endpoint.url.remote_host()
    found = [f"question, evidence → {remote}"] if remote else []
    found += [f"web queries → {SEARCH_HOST}"] if settings.web.enabled else []
    return "; ".join(found) or "nothing, unless web search is turned on or something is fetched"


def permission_advice(file: Path, settings: Settings) -> str:
    """What to do where other users of the machine can read a key or password; empty if they cannot."""
    from atomr_local.settings.file import holds_secrets

    try:
        readable = holds_secrets(settings) and file.stat().st_mode & 0o077
    except OSError:
        return ""
    return f"Others on this machine may read it, and a key or password is set: chmod 600 {file}" if readable else ""
