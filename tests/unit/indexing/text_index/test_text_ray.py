"""The Ray engine against the local one. What needs Ray is skipped where it is not installed (`pip install '.[ray]'`)."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from click.testing import CliRunner
from ray_nodes import descendants
from support.fake_embedder import FakeEmbedder
from support.places import PYTHONPATH
from support.processes import is_running
from support.text_indexes import content, stop

from atomr_local.cli.main import atomr
from atomr_local.errors import KnowledgeIndexError, MissingPartError, ModelError
from atomr_local.indexing import store
from atomr_local.indexing.builds import publishing
from atomr_local.indexing.embedding.embedder import SentenceEmbedder
from atomr_local.indexing.text_index import build as text_build
from atomr_local.indexing.text_index import index as text_index
from atomr_local.indexing.text_index import ray_build as text_ray
from atomr_local.indexing.text_index.build import TextBuild
from atomr_local.indexing.text_index.index import build_text_index
from atomr_local.models.catalog.find import find_embedder
from atomr_local.sources.protocol import Request
from atomr_local.sources.text import TextSource
from atomr_local.system.cancellation import Cancellation
from atomr_local.system.installation import add_extra


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """A cluster of three workers on this machine; they find the fakes of the tests."""
    ray = pytest.importorskip("ray", reason="Ray is not installed: the extra `ray`")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", os.pathsep.join((str(Path(__file__).parent), PYTHONPATH)))
        text_ray.require_ray()
        text_ray.start_ray("local", 3)
        yield ray
        ray.shutdown()


@pytest.fixture
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text_build, "BATCH", 3)
    monkeypatch.setattr(text_ray, "_BLOCKS", 2)


def corpus(folder: Path, *, changed: str = "") -> list[Path]:
    """Four files: articles of several lengths, a line that is none, an id that stands in two files."""
    lines = []
    for i in range(30):
        words = " ".join(f"word{(i * 7 + n) % 50}" for n in range((i % 5) * 70 + 9))
        text = changed if changed and i % 4 == 0 else f"Page {i} begins. {words}."
        lines.append(json.dumps({"id": f"a{i}", "title": f"Page {i}", "text": text, "qid": f"Q{i}"}))
    lines[12:12] = ["{broken"]
    lines[20:20] = [lines[2]]
    files = []
    for number, (begin, end) in enumerate(((0, 10), (10, 11), (11, 21), (21, 40))):
        files.append(folder / f"{number}.jsonl")
        files[-1].write_text("\n".join(lines[begin:end]))
    return files


class Watched(FakeEmbedder):
    """Encodes only when two processes have come to do so."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self.folder = folder

    def encode(self, texts: Sequence[str]) -> Any:
        (self.folder / str(os.getpid())).touch()
        until = time.monotonic() + 300
        while len(list(self.folder.iterdir())) < 2:
            assert time.monotonic() < until, "one worker does everything"
            time.sleep(0.05)
        return super().encode(texts)


class TestWithoutRay:
    def test_the_missing_package_is_named(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(sys.modules, "ray", None)
        with pytest.raises(MissingPartError) as missing:
            build_text_index(corpus(tmp_path), "mine", embedder=FakeEmbedder(), engine="ray")
        assert missing.value.hint == f"Install them with: {add_extra('ray')}"
        assert publishing.list_unfinished() == []

    def test_the_command_offers_it_and_says_that_it_opens_sockets(self) -> None:
        told = " ".join(CliRunner().invoke(atomr, ["text", "build", "--help"]).output.split())
        assert "--engine [local|ray]" in told
        assert "opens network sockets" in told

    def test_a_single_file_is_read_by_as_many_processes_as_without_it(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        reading: list[int] = []

        class Noting(TextBuild):
            def run(self) -> None:
                reading.append(self.selection.options.work.processes)
                super().run()

        monkeypatch.setattr(text_index, "_engine", lambda _: Noting)
        for number in (3, 1):
            build_text_index(corpus(tmp_path), "mine", embedder=FakeEmbedder(), engine="ray", processes=number)
        assert reading == [3, 1]

    def test_a_lost_node_is_logged_once(self, monkeypatch: pytest.MonkeyPatch) -> None:
        alive, logged = [True, True, True], []
        nodes = SimpleNamespace(nodes=lambda: [{"Alive": one} for one in alive])
        monkeypatch.setitem(sys.modules, "ray", nodes)
        monkeypatch.setattr(text_ray._log, "warning", lambda text, *given: logged.append(text % given))
        running = object.__new__(text_ray.RayTextBuild)
        running._note_lost_nodes()
        assert not logged
        alive[1] = False
        running._note_lost_nodes()
        running._note_lost_nodes()
        assert logged == ["Ray: 1 of 3 nodes are gone; the others do their work."]

    @pytest.mark.slow
    def test_an_embedder_is_sent_without_its_model(self, monkeypatch: pytest.MonkeyPatch) -> None:
        import pickle

        embedder = SentenceEmbedder(find_embedder("starter"))
        sent = pickle.dumps(embedder)
        assert len(sent) < 1000
        copy = pickle.loads(sent)
        assert (copy.identity, copy.backend) == (embedder.identity, embedder.backend)
        assert (copy.encode(["Lake Como"]) * embedder.encode(["Lake Como"])).sum() > 0.9999
        monkeypatch.setattr("atomr_local.indexing.embedding.embedder.embedder_identity", lambda _: "another")
        with pytest.raises(ModelError, match="not the one that the others use"):
            pickle.loads(sent)


class TestOnOneMachine:
    def test_the_index_is_that_of_the_local_engine(self, cluster: Any, tmp_path: Path, small_batches: None) -> None:
        files = corpus(tmp_path)
        embedder = SentenceEmbedder(find_embedder("starter"))
        build_text_index(files, "local", embedder=embedder)
        build_text_index(files, "ray", embedder=embedder, engine="ray")
        local, ray = content("local"), content("ray")
        assert ray == local
        assert local["counts"] == {"articles": 30, "passages": len(local["passages"])}
        assert local["settings"]["skipped"]["count"] == 2
        assert publishing.list_unfinished() == []
        for query in ("Page 7 begins", "word13 word14", "something else"):
            found = []
            for name in ("local", "ray"):
                source = TextSource(store.index_path("text", name), embedder)
                evidence = source.retrieve(Request(query, query, top_k=10), Cancellation()).evidence
                found.append([(item.locator["passage"], item.text, round(item.score, 4)) for item in evidence])
                source.close()
            assert found[0] == found[1]
            assert len(found[0]) > 3

    def test_several_workers_embed(self, cluster: Any, tmp_path: Path, small_batches: None) -> None:
        workers = tmp_path / "workers"
        workers.mkdir()
        build_text_index(corpus(tmp_path), "ray", embedder=Watched(workers), engine="ray")
        assert str(os.getpid()) not in {path.name for path in workers.iterdir()}

    def test_either_engine_goes_on_with_what_the_other_began(
        self, cluster: Any, tmp_path: Path, small_batches: None
    ) -> None:
        files = corpus(tmp_path)
        embedder = FakeEmbedder()
        build_text_index(files, "whole", embedder=embedder)

        told: list[str] = []
        for engine in ("ray", "local", "ray"):
            with pytest.raises(RuntimeError, match="stop"):
                build_text_index(files, "mine", embedder=embedder, engine=engine, progress=stop, tell=told.append)  # type: ignore[arg-type]
            assert [entry.name for entry in store.list_indexes()] == ["whole"]
        build_text_index(files, "mine", embedder=embedder, engine="ray", tell=told.append)
        assert content("mine") == content("whole")
        assert told == [f"resuming an unfinished build after {n} passages" for n in (18, 21, 39)]

    def test_adding_and_the_choice_of_articles(self, cluster: Any, tmp_path: Path, small_batches: None) -> None:
        files = corpus(tmp_path)
        again = tmp_path / "again"
        again.mkdir()
        changed = corpus(again, changed="Written anew.")
        for engine in ("local", "ray"):
            build_text_index(files, engine, embedder=FakeEmbedder(), limit=17, engine=engine)  # type: ignore[arg-type]
            manifest = build_text_index(
                changed,
                engine,
                embedder=FakeEmbedder(),
                engine=engine,
                titles=[f"Page {n}" for n in range(3, 26)],  # type: ignore[arg-type]
                add=True,
            )
            assert {key: manifest.settings["last_change"][key] for key in ("articles", "replaced", "unchanged")} == {
                "articles": 9, "replaced": 4, "unchanged": 10,
            }  # fmt: skip
        local, ray = content("local"), content("ray")
        for index in (local, ray):
            index["settings"]["last_change"].pop("at")
        assert ray == local

    def test_what_fails_in_a_worker_is_told_as_it_is_here(
        self, cluster: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        files = corpus(tmp_path)
        files[1].write_bytes(b"\x1f\x8b damaged")
        here = build_text_index(files, "here", embedder=FakeEmbedder())
        there = build_text_index(files, "there", embedder=FakeEmbedder(), engine="ray")
        assert there.settings["skipped"] == here.settings["skipped"]
        assert [str(files[1]), 0] in [sample[:2] for sample in there.settings["skipped"]["samples"]]
        with pytest.raises(KnowledgeIndexError, match=r"a worker of Ray failed: .*no such word") as failed:
            build_text_index(corpus(tmp_path), "mine", embedder=Failing(), engine="ray")
        assert "to resume" in failed.value.hint
        assert [entry.name for entry in store.list_indexes()] == ["here", "there"]

    @pytest.mark.skipif(not Path("/proc/net/tcp").exists(), reason="sockets are listed in /proc on Linux only")
    def test_only_this_machine_is_listened_to(self, cluster: Any) -> None:
        listening = [socket for pid in descendants(os.getpid()) for socket in listeners(pid)]
        assert listening
        assert [address for address in listening if not address.startswith("127.")] == []

    def test_it_reports_nothing_to_its_makers(self, cluster: Any) -> None:
        from ray._common.usage.usage_lib import usage_stats_enabled

        assert not usage_stats_enabled()


class Failing(FakeEmbedder):
    def encode(self, texts: Sequence[str]) -> Any:
        raise ValueError("no such word")


@pytest.mark.skipif(os.name != "posix", reason="a signal that cannot be caught")
def test_a_killed_build_leaves_no_index_and_goes_on(cluster: Any, tmp_path: Path, own_home: Path) -> None:
    files = corpus(tmp_path)
    build_text_index(files, "whole", embedder=FakeEmbedder())
    script = tmp_path / "build.py"
    script.write_text(
        "import sys; from pathlib import Path; from support.fake_embedder import FakeEmbedder\n"
        "from atomr_local.indexing.text_index import build as text_build\n"
        "from atomr_local.indexing.text_index import ray_build as text_ray\n"
        "from atomr_local.indexing.text_index.index import build_text_index\n"
        "text_build.BATCH, text_ray._BLOCKS = 3, 1\n"
        "hold = lambda state: print(state.passages, flush=True) or sys.stdin.readline()\n"
        "build_text_index([Path(f) for f in sys.argv[1:]], 'mine', embedder=FakeEmbedder(), engine='ray', progress=hold)\n"
    )
    process = subprocess.Popen(
        [sys.executable, str(script), *map(str, files)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        env={**os.environ, "PYTHONPATH": PYTHONPATH},
    )  # fmt: skip
    try:
        assert process.stdout is not None
        passages = int(process.stdout.readline())
        workers = descendants(process.pid)
        process.send_signal(signal.SIGKILL)
        process.communicate()
    finally:
        process.kill()
    assert 0 < passages < len(content("whole")["passages"])
    assert [entry.name for entry in store.list_indexes()] == ["whole"]
    until = time.monotonic() + 120
    while left := [pid for pid in workers if is_running(pid)]:
        assert time.monotonic() < until, f"processes {left} outlive the build"
        time.sleep(0.2)
    told: list[str] = []
    build_text_index(files, "mine", embedder=FakeEmbedder(), engine="ray", tell=told.append)
    assert told == [f"resuming an unfinished build after {passages} passages"]
    assert content("mine") == content("whole")


def listeners(pid: int) -> list[str]:
    """Addresses on which the process listens, IPv4 written with dots, any other as it stands."""
    try:
        inodes = {str(handle.readlink()) for handle in Path(f"/proc/{pid}/fd").iterdir()}
    except OSError:
        return []
    found = []
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/net/{table}").read_text().splitlines()[1:]:
            fields = line.split()
            if fields[3] == "0A" and f"socket:[{fields[9]}]" in inodes:
                address = fields[1].partition(":")[0]
                if len(address) == 8 or address.startswith("0" * 16 + "FFFF0000"):
                    address = ".".join(str(octet) for octet in reversed(bytes.fromhex(address[-8:])))
                found.append(address)
    return found
