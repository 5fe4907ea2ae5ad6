from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from support.stopping import needs_stopping, stop_while_it_waits

from atomr_local.errors import MissingPartError
from atomr_local.indexing.readers.base import PageWork, Section
from atomr_local.indexing.readers.wikipedia.page_parser import PageParser
from atomr_local.indexing.readers.wikipedia.plain_text import PlainText
from atomr_local.system import sandbox
from atomr_local.system.sandbox import Sandbox

# Short enough for the check of openings never closed, and quadratic in the tokeniser, which answers to no signal.
HOSTILE = "<b>" * 1_500 + "|}\n{|\n|{\n;" * 1_500


@pytest.fixture
def parser() -> Iterator[PageParser]:
    with closing(PageParser(lambda: {"fails"}, seconds=1.0, seconds_per_mib=0.0)) as parser:
        yield parser


def child(parser: PageParser, number: int = 0) -> Sandbox:
    return parser._readers[number].child


def read(parser: PageParser, *pages: str) -> list[str]:
    found = list(parser.read(enumerate(pages)))
    assert [number for number, _ in found] == list(range(len(pages)))
    return [prose.text if isinstance(prose, PlainText) else f"! {prose}" for _, prose in found]


def test_pages_come_in_order_with_their_sections(parser: PageParser) -> None:
    pages = [(7, "'''É'''\ud800 [[Fails:x]]\n== A ==\nb"), (8, ""), (9, "<b>" * 30_000), (10, "c\u2028d\r\n")]
    first, *rest = parser.read(pages)
    assert first == (7, PlainText("É\ud800\n\nb", (Section(4, "A"),)))
    assert [(page, str(getattr(prose, "text", prose))) for page, prose in rest] == [
        (8, ""),
        (9, "30000 markup elements are opened and never closed"),
        (10, "c d"),
    ]


@pytest.mark.slow
def test_a_page_that_takes_too_long_is_given_up_and_its_neighbours_are_read(parser: PageParser) -> None:
    told = "! its markup takes too long to read"
    assert read(parser, "a", HOSTILE, "b", HOSTILE, "c") == ["a", told, "b", told, "c"]
    assert read(parser, "d") == ["d"]


def test_many_and_long_pages_do_not_block_each_other(parser: PageParser) -> None:
    pages = ["word " * (20_000 if i % 7 == 0 else i) for i in range(1, 120)]
    assert read(parser, *pages) == [page.strip() for page in pages]


def test_a_process_that_is_killed_costs_one_page(parser: PageParser) -> None:
    found = parser.read(enumerate(["a", "b " * 9_000, "c " * 9_000, "d"]))
    assert next(found) == (0, PlainText("a"))
    process = child(parser).process
    assert process is not None
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    rest = [str(getattr(prose, "text", prose)) for _, prose in found]
    assert sum(text == "reading its markup failed (exit status -9)" for text in rest) <= 1
    # The process may have read the next page, or two, before it was killed.
    kept = [text[0] for text in rest if not text.startswith("reading")]
    assert kept in (["b", "c", "d"], ["c", "d"], ["b", "d"])


@needs_stopping
@pytest.mark.parametrize("unbuffered", ["1", ""])
def test_no_text_is_lost_when_the_process_is_stopped_for_a_while(
    unbuffered: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONUNBUFFERED", unbuffered)
    long = "Ein Satz. " * 20_000

    def pages() -> Iterator[tuple[int, str]]:
        yield 1, long
        assert child(parser).process is not None
        stop_while_it_waits(child(parser).process)
        yield 2, "short"

    with closing(PageParser(lambda: (), seconds=100)) as parser:
        found = [(number, getattr(prose, "text", str(prose))) for number, prose in parser.read(pages())]
    assert found == [(1, long.strip()), (2, "short")]


def test_the_process_ends_with_the_reader() -> None:
    parser = PageParser(lambda: ())
    assert child(parser).process is None, "none before the first page"
    found = parser.read([(1, "a"), (2, "b")])
    next(found)
    process = child(parser).process
    assert process is not None
    assert process.poll() is None
    parser.close()
    assert process.poll() is not None
    parser.close()


def test_the_process_ends_by_itself_when_nobody_asks_any_more(parser: PageParser) -> None:
    next(iter(parser.read([(1, "a")])))
    process, child(parser).process = child(parser).process, None
    assert process is not None
    assert process.stdin is not None
    with process:
        process.stdin.close()
        assert process.wait(timeout=120) == 0


@pytest.mark.parametrize("broken", ["no executable", "a worker that fails"])
def test_a_process_that_cannot_be_started_is_told(
    parser: PageParser, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, broken: str
) -> None:
    if broken == "no executable":
        monkeypatch.setattr(sandbox.sys, "executable", str(tmp_path / "none"))
        message = "cannot be started.*none"
    else:
        (tmp_path / "broken_worker.py").write_text("raise SystemExit('out of order')")
        monkeypatch.setenv("PYTHONPATH", str(tmp_path))
        monkeypatch.setattr(child(parser), "_function", "broken_worker:serve")
        message = "does not start: out of order"
    with pytest.raises(MissingPartError, match=message):
        read(parser, "a")


def test_several_processes_give_the_pages_in_their_order() -> None:
    pages = ["" if i % 11 == 0 else "word " * (30_000 if i % 7 == 0 else i) for i in range(1, 150)]
    pages[20] = "<b>" * 30_000  # refused
    with closing(PageParser(lambda: ())) as one, closing(PageParser(lambda: (), work=PageWork(3))) as three:
        assert read(three, *pages) == read(one, *pages)
        assert all(child(three, number).process is not None for number in range(3))


def test_few_pages_start_one_process() -> None:
    with closing(PageParser(lambda: (), work=PageWork(3))) as parser:
        assert read(parser, "a", "b", "c") == ["a", "b", "c"]
        assert [child(parser, number).process is not None for number in range(3)] == [True, False, False]


@pytest.mark.slow
def test_of_several_processes_each_that_is_killed_costs_one_page_and_all_end_with_the_reader() -> None:
    pages = [f"{number} " + "word " * 4_000 for number in range(60)]
    with closing(PageParser(lambda: (), work=PageWork(2))) as parser:
        found = parser.read(enumerate(pages))
        assert next(found)[0] == 0
        processes = [child(parser, number).process for number in range(2)]
        for process in processes:
            assert process is not None
            os.kill(process.pid, signal.SIGKILL)
            process.wait()
        rest = list(found)
        assert [number for number, _ in rest] == list(range(1, 60))
        problems = [str(prose) for _, prose in rest if isinstance(prose, ValueError)]
        assert len(problems) <= 2 and set(problems) <= {"reading its markup failed (exit status -9)"}
        assert all(prose.text == pages[n].strip() for n, prose in rest if isinstance(prose, PlainText))
        again = [child(parser, number).process for number in range(2)]
        assert all(process is not None and process.poll() is None for process in again)
    assert all(process is not None and process.poll() is not None for process in again)
