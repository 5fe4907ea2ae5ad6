"""Pages read and cut by several processes: the same index as with one."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from make_wiki_dump import write_dump
from support.fake_embedder import FakeEmbedder
from support.places import ROOT
from support.text_indexes import content

from atomr_local.errors import Cancelled
from atomr_local.indexing.embedding.embedder import TokenCounts
from atomr_local.indexing.readers.base import Article, Section
from atomr_local.indexing.text_index import chunking
from atomr_local.indexing.text_index.build import PASSAGE_WORDS, TextBuildProgress, cut_article
from atomr_local.indexing.text_index.index import build_text_index
from atomr_local.models.catalog.find import find_embedder
from atomr_local.system.cancellation import Cancellation


class Counted(FakeEmbedder):
    """With the tokenizer of the starter's embedder."""

    def __init__(self) -> None:
        super().__init__()
        self.tokens = TokenCounts(find_embedder("starter"))


@pytest.fixture(scope="module")
def dump(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("dump") / "wiki.xml.bz2"
    write_dump(path, 60, multistream=True)
    return path


@pytest.mark.slow
def test_the_index_is_that_of_one_process(dump: Path) -> None:
    build_text_index([dump], "one", embedder=Counted(), processes=1)
    build_text_index([dump], "three", embedder=Counted(), processes=3)
    whole = content("one")
    assert whole["counts"]["articles"] == 60 and whole["counts"]["aliases"] == 6
    assert content("three") == whole


@pytest.mark.slow
def test_a_build_that_is_stopped_goes_on_with_another_number_of_processes(
    dump: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("atomr_local.indexing.text_index.build.BATCH", 64)
    build_text_index([dump], "whole", embedder=Counted(), processes=1)
    cancellation = Cancellation()

    def stop(progress: TextBuildProgress) -> None:
        if progress.passages > 100:
            cancellation.cancel()

    with pytest.raises(Cancelled):
        build_text_index([dump], "mine", embedder=Counted(), processes=2, progress=stop, cancellation=cancellation)
    told: list[str] = []
    build_text_index([dump], "mine", embedder=Counted(), processes=3, tell=told.append)
    assert any("resuming an unfinished build after" in line for line in told)
    assert content("mine") == content("whole")


def test_passages_of_a_process_are_those_of_this_one() -> None:
    text = "A lead. " * 60 + "\n\nrow one\nrow two"
    sections = (Section(text.index("row"), "Rows", "table", "1"),)
    article = Article("1", "T", text, sections=sections)
    cut = chunking._cutter({"tokens": str(find_embedder("starter")), "passage_words": PASSAGE_WORDS})
    given = Article("1", "T", text, sections=sections, cut=tuple(cut(article, "T")))  # type: ignore[arg-type]
    tokens = TokenCounts(find_embedder("starter"))
    assert cut_article(given, None) == cut_article(article, tokens)


def test_an_embedder_that_counts_in_its_own_way_is_asked_here() -> None:
    class Own:
        most = 100

        def of_words(self, words: Any) -> int:
            return len(words)

    assert chunking.page_work(3, 120, Own()).function is None
    assert chunking.page_work(3, 120, None).function is not None
    assert chunking.page_work(1, 120, None).function is None


def test_a_process_that_reads_pages_loads_no_heavy_library() -> None:
    code = (
        "import sys; from atomr_local.indexing.text_index import chunking as w; "
        f"cut = w._cutter({{'tokens': {str(find_embedder('starter'))!r}, 'passage_words': 120}}); "
        "from atomr_local.indexing.readers.wikipedia.wikitext import plain_text; cut(plain_text('A b.'), 'T'); "
        "print([m for m in ('torch', 'lancedb', 'pyarrow', 'onnxruntime', 'llama_cpp') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
