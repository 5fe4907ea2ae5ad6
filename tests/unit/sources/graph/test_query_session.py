"""All queries of a question run in one process, which is started anew after a query that had to be ended."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.fake_parts import FakeBackbone
from support.graph_world import Asker, world_fixture
from support.places import TESTS
from support.processes import is_running

from atomr_local.assistant.assistant import Assistant
from atomr_local.errors import Cancelled, QueryError
from atomr_local.reasoning.results import Result
from atomr_local.reasoning.trace.events import EvidenceFound, RetrievalStarted
from atomr_local.reasoning.trace.schema import PlanOrigin
from atomr_local.settings.schema import load_settings
from atomr_local.sources.graph import GraphSource
from atomr_local.sources.graph.source import GraphQuerySession
from atomr_local.sources.graph.sparql import process as runner
from atomr_local.sources.graph.sparql.process import QueryProcess, run_query
from atomr_local.strategies.options import NoOptions, StrategyOptions
from atomr_local.strategies.protocol import Need, QuestionContext
from atomr_local.strategies.registry import STRATEGIES
from atomr_local.system.cancellation import Cancellation
from atomr_local.tree.nodes import Tree

CAPITALS = "SELECT ?c { ?s wdt:P36 ?c }"
ENDLESS = "SELECT (COUNT(*) AS ?n) { " + " ".join(f"?a{i} ?b{i} ?c{i} ." for i in range(8)) + " }"


world = world_fixture()


@pytest.fixture(scope="module")
def source(world: Asker) -> GraphSource:
    return world.source


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[QueryProcess]:
    """The processes that were started."""
    made: list[QueryProcess] = []

    class Counted(QueryProcess):
        def __init__(self, directory: Path) -> None:
            super().__init__(directory)
            made.append(self)

    monkeypatch.setattr(runner, "QueryProcess", Counted)
    return made


@pytest.fixture
def session(source: GraphSource, started: list[QueryProcess]) -> Iterator[GraphQuerySession]:
    opened = source.query_session()
    assert isinstance(opened, GraphQuerySession)
    yield opened
    opened.close()
    assert not any(process.alive() for process in started)


def capitals(session: GraphQuerySession) -> set[str]:
    return {value.text for value in session.query(CAPITALS, Cancellation()).values}


def soon(what: str, holds: object) -> None:
    deadline = time.monotonic() + 30
    while not holds():  # type: ignore[operator]
        assert time.monotonic() < deadline, what
        time.sleep(0.01)


def test_several_queries_run_in_one_process(session: GraphQuerySession, started: list[QueryProcess]) -> None:
    assert not started, "nothing is started before the first query"
    for _ in range(3):
        assert capitals(session) == {"Paris", "Madrid", "Tokyo"}
        assert session.query("ASK { ?s wdt:P57 ?o }", Cancellation()).boolean is True
        built = session.query("CONSTRUCT { ?c wdt:P1376 ?s } WHERE { ?s wdt:P36 ?c }", Cancellation())
        assert (built.columns, len(built.rows)) == (("subject", "predicate", "object"), 3)
        found = session.query("SELECT * { ?s ?p ?o }", Cancellation(), most_rows=5)
        assert (len(found.rows), found.cut) == (5, True)
        with pytest.raises(QueryError, match="not valid"):
            session.query("SELECT nonsense", Cancellation())
        with pytest.raises(QueryError, match="not allowed"):
            session.query("LOAD <http://127.0.0.1:9/>", Cancellation())
    assert len(started) == 1


def test_memory_of_the_program_does_not_count_as_that_of_its_query_process(tmp_path: Path) -> None:
    """A program that once held more than a query process may: its queries still share one process."""
    code = f"""
import sys
from pathlib import Path
sys.path.insert(0, {str(TESTS)!r})
from support.graph_world import open_world
from atomr_local.system.cancellation import Cancellation
from atomr_local.sources.graph.sparql import process, process as runner
held = bytearray(b"x") * (300 << 20)
del held
process._WORN = 250 << 20
made = []
class Counted(process.QueryProcess):
    def __init__(self, directory):
        super().__init__(directory)
        made.append(self)
runner.QueryProcess = Counted
source = open_world(Path({str(tmp_path)!r}))
session = source.query_session()
for _ in range(3):
    session.query({CAPITALS!r}, Cancellation())
session.close()
source.close()
print(len(made))
"""
    environment = os.environ | {"ATOMR_HOME": str(tmp_path), "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "1"


def test_a_query_gives_what_it_gives_in_a_process_of_its_own(source: GraphSource, session: GraphQuerySession) -> None:
    directory = source.graph.directory
    for query in (CAPITALS, "SELECT ?h { ?s wdt:P2048 ?h }", "ASK { ?s wdt:P57 ?o }", "SELECT ?x { ?x wdt:P999 ?y }"):
        found, alone = session.query(query, Cancellation()), run_query(directory, query)
        assert (found.columns, found.rows, found.boolean) == (alone.variables, alone.rows, alone.boolean)


def test_a_query_without_end_is_killed_and_the_next_one_works(
    session: GraphQuerySession, started: list[QueryProcess]
) -> None:
    assert capitals(session)
    with pytest.raises(QueryError, match=r"longer than 0\.5 seconds|too much memory"):
        session.query(ENDLESS, Cancellation(), seconds=0.5)
    assert capitals(session) == {"Paris", "Madrid", "Tokyo"}
    assert [process.alive() for process in started] == [False, True]


def test_time_between_queries_and_time_of_earlier_ones_is_not_counted(
    session: GraphQuerySession, started: list[QueryProcess]
) -> None:
    assert session.query(CAPITALS, Cancellation(), seconds=0.4).rows
    time.sleep(0.6)
    assert session.query(CAPITALS, Cancellation(), seconds=0.4).rows
    assert len(started) == 1


def test_a_crash_ends_the_process_and_the_next_query_works(
    session: GraphQuerySession, started: list[QueryProcess], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("atomr_local.sources.graph.sparql.process.MOST_NESTED", 10**9)
    with pytest.raises(QueryError, match="nested too deeply"):
        session.query("SELECT * " + "{" * 50_000 + "?s ?p ?o" + "}" * 50_000, Cancellation())
    assert capitals(session)
    os.kill(started[1].process.pid, signal.SIGKILL)  # as the system does where memory is short
    soon("the process is gone", lambda: not started[1].alive())
    assert capitals(session)
    assert len(started) == 3


def test_a_process_that_held_much_memory_is_replaced(
    session: GraphQuerySession, started: list[QueryProcess], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("atomr_local.sources.graph.sparql.process._WORN", 1)
    assert capitals(session) == capitals(session) == {"Paris", "Madrid", "Tokyo"}
    assert [process.alive() for process in started] == [False, False]


def test_a_cancelled_query_ends_its_process(session: GraphQuerySession, started: list[QueryProcess]) -> None:
    assert capitals(session)
    cancellation = Cancellation()
    threading.Timer(0.3, cancellation.cancel).start()
    with pytest.raises(Cancelled):
        session.query(ENDLESS, cancellation, seconds=30)
    assert not started[0].alive()
    assert capitals(session), "the cancellation of one query is not that of another"


def test_closing_ends_a_query_that_runs_and_there_are_none_after(
    session: GraphQuerySession, started: list[QueryProcess]
) -> None:
    threading.Timer(0.3, session.close).start()
    with pytest.raises(QueryError):
        session.query(ENDLESS, Cancellation(), seconds=30)
    with pytest.raises(QueryError, match="has ended"):
        capitals(session)
    assert len(started) == 1


def test_two_questions_do_not_share_a_process(source: GraphSource, started: list[QueryProcess]) -> None:
    first, second = source.query_session(), source.query_session()
    assert first.query(CAPITALS, Cancellation()) == second.query(CAPITALS, Cancellation())
    assert len({process.process.pid for process in started}) == 2
    first.close()
    assert [process.alive() for process in started] == [False, True]
    second.close()


def test_a_closed_source_ends_the_processes_of_its_sessions(source: GraphSource, started: list[QueryProcess]) -> None:
    other = GraphSource.open(source.graph.directory)
    other.query_session().query(CAPITALS, Cancellation())
    kept = other.query_session()
    kept.query(CAPITALS, Cancellation())
    other.close()
    soon("also of a session that was dropped without closing it", lambda: not any(p.alive() for p in started))


# -- over whole questions


class _Asks:
    name, summary, paper = "asks-the-graph", "queries, for these tests", ""
    needs: frozenset[Need] = frozenset({"graph"})
    options: type[StrategyOptions] = NoOptions
    uses_sources, revises, takes_plans = True, False, False

    def __init__(self, then: BaseException | None = None, query: str = CAPITALS) -> None:
        self.then = then
        self.query = query

    def run(self, question: str, plan: Tree | None, origin: PlanOrigin, tools: QuestionContext) -> Result:
        assert tools.graph is not None
        tools.steps.begin(question)
        with tools.steps.root(question) as root:
            for _ in range(3):
                found = tools.graph.query(root.id, CAPITALS)
            aside = tools.aside("What else?", root.id, tools.cancellation)
            assert aside.graph is not None
            aside.steps.begin("What else?")
            assert aside.graph.query(0, CAPITALS).values
            tools.graph.query(root.id, self.query, seconds=30)
            if self.then is not None:
                raise self.then
            root.result = Result(found.values, "sparql")
        return root.result


def asking(source: GraphSource) -> Assistant:
    assistant = Assistant(load_settings(sources=("graph",)), FakeBackbone())  # type: ignore[arg-type]
    assistant.parts.sources = {"graph": source}
    return assistant


@pytest.mark.parametrize(
    "then", [None, QueryError("no"), RuntimeError("a fault"), Cancelled()], ids=["answer", "error", "fault", "cancel"]
)
def test_whatever_ends_the_question_its_processes_end(
    source: GraphSource, started: list[QueryProcess], monkeypatch: pytest.MonkeyPatch, then: BaseException | None
) -> None:
    monkeypatch.setitem(STRATEGIES, _Asks.name, _Asks(then))
    assistant = asking(source)
    for number in (1, 2):
        events = list(assistant.ask("Which capitals are there?", strategy=_Asks.name))
        assert sum(isinstance(event, RetrievalStarted) for event in events) == 4
        assert len(started) == 2 * number, "one of the question, one of the question aside"
        assert not any(process.alive() for process in started)


def test_a_cancelled_question_leaves_no_process(
    source: GraphSource, started: list[QueryProcess], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(STRATEGIES, _Asks.name, _Asks(query=ENDLESS))
    assistant = asking(source)
    seen = 0
    for event in assistant.ask("Which capitals are there?", strategy=_Asks.name):
        seen += isinstance(event, RetrievalStarted)
        if seen == 4 and not isinstance(event, EvidenceFound):
            time.sleep(0.2)
            assistant.cancel()
    assert assistant.last_trace is not None
    assert assistant.last_trace.status == "cancelled"
    assert len(started) == 2
    assert not any(process.alive() for process in started)


# -- over whole programs

_ASKING = """
import signal, sys, time
signal.signal(signal.SIGINT, signal.default_int_handler)  # tests in the background may ignore it, and all they start
from atomr_local.system.cancellation import Cancellation
from atomr_local.sources.graph import GraphSource
session = GraphSource.open(__import__("pathlib").Path(sys.argv[1])).query_session()
session.query("ASK {}", Cancellation())
print(session._runner._process.process.pid, flush=True)
if sys.argv[2] == "idle":
    time.sleep(60)
session.query(sys.argv[2], Cancellation(), seconds=60)
"""


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="processes are looked up in /proc")
@pytest.mark.parametrize("doing", ["idle", ENDLESS], ids=["idle", "running"])
@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGTERM])
def test_when_the_program_dies_its_process_ends(source: GraphSource, doing: str, end: signal.Signals) -> None:
    command = [sys.executable, "-c", _ASKING, str(source.graph.directory), doing]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as program:
        assert program.stdout is not None
        worker = int(program.stdout.readline())
        assert is_running(worker)
        time.sleep(0.3)
        program.send_signal(end)
        program.wait()
        soon("the process has ended", lambda: not is_running(worker))


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="processes are looked up in /proc")
def test_ctrl_c_in_the_terminal_is_for_the_program(source: GraphSource) -> None:
    command = [sys.executable, "-c", _ASKING, str(source.graph.directory), "idle"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as program:
        assert program.stdout is not None
        worker = int(program.stdout.readline())
        os.kill(worker, signal.SIGINT)
        time.sleep(0.3)
        assert is_running(worker)
        program.send_signal(signal.SIGINT)
        _, said = program.communicate()
        soon("the process has ended", lambda: not is_running(worker))
        assert said.count("Traceback") == 1 and said.endswith("KeyboardInterrupt\n"), said


_WATCHED = """
import pathlib, sys
sys.path.insert(0, sys.argv[2])
from support.offline_runner import events, forbid_inet_sockets, watch
sys.addaudithook(watch)
filtered = forbid_inet_sockets()
from atomr_local.system.cancellation import Cancellation
from atomr_local.sources.graph import GraphSource
session = GraphSource.open(pathlib.Path(sys.argv[1])).query_session()
for _ in range(2):
    assert session.query("ASK { ?s ?p ?o }", Cancellation()).boolean is True
session.close()
print(filtered, events)
"""


@pytest.mark.slow
def test_no_socket_is_opened(source: GraphSource) -> None:
    command = [sys.executable, "-c", _WATCHED, str(source.graph.directory), str(TESTS)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.split(maxsplit=1)[1].strip() == "[]"
    if sys.platform == "linux":
        assert done.stdout.startswith("True")
