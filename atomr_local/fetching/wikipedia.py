"""The files of a Wikipedia: a Wikimedia dump, or Parquet files of the data set wikimedia/wikipedia."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any
from urllib.parse import urljoin, urlsplit

from atomr_local.fetching.client import Client, FetchError, Missing, shown
from atomr_local.fetching.download import RemoteFile
from atomr_local.indexing.builds.space import human_size

DATASET = "wikimedia/wikipedia"
LANGUAGE = re.compile(r"[a-z]{2,12}(?:-[a-z]{1,12}){0,3}")
# A Wikipedia in Wikidata's words, such as simplewiki.
SITE = re.compile(r"[a-z][a-z0-9_]{1,40}")
DATE = re.compile(r"20\d{6}")
_RUNS_TRIED = 6
_PAGES = 50
# Languages whose dumps are named otherwise.
_WIKIS = {"be-tarask": "be_x_old", "nb": "no"}


def dump_files(client: Client, base: str, language: str, date: str, max_size: int) -> list[RemoteFile]:
    """The files of the newest whole dump, or of the one of `date`; at most `max_size` bytes unless that is 0.

    Raises:
        FetchError: there is no such dump, or not even its first part is as small.
    """
    wiki = _WIKIS.get(language, language).replace("-", "_") + "wiki"
    name = re.compile(rf"{wiki}-(20\d{{6}})-pages-articles-multistream(\d*)\.xml(?:-p(\d+)p(\d+))?\.bz2")
    root = f"{base}/{wiki}"
    lists = (
        (algorithm, {file: digest for file, digest in sums.items() if name.fullmatch(file)})
        for algorithm, sums in _sums(client, root, wiki, date)
    )
    algorithm, found = next((entry for entry in lists if entry[1]), ("", {}))
    if not found:
        raise FetchError(f"{root}: no dump with a list of checksums", hint="Is the language right, and the date?")

    def order(file: str) -> tuple[int, int]:
        match = name.fullmatch(file)
        return (int(match[2] or 0), int(match[3] or 0)) if match else (0, 0)

    def remote(file: str) -> RemoteFile:
        url = f"{root}/{file.split('-')[1]}/{file}"
        return RemoteFile(url, file, client.size(url), algorithm, found[file])

    files = sorted(found, key=order)
    if order(files[0]) == (0, 0):  # the whole in one file
        whole = remote(files[0])
        if not max_size or whole.size <= max_size or len(files) == 1:
            return fitting([whole], max_size)
        files = files[1:]
    return fitting(map(remote, files), max_size)


def _sums(client: Client, root: str, wiki: str, date: str) -> Iterator[tuple[str, dict[str, str]]]:
    """Lists of checksums, with their algorithm, most likely first: file name → digest. A dump may be unfinished."""

    def listed(directory: str, label: str) -> Iterator[tuple[str, dict[str, str]]]:
        for algorithm in ("sha1", "md5"):
            try:
                text = client.document(f"{root}/{directory}/{wiki}-{label}-{algorithm}sums.txt")
            except Missing:
                continue
            yield algorithm, parse_sums(text)

    if date:
        yield from listed(date, date)
        return
    yield from listed("latest", "latest")
    try:
        index = client.document(f"{root}/").decode("utf-8", "replace")
    except Missing:
        return
    for run_date in sorted(set(re.findall(r'href="(20\d{6})/?"', index)), reverse=True)[:_RUNS_TRIED]:
        yield from listed(run_date, run_date)


def parse_sums(text: bytes) -> dict[str, str]:
    """The lines of sha1sum and md5sum: name → digest. What is no such line is skipped."""
    found = {}
    for line in text.decode("utf-8", "replace").splitlines():
        match = re.fullmatch(r"([0-9A-Fa-f]{32}|[0-9A-Fa-f]{40})[ \t]+\*?([A-Za-z0-9._-]+)", line.strip())
        if match:
            found[match[2]] = match[1].lower()
    return found


def parquet_files(client: Client, base: str, language: str, date: str, max_size: int) -> list[RemoteFile]:
    """The data set's files of a language, of its newest date or of `date`; at most `max_size` bytes unless that is 0.

    All are of one revision, so that a change of the data set meanwhile does no harm.

    Raises:
        FetchError: there are none, their list is not whole, or not even the first is as small.
    """
    api = f"{base}/api/datasets/{DATASET}"
    about = _json(client, api)[0]
    revision = about.get("sha") if isinstance(about, dict) else None
    if not isinstance(revision, str) or not re.fullmatch(r"[0-9a-f]{40}", revision):
        raise FetchError(f"{api}: no revision is told", hint="Is the address right?")
    if not date:
        form = re.compile(rf"(20\d{{6}})\.{re.escape(language)}")
        paths = [form.fullmatch(str(entry.get("path"))) for entry in _tree(client, f"{api}/tree/{revision}")]
        date = max((match[1] for match in paths if match), default="")
        if not date:
            raise FetchError(f"the data set {DATASET} has no language {language!r}", hint="Such as simple, en or de.")
    folder = f"{date}.{language}"
    name = re.compile(rf"{re.escape(folder)}/train-(\d{{5}})-of-(\d{{5}})\.parquet")
    found: dict[int, RemoteFile] = {}
    of = 0
    for entry in _tree(client, f"{api}/tree/{revision}/{folder}"):
        match = name.fullmatch(str(entry.get("path")))
        if match is None:
            continue
        lfs = entry.get("lfs")
        digest = str(lfs.get("oid", "")).removeprefix("sha256:") if isinstance(lfs, dict) else ""
        size = lfs.get("size") if isinstance(lfs, dict) else None
        url = f"{base}/datasets/{DATASET}/resolve/{revision}/{match[0]}"
        local = f"wikipedia-{folder}-{match[1]}-of-{match[2]}.parquet"
        found[int(match[1])] = RemoteFile(url, local, size if isinstance(size, int) else 0, "sha256", digest)
        of = int(match[2])
    if not found or sorted(found) != list(range(of)):
        raise FetchError(f"{api}: the list of the files of {folder} is incomplete", hint="Is the date right?")
    return fitting((found[number] for number in range(of)), max_size)


def _tree(client: Client, url: str) -> Iterator[dict[str, Any]]:
    """The entries of a folder, page by page."""
    for _ in range(_PAGES):
        entries, following = _json(client, url)
        if not isinstance(entries, list):
            raise FetchError(f"{shown(url)}: no list of files", hint="Is the address right?")
        yield from (entry for entry in entries if isinstance(entry, dict))
        if not following:
            return
        if urlsplit(following)[:2] != urlsplit(url)[:2]:
            raise FetchError(f"{shown(url)}: its next page is on another server")
        url = following
    raise FetchError(f"{shown(url)}: more than {_PAGES} pages of files")


def _json(client: Client, url: str) -> tuple[Any, str]:
    """A JSON document, and the address of the page after it or ""."""
    text, headers = client.persist(lambda: client.body(url, 32 << 20))
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        raise FetchError(f"{shown(url)}: no JSON", hint="Is the address right?") from None
    match = re.search(r'<([^<>]+)>\s*;\s*rel="next"', headers.get("link", ""))
    return data, urljoin(url, match[1]) if match else ""


def fitting(files: Iterable[RemoteFile], max_size: int) -> list[RemoteFile]:
    """The first of the files that together are no larger than `max_size`; all where that is 0.

    Raises:
        FetchError: the first one is larger.
    """
    taken: list[RemoteFile] = []
    total = 0
    for file in files:
        total += file.size
        if max_size and total > max_size:
            if not taken:
                raise FetchError(
                    f"{file.name} has {human_size(file.size)}, more than the {human_size(max_size)} that are wanted",
                    hint="Raise --max-size, or try the other --kind.",
                )
            break
        taken.append(file)
    return taken
