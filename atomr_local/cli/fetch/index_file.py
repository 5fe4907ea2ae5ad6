"""`atomr indexes pull`: asks, and downloads the file of an index."""

from __future__ import annotations

from pathlib import Path

from atomr_local import paths
from atomr_local.cli.fetch.console import agreed, bytes_progress, given_contact, interruptible
from atomr_local.cli.output import note_text
from atomr_local.fetching.client import Client, shown
from atomr_local.fetching.download import download, remaining, require_room
from atomr_local.fetching.estimates import transfer_time
from atomr_local.fetching.index_files import look_up
from atomr_local.indexing.builds.space import human_size
from atomr_local.settings.schema import load_settings


def fetch_index_file(url: str, *, sha256: str, base_url: str, yes: bool) -> tuple[Path, str] | None:
    """The downloaded file, and its address as it may be shown; None if the user does not want to.

    Args:
        sha256: what the file's checksum has to be; "": what the server says, if it says something.

    Raises:
        AtomrError: it cannot be fetched, checked or written.
    """
    directory = paths.downloads_dir()
    use_proxy = load_settings().network.use_proxy
    with (
        interruptible(),
        Client(contact=given_contact(None), use_proxy=use_proxy, base_url=base_url, notify=note_text) as client,
    ):
        file = look_up(client, url, sha256)
        left = remaining(file, directory)
        note_text(f"{file.name}: {human_size(file.size)}, of which {human_size(left)} to download into {directory}")
        note_text(f"From {shown(file.url)}, {transfer_time(left)}.")
        if not file.algorithm:
            note_text(
                "No checksum is known (--sha256): that the file is what its maker wrote cannot be checked, "
                "only that it is whole in itself."
            )
        require_room(directory, left)
        if not agreed(yes):
            note_text("Nothing was downloaded.")
            return None
        with bytes_progress(file.name) as progress:
            return download(client, file, directory, progress), shown(file.url)
