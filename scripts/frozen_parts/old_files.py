"""What comes of files that are there already: histories, traces, settings, kept plans, indexes of earlier versions.

The files themselves are made once, by the program of that day, and kept in tests/frozen/old_files.tar.xz: later
versions have to open what it wrote. `--afresh` does not make them again; delete the archive for that.
"""

from __future__ import annotations

import io
import json
import re
import shutil
import sqlite3
import tarfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import click
from click.testing import CliRunner

from atomr_local import Assistant
from atomr_local.errors import AtomrError
from atomr_local.settings.schema import load_settings
from frozen_parts.cases import Case, Run
from frozen_parts.index_contents import shortened
from frozen_parts.telling import Masks, lines_of
from frozen_parts.worlds import home, masks

_ARCHIVE = "old_files.tar.xz"
_WIDTH = "100"
_HISTORY = "history/history.sqlite"
_MADE_IN = Path("/tmp/frozen-old-files")  # stands in the files, so it is always the same
_SIZE = re.compile(r"\b\d[\d.,]* [kM]?B\b")
_QUERY = "SELECT ?s ?p ?o WHERE { ?s ?p ?o } ORDER BY ?s ?p ?o LIMIT 20"
_QUESTION = "What is the capital of Peru?"
_PLAN = '1. What is Peru? = Search("Peru", "country")\n2. What is the capital of [1]? = Relate([1], "capital")\n'
_PROCESS = {
    "question": "Where was the director of Metropolis born?",
    "steps": [
        {"thought": "I need the director.", "action": "search", "input": "Metropolis", "by_hand": "",
         "observation": "no page “Metropolis”. Titles like it: Fritz Lang"},
        {"thought": "(no thought)", "action": "finish", "input": "Vienna", "by_hand": "", "observation": ""},
    ],
    "answer": "Vienna",
    "method": "react",
    "indexes": ["starter"],
}  # fmt: skip
_SETTINGS = {
    "old group": "[means]\nbeam = false\nguess = false\n",
    "old and new": "means.beam = false\nmeans.rival = false\nfeatures.beam = true\n",
    "unknown key in an old group": "[means]\nbeem = true\n",
    "wrong value in an old group": "means.beam = 7\n",
    "many": 'model = "starter"\ntop_k = 5\nsources = ["text"]\n[llm]\nparallel = 2\n[strategies.rag]\ntop_k = 4\n'
    '[ui]\ntheme = "nord"\nkeys = { help = "f1,ctrl+h" }\n[endpoint]\nurl = "http://127.0.0.1:8080/v1"\n',
    "unknown key": "colour = 3\n",
    "no TOML": "model = \n",
}
# Files of a text index and of a graph index that an index of an earlier version does not have.
_LISTS = ("digests.json", "articles.sqlite", "facts.sqlite")


def cases(run: Run) -> Iterator[Case]:
    archive = run.folder / _ARCHIVE
    if run.recording and not archive.is_file():
        shutil.rmtree(_MADE_IN, ignore_errors=True)
        _make(archive, _MADE_IN)
        shutil.rmtree(_MADE_IN)
    old = run.scratch / "old"
    with tarfile.open(archive) as packed:
        packed.extractall(old, filter="data")
    hidden = masks(run)
    yield from _histories(run, old, hidden)
    yield from _traces(run, old, hidden)
    yield from _settings(run, hidden)
    yield from _kept(run, old, hidden)
    yield from _indexes(run, old, hidden)


# Making the files.


def _make(archive: Path, folder: Path) -> None:
    """Everything that the program of today writes, and what earlier versions of it wrote, in one archive."""
    from support.crossing_world import build_world
    from support.fake_embedder import FakeEmbedder
    from support.grown_steps import grown_trace
    from support.history_fakes import a_trace
    from support.quoting_traces import closest_trace, quotation_trace

    from atomr_local.assistant.history.export import to_json, unkept
    from atomr_local.indexing.graph_index.index import build_graph_index
    from atomr_local.indexing.text_index.documents import build_documents_index

    traces = [
        a_trace(id="a" * 32), grown_trace(), quotation_trace(), closest_trace(),
        a_trace("And her father?", id="b" * 32, conversation="a" * 32, took_from=["a" * 32]),
    ]  # fmt: skip
    with home(folder / "indexes"):
        build_world(folder)
        documents = _documents(folder / "documents")
        build_documents_index([documents], "folder", embedder=FakeEmbedder(), vectors="now")
        build_documents_index([documents], "words", embedder=FakeEmbedder(), vectors="later")
        build_graph_index([folder / "facts.jsonl"], "facts", linearise=True)
    with home(folder / "kept"):
        _history(folder / "kept" / _HISTORY, traces)
        for name, trace in zip(("one", "grown", "quotation", "closest"), traces, strict=False):
            (folder / "kept" / f"{name}.json").write_text(to_json([unkept(trace)], several=False), encoding="utf-8")
        (folder / "kept" / "several.jsonl").write_text(
            to_json(list(map(unkept, traces)), several=True), encoding="utf-8"
        )
        _atomr("examples", "add", "--question", _QUESTION, "--plan", "-", given=_PLAN)
        (folder / "kept" / "processes.jsonl").write_text(json.dumps(_PROCESS) + "\n", encoding="utf-8")
    _pack(archive, folder, ("indexes/indexes", "kept"))


def _documents(folder: Path) -> Path:
    from support.small_collection import FILES

    for path, text in FILES.items():
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    return folder


def _history(file: Path, traces: Sequence[Any]) -> None:
    from datetime import UTC, datetime

    from atomr_local.assistant.history.store import History

    with History.open(file) as history:
        for day, trace in enumerate(traces, 1):
            history.record(trace, asked_at=datetime(2025, 1, day, tzinfo=UTC))
    with closing(sqlite3.connect(file)) as database:
        database.execute("PRAGMA journal_mode = DELETE")


def _pack(archive: Path, folder: Path, names: Sequence[str]) -> None:
    def plain(member: tarfile.TarInfo) -> tarfile.TarInfo | None:
        member.mtime = member.uid = member.gid = 0
        member.uname = member.gname = ""
        return None if member.name.endswith((".lock", "-wal", "-shm", "/LOG")) else member

    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:xz", preset=9) as made:
        for name in names:
            made.add(folder / name, name.rpartition("/")[2], filter=plain)
    archive.parent.mkdir(parents=True, exist_ok=True)
    archive.write_bytes(packed.getvalue())


# Reading them.


def _atomr(*arguments: str, given: str | None = None) -> list[str]:
    """What a command says."""
    from atomr_local.cli.main import atomr

    made: click.Command = atomr
    runner = CliRunner(env={"COLUMNS": _WIDTH, "NO_COLOR": "1"})
    result = runner.invoke(made, list(arguments), input=given, prog_name="atomr")
    lines = [f"$ atomr {' '.join(arguments)}", f"exit {result.exit_code}", *result.output.splitlines()]
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        error = result.exception
        said = error.in_full() if isinstance(error, AtomrError) else repr(error)
        lines.append(f"{type(error).__name__}: {said}")
    return lines


def _commands(name: str, commands: Sequence[Sequence[str]], hidden: Masks) -> Case:
    lines = [line for command in commands for line in _atomr(*command)]
    return Case(name, tuple(_SIZE.sub("<size>", hidden.text(line)) for line in lines))


_LISTED = (
    ("history", "list"), ("history", "list", "--json"), ("history", "show", "1"), ("history", "show", "5"),
    ("history", "export", "--all", "--format", "json"), ("history", "export", "--all", "--format", "markdown"),
)  # fmt: skip


def _histories(run: Run, old: Path, hidden: Masks) -> Iterator[Case]:
    """The history of this version, and what it is in files of earlier, later and other ones."""
    changes: dict[str, str] = {
        "of this version": "",
        "without conversations": "DROP INDEX questions_by_trace_id; DROP INDEX questions_by_conversation;"
        " ALTER TABLE questions DROP COLUMN trace_id; ALTER TABLE questions DROP COLUMN conversation;",
        "without search": "DROP INDEX questions_by_trace_id; DROP INDEX questions_by_conversation;"
        " ALTER TABLE questions DROP COLUMN trace_id; ALTER TABLE questions DROP COLUMN conversation;"
        " DROP TABLE questions_search; PRAGMA user_version = 1;",
        "of a later version": "PRAGMA user_version = 99;",
        "of another program": "PRAGMA application_id = 7;",
    }
    for number, (name, change) in enumerate(changes.items()):
        with home(run.scratch / f"history-{number}") as place:
            file = place / _HISTORY
            file.parent.mkdir(parents=True)
            shutil.copyfile(old / "kept" / _HISTORY, file)
            with closing(sqlite3.connect(file)) as database:
                database.executescript(change)
            yield _commands(f"history {name}", _LISTED, hidden)
            if number < 3:
                yield _commands(f"history {name}, searched", (("history", "list", "--search", "mother"),), hidden)
                with closing(sqlite3.connect(file)) as database:
                    made = [str(sql) for (sql,) in database.execute("SELECT sql FROM sqlite_master ORDER BY name")]
                    version = database.execute("PRAGMA user_version").fetchone()
                lines = [f"version {version}", *(line for sql in made for line in sql.split("\n"))]
                yield Case(f"history {name}, its schema afterwards", tuple(lines))


def _traces(run: Run, old: Path, hidden: Masks) -> Iterator[Case]:
    with home(run.scratch / "traces") as place:
        kept = json.loads((old / "kept" / "one.json").read_text(encoding="utf-8"))
        few = {name: kept[name] for name in ("schema", "question", "strategy", "status", "answer")}
        later = few | {"of_tomorrow": {"x": [1]}}
        strange = json.loads(json.dumps(kept))
        strange["nodes"][1].update(kind="oracle", method="dowsing", candidates=[{"answer": "Mary"}])
        wrong = few | {"schema": "atomr.trace/2"}
        for name, data in {"few": few, "later": later, "strange": strange, "wrong": wrong}.items():
            (place / f"{name}.json").write_text(json.dumps(data), encoding="utf-8")
        files = [*sorted((old / "kept").glob("*.json*")), *sorted(place.glob("*.json"))]
    for file in files:
        if file.name not in ("examples.jsonl", "processes.jsonl"):
            with home(run.scratch / f"trace-{file.stem}"):
                commands = (("history", "import", str(file)), ("history", "list"), ("history", "export", "--all"))
                yield _commands(f"trace {file.name}", commands, hidden)


def _settings(run: Run, hidden: Masks) -> Iterator[Case]:
    for number, (name, text) in enumerate(_SETTINGS.items()):
        with home(run.scratch / f"settings-{number}") as place:
            (place / "config.toml").write_text(text, encoding="utf-8")
            commands = (("config", "show"), ("config", "set", "features.beam", "true"), ("config", "show", "--json"))
            yield _commands(f"settings: {name}", commands, hidden)
            yield Case(f"settings: {name}, as they are saved", tuple((place / "config.toml").read_text().split("\n")))


def _kept(run: Run, old: Path, hidden: Masks) -> Iterator[Case]:
    with home(run.scratch / "kept") as place:
        for name in ("examples.jsonl", "processes.jsonl"):
            shutil.copyfile(old / "kept" / name, place / name)
        for group in ("examples", "processes"):
            yield _commands(f"kept {group}", ((group, "list"), (group, "list", "--json"), (group, "show", "1")), hidden)


def _indexes(run: Run, old: Path, hidden: Masks) -> Iterator[Case]:
    """Indexes as they are, and without what earlier versions did not write."""
    changes: dict[str, Callable[[Path], None]] = {
        "of this version": lambda _index: None,
        "without lists": lambda index: _remove(index, _LISTS),
        "with keys of an earlier version": _former_keys,
        "with another schema": lambda index: _in_manifest(index, schema=0),
        "without settings": lambda index: _in_manifest(index, settings={}),
    }
    for number, (name, change) in enumerate(changes.items()):
        with home(run.scratch / f"indexes-{number}") as place:
            shutil.copytree(old / "indexes", place / "indexes")
            for index in sorted((place / "indexes").glob("*/*")):
                change(index)
            files = sorted(str(path.relative_to(place)) for path in (place / "indexes").glob("*/*/*") if path.is_file())
            if number < 2:
                yield Case(f"indexes {name}: their files", tuple(files))
            yield _commands(f"indexes {name}: list", (("indexes", "list"), ("indexes", "verify")), hidden)
            for text, graph in (("cross", "cross"), ("folder", "facts"), ("words", "facts"), ("cross,folder", "cross")):
                yield from _looked_up(f"indexes {name}: {text} and {graph}", text, graph, hidden)


def _looked_up(name: str, text: str, graph: str, hidden: Masks) -> Iterator[Case]:
    from support.fake_embedder import FakeEmbedder
    from support.fake_parts import FakeBackbone

    settings = load_settings(text_index=text, graph_index=graph)
    with Assistant(settings, FakeBackbone()) as assistant:
        assistant.parts._embedder = FakeEmbedder()
        found = assistant.lookups
        tried: dict[str, Callable[[], Any]] = {
            "search": lambda: [
                [one.title, one.text, one.score, dict(one.locator)] for one in found.search_text("film director")
            ],
            "in documents": lambda: [[one.title, one.text] for one in found.search_text("honey", within=["notes/*"])],
            "page": lambda: found.read_page("Ann Lee"),
            "document": lambda: found.read_page("Bees"),
            "titles": lambda: found.similar_titles("Ann Le"),
            "entity": lambda: found.find_entity("Ann Lee"),
            "relation": lambda: found.relate("Ann Lee", "child"),
            "examples": assistant.example_questions,
            "query": lambda: assistant.query_graph(_QUERY).rows,
        }
        lines: list[str] = []
        for what, work in tried.items():
            lines += lines_of({what: _tried(work)}, hidden)
        yield Case(name, shortened(lines))


def _tried(work: Callable[[], Any]) -> Any:
    from dataclasses import asdict, is_dataclass

    def plain(value: Any) -> Any:
        if is_dataclass(value) and not isinstance(value, type):
            return asdict(value)
        return [plain(one) for one in value] if isinstance(value, list | tuple) else value

    try:
        return plain(work())
    except AtomrError as error:
        return f"error: {error.in_full()}"


def _remove(index: Path, names: Sequence[str]) -> None:
    for name in names:
        (index / name).unlink(missing_ok=True)


def _former_keys(index: Path) -> None:
    """As if the keys of names were those of version 0."""
    for file in index.iterdir():
        if file.is_file() and file.read_bytes()[:15] == b"SQLite format 3":
            with closing(sqlite3.connect(file)) as database:
                database.execute("PRAGMA user_version = 0")


def _in_manifest(index: Path, **changed: Any) -> None:
    file = index / "manifest.json"
    data = json.loads(file.read_text(encoding="utf-8")) | changed
    file.write_text(json.dumps(data), encoding="utf-8")
