"""A Wikipedia and its facts, from a server of this machine to indexes that answer, by the command line alone."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from atomr_local.errors import MissingPartError
from atomr_local.models.catalog.find import starter_embedder_path

pa = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")

REVISION = "0123456789" * 4
TEXTS = {
    "Bellagio": "Bellagio is a town on Lake Como. It is known for the gardens of Villa Melzi.",
    "Varenna": "Varenna is a village on the eastern shore. Villa Monastero stands there.",
    "Pavia": "Pavia is a city in Lombardy with a covered bridge over the Ticino.",
}


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[str]:
    """The address of a server laid out like Hugging Face, with the data set's one file of Simple English."""
    folder = tmp_path / "hub"
    name = "20231101.simple/train-00000-of-00001.parquet"
    file = folder / f"datasets/wikimedia/wikipedia/resolve/{REVISION}/{name}"
    file.parent.mkdir(parents=True)
    numbers = [str(number) for number, _ in enumerate(TEXTS, 1)]
    urls = [f"https://simple.wikipedia.org/wiki/{title}" for title in TEXTS]
    table = pa.table({"id": numbers, "url": urls, "title": list(TEXTS), "text": list(TEXTS.values())})
    parquet.write_table(table, file)
    body = file.read_bytes()
    lfs = {"oid": hashlib.sha256(body).hexdigest(), "size": len(body)}
    api = "/api/datasets/wikimedia/wikipedia"
    pages = {
        api: {"sha": REVISION},
        f"{api}/tree/{REVISION}": [{"path": "20231101.simple"}],
        f"{api}/tree/{REVISION}/20231101.simple": [{"path": name, "lfs": lfs}],
    }

    class Hub(SimpleHTTPRequestHandler):
        def log_message(self, *_: Any) -> None:
            pass

        def do_GET(self) -> None:
            if self.path not in pages:
                super().do_GET()
                return
            answer = json.dumps(pages[self.path]).encode()
            self.send_response(200)
            self.send_header("content-length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Hub, directory=str(folder)))
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


def atomr(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "atomr_local", *arguments],
        env=os.environ | {"ATOMR_CONTACT": "me@example.org"}, stdin=subprocess.DEVNULL, capture_output=True, text=True,
        timeout=300, check=False,
    )  # fmt: skip


def test_fetched_built_and_searched(hub: str, own_home: Path) -> None:
    try:
        starter_embedder_path()
    except MissingPartError as error:
        pytest.skip(error.message)
    command = ["fetch", "wikipedia", "--kind", "parquet", "--base-url", hub, "--build", "lakes", "--limit", "2"]
    refused = atomr(*command)
    assert refused.returncode == 1
    assert "no terminal to confirm on" in refused.stderr
    assert not (own_home / "downloads").exists()

    done = atomr(*command, "--yes")
    assert done.returncode == 0, done.stderr
    assert "lakes: 2 passages of 2 articles" in done.stdout
    assert [path.name for path in (own_home / "downloads").iterdir()] == [
        "wikipedia-20231101.simple-00000-of-00001.parquet"
    ]
    found = atomr("text", "search", "gardens of Villa Melzi", "--text-index", "lakes", "--json")
    assert json.loads(found.stdout)[0]["title"] == "Bellagio"
    listed = atomr("indexes", "list")
    assert "lakes" in listed.stdout
