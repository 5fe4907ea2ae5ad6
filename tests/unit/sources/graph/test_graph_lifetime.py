"""What a graph holds open: nothing per thread, nothing once it is closed."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest
from support.graph_world import Asker, open_world

from atomr_local.errors import SourceError
from atomr_local.tree.nodes import Operator

pytestmark = pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="descriptors are counted in /proc")


def open_below(directory: Path) -> int:
    """Descriptors of this process that lead to files below the directory."""
    links = list(Path("/proc/self/fd").iterdir())
    return sum(1 for link in links if os.path.realpath(link).startswith(f"{directory}/"))


def test_questions_on_threads_of_their_own_leave_no_descriptor_behind(own_home: Path) -> None:
    ask = Asker(open_world(own_home))

    def question() -> None:
        ask.search("Paris", "capital of France")
        ask.request(Operator.RELATE, "France", "capital")

    def asked() -> int:
        thread = threading.Thread(target=question)
        thread.start()
        thread.join()
        return open_below(own_home)

    first = asked()
    assert [asked() for _ in range(10)] == [first] * 10
    ask.source.close()


def test_a_closed_graph_frees_its_files_though_something_still_refers_to_it(own_home: Path) -> None:
    ask = Asker(open_world(own_home))
    ask.search("Paris")
    assert open_below(own_home) > 3
    ask.source.close()
    ask.source.close()
    assert open_below(own_home) == 0
    with pytest.raises(SourceError, match="closed"):
        ask.search("Paris")
