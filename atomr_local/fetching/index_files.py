"""The file of an index on a server: its name, length and checksum."""

from __future__ import annotations

import re
from urllib.parse import unquote

from atomr_local.errors import InputError
from atomr_local.fetching.client import Client, checked_url, header_length, shown
from atomr_local.fetching.download import RemoteFile
from atomr_local.fetching.models import direct, published_digest, published_length

_SUFFIX = ".tar.zst"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,149}")


def look_up(client: Client, url: str, sha256: str = "") -> RemoteFile:
    """Ask the server for length and checksum; nothing is fetched.

    Args:
        sha256: the checksum that its maker published, in hexadecimal digits; it counts more than the server's.

    Raises:
        InputError: it is not the address of an exported index.
        FetchError: the server does not answer, refuses, or does not say how long the file is.
    """
    url = direct(url)
    name = unquote(checked_url(url).path.rpartition("/")[2])
    if not name.endswith(_SUFFIX) or not _NAME.fullmatch(name):
        raise InputError(
            f"{shown(url)} is not the address of an exported index",
            hint=f"Its path ends in a name such as wiki{_SUFFIX}.",
        )
    headers = client.head(url, enough=lambda answer: bool(published_digest(answer)))
    digest = sha256 or published_digest(headers)
    size = header_length(url, published_length(headers))
    return RemoteFile(url, name, size, "sha256" if digest else "", digest)
